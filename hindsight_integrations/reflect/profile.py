"""A profile of a person without a language model: sentences of memories that tell who they are.

Each line is a sentence as a memory has it, with the memories that say it. What is said by the
bank's own agent, what a later statement changes or replaces, and matters long past are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from heapq import nlargest
from itertools import groupby, pairwise, zip_longest

from hindsight_integrations import display, validation
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.normalization import entity_norm, text_fingerprint
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import conditions
from hindsight_integrations.reflect.changes.certainty import bare_sentence
from hindsight_integrations.reflect.changes.contradictions import (
    change,
    ends,
    may_change,
)
from hindsight_integrations.reflect.changes.doubts import is_lasting_change, is_of_past_year
from hindsight_integrations.reflect.person_statements import (
    PersonStatement,
    ambiguous_names,
    person_statements,
)
from hindsight_integrations.reflect.profile_endings import has_moved, may_be_over
from hindsight_integrations.reflect.profile_reader import ProfileSection, Reading
from hindsight_integrations.reflect.retractions import (
    announces_correction,
    correction_by,
    documents_of,
    recants,
)
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.retain.speakers import is_agent
from hindsight_integrations.stores.base import ENTITY_NAMED, GraphStore, MemoryFilter, StoredBank
from hindsight_integrations.stores.reads import every_memory, read_one

PROFILE_TOKENS = 512
"""Token budget of a profile's text that names none: about thirty lines."""

CURRENT_PERIOD = timedelta(days=30)
"""Time after which a plan, project or state is no longer current."""

MOST_MEMORIES = 2000
"""Most memories, the newest, that a profile is read from: parsing one takes milliseconds."""

