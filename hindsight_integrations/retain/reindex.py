"""Index stored memories again: one whose text was corrected, or all of a bank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import chain
from typing import NamedTuple

from hindsight_integrations.errors import StoreError
from hindsight_integrations.models import Entity, Memory, TimeSpan
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.enrichment import (
    IndexContext,
    index_contexts,
    indexed_of,
    preceding_question,
    record_of,
    terms_of,
)
from hindsight_integrations.retain.entity_kinds import kinds_by_all_mentions
from hindsight_integrations.retain.entity_resolution import Resolver
from hindsight_integrations.retain.extraction import Mention, Passage
from hindsight_integrations.retain.known_names import candidate_names
from hindsight_integrations.stores.attempts import attempts
from hindsight_integrations.stores.base import (
    CHUNK,
    EDITED_NAMES,
    ENTITY,
    ENTITY_NAMED,
    EVERYTHING,
    MEMORY,
    MEMORY_ID,
    MENTIONS,
    RECORD,
    ChangeSet,
    EmbedderIdentity,
    EntityNames,
    MemoryFilter,
    MemoryRecord,
    OvertakenError,
    StagedVector,
    StoredBank,
    UnstagedError,
)
from hindsight_integrations.stores.integrity import unreadable_error
from hindsight_integrations.stores.reads import SCAN_PAGE, consolidated, every_id, every_memory
from hindsight_integrations.timespan import where_said

_MOST_MENTIONS = 1000
"""Mentions up to which the other memories of an entity are read for its names."""

_REPLY = "Yes."
"""A reply that is short enough to need its question."""


@dataclass(frozen=True, slots=True)
class CorrectedRecord:
    """A corrected record, with the entities that are new, or have new names or kinds."""

    record: MemoryRecord
    created: tuple[Entity, ...] = ()
    renamed: tuple[Entity, ...] = ()
    kinds: tuple[tuple[str, str], ...] = ()


def correct(
    deps: RetainDependencies,
    bank_id: str,
    record: MemoryRecord,
    memory: Memory,
    *,
    occurred: Sequence[TimeSpan] | None = None,
    entities: Sequence[str] | None = None,
    zone: tzinfo | None = None,
) -> CorrectedRecord:
    """Return the record of `memory`, which replaces `record.memory`.

    If the text, the speaker or the time of saying differs, its times, entities, terms and vectors
    are computed again. Of an unchanged text, times and entities that did not come from it stay.
    The times and names of entities given take the place of those computed; `zone` is that in which
    it was said, by default that of the days it names.
    """
    corrected = CorrectedRecord(replace(record, memory=memory))
    old = record.memory
    if _said(memory) != _said(old):
        (context,) = index_contexts(deps.graph, bank_id, [record])
        corrected = _processed(deps, bank_id, memory, context, zone)
        if memory.text == old.text:
            before = _processed(deps, bank_id, old, context).record
            if before.memory.occurred != old.occurred and occurred is None:
                occurred = old.occurred
            if before.entity_ids != record.entity_ids and entities is None:
                entities = old.entities
    if entities is not None:
        corrected = _mentioning(deps, bank_id, corrected.record, entities)
    if occurred is not None:
        timed = replace(corrected.record.memory, occurred=tuple(dict.fromkeys(occurred)))
        corrected = replace(corrected, record=replace(corrected.record, memory=timed))
    return corrected


def _said(memory: Memory) -> tuple[object, ...]:
    """Return what a memory's times, entities, terms and vectors are computed from."""
    return memory.text, memory.speaker, memory.mentioned_at


def _mentioning(
    deps: RetainDependencies, bank_id: str, record: MemoryRecord, names: Sequence[str]
) -> CorrectedRecord:
    """Return the record with the entities of these names, and no others."""
    resolution = _resolver(deps, deps.graph.get_bank(bank_id), bank_id).resolve(
        [[Mention(name) for name in names]], [record.memory.mentioned_at]
    )
    (ids,) = resolution.entity_ids
    memory = replace(record.memory, entities=tuple(resolution.names[id] for id in ids))
    return CorrectedRecord(
        replace(record, memory=memory, entity_ids=ids), resolution.created, resolution.renamed
    )


