"""A session keeps every message at once, and retains in the background without a word."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations import (
    BankNotFoundError,
    ClosedError,
    ConflictError,
    ExtractionError,
    Hindsight,
    InvalidInputError,
    Message,
    RetainResult,
    StoreCorruptError,
    StoreError,
)
from hindsight_integrations.models import Entity, Memory, MemoryType
from hindsight_integrations.retain.extraction import Fact, Passage
from hindsight_integrations.sessions import Session

SAID = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)


class Listening(Hindsight):
    """An engine that notes what it is to retain, and does no more if `deaf`."""

    def __init__(self, *args: Any, deaf: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.deaf = deaf
        self.heard: list[list[str]] = []

    def retain_messages(
        self, bank_id: str, messages: Sequence[Message | Mapping[str, object]], **options: Any
    ) -> RetainResult:
        self.heard.append([each.text for each in messages if isinstance(each, Message)])
        if self.deaf:
            return RetainResult(bank_id)
        return super().retain_messages(bank_id, messages, **options)


class Reader:
    """An extractor that takes each message for a fact, and does as a test bids it first."""

    id = "reader/1"

    def __init__(self) -> None:
        self.read: list[str] = []
        self.failing: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.started = threading.Event()

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        self.started.set()
        assert self.may_go_on.wait(60)
        if self.failing:
            raise self.failing
        self.read += [passage.text for passage in passages]
        return [[Fact(passage.text)] for passage in passages]


@pytest.fixture(scope="module")
def deaf() -> Iterator[Listening]:
    with Listening.in_memory(deaf=True) as memory:  # type: ignore[call-arg]
        yield memory


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def retained(memory: Hindsight) -> list[Memory]:
    """Return the memories of what was said, without conclusions."""
    return list(memory.memories.list("b", types=["world", "experience"], limit=1000).items)


def stored(memory: Hindsight) -> list[str]:
    return [each.text for each in retained(memory)]


def say(session: Session, count: int, first: int = 1, speaker: str = "user") -> None:
    for n in range(first, first + count):
        session.add_message(speaker, f"This is message {n}.")


# Keeping


def test_a_message_comes_back_as_it_was_added(memory: Hindsight) -> None:
    with Session(memory, "b", "s") as session:
        given = session.add_message(
            "Maya", "  Färbe es grün 🌲\n", SAID, id="m/1", metadata={"page": 3, "sure": True}
        )
        assert given == Message(
            "Maya", "  Färbe es grün 🌲\n", SAID, "m/1", {"page": 3, "sure": True}
        )
        assert session.messages == (given,)


def test_a_naive_time_is_utc_and_a_missing_one_is_now(memory: Hindsight) -> None:
    with Session(memory, "b") as session:
        assert session.add_message("user", "One.", SAID.replace(tzinfo=None)).timestamp == SAID
        before = datetime.now(UTC)
        moment = session.add_message("user", "Two.").timestamp
        assert moment is not None
        assert before <= moment <= datetime.now(UTC)


def test_messages_are_only_kept_unless_auto_retain_is_on(memory: Hindsight) -> None:
    with Session(memory, "b", "s") as session:
        say(session, 12)
    assert len(session.messages) == 12
    assert stored(memory) == []
    assert len(memory.recall("b", "Which message is this?")) == 0


def test_messages_that_were_never_retained_survive_a_restart(folder: Path) -> None:
    with Hindsight(folder) as memory, Session(memory, "b", "s") as session:
        say(session, 3)
        kept = session.messages
    with Hindsight(folder) as memory, Session(memory, "b", "s") as session:
        assert session.messages == kept
        say(session, 1, first=4)
        assert texts(session) == [f"This is message {n}." for n in range(1, 5)]
        assert Session(memory, "b", "other").messages == ()


WRITER = """
import sys
from hindsight_integrations import Hindsight
from hindsight_integrations.sessions import Session

memory = Hindsight(sys.argv[1])
session = Session(memory, "b", "s", auto_retain=sys.argv[2] == "retaining")
for n in range(10_000):
    session.add_message("user", f"The heron of day {n} was seen at pier {n}.")
    print(n, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["storing", "retaining"])
def test_no_acknowledged_message_is_lost_when_the_process_is_killed(
    folder: Path, mode: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), mode], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(40)]
    process.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.wait()
    process.stdout.close()
    with Hindsight(folder) as memory, Session(memory, "b", "s", auto_retain=True) as session:
        kept = texts(session)
        assert len(kept) in (len(acknowledged), len(acknowledged) + 1)  # one may lack its answer
        assert kept == [f"The heron of day {n} was seen at pier {n}." for n in range(len(kept))]
        session.retain()
        assert sorted(stored(memory)) == sorted(kept)
        assert memory.maintenance.doctor().findings == ()


