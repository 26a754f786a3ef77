"""Order the pool by a weighted sum of named signals.

Late interaction decides the head of the list, embedding and BM25 the tail; time, conversation and
entities add what words alone cannot tell. Any other reranker replaces the sum for the head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.bm25 import bm25, idf
from hindsight_integrations.nlp.language import asks_in_english
from hindsight_integrations.nlp.late_interaction import token_coverage, token_shares
from hindsight_integrations.recall import signals
from hindsight_integrations.recall.advice import asks_for_advice
from hindsight_integrations.recall.arms.temporal import date_match
from hindsight_integrations.recall.base import Question, Reranker
from hindsight_integrations.recall.entity_graph import (
    SOURCES,
    entity_graph,
    personalised_pagerank,
    shared_entity_boost,
)
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.relevance import (
    IN_ANY_LANGUAGE,
    Calibration,
    relevance_by_rank,
)
from hindsight_integrations.recall.rerankers import checked_scores
from hindsight_integrations.recall.scaling import Scores, over_max, standardise
from hindsight_integrations.recall.versions import asks_for_the_present, newer_version_boost
from hindsight_integrations.recall.weights import Weights
from hindsight_integrations.results import Failure, Signals

IN_DIALOGUE = 3.6
"""Factor of late interaction among turns of a dialogue."""

EVENT_RISE = 0.7
"""Share of the distance to the best hit by which the memory of an event rises, 0 to 1."""

HINT = 0.3
"""Weight of a period before, after or during an event; a time that the question names itself has 1.
With 1, conversations of the benchmark lost answers that are told together with the event."""

CONTEXT_GAP = 0.1
"""Difference of totals between the last statement and the first turn that states nothing."""

SAME_TERMS = 0.8
"""Minimum share of the question's words, by weight, at which a memory counts as an answer even if
the embedder finds it dissimilar (numbers, codes, other languages)."""

LANGUAGE_SHOWS = 1_000
"""Number of characters of a question used to detect its language."""

FEEDBACK_HITS = 10
"""Number of best hits whose mean is the feedback. Their own order does not change."""

FLOOR = 1e-6
"""Added to fused scores before their logarithm, because those of neighbours are 0."""

FLOW_FLOOR = 1e-3
"""Added to PageRank, divided by its maximum, before its logarithm."""


@dataclass(frozen=True)
class Ranking:
    """The pool in order.

    Attributes:
        order: positions in the pool, best first.
        total: sum of the contributions, which decides the order.
        relevance: probability that each memory belongs to the answer, 0 to 1, decreasing in this
            order.
        similarity: cosine of the best memory to the question by meaning, 0 to 1; 0 if not
            measured.
        shared_names: the rare name that each boosted memory shares with a best hit, by position.
        known: False if nothing in the pool resembles the question, so that even the best memory is
            not an answer.
        names: names of the signals.
        values: raw signals; shape (memories, signals).
        contributions: weighted signals; same shape.
        failures: parts that failed and were left out.
    """

    order: NDArray[np.intp]
    total: Scores
    relevance: Scores
    names: tuple[str, ...]
    values: NDArray[np.float64]
    contributions: NDArray[np.float64]
    similarity: float = 0.0
    shared_names: Mapping[int, str] = field(default_factory=dict)
    known: bool = True
    failures: tuple[Failure, ...] = ()

    @classmethod
    def empty(cls) -> Ranking:
        """Return the ranking of an empty pool."""
        none = np.zeros(0)
        table = np.zeros((0, 0))
        return cls(np.zeros(0, dtype=np.intp), none, none, (), table, table)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """Mean contribution of each signal over the pool."""
        return np.asarray(self.contributions.mean(axis=0))

    def lifts(self, position: int) -> dict[str, float]:
        """Return how far each signal raises a memory above the mean of the pool."""
        lifts = self.contributions[position] - self.mean
        return dict(zip(self.names, lifts.tolist(), strict=True))

    def signals(self, position: int) -> Signals:
        """Return the signals of one memory, as copies that keep no other memory's alive."""
        values, contributions = self.values[position], self.contributions[position]
        return Signals(self.names, values.copy(), contributions.copy())


class _SignalTable:
    """Signals in the order they were added, and their running total."""

    def __init__(self, size: int) -> None:
        self.total: Scores = np.zeros(size)
        self.rows: dict[str, tuple[Scores, Scores]] = {}
        self.shared_names: dict[int, str] = {}

    def add(self, name: str, value: Scores, contribution: Scores) -> None:
        self.rows[name] = (value, contribution)
        self.total = self.total + contribution

    def ranking(self) -> Ranking:
        """Return the ranking, with relevances derived from the order alone."""
        order = np.argsort(-self.total, kind="stable")
        relevance = np.zeros(len(order))
        relevance[order] = relevance_by_rank(len(order))
        return Ranking(
            order=order,
            total=self.total,
            relevance=relevance,
            names=tuple(self.rows),
            values=np.stack([value for value, _ in self.rows.values()], axis=1),
            contributions=np.stack([added for _, added in self.rows.values()], axis=1),
            shared_names=self.shared_names,
        )


