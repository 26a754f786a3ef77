"""The MCP server on stdio, for a host that starts a process of its own.

Several hosts share a folder: each process passes calls on to the service that has it open, and
the first starts that service. Tools are listed without waiting for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer, Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from hindsight_integrations._version import __version__
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError, StoreUnavailableError
from hindsight_integrations.mcp_server import texts
from hindsight_integrations.mcp_server.server import NAME, TITLE, server_of
from hindsight_integrations.mcp_server.tools import Tools
from hindsight_integrations.service.discovery import RunningService, find_service
from hindsight_integrations.service.settings import ServiceSettings
from hindsight_integrations.service.starting import IDLE_SECONDS, find_or_start

T = TypeVar("T")
Call = Callable[[Client], Awaitable[T]]

ATTEMPTS = 3
"""Times that a call is made, if the service is gone each time. Nothing is done twice by it: what is
known is not retained again, and what is forgotten or corrected stays so."""

BEATS = 3
"""Signs of life to the service within the time after which it would end."""


async def serve_folder(folder: Path, *, bank: str | None, tools: Tools) -> None:
    """Serve the memory of a folder on stdio, through its service, until stdin ends.

    Raises:
        InvalidInputError: no such bank can be pinned.
    """
    if bank is not None and "/" in bank:
        raise InvalidInputError(
            f"the bank {bank!r} cannot be used here because its id contains a slash; leave "
            "out --bank"
        )
    beside = [asyncio.create_task(_start(folder)), asyncio.create_task(_stay(folder))]
    path = f"/mcp/{quote(bank, safe='')}/" if bank else "/mcp/"
    server = _forwarding(
        server_of(_unused, bank=bank, tools=tools), _Service(folder, f"{path}?tools={tools}")
    )
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        for task in beside:
            task.cancel()


async def serve_memory(opened: Callable[[], Hindsight], *, bank: str | None, tools: Tools) -> None:
    """Serve a memory of this process on stdio until stdin ends.

    `opened` returns the memory, and is asked when the first call comes; `bank` is the only one, if
    given.
    """
    await server_of(lambda action: action(opened()), bank=bank, tools=tools).run_stdio_async()


def _unused(action: Callable[[Hindsight], str]) -> NoReturn:
    raise RuntimeError("calls are forwarded to the service")


async def _start(folder: Path) -> None:
    """Start the service before the first call needs it, which reports what fails."""
    try:
        await asyncio.to_thread(find_or_start, folder)
    except HindsightError:
        return


async def _stay(folder: Path) -> None:
    """Keep the service from ending while this process runs."""
    seconds = (ServiceSettings.from_env().idle_exit or IDLE_SECONDS) / BEATS
    async with httpx2.AsyncClient(trust_env=False) as client:
        while True:
            await asyncio.sleep(seconds)
            if (running := find_service(folder)) is not None:
                try:
                    await client.get(f"{running.url}/health")
                except httpx2.TransportError:
                    continue  # it has just ended; the next call starts another


class _Service:
    """The service of a folder, found again for each call, since another may run by then."""

    def __init__(self, folder: Path, path: str) -> None:
        self._folder = folder
        self._path = path

    async def call(self, call: Call[T]) -> T:
        """Return what a call returns.

        Raises:
            MCPError: the service refused it.
            HindsightError: there is no service, and none can be started.
        """
        for _ in range(ATTEMPTS):
            running = await asyncio.to_thread(find_or_start, self._folder)
            try:
                return await self._call(running, call)
            except MCPError as error:
                if error.code != CONNECTION_CLOSED:
                    raise
            except BaseExceptionGroup as group:
                if group.split(httpx2.TransportError)[1] is not None:
                    raise
        raise StoreUnavailableError(
            f"the service for {os.fspath(self._folder)!r} exited {ATTEMPTS} times during a "
            "call; see service.log in that folder"
        )

    async def _call(self, running: RunningService, call: Call[T]) -> T:
        headers = {"Authorization": f"Bearer {running.token}"} if running.token else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=None, trust_env=False) as web,
            Client(
                streamable_http_client(f"{running.url}{self._path}", http_client=web),
                mode=MODERN_PROTOCOL_VERSIONS[-1],
            ) as client,
        ):
            try:
                outcome: T | MCPError = await call(client)
            except MCPError as error:  # raised within, it would come out in a group
                outcome = error
        if isinstance(outcome, MCPError):
            raise outcome
        return outcome


def _forwarding(local: MCPServer[Any], service: _Service) -> Server[Any]:
    """Return a server that lists as `local` does, and passes everything else on."""

    async def list_tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=await local.list_tools())

    async def list_resources(*_: Any) -> ListResourcesResult:
        return ListResourcesResult(resources=await local.list_resources())

    async def list_templates(*_: Any) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=await local.list_resource_templates())

    async def list_prompts(*_: Any) -> ListPromptsResult:
        return ListPromptsResult(prompts=await local.list_prompts())

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            return await service.call(lambda there: there.call_tool(params.name, params.arguments))
        except HindsightError as error:
            return CallToolResult(
                content=[TextContent(type="text", text=str(error))], is_error=True
            )

    async def read_resource(_: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _reported(service.call(lambda there: there.read_resource(str(params.uri))))

    async def get_prompt(_: Any, params: GetPromptRequestParams) -> GetPromptResult:
        return await _reported(
            service.call(lambda there: there.get_prompt(params.name, params.arguments))
        )

    return Server(
        NAME,
        title=TITLE,
        version=__version__,
        instructions=texts.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_list_prompts=list_prompts,
        on_call_tool=call_tool,
        on_read_resource=read_resource,
        on_get_prompt=get_prompt,
    )


async def _reported(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except HindsightError as error:
        raise MCPError(code=INTERNAL_ERROR, message=str(error)) from error
