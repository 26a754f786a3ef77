"""Banks spread over several memories: found in their place, and moved without loss."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hindsight_integrations import (
    BankNotFoundError,
    ConflictError,
    Hindsight,
    InvalidInputError,
    Settings,
    StoreError,
    StoreLockedError,
)
from hindsight_integrations import sharding as sharding_module
from hindsight_integrations.namespaces.banks import Banks
from hindsight_integrations.sharding import Shards
from hindsight_integrations.stores.base import MEMORY_ID

QUIET = Settings(consolidate=False)
BANKS = [f"user-{n}" for n in range(9)]


@pytest.fixture
def three() -> Iterator[dict[str, Hindsight]]:
    with ExitStack() as opened:
        yield {
            name: opened.enter_context(Hindsight.in_memory(settings=QUIET))
            for name in ("north", "east", "south")
        }


def everything(memory: Shards) -> dict[str, set[str]]:
    """Return the ids of the memories of each bank, and check that it is in its place alone."""
    held: dict[str, set[str]] = {}
    for name, shard in memory.shards.items():
        for bank in shard.banks.list():
            assert bank.id not in held
            assert memory.place_of(bank.id) == memory.shard_of(bank.id) == name
            held[bank.id] = set(shard.graph_store.scan(bank.id, MEMORY_ID))
    return held


def test_a_shard_that_is_added_takes_its_share_from_all_and_nothing_else_moves(
    memory: Hindsight,
) -> None:
    ids = [f"bank {n}" for n in range(4000)]
    before = Shards(dict.fromkeys(("a", "b", "c"), memory))
    after = Shards(dict.fromkeys(("a", "b", "c", "d"), memory))
    moved = [(before.place_of(id), after.place_of(id)) for id in ids]
    changed = Counter(old for old, new in moved if old != new)
    assert {new for old, new in moved if old != new} == {"d"}
    assert all(290 < changed[name] < 380 for name in "abc")  # 4000/12 each, 3.7 deviations
    assert all(920 < count < 1080 for count in Counter(new for _, new in moved).values())
    emptied = Shards(dict.fromkeys(("a", "b", "c", "d"), memory), leaving=["d"])
    assert [emptied.place_of(id) for id in ids] == [old for old, _ in moved]
    # What a release computes, each other must: banks would not be found where they are.
    assert [after.place_of(id) for id in ids[:12]] == list("caccccbdbdac")


async def test_it_is_one_memory_to_its_callers(three: dict[str, Hindsight], tmp_path: Path) -> None:
    with Shards(three) as memory:
        assert isinstance(memory, Hindsight)
        for number, bank_id in enumerate(BANKS):
            memory.retain(bank_id, f"{bank_id} keeps {number + 2} bees in Porto.")
        assert [bank.id for bank in memory.banks.list()] == BANKS
        assert len({memory.shard_of(bank_id) for bank_id in BANKS}) == 3
        assert set(everything(memory)) == set(BANKS)
        for bank_id in BANKS:
            assert bank_id in memory.recall(bank_id, "Who keeps bees?").text
        found = await memory.arecall(bank_id=["user-3"], query="Who keeps bees?")
        assert "user-3" in found.text
        assert (await memory.banks.astats("user-3")).memories == 1
        assert memory.entities.list("user-3").items
        assert len(memory.health().parts) == 3 * len(three["north"].health().parts)
        assert memory.maintenance.doctor().healthy
        assert memory.wait_idle(5)
        memory.banks.export("user-3", tmp_path / "3.jsonl")
        memory.banks.delete("user-3")
        assert memory.banks.import_(tmp_path / "3.jsonl").bank_id == "user-3"
        assert memory.banks.import_(tmp_path / "3.jsonl", "copy").bank_id == "copy"
        assert {"user-3", "copy"} <= set(everything(memory))
        apart = next(id for id in BANKS if memory.shard_of(id) != memory.shard_of("user-3"))
        with pytest.raises(InvalidInputError, match="query each bank separately"):
            memory.recall(["user-3", apart], "Who keeps bees?")
        with pytest.raises(BankNotFoundError):
            memory.recall("nobody", "Who keeps bees?")
        memory.retain("moving:user-3", "No id stands for a bank on its way.")
        assert memory.shard_of("moving:user-3") in three
        with pytest.raises(InvalidInputError, match="each shard is backed up separately"):
            memory.maintenance.backup(tmp_path / "all.backup")
        with pytest.raises(InvalidInputError, match="memories that are open"):
            Shards.in_memory()
        with pytest.raises(InvalidInputError, match="at least one"):
            Shards(three, leaving=list(three))
        with pytest.raises(TypeError, match="retain"):
            memory.retain("alice")  # type: ignore[call-arg]


@pytest.mark.slow
def test_rebalancing_loses_nothing_while_writers_go_on(three: dict[str, Hindsight]) -> None:
    with Shards(three) as before, Hindsight.in_memory(settings=QUIET) as west:
        for bank_id in BANKS:
            before.retain(bank_id, f"{bank_id} keeps bees in Porto.", document_id="first")
        four = three | {"west": west}
        # As two processes have them: neither knows what the other does.
        mover, other = Shards(four), Shards(four)
        stop = threading.Event()
        acknowledged: dict[str, set[str]] = {bank_id: set() for bank_id in BANKS}
        failures: list[Exception] = []
        again = 0

        def write(memory: Shards, name: str) -> None:
            nonlocal again
            number = 0
            while not stop.is_set():
                number += 1
                for bank_id in BANKS:
                    try:
                        text = f"{name} saw buoy {number} lit at noon."
                        acknowledged[bank_id].update(memory.retain(bank_id, text).ids)
                        if not memory.recall(bank_id, "Who keeps bees?").memories:
                            raise AssertionError(bank_id)
                    except ConflictError:
                        again += 1
                    except Exception as error:  # noqa: BLE001 - asserted below
                        failures.append(error)
                        return

        writers = [
            threading.Thread(target=write, args=(memory, name))
            for memory, name in ((mover, "Ruth"), (mover, "Tom"), (other, "Ana"))
        ]
        for writer in writers:
            writer.start()
        while not all(acknowledged.values()) and not failures:
            stop.wait(0.01)
        progress: list[tuple[int, int | None]] = []
        moved = mover.rebalance(progress=lambda *at: progress.append(at))
        stop.set()
        for writer in writers:
            writer.join()
        assert failures == []
        assert moved
        assert {(each.target, each.error) for each in moved} == {("west", None)}
        assert progress[-1] == (len(moved), len(moved))
        mover.rebalance()  # of what another process wrote at the very moment
        held = everything(mover)
        assert all(acknowledged[bank_id] <= held[bank_id] for bank_id in BANKS)
        assert mover.rebalance() == ()
        assert mover.maintenance.doctor().findings == ()


def test_a_move_that_was_interrupted_is_finished_and_brings_nothing_back(
    three: dict[str, Hindsight], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise StoreError("the disk is full")

    def failing(step: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Banks, step, fail)
            (moved,) = memory.rebalance()
        assert isinstance(moved.error, StoreError)

    memory = Shards({"north": three["north"], "east": three["east"]})
    bank_id = next(id for id in BANKS if memory.place_of(id) == "east")
    for text in ("The kettle is red.", "Ruth mends the radio.", "Tom sails on Sundays."):
        three["north"].retain(bank_id, text)
    kettle, radio, sails = sorted(
        memory.memories.list(bank_id).items, key=lambda each: "kettle" not in each.text
    )
    assert memory.shard_of(bank_id) == "north"
    for step in ("export", "import_"):
        failing(step)
        with monkeypatch.context() as patched:
            patched.setattr(sharding_module, "WAIT_SECONDS", 0.1)
            with pytest.raises(StoreLockedError, match="rebalance"):
                memory.recall(bank_id, "What colour is the kettle?")
    failing("delete")  # it has arrived, and goes on where it is
    memory.forget(bank_id, [kettle.id])
    three["north"].retain(bank_id, "A process that was late wrote this.")
    (done,) = memory.rebalance()
    assert done.error is None
    texts = [each.text for each in memory.memories.list(bank_id).items]
    assert sorted(texts) == sorted([radio.text, sails.text, "A process that was late wrote this."])
    assert [bank.id for bank in three["north"].banks.list()] == []
    memory.close()


KILLED = """
import os, sys
from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.namespaces.banks import Banks
from hindsight_integrations.sharding import Shards

