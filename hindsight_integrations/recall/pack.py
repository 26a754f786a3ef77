"""Filling a token budget with rendered memories, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.model import Chunk
from hindsight_integrations.recall import render
from hindsight_integrations.results import Recalled

LINE_BREAK = 1
"""Tokens that joining two lines may add."""

LEFT_OUT = 20
"""Memories reported at most of those that the budget left out."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What fits: memories in order, their text, its tokens, and what was left out."""

    memories: tuple[Recalled, ...]
    text: str
    tokens: int
    truncated: bool
    left_out: tuple[Recalled, ...]


def pack(
    ranked: Iterable[Recalled],
    max_tokens: int,
    count: Callable[[str], int],
    truncate: Callable[[str, int], str],
) -> Packed:
    """Take memories in order while the rendered text stays within `max_tokens`.

    One that does not fit is skipped, not a stop. If none fits, the best is cut to the budget.

    Args:
        ranked: memories, best first.
        max_tokens: budget of the whole text, in tokens.
        count: tokens of a text.
        truncate: a text cut to so many tokens.
    """
    taken: list[Recalled] = []
    left_out: list[Recalled] = []
    headers: set[str] = set()
    spent = 0
    first: Recalled | None = None
    for item in ranked:
        first = first or item
        head = render.header(item.memory)
        cost = count(item.text) + LINE_BREAK
        if head not in headers:
            cost += count(head) + LINE_BREAK
        if spent + cost > max_tokens:
            if len(left_out) < LEFT_OUT:
                left_out.append(item)
            continue
        spent += cost
        headers.add(head)
        taken.append(replace(item, tokens=cost))
    # Joining lines can merge or split tokens: the text itself is what must fit.
    text = render.render(item.memory for item in taken)
    while taken and (tokens := count(text)) > max_tokens:
        left_out.insert(0, taken.pop())
        text = render.render(item.memory for item in taken)
    if taken:
        return Packed(tuple(taken), text, tokens, False, tuple(left_out))
    if first is None:
        return Packed((), "", 0, False, ())
    text = truncate(first.text, max_tokens)
    cut = replace(first, text=text, tokens=count(text))
    rest = tuple(item for item in left_out if item.memory.id != first.memory.id)
    return Packed((cut,), text, cut.tokens, True, rest)


def fill(
    chunks: Sequence[Chunk], max_tokens: int, count: Callable[[str], int]
) -> tuple[Chunk, ...]:
    """The chunks that fit `max_tokens` together, in order, each once."""
    taken: dict[str, Chunk] = {}
    spent = 0
    for chunk in chunks:
        cost = count(chunk.text) + LINE_BREAK
        if chunk.id not in taken and spent + cost <= max_tokens:
            taken[chunk.id] = chunk
            spent += cost
    return tuple(taken.values())