def rank(
    pool: Pool,
    question: Question,
    head: int,
    weights: Weights,
    calibration: Calibration | None = None,
) -> Ranking:
    """Order the pool by the weighted sum of all signals.

    Args:
        pool: the memories.
        question: the question asked.
        head: number of memories for late interaction.
        weights: of the signals.
        calibration: converts totals to probabilities; without one, the order alone decides them.
    """
    table = _SignalTable(len(pool))
    dense = _cosines(pool, question)
    lexical = _bm25(pool, question)
    dialogue = pool.memories.in_dialogue
    interaction_weight = (1.0 + (IN_DIALOGUE - 1.0) * dialogue) * weights.interaction
    tokens = question.tokens
    # Without vectors of the tokens the cosine stands for late interaction as well.
    stand_in = interaction_weight if tokens is None else 0.0
    # Among turns late interaction says all that the cosine of the same model says.
    share = 1.0 if question.two_models else 1.0 - dialogue
    table.add("meaning", dense, (share * weights.meaning + stand_in) * dense)
    log_documents = math.log(2 + pool.stats.documents)
    if asks_for_advice(question.text):
        # The words of a request describe a plan, which relevant memories seldom mention.
        lasting_fact = pool.memories.lasting_fact
        table.add("lasting fact", lasting_fact, weights.lasting_fact * lasting_fact)
    else:
        table.add("terms", lexical, weights.terms * lexical / log_documents)
    date_fits = date_fit(pool, question)
    table.add("date", date_fits, weights.date * date_fits)
    _add_conversation(table, pool, question, dense, lexical, date_fits, weights)

    similarity = dense
    if tokens is not None:
        head_positions = np.argsort(-table.total, kind="stable")[:head]
        importance = token_shares(tokens, pool.memories.tokens)
        coverage = token_coverage(tokens, [pool.memories[i].interaction for i in head_positions])
        interaction = coverage @ importance
        extended = _extrapolate(interaction, head_positions, dense, lexical)
        # The cosines of an unknown model have a scale of their own.
        similarity = extended if question.two_models else (dense + extended) / 2
        table.add("interaction", extended, interaction_weight * extended)
        _add_bridges(table, pool, weights, head_positions, coverage, importance)
    else:
        _add_bridges(table, pool, weights, None, None, None)
    lengths = pool.memories.lengths
    table.add("length", lengths, weights.length * lengths)
    _add_events(table, pool, question)
    _add_boosts(table, pool, question, date_fits)
    _add_feedback(table, pool, weights)
    _add_versions(table, pool, question)
    ranking = _with_context_last(table, pool)
    if calibration is None or not question.embedded:
        return ranking
    return _calibrated(ranking, calibration, pool, question, similarity, lexical, date_fits)


def _calibrated(
    ranking: Ranking,
    calibration: Calibration,
    pool: Pool,
    question: Question,
    similarity: Scores,
    lexical: Scores,
    date_fits: Scores,
) -> Ranking:
    """Return the ranking with relevances as probabilities, and `known` judged by similarity."""
    best = float(similarity[~pool.memories.context].max(initial=0.0))
    hinted = bool(pool.query_entity_ids) or bool(date_fits.any())
    size, text = pool.stats.documents, question.text[:LANGUAGE_SHOWS]
    is_english = asks_in_english(text)
    calibrated_size = size if is_english else min(size, IN_ANY_LANGUAGE)
    unknown_name = is_english and signals.names_someone_unknown(text, pool)
    is_similar = calibration.knows(best, calibrated_size, hinted=hinted, unknown_name=unknown_name)
    known = (
        ((hinted or _has_words(question)) and is_similar)
        or signals.asks_for_any_matter(question.text)
        or _has_question_terms(pool, question, lexical)
    )
    return replace(
        ranking,
        relevance=_statements_only(pool, calibration.relevance(ranking.total, best, size)),
        similarity=best,
        known=known,
    )


def _has_question_terms(pool: Pool, question: Question, lexical: Scores) -> bool:
    """Return True if a memory has most words of the question (`SAME_TERMS`), weighted by rarity.

    For a question without content words, like "And where are they?", it is always True: such a
    question cannot be judged by similarity.
    """
    stats = pool.stats
    asked = {term: idf(stats.frequency.get(term, 0), stats.documents) for term in question.lexemes}
    return float(lexical.max(initial=0.0)) >= SAME_TERMS * sum(asked.values())


