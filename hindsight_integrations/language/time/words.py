"""The words of time in four languages, as tables: the whole vocabulary of the grammar.

A table gives each kind of word its words. `|` parts the values, counted from the kind's first
(January is 1, Monday is 0), `,` parts synonyms, and `word=7` gives a value outright. A word with
`!` counts only in exactly that spelling: "May" and "may", German "Morgen" and "morgen".
A phrase of several words is written with spaces; apostrophes part words ("l'an" is "l an").
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto


class Kind(StrEnum):
    """What a token can be in the grammar; the value is the character that stands for it."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return chr(0x3400 + count)  # letters with no meaning in a regular expression

    UNKNOWN = auto()
    # read by the lexer
    NUMBER = auto()
    YEAR = auto()  # four digits that can be one
    ORDINAL = auto()  # 7th
    DATE = auto()  # 2023-05-07, 5/7/2023
    CLOCK = auto()  # 15:30
    OCLOCK = auto()  # 3 pm
    DECADE = auto()  # 1990s, 90s
    COMMA = auto()
    DOT = auto()
    DASH = auto()
    OPEN = auto()
    CLOSE = auto()
    STOP = auto()
    # periods
    MONTH = auto()
    MAYBE_MONTH = auto()  # lower-case "may" and "march"
    WEEKDAY = auto()
    WEEKDAYS = auto()
    SEASON = auto()
    QUARTER = auto()
    HOLIDAY = auto()  # month and day, as 1225
    UNIT = auto()
    UNITS = auto()
    DAY_WORD = auto()  # days from today
    DAY_PART = auto()
    PART_OF_DAY = auto()  # "tonight": ten times the days from today, plus the part
    # numbers in words
    COUNT = auto()
    FEW = auto()
    ONE = auto()  # the indefinite article
    RANK = auto()
    # which one
    WHICH = auto()  # last, this, next
    ROLLING = auto()  # the past ...
    AGO = auto()
    AGO_BEFORE = auto()  # "hace" stands before its number
    HENCE = auto()
    HENCE_BEFORE = auto()
    EDGE = auto()  # early, mid, late
    ERA = auto()
    OWN = auto()  # my, your: "my last year" is not last year
    # prepositions
    IN = auto()
    ON = auto()
    AT = auto()
    OVER = auto()
    FOR = auto()
    OF = auto()
    THE = auto()
    FROM = auto()
    TO = auto()
    BETWEEN = auto()
    AND = auto()
    SINCE = auto()
    UNTIL = auto()
    BY = auto()
    BEFORE = auto()
    AFTER = auto()
    EARLIER = auto()  # "vor", "nach": of place, too, so they need a time and never an event
    LATER = auto()
    DURING = auto()
    AROUND = auto()
    AROUND_EVENT = auto()
    BORN = auto()
    NOW = auto()
    # what the grammar made of them
    TIME = auto()


Table = Mapping[Kind, str]


def word_set(words: str) -> frozenset[str]:
    """The words of a list that white space parts."""
    return frozenset(words.split())


FIRST_VALUE = {Kind.MONTH: 1, Kind.QUARTER: 1, Kind.COUNT: 1, Kind.RANK: 1}

_QUARTERS = "q1 | q2 | q3 | q4"

