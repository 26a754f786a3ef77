from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from hindsight_integrations.models import Memory, MemoryType, Source
from hindsight_integrations.recall.packing import substitute_observations
from tests.recall.building import candidate, pool_of

pytestmark = pytest.mark.ranking

FACT = "ten signs!"


def preferred(
    order: Sequence[int],
    quotes: Mapping[int, str],
    *,
    size: int,
    kind: str = "observation",
    prefer: bool = True,
    text: str = "",
) -> list[int]:
    """The order once an observation, last in a pool of facts, quotes these of them."""
    facts = [f"{n:03}" for n in range(size - 1)]
    last = Memory(
        "watch",
        "bank",
        text + "; ".join(quotes.values()),
        type=MemoryType(kind),
        sources=tuple(Source(memory_id=facts[n], quote=quote) for n, quote in quotes.items()),
    )
    pool = pool_of(
        [candidate(id, text=FACT) for id in facts]
        + [candidate("watch", text="Watch")._replace(type=MemoryType(kind))]
    )

    def read(positions: Sequence[int]) -> dict[int, Memory]:
        own = {p: pool.memories[p].id for p in positions}
        at = last.mentioned_at
        return {
            p: last if id == "watch" else Memory(id, "bank", FACT, mentioned_at=at)
            for p, id in own.items()
        }

    return substitute_observations(pool, order, read, len, prefer=prefer)


def test_an_observation_takes_the_place_of_the_best_fact_it_quotes() -> None:
    assert preferred([0, 1, 2, 3], {1: FACT, 2: FACT}, size=4) == [0, 3]


def test_a_fact_of_which_most_is_shown_is_replaced_and_one_of_which_less_is_stays() -> None:
    quotes = {0: "ten sig", 1: "ten signs!", 2: "ten si"}
    assert preferred([0, 1, 2, 3], quotes, size=4) == [3, 2]


def test_for_one_fact_an_observation_says_too_much() -> None:
    assert preferred([0, 1, 2], {0: FACT}, size=3) == [0, 1]
    assert preferred([0, 1, 2], {0: FACT, 1: "ten "}, size=3) == [0, 1]


def test_unless_preferred_an_observation_has_to_take_fewer_tokens_than_its_facts() -> None:
    quotes = {0: "ten sig", 1: "ten sig"}
    assert preferred([0, 1, 2], quotes, size=3, prefer=False) == [2]
    assert preferred([0, 1, 2], quotes, size=3, prefer=False, text="On the signs: ") == [0, 1]
    assert preferred([0, 1, 2], quotes, size=3, text="On the signs: ") == [2]


def test_an_observation_of_memories_that_are_all_shown_adds_nothing() -> None:
    assert preferred([0, 1, 2], {0: "ten ", 1: "ten "}, size=3) == [0, 1]
    order = list(range(230))
    assert preferred(order, {3: "ten ", 199: "ten "}, size=230) == order[:-1]
    assert preferred(order, {3: "ten ", 200: "ten "}, size=230) == order
    own_words = "Someone counted the signs, and found "
    assert preferred([0, 1, 2], {0: "ten ", 1: "ten "}, size=3, text=own_words) == [0, 1, 2]


@pytest.mark.parametrize("prefer", [True, False])
def test_an_observation_never_stands_beside_a_fact_that_it_quotes(*, prefer: bool) -> None:
    for quotes in ({0: FACT}, {0: FACT, 1: FACT}, {0: FACT, 1: FACT, 2: "ten "}):
        shown = preferred([0, 3, 1, 2], quotes, size=4, prefer=prefer)
        quoted = {position for position, quote in quotes.items() if quote == FACT}
        assert 3 not in shown or not quoted & set(shown)


def test_two_of_the_best_twenty_must_be_quoted() -> None:
    order = list(range(25))
    assert preferred(order, {3: FACT, 19: FACT}, size=25)[3:5] == [24, 4]
    assert preferred(order, {3: FACT, 20: FACT}, size=25) == order[:24]
    # Those further down then go too.
    changed = preferred(order, {3: FACT, 4: FACT, 22: FACT}, size=25)
    assert changed == [0, 1, 2, 24, *range(5, 22), 23]


def test_only_the_best_two_hundred_are_asked_for_observations() -> None:
    order = list(range(230))
    assert len(preferred(order, {3: FACT, 4: FACT}, size=230)) == 228


def test_only_observations_stand_for_facts_and_only_those_ranked() -> None:
    assert preferred([0, 1, 2], {0: FACT, 1: FACT}, size=3, kind="opinion") == [0, 1, 2]
    assert preferred([0, 1], {0: FACT, 1: FACT}, size=3) == [0, 1]
