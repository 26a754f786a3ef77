"""A profile of a person without a language model: sentences of memories that tell who they are.

Each line is a sentence as a memory has it, with the memories that say it. What is said by the
bank's own agent, what a later statement changes or replaces, and matters long past are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from heapq import nlargest
from itertools import groupby, pairwise, zip_longest

from hindsight_integrations import display, validation
from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.syntax import parse
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.normalization import entity_norm, text_fingerprint
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import conditions
from hindsight_integrations.reflect.attribution import FollowUp, follow_up
from hindsight_integrations.reflect.changes.certainty import bare_sentence
from hindsight_integrations.reflect.changes.contradictions import (
    change,
    dated_statements,
    ends,
    may_change,
)
from hindsight_integrations.reflect.changes.doubts import is_lasting_change, is_of_past_year
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.profile_endings import has_moved, may_be_over
from hindsight_integrations.reflect.profile_reader import ProfileReader, ProfileSection, Reading
from hindsight_integrations.reflect.retractions import correction_in, recants
from hindsight_integrations.reflect.topics import statements
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.retain.speakers import is_agent
from hindsight_integrations.stores.base import ENTITY_NAMED, GraphStore, MemoryFilter, StoredBank
from hindsight_integrations.stores.common import every_memory, read_one

PROFILE_TOKENS = 512
"""Token budget of a profile's text that names none: about thirty lines."""

CURRENT = timedelta(days=30)
"""Time for which what somebody is busy with counts as current."""

SOON = timedelta(days=2)
"""Time within which somebody's next message may correct the one before."""

MOST_MEMORIES = 2000
"""Newest memories that a profile is read from: parsing one takes milliseconds the first time."""

_ORDER = list(ProfileSection)
_PRONOUN = re.compile(r"\A(She|He|Her|His)\b")
_OWNED = ("own ", "run ", "manage ", "drive ", "lead ")
"""Beginnings of the slots of what somebody has that another may have after them."""
_PASSED = re.compile(
    r"(?:^|[,;:]\s*|\band\s+)(?P<thing>[^,;:]+?) (?:(?:now|already) )?(?:belongs? to"
    r"|(?:is|are|was|were|has been|have been|got) (?:now )?"
    r"(?:handed|passed|given|transferred|sold|signed)(?: on| over)? to"
    r"|(?:is|are) (?:now )?(?:owned|run|managed|led|maintained) by) \w",
    re.IGNORECASE,
)
"""Who has a thing from now on: "tally belongs to Farida from today"."""
_BULLET = re.compile(r"\A\s*[-*•–]\s+")
"""The mark of a list's item, which is no part of what it says."""
_HEADINGS = {
    ProfileSection.FACT: "Facts",
    ProfileSection.PREFERENCE: "Preferences",
    ProfileSection.CURRENT: "Current matters",
}


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A sentence of a profile.

    Attributes:
        section: "fact", "preference" or "current".
        text: the sentence, as the memory has it.
        memory_ids: the memories that say it, the newest first.
        said_at: when it was said last.
        speaker: who said it then, if known.
    """

    section: ProfileSection
    text: str
    memory_ids: tuple[str, ...]
    said_at: datetime
    speaker: str | None = None

    def __repr__(self) -> str:
        return f"ProfileLine({self.section}: {self.text!r}, {display.moment(self.said_at)})"


@dataclass(frozen=True, slots=True)
class Profile:
    """A person, in sentences of the memories; false if nothing is known.

    Attributes:
        bank_id: the bank.
        person: the name asked for.
        lines: the sentences, by section, and newest first in each.
        text: the lines as text for a prompt, within the budget; "" if there are none.
        tokens: tokens of the text.
        truncated: True if lines were left out of the text, and of `lines`, for lack of room.
    """

    bank_id: str
    person: str
    lines: tuple[ProfileLine, ...] = ()
    text: str = ""
    tokens: int = 0
    truncated: bool = False

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __repr__(self) -> str:
        return display.lines(f"Profile({self.person!r}, {self.tokens} tokens)", self.lines)

    def _repr_html_(self) -> str:
        rows = (
            {"": line.section, "statement": line.text, "said": display.moment(line.said_at)}
            for line in self.lines
        )
        return display.table(rows, self.person)

    @property
    def facts(self) -> tuple[ProfileLine, ...]:
        """Lasting facts: home, work, family, languages, health."""
        return self._of(ProfileSection.FACT)

    @property
    def preferences(self) -> tuple[ProfileLine, ...]:
        """Likes and dislikes."""
        return self._of(ProfileSection.PREFERENCE)

    @property
    def current(self) -> tuple[ProfileLine, ...]:
        """Plans, projects and states of the last thirty days."""
        return self._of(ProfileSection.CURRENT)

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories that the lines quote, each once."""
        return tuple(dict.fromkeys(id for line in self.lines for id in line.memory_ids))

    def _of(self, section: ProfileSection) -> tuple[ProfileLine, ...]:
        return tuple(line for line in self.lines if line.section is section)


