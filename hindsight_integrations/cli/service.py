"""`hindsight-memory serve`: one memory for many programs."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hindsight_integrations.cli.job import DEFAULT_PATH, Job, on_memory
from hindsight_integrations.cli.screen import Output
from hindsight_integrations.errors import MissingExtraError


@on_memory(create=True, one_bank=False)
def serve(
    job: Job,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; others than 127.0.0.1 need a token."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")
    ] = None,
) -> Output:
    """Open a memory once, and give it to other programs over HTTP until Ctrl-C or SIGTERM.

    Tokens and limits are read from the variables HINDSIGHT_SERVICE_*, which docs/service.md lists.
    """
    try:
        from hindsight_integrations.service.run import serve as run
        from hindsight_integrations.service.settings import ServiceSettings
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the service needs {error.name}, which is not installed; run: "
            "pip install hindsight-integrations[service]"
        ) from error
    given: dict[str, Any] = {"host": host, "port": port}
    given = {name: value for name, value in given.items() if value is not None}
    settings = ServiceSettings.from_env(**given)
    memory, url = job.memory, ""

    def started(address: str) -> None:
        nonlocal url
        url = address
        job.screen.line({"url": url, "pid": os.getpid()}, f"Serving {job.path} at {url}")

    run(memory, settings, job.path, started=started)
    return Output({"url": url, "ended": True}, "Ended", as_line=True)


def mcp(
    bank: Annotated[
        str | None,
        typer.Option("--bank", "-b", help="The only bank; else each call names its bank."),
    ] = None,
    tools: Annotated[
        Literal["core", "all"], typer.Option(help="Seven tools, or all of them.")
    ] = "core",
    path: Annotated[
        Path,
        typer.Option("--path", "-p", envvar="HINDSIGHT_PATH", help="Folder of the memory."),
    ] = DEFAULT_PATH,
) -> None:
    """Serve a memory to an editor or agent: the Model Context Protocol on stdin and stdout.

    Several of them share a folder: the first starts its service in the background, which ends
    when nobody uses it.
    """
    import asyncio

    import hindsight_integrations.mcp_server  # noqa: F401, it says what to install
    from hindsight_integrations.service import stdio

    if not os.environ.get("HINDSIGHT_VECTORS"):
        asyncio.run(stdio.serve_folder(path.expanduser(), bank=bank, tools=tools))
        return
    # What is on servers has no single owner: each process opens it for itself.
    from hindsight_integrations.client import Hindsight

    with ExitStack() as exits:
        opened = cache(lambda: exits.enter_context(Hindsight.from_env(path=path.expanduser())))
        asyncio.run(stdio.serve_memory(opened, bank=bank, tools=tools))
