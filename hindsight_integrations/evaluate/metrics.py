"""Retrieval figures: did the evidence come back, how high up, and inside the token budget?

Every figure lies between 0 and 1. Which items a hit stands for is taken from its ids; that its
text really holds the item is checked, so that a summary of a summary earns nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

RANKS = (5, 10, 20)
"""The k of recall@k."""

GAIN_RANKS = 10
"""The k of nDCG@k."""

SUPPORT = 0.5
"""Share of an item's distinct words that a hit's text must hold to count for it."""

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of an answer.

    Attributes:
        ids: the items it stands for.
        text: what a reader gets to see.
        tokens: what that takes of the budget, line break included.
    """

    ids: tuple[str, ...]
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Place:
    """An item in the order of an answer, and the tokens spent up to the end of its hit."""

    item_id: str
    spent: int


def supports(text: str, item_text: str) -> bool:
    """Whether `text` holds at least `SUPPORT` of the distinct words of `item_text`.

    Words are runs of a-z and 0-9 in lower case; an item that has none is supported by any text.
    """
    words = set(_WORD.findall(item_text.lower()))
    return len(words & set(_WORD.findall(text.lower()))) >= SUPPORT * len(words)


def places(hits: Sequence[Hit], gold: Collection[str], texts: Mapping[str, str]) -> Iterator[Place]:
    """The items of an answer, each at its first hit.

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
            yield Place(item_id, spent)


def gold_ranks(
    hits: Sequence[Hit], gold: Sequence[str], texts: Mapping[str, str]
) -> dict[str, int | None]:
    """The rank at which each gold item came back, 1 is best; None if it did not."""
    order = [place.item_id for place in places(hits, gold, texts)]
    rank = {item_id: number for number, item_id in enumerate(order, start=1)}
    return {item_id: rank.get(item_id) for item_id in gold}


def columns(budgets: Sequence[int]) -> tuple[str, ...]:
    """Names of the figures, in the order of a table."""
    return (
        *(f"R@{k}" for k in RANKS),
        *(f"R@{budget}t" for budget in budgets),
        *(f"All@{budget}t" for budget in budgets),
        "MRR",
        f"nDCG@{GAIN_RANKS}",
    )


def figures(
    answers: Mapping[int, Sequence[Hit]], gold: Sequence[str], texts: Mapping[str, str]
) -> dict[str, float]:
    """All figures of one question.

    `R@k` is the share of the gold items among the first k items, `R@Bt` the share inside B
    tokens, `All@Bt` whether all are; `MRR` is 1 / the rank of the first, and `nDCG@10` weighs
    each by 1 / log2(rank + 1) against the best order possible. The ranks are those of the answer
    to the largest budget.

    Args:
        answers: token budget to the answer given for it.
        gold: ids of the items that hold the evidence, at least one.
        texts: item id to the item's text.
    """
    wanted = frozenset(gold)
    order = [place.item_id for place in places(answers[max(answers)], wanted, texts)]
    ranks = [rank for rank, item_id in enumerate(order, start=1) if item_id in wanted]
    found = {f"R@{k}": sum(rank <= k for rank in ranks) / len(wanted) for k in RANKS}
    for budget, hits in answers.items():
        inside = {
            place.item_id
            for place in places(hits, wanted, texts)
            if place.spent <= budget and place.item_id in wanted
        }
        found[f"R@{budget}t"] = len(inside) / len(wanted)
        found[f"All@{budget}t"] = float(inside == wanted)
    found["MRR"] = 1 / ranks[0] if ranks else 0.0
    ideal = range(1, min(GAIN_RANKS, len(wanted)) + 1)
    found[f"nDCG@{GAIN_RANKS}"] = _gain(r for r in ranks if r <= GAIN_RANKS) / _gain(ideal)
    return found


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / math.log2(rank + 1) for rank in ranks)
