"""The order of the pool: a weighted sum of standardised signals, each of which can be named.

Late interaction leads, for the head of the list; embedding and BM25 hold the tail; time,
conversation and entities add what words alone cannot know. Any other reranker takes the place
of the sum for the head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.language.bm25 import bm25
from hindsight_integrations.language.interaction import token_coverage, token_shares
from hindsight_integrations.model import Memory
from hindsight_integrations.recall import boosts, bridges, conversation
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.ports import Question, Reranker
from hindsight_integrations.recall.rerankers import checked_scores
from hindsight_integrations.recall.standard import Scores, over_max, standardise
from hindsight_integrations.recall.temporal import date_match
from hindsight_integrations.results import Failure, Signals


@dataclass(frozen=True, slots=True)
class Weights:
    """What one standard deviation (or, for those from 0 to 1, the whole) of a signal counts.

    Found on the development sets of the bench: docs/benchmarks.md has what each one gives.
    """

    interaction: float = 1.2
    """Late interaction: each term of the question finds its nearest in the memory."""
    meaning: float = 0.5
    """Cosine of the embeddings, among passages. Turns are short: what one has in common with the
    question, late interaction tells better, so the share of turns in the pool takes this away."""
    terms: float = 0.3
    """BM25."""
    date: float = 3.0
    """Fit of the memory's times to the window asked for, 0 to 1."""
    neighbours: float = 1.6
    """What the turns before and after have in common with the question."""
    further: float = 0.5
    """The same of those two away."""
    session: float = 0.8
    """What the whole session has in common with the question."""
    speaker: float = 3.6
    """Said by the person whom the question asks about, 0 or 1."""
    asks: float = -0.55
    """Ends in a question itself, 0 or 1."""
    answers: float = 3.5
    """Replies to a question that has much in common with the one asked, 0 to 1."""
    substance: float = 0.6
    """How much a turn says by itself, whatever the question."""
    pagerank: float = 0.5
    """Rank that flows from the best hits over shared entities."""
    shared_name: float = 1.0
    """Drawn up to one of the best hits by a rare name they share."""
    residual: float = 0.75
    """Late interaction with what of the question the best hits do not cover yet."""


DEFAULT_WEIGHTS = Weights()

EVENT_RISE = 0.7
"""How much of the way to the best hit the event is put that a question counts from."""

HINT = 0.3
"""What the time before, after or during an event counts beside a time that the question names.
As much, and conversations of the bench lost the answers that are told together with the event."""

SPREAD = 0.1
"""How far the last of a pool scores below the best, as a share of the best. With 0.25, a
`min_score` of 0.45 lost 11 % of the evidence that it need not (docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The pool in order.

    Attributes:
        order: positions in the pool, best first.
        total: what the order was made by.
        relevance: how well each memory fits by itself, 0 to 1.
        names: names of the signals.
        values: raw signals; shape (memories, signals).
        contributions: what each added to the total; same shape.
        failures: what was left out because it failed.
    """

    order: NDArray[np.intp]
    total: Scores
    relevance: Scores
    names: tuple[str, ...]
    values: NDArray[np.float64]
    contributions: NDArray[np.float64]
    failures: tuple[Failure, ...] = ()

    @property
    def scores(self) -> Scores:
        """How sure it is that each memory belongs to the answer, 0 to 1, falling with the order.

        The best relevance in the pool tells whether the bank knows of the matter at all; the place
        in the order then decides, since evidence reached over a name or a neighbour may have little
        in common with the question itself.
        """
        if not len(self.total):
            return self.total
        best, last = float(self.total.max()), float(self.total.min())
        gap = (best - self.total) / (best - last) if best > last else np.zeros(len(self.total))
        return float(self.relevance.max()) * (1.0 - SPREAD * gap)

    @classmethod
    def empty(cls) -> Ranking:
        """The ranking of an empty pool."""
        none = np.zeros(0)
        table = np.zeros((0, 0))
        return cls(np.zeros(0, dtype=np.intp), none, none, (), table, table)

    def signals(self, position: int) -> Signals:
        """The signals of one memory, which hold on to nothing of the others."""
        values, contributions = self.values[position], self.contributions[position]
        return Signals(self.names, values.copy(), contributions.copy())


