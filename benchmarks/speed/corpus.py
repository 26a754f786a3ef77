"""Generated conversation: made of templates, the same for the same seed, varied enough to index.

Names follow Zipf's law, as in real conversation: a few are in everything, most are mentioned once
or twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, product
from string import Formatter

from hindsight_integrations.models import Message

START = datetime(2019, 1, 7, 8, 0, tzinfo=UTC)
"""Start of the first conversation."""

_SESSION_TURNS = (10, 30)
_PAUSE_HOURS = (1, 14)

_FIRST_NAMES = """Ana Bruno Carla Dmitri Elena Farid Greta Hugo Ines Jakob Keiko Liam Mona Nadia
    Oscar Paula Quentin Rosa Samir Tessa Ulrich Vera Walter Ximena Yusuf Zoe Amara Boris Chiara
    Diego Esther Felix Gloria Hassan Irene Jonas Kamal Leila Marco Noor Olga Pavel Rania Stefan
    Thea Umar Violet Wanda Yara Zane Agnes Bilal Clara Derek Edith Fiona Gavin Helga Ivan Judith
    Karim Lucia Malik Nina Otto Petra Ravi Selma Tobias Ursula Viktor Wendy""".split()
_SURNAMES = """Abel Baker Castro Duarte Eriksen Fontaine Gupta Haddad Ivanova Jansen Kovac Lindqvist
    Moreau Nakamura Okafor Petrov Quist Rossi Santos Takahashi Ueda Varga Weber Yilmaz
    Zielinski""".split()


def _shuffled(names: Iterable[str]) -> list[str]:
    found = list(names)
    return random.Random(0).sample(found, len(found))


def _joined(starts: str, ends: str) -> list[str]:
    return _shuffled((a + b).capitalize() for a, b in product(starts.split(), ends.split()))


_WORDS: dict[str, list[str]] = {
    "person": [*_FIRST_NAMES, *_shuffled(f"{a} {b}" for a, b in product(_FIRST_NAMES, _SURNAMES))],
    "project": _joined(
        "lark fern cop oak iron sil sand moss thorn amber cedar flint hollow raven birch",
        "spur field per gate side ver ridge water wood light mark stone brook well crest",
    ),
    "place": _joined(
        "wal ash brack dun kil nor pen sto tre win had lyn mar ros cul",
        "ford bury ness wick combe stead hurst don leigh minster cliff ton by haven moor",
    ),
    "thing": """budget contract invoice scanner kiosk gearbox prototype schedule manual licence
        password antenna greenhouse kitchen bicycle camera telescope drawer ladder printer sensor
        battery map calendar newsletter survey permit warehouse elevator keyboard piano recipe
        blanket engine fence pump valve trailer notebook poster podcast thesis lecture rehearsal
        sculpture quilt kayak tent harness rope tripod server database certificate dashboard
        payroll heating roof window staircase aquarium beehive orchard vineyard bakery""".split(),
    "quality": """broken spare blue second-hand borrowed missing noisy leaking brand-new wooden
        cheap heavy old tiny upgraded rusty faulty expensive temporary shared""".split(),
    "hobby": """climbing pottery fencing chess sailing birdwatching baking surfing choir karate
        gardening cycling photography calligraphy swimming archery knitting astronomy judo
        origami rowing salsa woodwork beekeeping""".split(),
    "food": """dumplings lentils rye bread cheesecake curry gnocchi mackerel pancakes paella
        pumpkin-soup ramen rhubarb sauerkraut tofu waffles figs olives""".split(),
    "when": """yesterday today on-Monday last-week next-Friday in-March this-morning
        two-weeks-ago last-spring on-14-May in-2018 over-the-weekend last-Thursday next-month
        in-October three-days-ago on-2-February last-year tomorrow in-the-summer-of-2017""".split(),
    "feeling": """relieved worried thrilled annoyed curious tired proud nervous hopeful
        surprised""".split(),
    "reason": [
        "because the supplier raised the price",
        "since the {thing} was {quality}",
        "because {person} moved to {place}",
        "so that {person} can finish {project}",
        "after the storm in {place}",
        "because nobody had the key to the {thing}",
        "now that {project} is funded",
        "before the audit starts",
    ],
}

_ZIPF = {
    kind: list(accumulate(1 / rank for rank in range(1, len(_WORDS[kind]) + 1)))
    for kind in ("person", "project", "place")
}

_TEMPLATES = """
I met {person} in {place} {when}, we talked about the {quality} {thing} for an hour.
{person} and I will present {project} in {place} {when}.
Could you send me the {thing} for {project}? {person} needs it {reason}.
We moved the {project} review to room {number} {reason}.
Invoice {code} for the {thing} is still unpaid, I wrote to {person} {when}.
My sister {person} started {hobby} in {place} {when}, she is so {feeling}.
I'm {feeling} about the {thing}: {person} found it {quality} {when}.
{person} left {project} {when} {reason}.
The {thing} in {place} costs {number} euros now, {person} says.
Do you remember the {food} we had in {place}? {person} asked for the recipe.
I stopped eating {food} {when} {reason}.
{person} works with {person} on {project}, out of the {place} office.
Ticket {code} is closed: the {thing} was {quality}.
We ordered {number} of the {quality} ones {when}, delivery to {place}.
{project} depends on {project}, so {person} waits {reason}.
I signed up for {hobby} with {person}, first lesson {when}.
They cancelled the trip to {place} {reason}. I'm {feeling}.
{person} promised to fix the {thing} {when}.
Since {when} the {thing} at {place} is {quality} again.
No idea. Ask {person}, who wrote the {thing} for {project}.
What did {person} say about {code}?
Congratulations! {number} people signed up for {hobby} in {place}.
{person} prefers {food} to {food}, and never eats {food} {reason}.
Our landlord in {place} replaced the {thing} {when}; it had been {quality} for years.
I think {project} will be late {reason}, and {person} is {feeling}.
""".strip().splitlines()

_QUESTIONS = """
What does {person} do for {project}?
Who works on {project} in {place}?
What happened to invoice {code}?
Which hobbies does {person} have?
What was {quality} in {place}?
Why is {project} late?
Who is {feeling} about the {thing}?
What does {person} like to eat?
""".strip().splitlines()

_DATED_QUESTIONS = """
What did {person} do in March 2020?
What happened in {place} last spring?
Which {thing} was {quality} in 2019?
Who left {project} between June and August 2019?
""".strip().splitlines()


@dataclass(frozen=True, slots=True)
class Turn:
    """A message, and the people, projects and places it names."""

    message: Message
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of two people."""

    id: str
    turns: tuple[Turn, ...]

    @property
    def messages(self) -> list[Message]:
        """Messages of the conversation, in order."""
        return [turn.message for turn in self.turns]