def die(*arguments, **options):
    os.kill(os.getpid(), 9)

names = sys.argv[2:]
quiet = Settings(consolidate=False)
shards = {name: Hindsight(os.path.join(sys.argv[1], name), settings=quiet) for name in names}
Banks.import_ = die
Shards(shards).rebalance()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_killed_move_between_three_folders_is_finished_by_the_next(tmp_path: Path) -> None:
    names = ["north", "east", "south"]

    def opened(names: list[str]) -> Shards:
        return Shards({name: Hindsight(tmp_path / name, settings=QUIET) for name in names})

    with opened(names[:2]) as two:
        for bank_id in BANKS:
            two.retain(bank_id, f"{bank_id} keeps bees in Porto.", document_id="first")
        held = everything(two)
    command = [sys.executable, "-c", KILLED, str(tmp_path), *names]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    with opened(names) as three:
        moved = three.rebalance()
        assert {(each.target, each.error) for each in moved} == {("south", None)}
        assert everything(three) == held
        for bank_id in BANKS:
            assert bank_id in three.recall(bank_id, "Who keeps bees?").text
        assert three.maintenance.doctor().findings == ()
    again = pickle.loads(pickle.dumps(three))
    with again, Shards(again.shards, leaving=["south"]) as leaving:
        leaving.rebalance()
        assert leaving.shards["south"].banks.list() == []
        assert everything(leaving) == held
