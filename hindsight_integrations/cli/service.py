"""`hindsight-memory serve`: one memory for many programs."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from hindsight_integrations.cli.job import Job, on_memory
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
