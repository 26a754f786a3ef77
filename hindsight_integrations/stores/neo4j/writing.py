"""Applying a change set, in one transaction of the caller's.

The bank is locked first, so all that is read here stays true until the transaction ends, and a
transaction that is run again finds what it found before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Chunk,
    Document,
    Link,
    Memory,
    MemoryType,
    MentalModel,
    Source,
    is_conclusion,
    utc_now,
)
from hindsight_integrations.stores.audit import MEMORY, MODEL, audit_of
from hindsight_integrations.stores.base import (
    CONCLUSIONS_CITING,
    ChangeSet,
    MemoryRecord,
    QueueCheckpoint,
)
from hindsight_integrations.stores.entities import given_names, mentioned_keys, names_of, used_ids
from hindsight_integrations.stores.lexemes import lexeme_counts, valid_lexemes
from hindsight_integrations.stores.neo4j import relating, vectors
from hindsight_integrations.stores.neo4j.connection import Row, Transaction
from hindsight_integrations.stores.neo4j.entities import Neo4jEntities
from hindsight_integrations.stores.neo4j.filters import (
    facet,
    facets_of,
    index_query,
    indexed,
    terms_of,
    with_sources,
)
from hindsight_integrations.stores.neo4j.nodes import (
    MEMORY_TEXTS,
    BankTransaction,
    Properties,
    lock_and_read,
    memory_properties,
    properties,
    source_properties,
    sources_of,
    text_of,
)
from hindsight_integrations.stores.neo4j.reading import mental_models, read_in
from hindsight_integrations.stores.refusals import (
    check_exists,
    check_new,
    check_records,
    check_unchanged,
)
from hindsight_integrations.stores.removal import histories_to_forget, text_left
from hindsight_integrations.stores.sources import cited_ids, is_live, live_sources
from hindsight_integrations.stores.times import TimeRow, time_rows, timestamp

_STORED_IDS = """[coalesce(b.edition, 0),
    COLLECT { UNWIND $asked.documents AS id MATCH (d:Document {key: b.key + '|' + id})
        RETURN [d.id, d.fingerprint, d.is_record] },
    COLLECT { UNWIND $asked.memories AS id MATCH (m:Memory {key: b.key + '|' + id})
        RETURN m.id },
    COLLECT { UNWIND $asked.entities AS id MATCH (e:Entity {key: b.key + '|' + id})
        RETURN e.id },
    COLLECT { UNWIND $asked.names AS norm
        MATCH (:Name {key: b.key + '|' + norm})-[:NAMES]->(e:Entity) RETURN [norm, e.key] }]"""


def apply(given: Transaction, changes: ChangeSet) -> tuple[str, ...]:
    """Apply a change set; return the ids of the memories removed. See `GraphStore.apply`."""
    # Reads come first as far as they can: what is written between two of them is a round trip.
    new = [record.memory.id for record in changes.memories]
    expected = [id for id, _ in changes.expected]
    asked = {
        "documents": list(dict.fromkeys([*expected, *(d.id for d in changes.documents)])),
        "memories": list(dict.fromkeys([*changes.remove_memories, *new])),
        "entities": used_ids(changes),
        "names": given_names(changes),
    }
    tx, stored = lock_and_read(given, changes.bank_id, _STORED_IDS, asked=asked)
    version, documents, memories, entities, owners = stored
    check_unchanged(changes, {id: fingerprint for id, fingerprint, _ in documents}, version)
    _check_records(changes, documents)
    removed_ids, affected = _remove_named(
        tx, changes, [id for id in dict.fromkeys(changes.remove_memories) if id in {*memories}]
    )
    check_new(tx.id, new, {*memories}.intersection(new).difference(removed_ids))
    _write(tx, changes, removed_ids, affected, {id: tx.of(id) for id in entities}, dict(owners))
    tx.finish()
    return removed_ids


def _write(
    tx: BankTransaction,
    changes: ChangeSet,
    removed_ids: Sequence[str],
    affected: set[str],
    found: Mapping[str, str],
    owners: Mapping[str, str],
) -> None:
    """Write what a change set holds besides removals, and recount the `affected` entities.

    `found` and `owners` give the keys of those of its entities, and of the owners of those of its
    normalised names, that are stored.
    """
    entities = Neo4jEntities(tx, found, owners)
    entity_keys = entities.resolve(changes)
    _store_documents(tx, changes.documents)
    _store_chunks(tx, changes.chunks)
    entities.set_names({entity_keys[names.entity_id]: names_of(names) for names in changes.names})
    entities.set_kinds({entity_keys[id]: kind for id, kind in changes.kinds})
    for edit in changes.entity_edits:
        Neo4jEntities(tx).edit(edit)
    _add(tx, changes.memories, entity_keys)
    affected |= _replace(tx, changes.replaced, entity_keys)
    _append_sources(tx, changes.sources)
    _store_links(tx, changes.links)
    _store_history(tx, changes.history)
    _store_mental_models(tx, changes.mental_models)
    if changes.checkpoint is not None:
        _store_checkpoint(tx, changes.checkpoint)
    _store_audit(tx, audit_of(changes, removed_ids))
    _unmark(tx, changes.mark_consolidated)
    _mark(tx, changes.mark_pending)
    vectors.stage(tx, changes.staged)
    if changes.requeue:
        vectors.requeue(tx, changes.requeue)
    entities.recount(affected)
    if changes.raises_version:
        raise_version(tx)


def raise_version(tx: BankTransaction) -> None:
    """Raise the bank's version: what was read of its memories may no longer be true."""
    tx.write("MATCH (b:Bank {key: $bank}) SET b.edition = coalesce(b.edition, 0) + 1")


