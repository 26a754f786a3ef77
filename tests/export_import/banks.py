"""Banks that are moved: one with some of everything, and all that a store gives of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_integrations import Disposition, Hindsight, Memory, MemoryType, Settings, Source
from hindsight_integrations.export_import import ExportResult, ImportResult
from hindsight_integrations.history import Change
from hindsight_integrations.models import MentalModel, ObservationKind
from hindsight_integrations.stores.base import (
    AUDIT,
    CHANGE,
    CHUNK,
    CONCLUSIONS_CITING,
    COOCCURRENCES,
    DOCUMENT,
    EDITED_NAMES,
    MEMORY_ID,
    MENTAL_MODEL,
    RECORD,
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
)

SAID = datetime(2024, 5, 7, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=2)))
EVERYTHING = MemoryFilter(now=datetime.min.replace(tzinfo=UTC), include_invalid=True)
QUESTIONS = (
    "Who runs Project Heron?",
    "What happened in March 2021?",
    "Where does Robert Hale live?",
    "Is tea better than coffee?",
    "Why was the ferry late?",
)

RESTING = Settings(consolidate=False, purge_interval=0)
"""Leaves pending memories pending, and expired ones stored, so that banks can be compared."""


def export(memory: Hindsight, bank: str, path: Path, **options: Any) -> ExportResult:
    return memory.banks.export(bank, path, **options)


def import_(memory: Hindsight, path: Path, bank: str | None = None, **options: Any) -> ImportResult:
    return memory.banks.import_(path, bank, **options)


def lived_in(memory: Hindsight, bank: str) -> None:
    """A bank with some of everything that can be in one."""
    memory.banks.create(
        bank,
        name="Alice 🦉",
        mission="Plan\nher week",
        background="A designer from Łódź",
        disposition=Disposition(5, 1, 4),
        directives=["Never guess", "Cite «sources»"],
    )
    stored = memory.retain(
        bank,
        "Ruth Castellane has run Project Heron in Łódź since March 2021.\n\n"
        "The ferry was late because the pilot had lost his chart. 🛳️ Ünïcode, 東京, \u2028 ʼn.",
        document_id="notes/1",
        timestamp=SAID,
        context='Heron, "the bird"',
        tags=["work", "é"],
        metadata={"text": 'a "quote"\n', "whole": 2**53 + 1, "half": 1.0, "yes": True},
        scope="office",
    )
    memory.retain(bank, "The ferry is blue.", document_id="a", timestamp=SAID)
    memory.retain(bank, "The ferry is blue.", document_id="b", timestamp=SAID)  # a second source
    memory.retain_messages(
        bank,
        [
            {"speaker": "Inês", "text": "Is tea better than coffee?", "id": "m1"},
            {"speaker": "Jonas", "text": "Tea, by far.", "id": "m2", "metadata": {"mood": 3}},
        ],
        session="chat",
    )
    memory.retain(bank, "I think Lisbon is the finest city.", type="opinion", confidence=0.25)
    memory.retain(bank, "The code was 4711.", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    for name in ("Robert Hale", "Old Bob", "Ghost Ship", "Mercury"):
        text = f"{name} was seen in Tromsø, and {name} left again."
        stored = memory.retain(bank, text, entities=[name], timestamp=SAID)
        memory.retain(bank, f"Nobody knows where {name} lives.", entities=[name])
    memory.entities.merge(bank, "Old Bob", "Robert Hale")
    memory.entities.split(bank, "Mercury", "Mercury (planet)", stored.ids)
    memory.entities.alias(bank, "Ghost Ship", "GS")
    for seen in memory.memories.list(bank, entity="Ghost Ship").items:
        memory.memories.update(bank, seen.id, tags=["doubtful"], reason="who was it?")
        memory.forget(bank, seen.id)  # the name that a user gave it stays
    first, second, *_ = memory.memories.list(bank).items
    memory.memories.update(bank, first.id, text=first.text + " It is a secret.", reason="typo")
    memory.memories.invalidate(bank, second.id, "retracted")
    concluded(memory, bank)


def concluded(memory: Hindsight, bank: str) -> None:
    """Conclusions, one of which rests on a later one, mental models, and what waits."""
    graph = memory.runtime.graph
    ids = list(graph.scan(bank, MEMORY_ID))
    (like,) = graph.read(bank, RECORD, ids[-1:]).values()

    def conclusion(id: str, *sources: Source) -> MemoryRecord:
        concluded = replace(
            like.memory,
            id=id,
            type=MemoryType.OBSERVATION,
            kind=ObservationKind.RISK.value,
            reasoning='"so" it is said',
            sources=sources,
        )
        return replace(like, memory=concluded)

    first = Source(memory_id=ids[0], mentioned_at=SAID, quote="Project «Heron»")
    against = Source(memory_id=ids[1], mentioned_at=SAID, quote="no", supports=False)
    model = MentalModel(
        "mm-1", bank, "Heron", "Ruth runs it.", "Who runs it?", 99, ("é",), (ids[0],), True
    )
    refreshed = Change("mm-1", "refresh", "text", None, model.text, SAID, of_model=True)
    graph.apply(ChangeSet(bank, memories=(conclusion("o-1", first, against),)))
    graph.apply(
        ChangeSet(bank, memories=(conclusion("o-2", first),), mark_consolidated=tuple(ids[2:]))
    )
    later = Source(memory_id="o-2", mentioned_at=SAID)
    graph.apply(ChangeSet(bank, sources=(("o-1", later),), mark_pending=("o-1",)))
    graph.apply(ChangeSet(bank, mental_models=(model,), history=(refreshed,)))
    memory.runtime.flush()


def everything(memory: Hindsight, bank: str) -> dict[str, list[object]]:
    """All a store gives of a bank, as values that can be compared; without the bank's id."""
    graph = memory.runtime.graph
    stored = graph.get_bank(bank)
    assert stored is not None
    ids = list(graph.scan(bank, MEMORY_ID))
    names = graph.list_entities(bank, limit=1000).items
    return {
        "bank": [replace(stored.bank, id=""), stored.embedder],
        "documents": [replace(each, bank_id="") for each in graph.scan(bank, DOCUMENT)],
        "chunks": list(graph.scan(bank, CHUNK)),
        "entities": [replace(each, bank_id="") for each in names],
        "beside": [graph.read(bank, COOCCURRENCES, [each.id for each in names])],
        "edited": list(graph.scan(bank, EDITED_NAMES)),
        "memories": [plain(each) for each in graph.read(bank, RECORD, ids).values()],
        "links": list(graph.links(bank, ids, 1000, EVERYTHING)),
        "changes": list(graph.scan(bank, CHANGE)),
        "audit": list(graph.scan(bank, AUDIT)),
        "resting": [graph.read(bank, CONCLUSIONS_CITING, ids)],
        "waiting": list(graph.pending_consolidation(bank, 1000)),
        "models": [replace(each, bank_id="") for each in graph.scan(bank, MENTAL_MODEL)],
        "lexemes": [graph.lexeme_stats(bank, ["ferri", "tea", "ruth"])],
    }


def plain(value: Any) -> object:
    """A value whose vectors can be compared, and that is of no bank."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tobytes())
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name != "bank_id"]
        return {name: plain(getattr(value, name)) for name in names}
    return value


def all_of(memory: Hindsight, bank: str) -> Sequence[Memory]:
    return memory.memories.list(bank, include_invalid=True, limit=1000).items
