"""A text of thousands of names: what it costs grows with the text, and holds nobody up."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from itertools import product

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.models import Bank
from hindsight_integrations.retain import entity_candidates, entity_resolution
from hindsight_integrations.retain.entity_resolution import Resolver
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.stores.base import EmbedderIdentity
from hindsight_integrations.stores.sqlite import SqliteGraph

NOW = datetime(2024, 5, 3, tzinfo=UTC)
SYLLABLES = [a + b for a, b in product("bdfgklmnprst", "aeiou")]


def names(number: int) -> list[str]:
    """Full names that all begin alike, as those of a hostile list do."""
    made = (f"Ma{a}{b} Ro{b}{c}" for a, b, c in product(SYLLABLES, repeat=3))
    return [name.title() for _, name in zip(range(number), made, strict=False)]


def compared(number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Resolve so many new names in one call, and count the comparisons of two names."""
    relate, calls = entity_candidates.relate, 0

    def counting(mention: Mention, entity: object) -> object:
        nonlocal calls
        calls += 1
        return relate(mention, entity)  # type: ignore[arg-type]

    for module in (entity_candidates, entity_resolution):
        monkeypatch.setattr(module, "relate", counting)
    graph = SqliteGraph(None)
    graph.create_bank(Bank("b"), EmbedderIdentity("test", 3))
    facts = [[Mention(name, "person")] for name in names(number)]
    Resolver(graph, "b").resolve(facts, [NOW] * number)
    graph.close()
    monkeypatch.undo()
    return calls


@pytest.mark.slow
def test_comparisons_grow_with_the_names_not_with_their_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = compared(500, monkeypatch), compared(2000, monkeypatch)
    assert many < 6 * few


@pytest.mark.slow
def test_a_short_name_and_a_misspelling_are_found_among_thousands(memory: Hindsight) -> None:
    said = [f"{name} joined the choir." for name in names(600)]
    said.insert(20, "Marianne Rosenqvist joined the choir as its director.")
    said += ["Marianne Rosenqvst sings alto.", "Rosenqvist pays for the hall."]
    for start in range(0, len(said), 150):
        memory.retain("b", "\n\n".join(said[start : start + 150]))
    entity = memory.entities.get("b", "Marianne Rosenqvist")
    assert entity.mention_count >= 2


def test_others_write_the_bank_while_names_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving, may_go_on = threading.Event(), threading.Event()
    resolve = Resolver.resolve
    planned: list[str] = []

    def slow(
        self: Resolver, mentions: object, times: object, texts: list[str], known: object
    ) -> object:
        planned.append(texts[0])
        if "Slow" in texts[0] and not resolving.is_set():
            resolving.set()
            may_go_on.wait(60)
        return resolve(self, mentions, times, texts, known)  # type: ignore[arg-type]

    monkeypatch.setattr(Resolver, "resolve", slow)
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.banks.create("b")
        slowly = threading.Thread(target=memory.retain, args=("b", "Slow Sam met Tina Turner."))
        slowly.start()
        assert resolving.wait(60)
        memory.retain("b", "Tina Turner lives in Brixen.")  # not held up by the other
        may_go_on.set()
        slowly.join(60)
        # What was planned is planned again, since the bank has changed: Tina is one.
        assert [text for text in planned if "Slow" in text] == ["Slow Sam met Tina Turner."] * 2
        assert memory.entities.get("b", "Tina Turner").mention_count == 2
        assert len(memory.memories.list("b").items) == 2