def _has_words(question: Question) -> bool:
    """Return False for a question like "What is 2+2?", which resembles any text with numbers."""
    spelt = "".join(question.lexemes)
    return not spelt or any(letter.isalpha() for letter in spelt)


def _statements_only(pool: Pool, relevance: Scores) -> Scores:
    """Round relevance, so that `min_score` is exact; set it to 0 for turns that state nothing."""
    return np.where(pool.memories.context, 0.0, np.round(relevance, 6))


def rank_fused(pool: Pool, question: Question) -> Ranking:
    """Order the pool by reciprocal rank fusion and the boosts only."""
    table = _SignalTable(len(pool))
    table.add("fusion", pool.fused, np.log(pool.fused + FLOOR))
    _add_boosts(table, pool, question, date_fit(pool, question))
    return _with_context_last(table, pool)


def rerank(
    ranking: Ranking, head: Mapping[int, Memory], question: Question, reranker: Reranker
) -> Ranking:
    """Put the head of a ranking in a reranker's order; the rest follows unchanged.

    Args:
        ranking: ranking of the pool.
        head: positions in the pool of the memories that the reranker reads.
        question: the question asked.
        reranker: scores the head.

    Returns:
        The new ranking; if the reranker failed, the old one with the failure added.
    """
    if not head:
        return ranking
    head_positions = np.array(list(head), dtype=np.intp)
    try:
        scores = checked_scores(reranker, question.text, list(head.values()))
    except Exception as error:  # noqa: BLE001 - a reranker is foreign code; recall goes on without
        failure = Failure("reranker", error)
        return replace(ranking, failures=(*ranking.failures, failure))
    position = np.empty(len(head_positions))
    position[np.argsort(-scores, kind="stable")] = np.arange(len(head_positions))
    spread = float(ranking.total.max()) - float(ranking.total.min()) + 1.0
    added = np.zeros(len(ranking.total))
    added[head_positions] = (
        spread * (2.0 - position / len(head_positions))
        + ranking.total.max()
        - ranking.total[head_positions]
    )
    raw_scores = np.zeros(len(ranking.total))
    raw_scores[head_positions] = scores
    total = ranking.total + added
    order = np.argsort(-total, kind="stable")
    # The scale of a foreign score is unknown, so each rank keeps its probability.
    relevance = np.empty(len(order))
    relevance[order] = ranking.relevance[ranking.order]
    return replace(
        ranking,
        order=order,
        total=total,
        relevance=relevance,
        names=(*ranking.names, f"reranker {reranker.id}"),
        values=np.column_stack([ranking.values, raw_scores]),
        contributions=np.column_stack([ranking.contributions, added]),
    )


def date_fit(pool: Pool, question: Question) -> Scores:
    """Return how well each memory fits a period of the question, 0 to 1; 0 without a period."""
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
    table: _SignalTable,
    pool: Pool,
    question: Question,
    dense: Scores,
    lexical: Scores,
    date_fits: Scores,
    weights: Weights,
) -> None:
    own_words = pool.memories.own_words
    if own_words.any() and not signals.asks_the_agent(question.text):
        table.add("own words", own_words, weights.own_words * own_words)
    share = pool.memories.in_dialogue
    if not share:
        return
    near, far = signals.surroundings(pool, over_max(lexical), np.clip(dense, 0.0, None))
    table.add("neighbours", near, share * weights.neighbours * near)
    table.add("second neighbours", far, share * weights.second_neighbours * far)
    session = standardise(signals.session(pool, question.lexemes, dense))
    if any(window.firm for window in question.windows):
        # The topic of a session outside the time asked for must not raise its turns.
        session = np.where(session > 0, session * date_fits, session)
    table.add("session", session, share * weights.session * session)
    information = pool.memories.information
    table.add("information", information, share * weights.information * information)
    speaker = signals.speaker_named(pool, question.text)
    table.add("speaker", speaker, share * weights.speaker * speaker)
    asks = pool.memories.asking
    table.add("asks", asks, share * weights.asks * asks)
    answers = signals.answers(pool, over_max(lexical), over_max(dense))
    table.add("answers", answers, share * weights.answers * answers)


