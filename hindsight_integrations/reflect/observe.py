"""The words of an observation, put together from its evidence and from nothing else.

Who speaks of what, how often and since when; then up to three of the statements themselves, to the
letter and with their dates: the first, the most central and the last, or one for each state where
something has changed. Where the evidence is not English, the frame around it has no words at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from hindsight_integrations.naming import entity_norm
from hindsight_integrations.reflect.contradict import Told, change, states, subjects
from hindsight_integrations.reflect.topics import LONGEST_QUOTE, Topic
from hindsight_integrations.storage.requests import Vector

SHOWN = 3
"""Statements quoted in the text; the others are evidence all the same."""

_OFTEN = 3
_ROLES = {"user": "The user", "human": "The user", "assistant": "The assistant", "ai": "The AI"}
_FOREIGN = re.compile(
    r"\b(?:der|die|das|und|ist|ein|eine|nicht|ich|mit|im|auf|zu|le|la|les|un|une|et|est|je|de|du|"
    r"des|à|que|qui|pas|el|los|las|y|es|en|por|para|con|no se|mi|o|os|um|uma|não|eu|com|il|che|di|"
    r"per|sono|non|jest|nie|się|że|het|een|van|ik|niet)\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(?:the|a|an|and|of|to|in|on|is|are|was|were|it|i|you|he|she|we|they|my|our|his|her|for|"
    r"with|at|by|from|that|this|has|have|had|not|no|will|as|so|but|be)\b",
    re.IGNORECASE,
)
_DETERMINED = r"\b(?:the|an?|my|our|your|his|her|their|this|that)\s+(?:[\w-]+\s+)?"


@dataclass(frozen=True, slots=True)
class Wording:
    """An observation in words.

    Attributes:
        text: the statement.
        quotes: memory id to the words of it that count.
        reasoning: how it was drawn.
        earlier: how it read before the last change that it tells.
    """

    text: str
    quotes: Mapping[str, str]
    reasoning: str
    earlier: str | None = None


def compose(evidence: Sequence[Told], vectors: Mapping[str, Vector]) -> Wording:
    """What statements of one matter say together; at least one statement, one a memory.

    Args:
        evidence: the statements.
        vectors: of their memories.
    """
    parted = states(evidence)
    told = [each for state in parted for each in state]
    name = _shared_name(told)
    topic = common_topic(told, other_than=name)
    about = _About(name, topic)
    quotes = {each.memory.id: quote(each.text, topic) for each in told}
    before = parted[:-1]
    return Wording(
        text=_text(parted, about, quotes, vectors),
        quotes=quotes,
        reasoning=" ".join(_reasons(parted, about)),
        earlier=_text(before, about, quotes, vectors) if before else None,
    )


@dataclass(frozen=True, slots=True)
class _About:
    """What statements are about: a name they share, if nobody speaks, and their topic."""

    name: str | None
    topic: Topic | None

    def label(self, told: Sequence[Told], values: Sequence[str]) -> str:
        """As a reader would call it; the values that it changed between are not what it is."""
        name, topic = self.name or "", self.topic
        own = set(entity_norm(name).split())
        said = topic is None or own.issuperset(entity_norm(topic.surface).split())
        if topic is None or said or topic.surface in values:
            return name
        return " and ".join(filter(None, (name, _label(topic, told))))


def _text(
    parted: Sequence[Sequence[Told]],
    about: _About,
    quotes: Mapping[str, str],
    vectors: Mapping[str, Vector],
) -> str:
    told = [each for state in parted for each in state]
    shown = _of_each_state(parted) if len(parted) > 1 else _telling(told, vectors)
    english = is_english([each.text for each in told])
    voices = {each.memory.speaker for each in told}
    spoken = "; ".join(
        _spoken(each, quotes[each.memory.id], english=english, by_name=len(voices) > 1)
        for each in shown
    )
    return f"{_lead(parted, about, english=english)}{spoken}."


def common_topic(told: Sequence[Told], other_than: str | None = None) -> Topic | None:
    """What all the statements speak of: a phrase rather than a name rather than a noun."""
    found = [topic for topic in common_topics(told) if topic.surface != other_than]
    return max(found, key=lambda topic: (topic.grade, len(topic.key), topic.key), default=None)


def common_topics(told: Sequence[Told]) -> list[Topic]:
    """Topics of any of the statements that all of them speak of.

    Each as it is spelled most often, but small if it is anywhere.
    """
    spelled: dict[str, list[Topic]] = {}
    for each in told:
        for key, topic in each.statement.topics.items():
            spelled.setdefault(key, []).append(topic)
    return [
        max(
            Counter(topics).items(),
            key=lambda found: (found[0].surface.islower(), found[1], found[0].surface),
        )[0]
        for key, topics in spelled.items()
        if all(each.statement.speaks_of(key) for each in told)
    ]


def quote(sentence: str, topic: Topic | None) -> str:
    """The sentence, or of a long one the words around the topic, to the letter."""
    if len(sentence) <= LONGEST_QUOTE:
        return sentence
    place = sentence.casefold().find(topic.surface.casefold()) if topic else 0
    start = max(0, min(place - LONGEST_QUOTE // 2, len(sentence) - LONGEST_QUOTE))
    part = sentence[start : start + LONGEST_QUOTE]
    if start and " " in part[:40]:
        part = part[part.index(" ") :]
    if start + LONGEST_QUOTE < len(sentence) and " " in part[-40:]:
        part = part[: part.rindex(" ")]
    return part.strip()


def is_english(texts: Sequence[str]) -> bool:
    """Whether they are in Latin letters, and have no more little words of other languages."""
    joined = " ".join(texts)
    latin = sum(letter.isascii() for letter in joined if letter.isalpha())
    letters = sum(letter.isalpha() for letter in joined)
    return 10 * latin >= 9 * letters and (
        len(_ENGLISH.findall(joined)) >= len(_FOREIGN.findall(joined))
    )


def day(moment: datetime, *, english: bool = True) -> str:
    """A day as English has it ("7 October 2024"), or as any reader can take it ("2024-10-07")."""
    return f"{moment.day} {moment:%B} {moment.year}" if english else f"{moment:%Y-%m-%d}"


def voice(speaker: str) -> str:
    """A speaker's name, or who somebody in that role is."""
    return _ROLES.get(speaker.casefold(), speaker)


