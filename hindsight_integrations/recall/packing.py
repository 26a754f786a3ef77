"""Fit the ranked memories into the token budget, as rendered text, with source chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
"""Share of a memory's text that an observation must quote to replace it. With a half, some
questions asked for the other half; with nine tenths, few observations replaced anything."""

HEAD = 200
"""Best memories whose observations are looked up: later ones seldom fit a budget."""

SUBSTITUTION_HEAD = 20
"""Number of best memories of which an observation must quote two: for one fact it says too much."""

LEFT_OUT = 20
"""Most memories reported that did not fit the budget."""

MAX_CONSECUTIVE_MISSES = 20
"""Memories in a row that do not fit, after which the budget counts as spent."""

READ_AHEAD = 64
"""Memories read from the graph per batch, after the first batch has not filled the budget."""

CHARACTERS_EXPECTED = 4
"""Expected characters per token, to estimate how many memories fill the budget: fewer than prose
has, so that the first batch is mostly enough."""

CHARACTERS_A_TOKEN = 12
"""Characters per token above which a line is too long without counting its tokens: no prose has as
many on average."""


UNVERIFIED = "(not verified)"
"""Precedes what comes from a source of low trust."""


# Text


def memory_line(memory: Memory) -> str:
    """Render a memory as a list item, with its speaker or else its context before the text."""
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
    """Estimate how many memories of the order are read until the token budget is spent.

    Args:
        pool: the memories ranked.
        order: positions in the pool, best first.
        max_tokens: budget of the whole text, in tokens.
    """
    characters_left = max_tokens * CHARACTERS_EXPECTED
    for index, position in enumerate(order):
        characters_left -= len(pool.memories[position].text)
        if characters_left < 0:
            return index + 1 + MAX_CONSECUTIVE_MISSES
    return len(order)


def batches(order: Sequence[int], first: int) -> Iterator[Sequence[int]]:
    """Yield the positions to read at once: the `first` ones, then `READ_AHEAD` each time."""
    yield order[:first]
    for start in range(first, len(order), READ_AHEAD):
        yield order[start : start + READ_AHEAD]


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
    """Replace facts by the observation that quotes them, or drop the observation.

    An observation is never shown beside a fact that it quotes nearly in full (`MIN_QUOTED_SHARE`),
    unless one of them is pinned: pinned memories stay. It replaces its facts, at the position of
    the best, if several of them are among the `SUBSTITUTION_HEAD` best and it takes fewer tokens
    than they do. Otherwise it is dropped, as the facts say the same and more; so is one that
    consists of quotes, if its sources are all among the `HEAD` best. A fact that it quotes only in
    part stays: the rest of it may be what the question asks for.

    Args:
        pool: the memories ranked.
        order: positions in the pool, best first.
        read: returns the memories at positions of the pool.
        count: returns the tokens of a text.
        prefetch: number of the best memories to read together with the observations, as they are
            shown later.
        prefer: let observations replace facts even if they take more tokens.

    Returns:
        Positions in the pool, best first.
    """
    positions = {(pool.memories[p].bank_id, pool.memories[p].id): p for p in order}
    replaced_by: dict[int, int] = {}
    left_out: set[int] = set()
    best = frozenset(order[:SUBSTITUTION_HEAD])
    head = frozenset((pool.memories[p].bank_id, pool.memories[p].id) for p in order[:HEAD])
    derived = [p for p in order if pool.memories[p].type is MemoryType.OBSERVATION]
    # One round trip to the store, for the observations and the memories shown later.
    observations = read([*derived, *order[:prefetch]]) if derived else {}
    for observation_position in (position for position in derived if position in observations):
        observation = observations[observation_position]
        bank_id = pool.memories[observation_position].bank_id
        cited = {(bank_id, s.memory_id) for s in observation.sources if s.memory_id}
        if head.isdisjoint(cited):
            continue
        quotes = _quotes_shown(observation)
        quoted = [
            positions[bank_id, fact_id]
            for fact_id, quote in quotes
            if (bank_id, fact_id) in positions
            and len(quote)
            >= MIN_QUOTED_SHARE * len(pool.memories[positions[bank_id, fact_id]].text)
        ]
        facts = [position for position in quoted if position not in replaced_by]
        replaces_several = len(best.intersection(facts)) > 1
        facts_read = read(facts) if replaces_several else {}
        any_pinned = any(memory.pinned for memory in facts_read.values())
        substitutable = replaces_several and not any_pinned
        if substitutable and (prefer or _takes_fewer_tokens(observation, facts_read, count)):
            replaced_by |= dict.fromkeys(facts, observation_position)
        elif (facts or (cited <= head and _consists_of(quotes, observation))) and (
            not observation.pinned
        ):
            left_out.add(observation_position)
    left_out -= set(replaced_by.values())
    substituted = (
        replaced_by.get(position, position) for position in order if position not in left_out
    )
    return list(dict.fromkeys(substituted))


def _takes_fewer_tokens(
    observation: Memory, facts: Mapping[int, Memory], count: Callable[[str], int]
) -> bool:
    """Return True if an observation takes fewer tokens than the facts it would replace."""
    return _tokens([observation], count) < _tokens(facts.values(), count)


def _consists_of(quotes: Sequence[tuple[str, str]], observation: Memory) -> bool:
    """Return True if quotes are at least half of an observation; a model says it in its own words.

    Those are kept: they may put together what no memory says.
    """
    return 2 * sum(len(quote) for _, quote in quotes) >= len(observation.text)


def _quotes_shown(observation: Memory) -> list[tuple[str, str]]:
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

    A memory that does not fit is skipped, and shorter ones after it may still fit. If none fits,
    the best is truncated to the budget.

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
    tokens_left = max_tokens
    for index, memory in enumerate(ranked):
        if taken and index - taken[-1][0] > MAX_CONSECUTIVE_MISSES:
            break
        line = memory_line(memory)
        lines.append(line)
        too_long = len(line) > tokens_left * CHARACTERS_A_TOKEN
        cost = tokens_left + 1 if too_long else shown.cost(memory.mentioned_at, line)
        if cost > tokens_left:
            left_out.append(index)
            continue
        tokens_left -= cost
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
    skipped = tuple(index for index in left_out[: LEFT_OUT + 1] if index)
    return Packed(((0, count(text)),), skipped, tuple(lines), text, count(text), truncated=True)


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
    return fitting_chunks(chunks, max_tokens, tokenizer.count)


def fitting_chunks(
    chunks: Sequence[Chunk], max_tokens: int, count: Callable[[str], int]
) -> tuple[Chunk, ...]:
    """Return the chunks that fit `max_tokens` together, in order, each once."""
    chosen: dict[str, Chunk] = {}
    tokens = 0
    for chunk in chunks:
        cost = line_cost(chunk.text, count)
        if chunk.id not in chosen and tokens + cost <= max_tokens:
            chosen[chunk.id] = chunk
            tokens += cost
    return tuple(chosen.values())