def _resolver(deps: RetainDependencies, stored: StoredBank | None, bank_id: str) -> Resolver:
    apart = stored.bank.kept_apart if stored else ()
    return Resolver(deps.graph, bank_id, deps.settings.entity_match, apart)


def without_question(
    deps: RetainDependencies, bank_id: str, leaving: Collection[str]
) -> Iterator[CorrectedRecord]:
    """Yield the replies that were indexed with a question of memories about to be forgotten.

    Their times, entities, terms and vectors are computed again without it. A question that other
    memories of its chunk state stays.
    """
    lost: defaultdict[str, dict[str, str]] = defaultdict(dict)
    forgotten = deps.graph.read(bank_id, MEMORY, sorted(leaving)).values()
    for source in (source for memory in forgotten for source in memory.sources):
        if source.document_id and source.chunk_id:
            lost[source.document_id][source.chunk_id] = ""
    chunks = deps.graph.read(bank_id, CHUNK, [id for ids in lost.values() for id in ids])
    for document_id, ids in lost.items():
        asked = {
            chunk.text: question
            for chunk in chunks.values()
            if chunk.id in ids and (question := preceding_question(_REPLY, chunk.text))
        }
        if asked:
            yield from _reindexed_replies(deps, bank_id, document_id, asked, leaving)


def _reindexed_replies(
    deps: RetainDependencies,
    bank_id: str,
    document_id: str,
    asked: Mapping[str, str],
    leaving: Collection[str],
) -> Iterator[CorrectedRecord]:
    """Yield the replies of a document that were indexed with questions, without them.

    `asked` gives for the text of a chunk the question in it, `leaving` the ids of the memories
    about to be forgotten.
    """
    filter = MemoryFilter(now=None, document_id=document_id, include_invalid=True)
    held = [m for m in every_memory(deps.graph, bank_id, filter) if m.id not in leaving]
    still = {text for text, question in asked.items() if any(question in m.text for m in held)}
    replies = [m.id for m in held if preceding_question(m.text, next(iter(asked)))]
    records = list(deps.graph.read(bank_id, RECORD, replies).values())
    contexts = index_contexts(deps.graph, bank_id, records)
    for record, context in zip(records, contexts, strict=True):
        if context.preceding in asked.keys() - still:
            yield _processed(deps, bank_id, record.memory, context._replace(preceding=None))


def names_left(
    deps: RetainDependencies, bank_id: str, leaving: Collection[str]
) -> Iterator[EntityNames]:
    """Yield entities that lose names with memories about to be forgotten, with those they keep.

    A name goes that stands in a forgotten text and in no other memory that mentions the entity.
    Names that a user gave stay, and so do those of an entity with too many mentions to read.
    """
    forgotten = list(deps.graph.read(bank_id, MEMORY, sorted(leaving)).values())
    texts = [_named_in(memory) for memory in forgotten]
    ids = dict.fromkeys(chain(*deps.graph.read(bank_id, MENTIONS, sorted(leaving)).values()))
    entities = {
        id: entity
        for id, entity in deps.graph.read(bank_id, ENTITY, list(ids)).items()
        if entity.aliases
        and entity.mention_count <= _MOST_MENTIONS
        and any(_stands(name, texts) for name in entity.names)
    }
    if not entities:
        return
    edited = {names.entity_id for names in deps.graph.scan(bank_id, EDITED_NAMES)}
    for id in entities.keys() - edited:
        postings = deps.graph.postings(bank_id, [id], _MOST_MENTIONS, EVERYTHING)
        held = [posting.memory_id for posting in postings if posting.memory_id not in leaving]
        others = [_named_in(m) for m in deps.graph.read(bank_id, MEMORY, held).values()]
        names = (entities[id].name, *entities[id].aliases)
        kept = [name for name in names if not _stands(name, texts) or _stands(name, others)]
        if others and kept and len(kept) < len(names):
            yield EntityNames(id, kept[0], tuple(kept[1:]))


