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
from hindsight_integrations.nlp.syntax import parse
from hindsight_integrations.reflect.changes.claim_model import ValueChange
from hindsight_integrations.reflect.changes.contradictions import change, split_at_changes
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.topics import LONGEST_QUOTE, THE_WRITER, Grade, Topic
from hindsight_integrations.stores.base import Vector

SHOWN = 3
"""Statements quoted in the text; the others are evidence too."""

_OFTEN = 3
_ROLES = {"user": "The user", "human": "The user", "assistant": "The assistant", "ai": "The AI"}


@dataclass(frozen=True, slots=True)
class ObservationText:
    """Text of an observation.

    Attributes:
        text: the statement.
        quotes: verbatim evidence, by memory id.
        reasoning: how the observation follows from its evidence.
        earlier: the text before the last change that it describes; None if it describes none.
    """

    text: str
    quotes: Mapping[str, str]
    reasoning: str
    earlier: str | None = None


def compose(
    evidence: Sequence[DatedStatement],
    vectors: Mapping[str, Vector],
    ambiguous: Set[str] = frozenset(),
) -> ObservationText:
    """Compose the text of an observation.

    Args:
        evidence: one or more statements in order of time, at most one of each memory.
        vectors: vectors of their memories, by id.
        ambiguous: first names that several people have.
    """
    states = split_at_changes(evidence, ambiguous)
    statements = [statement for state in states for statement in state]
    topic = common_topic(statements)
    quotes = {statement.memory.id: quote(statement.text, topic) for statement in statements}
    earlier_states = states[:-1]
    return ObservationText(
        text=_text(states, quotes, vectors, ambiguous),
        quotes=quotes,
        reasoning=" ".join(_reasons(states, ambiguous)),
        earlier=_text(earlier_states, quotes, vectors, ambiguous) if earlier_states else None,
    )


def _text(
    states: Sequence[Sequence[DatedStatement]],
    quotes: Mapping[str, str],
    vectors: Mapping[str, Vector],
    ambiguous: Set[str],
) -> str:
    statements = [statement for state in states for statement in state]
    several = len(states) > 1
    shown = _one_per_state(states, ambiguous) if several else _representative(statements, vectors)
    english = is_english([statement.text for statement in statements])
    voices = {statement.memory.speaker for statement in statements}
    spoken = "; ".join(
        _cited_quote(
            statement, quotes[statement.memory.id], english=english, by_name=len(voices) > 1
        )
        for statement in shown
    )
    return f"{_opening(states, ambiguous, english=english)}{spoken}."


def common_topic(statements: Sequence[DatedStatement]) -> Topic | None:
    """Return the topic of highest priority that all statements share, else None.

    It has its most frequent spelling, with preference for one in lower case. One statement alone
    is of the person's fact that it tells, if any.
    """
    alone = len(statements) == 1
    shared = [
        [statement.statement.topics[key] for statement in statements]
        for key in statements[0].statement.topics
        if all(key in statement.statement.topics for statement in statements)
    ]
    best = max(
        shared,
        key=lambda topics: (alone and topics[0].grade is Grade.FACT, priority(topics[0])),
        default=None,
    )
    if best is None:
        return None
    return max(
        Counter(best).items(),
        key=lambda counted: (counted[0].surface.islower(), counted[1], counted[0].surface),
    )[0]


def priority(topic: Topic) -> tuple[int, int, str]:
    """Return the sort key by which one of several shared topics is chosen; the highest wins."""
    return topic.grade, len(topic.key), topic.key


def quote(sentence: str, topic: Topic | None) -> str:
    """Return a verbatim quote: the sentence, or the words around the topic of a long one."""
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
    """Return a speaker's name, or the wording for a role such as "user"."""
    return _ROLES.get(speaker.casefold(), speaker)


