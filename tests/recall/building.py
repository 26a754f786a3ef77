"""Small inputs for the ranking formulas: no store, no model, numbers one can follow by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np

from hindsight_integrations.models import Bank, MemoryType, TimeSpan
from hindsight_integrations.nlp.late_interaction import DIMENSION, TokenMatrix
from hindsight_integrations.recall.base import BankSearch, Depth, Question
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.results import Window
from hindsight_integrations.stores.base import (
    Candidate,
    EmbedderIdentity,
    LexemeStats,
    MemoryFilter,
    StoredBank,
)

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
BANK = StoredBank(Bank("bank", created_at=NOON, updated_at=NOON), "key", EmbedderIdentity("e", 2))
EVERYTHING = MemoryFilter(now=NOON)


def candidate(
    id: str,
    *,
    text: str = "text",
    speaker: str | None = None,
    document: str = "document",
    at: datetime = NOON,
    occurred: Sequence[TimeSpan] = (),
    proof: int = 1,
    lexemes: Sequence[str] = (),
    vector: Sequence[float] = (0.0, 1.0),
    interaction: bytes = b"",
    entities: Sequence[str] = (),
    bank: str = "bank",
    kind: str | None = None,
    type: MemoryType = MemoryType.WORLD,
) -> Candidate:
    """A memory as ranking sees it; an entity's id is its name with "id-" before it."""
    return Candidate(
        id=id,
        bank_id=bank,
        text=text,
        speaker=speaker,
        document_id=document,
        mentioned_at=at,
        occurred=tuple(occurred),
        proof_count=proof,
        fingerprint=id,
        lexemes=tuple(lexemes),
        vector=np.array(vector, dtype=np.float32),
        interaction=interaction,
        entities=tuple((f"id-{name}", name) for name in entities),
        type=type,
        kind=kind,
    )


def pool_of(
    memories: Sequence[Candidate],
    *,
    neighbours: Sequence[Sequence[int]] | None = None,
    fused: Sequence[float] | None = None,
    stats: LexemeStats | None = None,
    named: Sequence[str] = (),
) -> Pool:
    """A pool in which nothing stands beside anything, unless `neighbours` says so."""
    alone = np.full((len(memories), 4), -1)
    return Pool(
        memories=Candidates(memories),
        fused=np.zeros(len(memories)) if fused is None else np.array(fused, dtype=np.float64),
        arms={},
        neighbours=(alone if neighbours is None else np.array(neighbours)).astype(np.intp),
        stats=stats or LexemeStats(len(memories), 1.0, {}),
        query_entity_ids=frozenset(f"id-{name}" for name in named),
    )


def in_a_row(count: int) -> list[list[int]]:
    """`Pool.neighbours` of one conversation: two before, one before, one after, two after."""
    return [
        [index + offset if 0 <= index + offset < count else -1 for offset in (-2, -1, 1, 2)]
        for index in range(count)
    ]


def question(
    text: str = "question",
    *,
    vector: Sequence[float] = (1.0, 0.0),
    tokens: TokenMatrix | None = None,
    lexemes: Sequence[str] = (),
    windows: Sequence[Window] = (),
    events: Sequence[str] = (),
    asked_at: datetime = NOON,
    two_models: bool = False,
) -> Question:
    """A question, as the arms and the ranking are given it."""
    return Question(
        text=text,
        asked_at=asked_at,
        vector=np.array(vector, dtype=np.float32),
        tokens=tokens,
        lexemes=tuple(lexemes),
        windows=tuple(windows),
        events=frozenset(events),
        two_models=two_models,
    )


def bank_search(
    *,
    asked: Question | None = None,
    hits: int = 10,
    nodes: int = 100,
    pool: int = 10,
    whole: int = 0,
    stats: LexemeStats | None = None,
    filter: MemoryFilter = EVERYTHING,
    index: Any = None,
    **graph: Any,
) -> BankSearch:
    """A search whose graph store has just the methods given."""
    return BankSearch(
        graph=SimpleNamespace(**graph),
        index=index,
        bank=BANK,
        question=asked or question(),
        filter=filter,
        depth=Depth(hits=hits, nodes=nodes, pool=pool, whole_bank=whole, head=10),
        stats=stats or LexemeStats(10, 1.0, {}),
    )


def unit(cosine: float) -> tuple[float, float]:
    """A unit vector of this cosine to the question's, (1, 0)."""
    return cosine, (1 - cosine**2) ** 0.5


def signs(pattern: int) -> np.ndarray:
    """A Walsh function of 256 signs: two of different patterns are orthogonal."""
    parity = [(index & pattern).bit_count() % 2 for index in range(DIMENSION)]
    return np.where(parity, -1.0, 1.0)


def direction(parts: Mapping[int, float]) -> np.ndarray:
    """A token vector: {1: 0.8, 2: 0.6} has cosine 0.8 with pattern 1 and 0.6 with pattern 2."""
    return sum(part * signs(pattern) for pattern, part in parts.items()) / DIMENSION**0.5


def asked_tokens(*tokens: tuple[int, Mapping[int, float]]) -> TokenMatrix:
    """A question's tokens, each given by its id and its direction."""
    return TokenMatrix(
        np.stack([direction(parts) for _, parts in tokens]).astype(np.float32),
        np.array([id for id, _ in tokens], dtype=np.int32),
    )


def stored_tokens(*tokens: tuple[int, int]) -> bytes:
    """A memory's tokens as they are stored, each given by its id and its pattern.

    A token is its id in two bytes, and then 128 bytes of codes from 0 (lowest) to 15 (highest):
    the first half of its numbers in the high four bits, the second half in the low ones.
    """
    data = b""
    for id, pattern in tokens:
        codes = np.where(signs(pattern) > 0, 15, 0).astype(np.uint8)
        high, low = codes[: DIMENSION // 2], codes[DIMENSION // 2 :]
        data += id.to_bytes(2, "little") + (high * 16 + low).tobytes()
    return data
