"""Short forms of given names, written down from general knowledge; English ones mostly."""

from __future__ import annotations

_MEN = {
    "albert": "al bert bertie",
    "alejandro": "alex ale",
    "alexander": "alex sasha xander sandy alec",
    "alfred": "alf fred freddie alfie",
    "andrew": "andy drew",
    "anthony": "tony ant",
    "antonio": "tony toni",
    "arthur": "art artie",
    "benjamin": "ben benny benji",
    "bernard": "bernie",
    "charles": "charlie chuck chaz",
    "christopher": "chris topher kit",
    "daniel": "dan danny",
    "david": "dave davey",
    "dominic": "dom nick",
    "donald": "don donnie",
    "edward": "ed eddie ted ned teddy",
    "eugene": "gene",
    "ezekiel": "zeke",
    "francis": "frank fran",
    "franklin": "frank",
    "frederick": "fred freddie",
    "gabriel": "gabe",
    "gerald": "gerry jerry",
    "gregory": "greg",
    "harold": "harry hal",
    "henry": "hank harry hal",
    "jacob": "jake",
    "james": "jim jimmy jamie jem",
    "jeffrey": "jeff",
    "johannes": "hannes",
    "john": "johnny jack jon",
    "jonathan": "jon jonny nathan",
    "jose": "pepe",
    "joseph": "joe joey",
    "joshua": "josh",
    "kenneth": "ken kenny",
    "lawrence": "larry",
    "leonard": "len lenny leo",
    "leonardo": "leo",
    "louis": "lou louie",
    "matthew": "matt matty",
    "maximilian": "max",
    "michael": "mike mikey mick mickey",
    "mikhail": "misha",
    "nathaniel": "nate nat nathan",
    "nicholas": "nick nicky",
    "oliver": "ollie",
    "patrick": "pat paddy",
    "peter": "pete",
    "philip": "phil pip",
    "raymond": "ray",
    "richard": "rick dick rich ricky richie",
    "robert": "bob rob bobby robbie bert",
    "ronald": "ron ronnie",
    "samuel": "sam sammy",
    "sebastian": "seb bastian",
    "sergei": "seryozha",
    "stanley": "stan",
    "stephen": "steve",
    "steven": "steve",
    "theodore": "ted theo teddy",
    "thomas": "tom tommy",
    "timothy": "tim timmy",
    "tobias": "toby",
    "victor": "vic",
    "vincent": "vince vinny",
    "vladimir": "vova",
    "walter": "walt wally",
    "wilhelm": "willi",
    "william": "bill will billy willy liam",
    "zachary": "zach zack",
}
_WOMEN = {
    "abigail": "abby",
    "alexandra": "alex sasha lexi sandra alexa",
    "alison": "ali allie",
    "amanda": "mandy",
    "andrea": "andi",
    "angela": "angie",
    "barbara": "barb barbie",
    "caroline": "carrie caro",
    "carolyn": "carrie",
    "catherine": "cathy kate katie cat",
    "charlotte": "charlie lottie",
    "christina": "chris tina chrissy",
    "christine": "chris tina chrissy",
    "cynthia": "cindy",
    "danielle": "dani",
    "deborah": "deb debbie",
    "dorothy": "dot dottie",
    "eleanor": "ellie nell nora",
    "elizabeth": "liz beth betty eliza lizzie betsy libby lisa",
    "emily": "em emmy",
    "florence": "flo",
    "frances": "fran frannie",
    "gabriella": "gabby ella",
    "guadalupe": "lupe",
    "isabella": "bella izzy isa",
    "jennifer": "jen jenny",
    "jessica": "jess jessie",
    "joanna": "jo joey",
    "josefina": "pepa",
    "judith": "judy",
    "katherine": "kate kathy katie kat kit",
    "kathleen": "kathy kate katie",
    "kimberly": "kim",
    "lillian": "lily",
    "louise": "lou",
    "madeleine": "maddie",
    "margaret": "maggie meg peggy marge greta margie",
    "martha": "marty",
    "megan": "meg",
    "melanie": "mel",
    "melissa": "mel missy lissa",
    "michelle": "shelly",
    "natalie": "nat",
    "nicole": "nicky nikki",
    "olivia": "liv livvy",
    "pamela": "pam",
    "patricia": "pat patty tricia trish",
    "penelope": "penny",
    "rachel": "rach",
    "rebecca": "becky becca",
    "rosemary": "rosie",
    "samantha": "sam sammy",
    "sandra": "sandy",
    "sophia": "sophie",
    "stephanie": "steph",
    "susan": "sue susie suzy",
    "susannah": "sue susie",
    "theresa": "terry tess tessa",
    "valerie": "val",
    "veronica": "ronnie",
    "victoria": "vicky tori",
}

_SHORT_FORMS = {**_MEN, **_WOMEN}
_FORMAL: dict[str, frozenset[str]] = {}
for _formal, _shorts in _SHORT_FORMS.items():
    for _short in _shorts.split():
        _FORMAL[_short] = _FORMAL.get(_short, frozenset()) | {_formal}

_SHARED_LETTERS = 3


def formal_names(word: str) -> frozenset[str]:
    """The given names that a lower-cased word is short for."""
    return _FORMAL.get(word, frozenset())


def short_forms(word: str) -> tuple[str, ...]:
    """What somebody with this lower-cased given name may be called."""
    return tuple(_SHORT_FORMS.get(word, "").split())


def same_given_name(one: str, other: str) -> bool:
    """Whether two lower-cased names may be the same person's.

    One is short for the other ("bob", "robert"), or both for the same name and alike besides
    ("kate", "katie"): a Bob is hardly ever called Rob as well.
    """
    if one in formal_names(other) or other in formal_names(one):
        return True
    alike = one[:_SHARED_LETTERS] == other[:_SHARED_LETTERS]
    return alike and not formal_names(one).isdisjoint(formal_names(other))


def may_be_mans(word: str) -> bool:
    """Whether a lower-cased given name is not known to be women's only."""
    names = formal_names(word) | {word}
    return names.isdisjoint(_WOMEN) or not names.isdisjoint(_MEN)


def may_be_womans(word: str) -> bool:
    """Whether a lower-cased given name is not known to be men's only."""
    names = formal_names(word) | {word}
    return names.isdisjoint(_MEN) or not names.isdisjoint(_WOMEN)


def is_given_name(word: str) -> bool:
    """Whether the table knows this lower-cased word as a person's name."""
    return word in _SHORT_FORMS or word in _FORMAL
