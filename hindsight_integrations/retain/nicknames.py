"""Short forms of given names, written down from general knowledge; English ones mostly."""

from __future__ import annotations

_SHORT_FORMS = {
    "abigail": "abby",
    "albert": "al bert bertie",
    "alejandro": "alex ale",
    "alexander": "alex sasha xander sandy alec",
    "alexandra": "alex sasha lexi sandra alexa",
    "alfred": "alf fred freddie alfie",
    "alison": "ali allie",
    "amanda": "mandy",
    "andrea": "andi",
    "andrew": "andy drew",
    "angela": "angie",
    "anthony": "tony ant",
    "antonio": "tony toni",
    "arthur": "art artie",
    "barbara": "barb barbie",
    "benjamin": "ben benny benji",
    "bernard": "bernie",
    "caroline": "carrie caro",
    "carolyn": "carrie",
    "catherine": "cathy kate katie cat",
    "charles": "charlie chuck chaz",
    "charlotte": "charlie lottie",
    "christina": "chris tina chrissy",
    "christine": "chris tina chrissy",
    "christopher": "chris topher kit",
    "cynthia": "cindy",
    "daniel": "dan danny",
    "danielle": "dani",
    "david": "dave davey",
    "deborah": "deb debbie",
    "dominic": "dom nick",
    "donald": "don donnie",
    "dorothy": "dot dottie",
    "edward": "ed eddie ted ned teddy",
    "eleanor": "ellie nell nora",
    "elizabeth": "liz beth betty eliza lizzie betsy libby lisa",
    "emily": "em emmy",
    "eugene": "gene",
    "ezekiel": "zeke",
    "florence": "flo",
    "frances": "fran frannie",
    "francis": "frank fran",
    "franklin": "frank",
    "frederick": "fred freddie",
    "gabriel": "gabe",
    "gabriella": "gabby ella",
    "gerald": "gerry jerry",
    "gregory": "greg",
    "guadalupe": "lupe",
    "harold": "harry hal",
    "henry": "hank harry hal",
    "isabella": "bella izzy isa",
    "jacob": "jake",
    "james": "jim jimmy jamie jem",
    "jennifer": "jen jenny",
    "jeffrey": "jeff",
    "jessica": "jess jessie",
    "joanna": "jo joey",
    "johannes": "hannes",
    "john": "johnny jack jon",
    "jonathan": "jon jonny nathan",
    "joseph": "joe joey",
    "josefina": "pepa",
    "joshua": "josh",
    "jose": "pepe",
    "judith": "judy",
    "katherine": "kate kathy katie kat kit",
    "kathleen": "kathy kate katie",
    "kenneth": "ken kenny",
    "kimberly": "kim",
    "lawrence": "larry",
    "leonard": "len lenny leo",
    "leonardo": "leo",
    "lillian": "lily",
    "louis": "lou louie",
    "louise": "lou",
    "madeleine": "maddie",
    "margaret": "maggie meg peggy marge greta margie",
    "martha": "marty",
    "matthew": "matt matty",
    "maximilian": "max",
    "megan": "meg",
    "melanie": "mel",
    "melissa": "mel missy lissa",
    "michael": "mike mikey mick mickey",
    "michelle": "shelly",
    "mikhail": "misha",
    "natalie": "nat",
    "nathaniel": "nate nat nathan",
    "nicholas": "nick nicky",
    "nicole": "nicky nikki",
    "oliver": "ollie",
    "olivia": "liv livvy",
    "pamela": "pam",
    "patricia": "pat patty tricia trish",
    "patrick": "pat paddy",
    "penelope": "penny",
    "peter": "pete",
    "philip": "phil pip",
    "rachel": "rach",
    "raymond": "ray",
    "rebecca": "becky becca",
    "richard": "rick dick rich ricky richie",
    "robert": "bob rob bobby robbie bert",
    "ronald": "ron ronnie",
    "rosemary": "rosie",
    "samantha": "sam sammy",
    "samuel": "sam sammy",
    "sandra": "sandy",
    "sebastian": "seb bastian",
    "sergei": "seryozha",
    "sophia": "sophie",
    "stanley": "stan",
    "stephanie": "steph",
    "stephen": "steve",
    "steven": "steve",
    "susan": "sue susie suzy",
    "susannah": "sue susie",
    "theodore": "ted theo teddy",
    "theresa": "terry tess tessa",
    "thomas": "tom tommy",
    "timothy": "tim timmy",
    "tobias": "toby",
    "valerie": "val",
    "veronica": "ronnie",
    "victor": "vic",
    "victoria": "vicky tori",
    "vincent": "vince vinny",
    "vladimir": "vova",
    "walter": "walt wally",
    "wilhelm": "willi",
    "william": "bill will billy willy liam",
    "zachary": "zach zack",
}

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


def is_given_name(word: str) -> bool:
    """Whether the table knows this lower-cased word as a person's name."""
    return word in _SHORT_FORMS or word in _FORMAL
