"""What changed in a bank since a time, and news of what is concluded."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import BankNotFoundError, Fact, Hindsight, InvalidInputError, Passage


def test_changes_list_what_is_new_different_and_gone_since_the_last_look(
    memory: Hindsight,
) -> None:
    (boats,) = memory.retain("b", "Ada sails to Porto.").stored
    (bees,) = memory.retain("b", "Ben keeps bees in Braga.").stored
    first = memory.changes("b", datetime(2020, 1, 1, tzinfo=UTC))
    assert {m.id for m in first.memories} == {boats.id, bees.id}
    assert {e.name for e in first.entities} >= {"Ada", "Porto", "Ben", "Braga"}
    second = memory.changes("b", first.until)
    assert not second
    memory.memories.invalidate("b", boats.id)
    memory.forget("b", bees.id)
    memory.retain("b", "Carla loves React.", timestamp=datetime(2025, 1, 6))
    memory.retain("b", "Carla switched to Vue and won't go back.", timestamp=datetime(2025, 3, 9))
    memory.consolidate("b")
    memory.entities.alias("b", "Porto", "Oporto")
    third = memory.changes("b", second.until)
    assert {m.text[:3] for m in third.memories} == {"Ada", "Car"}
    assert [m.type for m in third.observations] == ["observation"]
    assert third.deleted == (bees.id,)
    assert {e.name for e in third.entities} >= {"Carla", "Porto"}
    assert third.since == second.until
    assert "1 deleted" in repr(third)
    for since in (None, "yesterday", 3):
        with pytest.raises(InvalidInputError, match="since"):
            memory.changes("b", since)  # type: ignore[arg-type]
    with pytest.raises(BankNotFoundError):
        memory.changes("none", third.until)


def test_what_was_begun_before_a_look_and_stored_after_it_is_not_missed() -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def slow(passage: Passage) -> list[Fact]:
        waiting.set()
        assert go_on.wait(60)
        return [Fact(passage.text)]

    with Hindsight.in_memory(extractor=slow) as memory, ThreadPoolExecutor() as threads:
        memory.banks.create("b")
        retained = threads.submit(memory.retain, "b", "Ada sails to Porto.")
        assert waiting.wait(60)
        first = memory.changes("b", datetime(2020, 1, 1))
        go_on.set()
        ids = retained.result(60).ids
        assert not first
        assert tuple(m.id for m in memory.changes("b", first.until).memories) == ids


async def test_news_come_once_and_again_when_a_conclusion_changes(memory: Hindsight) -> None:
    def tell(text: str, day: int) -> None:
        memory.retain("b", text, timestamp=datetime(2025, 3, day))
        memory.consolidate("b")

    tell("Carla loves React.", 1)
    news = memory.changes.news("b", interval=0.01)
    waiting = asyncio.ensure_future(anext(news))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await asyncio.to_thread(tell, "Carla switched to Vue and won't go back.", 9)
    drawn = await asyncio.wait_for(waiting, 60)
    assert "first React, then Vue" in drawn.text
    again = asyncio.ensure_future(anext(news))
    await asyncio.sleep(0.05)
    assert not again.done()  # the same is told once
    first = memory.memories.list("b", text="loves React", types=["world"]).items[0]
    await asyncio.to_thread(memory.memories.update, "b", first.id, text="Carla met Ben.")
    rewritten = await asyncio.wait_for(again, 60)
    assert rewritten.id == drawn.id
    assert "React" not in rewritten.text
    await news.aclose()
    late = memory.changes.news("b", since=datetime.now(UTC) - timedelta(days=1), interval=0.01)
    assert (await anext(late)).id == drawn.id
    await asyncio.to_thread(memory.banks.delete, "b")
    with pytest.raises(BankNotFoundError):
        await asyncio.wait_for(anext(late), 60)


def test_a_correction_that_changes_nothing_is_no_change(memory: Hindsight) -> None:
    (made,) = memory.retain("b", "Ada sails to Porto.", tags=["sea"]).stored
    since = memory.changes("b", datetime(2020, 1, 1, tzinfo=UTC)).until
    assert memory.memories.update("b", made.id, tags=["sea"], text=made.text) == made
    assert memory.memories.restore("b", made.id) == made
    assert memory.memories.history("b", made.id) == []
    assert not memory.changes("b", since)
    with pytest.raises(InvalidInputError, match="speaker is 0; give text"):
        memory.memories.update("b", made.id, speaker=0)  # type: ignore[arg-type]
    memory.memories.update("b", made.id, speaker="Ada")
    assert memory.memories.update("b", made.id, speaker="").speaker is None