def _representative(
    statements: Sequence[DatedStatement], vectors: Mapping[str, Vector]
) -> list[DatedStatement]:
    """Return the first, the most central and the last statement, in order of time."""
    if len(statements) <= SHOWN:
        return list(statements)
    middle = statements[1:-1]
    all_vectors = [
        vectors[statement.memory.id] for statement in statements if statement.memory.id in vectors
    ]

    def centrality(statement: DatedStatement) -> float:
        vector = vectors.get(statement.memory.id)
        return 0.0 if vector is None else sum(float(vector @ other) for other in all_vectors)

    return [
        statements[0],
        max(middle, key=lambda statement: (centrality(statement), statement.memory.id)),
        statements[-1],
    ]


def _one_per_state(
    states: Sequence[Sequence[DatedStatement]], ambiguous: Set[str]
) -> list[DatedStatement]:
    """Return the statement that was changed first and each change; of many the first and last."""
    first_change = states[1][0]
    changed_statements = (
        statement for statement in states[0] if change(statement, first_change, ambiguous)
    )
    chosen = [next(changed_statements, states[0][0]), *(state[0] for state in states[1:])]
    return chosen if len(chosen) <= SHOWN + 1 else [chosen[0], *chosen[-SHOWN:]]


def _changes_between_states(
    states: Sequence[Sequence[DatedStatement]], ambiguous: Set[str]
) -> list[ValueChange]:
    """Return the change from each state to the next."""
    return [
        shift
        for before, after in pairwise(states)
        if (shift := next(filter(None, (change(o, after[0], ambiguous) for o in before)), None))
    ]


def _label(topic: Topic, statements: Sequence[DatedStatement]) -> str:
    """Return a topic with its determiner: "the seat map", "pelican-02", "my thesis"."""
    surface = topic.surface
    if topic.key.startswith("i|") and topic.grade is not Grade.NAME:
        return f"{_possessive(surface, statements)} {surface}"
    return surface if surface[:1].isupper() or topic.grade is Grade.NAME else f"the {surface}"


def _possessive(thing: str, statements: Sequence[DatedStatement]) -> str:
    """Return "my" if a statement has "my" before the thing, else "our"."""
    mine = re.compile(rf"\bmy (?:\w+ ){{0,2}}{re.escape(thing)}\b", re.IGNORECASE)
    return "my" if any(mine.search(statement.text) for statement in statements) else "our"


def _with_owner(matter: str, speaker: str | None) -> tuple[str, bool]:
    """Replace "my" or "our" by the owner; return True as well if that names the speaker.

    "my thesis" becomes "Ana's thesis".
    """
    if matter in (speaker, THE_WRITER):
        return voice(matter), True
    possessive, _, thing = matter.partition(" ")
    writer = voice(speaker) if speaker else "the writer"
    if thing and possessive == "my":
        return f"{writer}'s {thing}", True
    if thing and possessive == "our":
        return (f"their {thing}" if speaker else f"the {thing}"), False
    return matter, False


def _subject(key: str, statements: Sequence[DatedStatement]) -> str:
    """Return the surface form of a subject's key, as the statements have it; "" for a speaker."""
    owner, _, thing = key.rpartition("/")
    if owner:
        name = _subject(owner, statements)
        surface = _subject(thing, statements)
        return f"{name}'s {_without_determiner(surface)}" if name else surface
    if "|" in key:
        return ""
    name = key.removeprefix("@")
    spelled = re.escape(name).replace("\\ 's", r"\s?['’]s")
    plural = "" if name != key else "s?"  # the key of a thing has its nouns in the singular
    pattern = re.compile(
        rf"(?<!\w)(?:(?P<whose>my|our) )?(?P<name>{spelled}{plural})(?!\w)", re.IGNORECASE
    )
    matches = [match for statement in statements if (match := pattern.search(statement.text))]
    if name != key:
        surface = matches[0]["name"] if matches else name.title()
        return _ROLES[name].replace("The", "the") if name in _ROLES else surface
    if matches and all(match["whose"] for match in matches):
        possessive = "my" if any(match["whose"].lower() == "my" for match in matches) else "our"
        return f"{possessive} {matches[-1]['name']}"
    spelling = next((match["name"] for match in matches if match.start("name")), name)
    if spelling == name and matches:
        spelling = _uncapitalised(matches[0])
    return f"the {spelling}"