@dataclass(frozen=True, slots=True)
class _Told:
    """A statement on the person: its sentence as stored, and what it says of them."""

    statement: DatedStatement
    quoted: str
    readings: tuple[Reading, ...]


def profile_of(
    deps: RecallDependencies,
    bank: StoredBank,
    person: str,
    max_tokens: int,
    query_time: datetime | date | str | None,
) -> Profile:
    """Return the profile of a person, from what is valid at that time.

    Raises:
        InvalidInputError: an argument cannot be used.
    """
    person = validation.label("person", person).strip()
    max_tokens = validation.positive("max_tokens", max_tokens)
    now = validation.time_or_now("query_time", query_time, deps.settings.zone)
    bank_id = bank.bank.id
    entity = read_one(deps.graph, bank_id, ENTITY_NAMED, entity_norm(person), None)
    known = [person, entity.name, *entity.aliases] if entity else [person]
    memories = _memories(deps.graph, bank_id, known, entity, now)
    lines = _lines(memories, frozenset(map(entity_norm, known)), bank.bank.name, now)
    taken = _fitting(lines, deps.tokenizer, max_tokens)
    text = rendered(taken)
    tokens = deps.tokenizer.count(text) if text else 0
    return Profile(bank_id, person, tuple(taken), text, tokens, len(taken) < len(lines))


def rendered(lines: Sequence[ProfileLine]) -> str:
    """Return the lines of a profile under the headings of their sections."""
    parts = [
        f"{_HEADINGS[section]}\n{chr(10).join(map(_rendered_line, members))}"
        for section, members in groupby(lines, lambda line: line.section)
    ]
    return "\n".join(parts)


def _rendered_line(line: ProfileLine) -> str:
    by = f"{as_line(line.speaker)}, " if line.speaker else ""
    return f"- {as_item(line.text)} [{by}{line.said_at:%d %b %Y}]"


def _fitting(lines: Sequence[ProfileLine], tokenizer: Tokenizer, room: int) -> list[ProfileLine]:
    """Return the lines that fit, the newest of each section first in turn, in their order."""
    by_section = [list(group) for _, group in groupby(lines, lambda line: line.section)]
    in_turn = [line for row in zip_longest(*by_section) for line in row if line is not None]
    taken: list[ProfileLine] = []
    for line in in_turn:
        wider = sorted([*taken, line], key=lines.index)
        if tokenizer.count(rendered(wider)) <= room:
            taken = wider
    return taken


def _memories(
    graph: GraphStore, bank_id: str, known: Sequence[str], entity: Entity | None, now: datetime
) -> list[Memory]:
    """Return the newest memories that somebody said or is mentioned in."""
    given = MemoryFilter(now=now, derived=False)
    said = conditions({"$or": [{"speaker": {"$icontains": name}} for name in known]})
    filters = [replace(given, where=said)]
    if entity is not None:
        filters.append(replace(given, entity_ids=(entity.id,)))
    found = {
        memory.id: memory for filter in filters for memory in every_memory(graph, bank_id, filter)
    }
    return nlargest(MOST_MEMORIES, found.values(), key=lambda memory: memory.mentioned_at)