class _Sheet:
    """Signals as they come in, and their running total."""

    def __init__(self, size: int) -> None:
        self.total: Scores = np.zeros(size)
        self.rows: dict[str, tuple[Scores, Scores]] = {}

    def add(self, name: str, value: Scores, contribution: Scores) -> None:
        self.rows[name] = (value, contribution)
        self.total = self.total + contribution

    def ranking(self, relevance: Scores) -> Ranking:
        return Ranking(
            order=np.argsort(-self.total, kind="stable"),
            total=self.total,
            relevance=relevance,
            names=tuple(self.rows),
            values=np.stack([value for value, _ in self.rows.values()], axis=1),
            contributions=np.stack([added for _, added in self.rows.values()], axis=1),
        )


def rank(pool: Pool, question: Question, head: int, weights: Weights) -> Ranking:
    """Order the pool by the weighted sum of all signals."""
    sheet = _Sheet(len(pool))
    dense = _cosines(pool, question)
    lexical = _bm25(pool, question)
    passages = 1.0 - float(pool.memories.speaking.mean())
    sheet.add("meaning", dense, passages * weights.meaning * standardise(dense))
    sheet.add("terms", lexical, weights.terms * standardise(lexical))
    fit = date_fit(pool, question)
    sheet.add("date", fit, weights.date * fit)
    _add_conversation(sheet, pool, question, dense, lexical, fit, weights)

    relevance = np.clip(dense, 0.0, 1.0)
    if question.tokens is not None and len(question.tokens.ids):
        first = np.argsort(-sheet.total, kind="stable")[:head]
        importance = token_shares(question.tokens, pool.memories.tokens)
        coverage = token_coverage(question.tokens, [pool.memories[i].interaction for i in first])
        interaction = coverage @ importance
        spread_out = _extrapolate(interaction, first, dense, lexical)
        relevance = np.clip((dense + spread_out) / 2, 0.0, 1.0)
        sheet.add("interaction", spread_out, weights.interaction * standardise(spread_out))
        _add_bridges(sheet, pool, weights, first, coverage, importance)
    else:
        _add_bridges(sheet, pool, weights, None, None, None)
    _add_events(sheet, pool, question)
    _add_boosts(sheet, pool, question, fit)
    return sheet.ranking(relevance)


def rank_fused(pool: Pool, question: Question) -> Ranking:
    """Order the pool by reciprocal rank fusion alone, and the boosts."""
    sheet = _Sheet(len(pool))
    sheet.add("fusion", pool.fused, np.log(pool.fused + 1e-6))
    _add_boosts(sheet, pool, question, date_fit(pool, question))
    return sheet.ranking(np.clip(_cosines(pool, question), 0.0, 1.0))


def rerank(
    ranking: Ranking, head: Mapping[int, Memory], question: Question, reranker: Reranker
) -> Ranking:
    """Put the head of a ranking in another reranker's order; the rest stays behind it.

    Args:
        ranking: of the pool.
        head: positions in the pool of what the reranker is to read, with the memories.
        question: as asked.
        reranker: the other reranker.

    A reranker that fails leaves the ranking as it was, and the failure in it.
    """
    if not head:
        return ranking
    first = np.array(list(head), dtype=np.intp)
    try:
        scores = checked_scores(reranker, question.text, list(head.values()))
    except Exception as error:  # noqa: BLE001 - a reranker is foreign code; recall goes on without
        failure = Failure("reranker", error)
        return replace(ranking, failures=(*ranking.failures, failure))
    place = np.empty(len(first))
    place[np.argsort(-scores, kind="stable")] = np.arange(len(first))
    lead = float(ranking.total.max()) - float(ranking.total.min()) + 1.0
    added = np.zeros(len(ranking.total))
    added[first] = lead * (2.0 - place / len(first)) + ranking.total.max() - ranking.total[first]
    value = np.zeros(len(ranking.total))
    value[first] = scores
    total = ranking.total + added
    return replace(
        ranking,
        order=np.argsort(-total, kind="stable"),
        total=total,
        names=(*ranking.names, f"reranker {reranker.id}"),
        values=np.column_stack([ranking.values, value]),
        contributions=np.column_stack([ranking.contributions, added]),
    )


def date_fit(pool: Pool, question: Question) -> Scores:
    """The best fit of each memory to any window of the question; 0 if it names no time."""
    if not question.windows:
        return np.zeros(len(pool))
    windows = [(window.span, 1.0 if window.firm else HINT) for window in question.windows]
    return np.array(
        [
            max(share * date_match(span, m.occurred, m.mentioned_at) for span, share in windows)
            for m in pool.memories
        ]
    )


