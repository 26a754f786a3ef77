"""Find the service of a folder, or start one that ends when nobody uses it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

from filelock import FileLock, Timeout

from hindsight_integrations import errors
from hindsight_integrations.errors import (
    HindsightError,
    InvalidInputError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_integrations.private import PRIVATE, create_private
from hindsight_integrations.service.discovery import RunningService, find_service

IDLE_SECONDS = 60.0
"""Seconds without a request after which a service that was started here ends."""

START_SECONDS = 60.0
"""Seconds that a service may take to start, on a slow machine."""

LOCKED_SECONDS = 10.0
"""Seconds that another owner of the folder, such as a service that is ending, is waited for."""

LOG = "service.log"
"""File in the folder with what a service that was started here wrote last."""

_LOOK_SECONDS = 0.05
_COMMAND = "from hindsight_integrations.cli import main; main()"
_started: list[subprocess.Popen[bytes]] = []
"""Services started by this process; kept so that those that ended leave no zombies."""


def find_or_start(folder: str | os.PathLike[str]) -> RunningService:
    """Return the service that has a folder open; start one if there is none.

    It listens on loopback with a token of its own, is found by others as any service is, outlives
    this process, and ends after `IDLE_SECONDS` without a request (`HINDSIGHT_SERVICE_IDLE_EXIT`).

    Raises:
        InvalidInputError: there can be no such folder.
        StoreLockedError: a process that is no service has the folder open.
        StoreUnavailableError: the folder cannot be used, or the service does not start.
        HindsightError: what it failed with.
    """
    path = Path(os.fspath(folder)).expanduser().absolute()
    if (running := find_service(path)) is not None:
        return running
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        with FileLock(path / "service.lock", timeout=START_SECONDS, mode=PRIVATE):
            return _start(path)
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"{str(path.parent)!r} does not exist; create it, or correct the path"
        ) from error
    except Timeout as error:
        raise _slow(path) from error
    except OSError as error:
        raise StoreUnavailableError(
            f"the folder {str(path)!r} cannot be used for memories: {error}; give one on a "
            "local disk that this user can write to"
        ) from error


def _start(folder: Path) -> RunningService:
    began = time.monotonic()
    process: subprocess.Popen[bytes] | None = None
    while time.monotonic() - began < START_SECONDS:
        if (running := find_service(folder)) is not None:
            return running
        if process is None:
            process = _spawn(folder)
        elif process.poll() is not None:
            failure = _failure(folder, process.returncode)
            is_patient = time.monotonic() - began < LOCKED_SECONDS
            if not (isinstance(failure, StoreLockedError) and is_patient):
                raise failure
            process = None
        time.sleep(_LOOK_SECONDS)
    raise _slow(folder)


def _spawn(folder: Path) -> subprocess.Popen[bytes]:
    _started[:] = [process for process in _started if process.poll() is None]
    log = folder / LOG
    create_private(log)
    chosen = {
        "HINDSIGHT_SERVICE_IDLE_EXIT": str(IDLE_SECONDS),
        "HINDSIGHT_SERVICE_LOG_LEVEL": "warning",  # nobody empties its file
        "HINDSIGHT_SERVICE_TOKEN": secrets.token_urlsafe(),
    }
    arguments = ["serve", "--path", str(folder), "--host", "127.0.0.1", "--port", "0", "--json"]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND, *arguments],  # -P: no module of the editor's
            cwd=folder,
            env=chosen | os.environ,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,  # the editor that ends does not take it along
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
        )
    _started.append(process)
    return process


def _failure(folder: Path, code: int) -> HindsightError:
    """Return the error that a service ended with."""
    text = (folder / LOG).read_text(encoding="utf-8", errors="replace")
    for line in reversed(text.splitlines()):
        try:
            reported = json.loads(line)["error"]
            kind = getattr(errors, str(reported["type"]), StoreUnavailableError)
            return kind(reported["message"])
        except (ValueError, TypeError, KeyError):  # a line of the log, not the error
            continue
    return StoreUnavailableError(
        f"the service for {str(folder)!r} exited with code {code}; see {str(folder / LOG)!r}"
    )


def _slow(folder: Path) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"the service for {str(folder)!r} did not start within {START_SECONDS:g} "
        f"seconds; see {str(folder / LOG)!r}, or start it with: hindsight-memory serve "
        f"--path {folder}"
    )