def _lines(
    memories: Iterable[Memory], names: Set[str], agent: str, now: datetime
) -> list[ProfileLine]:
    """Return the lines of a profile, by section and newest first."""
    trusted = [m for m in memories if m.is_trusted and not is_agent(m.speaker, agent, ())]
    certain = names - _shared(trusted, names)
    corrected = _corrected(trusted)
    told = [
        one for memory in trusted if memory.id not in corrected for one in _told(memory, certain)
    ]
    told.sort(key=lambda one: one.statement.at, reverse=True)
    lines: dict[str, ProfileLine] = {}
    later: list[Reading] = []
    for index, one in enumerate(told):
        said = text_fingerprint(one.quoted)
        if said in lines:
            ids = (*lines[said].memory_ids, one.statement.memory.id)
            lines[said] = replace(lines[said], memory_ids=tuple(dict.fromkeys(ids)))
            continue
        sections = [r.section for r in one.readings if _is_due(r, one.statement.memory, now)]
        changed = _is_overtaken(one.readings, later) or _is_changed(one, told[:index])
        changed = changed or _is_handed_over(one, told[:index])
        changed = changed or _may_be_over(one, told[:index], certain)
        changed = changed or _is_thought_otherwise(one, told[:index])
        if not is_of_past_year(one.statement.text, one.statement.at):
            later += one.readings
        if sections and not changed:
            lines[said] = _line(one, min(sections, key=_ORDER.index))
    return sorted(lines.values(), key=lambda line: _ORDER.index(line.section))