_ORDER = list(ProfileSection)
_TRANSFERABLE_SLOTS = ("own ", "run ", "manage ", "drive ", "lead ", "has ")
"""Prefixes of slots of things that may be handed over to another person."""
_HANDOVER = re.compile(
    r"(?:^|[,;:]\s*|\band\s+)(?P<thing>[^,;:]+?) (?:(?:now|already) )?(?:belongs? to"
    r"|(?:is|are|was|were|has been|have been|got) (?:now )?"
    r"(?:handed|passed|given|transferred|sold|signed)(?: on| over)? to"
    r"|(?:is|are) (?:now )?(?:owned|run|managed|led|maintained) by) \w",
    re.IGNORECASE,
)
"""Matches a handover, with the thing: "tally belongs to Farida from today"."""
_GIVEN = re.compile(
    r"\bg(?:ave|iven) (?:my|our|his|her|their|the) (?P<thing>[\w'’ -]{1,40}?) (?:to|away)\b",
    re.IGNORECASE,
)
"""Matches a gift, with the thing: "gave the cat to my cousin"."""
_BULLET = re.compile(r"\A\s*[-*•–]\s+")
"""Matches the mark of a list item, which is not quoted."""
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
class Profile(JsonForm):
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
        return self._in_section(ProfileSection.FACT)

    @property
    def preferences(self) -> tuple[ProfileLine, ...]:
        """Likes and dislikes."""
        return self._in_section(ProfileSection.PREFERENCE)

    @property
    def current(self) -> tuple[ProfileLine, ...]:
        """Plans, projects and states of the last thirty days."""
        return self._in_section(ProfileSection.CURRENT)

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories that the lines quote, each once."""
        return tuple(dict.fromkeys(id for line in self.lines for id in line.memory_ids))

    def _in_section(self, section: ProfileSection) -> tuple[ProfileLine, ...]:
        return tuple(line for line in self.lines if line.section is section)


def profile_of(
    deps: RecallDependencies,
    bank: StoredBank,
    person: str,
    max_tokens: int,
    query_time: datetime | date | str | None,
) -> Profile:
    """Return the profile of a person, from memories that are valid at `query_time`.

    Raises:
        InvalidInputError: an argument cannot be used.
    """
    person = validation.label("person", person).strip()
    max_tokens = validation.positive("max_tokens", max_tokens)
    now = validation.time_or_now("query_time", query_time, deps.settings.zone)
    bank_id = bank.bank.id
    entity = read_one(deps.graph, bank_id, ENTITY_NAMED, entity_norm(person), None)
    names = [person, *entity.names] if entity else [person]
    memories = _memories(deps.graph, bank_id, names, entity, now)
    lines = _lines(memories, frozenset(map(entity_norm, names)), bank.bank.name, now)
    fitting = _fitting(lines, deps.tokenizer, max_tokens)
    text = rendered(fitting)
    tokens = deps.tokenizer.count(text) if text else 0
    return Profile(bank_id, person, tuple(fitting), text, tokens, len(fitting) < len(lines))


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


def _fitting(
    lines: Sequence[ProfileLine], tokenizer: Tokenizer, max_tokens: int
) -> list[ProfileLine]:
    """Return the lines that fit the budget, in their order.

    The sections take turns, each with its newest line first.
    """
    by_section = [list(group) for _, group in groupby(lines, lambda line: line.section)]
    interleaved = [line for row in zip_longest(*by_section) for line in row if line is not None]
    fitting: list[ProfileLine] = []
    for line in interleaved:
        extended = sorted([*fitting, line], key=lines.index)
        if tokenizer.count(rendered(extended)) <= max_tokens:
            fitting = extended
    return fitting


def _memories(
    graph: GraphStore, bank_id: str, names: Sequence[str], entity: Entity | None, now: datetime
) -> list[Memory]:
    """Return the newest memories in which a person speaks or is mentioned."""
    not_derived = MemoryFilter(now=now, derived=False)
    spoken_by = conditions({"$or": [{"speaker": {"$icontains": name}} for name in names]})
    filters = [replace(not_derived, where=spoken_by)]
    if entity is not None:
        filters.append(replace(not_derived, entity_ids=(entity.id,)))
    memories = {
        memory.id: memory for filter in filters for memory in every_memory(graph, bank_id, filter)
    }
    return nlargest(MOST_MEMORIES, memories.values(), key=lambda memory: memory.mentioned_at)


def _lines(
    memories: Iterable[Memory], names: Set[str], agent: str, now: datetime
) -> list[ProfileLine]:
    """Return the lines of a profile, by section and newest first."""
    trusted = [m for m in memories if m.is_trusted and not is_agent(m.speaker, agent, ())]
    unambiguous = names - ambiguous_names(trusted, names)
    corrected = _corrected_messages(trusted)
    statements = [
        statement
        for memory in trusted
        if memory.id not in corrected
        for statement in person_statements(memory, unambiguous)
    ]
    statements.sort(key=lambda statement: statement.dated.at, reverse=True)
    lines: dict[str, ProfileLine] = {}
    later_readings: list[Reading] = []
    for statement in statements:
        fingerprint = text_fingerprint(statement.quoted)
        if fingerprint in lines:
            ids = (*lines[fingerprint].memory_ids, statement.dated.memory.id)
            lines[fingerprint] = replace(lines[fingerprint], memory_ids=tuple(dict.fromkeys(ids)))
            continue
        sections = [
            r.section for r in statement.readings if _is_relevant(r, statement.dated.memory, now)
        ]
        later = [newer for newer in statements if newer.dated.at > statement.dated.at]
        is_outdated = (
            _is_superseded(statement.readings, later_readings)
            or _is_changed_later(statement, later)
            or _is_passed_on(statement, later)
            or _may_be_over(statement, later, unambiguous)
            or _is_taken_back(statement, later)
        )
        if not is_of_past_year(statement.dated.text, statement.dated.at):
            later_readings += statement.readings
        if sections and not is_outdated:
            lines[fingerprint] = _line(statement, min(sections, key=_ORDER.index))
    return sorted(lines.values(), key=lambda line: _ORDER.index(line.section))


def _corrected_messages(memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of messages that the next one of the same speaker corrects."""
    spoken = [memory for memory in memories if memory.speaker is not None]
    spoken.sort(key=lambda m: (sorted(documents_of(m)), m.speaker or "", m.mentioned_at))
    return frozenset(
        message.id for message, following in pairwise(spoken) if correction_by(following, message)
    )