def _check_records(changes: ChangeSet, stored: Sequence[Row]) -> None:
    given = {document.id: document.is_record for document in changes.documents}
    kept = (row for row in stored if row[0] not in changes.remove_documents)
    check_records(changes.bank_id, given, {id: is_record for id, _, is_record in kept})


# Memories

_CREATE = """
    MATCH (b:Bank {key: $bank}) UNWIND $rows AS row CREATE (m:Memory)-[:IN]->(b)
    SET m = row, m.said_at = datetime(row.mentioned_at)"""

_OVERWRITE = """
    UNWIND $rows AS row MATCH (m:Memory {key: row.key})
    SET m = row, m.said_at = datetime(row.mentioned_at)"""


def _add(
    tx: BankTransaction, records: Sequence[MemoryRecord], entity_keys: Mapping[str, str]
) -> None:
    if not records:
        return
    live = _with_live_sources(tx, records, [record.memory.id for record in records])
    numbered = zip(tx.reserve(len(live)), live, strict=True)
    rows = [_memory_row(tx, seq, record) for seq, record in numbered]
    tx.run_each(_CREATE, rows)
    _insert_related(tx, live, entity_keys)
    vectors.store(tx, live, new=True)
    _mark(tx, (record.memory.id for record in records if not is_conclusion(record.memory)))


def _replace(
    tx: BankTransaction, records: Sequence[MemoryRecord], entity_keys: Mapping[str, str]
) -> set[str]:
    """Replace memories, and mark them and the conclusions on them; return affected entities."""
    if not records:
        return set()
    ids = [record.memory.id for record in records]
    numbers = _existing(tx, ids)
    live = _with_live_sources(tx, records, ())
    affected = _strip(tx, ids)
    rows = [_memory_row(tx, numbers[record.memory.id], record) for record in live]
    tx.run_each(_OVERWRITE, rows)
    vectors.unstage(tx, ids)
    _insert_related(tx, live, entity_keys)
    vectors.store(tx, live)
    _unmark(tx, ids)  # one that is now held to be wrong is no longer pending
    citing = read_in(tx, CONCLUSIONS_CITING, ids).values()
    _mark(tx, [*ids, *(id for group in citing for id in group)])
    return affected


