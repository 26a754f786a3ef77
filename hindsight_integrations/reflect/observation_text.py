"""Text of an observation, composed of its evidence alone.

It names speaker, topic, number and dates of the statements; then it quotes up to three of them
with their dates: the first, the most central and the last, or one for each state if something has
changed. For evidence in another language than English, it has only names and quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from hindsight_integrations.nlp.language import is_english
from hindsight_integrations.reflect.changes.claim_model import ValueChange
from hindsight_integrations.reflect.changes.contradictions import change, split_at_changes
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.topics import LONGEST_QUOTE, Grade, Topic
from hindsight_integrations.stores.base import Vector

SHOWN = 3
"""Statements quoted in the text; the others are evidence too."""

_OFTEN = 3
_ROLES = {"user": "The user", "human": "The user", "assistant": "The assistant", "ai": "The AI"}


@dataclass(frozen=True, slots=True)
class Wording:
    """Text of an observation.

    Attributes:
        text: the statement.
        quotes: verbatim evidence, by memory id.
        reasoning: how it was drawn.
        earlier: the text before the last change that it describes.
    """

    text: str
    quotes: Mapping[str, str]
    reasoning: str
    earlier: str | None = None


def compose(
    evidence: Sequence[DatedStatement],
    vectors: Mapping[str, Vector],
    ambiguous: Set[str] = frozenset(),
) -> Wording:
    """Compose the text of an observation.

    Args:
        evidence: at least one statement, at most one of each memory.
        vectors: of their memories, by id.
        ambiguous: first names that several people have.
    """
    parted = split_at_changes(evidence, ambiguous)
    statements = [statement for state in parted for statement in state]
    topic = common_topic(statements)
    quotes = {statement.memory.id: quote(statement.text, topic) for statement in statements}
    before = parted[:-1]
    return Wording(
        text=_text(parted, quotes, vectors, ambiguous),
        quotes=quotes,
        reasoning=" ".join(_reasons(parted, ambiguous)),
        earlier=_text(before, quotes, vectors, ambiguous) if before else None,
    )


def _text(
    parted: Sequence[Sequence[DatedStatement]],
    quotes: Mapping[str, str],
    vectors: Mapping[str, Vector],
    ambiguous: Set[str],
) -> str:
    statements = [statement for state in parted for statement in state]
    several = len(parted) > 1
    shown = _of_each_state(parted, ambiguous) if several else _telling(statements, vectors)
    english = is_english([statement.text for statement in statements])
    voices = {statement.memory.speaker for statement in statements}
    spoken = "; ".join(
        _spoken(statement, quotes[statement.memory.id], english=english, by_name=len(voices) > 1)
        for statement in shown
    )
    return f"{_lead(parted, ambiguous, english=english)}{spoken}."


def common_topic(statements: Sequence[DatedStatement]) -> Topic | None:
    """Return the topic of highest grade that all statements share, else None.

    In its most frequent spelling, but in lower case if it occurs so.
    """
    shared = [
        [statement.statement.topics[key] for statement in statements]
        for key in statements[0].statement.topics
        if all(key in statement.statement.topics for statement in statements)
    ]
    best = max(shared, key=lambda topics: priority(topics[0]), default=None)
    if best is None:
        return None
    return max(
        Counter(best).items(),
        key=lambda counted: (counted[0].surface.islower(), counted[1], counted[0].surface),
    )[0]


def priority(topic: Topic) -> tuple[int, int, str]:
    """Return what decides which of two topics of the same statements is told."""
    return topic.grade, len(topic.key), topic.key


def quote(sentence: str, topic: Topic | None) -> str:
    """Return the sentence, or the words around the topic of a long one, verbatim."""
    if len(sentence) <= LONGEST_QUOTE:
        return sentence
    position = sentence.casefold().find(topic.surface.casefold()) if topic else 0
    start = max(0, min(position - LONGEST_QUOTE // 2, len(sentence) - LONGEST_QUOTE))
    part = sentence[start : start + LONGEST_QUOTE]
    if start and " " in part[:40]:
        part = part[part.index(" ") :]
    if start + LONGEST_QUOTE < len(sentence) and " " in part[-40:]:
        part = part[: part.rindex(" ")]
    return part.strip()


def day(timestamp: datetime, *, english: bool = True) -> str:
    """Render a day in English ("7 October 2024"), or language-neutral ("2024-10-07")."""
    return (
        f"{timestamp.day} {timestamp:%B} {timestamp.year}" if english else f"{timestamp:%Y-%m-%d}"
    )


def voice(speaker: str) -> str:
    """Return a speaker's name, or the words for a role."""
    return _ROLES.get(speaker.casefold(), speaker)


