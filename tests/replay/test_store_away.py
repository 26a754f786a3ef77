"""What is retained while the store is away is sent in order when it is back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_integrations.model import utc_now
from hindsight_integrations.replay import Backoff, DurableRetain
from hindsight_integrations.replay.replayer import BATCH

from .memories import SOON, everything, opened, texts

NEVER = Backoff(3600.0, 3600.0)


@pytest.mark.slow
def test_what_is_retained_while_the_store_is_away_is_stored_in_order_when_it_is_back(
    folder: Path, queue: Path
) -> None:
    said = datetime(2024, 5, 7, tzinfo=UTC)
    with DurableRetain(lambda: opened(folder), queue, backoff=SOON) as durable:
        with opened(folder):  # the folder is another's: what it is asked is refused
            first = durable.retain("b", "Boat 0 is red.")
            assert first.result.stored == ()
            assert len(first.queued) == len(first.document_ids) == 1
            durable.retain("b", "Boat 1 is red.", timestamp=said)
            durable.retain_many("b", [f"Boat {n} is red." for n in range(2, 2 + 2 * BATCH)])
            durable.retain_messages("b", [{"role": "Ann", "content": "Boat 999 is blue."}])
            state = durable.state()
            assert state.waiting == 3 + 2 * BATCH
            assert state.oldest is not None
            assert not durable.drain(0.1)
            assert not durable.health()
            before = utc_now()
        assert durable.drain()
        assert durable.health()
        stored = everything(durable.memory)
        order = [int(m.text.split()[1]) for m in stored]
        assert order == [*range(2 + 2 * BATCH), 999]
        assert all(m.mentioned_at < before for m in stored)
        assert next(m for m in stored if m.text == "Boat 1 is red.").mentioned_at == said
        assert {m.proof_count for m in stored} == {1}
        assert durable.state().waiting == 0


def test_a_later_process_sends_what_an_earlier_one_queued(folder: Path, queue: Path) -> None:
    with opened(folder), DurableRetain(lambda: opened(folder), queue) as durable:
        durable.retain("b", "Boat 0 is red.")
        durable.retain("b", "Boat 1 is red.")
    with DurableRetain(lambda: opened(folder), queue) as durable:
        assert durable.drain()
        assert texts(durable.memory) == ["Boat 0 is red.", "Boat 1 is red."]
    opened(folder).close()  # what a function opened was closed


def test_state_tells_when_the_store_is_asked_again_and_why(folder: Path, queue: Path) -> None:
    with (
        opened(folder),
        DurableRetain(lambda: opened(folder), queue, backoff=NEVER, patience=1e6) as durable,
    ):
        durable.retain("b", "Boat 0 is red.")
        state = durable.state()
        assert (state.waiting, state.failures, state.sending, state.ok) == (1, 1, True, False)
        assert state.next_attempt is not None
        assert state.next_attempt <= utc_now() + timedelta(hours=1)
        assert "is in use" in str(state.last_error)
        (part,) = durable.health().parts
        assert (part.part, part.ok) == ("queue", False)
        assert "waiting: 1, since" in part.detail
        durable.retain("b", "Boat 1 is red.")
        assert durable.state().failures == 1, "a call made the store be asked before its time"
