"""Statements about a person: the sentences of a memory, with what each tells of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.syntax import parse
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.attribution import FollowUp, follow_up
from hindsight_integrations.reflect.changes.certainty import bare_sentence
from hindsight_integrations.reflect.profile_reader import RELATION, ProfileReader, Reading
from hindsight_integrations.reflect.topics import DatedStatement, Statement, statements
from hindsight_integrations.retain.stated_names import find_name

_PRONOUN = re.compile(r"\A(She|He|Her|His)\b")

_CONTRACTED = re.compile(r"\A(She|He)['’]s(?= (?!\w*(?:ed|en|wn|ne|ot|ad)\b))")
"""Matches "She's a nurse", not "She's been" or "She's got", which would become possessives."""
_CLAUSE_PRONOUN = re.compile(r", (she|he) (?=\w)(?!['’])")


@dataclass(frozen=True, slots=True)
class PersonStatement:
    """A statement about the person: its sentence as stored, and its readings."""

    dated: DatedStatement
    quoted: str
    readings: tuple[Reading, ...]


def person_statements(memory: Memory, names: Set[str]) -> Iterator[PersonStatement]:
    """Yield the statements of a memory, each with its readings about a person.

    A statement that the next sentence retracts has no readings; one that the next sentence explains
    is quoted together with it.

    Args:
        memory: the memory.
        names: normal forms of the person's names.
    """
    text, entities, speaker = memory.text, memory.entities, memory.speaker
    entity_names = {entity_norm(name): entity_norm(name) for name in entities}
    name_used = next((name for name in entities if entity_norm(name) in names), None)
    keys = {f"@{name}" for name in names}
    if speaker is not None and entity_norm(speaker) in names:
        keys.add(f"i|{speaker}")
    previous_reader: ProfileReader | None = None
    end = 0
    for statement in statements(text, entities, speaker):
        quoted = statement.text
        end = max(text.find(quoted, end), end) + len(quoted)
        following = follow_up(parse(bare_sentence(quoted)), text[end:])
        pronoun = _PRONOUN.match(quoted)
        if (
            pronoun
            and name_used
            and previous_reader is not None
            and previous_reader.is_meant_by(pronoun[1])
        ):
            statement = _with_name_for_pronoun(statement, name_used, entities, speaker)
        reader = ProfileReader(parse(bare_sentence(statement.text)), entity_names, speaker, keys)
        if name_used and (clause := _clause_with_name(reader, name_used)):
            reader = ProfileReader(parse(bare_sentence(clause)), entity_names, speaker, keys)
        previous_reader = reader
        is_meant = following is not FollowUp.TAKES_BACK
        readings = tuple(reader.readings()) if is_meant else ()
        if not statement.claims.is_clause:  # a parser may miss the verb of "my sister Ruth rang"
            readings = tuple(reading for reading in readings if reading.slot == RELATION)
        if readings and following is FollowUp.EXPLAINS:
            rest = text[end:]
            lead = len(rest) - len(rest.lstrip())
            stop = lead + next(iter(sentence_ends(rest.lstrip())), 0)
            quoted = (text[end - len(quoted) : end] + rest[:stop]).strip()
        yield PersonStatement(DatedStatement(memory, statement), quoted, readings)


def ambiguous_names(memories: Iterable[Memory], names: Set[str]) -> frozenset[str]:
    """Return the names that a memory also gives to another person: "the other Anna"."""
    patterns = {
        name: re.compile(
            rf"\b(?:other|another|second|young|younger|elder|older|second|junior|senior) "
            rf"{re.escape(name)}\b",
            re.IGNORECASE,
        )
        for name in names
    }
    texts = [memory.text for memory in memories]
    return frozenset(name for name, pattern in patterns.items() if any(map(pattern.search, texts)))


def _clause_with_name(reader: ProfileReader, name: str) -> str:
    """Return the last clause of "Ask Farah, she lives in Lisbon", with the name; "" if unclear."""
    text = reader.sentence.text
    match = _CLAUSE_PRONOUN.search(text)
    if match is None or find_name(text[: match.start()], name) < 0:
        return ""
    before = replace(reader, sentence=parse(f"{text[: match.start()]}."))
    return f"{name} {text[match.end() :]}" if before.is_meant_by(match[1]) else ""


def _with_name_for_pronoun(
    statement: Statement, name: str, entities: tuple[str, ...], speaker: str | None
) -> Statement:
    """Replace the "she", "he", "her" or "his" at the beginning of a statement by a name."""

    def named(match: re.Match[str]) -> str:
        return name if match[1] in ("She", "He") else f"{name}'s"

    text = _CONTRACTED.sub(r"\1 is", statement.text, count=1)
    text = _PRONOUN.sub(named, text, count=1)
    read = statements(text, entities, speaker)
    return read[0] if len(read) == 1 else statement