def _with_live_sources(
    tx: BankTransaction, records: Sequence[MemoryRecord], new: Sequence[str]
) -> list[MemoryRecord]:
    """Return the records without sources that name a memory which is neither stored nor `new`.

    Raises:
        ConflictError: that leaves a conclusion without support.
    """
    evidence = _evidence(tx, (s for record in records for s in record.memory.sources), new)
    return [
        replace(
            record,
            memory=replace(record.memory, sources=live_sources(tx.id, record.memory, evidence)),
        )
        for record in records
    ]


def _existing(tx: BankTransaction, ids: Sequence[str]) -> dict[str, int]:
    """Return id to number of memories. Raises `MemoryNotFoundError` if one does not exist."""
    query = "UNWIND $rows AS key MATCH (m:Memory {key: key}) RETURN collect([m.id, m.seq])"
    numbers: dict[str, int] = dict(tx.gather(query, tx.all_of(ids)))
    check_exists(tx.id, ids, numbers)
    return numbers


def _memory_row(tx: BankTransaction, seq: int, record: MemoryRecord) -> Properties:
    memory = record.memory
    indexes = {"lexemes": indexed(record.lexemes), "facets": facets_of(memory)}
    stated = memory_properties(memory) | source_properties(seq, memory.sources)
    return _owned(tx, memory.id, stated | indexes | {"fingerprint": record.fingerprint})


def _owned(tx: BankTransaction, id: str, properties: Properties) -> Properties:
    return {"key": tx.of(id), "bank": tx.key, **properties}


def _insert_related(
    tx: BankTransaction, records: Sequence[MemoryRecord], entity_keys: Mapping[str, str]
) -> None:
    """Store all that belongs to memories besides their own nodes and vectors."""
    memories = {tx.of(record.memory.id): record.memory for record in records}
    add_times(tx, memories.values())
    relate_sources(tx, {key: memory.sources for key, memory in memories.items()})
    tx.run_each(
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) SET m:Observation",
        [key for key, memory in memories.items() if memory.type is MemoryType.OBSERVATION],
    )
    mentioned = {tx.of(r.memory.id): mentioned_keys(r, entity_keys) for r in records}
    Neo4jEntities(tx).add_mentions(mentioned)
    relating.relate(tx, memories)
    count_lexemes(tx, valid_lexemes(records), 1)


def add_times(tx: BankTransaction, memories: Iterable[Memory]) -> None:
    """Store the times of memories: when each was said (ordinal 0), and those its text names."""
    rows = [
        (tx.of(memory.id), _owned(tx, f"{memory.id}|{time.ordinal}", _time_properties(time)))
        for memory in memories
        for time in time_rows(memory)
    ]
    tx.run_each(
        "UNWIND $rows AS row MATCH (m:Memory {key: row[0]}) "
        "CREATE (m)-[:AT]->(t:Time) "
        "SET t = row[1], t.starts = datetime(row[1].since), t.ends = datetime(row[1].until)",
        rows,
        even_none=True,
    )


def _time_properties(time: TimeRow) -> Properties:
    since, until = text_of(timestamp(time.start)), text_of(timestamp(time.end))
    given = {name: getattr(time, name) for name in ("ordinal", "length_class", "middle")}
    return given | {"since": since, "until": until, "precision": time.precision.value}


# Removal

_STRIP = """
    UNWIND $rows AS key MATCH (m:Memory {key: key}) REMOVE m:Observation
    WITH m
    CALL (m) { MATCH (m)-[:AT]->(t:Time) DETACH DELETE t }
    CALL (m) { MATCH (m)-[f:FROM|EVIDENCE]->() DELETE f }"""

_UNLINK = """
    UNWIND $rows AS key MATCH (:Memory {key: key})-[l:LINK]-()
    WITH DISTINCT l""" + relating.count_links("-", then="DELETE l")

_STATED_IN = """
    UNWIND $rows AS key MATCH (m:Memory {key: key})-[:FROM]->(c:Chunk)
    RETURN collect(DISTINCT [c.key])"""

