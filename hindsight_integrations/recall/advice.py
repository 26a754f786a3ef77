"""Requests for advice, and what is remembered of a person that bears on any advice to them.

"Where should I stay in Lisbon?" shares its words with memories of Lisbon and of hotels. What a good
answer depends on is what is always so of the person who asks: what they cannot eat, will not do, or
like best. Its times are those of a plan, and not of memories.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import regex

from hindsight_integrations.nlp.time.query import TimeWindow

LONGEST_APPOINTMENT = timedelta(days=31)
"""Longest time in which a plan is looked for; longer ones are seasons and years."""

_REQUEST = regex.compile(
    r"""
    \b(?: (?:can|could|would|will) \s you \s (?:please \s | maybe \s)?
          (?: recommend | suggest | advise | propose | draft | help \s (?:me|us)
            | think \s of | give \s (?:me|us) \s (?:some \s | a \s few \s)? (?:\w+ \s)?
              (?:idea|tip|suggestion|recommendation|option|pointer)s? )
      | (?:would|do|can|could) \s you \s (?:\w+ly \s)? (?:recommend|suggest|advise)
      | (?<! \b(?:did|had) \s) you (?:['’]d | \s would | \s could | \s can)? \s
          (?:recommend|suggest|advise)
      | (?:what|which|where|how) \b [^.?!]{0,60}? \b would \s you \s
          (?:choose|pick|take|buy|get|go|see|stay|eat|try|use|do|start|spend|visit|order|cook|plant)
      | (?:what (?! \s (?:time|day|date)) | which | how (?! \s (?:much|many|often|long|soon|far)) )
          \b [^.?!]{0,60}? \b (?:should|might|could) \s (?:i|we|(?:my|our) \s \w+) \b
      | where \b [^.?!]{0,60}? \b (?:should|might|could) \s (?:i|we) \s
          (?:stay|go|eat|sit|look|take|book|buy|order|shop|travel|start|visit|live|move|spend|hold)
      | (?:what|which|how (?! \s (?:much|many|often|long|soon|far|fast))) \b [^.?!]{0,60}? \b
          can \s (?:i|we) \s (?! remember | recall | find \s (?:my|our) )
      | how \s (?:do|would) \s (?:i|we) \s
          (?: (?:best|go \s about|get|find|move|start|learn|plan|choose|make|improve|keep) \b )
      | (?<= ^ \s* | [.!?,] \s | \b(?:so|and|but|or) \s) should \s (?:i|we) \b (?= [^?]* \? )
      | (?:any|some|a \s few|got|give \s (?:me|us)) \s (?:\w+ \s){0,2}?
          (?:idea|tip|suggestion|recommendation|advice) s? \b (?! \s (?:what|when|who|where|why) )
      | (?:please \s | ^ \s*) (?:recommend|suggest|help \s (?:me|us)|plan|find \s (?:me|us))
      | what (?:['’]s | \s is | \s would \s be | \s are) \s (?:a|an|some|the \s best) \b
          [^.?!]{0,80}? \b (?:way|place|gift|present|recipe|spot|idea|option) s? \b
          [^.?!]{0,80}? \b (?:for|to) \b
      | what \s (?:are|would \s be) \s some \b [^.?!]* \b
          (?:for \s (?:me|us|my|our) | i \s should | (?:i|we) \s (?:can|could|might|would) )
      | where \b [^.?!]{0,40}? \b (?:do|would) \s (?:i|we) \s (?:look|start) \b
    ) \b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of a request for advice, in English."""

_OF_THE_PAST = regex.compile(
    r"\b(?:last|past|previous|ago|yesterday|earlier|recent(?:ly)?|so \s far)\b",
    regex.VERBOSE | regex.IGNORECASE,
)

_OFTEN = (
    "(?:really|just|only|always|never|usually|mostly|mainly|strictly|often|still|simply|also"
    "|generally|strongly|much|do|absolutely|truly|typically|rarely|seldom|personally)"
)

_STANDING = regex.compile(
    rf"""
    \b(?: (?:i|we) \s (?:{_OFTEN} \s)*
          (?: prefer | like | love | enjoy | hate | dislike | avoid | refuse | adore | detest
            | loathe | favou?r | need | insist | stick | follow | adhere | eat | drink | wear | buy
            | use | own | speak | sleep | learn | limit | try \s to | tend | keep | turn \s down
            | steer \s clear | look \s for | care | believe | value | appreciate | struggle
            | can (?:['’]?t | not | \s (?:not|only)) | do(?:n['’]?t | \s not) | wo(?:n['’]?t)
            | will \s (?:not|never) | (?:would|['’]d) \s rather | couldn['’]?t \s (?:stand|care) )
      | (?:i|we) \s (?:never|always|only) \b
      | (?:i['’]?m | i \s am | we['’]re | we \s are) \s (?:{_OFTEN} \s)* (?:not \s)? (?:\w+ly \s)?
          (?: allergic | intolerant | vegan | vegetarian | afraid | scared | terrified | sensitive
            | left-handed | interested | keen | fond | passionate | saving | into | on \s a | a | an
            | useless | no | uncomfortable | against | opposed | averse | picky | up \s at )
      | (?:makes? | gives? | gets? | turns? | puts? | drives? | upsets? | bores? | tires? | wears?
          | keeps? | annoys? | bothers? | scares? | hurts? | leaves? | suits? | calms? | sends?) \s
          (?:me | my | us) \b
      | my \s (?:\w+ \s){{1,2}} (?: is | are | has | have | hurts? | needs? | burns? | allows?
          | can['’]?t | does(?:n['’]t | \s not) | wo(?:n['’]t) ) \b
      | my \s \w+ ['’]s \s (?:\w+ly \s)? (?:poor|bad|weak|stiff|allergic|sensitive|slow|tight|small)
      | (?:prefers | likes | loves | enjoys | hates | dislikes | avoids | refuses | needs | wants
          | cannot | doesn['’]?t | does \s not | won['’]t) \b
      | favou?rite | allerg(?:y|ies|ic) | intoleran(?:t|ce) | aversion | phobia
      | (?:not \s a | no | big | huge) \s fan | can(?:['’]?t | not) \s (?:stand|bear|abide)
      | (?:is | are | ['’]s) \s (?:\w+ \s)? (?:off|out|not) \s (?:for \s me | the \s (?:menu|table))
      | for \s me \s* (?:[.!;,]|$) | and \s i \s don['’]t \s mix | off \s limits
    )""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words by which a sentence says what is always so of a person, in English."""


_OWN = regex.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", regex.IGNORECASE)

_HAPPENED = regex.compile(
    r"""\b(?: (?!need|feed|bleed|breed|speed|indeed|weed|seed|used\sto\b|bed\b|red\b) [a-z]{2,}ed
        | was | were | had | did(?:n['’]t)? | went | came | took | got | bought | made | said | told
        | gave | found | left | met | saw | ate | drank | ran | sat | stood | fell | broke | lost
        | won | sold | paid | spent | sent | wrote | heard | felt | kept | knew | thought | brought
        | began | caught | chose | drew | drove | flew | grew | held | led | lent | rang | rode
        | rose | sang | slept | spoke | stole | swam | taught | threw | understood | woke | wore
        | built | became | forgot | hid | laid | lay | meant | shot | shook | sank | stuck | swept
        | tore | could(?:n['’]t)? | yesterday | ago
        | last \s (?:week|month|year|night|\w+day|spring|summer|autumn|winter)
    )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of what happened once."""

_SENTENCE_END = regex.compile(r"(?<=[.!?;])\s+")


def asks_for_advice(question: str) -> bool:
    """Return True if the question asks what to do, take or buy, not for something remembered.

    A dialogue is none: what its last line asks about stands in the lines before.
    """
    question = question.strip()
    return "\n" not in question and _REQUEST.search(question) is not None


def times_to_look_up(question: str, windows: Iterable[TimeWindow]) -> tuple[TimeWindow, ...]:
    """Return the times of a request for advice at which memories may bear on it.

    "On Friday" there may be an appointment. "In May" and "this winter" are times of the plan: what
    was said in May is of no use for it. "After what we ate last week" speaks of memories.
    """
    of_the_past = _OF_THE_PAST.search(question) is not None
    return tuple(
        window
        for window in windows
        if of_the_past
        or not (window.yearly or window.span.end - window.span.start > LONGEST_APPOINTMENT)
    )


def is_standing(text: str) -> bool:
    """Return True if the text says what is always so of somebody: a need, a liking, a habit.

    A sentence does that speaks of its speaker, asks nothing, and tells of nothing that happened.
    """
    return _STANDING.search(text) is not None or any(
        _OWN.search(sentence) and not _HAPPENED.search(sentence) and not sentence.endswith("?")
        for sentence in _SENTENCE_END.split(text)
    )