ENGLISH: Table = {
    Kind.MONTH: (
        "january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul"
        " | august, aug | september, sept, sep | october, oct | november, nov | december, dec"
    ),
    Kind.MAYBE_MONTH: "!may=5, !march=3, !mar=3",
    Kind.WEEKDAY: (
        "monday, !Mon | tuesday, !Tue, !Tues | wednesday, !Wed | thursday, !Thu, !Thurs"
        " | friday, !Fri | saturday, !Sat | sunday, !Sun | weekend"
    ),
    Kind.WEEKDAYS: (
        "mondays | tuesdays | wednesdays | thursdays | fridays | saturdays | sundays | weekends"
    ),
    Kind.SEASON: "spring, springtime | summer, summertime | autumn, fall | winter, wintertime",
    Kind.QUARTER: _QUARTERS,
    Kind.HOLIDAY: (
        "new year s day=101, valentine s day=214, halloween=1031, christmas eve=1224,"
        " christmas day=1225, christmas=1225, new year s eve=1231"
    ),
    Kind.UNIT: "minute | hour | day | week | month || quarter | year | decade | century",
    Kind.UNITS: (
        "minutes, mins | hours, hrs | days | weeks | months || quarters | years, yrs"
        " | decades | centuries"
    ),
    Kind.DAY_WORD: (
        "the day before yesterday=-2, day before yesterday=-2, yesterday=-1, today=0,"
        " tomorrow=1, day after tomorrow=2, the day after tomorrow=2"
    ),
    Kind.DAY_PART: "morning | afternoon | evening | night",
    Kind.PART_OF_DAY: "tonight=3",
    Kind.OCLOCK: "noon=720, midday=720",
    Kind.DECADE: (
        "twenties=20, thirties=30, forties=40, fifties=50, sixties=60, seventies=70,"
        " eighties=80, nineties=90"
    ),
    Kind.COUNT: (
        "one | two, a couple of, a couple, couple of | three | four | five | six | seven | eight"
        " | nine | ten | eleven | twelve, fifteen=15, twenty=20, thirty=30, forty=40, fifty=50"
    ),
    Kind.FEW: "a few, few, several",
    Kind.ONE: "a, an",
    Kind.RANK: "first | second | third | fourth | fifth",
    Kind.WHICH: ("last=-1, this past=-1, this=0, next=1, coming=1, upcoming=1, this coming=1"),
    Kind.ROLLING: "past",
    Kind.AGO: "ago",
    Kind.HENCE: "from now, from today",
    Kind.EDGE: ("early, beginning of, start of | mid, middle of | late, end of"),
    Kind.ERA: "!AD, !CE",
    Kind.OWN: "my, your, his, her, its, our, their",
    Kind.IN: "in, as of",
    Kind.ON: "on",
    Kind.AT: "at",
    Kind.OVER: "over",
    Kind.FOR: "for",
    Kind.OF: "of",
    Kind.THE: "the",
    Kind.FROM: "from",
    Kind.TO: "to, through",
    Kind.BETWEEN: "between",
    Kind.AND: "and",
    Kind.SINCE: "since, ever since",
    Kind.UNTIL: "until, till, up until",
    Kind.BY: "by",
    Kind.BEFORE: "before, prior to",
    Kind.AFTER: "after",
    Kind.DURING: "during, throughout, while",
    Kind.AROUND: "around, circa, ca",
    Kind.AROUND_EVENT: "around the time of, around the time that, around the time",
    Kind.BORN: "born, died, founded, established",
    Kind.NOW: "now, present, the present",
}

GERMAN: Table = {
    Kind.MONTH: (
        "januar, jänner, jan | februar, feb | märz, maerz, mrz | april, apr | mai | juni | juli"
        " | august, aug | september, sept | oktober, okt | november, nov | dezember, dez"
    ),
    Kind.WEEKDAY: (
        "montag | dienstag | mittwoch | donnerstag | freitag | samstag, sonnabend | sonntag"
        " | wochenende"
    ),
    Kind.SEASON: "frühling, frühjahr | sommer | herbst | winter",
    Kind.QUARTER: _QUARTERS,
    Kind.HOLIDAY: "neujahr=101, heiligabend=1224, weihnachten=1225, silvester=1231",
    Kind.UNIT: (
        "minute | stunde | tag | woche | monat, monats || quartal, quartals"
        " | jahr, jahre, jahres | jahrzehnt | jahrhundert, jahrhunderts"
    ),
    Kind.UNITS: (
        "minuten | stunden | tage, tagen | wochen | monate, monaten || quartale, quartalen"
        " | jahren | jahrzehnte, jahrzehnten | jahrhunderte, jahrhunderten"
    ),
    Kind.DAY_WORD: "vorgestern=-2, gestern=-1, heute=0, !morgen=1, übermorgen=2",
    Kind.OCLOCK: "mittags=720",
    Kind.PART_OF_DAY: "morgen früh=10, heute früh=0, gestern früh=-10",
    Kind.DAY_PART: "!Morgen, vormittag | nachmittag | abend | nacht",
    Kind.COUNT: (
        "| zwei | drei | vier | fünf | sechs | sieben | acht | neun | zehn | elf | zwölf,"
        " zwanzig=20, dreißig=30"
    ),
    Kind.FEW: "ein paar, einige, einigen, wenigen, mehreren",
    Kind.ONE: "ein, eine, einer, einem, einen",
    Kind.RANK: (
        "erste, ersten, erster, erstes | zweite, zweiten, zweiter, zweites"
        " | dritte, dritten, dritter, drittes | vierte, vierten, vierter, viertes"
    ),
    Kind.WHICH: (
        "letzte=-1, letzten=-1, letzter=-1, letztes=-1, letztem=-1, vergangene=-1,"
        " vergangenen=-1, vergangenes=-1, vorige=-1, vorigen=-1, voriges=-1,"
        " diese=0, diesen=0, dieser=0, dieses=0, diesem=0,"
        " nächste=1, nächsten=1, nächster=1, nächstes=1, nächstem=1,"
        " kommende=1, kommenden=1, kommendes=1"
    ),
    Kind.EDGE: "anfang | mitte | ende",
    Kind.IN: "in, im",
    Kind.ON: "am",
    Kind.AT: "um, zu, an",
    Kind.OVER: "über",
    Kind.OF: "des, von",
    Kind.THE: "der, die, das, den, dem, zum, zur",
    Kind.FROM: "vom",
    Kind.BETWEEN: "zwischen",
    Kind.AND: "und",
    Kind.SINCE: "seit",
    Kind.UNTIL: "bis",
    Kind.BEFORE: "bevor",
    Kind.AFTER: "nachdem",
    Kind.EARLIER: "vor",
    Kind.LATER: "nach",
    Kind.DURING: "während",
    Kind.AROUND: "gegen, circa, ca",
    Kind.BORN: "geboren, gestorben, gegründet",
}