def _add_bridges(
    table: _SignalTable,
    pool: Pool,
    weights: Weights,
    head_positions: NDArray[np.intp] | None,
    coverage: NDArray[np.float32] | None,
    importance: NDArray[np.float64] | None,
) -> None:
    linking = 1.0 - pool.memories.own_share
    graph = entity_graph(pool)
    if not graph.names or not linking:
        return
    totals = table.total
    gain, sharing_entities = shared_entity_boost(graph, totals)
    table.shared_names = {
        p: graph.names[sharing_entities[p]] for p in np.flatnonzero(gain).tolist()
    }
    table.add("shared name", gain, linking * weights.shared_name * gain)
    strength = linking * graph.strength
    if not strength:
        return
    rank_flow = personalised_pagerank(graph, totals)
    spread = standardise(np.log(over_max(rank_flow) + FLOW_FLOOR))
    table.add("pagerank", rank_flow, strength * weights.pagerank * spread)
    if head_positions is None or coverage is None or importance is None:
        return
    best = np.argsort(-totals[head_positions], kind="stable")[:SOURCES]
    missing = importance * np.clip(1.0 - coverage[best].max(axis=0), 0.0, None)
    residual = np.zeros(len(pool))
    if missing.sum() > 0:
        residual[head_positions] = standardise(coverage @ (missing / missing.sum()))
    table.add("residual", residual, strength * weights.residual * residual)


def _add_events(table: _SignalTable, pool: Pool, question: Question) -> None:
    """Raise the memory of an event that the question refers to, as the answer needs its time."""
    if not question.events:
        return
    tells_event = np.array([float(memory.id in question.events) for memory in pool.memories])
    rise = EVENT_RISE * (float(table.total.max()) - table.total)
    table.add("event", tells_event, tells_event * rise)


def _add_boosts(table: _SignalTable, pool: Pool, question: Question, date_fits: Scores) -> None:
    recency = signals.recency_boost(question.asked_at.timestamp() - pool.memories.mentioned)
    table.add("recency boost", recency, np.log(recency))
    proof = signals.proof_boost(pool.memories.proofs)
    table.add("proof boost", proof, np.log(proof))
    if question.windows:
        temporal = signals.temporal_boost(date_fits)
        table.add("temporal boost", temporal, np.log(temporal))


def _add_feedback(table: _SignalTable, pool: Pool, weights: Weights) -> None:
    """Lower each memory below the best hits by its distance to them, relative to the nearest."""
    stating = np.flatnonzero(~pool.memories.context)
    order = stating[np.argsort(-table.total[stating], kind="stable")]
    best, others = order[:FEEDBACK_HITS], order[FEEDBACK_HITS:]
    share = 1.0 - pool.memories.own_share
    if not len(others) or not share:
        return
    vectors = pool.memories.vectors
    centre = vectors[best].sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(centre))
    similarity = vectors @ (centre / length) if length else np.zeros(len(pool))
    penalty = np.zeros(len(pool))
    penalty[others] = similarity[others] - similarity[others].max()
    table.add("feedback", similarity, share * weights.feedback * penalty)


def _add_versions(table: _SignalTable, pool: Pool, question: Question) -> None:
    """Rank the newer of two versions of a statement first, for a question about the present."""
    text = question.text[:LANGUAGE_SHOWS]
    if question.windows or question.events or not asks_for_the_present(text):
        return
    if asks_for_advice(question.text) or not asks_in_english(text):
        return
    stating = np.flatnonzero(~pool.memories.context)
    order = stating[np.argsort(-table.total[stating], kind="stable")].tolist()
    rises = newer_version_boost(pool.memories, table.total, order, question.lexemes)
    if rises:
        rise = np.zeros(len(pool))
        rise[list(rises)] = list(rises.values())
        table.add("newer version", (rise > 0).astype(np.float64), rise)


def _with_context_last(table: _SignalTable, pool: Pool) -> Ranking:
    """Return the ranking with turns that state nothing after all others, in the same order.

    The most similar text to a question is the same question asked before, so the similarity of such
    turns does not tell what the bank knows.
    """
    context = pool.memories.context
    if context.any() and not context.all():
        drop = float(table.total[context].max()) - float(table.total[~context].min()) + CONTEXT_GAP
        table.add(
            "states nothing", context.astype(np.float64), np.where(context, -max(drop, 0.0), 0.0)
        )
    ranking = table.ranking()
    return replace(ranking, relevance=_statements_only(pool, ranking.relevance))


def _extrapolate(
    head_scores: Scores, head_positions: NDArray[np.intp], dense: Scores, lexical: Scores
) -> Scores:
    """Return late interaction scores for the whole pool, given those of the head.

    The others are predicted from cheaper scores by least squares over the head.
    """
    features = np.column_stack([np.ones(len(dense)), dense, lexical])
    coefficients, *_ = np.linalg.lstsq(features[head_positions], head_scores, rcond=None)
    extended = np.asarray(features @ coefficients, dtype=np.float64)
    extended[head_positions] = head_scores
    return extended