_LEFT_IN = """
    UNWIND $rows AS key MATCH (m:Memory)-[:FROM]->(c:Chunk {key: key})
    RETURN collect(DISTINCT [c.key, m.seq, m.text])"""

_STATED = f"""
    UNWIND $rows AS listed
    CALL db.index.fulltext.queryNodes('{MEMORY_TEXTS}', listed) YIELD node AS m
    WITH DISTINCT m RETURN collect([m.key, m.seq, m.sources, m.facets])"""


def _remove_named(
    tx: BankTransaction, changes: ChangeSet, named: Sequence[str]
) -> tuple[tuple[str, ...], set[str]]:
    """Remove what a change set names, of memories those `named` here; return what `remove` does."""
    documents, chunks = changes.remove_documents, changes.remove_chunks
    # Read before anything is deleted: from then on Neo4j's full-text index misses some nodes.
    facets = [facet("document", id) for id in documents] + [facet("chunk", id) for id in chunks]
    stated = tx.gather(_STATED, [index_query(tx, facets=[each]) for each in facets])
    unsourced = remove_sources(
        tx,
        {row[0]: row for row in stated if tx.id_of(row[0]) not in named}.values(),
        lambda source: source.document_id in documents or source.chunk_id in chunks,
    )
    tx.run_each(
        "UNWIND $rows AS id MATCH (c:Chunk) WHERE c.bank = $bank AND c.document_id = id "
        "DETACH DELETE c",
        documents,
    )
    _delete(tx, "Document", documents)
    _delete(tx, "Chunk", chunks)
    removed = remove(tx, [*named, *unsourced])
    _delete(tx, "MentalModel", changes.remove_mental_models)
    return removed


def remove(tx: BankTransaction, ids: Sequence[str]) -> tuple[tuple[str, ...], set[str]]:
    """Remove memories (by id), and every conclusion that nothing supports then.

    Returns:
        The ids of all removed, and the entities to recount.
    """
    removed_ids: list[str] = []
    affected: set[str] = set()
    chunk_keys: set[str] = set()
    while ids:
        _forget_history(tx, ids)
        chunk_keys |= _stated_in(tx, ids)
        unsourced = _withdraw(tx, set(ids))
        affected |= _strip(tx, ids)
        vectors.remove(tx, ids)
        tx.run_each(_UNLINK, tx.all_of(ids))
        _delete(tx, "Memory", ids)
        removed_ids += ids
        ids = unsourced
    _cut_chunks(tx, sorted(chunk_keys))
    return tuple(removed_ids), affected


def _stated_in(tx: BankTransaction, ids: Sequence[str]) -> set[str]:
    """Return the keys of the chunks that are sources of memories."""
    return {key for (key,) in tx.gather(_STATED_IN, tx.all_of(ids))}


def _cut_chunks(tx: BankTransaction, keys: Sequence[str]) -> None:
    """Reduce chunks to the texts of the memories still stated in them."""
    texts: dict[str, list[str]] = {key: [] for key in keys}
    for key, _, text in sorted(tx.gather(_LEFT_IN, keys)):
        texts[key].append(text)
    rows = [(key, text_left(found)) for key, found in texts.items()]
    tx.run_each("UNWIND $rows AS row MATCH (c:Chunk {key: row[0]}) SET c.text = row[1]", rows)


def _withdraw(tx: BankTransaction, lost: set[str]) -> list[str]:
    """Remove memories from the evidence of conclusions; see `remove_sources`."""
    citing = read_in(tx, CONCLUSIONS_CITING, lost).values()
    others = {id for group in citing for id in group} - lost
    rows = _stated_rows(tx, tx.all_of(sorted(others)))
    return remove_sources(tx, rows, lambda source: source.memory_id in lost)


def _delete(tx: BankTransaction, label: str, ids: Iterable[str]) -> None:
    query = f"UNWIND $rows AS key MATCH (n:{label} {{key: key}}) DETACH DELETE n"
    tx.run_each(query, tx.all_of(ids))