def test_sessions_of_one_bank_keep_their_messages_apart(memory: Hindsight) -> None:
    with Session(memory, "b") as one, Session(memory, "b") as two:
        assert one.session_id != two.session_id
        one.add_message("user", "One.")
        two.add_message("user", "Two.")
        assert (texts(one), texts(two)) == (["One."], ["Two."])


def test_messages_go_with_their_bank_and_into_its_exports(
    memory: Hindsight, tmp_path: Path
) -> None:
    with Session(memory, "b", "s") as session:
        say(session, 3)
        memory.banks.export("b", tmp_path / "b.jsonl")
        memory.banks.import_(tmp_path / "b.jsonl", "copy")
        assert Session(memory, "copy", "s").messages == session.messages
        memory.banks.delete("b")
        assert session.messages == ()
        say(session, 1, first=4)
        assert texts(session) == ["This is message 4."]


def test_the_same_message_again_changes_nothing(memory: Hindsight) -> None:
    reader = Reader()
    with (
        Hindsight.in_memory(extractor=reader) as memory,
        Session(memory, "b", auto_retain=True) as session,
    ):
        first = session.add_message("user", "One.", id="1")
        assert session.add_message("user", "One.", id="1") == first
        assert session.messages == (first,)
        with pytest.raises(ConflictError, match="'1'"):
            session.add_message("user", "Another.", id="1")
        session.add_message("user", "One.")
        session.wait_idle()
        assert reader.read == ["One.", "One."]
        assert texts(session) == ["One.", "One."]


def test_a_foreign_document_under_the_name_of_a_session_is_not_taken_for_messages(
    memory: Hindsight,
) -> None:
    memory.retain("b", "A handbook.", document_id="s#messages")
    with pytest.raises(StoreCorruptError, match="s#messages"):
        Session(memory, "b", "s")


# Retaining in the background


@settings(max_examples=60)
@given(
    speakers=st.lists(st.sampled_from(["user", "assistant", "Maya"]), max_size=12),
    window=st.integers(1, 8),
    every=st.integers(1, 5),
    roles=st.none() | st.sets(st.sampled_from(["User", "assistant", "Maya"])),
    restart=st.integers(0, 12),
)
def test_each_reading_is_exactly_the_last_window_in_order(
    deaf: Listening,
    speakers: list[str],
    window: int,
    every: int,
    roles: set[str] | None,
    restart: int,
) -> None:
    deaf.heard.clear()
    options: dict[str, Any] = {"window": window, "every": every, "roles": roles}
    with Session(deaf, "b", auto_retain=True, **options) as session:
        for n, speaker in enumerate(speakers[:restart]):
            session.add_message(speaker, str(n))
    with Session(deaf, "b", session.session_id, auto_retain=True, **options) as session:
        for n, speaker in enumerate(speakers[restart:], start=restart):
            session.add_message(speaker, str(n))
    folded = None if roles is None else {role.casefold() for role in roles}
    counted = [n + 1 for n, s in enumerate(speakers) if folded is None or s.casefold() in folded]
    said = [str(n) for n in range(len(speakers))]
    ends = counted[every - 1 :: every]
    assert deaf.heard == [said[max(0, end - window) : end] for end in ends]
    assert texts(session) == [str(n) for n in range(len(speakers))]


def test_six_messages_are_read_every_two_by_default(deaf: Listening) -> None:
    deaf.heard.clear()
    with Session(deaf, "defaults", auto_retain=True) as session:
        say(session, 8)
    numbers = [[int(text.split()[-1][:-1]) for text in heard] for heard in deaf.heard]
    assert numbers == [[1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 7, 8]]


def test_the_window_holds_all_speakers_while_only_some_trigger(deaf: Listening) -> None:
    deaf.heard.clear()
    with Session(deaf, "b", auto_retain=True, roles=["user"], every=2, window=3) as session:
        for n, speaker in enumerate(
            ["user", "assistant", "tool", "assistant", "user", "assistant"]
        ):
            session.add_message(speaker, str(n))
    assert deaf.heard == [["2", "3", "4"]]


def test_auto_retain_can_be_changed_while_the_session_runs(deaf: Listening) -> None:
    deaf.heard.clear()
    with Session(deaf, "b", window=3) as session:
        assert session.auto_retain is False
        say(session, 4)
        assert deaf.heard == []
        session.auto_retain = True
        say(session, 2, first=5)
        assert session.wait_idle(60)
        assert deaf.heard == [[f"This is message {n}." for n in (4, 5, 6)]]
        session.auto_retain = False
        say(session, 4, first=7)
        with pytest.raises(InvalidInputError, match="auto_retain"):
            session.auto_retain = "yes"  # type: ignore[assignment]
    assert len(deaf.heard) == 1