def _corrected(memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of messages that the next one of the same speaker corrects."""
    spoken = [memory for memory in memories if memory.speaker is not None]
    spoken.sort(key=lambda memory: (memory.speaker or "", memory.mentioned_at))
    return frozenset(
        message.id
        for message, following in pairwise(spoken)
        if message.speaker == following.speaker
        and following.mentioned_at - message.mentioned_at <= SOON
        and correction_in(following.text)
    )


def _line(one: _Told, section: ProfileSection) -> ProfileLine:
    memory = one.statement.memory
    return ProfileLine(
        section, _BULLET.sub("", one.quoted), (memory.id,), memory.mentioned_at, memory.speaker
    )


def _is_due(reading: Reading, memory: Memory, now: datetime) -> bool:
    """Return True for what is so, and a matter only if it is of these weeks and not over."""
    if not reading.holds:
        return False
    if reading.section is not ProfileSection.CURRENT:
        return True
    over = bool(memory.occurred) and all(span.end <= now for span in memory.occurred)
    return now - memory.mentioned_at <= CURRENT and not over


def _is_overtaken(readings: Sequence[Reading], later: Sequence[Reading]) -> bool:
    """Return True if a later statement gives another value, or says that this one is not so."""
    return any(
        one.slot == newer.slot and (newer.holds or bool(one.terms & newer.terms))
        for one in readings
        for newer in later
    )


def _is_changed(one: _Told, later: Sequence[_Told]) -> bool:
    """Return True if a later statement on the person changes or ends what this one says."""
    terms = frozenset[str]().union(*(reading.terms for reading in one.readings))
    return any(
        newer.statement.at > one.statement.at
        and may_change(newer.statement)
        and is_lasting_change(newer.statement.text, newer.statement.memory.speaker)
        and not is_of_past_year(newer.statement.text, newer.statement.at)
        and (ends(newer.statement, terms) or change(one.statement, newer.statement) is not None)
        for newer in later
    )


def _may_be_over(one: _Told, later: Sequence[_Told], names: Set[str]) -> bool:
    """Return True if a later statement hints that what this one says is no longer so."""
    slots = frozenset(reading.slot for reading in one.readings)
    text = bare_sentence(one.statement.text)
    return bool(slots) and any(
        newer.statement.at > one.statement.at
        and (
            may_be_over(text, slots, bare_sentence(newer.statement.text), names)
            or ("residence" in slots and _has_moved(newer, names))
        )
        for newer in later
    )


def _is_thought_otherwise(one: _Told, later: Sequence[_Told]) -> bool:
    """Return True if the person takes back a liking, or praises later what they blamed."""
    liked = [r.terms for r in one.readings if r.section is ProfileSection.PREFERENCE]
    return bool(liked) and any(
        newer.statement.at > one.statement.at
        and recants(newer.statement.text)
        and any(terms & newer.statement.statement.terms for terms in liked)
        for newer in later
    )


def _has_moved(said: _Told, names: Set[str]) -> bool:
    """Return True if a statement says that the person moved for good, wherever to."""
    text, memory = said.statement.text, said.statement.memory
    return (
        has_moved(bare_sentence(text), names)
        and is_lasting_change(text, memory.speaker)
        and not is_of_past_year(text, said.statement.at)
    )


def _shared(memories: Iterable[Memory], names: Set[str]) -> frozenset[str]:
    """Return the names that a memory gives to somebody else too: "the other Anna"."""
    telling = {
        name: re.compile(
            rf"\b(?:other|another|second|young|younger|elder|older|second|junior|senior) "
            rf"{re.escape(name)}\b",
            re.IGNORECASE,
        )
        for name in names
    }
    texts = [memory.text for memory in memories]
    return frozenset(name for name, told in telling.items() if any(map(told.search, texts)))


def _is_handed_over(one: _Told, later: Sequence[_Told]) -> bool:
    """Return True if a later statement says that what one owns or runs is another's."""
    terms = [reading.terms for reading in one.readings if reading.slot.startswith(_OWNED)]
    return any(
        newer.statement.at > one.statement.at and any(owned <= thing for owned in terms if owned)
        for newer in later
        for passed in _PASSED.finditer(newer.statement.text)
        for thing in (frozenset(lexemes(passed["thing"])),)
    )


def _told(memory: Memory, names: Set[str]) -> Iterator[_Told]:
    """Yield the statements of a memory, each with what it says of the person.

    A claim that the next sentence takes back tells nothing; one that it explains is quoted with it.
    """
    known = {entity_norm(name): entity_norm(name) for name in memory.entities}
    called = next((name for name in memory.entities if entity_norm(name) in names), None)
    keys = {f"@{name}" for name in names}
    if memory.speaker is not None and entity_norm(memory.speaker) in names:
        keys.add(f"i|{memory.speaker}")
    before: ProfileReader | None = None
    end = 0
    for dated in dated_statements(memory):
        quoted = dated.text
        end = max(memory.text.find(quoted, end), end) + len(quoted)
        after = follow_up(parse(bare_sentence(quoted)), memory.text[end:])
        pronoun = _PRONOUN.match(quoted)
        if pronoun and called and before is not None and before.is_meant_by(pronoun[1]):
            dated = _with_name(dated, called)
        reader = ProfileReader(parse(bare_sentence(dated.text)), known, memory.speaker, keys)
        before = reader
        is_meant = dated.statement.claims.is_clause and after is not FollowUp.TAKES_BACK
        readings = tuple(reader.readings()) if is_meant else ()
        if readings and after is FollowUp.EXPLAINS:
            rest = memory.text[end:]
            lead = len(rest) - len(rest.lstrip())
            stop = lead + next(iter(sentence_ends(rest.lstrip())), 0)
            quoted = (memory.text[end - len(quoted) : end] + rest[:stop]).strip()
        yield _Told(dated, quoted, readings)


def _with_name(dated: DatedStatement, name: str) -> DatedStatement:
    """Return a statement with a name in place of the "she", "he", "her" or "his" it begins with."""

    def named(match: re.Match[str]) -> str:
        return name if match[1] in ("She", "He") else f"{name}'s"

    text, memory = _PRONOUN.sub(named, dated.text, count=1), dated.memory
    read = statements(text, memory.entities, memory.speaker)
    return replace(dated, statement=read[0]) if len(read) == 1 else dated