def _uncapitalised(match: re.Match[str]) -> str:
    """Return a phrase at the beginning of a sentence as it is spelled within one."""
    spelled, first = match["name"], parse(match.string).words[0]
    is_name = first.is_proper or not first.text[1:].islower()
    return spelled if is_name else f"{spelled[:1].lower()}{spelled[1:]}"


def _without_determiner(thing: str) -> str:
    return re.sub(r"^(?:the|my|our) ", "", thing)


def _matter(statements: Sequence[DatedStatement], shifts: Sequence[ValueChange]) -> str:
    """Return what the statements are about: the subject of a change, else the common topic."""
    if shifts:
        name = _subject(shifts[-1].subject, statements)
        if shifts[-1].after is None:
            return " and ".join(filter(None, (name, shifts[-1].before)))
        return name
    topic = common_topic(statements)
    if topic is None:
        return ""
    if topic.grade is Grade.FACT:
        return topic.surface
    holder, _, _ = topic.key.rpartition(">")
    name = _subject(holder, statements) if holder.startswith("@") else ""
    return " and ".join(filter(None, (name, _label(topic, statements))))


def _opening(
    states: Sequence[Sequence[DatedStatement]], ambiguous: Set[str], *, english: bool
) -> str:
    """Return the opening up to the colon: speaker, topic, and the values or the count and dates."""
    statements = [statement for state in states for statement in state]
    speakers = {statement.memory.speaker for statement in statements}
    speaker = next(iter(speakers)) if len(speakers) == 1 else None
    shifts = _changes_between_states(states, ambiguous)
    matter = _matter(statements, shifts)
    if not english and not shifts:
        return "".join(f"{part}: " for part in (speaker, _without_determiner(matter)) if part)
    matter, is_named = _with_owner(matter, speaker)
    on_matter = "" if is_named or not matter else f"on {matter}"
    opening = matter if is_named else " ".join(filter(None, (voice(speaker or ""), on_matter)))
    extent = ""
    if len(shifts) == 1 and shifts[0].after is None:
        extent = "then no longer"
    elif shifts:
        values = [shifts[0].before, *(shift.after or "no longer" for shift in shifts)]
        extent = "first " + ", then ".join(values)
    elif len(statements) >= _OFTEN:
        extent = f"{len(statements)} times from {day(statements[0].at)} to {day(statements[-1].at)}"
    lead = ", ".join(filter(None, (opening, extent))).rstrip(".")  # "R." at the end of a sentence
    return f"{lead[:1].upper()}{lead[1:]}: " if lead else ""


def _cited_quote(statement: DatedStatement, words: str, *, english: bool, by_name: bool) -> str:
    lead = f"{voice(statement.memory.speaker)}, " if by_name and statement.memory.speaker else ""
    return f"{lead}“{words}” ({day(statement.at, english=english)})"


def _reasons(states: Sequence[Sequence[DatedStatement]], ambiguous: Set[str]) -> Iterator[str]:
    statements = [statement for state in states for statement in state]
    shifts = _changes_between_states(states, ambiguous)
    matter = _matter(statements, shifts)
    topic = common_topic(statements)
    if len(statements) == 1 and topic is not None and topic.grade is Grade.FACT:
        yield f"One memory states it of {topic.surface}, of {day(statements[0].at)}."
    elif len(statements) == 1:
        yield f"One memory is left of it, of {day(statements[0].at)}."
    else:
        speakers = {statement.memory.speaker for statement in statements}
        matter, _ = _with_owner(matter, next(iter(speakers)) if len(speakers) == 1 else None)
        phrase = f"speak of {matter}" if matter else "are of one matter"
        span = f"from {day(statements[0].at)} to {day(statements[-1].at)}"
        yield f"{len(statements)} memories {span} {phrase}."
    for shift in shifts:
        if shift.after is None:
            yield f"A later one takes {shift.before!r} back."
        else:
            yield f"A later one says that {shift.before!r} became {shift.after!r}."
