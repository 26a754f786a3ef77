"""Filling a token budget with rendered memories, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hindsight_integrations.model import Chunk, Memory
from hindsight_integrations.recall import render

LINE_BREAK = 1
"""Tokens that joining two lines may add."""

LEFT_OUT = 20
"""Memories reported at most of those that the budget left out."""

MISSES = 20
"""Memories in a row that do not fit before the budget counts as spent."""

CHARACTERS_A_TOKEN = 12
"""More than this a token of any prose has on average: a longer line need not be counted."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What fits.

    Attributes:
        taken: places in the ranking of the memories that fit, and what each takes of the budget.
        left_out: places of those that were too long for what was left, the first few.
        text: the memories taken, rendered.
        tokens: of that text.
        truncated: not even the best memory fitted; `text` is its beginning.
    """

    taken: tuple[tuple[int, int], ...]
    left_out: tuple[int, ...]
    text: str
    tokens: int
    truncated: bool = False


def pack(
    ranked: Iterable[Memory],
    max_tokens: int,
    count: Callable[[str], int],
    truncate: Callable[[str, int], str],
) -> Packed:
    """Take memories in order while the rendered text stays within `max_tokens`.

    One that does not fit is skipped, not a stop. If none fits, the best is cut to the budget.

    Args:
        ranked: memories, best first; read no further than the budget reaches.
        max_tokens: budget of the whole text, in tokens.
        count: tokens of a text.
        truncate: a text cut to so many tokens.
    """
    taken: list[tuple[int, int, Memory]] = []
    left_out: list[int] = []
    headers: set[str] = set()
    spent = 0
    best: Memory | None = None
    for place, memory in enumerate(ranked):
        best = best or memory
        if taken and place - taken[-1][0] > MISSES:
            break
        left = max_tokens - spent
        cost = _cost(memory, left, headers, count)
        if cost > left:
            left_out.append(place)
            continue
        spent += cost
        headers.add(render.header(memory))
        taken.append((place, cost, memory))
    # Joining lines can merge or split tokens: the text itself is what must fit.
    text = render.render(memory for *_, memory in taken)
    while taken and (tokens := count(text)) > max_tokens:
        left_out.insert(0, taken.pop()[0])
        text = render.render(memory for *_, memory in taken)
    if taken:
        places = tuple((place, cost) for place, cost, _ in taken)
        return Packed(places, tuple(left_out[:LEFT_OUT]), text, tokens)
    if best is None:
        return Packed((), (), "", 0)
    text = truncate(render.line(best), max_tokens)
    rest = tuple(place for place in left_out[: LEFT_OUT + 1] if place)
    return Packed(((0, count(text)),), rest, text, count(text), truncated=True)


def _cost(memory: Memory, left: int, headers: set[str], count: Callable[[str], int]) -> int:
    """Tokens the memory takes, with its header if it opens one; or a number beyond `left`."""
    line = render.line(memory)
    if len(line) > left * CHARACTERS_A_TOKEN:
        return left + 1
    cost = count(line) + LINE_BREAK
    head = render.header(memory)
    return cost if head in headers else cost + count(head) + LINE_BREAK


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