SPANISH: Table = {
    Kind.MONTH: (
        "enero | febrero | marzo | abril | mayo | junio | julio | agosto"
        " | septiembre, setiembre | octubre | noviembre | diciembre"
    ),
    Kind.WEEKDAY: (
        "lunes | martes | miércoles, miercoles | jueves | viernes | sábado, sabado | domingo"
        " | fin de semana"
    ),
    Kind.SEASON: "primavera | verano | otoño | invierno",
    Kind.QUARTER: _QUARTERS,
    Kind.HOLIDAY: "año nuevo=101, nochebuena=1224, navidad=1225, nochevieja=1231",
    Kind.UNIT: "minuto | hora | día, dia | semana | mes || trimestre | año | década | siglo",
    Kind.UNITS: (
        "minutos | horas | días, dias | semanas | meses || trimestres | años | décadas | siglos"
    ),
    Kind.DAY_WORD: ("antes de ayer=-2, anteayer=-2, ayer=-1, hoy=0, mañana=1, pasado mañana=2"),
    Kind.DAY_PART: (
        "por la mañana, en la mañana, de la mañana | por la tarde | por la noche, noche=3"
    ),
    Kind.OCLOCK: "mediodía=720",
    Kind.PART_OF_DAY: "anoche=-7, esta mañana=0, esta tarde=1, esta noche=3",
    Kind.UNKNOWN: "la mañana",
    Kind.COUNT: (
        "| dos | tres | cuatro | cinco | seis | siete | ocho | nueve | diez | once | doce,"
        " quince=15, veinte=20, treinta=30"
    ),
    Kind.FEW: "unos pocos, unas pocas, unos, unas, varios, varias, algunos, algunas, pocos",
    Kind.ONE: "un, una",
    Kind.RANK: (
        "primer, primero, primera | segundo, segunda | tercer, tercero, tercera | cuarto, cuarta"
    ),
    Kind.WHICH: (
        "pasado=-1, pasada=-1, pasados=-1, pasadas=-1, último=-1, última=-1, últimos=-1,"
        " últimas=-1, este=0, esta=0, próximo=1, próxima=1, próximos=1, próximas=1, que viene=1"
    ),
    Kind.AGO: "atrás",
    Kind.AGO_BEFORE: "hace",
    Kind.HENCE_BEFORE: "dentro de",
    Kind.EDGE: "principios, comienzos, inicios | mediados | finales, fines",
    Kind.IN: "en",
    Kind.ON: "el",
    Kind.AT: "a las, a la",
    Kind.OF: "de, del",
    Kind.THE: "la, los, las",
    Kind.TO: "a, al",
    Kind.BETWEEN: "entre",
    Kind.AND: "y, e",
    Kind.SINCE: "desde",
    Kind.UNTIL: "hasta",
    Kind.BEFORE: "antes de, antes del, antes de que",
    Kind.AFTER: "después de, después del, después de que",
    Kind.DURING: "durante, mientras",
    Kind.AROUND: "hacia, alrededor de",
    Kind.BORN: "nacido, nacida, nació, murió, fundado, fundada",
    Kind.NOW: "ahora",
}