def _telling(
    statements: Sequence[DatedStatement], vectors: Mapping[str, Vector]
) -> list[DatedStatement]:
    """Return the first, the most central and the last statement, in order of time."""
    if len(statements) <= SHOWN:
        return list(statements)
    inner = statements[1:-1]
    known = [
        vectors[statement.memory.id] for statement in statements if statement.memory.id in vectors
    ]

    def centrality(statement: DatedStatement) -> float:
        own = vectors.get(statement.memory.id)
        return 0.0 if own is None else sum(float(own @ other) for other in known)

    return [
        statements[0],
        max(inner, key=lambda statement: (centrality(statement), statement.memory.id)),
        statements[-1],
    ]


def _of_each_state(
    parted: Sequence[Sequence[DatedStatement]], ambiguous: Set[str]
) -> list[DatedStatement]:
    """Return the changed statement and each change; of many the first and the last ones."""
    changed = parted[1][0]
    altered = (one for one in parted[0] if change(one, changed, ambiguous))
    shown = [next(altered, parted[0][0]), *(state[0] for state in parted[1:])]
    return shown if len(shown) <= SHOWN + 1 else [shown[0], *shown[-SHOWN:]]


def _shifts(parted: Sequence[Sequence[DatedStatement]], ambiguous: Set[str]) -> list[ValueChange]:
    """Return the change from each state to the next."""
    return [
        shift
        for before, after in pairwise(parted)
        if (shift := next(filter(None, (change(o, after[0], ambiguous) for o in before)), None))
    ]


def _label(topic: Topic, statements: Sequence[DatedStatement]) -> str:
    """Return the topic as a reader would call it: "the seat map", "pelican-02", "my thesis"."""
    surface = topic.surface
    if topic.key.startswith("i|") and topic.grade is not Grade.NAME:
        return f"{_whose(surface, statements)} {surface}"
    return surface if surface[:1].isupper() or topic.grade is Grade.NAME else f"the {surface}"


def _whose(thing: str, statements: Sequence[DatedStatement]) -> str:
    """Return "my", or "our" if nobody says "my" of the thing."""
    mine = re.compile(rf"\bmy (?:\w+ ){{0,2}}{re.escape(thing)}\b", re.IGNORECASE)
    return "my" if any(mine.search(statement.text) for statement in statements) else "our"


def _told_of(about: str, speaker: str | None) -> tuple[str, bool]:
    """Return a matter without "my" or "our", and whether it names the speaker: "Ana's thesis"."""
    whose, _, thing = about.partition(" ")
    writer = voice(speaker) if speaker else "the writer"
    if thing and whose == "my":
        return f"{writer}'s {thing}", True
    if thing and whose == "our":
        return (f"their {thing}" if speaker else f"the {thing}"), False
    return about, False


