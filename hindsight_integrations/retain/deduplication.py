"""Detect repeated statements, and add each as a source of the memory that exists."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.models import Memory, Source
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.normalization import entity_norm, text_fingerprint
from hindsight_integrations.stores.base import MEMORY, GraphStore, MemoryRecord
from hindsight_integrations.stores.common import is_conclusion

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
    alike = cosine >= threshold or (
        text_fingerprint(new.text, new.speaker) == text_fingerprint(old.text, old.speaker)
    )
    return (
        alike
        and old.invalidated_at is None
        and _partition(new) == _partition(old)
        and _wording(new.text) == _wording(old.text)
        and _codes(new.text) == _codes(old.text)
        and bool(_QUESTION.search(new.text)) == bool(_QUESTION.search(old.text))
        and {(t.start, t.end) for t in new.occurred} == {(t.start, t.end) for t in old.occurred}
        and _compatible(new.entities, old.entities)
    )


def _partition(memory: Memory) -> tuple[object, ...]:
    """Return the fields that recall can filter by, and the kind."""
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
    """Return the words in order, without fillers; signs and symbols belong to the words."""
    folded = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    for short, long in _CONTRACTIONS:
        folded = folded.replace(short, long)
    words = [word.lstrip(_OPENING).rstrip(_CLOSING) for word in folded.split()]
    words = [word for word in words if word.strip(_DASHES)]
    return [word for word in words if word not in _FILLERS] or words or [folded]


def _codes(text: str) -> list[str]:
    """Return the words whose case may matter: with letters and digits, inner capitals or signs."""
    words = unicodedata.normalize("NFC", text).split()
    return [word.lstrip(_OPENING).rstrip(_CLOSING) for word in words if _CODE.search(word)]


def _compatible(new: Iterable[str], old: Iterable[str]) -> bool:
    """Return True if one set of names contains the other.

    A name may be missing where the extractor did not know it yet; but if each lacks one of the
    other's names, they are about different people.
    """
    first, second = {entity_norm(name) for name in new}, {entity_norm(name) for name in old}
    return first <= second or second <= first


@dataclass(frozen=True, slots=True)
class Folded:
    """New statements without the repetitions among them.

    Attributes:
        records: the statements to store, each with all its sources.
        ids: for every statement its own id, or that of the memory it repeats.
        sources: new sources of memories stored earlier, by id.
    """

    records: tuple[MemoryRecord, ...]
    ids: tuple[str, ...]
    sources: tuple[tuple[str, Source], ...]


def fold(
    records: Sequence[MemoryRecord],
    nearest: Sequence[Sequence[tuple[str, float]]],
    prints: Mapping[str, Sequence[str]],
    graph: GraphStore,
    bank_id: str,
    leaving: set[str],
    threshold: float,
) -> Folded:
    """Separate new statements from repetitions.

    Args:
        records: the new statements.
        nearest: for each, the most similar stored memories with their cosine.
        prints: ids of the stored memories of each of their fingerprints (`DUPLICATES`).
        graph: store of the memories.
        bank_id: their bank.
        leaving: ids of memories that the same change removes.
        threshold: cosine from which two statements may be the same.
    """
    alike = [
        {memory_id: cosine for memory_id, cosine in near if cosine >= threshold}
        | dict.fromkeys(prints.get(record.fingerprint, ()), 1.0)
        for record, near in zip(records, nearest, strict=True)
    ]
    wanted = {memory_id for candidates in alike for memory_id in candidates} - leaving
    memories = graph.read(bank_id, MEMORY, sorted(wanted))
    # A statement is never a source of a conclusion.
    stored = {id: memory for id, memory in memories.items() if not is_conclusion(memory)}
    kept: dict[str, MemoryRecord] = {}
    by_print: dict[str, list[str]] = {}
    ids: list[str] = []
    sources: list[tuple[str, Source]] = []
    for record, candidates in zip(records, alike, strict=True):
        same = _first_same(record.memory, candidates, stored, threshold)
        if same is not None:
            sources.append((same, record.memory.sources[0]))
            ids.append(same)
            continue
        new = dict.fromkeys(by_print.get(record.fingerprint, ()), 1.0)
        same = _first_same(record.memory, new, {m: kept[m].memory for m in new}, threshold)
        if same is not None:
            kept[same] = _with_source(kept[same], record.memory.sources[0])
            ids.append(same)
            continue
        kept[record.memory.id] = record
        by_print.setdefault(record.fingerprint, []).append(record.memory.id)
        ids.append(record.memory.id)
    return Folded(tuple(kept.values()), tuple(ids), tuple(sources))


def _first_same(
    memory: Memory,
    candidates: Mapping[str, float],
    memories: Mapping[str, Memory],
    threshold: float,
) -> str | None:
    """Return the candidate that the memory repeats, the most similar first."""
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