def _line(statement: PersonStatement, section: ProfileSection) -> ProfileLine:
    memory = statement.dated.memory
    return ProfileLine(
        section,
        _BULLET.sub("", statement.quoted),
        (memory.id,),
        memory.mentioned_at,
        memory.speaker,
    )


def _is_relevant(reading: Reading, memory: Memory, now: datetime) -> bool:
    """Return True if a reading holds, and if it is current unless it is a lasting fact.

    Current matters were said within `CURRENT_PERIOD` of `now`, and name no time that is over.
    """
    if not reading.holds:
        return False
    if reading.section is not ProfileSection.CURRENT:
        return True
    is_over = bool(memory.occurred) and all(span.end <= now for span in memory.occurred)
    return now - memory.mentioned_at <= CURRENT_PERIOD and not is_over


def _is_superseded(readings: Sequence[Reading], later: Sequence[Reading]) -> bool:
    """Return True if a later reading gives another value for the slot, or negates this one.

    A denial of the same deed or state may have fewer words: "is not moving to Dublin" after "is
    moving to the Dublin office".
    """
    return any(
        (reading.slot == newer.slot and newer.holds)
        or (
            not newer.holds
            and reading.slot.split()[:1] == newer.slot.split()[:1]
            and bool(reading.terms & newer.terms)
        )
        for reading in readings
        for newer in later
    )


def _is_changed_later(statement: PersonStatement, later: Sequence[PersonStatement]) -> bool:
    """Return True if a later statement about the person changes or ends the facts of this one."""
    terms = frozenset[str]().union(*(reading.terms for reading in statement.readings))
    return any(
        may_change(newer.dated)
        and is_lasting_change(newer.dated.text, newer.dated.memory.speaker)
        and not is_of_past_year(newer.dated.text, newer.dated.at)
        and (ends(newer.dated, terms) or change(statement.dated, newer.dated) is not None)
        for newer in later
    )


def _may_be_over(
    statement: PersonStatement, later: Sequence[PersonStatement], names: Set[str]
) -> bool:
    """Return True if a later statement hints that the facts of this one have ended."""
    slots = frozenset(reading.slot for reading in statement.readings)
    text = bare_sentence(statement.dated.text)
    return bool(slots) and any(
        may_be_over(text, slots, bare_sentence(newer.dated.text), names)
        or ("residence" in slots and _has_moved(newer, names))
        for newer in later
    )


def _is_taken_back(statement: PersonStatement, later: Sequence[PersonStatement]) -> bool:
    """Return True if a liking is taken back later, or something said of the person corrected."""
    told = [r.terms for r in statement.readings]
    liked = [r.terms for r in statement.readings if r.section is ProfileSection.PREFERENCE]
    return any(
        any(terms & newer.dated.statement.terms for terms in revised)
        for newer in later
        for revised in (
            told if announces_correction(newer.dated.text) else (),
            liked if recants(newer.dated.text) else (),
        )
    )


def _has_moved(statement: PersonStatement, names: Set[str]) -> bool:
    """Return True if a statement says that the person moved for good, wherever to."""
    text, memory = statement.dated.text, statement.dated.memory
    return (
        has_moved(bare_sentence(text), names)
        and is_lasting_change(text, memory.speaker)
        and not is_of_past_year(text, statement.dated.at)
    )


def _is_passed_on(statement: PersonStatement, later: Sequence[PersonStatement]) -> bool:
    """Return True if a later statement says that a thing the person has or runs is another's."""
    readings = (r for r in statement.readings if r.slot.startswith(_TRANSFERABLE_SLOTS))
    terms = [reading.terms for reading in readings if reading.terms]
    return any(
        any(owned <= thing_terms for owned in terms)
        for newer in later
        for pattern in (_HANDOVER, _GIVEN)
        for handover in pattern.finditer(newer.dated.text)
        for thing_terms in (frozenset(lexemes(handover["thing"])),)
    )
