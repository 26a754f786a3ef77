"""`hindsight-memory serve` and `view`: one memory for many programs, and in the browser."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hindsight_integrations.cli.job import DEFAULT_PATH, Job, check_bank, on_memory
from hindsight_integrations.cli.screen import INTERRUPTED, Output
from hindsight_integrations.errors import MissingExtraError, StoreLockedError
from hindsight_integrations.settings import variable

VIEWER = "/ui/"
"""Path of the viewer in the service."""


@on_memory(create=True, one_bank=False)
def serve(
    job: Job,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to listen on; any except 127.0.0.1 needs a token. (default 127.0.0.1)"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port; 0 for any free port. (default 8888)"),
    ] = None,
) -> Output:
    """Serve a memory to other programs over HTTP until Ctrl-C or SIGTERM.

    Tokens and limits are read from the variables HINDSIGHT_SERVICE_*; see docs/service.md.
    """
    with _extra():
        from hindsight_integrations.service.discovery import find_service

    if (running := find_service(job.path)) is not None:
        raise StoreLockedError(
            f"{job.path} is in use by a service (process {running.pid}) at {running.url}; "
            "connect to it, or stop it first"
        )
    given = {"host": host, "port": port}
    return _serving(job, {name: value for name, value in given.items() if value is not None})


@on_memory(one_bank=False)
def view(
    job: Job,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address; do not open a browser.")
    ] = False,
) -> Output:
    """Show a memory in the browser, to search and correct it, until Ctrl-C or SIGTERM.

    It is only reachable from this machine. If a service has the memory open, its viewer is used.
    """
    with _extra():
        from hindsight_integrations.service.discovery import find_service

    def show(url: str) -> None:
        if not no_browser:  # beside this thread: a browser in the terminal takes its time
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    running = find_service(job.path)
    if running is not None:
        url = running.url + VIEWER
        if not no_browser:
            webbrowser.open(url)
        return Output({"url": url, "pid": running.pid}, f"A service is showing {job.path} at {url}")
    return _serving(job, {"host": "127.0.0.1", "port": port}, VIEWER, show)


def _serving(
    job: Job,
    given: dict[str, Any],
    page: str = "",
    show: Callable[[str], None] = lambda url: None,
) -> Output:
    """Serve the memory of a job until it is told to end.

    Args:
        job: run of the command.
        given: settings that the command was given.
        page: path of the service that is written, and shown.
        show: called with the address of that page once it can be reached.
    """
    with _extra():
        from hindsight_integrations.service.run import serve as run
        from hindsight_integrations.service.settings import ServiceSettings
    settings = ServiceSettings.from_env(**given)
    memory, url = job.memory, ""

    def started(address: str) -> None:
        nonlocal url
        url = address + page
        viewer = "" if page else f"; viewer: {address}{VIEWER}"
        job.screen.line({"url": url, "pid": os.getpid()}, f"Serving {job.path} at {url}{viewer}")
        show(url)

    # Leave what is loaded out of full garbage collections, which then take 30 ms instead of 90.
    gc.freeze()
    run(memory, settings, job.path, started=started, ends_process=True)
    return Output({"url": url, "ended": True}, "Ended", as_line=True)


def mcp(
    bank: Annotated[
        str | None,
        typer.Option(
            "--bank", "-b", help="Use only this bank; otherwise each call names its bank."
        ),
    ] = None,
    tools: Annotated[
        Literal["core", "all"], typer.Option(help="Offer the seven core tools, or all tools.")
    ] = "core",
    path: Annotated[
        str,
        typer.Option(
            "--path",
            "-p",
            metavar="PATH",
            envvar="HINDSIGHT_PATH",
            help="Folder of the memory, or the address of a service.",
        ),
    ] = str(DEFAULT_PATH),
) -> None:
    """Serve a memory to an editor or agent: the Model Context Protocol on stdin and stdout.

    Several such servers can share a folder: the first starts a service for it in the background,
    which ends when nobody uses it any more.
    """
    import asyncio

    if bank is not None:
        check_bank(bank)
    import hindsight_integrations.mcp_server  # noqa: F401, it says what to install
    from hindsight_integrations.client import Hindsight
    from hindsight_integrations.remote import is_url
    from hindsight_integrations.service import stdio

    if sys.stdin.isatty():
        typer.echo("Waiting for an MCP host on stdin; press Ctrl-C to stop", err=True)
    place = os.path.expanduser(path)
    with ExitStack() as exits:

        def end(*_: object) -> None:
            exits.close()
            os._exit(INTERRUPTED)  # the thread that reads stdin cannot be cancelled

        signal.signal(signal.SIGINT, end)
        if variable("HINDSIGHT_VECTORS") or is_url(place):
            # What is on servers has no single owner: each process opens it for itself.
            opened = cache(lambda: exits.enter_context(Hindsight.from_env(path=place)))
            asyncio.run(stdio.serve_memory(opened, bank=bank, tools=tools))
        else:
            asyncio.run(stdio.serve_folder(Path(place), bank=bank, tools=tools))


@contextmanager
def _extra() -> Iterator[None]:
    """Raise an error with the install command if a module of the extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the service needs {error.name}, which is not installed; run: "
            'pip install "hindsight-integrations[service]"'
        ) from error
