"""A watched folder: many writes are one retain, and nothing written is missing at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, MissingExtraError, Settings, Workspace
from hindsight_integrations.workspace import SyncEvent
from hindsight_integrations.workspace.watcher import Debouncer

from .conftest import BANK

PATIENCE = 120
"""Seconds after which a test gives up waiting for an event."""


class Watched:
    """A workspace that is watched in a thread, and its events."""

    def __init__(self, workspace: Workspace) -> None:
        self.events: list[SyncEvent] = []
        self.counts: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(workspace,))
        self._thread.start()

    def _run(self, workspace: Workspace) -> None:
        with workspace:
            self.counts = workspace.watch(self._stop, self._note)

    def _note(self, event: SyncEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, wanted: Callable[[list[SyncEvent]], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: wanted(self.events), PATIENCE), self.events

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def watched(memory: Hindsight, root: Path, debounce_ms: int) -> Iterator[Watched]:
    watching = Watched(Workspace(memory, BANK, root, retain_debounce_ms=debounce_ms))
    try:
        watching.wait(lambda events: len(events) == 2)  # the sync at the start
        yield watching
    finally:
        watching.stop()


def of(events: list[SyncEvent], action: str) -> list[str]:
    return [event.path for event in events if event.action == action]


def texts(memory: Hindsight) -> set[str]:
    return {each.text for each in memory.memories.list(BANK).items}


def test_a_path_is_due_once_after_the_last_of_its_writes() -> None:
    now = 0.0
    waiting = Debouncer(30, clock=lambda: now)
    for _ in range(10):
        waiting.note(["a.md"])
        now += 29
        assert waiting.take_due() == []
    waiting.note(["b.md"])
    now += 1
    assert waiting.take_due() == ["a.md"]  # b.md, which is still written to, does not hold it up
    assert waiting.take_due() == []
    now += 29
    assert waiting.take_due() == ["b.md"]


def test_changes_renames_and_deletions_are_carried_over(memory: Hindsight, root: Path) -> None:
    with watched(memory, root, debounce_ms=0) as watching:
        note = root / "memory/2026-02-03.md"
        new = root / "memory/.saving"  # saved like many editors do
        new.write_text("The hive is blue.", encoding="utf-8")
        os.replace(new, note)
        watching.wait(lambda events: of(events, "retained").count("memory/2026-02-03.md") == 2)
        assert "The hive is blue." in texts(memory)
        (root / "memory").rename(root / "old")
        watching.wait(lambda events: "old/2026-02-03.md" in of(events, "retained"))
        watching.wait(lambda events: "memory/2026-02-03.md" in of(events, "deleted"))
        (root / "MEMORY.md").unlink()
        watching.wait(lambda events: "MEMORY.md" in of(events, "deleted"))
    assert texts(memory) == {"The hive is blue."}
    assert watching.counts == Counter(event.action for event in watching.events)


def test_ten_writes_are_one_retain_and_what_waits_is_retained_at_the_end(
    memory: Hindsight, root: Path
) -> None:
    with watched(memory, root, debounce_ms=3_600_000) as watching:
        for number in range(10):
            (root / "new.md").write_text(f"The hive has {number} frames.", encoding="utf-8")
    assert of(watching.events, "retained").count("new.md") == 1
    assert "The hive has 9 frames." in texts(memory)
    assert watching.counts == {"retained": 3}


def test_a_note_that_failed_is_tried_again(root: Path) -> None:
    calls = 0

    def extractor(passage: object) -> list[str]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("the model is away")
        return [str(getattr(passage, "text", ""))]

    (root / "MEMORY.md").unlink()
    settings = Settings(consolidate=False)
    with Hindsight.in_memory(settings=settings, extractor=extractor) as memory:
        watching = Watched(Workspace(memory, BANK, root, retain_debounce_ms=0))
        watching.wait(lambda events: bool(of(events, "retained")))
        watching.stop()
    assert [str(event.action) for event in watching.events] == ["waiting", "retained"]
    assert "model is away" in (watching.events[0].detail or "")


async def test_an_awaited_watch_ends_when_it_is_cancelled(memory: Hindsight, root: Path) -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with Workspace(memory, BANK, root, retain_debounce_ms=3_600_000) as workspace:
        watch = asyncio.create_task(
            workspace.awatch(None, lambda _: loop.call_soon_threadsafe(began.set))
        )
        await asyncio.wait_for(began.wait(), PATIENCE)
        (root / "new.md").write_text("The hive is blue.", encoding="utf-8")
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch
    assert "The hive is blue." in texts(memory)  # `close` waited for it


async def test_closing_ends_an_awaited_watch(memory: Hindsight, root: Path) -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    workspace = Workspace(memory, BANK, root)
    watch = asyncio.create_task(
        workspace.awatch(None, lambda _: loop.call_soon_threadsafe(began.set))
    )
    await asyncio.wait_for(began.wait(), PATIENCE)
    await workspace.aclose()
    assert await asyncio.wait_for(watch, PATIENCE) == {"retained": 2}


INTERRUPTED = """
import asyncio, sys
from hindsight_integrations import Hindsight, Settings, Workspace

with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
    with Workspace(memory, "alice", sys.argv[1]) as workspace:
        asyncio.run(workspace.awatch(None, lambda event: print("event", flush=True)))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_a_process_that_awaits_a_watch_ends_with_ctrl_c(root: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(root)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "event\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert errors.strip().endswith("KeyboardInterrupt")


def test_without_watchfiles_the_error_says_what_to_install(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "watchfiles", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[workspace\]"):
        workspace.watch()
    assert workspace.sync().counts == {"retained": 2}
