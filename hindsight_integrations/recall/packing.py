"""Fit the ranked memories into the token budget, as rendered text, with source chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hindsight_integrations.models import Chunk, Memory, MemoryType
from hindsight_integrations.nlp.tokens import Tokenizer, line_cost
from hindsight_integrations.recall.dated_lines import DatedLines
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.results import Recalled
from hindsight_integrations.stores.base import (
    CHUNK,
    GraphStore,
)

MIN_QUOTED_SHARE = 0.7
"""Part of a memory's text that an observation must quote to stand for it. Of half, the other half
was what some questions asked for; of nine tenths, few observations stood for anything."""

HEAD = 200
"""Best memories whose observations are looked up: later ones seldom fit a budget."""

SUBSTITUTION_HEAD = 20
"""Best memories of which an observation must quote two: for one fact it says too much."""

LEFT_OUT = 20
"""Most memories reported of those that the budget left out."""

MAX_CONSECUTIVE_MISSES = 20
"""Memories in a row that do not fit, after which the budget counts as spent."""

READ_AHEAD = 64
"""Memories read from the graph at a time, once those that were to fill the budget did not."""

CHARACTERS_EXPECTED = 4
"""Characters a token that fill the budget, expected: fewer than prose has, so that one read of the
graph is enough more often than not."""

CHARACTERS_A_TOKEN = 12
"""Characters a token above which a line need not be counted: no prose has as many on average."""


UNVERIFIED = "(not verified)"
"""Precedes what comes from a source of low trust."""


# Text


def memory_line(memory: Memory) -> str:
    """Return the text as an item, after its speaker or the context it stands in."""
    lead = memory.speaker or memory.context
    line = as_item(f"{as_line(lead)}: {memory.text}" if lead else memory.text)
    return line if memory.is_trusted else f"{UNVERIFIED} {line}"


def _tokens(memories: Iterable[Memory], count: Callable[[str], int]) -> int:
    """Return the tokens of memories rendered as one text."""
    lines = DatedLines(count)
    for memory in memories:
        lines.add(memory.mentioned_at, memory_line(memory))
    return count(lines.text())


def expected_to_fit(pool: Pool, order: Sequence[int], max_tokens: int) -> int:
    """Return how many memories of the order are looked at, about, until the budget is spent.

    Args:
        pool: the memories ranked.
        order: positions in the pool, best first.
        max_tokens: budget of the whole text, in tokens.
    """
    left = max_tokens * CHARACTERS_EXPECTED
    for place, position in enumerate(order):
        left -= len(pool.memories[position].text)
        if left < 0:
            return place + 1 + MAX_CONSECUTIVE_MISSES
    return len(order)


# Observation substitution


def substitute_observations(
    pool: Pool,
    order: Sequence[int],
    read: Callable[[Sequence[int]], Mapping[int, Memory]],
    count: Callable[[str], int],
    prefetch: int = 0,
    *,
    prefer: bool = False,
) -> list[int]:
    """Put an observation in the place of the facts it quotes, or leave it out for them.

    Never does an observation stand beside a fact that it quotes in full, unless one is pinned:
    a pinned memory stays as it is. It stands for its facts
    where several of them would be shown anyway, and takes the place of the best of them, if it
    takes fewer tokens than they do. Where it does not, the facts say the same and more. A fact of
    which it shows less than that stays, so that nothing is lost that the question may be about.

    Args:
        pool: the memories ranked.
        order: positions in the pool, best first.
        read: returns the memories at positions of the pool.
        count: returns the tokens of a text.
        prefetch: number of the best that will be shown: where there are observations these are read
            with them.
        prefer: let observations stand for facts whatever tokens they take.

    Returns:
        Positions in the pool, best first.
    """
    positions = {(pool.memories[p].bank_id, pool.memories[p].id): p for p in order}
    replaced_by: dict[int, int] = {}
    left_out: set[int] = set()
    best = frozenset(order[:SUBSTITUTION_HEAD])
    head = frozenset((pool.memories[p].bank_id, pool.memories[p].id) for p in order[:HEAD])
    derived = [p for p in order if pool.memories[p].type is MemoryType.OBSERVATION]
    # Those that may be called for, with what will be shown: one round trip for all.
    observations = read([*derived, *order[:prefetch]]) if derived else {}
    for place in (position for position in derived if position in observations):
        observation = observations[place]
        bank_id = pool.memories[place].bank_id
        if head.isdisjoint((bank_id, source.memory_id) for source in observation.sources):
            continue
        shown = [
            positions[bank_id, fact_id]
            for fact_id, quote in _shown(observation)
            if (bank_id, fact_id) in positions
            and len(quote)
            >= MIN_QUOTED_SHARE * len(pool.memories[positions[bank_id, fact_id]].text)
        ]
        facts = [position for position in shown if position not in replaced_by]
        called_for = len(best.intersection(facts)) > 1
        stored = read(facts) if called_for else {}
        kept = any(memory.pinned for memory in stored.values())
        if called_for and not kept and (prefer or _saves(observation, stored, count)):
            replaced_by |= dict.fromkeys(facts, place)
        elif facts and not observation.pinned:
            left_out.add(place)
    left_out -= set(replaced_by.values())
    placed = (replaced_by.get(position, position) for position in order if position not in left_out)
    return list(dict.fromkeys(placed))


def _saves(observation: Memory, facts: Mapping[int, Memory], count: Callable[[str], int]) -> bool:
    """Return True if an observation takes fewer tokens than the facts it stands for."""
    return _tokens([observation], count) < _tokens(facts.values(), count)


def _shown(observation: Memory) -> list[tuple[str, str]]:
    """Return the ids of the memories quoted in an observation's text, each with the quote."""
    if observation.type is not MemoryType.OBSERVATION:
        return []
    return [
        (source.memory_id, source.quote)
        for source in observation.sources
        if source.memory_id and source.quote and source.quote in observation.text
    ]