def _named_in(memory: Memory) -> str:
    """Return the normalised words of a memory in which names stand, with a blank around each."""
    parts = (memory.text, memory.speaker or "", memory.context or "")
    return f" {entity_norm(' '.join(parts))} "


def _stands(name: str, texts: Iterable[str]) -> bool:
    norm = f" {entity_norm(name)} "
    return any(norm in text for text in texts)


def _processed(
    deps: RetainDependencies,
    bank_id: str,
    memory: Memory,
    context: IndexContext,
    zone: tzinfo | None = None,
) -> CorrectedRecord:
    """Return the record of a memory, with all that is computed from its text and context.

    The zone in which it was said is the one given, or else follows from its times; see
    `where_said`.
    """
    stored = deps.graph.get_bank(bank_id)
    said = memory.mentioned_at
    passage = Passage(
        memory.text,
        said.astimezone(zone) if zone else where_said(said, memory.occurred, deps.settings.zone),
        memory.speaker,
        preceding=context.preceding,
        title=memory.context,
        type=memory.type,
        bank=stored.bank if stored else None,
        document_id=memory.document_id,
    )
    known = deps.graph.read(bank_id, ENTITY_NAMED, sorted(candidate_names(memory.text)))
    facts = deps.extract([passage], known)[0].facts
    mentions = list(dict.fromkeys(mention for fact in facts for mention in fact.mentions))
    resolution = _resolver(deps, stored, bank_id).resolve(
        [mentions], [memory.mentioned_at], [memory.text]
    )
    entity_ids = resolution.entity_ids[0]
    indexed = indexed_of(memory, context)
    encoded = deps.encoder.encode([indexed])[0]
    memory = replace(
        memory,
        occurred=tuple(dict.fromkeys(span for fact in facts for span in fact.occurred)),
        entities=tuple(resolution.names[entity_id] for entity_id in entity_ids),
    )
    return CorrectedRecord(
        record_of(memory, indexed, encoded, entity_ids),
        resolution.created,
        resolution.renamed,
        kinds_by_all_mentions(deps.graph, bank_id, resolution.kind_doubts),
    )