def _cosines(pool: Pool, question: Question) -> Scores:
    return (pool.memories.vectors @ question.vector).astype(np.float64)


def _bm25(pool: Pool, question: Question) -> Scores:
    stats = pool.stats
    asked = pool.memories.terms.asked(question.lexemes)
    return bm25(asked, stats.frequency, stats.documents, stats.mean_length)


def _add_conversation(
    sheet: _Sheet,
    pool: Pool,
    question: Question,
    dense: Scores,
    lexical: Scores,
    fit: Scores,
    weights: Weights,
) -> None:
    if not pool.memories.speaking.any():
        return
    near, far = conversation.surroundings(pool, over_max(lexical), np.clip(dense, 0.0, None))
    sheet.add("neighbours", near, weights.neighbours * near)
    sheet.add("further", far, weights.further * far)
    session = standardise(conversation.session(pool, question.lexemes, dense))
    if any(window.firm for window in question.windows):
        # However much it was about the matter, it was not held in the time that is asked for.
        session = np.where(session > 0, session * fit, session)
    sheet.add("session", session, weights.session * session)
    substance = pool.memories.substance
    sheet.add("substance", substance, weights.substance * substance)
    speaker = conversation.speaker_named(pool, question.text)
    sheet.add("speaker", speaker, weights.speaker * speaker)
    asks = pool.memories.asking
    sheet.add("asks", asks, weights.asks * asks)
    answers = conversation.answers(pool, over_max(lexical), over_max(dense))
    sheet.add("answers", answers, weights.answers * answers)


def _add_bridges(
    sheet: _Sheet,
    pool: Pool,
    weights: Weights,
    first: NDArray[np.intp] | None,
    coverage: NDArray[np.float32] | None,
    importance: NDArray[np.float64] | None,
) -> None:
    graph = bridges.entity_graph(pool)
    if not graph.incidence.size:
        return
    so_far = sheet.total
    gain = bridges.drawn(graph, so_far)
    sheet.add("shared name", gain, weights.shared_name * gain)
    strength = graph.strength
    if not strength:
        return
    flow = bridges.personalised_pagerank(graph, so_far)
    sheet.add(
        "pagerank", flow, strength * weights.pagerank * standardise(np.log(over_max(flow) + 1e-3))
    )
    if first is None or coverage is None or importance is None:
        return
    best = np.argsort(-so_far[first], kind="stable")[: bridges.SOURCES]
    missing = importance * np.clip(1.0 - coverage[best].max(axis=0), 0.0, None)
    residual = np.zeros(len(pool))
    if missing.sum() > 0:
        residual[first] = standardise(coverage @ (missing / missing.sum()))
    sheet.add("residual", residual, strength * weights.residual * residual)


def _add_events(sheet: _Sheet, pool: Pool, question: Question) -> None:
    """Put what tells the event that the question counts from among the best.

    An answer that says "before" has to know when that was.
    """
    if not question.events:
        return
    told = np.array([float(memory.id in question.events) for memory in pool.memories])
    rise = EVENT_RISE * (float(sheet.total.max()) - sheet.total)
    sheet.add("event", told, told * rise)


def _add_boosts(sheet: _Sheet, pool: Pool, question: Question, fit: Scores) -> None:
    recency = np.array(
        [boosts.recency_boost(m.mentioned_at, question.asked_at) for m in pool.memories]
    )
    sheet.add("recency boost", recency, np.log(recency))
    proof = np.array([boosts.proof_boost(m.proof_count) for m in pool.memories])
    sheet.add("proof boost", proof, np.log(proof))
    if question.windows:
        temporal = np.array([boosts.temporal_boost(f) for f in fit])
        sheet.add("temporal boost", temporal, np.log(temporal))


def _extrapolate(
    head_scores: Scores, first: NDArray[np.intp], dense: Scores, lexical: Scores
) -> Scores:
    """Late interaction of the whole pool.

    As scored for the head; for the rest, what the cheap scores predict by least squares over
    the head.
    """
    cheap = np.column_stack([np.ones(len(dense)), dense, lexical])
    coefficients, *_ = np.linalg.lstsq(cheap[first], head_scores, rcond=None)
    spread_out = np.asarray(cheap @ coefficients, dtype=np.float64)
    spread_out[first] = head_scores
    return spread_out
