"""Retrieval figures: if evidence came back, at which rank, and inside the token budget.

Every figure lies between 0 and 1. A hit counts for the items of its ids if its text supports them,
so that a summary of a summary earns nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hindsight_integrations.evaluate.dataset import Passage

RANKS = (5, 10, 20)
"""The k of recall@k and hit@k."""

SESSION_RANKS = (5, 10)
"""The k of recall@k and hit@k among sessions: a conversation has some twenty."""

GAIN_RANKS = 10
"""The k of nDCG@k."""

SUPPORT = 0.5
"""Share of an item's distinct words that a hit's text must contain to count for it."""

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of an answer.

    Attributes:
        ids: the items it stands for.
        text: the line as a reader sees it.
        tokens: of that text, line break included.
    """

    ids: tuple[str, ...]
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class RankedItem:
    """An item in an answer, and the tokens spent up to the end of its hit."""

    item_id: str
    spent: int


def supports(text: str, item_text: str) -> bool:
    """Return True if `text` contains at least `SUPPORT` of the distinct words of `item_text`.

    Words are runs of a-z and 0-9 in lower case; an item that has none is supported by any text.
    """
    words = set(_WORD.findall(item_text.lower()))
    return len(words & set(_WORD.findall(text.lower()))) >= SUPPORT * len(words)


def ranked_items(
    hits: Sequence[Hit], gold: Collection[str], texts: Mapping[str, str]
) -> Iterator[RankedItem]:
    """Yield the items of an answer, each at its first hit.

    Args:
        hits: the answer, best first.
        gold: ids of the items that hold the evidence; a hit must support these to count.
        texts: item id to the item's text.
    """
    seen: set[str] = set()
    spent = 0
    for hit in hits:
        spent += hit.tokens
        for item_id in hit.ids:
            if item_id in seen or (item_id in gold and not supports(hit.text, texts[item_id])):
                continue
            seen.add(item_id)
            yield RankedItem(item_id, spent)


def hits_for_passages(hits: Sequence[Hit], passages: Mapping[str, Passage]) -> list[Hit]:
    """Return an answer as hits for the passages that its texts hold.

    A text that holds none stands for an item of its own, so that it takes a rank.

    Args:
        hits: the answer, best first.
        passages: by the id that stands for each.
    """
    return [
        Hit(
            tuple(id for id, passage in passages.items() if _tells(hit, passage))
            or (f"text {number}",),
            hit.text,
            hit.tokens,
        )
        for number, hit in enumerate(hits)
    ]


def _tells(hit: Hit, passage: Passage) -> bool:
    return passage.item_id in hit.ids and passage.is_in(hit.text)


def gold_ranks(
    hits: Sequence[Hit], gold: Sequence[str], texts: Mapping[str, str]
) -> dict[str, int | None]:
    """Return the rank of each gold item, 1 is best; None if it did not come back."""
    order = [item.item_id for item in ranked_items(hits, gold, texts)]
    rank = {item_id: number for number, item_id in enumerate(order, start=1)}
    return {item_id: rank.get(item_id) for item_id in gold}


def columns(budgets: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the figures, in the order of a table."""
    return (
        *(f"R@{k}" for k in RANKS),
        *(f"R@{budget}t" for budget in budgets),
        *(f"All@{budget}t" for budget in budgets),
        "MRR",
        f"nDCG@{GAIN_RANKS}",
    )


def hit_columns() -> tuple[str, ...]:
    """Return the names of the figures that other projects publish, in the order of a table."""
    return (
        *(f"hit@{k}" for k in RANKS),
        *(f"session R@{k}" for k in SESSION_RANKS),
        *(f"session hit@{k}" for k in SESSION_RANKS),
    )


def session_order(
    hits: Sequence[Hit],
    gold: Collection[str],
    texts: Mapping[str, str],
    sessions: Mapping[str, str],
) -> list[str]:
    """Return the sessions of an answer, each at the first hit for one of its items.

    Args:
        hits: the answer, best first.
        gold: the sessions that hold the evidence; a hit must support an item of theirs to count.
        texts: item id to the item's text.
        sessions: item id to the item's session, for those that have one.
    """
    checked = {item_id for item_id, session in sessions.items() if session in gold}
    order = (sessions.get(item.item_id) for item in ranked_items(hits, checked, texts))
    return list(dict.fromkeys(session for session in order if session is not None))


def session_figures(order: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Return the figures of one question by session.

    `session R@k` is the share of the gold sessions among the first k sessions, and `session hit@k`
    whether one of them is.

    Args:
        order: sessions of the answer, best first.
        gold: sessions that hold the evidence; if there are none, there are no figures.
    """
    if not gold:
        return {}
    found = {k: len(set(gold) & set(order[:k])) / len(set(gold)) for k in SESSION_RANKS}
    return {f"session R@{k}": share for k, share in found.items()} | {
        f"session hit@{k}": float(share > 0) for k, share in found.items()
    }


def figures(
    answers: Mapping[int, Sequence[Hit]], gold: Sequence[str], texts: Mapping[str, str]
) -> dict[str, float]:
    """Return all figures of one question by item; none if it has no gold items.

    `R@k` is the share of the gold items among the first k items, `hit@k` whether one of them is;
    `R@Bt` is the share inside B tokens, `All@Bt` whether all are; `MRR` is 1 / the rank of the
    first, and `nDCG@10` weighs each by 1 / log2(rank + 1) against the best order possible. The
    ranks are those of the answer to the largest budget.

    Args:
        answers: token budget to the answer given for it.
        gold: ids of the items that hold the evidence.
        texts: item id to the item's text.
    """
    wanted = frozenset(gold)
    if not wanted:
        return {}
    order = [item.item_id for item in ranked_items(answers[max(answers)], wanted, texts)]
    ranks = [rank for rank, item_id in enumerate(order, start=1) if item_id in wanted]
    values = {f"R@{k}": sum(rank <= k for rank in ranks) / len(wanted) for k in RANKS}
    values |= {f"hit@{k}": float(any(rank <= k for rank in ranks)) for k in RANKS}
    for budget, hits in answers.items():
        inside = {
            item.item_id
            for item in ranked_items(hits, wanted, texts)
            if item.spent <= budget and item.item_id in wanted
        }
        values[f"R@{budget}t"] = len(inside) / len(wanted)
        values[f"All@{budget}t"] = float(inside == wanted)
    values["MRR"] = 1 / ranks[0] if ranks else 0.0
    ideal = range(1, min(GAIN_RANKS, len(wanted)) + 1)
    values[f"nDCG@{GAIN_RANKS}"] = _gain(r for r in ranks if r <= GAIN_RANKS) / _gain(ideal)
    return values


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / math.log2(rank + 1) for rank in ranks)
