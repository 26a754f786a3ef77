"""Words by what they do in a sentence: none of them is ever what it is about."""

from __future__ import annotations

import re

LEADS = frozenset(
    "the a an my our your his her their its this these those that no every each another "
    "in on at by of for with about from into onto over under against without during "
    "der die das den dem des ein eine einen einem einer mein meine unser unsere im am zum zur "
    "le la les un une des mon ma mes notre nos du au aux el los las una unos mi mis nuestro "
    "nuestra del al o os um uma".split()
)
"""A noun is what follows one of these."""

PLAIN = frozenset(
    """
    able absolute actual actually ago all almost already also always amaze amazing another anybody
    anyone anything anyway area around ask aspect away awesome back bad bash beautiful become begin
    best better big bit both bring buy call came cannot care case chance change chat check choice
    clear close come completely cool could couple course crazy day days dear decide definitely
    different difficult done down each early easy either else end enjoy enough even evening ever
    every everybody everyone everything exactly excite excited experience fact fair fall family far
    fast favorite favourite feel few finally find fine first five folk folks forever four free
    friend friends full fun funny gave get give glad go goes going gone gonna good got great guess
    guy guys had half happen happy hard hear heard heart help here hey hi high hold home honest hope
    hour hours house huge idea important incredible inspire inspiring instead interest interesting
    issue item items job join just keep kid kids kind know large last late later least left less let
    life like line list little live long look looking lose lot lots love lovely low made main make
    man many matter maybe mean meet mention middle might mind minute minutes moment moments monday
    money month months morning move much must name need never new next nice night nine nobody
    nothing now number off often oh okay old once one ones only open other others part past pay
    people perfect perhaps person photo pic picture piece place plan play please plus point pretty
    probably problem proud put question quick quickly quite read ready real realize really reason
    remember rest right run said same saturday saw say second see seem seen send set seven several
    share short show side simple since six small some somebody someone something sometimes soon
    sorry sound special start state stay step still stop story strong stuff such sunday super
    support sure take talk tell ten thank thanks thing things think third this thought thousand
    three thursday time times today together told tomorrow tonight too took top total totally true
    truly try tuesday turn two type under understand until up us use used usual usually very wait
    walk want watch way ways wednesday week weekend weeks well went whatever while whole will wish
    without woman wonder wonderful word words work world would wow write wrong yeah year years yep
    yes yesterday yet young
    january february march april june july august september october november december friday
    not difference impact group groups journey trip wedding fave faves rock rocks fam mom dad table
    explore colour color colors colours red blue green black white grey gray yellow reminder source
    vibe vibes tough safe joy precious path sense goal dream role step steps
    situation situations dedication friendship strength power passion effort energy success
    aber alle alles also auch beim bist dann dass dein denn diese dieser dieses doch dort durch eben
    eine einen einem einer eines euch etwas ganz gegen gibt habe haben hast hatte heute hier ihre
    ihren immer jetzt kann kein keine können machen mehr mein meine meinen mich nach nicht nichts
    noch oder ohne schon sehr seit sein seine sich sind über unser unsere unter viel vielleicht
    vom von wann warum waren wegen weil wenn werden wieder will wird wurde zwischen
    aussi autre avant avec avoir beaucoup bien cette ceux chez comme dans depuis dont elle elles
    encore est être fait faire fois ici leur leurs mais même moins notre nous parce pendant peut
    plus pour quand quel quelle sans sera ses sont sous sur très tous tout toute toutes trop une
    vers votre vous était
    ahora algo antes aquí bien cada como con cuando desde donde ella ellos entre era eres esta este
    esto está están estoy fue gusta hace hacer hasta hay mientras mucho muy más nada nos nosotros
    nunca otra otro para pero poco por porque puede qué quien sea ser siempre sin sobre solo son
    soy también tengo tiene todo todos una uno usted vez ya yo
    agora ainda assim até com dela dele depois ele eles essa esse este estou foi isso isto mais mas
    meu minha muito não nem nós onde para pela pelo por porque pra quando que quem são sem seu só
    sua também tem tenho uma você
    było była jest jestem nigdy tylko więc żeby
    """.split()
)
"""Content words too general to tell one matter from another: adverbs, verbs of every day, units
of time, and function words of other languages than English (whose own are no lexemes)."""

YOU = re.compile(r"\W*(?:[\w'’]+\W+){0,3}you\b|\byour(?:s|self)?\b", re.IGNORECASE)
"""How somebody is told of himself: what that states is seldom the speaker's own."""

VERBS = frozenset(
    """
    accepts added adds agreed arrived arrives attended booked borrowed bought builds built buys
    called chose completed costs created creates designed dislikes drinks drove eats enjoyed enjoys
    fail failed fails finished fixed flew found goes grew hate hates hike joined joins kept knows
    leads learned learns led left lent liked likes listens live lived lives lost loved loves made
    makes manages mentions met moved moves offered opened ordered owns paid painted paints played
    plays praise praises prefer preferred prefers presented presents promised promote promoted ran
    reads recommend replaced reported runs said sang sell sells sent ships showed signed sings sold
    speaks spend spends spent started starts stays stopped studied suggest swims switched takes
    taught teach teaches tells told took tried tries used uses visited visits volunteers wanted
    wants wears went won wore worked works writes wrote
    """.split()
)
"""Verbs of every day, in the forms that are no nouns as well."""

COURTESY = re.compile(
    r"""
    \W* (?:
        thanks? | thx | cheers | congrat\w* | wow | whoa | aww* | yay | hey | hi | hello | bye
      | good \s (?:morning|evening|night|luck|afternoon) | happy \s (?:new|birthday|holidays)
      | welcome | sounds? | looks? \s (?:like|great|amazing|awesome) | see \s you | take \s care
      | (?: i['’]m | i \s am | so ) \s (?:so \s | really \s | very \s)*
        (?:glad|proud|sorry|happy) \s (?:for|of|to \s hear|you)
      | (?:so \s | really \s)* (?:glad|great|nice|good|lovely|sorry) \s (?:to|you|that|for)
      | that (?: ['’]s | \s is | \s was | \s sounds )
      | it (?: ['’]s | \s is | \s was ) \s (?:so \s | really \s | such \s)*
        (?:great|amazing|awesome|wonderful|cool|nice|lovely|good)
      | you (?: r? \b | ['’]\w+ ) | please | can | could | would | will \s you
      | let (?: ['’]s | \s me | \s us ) | here (?: ['’]s | \s is ) | take \s a \s look | check
      | i ['’]d \s (?:rather|love|like) | send | tell | what | how | who | why
      | danke | merci | gracias | obrigad\w+ | hallo | bonjour | hola
    ) (?!\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""How sentences begin that greet, thank, praise, ask or point, and state nothing."""
