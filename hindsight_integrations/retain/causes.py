"""Which statement of a passage led to which, by the words that open one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_IT_FOLLOWS = re.compile(
    r"""
    (?: therefore | thus | hence | consequently | accordingly
      | as \s a \s (?:result|consequence) | for \s (?:that|this) \s reason | in \s consequence
      | (?:that(?:['’]s|\s is|\s was) | this \s (?:is|was) | which \s is) \s why
      | (?:because|as \s a \s result) \s of \s (?:that|this|it) | due \s to \s (?:that|this)
      | (?:this|that|it|which) \s (?:has \s)? (?:led|caused|resulted|prompted|made|meant)
      | so ,? \s (?:i|we|he|she|it|they|you|the|my|our|his|her|their|now|then)
      | deshalb | deswegen | daher | darum | folglich
      | por \s eso | por \s lo \s tanto | así \s que
      | donc | c['’]est \s pourquoi | par \s conséquent ) \b
    | 因此 | 所以 | だから | したがって | 그래서
    """,
    re.VERBOSE | re.IGNORECASE,
)
_IT_EXPLAINS = re.compile(
    r"""
    (?: because (?!\s of \s (?:that|this|it)\b)
      | (?:that(?:['’]s|\s is|\s was) | this \s (?:is|was)) \s because
      | the \s reason (?:\s (?:is|was|being)) | it (?:['’]s|\s was|\s is) \s because
      | denn | weil | der \s grund | porque | car | parce \s que ) \b
    | 因为 | なぜなら | 왜냐하면
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LEAD = re.compile(r"[\s\W]*(?:and|but|well|und|y|et)?,?\s*", re.IGNORECASE)


def causes(statements: Sequence[str]) -> list[tuple[int, ...]]:
    """For each of successive statements, the positions of those that led to it.

    Only neighbours are linked: "So we moved." follows from what was said before it, "Because the
    rent rose." explains it. A question follows from nothing.
    """
    found: list[set[int]] = [set() for _ in statements]
    for index, text in enumerate(statements[1:], start=1):
        lead = _LEAD.match(text)
        start = lead.end() if lead else 0
        if _IT_FOLLOWS.match(text, start) and not text.rstrip().endswith(("?", "？")):
            found[index].add(index - 1)
        elif _IT_EXPLAINS.match(text, start):
            found[index - 1].add(index)
    return [tuple(sorted(positions)) for positions in found]