def test_what_overlaps_is_stored_once(memory: Hindsight) -> None:
    with Session(memory, "b", "s", auto_retain=True) as session:
        say(session, 8)
    assert stored(memory) == [f"This is message {n}." for n in range(1, 9)]
    assert {each.proof_count for each in retained(memory)} == {1}


def test_counters_are_per_session(deaf: Listening) -> None:
    deaf.heard.clear()
    with (
        Session(deaf, "b", auto_retain=True) as one,
        Session(deaf, "b", auto_retain=True) as two,
    ):
        one.add_message("user", "One.")
        two.add_message("user", "Two.")
        assert one.wait_idle()
        assert two.wait_idle()
        assert deaf.heard == []
        one.add_message("user", "Three.")
    assert deaf.heard == [["One.", "Three."]]


def test_the_chat_goes_on_while_a_reading_takes_its_time() -> None:
    reader = Reader()
    reader.may_go_on.clear()
    with Hindsight.in_memory(extractor=reader) as memory:
        session = Session(memory, "b", auto_retain=True)
        say(session, 10)  # would never return if it waited for the reader
        assert reader.started.wait(60)
        assert len(session.messages) == 10
        assert reader.read == []
        assert not session.wait_idle(timeout=0.01)
        reader.may_go_on.set()
        session.close()
        assert reader.read == [f"This is message {n}." for n in range(1, 11)]
        assert len(stored(memory)) == 10


