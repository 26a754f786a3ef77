"""Storing of memories that the caller made: each is new, or replaces the one with its id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.errors import ConflictError, InvalidInputError
from hindsight_integrations.models import Memory, is_conclusion, utc_now
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.nlp.embeddings import checked_vector
from hindsight_integrations.reflect.conclusions import rewrite_conclusions
from hindsight_integrations.results import RetainResult, Skipped, SkipReason
from hindsight_integrations.retain.caller_ids import (
    REPLACE,
    changes_between,
    has_same_content,
    replacement_of,
)
from hindsight_integrations.retain.guard import guarded_memory
from hindsight_integrations.retain.ready_made import (
    MadeRecord,
    checked_memory,
    made_records,
    store_made,
)
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    EVERYTHING,
    MEMORY,
    RECORD,
    ChangeSet,
    StoredBank,
    Vector,
)

GivenVector: TypeAlias = Vector | Sequence[float] | None
"""A vector that the caller made for a memory; None to have it made from the text."""


def retain_memory(
    runtime: Runtime, bank: StoredBank, memory: Memory, vector: GivenVector
) -> RetainResult:
    """Store a memory, or replace the one with its id; see `Hindsight.retain_memory`."""
    admitted = _admitted(runtime, memory, vector)
    if admitted is None:
        return RetainResult(bank.bank.id, skipped=(_refused(memory),))
    return _retain_admitted(runtime, bank, *admitted)


def _admitted(
    runtime: Runtime, memory: Memory, vector: GivenVector
) -> tuple[Memory, GivenVector] | None:
    """Return a memory after `before_retain` has processed it, with its vector; None if refused.

    The vector is left out if the text was changed.
    """
    admitted = guarded_memory(runtime.retaining.before_retain, memory)
    if admitted is None:
        return None
    return admitted, vector if admitted.text == memory.text else None


def _refused(memory: Memory) -> Skipped:
    return Skipped(memory.text[:80], SkipReason.REFUSED)


def _retain_admitted(
    runtime: Runtime, bank: StoredBank, memory: Memory, vector: GivenVector, *, dated: bool = True
) -> RetainResult:
    bank_id, deps = bank.bank.id, runtime.retaining
    (made,) = made_records(deps, bank, [memory], [vector], dated=dated)
    with runtime.lock(bank.key):
        if not runtime.graph.read(bank_id, MEMORY, [made.record.memory.id]):
            return store_made(deps, bank, made)

        def make(bank: StoredBank) -> tuple[ChangeSet, RetainResult]:
            return _replacement(runtime, bank, made, given_vector=vector is not None)

        result, _ = change(runtime, bank_id, make)
    return result


def checked_memories(
    memories: Iterable[Memory], vectors: Iterable[GivenVector] | None, max_chars: int
) -> tuple[Sequence[Memory], Sequence[GivenVector]]:
    """Return the memories to retain, all of them checked, and a vector or None for each.

    Args:
        memories: the memories.
        vectors: a vector or None for each, or None.
        max_chars: most characters of a text.

    Raises:
        InvalidInputError: a field cannot be used, two share an id, or the numbers of both differ.
    """
    checked: dict[str, Memory] = {}
    for index, memory in enumerate(validation.items("memories", memories, "a list of Memory")):
        try:
            valid = checked_memory(memory, max_chars)
        except InvalidInputError as error:
            raise type(error)(f"memories[{index}]: {error}") from error
        if valid.id in checked:
            raise InvalidInputError(
                f"memories[{index}] has the id {validation.shown(valid.id)} of an earlier one; "
                "give each memory an id of its own"
            )
        checked[valid.id] = valid
    given: tuple[GivenVector, ...] = (None,) * len(checked)
    if vectors is not None:
        given = validation.items("vectors", vectors, "a list of vectors, or None")
    if len(given) != len(checked):
        raise InvalidInputError(
            f"vectors has {len(given)} items for {len(checked)} memories; give one vector or None "
            "for each memory"
        )
    return list(checked.values()), given


def retain_memories(
    runtime: Runtime,
    bank: StoredBank,
    memories: Sequence[Memory],
    vectors: Sequence[GivenVector],
    *,
    dated: bool,
) -> RetainResult:
    """Store memories, the new ones together; see `Hindsight.retain_memories`."""
    bank_id, deps = bank.bank.id, runtime.retaining
    size = runtime.settings.batch_size
    for vector in vectors:
        if vector is not None:
            checked_vector(vector, deps.encoder.embedder.dimension)
    given = list(zip(memories, vectors, strict=True))
    outcomes = [(memory, _admitted(runtime, memory, vector)) for memory, vector in given]
    refused = tuple(_refused(memory) for memory, admitted in outcomes if admitted is None)
    results = [RetainResult(bank_id, skipped=refused)]
    pairs = [admitted for _, admitted in outcomes if admitted is not None]
    for start in range(0, len(pairs), size):
        batch = pairs[start : start + size]
        ids = [validation.label("memory.id", memory.id) for memory, _ in batch]
        with runtime.lock(bank.key):
            known = runtime.graph.filter_ids(bank_id, ids, EVERYTHING)
            if new := [pair for pair in batch if pair[0].id not in known]:
                made = made_records(deps, bank, *zip(*new, strict=True), dated=dated)
                results.append(store_made(deps, bank, *made))
        results += [
            _retain_admitted(runtime, bank, *pair, dated=dated)
            for pair in batch
            if pair[0].id in known
        ]
    return RetainResult.merged(bank_id, results)


def _replacement(
    runtime: Runtime, bank: StoredBank, made: MadeRecord, *, given_vector: bool
) -> tuple[ChangeSet, RetainResult]:
    """Return the change that puts a record in the place of the memory of its id."""
    bank_id, given = bank.bank.id, made.record
    known = runtime.graph.read(bank_id, RECORD, [given.memory.id])[given.memory.id]
    old = known.memory
    if old.derived:
        raise ConflictError(
            f"the id {old.id!r} belongs to an {old.type} drawn by bank {bank_id!r}; use another "
            "id, or correct that one with memories.update"
        )
    same_vector = not given_vector or np.allclose(known.vector, given.vector, atol=1e-5)
    meant = replacement_of(old, given.memory, bank.bank.expiry)
    if has_same_content(old, meant) and same_vector:
        skipped = Skipped(old.text[:80], SkipReason.UNCHANGED, old.id)
        return ChangeSet(bank_id), RetainResult(bank_id, skipped=(skipped,))
    now = utc_now()
    new = replace(given, memory=replace(meant, updated_at=now))
    changes = ChangeSet(
        bank_id,
        entities=made.created,
        replaced=(new,),
        history=changes_between(old, new.memory, REPLACE, now),
        mark_consolidated=(old.id,) if is_conclusion(old) else (),
    )
    invalid = {old.id} if old.invalidated_at else set()
    rewrite = rewrite_conclusions(runtime.reflecting, bank, invalid, {old.id: new})
    result = RetainResult(bank_id, stored=(new.memory,), replaced=(old.id,))
    return rewrite.joined_to(changes), result
