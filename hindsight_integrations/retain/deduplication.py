"""Detect repeated statements, and add each as a source of the memory that exists."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory, Source, is_conclusion
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.normalization import entity_norm, text_fingerprint
from hindsight_integrations.results import Skipped
from hindsight_integrations.stores.base import MEMORY, GraphStore, MemoryRecord

_FILLERS = word_sets("text")["fillers"]
_CONTRACTIONS = (("n't", " not"), ("'re", " are"), ("'m", " am"), ("'ll", " will"), ("'ve", ""))

_OPENING = "\"'“„‘«‹([{¡¿「『（"
_CLOSING = "\"'”“’»›)]}.,;:!?…。，、！？；：」』）؟،؛।"
_DASHES = "-–—"
_CODE = re.compile(r"[^\W\d_]\d|\d[^\W\d_]|[a-z][A-Z]|\w[./\\_]\w")
_QUESTION = re.compile("[?？؟]")


def same_statement(new: Memory, old: Memory, cosine: float, *, threshold: float = 0.97) -> bool:
    """Return True if `new` repeats `old`, so that nothing is lost if only `old` is kept.

    They must be similar (equal fingerprints, or a cosine from `threshold` [H]) and agree in

    - all fields that recall can filter by: type, speaker, scope, tags, metadata, expiry; and in
      stating something or not: "Yes." is a courtesy, or an answer;
    - wording, apart from fillers and punctuation: numbers, identifiers, negations, word order;
    - the case of what may be a password, a key or the name of a file;
    - being a question or a statement;
    - the times they name: "I went running today" said on two days is two events;
    - the people and things named: neither names another one instead.
    """
    is_similar = cosine >= threshold or (
        text_fingerprint(new.text, new.speaker) == text_fingerprint(old.text, old.speaker)
    )
    return (
        is_similar
        and old.invalidated_at is None
        and _filterable_fields(new) == _filterable_fields(old)
        and _wording(new.text) == _wording(old.text)
        and _case_sensitive_words(new.text) == _case_sensitive_words(old.text)
        and bool(_QUESTION.search(new.text)) == bool(_QUESTION.search(old.text))
        and {(t.start, t.end) for t in new.occurred} == {(t.start, t.end) for t in old.occurred}
        and _names_compatible(new.entities, old.entities)
    )


def _filterable_fields(memory: Memory) -> tuple[object, ...]:
    """Return the fields that recall can filter by, and the kind of turn."""
    return (
        memory.type,
        memory.kind,
        memory.speaker,
        memory.scope,
        frozenset(memory.tags),
        dict(memory.metadata),
        memory.expires_at,
    )


def _wording(text: str) -> list[str]:
    """Return the normalised words in order, without fillers and enclosing punctuation."""
    folded = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    for short, long in _CONTRACTIONS:
        folded = folded.replace(short, long)
    words = [word.lstrip(_OPENING).rstrip(_CLOSING) for word in folded.split()]
    words = [word for word in words if word.strip(_DASHES)]
    return [word for word in words if word not in _FILLERS] or words or [folded]


def _case_sensitive_words(text: str) -> list[str]:
    """Return the words whose case may matter: codes with digits, inner capitals or separators."""
    words = unicodedata.normalize("NFC", text).split()
    return [word.lstrip(_OPENING).rstrip(_CLOSING) for word in words if _CODE.search(word)]


def _names_compatible(new: Iterable[str], old: Iterable[str]) -> bool:
    """Return True if one set of names contains the other.

    The extractor may have missed a name that it did not know yet; but if each set lacks a name of
    the other, the statements are about different people.
    """
    first, second = {entity_norm(name) for name in new}, {entity_norm(name) for name in old}
    return first <= second or second <= first


@dataclass(slots=True)
class StoragePlan:
    """Plan of what to store for each new statement.

    Attributes:
        ids: for each statement its own id, or that of the memory it repeats.
        new: statements that become new memories, each with all its sources.
        sources: sources that stored memories gain, each with the memory's id.
        replaced: stored memories with new content.
        history: entries that replacements add; all entries of a memory that is stored again.
        rejected: statements that cannot be stored under their ids, by index.
    """

    ids: list[str] = field(default_factory=list)
    new: list[MemoryRecord] = field(default_factory=list)
    sources: list[tuple[str, Source]] = field(default_factory=list)
    replaced: list[MemoryRecord] = field(default_factory=list)
    history: list[Change] = field(default_factory=list)
    rejected: dict[int, Skipped] = field(default_factory=dict)

    @property
    def written(self) -> list[MemoryRecord]:
        """The records of new and replaced memories."""
        return [*self.new, *self.replaced]


def deduplicate(
    records: Sequence[MemoryRecord],
    nearest: Sequence[Sequence[tuple[str, float]]],
    ids_by_fingerprint: Mapping[str, Sequence[str]],
    graph: GraphStore,
    bank_id: str,
    removed_ids: set[str],
    threshold: float,
) -> StoragePlan:
    """Separate new statements from repetitions of stored memories or of each other.

    `nearest` has for each the most similar stored memories with their cosine; from `threshold` on,
    two may be the same. `ids_by_fingerprint` has the stored ones of equal texts (`DUPLICATES`).
    Memories that the same change removes, `removed_ids`, cannot be repeated.
    """
    candidates_by_record = [
        {memory_id: cosine for memory_id, cosine in similar if cosine >= threshold}
        | dict.fromkeys(ids_by_fingerprint.get(record.fingerprint, ()), 1.0)
        for record, similar in zip(records, nearest, strict=True)
    ]
    candidate_ids = {
        memory_id for candidates in candidates_by_record for memory_id in candidates
    } - removed_ids
    memories = graph.read(bank_id, MEMORY, sorted(candidate_ids))
    # A statement never becomes a source of a conclusion, even if the texts are equal.
    stored = {id: memory for id, memory in memories.items() if not is_conclusion(memory)}
    new_records: dict[str, MemoryRecord] = {}
    new_ids_by_fingerprint: defaultdict[str, list[str]] = defaultdict(list)
    plan = StoragePlan()
    for record, candidates in zip(records, candidates_by_record, strict=True):
        memory = record.memory
        alike = {id: new_records[id].memory for id in new_ids_by_fingerprint[record.fingerprint]}
        equal = dict.fromkeys(alike, 1.0)
        if (id := _repeated_memory(memory, candidates, stored, threshold)) is not None:
            plan.sources.append((id, memory.sources[0]))
        elif (id := _repeated_memory(memory, equal, alike, threshold)) is not None:
            new_records[id] = _with_source(new_records[id], memory.sources[0])
        else:
            id = memory.id
            new_records[id] = record
            new_ids_by_fingerprint[record.fingerprint].append(id)
        plan.ids.append(id)
    plan.new += new_records.values()
    return plan


def _repeated_memory(
    memory: Memory,
    candidates: Mapping[str, float],
    memories: Mapping[str, Memory],
    threshold: float,
) -> str | None:
    """Return the most similar candidate that the memory repeats; None if it repeats none."""
    for memory_id in sorted(candidates, key=lambda m: (-candidates[m], m)):
        old = memories.get(memory_id)
        if old is not None and same_statement(
            memory, old, candidates[memory_id], threshold=threshold
        ):
            return memory_id
    return None


def _with_source(record: MemoryRecord, source: Source) -> MemoryRecord:
    memory = replace(record.memory, sources=(*record.memory.sources, source))
    return replace(record, memory=memory)