def _subject(key: str, statements: Sequence[DatedStatement]) -> str:
    """Return what the key of a subject means, in the words of the statements."""
    owner, _, thing = key.rpartition("/")
    if owner:
        name = _subject(owner, statements)
        surface = _subject(thing, statements)
        return f"{name}'s {_bare(surface)}" if name else surface
    if "|" in key:
        return ""
    name = key.removeprefix("@")
    spelled = re.escape(name).replace("\\ 's", r"\s?['’]s")
    named = re.compile(rf"(?<!\w)(?:(?P<whose>my|our) )?(?P<name>{spelled})(?!\w)", re.IGNORECASE)
    found = [match for statement in statements if (match := named.search(statement.text))]
    if name != key:
        surface = found[0]["name"] if found else name.title()
        return _ROLES[name].replace("The", "the") if name in _ROLES else surface
    if found and all(match["whose"] for match in found):
        whose = "my" if any(match["whose"].lower() == "my" for match in found) else "our"
        return f"{whose} {found[-1]['name']}"
    inner = next((match["name"] for match in found if match.start("name")), name)
    return f"the {inner}"


def _bare(thing: str) -> str:
    return re.sub(r"^(?:the|my|our) ", "", thing)


def _about(statements: Sequence[DatedStatement], shifts: Sequence[ValueChange]) -> str:
    """Return what the statements are about; of a change, whom or what it is of."""
    if shifts:
        name = _subject(shifts[-1].subject, statements)
        if shifts[-1].after is None:
            return " and ".join(filter(None, (name, shifts[-1].before)))
        return name
    topic = common_topic(statements)
    if topic is None:
        return ""
    holder, _, _ = topic.key.rpartition(">")
    name = _subject(holder, statements) if holder.startswith("@") else ""
    return " and ".join(filter(None, (name, _label(topic, statements))))


def _lead(parted: Sequence[Sequence[DatedStatement]], ambiguous: Set[str], *, english: bool) -> str:
    """Return speaker, topic, number and dates, up to the colon."""
    statements = [statement for state in parted for statement in state]
    speakers = {statement.memory.speaker for statement in statements}
    speaker = next(iter(speakers)) if len(speakers) == 1 else None
    shifts = _shifts(parted, ambiguous)
    about = _about(statements, shifts)
    if not english and not shifts:
        return "".join(f"{part}: " for part in (speaker, _bare(about)) if part)
    about, is_named = _told_of(about, speaker)
    on = "" if is_named or not about else f"on {about}"
    opening = about if is_named else " ".join(filter(None, (voice(speaker or ""), on)))
    extent = ""
    if len(shifts) == 1 and shifts[0].after is None:
        extent = "then no longer"
    elif shifts:
        values = [shifts[0].before, *(shift.after or "no longer" for shift in shifts)]
        extent = "first " + ", then ".join(values)
    elif len(statements) >= _OFTEN:
        extent = f"{len(statements)} times from {day(statements[0].at)} to {day(statements[-1].at)}"
    lead = ", ".join(filter(None, (opening, extent)))
    return f"{lead[:1].upper()}{lead[1:]}: " if lead else ""


def _spoken(statement: DatedStatement, words: str, *, english: bool, by_name: bool) -> str:
    lead = f"{voice(statement.memory.speaker)}, " if by_name and statement.memory.speaker else ""
    return f"{lead}“{words}” ({day(statement.at, english=english)})"


def _reasons(parted: Sequence[Sequence[DatedStatement]], ambiguous: Set[str]) -> Iterator[str]:
    statements = [statement for state in parted for statement in state]
    shifts = _shifts(parted, ambiguous)
    about = _about(statements, shifts)
    if len(statements) == 1:
        yield f"One memory is left of it, of {day(statements[0].at)}."
    else:
        speakers = {statement.memory.speaker for statement in statements}
        about, _ = _told_of(about, next(iter(speakers)) if len(speakers) == 1 else None)
        matter = f"speak of {about}" if about else "are of one matter"
        span = f"from {day(statements[0].at)} to {day(statements[-1].at)}"
        yield f"{len(statements)} memories {span} {matter}."
    for shift in shifts:
        if shift.after is None:
            yield f"A later one takes {shift.before!r} back."
        else:
            yield f"A later one says that {shift.before!r} became {shift.after!r}."