# The token budget


@dataclass(frozen=True, slots=True)
class Packed:
    """The memories that fit.

    Attributes:
        taken: index in the ranking of each memory that fits, and the tokens it takes.
        left_out: indices of the first few that were too long for the tokens left.
        lines: of each memory read, by its index.
        text: the memories taken, rendered.
        tokens: of that text.
        truncated: not even the best memory fitted; `text` is its beginning.
    """

    taken: tuple[tuple[int, int], ...]
    left_out: tuple[int, ...]
    lines: tuple[str, ...]
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
        count: returns the tokens of a text.
        truncate: cuts a text to so many tokens.
    """
    taken: list[tuple[int, int]] = []
    left_out: list[int] = []
    lines: list[str] = []
    shown = DatedLines(count)
    left = max_tokens
    for index, memory in enumerate(ranked):
        if taken and index - taken[-1][0] > MAX_CONSECUTIVE_MISSES:
            break
        line = memory_line(memory)
        lines.append(line)
        too_long = len(line) > left * CHARACTERS_A_TOKEN
        cost = left + 1 if too_long else shown.cost(memory.mentioned_at, line)
        if cost > left:
            left_out.append(index)
            continue
        left -= cost
        taken.append((index, cost))
        shown.add(memory.mentioned_at, line)
    # Joining lines can merge or split tokens: the text itself is what must fit.
    text = shown.text()
    while taken and (tokens := count(text)) > max_tokens:
        left_out.insert(0, taken.pop()[0])
        shown.drop_last()
        text = shown.text()
    if taken:
        return Packed(tuple(taken), tuple(left_out[:LEFT_OUT]), tuple(lines), text, tokens)
    if not lines:
        return Packed((), (), (), "", 0)
    text = truncate(lines[0], max_tokens)
    rest = tuple(index for index in left_out[: LEFT_OUT + 1] if index)
    return Packed(((0, count(text)),), rest, tuple(lines), text, count(text), truncated=True)


# Source chunks


def source_chunks(
    graph: GraphStore, memories: Sequence[Recalled], max_tokens: int, tokenizer: Tokenizer
) -> tuple[Chunk, ...]:
    """Return the chunks that the memories come from, in their order, within `max_tokens`."""
    if not max_tokens:
        return ()
    chunks: list[Chunk] = []
    for bank_id, group in groupby(memories, key=lambda item: item.memory.bank_id):
        ids = [s.chunk_id for item in group for s in item.memory.sources[:1] if s.chunk_id]
        stored = graph.read(bank_id, CHUNK, ids)
        chunks += [stored[chunk_id] for chunk_id in ids if chunk_id in stored]
    return fill(chunks, max_tokens, tokenizer.count)


def fill(
    chunks: Sequence[Chunk], max_tokens: int, count: Callable[[str], int]
) -> tuple[Chunk, ...]:
    """Return the chunks that fit `max_tokens` together, in order, each once."""
    taken: dict[str, Chunk] = {}
    spent = 0
    for chunk in chunks:
        cost = line_cost(chunk.text, count)
        if chunk.id not in taken and spent + cost <= max_tokens:
            taken[chunk.id] = chunk
            spent += cost
    return tuple(taken.values())