def reindex(
    deps: RetainDependencies,
    bank_id: str,
    embedder: EmbedderIdentity,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Compute all vectors of a bank again, under its lock; see `Maintenance.reindex`.

    What other processes store or change meanwhile is computed in further rounds.

    Raises:
        StoreError: other processes never left the bank alone.
    """
    waiting = list(deps.graph.scan(bank_id, MEMORY_ID))
    seen = set(waiting)
    done = 0
    unstaged: UnstagedError | None = None
    for _ in attempts():
        for start in range(0, len(waiting), deps.settings.batch_size):
            batch = waiting[start : start + deps.settings.batch_size]
            texts = _with_terms(deps, bank_id, batch)
            deps.graph.apply(ChangeSet(bank_id, staged=_staged(deps, texts, embedder)))
            done += len(batch)
            if progress is not None:
                progress(done, done + len(waiting) - start - len(batch))
        try:
            deps.graph.update_bank(bank_id, embedder=embedder)
            break
        except UnstagedError as error:
            unstaged, waiting = error, list(error.memory_ids)
            seen |= {*waiting}
    else:
        raise _never_left_alone(bank_id) from unstaged
    deps.flush(None)  # the bank has another key now: its old collection goes, and a new one is made
    return len(seen)


def _never_left_alone(bank_id: str) -> StoreError:
    return StoreError(
        f"other processes kept changing memories of bank {bank_id!r} while it was being "
        "reindexed; its vectors are unchanged, try again"
    )


def _indexed(
    deps: RetainDependencies, bank_id: str, memory_ids: Sequence[str]
) -> tuple[Mapping[str, MemoryRecord], Mapping[str, str]]:
    """Return the records of memories, and the indexed text of each.

    A memory whose vector is damaged has no record; its text is enough. See also `rebuild`.
    """
    records = deps.graph.read(bank_id, RECORD, memory_ids)
    contexts = index_contexts(deps.graph, bank_id, records.values())
    texts = {
        id: indexed_of(record.memory, context)
        for (id, record), context in zip(records.items(), contexts, strict=True)
    }
    damaged = deps.graph.read(bank_id, MEMORY, [id for id in memory_ids if id not in records])
    texts |= {id: indexed_of(memory) for id, memory in damaged.items()}
    lost = deps.graph.filter_ids(bank_id, [id for id in memory_ids if id not in texts], EVERYTHING)
    if lost:
        raise unreadable_error(bank_id, min(lost))
    return records, texts


def _with_terms(
    deps: RetainDependencies, bank_id: str, memory_ids: Sequence[str]
) -> Mapping[str, str]:
    """Return the indexed text of memories, once their stored terms are what it gives.

    They are not, if an earlier release stored them: it knew no signs.

    Raises:
        StoreError: other processes never left the bank alone.
    """
    overtaken: OvertakenError | None = None
    for _ in attempts():
        bank = deps.graph.get_bank(bank_id)
        records, texts = _indexed(deps, bank_id, memory_ids)
        terms = {id: terms_of(record.memory, texts[id]) for id, record in records.items()}
        renewed = [
            replace(r, lexemes=terms[id]) for id, r in records.items() if r.lexemes != terms[id]
        ]
        if not renewed:
            return texts
        ids = [record.memory.id for record in renewed]
        changes = ChangeSet(
            bank_id,
            version=None if bank is None else bank.version,
            replaced=tuple(renewed),
            mark_consolidated=consolidated(deps.graph, bank_id, ids),
        )
        try:
            deps.graph.apply(changes)
            return texts
        except OvertakenError as error:
            overtaken = error
    raise _never_left_alone(bank_id) from overtaken


def _staged(
    deps: RetainDependencies, texts: Mapping[str, str], embedder: EmbedderIdentity
) -> tuple[StagedVector, ...]:
    """Embed the texts, by memory id, with this embedder."""
    encoded = deps.encoder.encode(list(texts.values()))
    return tuple(
        StagedVector(id, code.vector, code.interaction, embedder)
        for id, code in zip(texts, encoded, strict=True)
    )


class Damaged(NamedTuple):
    """Memories of a bank that cannot be read whole.

    Attributes:
        rebuilt: those whose terms and vectors are damaged, and were made again from the text.
        left: those of which that was not possible, or not asked for.
    """

    rebuilt: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def rebuild(
    deps: RetainDependencies, bank: StoredBank, embedder: EmbedderIdentity, *, repair: bool
) -> Damaged:
    """Find the memories of a bank that cannot be read whole, and make again what can be."""
    bank_id = bank.bank.id
    everything = every_id(deps.graph, bank_id, EVERYTHING)
    left: list[str] = []
    rebuilt: list[str] = []
    for start in range(0, len(everything), SCAN_PAGE):
        page = everything[start : start + SCAN_PAGE]
        held = deps.graph.read(bank_id, RECORD, page)
        damaged = deps.graph.filter_ids(bank_id, [id for id in page if id not in held], EVERYTHING)
        made: tuple[str, ...] = ()
        if damaged and repair and bank.embedder == embedder:
            with deps.lock(bank.key):
                made = _made_again(deps, bank_id, sorted(damaged))
        rebuilt += made
        left += sorted(damaged.difference(made))
    return Damaged(tuple(rebuilt), tuple(left))


def _made_again(deps: RetainDependencies, bank_id: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Compute terms and vectors of memories from their texts; return those that had a text.

    Raises:
        OvertakenError: another process changed the bank meanwhile.
    """
    bank = deps.graph.get_bank(bank_id)
    memories = deps.graph.read(bank_id, MEMORY, ids)
    entity_ids = deps.graph.read(bank_id, MENTIONS, ids)
    texts = [indexed_of(memory) for memory in memories.values()]
    records = tuple(
        record_of(memory, indexed, encoded, entity_ids.get(memory.id, ()))
        for memory, indexed, encoded in zip(
            memories.values(), texts, deps.encoder.encode(texts), strict=True
        )
    )
    if records:
        version = None if bank is None else bank.version
        deps.graph.apply(ChangeSet(bank_id, version=version, replaced=records))
    return tuple(memories)