FRENCH: Table = {
    Kind.MONTH: (
        "janvier | février, fevrier | !mars | avril | mai | juin | juillet | août, aout"
        " | septembre | octobre | novembre | décembre, decembre"
    ),
    Kind.WEEKDAY: (
        "lundi | mardi | mercredi | jeudi | vendredi | samedi | dimanche | week - end, weekend"
    ),
    Kind.SEASON: "printemps | été | automne | hiver",
    Kind.HOLIDAY: "nouvel an=101, noël=1225",
    Kind.UNIT: (
        "minute | heure | jour | semaine | mois || trimestre | an, année | décennie | siècle"
    ),
    Kind.UNITS: (
        "minutes | heures | jours | semaines ||| trimestres | ans, années | décennies | siècles"
    ),
    Kind.DAY_WORD: ("avant - hier=-2, hier=-1, aujourd hui=0, demain=1, après - demain=2"),
    Kind.OCLOCK: "midi=720",
    Kind.UNKNOWN: "mardi gras",
    Kind.DAY_PART: "matin | après - midi | soir | nuit",
    Kind.COUNT: (
        "| deux | trois | quatre | cinq | six | sept | huit | neuf | dix | onze | douze,"
        " quinze=15, vingt=20, trente=30"
    ),
    Kind.FEW: "quelques, plusieurs",
    Kind.ONE: "un, une",
    Kind.RANK: ("premier, première | deuxième, second | troisième | quatrième"),
    Kind.WHICH: (
        "dernier=-1, dernière=-1, derniers=-1, dernières=-1, passé=-1, passée=-1,"
        " ce=0, cet=0, cette=0, prochain=1, prochaine=1, prochains=1, prochaines=1"
    ),
    Kind.AGO_BEFORE: "il y a, y a",
    Kind.HENCE_BEFORE: "dans",
    Kind.EDGE: "début | mi, milieu | fin",
    Kind.IN: "en, au",
    Kind.ON: "le",
    Kind.OF: "de, d, du, des",
    Kind.THE: "la, les, l",
    Kind.TO: "à",
    Kind.BETWEEN: "entre",
    Kind.AND: "et",
    Kind.SINCE: "depuis",
    Kind.UNTIL: "jusqu en, jusqu à, jusqu au",
    Kind.BEFORE: "avant, avant que, avant de",
    Kind.AFTER: "après, après que",
    Kind.DURING: "pendant, durant, pendant que",
    Kind.AROUND: "vers, autour de",
    Kind.BORN: "né, née, mort, morte, fondé, fondée",
    Kind.NOW: "maintenant",
}

ENGLISH_PAST = word_set(
    """
    was were did didn had been became began bought broke brought built came caught chose dealt drank
    drew drove ate fell felt fed flew forgot fought found gave got grew held heard hung hid kept
    knew laid led left lent lost made meant met paid ran rang read rode rose said sang sat saw sent
    sold shook shot slept spent spoke stole stood struck swam swept taught threw thought told took
    tore understood went wept woke won wore wrote
    """
)
"""Irregular pasts; of the regular ones the ending tells."""

COUNTED = word_set(
    """
    people persons users customers employees members students children men women words characters
    lines pages steps miles kilometers kilometres km meters metres m feet ft yards dollars euros
    pounds bucks usd eur points calories kcal bits bytes pixels px rpm resolution votes copies
    items units cars houses books songs photos pictures emails messages requests tokens rows
    records files entries followers subscribers views likes downloads kg grams lbs tons tonnes
    watts volts hours minutes days weeks months years seconds percent
    menschen leute nutzer wörter seiten schritte kilometer meter stunden tage jahre jahren
    personas palabras páginas pasos kilómetros metros horas días años
    personnes mots pas kilomètres mètres heures jours ans
    """
)
"""What is counted by the thousand: after such a number it is no year ("in 1500 words")."""

LABELS = word_set(
    """
    room port page pages pp version v no nr number line lines id flight model building suite
    apartment apt unit route highway channel extension ext code error pin zip issue ticket order
    invoice section article chapter level bus train phone tel call dial windows office
    zimmer seite seiten página habitación puerto chambre
    """
)
"""What is numbered: after such a word a number is no year ("room 2023")."""

EVERY = word_set("every each any most some jeden jede jedes cada chaque")
"""What makes a habit of a weekday or a month."""

CHANGES = word_set(
    """
    rose grew went increased increase dropped fell jumped climbed raised cut reduced improved
    scaled shrank decreased soared moved shifted rescheduled postponed
    """
)
"""What goes from one value to another: "rose from 1500 to 2000" names no range of years."""