def test_an_extractor_that_fails_is_logged_and_counted_and_never_reaches_the_chat(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reader = Reader()
    reader.failing = ExtractionError("the model is away")
    with (
        Hindsight.in_memory(extractor=reader) as memory,
        Session(memory, "b", "s", auto_retain=True, window=4) as session,
    ):
        with caplog.at_level(logging.ERROR, "hindsight_integrations"):
            say(session, 2)
            assert session.wait_idle()
        assert "the model is away" in caplog.text
        assert session.failures == 1
        assert isinstance(session.last_error, ExtractionError)
        assert repr(session) == "Session('b', 's', messages=2, failures=1)"
        reader.failing = RuntimeError("a bug in somebody's extractor")
        say(session, 2, first=3)
        assert session.wait_idle()
        assert session.failures == 2
        assert len(session.messages) == 4
        reader.failing = None
        say(session, 2, first=5)
        assert session.wait_idle()
        assert session.failures == 2
        # The next window takes up what the last one left: here all but the first two.
        assert stored(memory) == [f"This is message {n}." for n in range(3, 7)]


def test_close_waits_and_what_comes_later_is_refused() -> None:
    reader = Reader()
    reader.may_go_on.clear()
    with Hindsight.in_memory(extractor=reader) as memory:
        session = Session(memory, "b", auto_retain=True)
        say(session, 4)
        closing = threading.Thread(target=session.close)
        closing.start()
        assert reader.started.wait(60)
        assert closing.is_alive()
        reader.may_go_on.set()
        closing.join(60)
        session.close()
        assert len(stored(memory)) == 4
        with pytest.raises(ClosedError, match="open a new one"):
            session.add_message("user", "Too late.")
        assert len(session.messages) == 4


def test_an_engine_that_is_closed_first_costs_memories_but_no_messages(folder: Path) -> None:
    with Hindsight(folder) as memory:
        session = Session(memory, "b", "s", auto_retain=True)
        say(session, 3)
        session.wait_idle()
    with pytest.raises((ClosedError, StoreError)):
        say(session, 1)
    session.close()
    with Hindsight(folder) as memory, Session(memory, "b", "s") as session:
        assert len(session.messages) == 3


def test_what_is_deleted_while_it_waits_to_be_read_does_not_come_back() -> None:
    reader = Reader()
    reader.may_go_on.clear()
    with Hindsight.in_memory(extractor=reader) as memory:
        with Session(memory, "b", auto_retain=True) as session:
            say(session, 4)
            assert reader.started.wait(60)
            memory.banks.delete("b")
            reader.may_go_on.set()
        assert memory.banks.list() == []


def test_threads_that_talk_at_once_lose_nothing(deaf: Listening) -> None:
    deaf.heard.clear()
    with (
        Session(deaf, "b", auto_retain=True, window=2, every=2) as session,
        ThreadPoolExecutor(8) as pool,
    ):
        list(pool.map(lambda n: session.add_message("user", str(n)), range(40)))
    assert [text for heard in deaf.heard for text in heard] == texts(session)
    assert sorted(map(int, texts(session))) == list(range(40))


# Retaining and recalling by hand


def test_retain_stores_what_is_not_stored_yet(memory: Hindsight) -> None:
    with Session(memory, "b", "s", roles=["user"], tags=["chat"], scope="home") as session:
        session.add_message("user", "I moved to Lisbon in May.", SAID, id="m1")
        assert session.retain().stored[0].text == "I moved to Lisbon in May."
        session.add_message("user", "The light is wonderful.")
        assert [each.text for each in session.retain().stored] == ["The light is wonderful."]
        assert session.retain().stored == ()
        session.add_message("assistant", "I booked a table by the river.")
        assert [each.speaker for each in session.retain().stored] == ["assistant"]
        (first, *_) = retained(memory)
        assert (first.speaker, first.tags, first.scope) == ("user", ("chat",), "home")
        assert first.mentioned_at == SAID
        assert first.sources[0].reference == "m1"
        assert first.document_id == "s"


def test_retain_raises_what_goes_wrong() -> None:
    reader = Reader()
    reader.failing = ExtractionError("the model is away")
    with Hindsight.in_memory(extractor=reader) as memory, Session(memory, "b") as session:
        session.add_message("user", "One.")
        with pytest.raises(ExtractionError, match="away"):
            session.retain()
        assert session.failures == 0


def test_recall_keeps_to_the_bank(memory: Hindsight) -> None:
    memory.retain("other", "Alice lives in Porto.")
    with Session(memory, "b") as session:
        assert len(session.recall("Where does Alice live?")) == 0
        session.add_message("user", "Alice lives in Lisbon.")
        session.retain()
        found = session.recall("Where does Alice live?", types=["world"], max_tokens=200)
        assert [each.memory.text for each in found] == ["Alice lives in Lisbon."]


def test_forgetting_a_session_takes_its_messages_with_it(memory: Hindsight) -> None:
    with Session(memory, "b", "s", auto_retain=True) as session:
        say(session, 2)
    say(Session(memory, "b", "s2"), 1)
    memory.forget("b", document_id="s")
    assert stored(memory) == []
    assert session.messages == ()
    session.retain()
    assert stored(memory) == []
    assert len(Session(memory, "b", "s2").messages) == 1
    memory.forget("b", document_id="s2")  # which retained nothing, and so has no document
    assert Session(memory, "b", "s2").messages == ()


def test_what_the_agent_says_is_its_experience(memory: Hindsight) -> None:
    with Session(memory, "b", auto_retain=True) as session:
        session.add_message("user", "Please book the night train to Vienna.")
        session.add_message("assistant", "I booked the night train to Vienna for you.")
    types = {each.speaker: each.type for each in retained(memory)}
    assert types == {"user": MemoryType.WORLD, "assistant": MemoryType.EXPERIENCE}


# Validation of arguments


@pytest.mark.parametrize(
    "bad",
    [
        {"window": 0},
        {"every": 0},
        {"every": True},
        {"auto_retain": "yes"},
        {"bank_id": " "},
        {"session_id": ""},
        {"session_id": 5},
        {"session_id": "x" * 250},
        {"roles": [" "]},
        {"tags": "one"},
        {"metadata": {"a": None}},
        {"scope": "\n"},
    ],
    ids=str,
)
def test_a_bad_argument_is_refused_before_anything_is_made(
    memory: Hindsight, bad: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        Session(memory, **({"bank_id": "b"} | bad))
    with suppress(BankNotFoundError):
        assert memory.banks.stats("b").documents == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"speaker": ""},
        {"text": " \n"},
        {"text": None},
        {"text": "x" * 2_000_001},
        {"timestamp": "today"},
        {"id": ""},
        {"metadata": {"a": [1]}},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_a_bad_message_is_refused_and_nothing_is_stored(
    memory: Hindsight, bad: dict[str, Any]
) -> None:
    with Session(memory, "b") as session:
        with pytest.raises(InvalidInputError):
            session.add_message(**({"speaker": "user", "text": "Hello."} | bad))
        assert session.messages == ()


# Asynchronous variants


async def test_twins_do_the_same_inside_a_running_loop(memory: Hindsight) -> None:
    async with Session(memory, "b", auto_retain=True) as session:
        for n in range(4):
            await session.aadd_message("user", f"Boat number {n} is blue.")
        assert await session.await_idle()
        assert len(await session.arecall("Which boat is blue?")) == 4
        assert (await asyncio.gather(session.aretain()))[0].stored == ()
    assert session.failures == 0
