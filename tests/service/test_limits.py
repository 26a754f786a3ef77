"""Bounds of requests: size, time, and how many run at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from hindsight_integrations import Hindsight
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.limits import Limits
from hindsight_integrations.service.settings import ServiceSettings
from tests.service.conftest import Connect


class Slow:
    """An application that reads the body, and answers once it is released."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.at_once = self.done = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        self.at_once += 1
        await self.release.wait()
        self.at_once -= 1
        self.done += 1
        await PlainTextResponse(str(len(body)))(scope, receive, send)


async def test_a_body_that_is_too_large_is_refused_whatever_its_header_says(
    connect: Connect,
) -> None:
    slow = Slow()
    slow.release.set()

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 400

    async with connect(Limits(slow, ServiceSettings(max_body_bytes=1000))) as client:
        assert (await client.post("/", content=b"x" * 1000)).text == "1000"
        assert (await client.post("/", content=b"x" * 1001)).status_code == 413
        assert (await client.post("/", content=parts())).status_code == 413
        assert slow.done == 1


@pytest.mark.parametrize("path", ["/v1/engine/retain", "/v1/default/banks/b/memories"])
async def test_no_interface_takes_half_a_body(
    memory: Hindsight, connect: Connect, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b'{"bank_id": "b", "items": [], "content": "'
        for _ in range(3):
            yield b"x" * 400
        yield b'"}'

    async with connect(create_app(memory, ServiceSettings(max_body_bytes=1000))) as client:
        answer = await client.post(path, content=parts())
    assert (answer.status_code, "1000 bytes" in answer.text) == (413, True)
    assert "Traceback" not in caplog.text


async def test_a_body_that_does_not_arrive_is_given_up(connect: Connect) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(60)

    async with connect(Limits(Slow(), ServiceSettings(body_timeout=0.05))) as client:
        assert (await client.post("/", content=never())).status_code == 408


async def test_requests_wait_in_order_and_those_beyond_the_queue_come_again(
    connect: Connect,
) -> None:
    slow = Slow()
    limits = Limits(slow, ServiceSettings(concurrency=2, queue=3))
    order: list[int] = []

    async with connect(limits) as client:

        async def ask(number: int) -> int:
            answer = await client.post("/", content=str(number))
            order.append(number)
            return answer.status_code

        asked = [asyncio.create_task(ask(number)) for number in range(7)]
        while len(order) < 2:
            await asyncio.sleep(0)
        assert (limits.load.running, limits.load.waiting, set(order)) == (2, 3, {5, 6})
        slow.release.set()
        statuses = await asyncio.gather(*asked)
    assert statuses == [200] * 5 + [503] * 2
    assert order[2:] == [0, 1, 2, 3, 4]
    assert (limits.load.running, limits.load.waiting) == (0, 0)


async def test_a_late_request_is_answered_and_keeps_its_turn_until_it_ends(
    connect: Connect,
) -> None:
    slow = Slow()
    limits = Limits(slow, ServiceSettings(concurrency=1, request_timeout=0.05))
    async with connect(limits) as client:
        late = asyncio.create_task(client.post("/"))
        await asyncio.sleep(0.2)
        assert limits.load.running == 1
        slow.release.set()
        answer = await late
    assert answer.status_code == 504
    assert "0.05 seconds" in answer.json()["detail"]
    assert (slow.done, limits.load.running) == (1, 0)


@pytest.mark.parametrize("path", ["/health", "/metrics"])
async def test_what_observes_does_not_wait(connect: Connect, path: str) -> None:
    slow = Slow()
    limits = Limits(slow, ServiceSettings(concurrency=1, queue=0))
    async with connect(limits) as client:
        first = asyncio.create_task(client.post("/"))
        while not limits.load.running:
            await asyncio.sleep(0)
        second = asyncio.create_task(client.get(path))
        while slow.at_once < 2:
            await asyncio.sleep(0)
        assert (await client.post("/")).headers["Retry-After"] == "1"
        slow.release.set()
        assert (await second).status_code == 200
        await first