def _strip(tx: BankTransaction, ids: Sequence[str]) -> set[str]:
    """Remove all that belongs to memories besides their own nodes and vectors.

    Returns:
        The entities to recount.
    """
    keys = tx.all_of(ids)
    valid = tx.gather(
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) WHERE m.invalidated_at IS NULL "
        "RETURN collect([m.lexemes])",
        keys,
    )
    count_lexemes(tx, [terms_of(text) for (text,) in valid], -1)
    relating.unrelate(tx, keys)
    tx.run_each(_STRIP, keys)
    return Neo4jEntities(tx).remove_mentions(keys)


def _forget_history(tx: BankTransaction, removed_ids: Sequence[str]) -> None:
    changes_of = "UNWIND $rows AS id MATCH (c:Change) WHERE c.bank = $bank AND c.memory_id = id"

    def cited_once(ids: Sequence[str], field: str) -> list[str]:
        query = f"{changes_of} AND NOT c.of_model AND c.field = $field RETURN collect([c.old])"
        return [id for (id,) in tx.gather(query, ids, field=field)]

    given = tx.gather(
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) WHERE NOT m.derived "
        "RETURN collect([m.id])",
        tx.all_of(removed_ids),
    )
    memories, models = histories_to_forget(
        removed_ids,
        [id for (id,) in given],
        mental_models(tx),
        lambda ids: read_in(tx, CONCLUSIONS_CITING, ids),
        cited_once,
    )
    for ids, of_model in ((memories, False), (models, True)):
        query = f"{changes_of} AND c.of_model = $of_model DELETE c"
        tx.run_each(query, sorted(ids), of_model=of_model)
        tx.run_each(
            "UNWIND $rows AS id MATCH (a:AuditEntry) WHERE a.bank = $bank AND a.id = id "
            "AND a.kind = $kind REMOVE a.reason",
            sorted(ids),
            kind=MODEL if of_model else MEMORY,
        )


# Pending consolidation


def _mark(tx: BankTransaction, ids: Iterable[str]) -> None:
    """Mark those of the memories that are valid as pending consolidation."""
    tx.run_each(
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) WHERE m.invalidated_at IS NULL "
        "SET m:Waiting",
        tx.all_of(ids),
    )


def _unmark(tx: BankTransaction, ids: Iterable[str]) -> None:
    query = "UNWIND $rows AS key MATCH (m:Memory {key: key}) REMOVE m:Waiting"
    tx.run_each(query, tx.all_of(ids))


# Sources. They stand in the memory; `FROM` and `EVIDENCE` relate it to what they name, and
# `EVIDENCE` finds the conclusions on a memory.

_FROM = """
    UNWIND $rows AS row MATCH (m:Memory {{key: row[0]}}) MATCH (d:{label} {{key: row[1]}})
    MERGE (m)-[f:FROM]->(d)
    ON CREATE SET f.position = row[2], f.said_at = datetime(row[3])"""

_EVIDENCE = """
    UNWIND $rows AS row MATCH (c:Memory {key: row[0]}) MATCH (m:Memory {key: row[1]})
    CREATE (c)-[:EVIDENCE {quote: row[2], supports: row[3]}]->(m)"""


def _append_sources(tx: BankTransaction, given: Sequence[tuple[str, Source]]) -> None:
    if not given:
        return
    evidence = _evidence(tx, (source for _, source in given))
    added: dict[str, list[Source]] = {tx.of(id): [] for id, _ in given}
    for id, source in given:
        added[tx.of(id)] += [source] if is_live(source, evidence) else []
    rows = _stated_rows(tx, list(added))
    check_exists(tx.id, [id for id, _ in given], {tx.id_of(key) for key, *_ in rows})
    stated = {row[0]: (*sources_of(row[2]), *added[row[0]]) for row in rows}
    _write_sources(tx, rows, stated)
    relate_sources(tx, stated)