def _telling(told: Sequence[Told], vectors: Mapping[str, Vector]) -> list[Told]:
    """The first, the most central and the last, in order of time."""
    if len(told) <= SHOWN:
        return list(told)
    inner = told[1:-1]
    known = [vectors[each.memory.id] for each in told if each.memory.id in vectors]

    def centrality(each: Told) -> float:
        own = vectors.get(each.memory.id)
        return 0.0 if own is None else sum(float(own @ other) for other in known)

    return [told[0], max(inner, key=lambda each: (centrality(each), each.memory.id)), told[-1]]


def _of_each_state(parted: Sequence[Sequence[Told]]) -> list[Told]:
    """What was changed first, and each change; of many the first and the last ones."""
    changed = parted[1][0]
    first = next((each for each in parted[0] if change(each, changed)), parted[0][0])
    found = [first, *(state[0] for state in parted[1:])]
    return found if len(found) <= SHOWN + 1 else [found[0], *found[-SHOWN:]]


def _values(parted: Sequence[Sequence[Told]]) -> list[str]:
    """The values of the states in order, if each change tells both of its own."""
    values: list[str] = []
    for before, after in pairwise(parted):
        found = next(filter(None, (change(each, after[0]) for each in before)), None)
        if found is None or found.before is None or found.after is None:
            return []
        values = [*values, found.after] if values else [found.before, found.after]
    return values


def _label(topic: Topic, told: Sequence[Told]) -> str:
    """The topic as a reader would call it: "the seat map", "pelican-02".

    Nothing in a script without spaces, where a topic is a part of a phrase.
    """
    surface = topic.surface
    if not surface.isascii() and not any(map(str.isspace, told[0].text)):
        return ""
    if surface[:1].isupper() or topic.key.startswith("@"):
        return surface
    article = re.compile(rf"{_DETERMINED}{re.escape(surface)}\b", re.IGNORECASE)
    determined = sum(bool(article.search(each.text)) for each in told)
    return f"the {surface}" if 2 * determined >= len(told) else surface


def _lead(parted: Sequence[Sequence[Told]], about: _About, *, english: bool) -> str:
    """Who, on what, how often and since when, up to the colon."""
    told = [each for state in parted for each in state]
    speakers = {each.memory.speaker for each in told}
    speaker = next(iter(speakers)) if len(speakers) == 1 else None
    values = _values(parted)
    label = about.label(told, values)
    if not english:
        return "".join(f"{part}: " for part in (speaker, label) if part)
    opening = " ".join(filter(None, (voice(speaker or ""), f"on {label}" if label else "")))
    extent = ""
    if values:
        extent = "first " + ", then ".join(values)
    elif len(parted) > 1:
        extent = "then and now"
    elif len(told) >= _OFTEN:
        extent = f"{len(told)} times from {day(told[0].at)} to {day(told[-1].at)}"
    lead = ", ".join(filter(None, (opening, extent)))
    return f"{lead[:1].upper()}{lead[1:]}: " if lead else ""


def _shared_name(told: Sequence[Told]) -> str | None:
    """A name that all statements may be about; who speaks is named anyhow."""
    if any(each.memory.speaker for each in told):
        return None
    first, *others = map(subjects, told)
    shared = (name for norm, name in first.items() if all(norm in names for names in others))
    return next(shared, None)


def _spoken(told: Told, words: str, *, english: bool, by_name: bool) -> str:
    lead = f"{voice(told.memory.speaker)}, " if by_name and told.memory.speaker else ""
    return f"{lead}“{words}” ({day(told.at, english=english)})"


def _reasons(parted: Sequence[Sequence[Told]], about: _About) -> Iterator[str]:
    told = [each for state in parted for each in state]
    values = _values(parted)
    label = about.label(told, values)
    if len(told) == 1:
        yield f"One memory is left of it, of {day(told[0].at)}."
    else:
        matter = f"speak of {label}" if label else "are of one matter"
        yield f"{len(told)} memories from {day(told[0].at)} to {day(told[-1].at)} {matter}."
    if values:
        steps = f"{values[0]!r} became " + ", then ".join(f"{value!r}" for value in values[1:])
        yield f"A later one changes what an earlier one said: {steps}."
    elif len(parted) > 1:
        yield "A later one takes back what an earlier one said."