def sessions(turns: int, seed: int = 1) -> Iterator[Session]:
    """Yield conversations of `turns` turns in all, hours apart from each other."""
    writer = _Writer(seed)
    timestamp = START
    number = 0
    while turns > 0:
        number += 1
        length = min(turns, writer.random.randint(*_SESSION_TURNS))
        turns -= length
        speakers = [writer.word("person") for _ in range(2)]
        said = []
        for index in range(length):
            timestamp += timedelta(seconds=writer.random.randint(20, 400))
            writer.names = [speakers[index % 2]]
            message = Message(writer.names[0], writer.turn(), timestamp, id=f"t{number}-{index}")
            said.append(Turn(message, tuple(dict.fromkeys(writer.names))))
        yield Session(f"session-{number}", tuple(said))
        timestamp += timedelta(hours=writer.random.uniform(*_PAUSE_HOURS))


def lines(given: Iterable[Session]) -> list[str]:
    """Return the turns of some conversations, each with its speaker."""
    return [f"{m.speaker}: {m.text}" for session in given for m in session.messages]


def questions(count: int, *, dated: bool = False, seed: int = 2) -> list[str]:
    """Return questions about such conversations; `dated` ones ask for a time span."""
    writer = _Writer(seed)
    templates = _DATED_QUESTIONS if dated else _QUESTIONS
    return [writer.sentence([templates[i % len(templates)]]) for i in range(count)]


class _Writer:
    """Fills templates with words, and records the names among them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[str] = []

    def word(self, kind: str) -> str:
        if kind == "number":
            return str(self.random.randint(2, 900))
        if kind == "code":
            return f"{self.random.choice(('INV', 'REQ', 'SN'))}-{self.random.randint(1000, 99999)}"
        drawn = self.random.choices(_WORDS[kind], cum_weights=_ZIPF.get(kind))[0]
        if kind in _ZIPF:
            self.names.append(drawn)
        return drawn.replace("-", " ") if kind == "when" else drawn

    def sentence(self, templates: Sequence[str]) -> str:
        text = self.random.choice(templates)
        while "{" in text:  # a word may be a template itself
            parts = Formatter().parse(text)
            text = "".join(plain + (self.word(kind) if kind else "") for plain, kind, *_ in parts)
        return text

    def turn(self) -> str:
        count = self.random.choices((1, 2, 3), (6, 3, 1))[0]
        return " ".join(self.sentence(_TEMPLATES) for _ in range(count))