def remove_sources(
    tx: BankTransaction, rows: Iterable[Row], lost: Callable[[Source], bool]
) -> list[str]:
    """Remove the sources that are lost from memories, given as `_stated_rows` returns them.

    A conclusion that is still supported becomes pending consolidation.

    Returns:
        The ids of the memories that nothing supports any more, in storing order.
    """
    stated = sorted(rows, key=lambda row: row[1])
    had = {row[0]: sources_of(row[2]) for row in stated}
    left = {key: tuple(source for source in had[key] if not lost(source)) for key in had}
    _write_sources(tx, stated, left)
    supported = {key for key in had if any(source.supports for source in left[key])}
    cites = {key for key in had if any(source.memory_id is not None for source in had[key])}
    _mark(tx, (tx.id_of(key) for key in had if key in supported & cites))
    return [tx.id_of(key) for key in had if key not in supported]


def relate_sources(tx: BankTransaction, stated: Mapping[str, Sequence[Source]]) -> None:
    """Relate memories, by key, to the chunks, documents and memories their sources name.

    To the document only if the source names no chunk.
    """
    pairs = [(key, source) for key, given in stated.items() for source in dict.fromkeys(given)]
    for label, ids in (
        ("Chunk", [(key, source.chunk_id, source) for key, source in pairs]),
        ("Document", [(key, s.document_id, s) for key, s in pairs if not s.chunk_id]),
    ):
        named = [
            (key, tx.of(id), source.position, text_of(source.mentioned_at))
            for key, id, source in ids
            if id is not None
        ]
        tx.run_each(_FROM.format(label=label), named, even_none=True)
    evidence = [
        (key, tx.of(source.memory_id), source.quote, source.supports)
        for key, source in pairs
        if source.memory_id is not None
    ]
    tx.run_each(
        "UNWIND $rows AS key MATCH (:Memory {key: key})-[old:EVIDENCE]->() DELETE old",
        list(dict.fromkeys(key for key, *_ in evidence)),
    )
    tx.run_each(_EVIDENCE, evidence)


def _stated_rows(tx: BankTransaction, keys: Sequence[str]) -> list[Row]:
    """Return key, number, sources and facets of memories."""
    return tx.gather(
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) "
        "RETURN collect([m.key, m.seq, m.sources, m.facets])",
        keys,
    )


def _write_sources(
    tx: BankTransaction, rows: Iterable[Row], stated: Mapping[str, Sequence[Source]]
) -> None:
    """Give memories, by key, these sources and no others."""
    rows = list(rows)
    if not rows:
        return
    moved = [row[0] for row in rows if sources_of(row[2])[:1] != tuple(stated[row[0]][:1])]
    relating.unchain(tx, moved)
    changed = [
        (key, source_properties(seq, stated[key]) | {"facets": with_sources(facets, stated[key])})
        for key, seq, _, facets in rows
    ]
    tx.run_each("UNWIND $rows AS row MATCH (m:Memory {key: row[0]}) SET m += row[1]", changed)
    relating.chain(tx, moved)


def _evidence(tx: BankTransaction, sources: Iterable[Source], new: Iterable[str] = ()) -> set[str]:
    """Return the ids of the memories that sources name and that are stored, and those `new`."""
    added = {*new}
    stored = tx.existing("Memory", (id for id in cited_ids(sources) if id not in added))
    return added | stored.keys()


# Lexemes

_COUNT = """
    UNWIND $rows AS row MERGE (l:Lexeme {key: row.key})
    ON CREATE SET l.bank = $bank, l.lexeme = row.lexeme, l.memories = 0
    SET l.memories = l.memories + row.count
    WITH l WHERE l.memories <= 0 DELETE l"""


def count_lexemes(tx: BankTransaction, memories: Sequence[Sequence[str]], sign: int) -> None:
    """Count the lexemes of memories that became valid (sign 1), or no longer are (sign -1)."""
    if not memories:
        return
    # Sorted: transactions that lock nodes in one order cannot deadlock.
    counts = sorted(lexeme_counts(memories).items())
    rows = [
        {"key": tx.of(lexeme), "lexeme": lexeme, "count": sign * count} for lexeme, count in counts
    ]
    tx.run_each(_COUNT, rows)
    tx.write(
        "MATCH (b:Bank {key: $bank}) SET b.valid_memories = b.valid_memories + $memories, "
        "b.valid_lexemes = b.valid_lexemes + $lexemes",
        memories=sign * len(memories),
        lexemes=sign * sum(map(len, memories)),
    )


# Documents, links, history, audit, mental models, checkpoints

_STORE_DOCUMENTS = """
    MATCH (b:Bank {key: $bank}) UNWIND $rows AS row
    MERGE (d:Document {key: row.key}) SET d += row MERGE (d)-[:IN]->(b)"""

_STORE_CHUNKS = """
    UNWIND $rows AS row MERGE (c:Chunk {key: row[0].key}) SET c += row[0]
    WITH row, c
    CALL (c) { MATCH (c)-[old:OF]->() DELETE old }
    MATCH (d:Document {key: row[1]}) CREATE (c)-[:OF]->(d)"""

_LINK = """
    UNWIND $rows AS row MATCH (a:Memory {key: row[0]}) MATCH (b:Memory {key: row[1]})
    MERGE (a)-[l:LINK {kind: row[2]}]->(b) ON CREATE SET l.uncounted = true
    SET l.weight = row[3]
    WITH DISTINCT l WHERE l.uncounted REMOVE l.uncounted""" + relating.count_links("+")


def _store_audit(tx: BankTransaction, entries: Sequence[AuditEntry]) -> None:
    numbered = zip(tx.reserve(len(entries)), entries, strict=True)
    rows = [_owned(tx, str(seq), properties(entry) | {"seq": seq}) for seq, entry in numbered]
    tx.run_each("UNWIND $rows AS row CREATE (a:AuditEntry) SET a = row", rows, even_none=True)


def _store_documents(tx: BankTransaction, documents: Sequence[Document]) -> None:
    rows = [_owned(tx, d.id, properties(d, "bank_id", "chunk_count")) for d in documents]
    tx.run_each(_STORE_DOCUMENTS, rows, even_none=True)


def _store_chunks(tx: BankTransaction, chunks: Sequence[Chunk]) -> None:
    rows = [(_owned(tx, c.id, properties(c)), tx.of(c.document_id)) for c in chunks]
    tx.run_each(_STORE_CHUNKS, rows, even_none=True)


def _store_links(tx: BankTransaction, links: Sequence[Link]) -> None:
    rows = [
        (tx.of(link.source_id), tx.of(link.target_id), link.kind.value, link.weight)
        for link in links
    ]
    tx.run_each(_LINK, rows, even_none=True)


def _store_history(tx: BankTransaction, history: Sequence[Change]) -> None:
    numbered = zip(tx.reserve(len(history)), history, strict=True)
    rows = [_owned(tx, str(seq), properties(change) | {"seq": seq}) for seq, change in numbered]
    tx.run_each("UNWIND $rows AS row CREATE (c:Change) SET c = row", rows)


def _store_mental_models(tx: BankTransaction, models: Sequence[MentalModel]) -> None:
    rows = [_owned(tx, model.id, properties(model, "bank_id")) for model in models]
    tx.run_each("UNWIND $rows AS row MERGE (n:MentalModel {key: row.key}) SET n = row", rows)
    relating.join(tx, "MentalModel", [row["key"] for row in rows])


def _store_checkpoint(tx: BankTransaction, checkpoint: QueueCheckpoint) -> None:
    """Store a checkpoint; one that expires removes those of the bank that have expired."""
    if checkpoint.expires_at is not None:
        expired = "MATCH (n:Mark {bank: $bank}) WHERE n.expires_at < $now DELETE n"
        tx.write(expired, now=text_of(utc_now()))
    row = _owned(tx, checkpoint.queue, properties(checkpoint))
    tx.run_each("UNWIND $rows AS row MERGE (n:Mark {key: row.key}) SET n = row", [row])
