"""The folder of an embedded memory, and the one process that owns it.

```
<folder>/memory.sqlite3   the graph, from which all else can be rebuilt
<folder>/memory.sqlite3-wal, -shm, -journal   parts of it while it is open, or after a kill
<folder>/chroma/          the vector index
<folder>/owner.lock       locked by the process that has the folder open
<folder>/owner.json       that process, for the error that others get
```
The operating system releases the lock when the process ends, however it ends. A folder that is made
here is its user's alone (0700), and so are all files (0600); rights that somebody changed stay so.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from hindsight_integrations.asynchronous import ContextManaged
from hindsight_integrations.errors import InvalidInputError, StoreLockedError, StoreUnavailableError
from hindsight_integrations.models import utc_now
from hindsight_integrations.private import PRIVATE, create_private

SERVICE = "service.json"
"""Name of the file by which a service that has the folder open can be found."""

SHARING_SECONDS = 5.0
"""Seconds that a process which shares a folder waits for others that look at it just then."""


class Folder(ContextManaged):
    """A folder owned by this process until closed. Use `Folder.open`."""

    GRAPH = "memory.sqlite3"

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Folder:
        """Own the folder at `path`, created if it does not exist.

        Other files in it are left alone.

        Raises:
            InvalidInputError: it is a file, or its parent does not exist.
            StoreLockedError: this or another process has it open.
            StoreUnavailableError: it cannot be created or written.
        """
        folder = cls._locked(path, seconds=0)
        try:
            folder._write_owner()
        except OSError as error:
            folder.close()
            raise _unusable(path, error) from error
        return folder

    @classmethod
    def shared(cls, path: str | os.PathLike[str]) -> Folder:
        """Return the folder for one of several processes whose vectors are on a server.

        The graph takes several writers; only the embedded vector index needs an owner.

        Raises:
            InvalidInputError: it is a file, or its parent does not exist.
            StoreLockedError: a process has it open with its vectors inside.
            StoreUnavailableError: it cannot be created or written.
        """
        folder = cls._locked(path, seconds=SHARING_SECONDS)
        folder.close()
        return folder

    @classmethod
    def _locked(cls, path: str | os.PathLike[str], *, seconds: float) -> Folder:
        try:
            found = _checked(os.fspath(path))
            found.mkdir(mode=0o700, exist_ok=True)
            lock = FileLock(found / "owner.lock", mode=PRIVATE, thread_local=False)
            lock.acquire(timeout=seconds)
        except Timeout as error:
            raise StoreLockedError(_in_use(found)) from error
        except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
            raise _unusable(path, error) from error
        return cls(found, lock)

    @property
    def graph_path(self) -> Path:
        """The file of the graph."""
        return self.path / self.GRAPH

    @property
    def log_paths(self) -> tuple[Path, ...]:
        """The files that SQLite keeps beside the graph, the write-ahead log first.

        They belong to that very file: SQLite brings what they hold into whatever file has its name.
        """
        return tuple(
            self.graph_path.with_name(self.GRAPH + ending)
            for ending in ("-wal", "-shm", "-journal")
        )

    @property
    def vectors_path(self) -> Path:
        """The folder of the vector index."""
        return self.path / "chroma"

    def close(self) -> None:
        """Release the folder; calling it twice is harmless."""
        if self._lock.is_locked:
            (self.path / "owner.json").unlink(missing_ok=True)
            self._lock.release()

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    def _write_owner(self) -> None:
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": utc_now().isoformat()}
        written = self.path / f"owner.json.{os.getpid()}"
        try:
            create_private(written)
            written.write_text(json.dumps(owner), encoding="utf-8")
            written.replace(self.path / "owner.json")
        except OSError:
            written.unlink(missing_ok=True)
            raise


def _unusable(path: str | os.PathLike[str], error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"the folder {os.fspath(path)!r} cannot be used for memories: {error}; give one "
        "on a local disk that this user can write to"
    )


def _checked(given: str) -> Path:
    if not given or "\0" in given:
        raise InvalidInputError(f"{given!r} is not a path; give a folder for the memories")
    path = Path(given).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a file; give a folder for the memories")
    if not path.parent.is_dir():
        exists = path.parent.exists()
        fault = "is a file; give another folder" if exists else "does not exist; create it"
        raise InvalidInputError(f"{str(path.parent)!r} {fault}, or correct the path {given!r}")
    return path


def _in_use(folder: Path) -> str:
    try:
        owner = json.loads((folder / "owner.json").read_text(encoding="utf-8"))
        pid, host = int(owner["pid"]), str(owner["host"])
        since = datetime.fromisoformat(owner["since"])
    except (OSError, ValueError, KeyError, TypeError):  # not written yet, or just removed
        who = "another process has it open"
    else:
        here = pid == os.getpid() and host == socket.gethostname()
        who = "this process" if here else f"process {pid} on {host}"
        who += f" has had it open since {since:%Y-%m-%d %H:%M:%S} UTC"
        if url := _service_url(folder, pid):
            return (
                f"the folder {str(folder)!r} is in use by a service: {who}. Open its address "
                f"instead, as Hindsight({url!r})"
            )
    return (
        f"the folder {str(folder)!r} is in use: {who}. An embedded memory has one owner: close it "
        "there, or share that one Hindsight between threads and callers. For several processes, "
        f"close it, start `hindsight-memory serve --path {shlex.quote(str(folder))}`, and open "
        'Hindsight("http://localhost:8888") in each of them'
    )


def _service_url(folder: Path, pid: int) -> str:
    """Return where the process answers as a service; "" if it is none."""
    try:
        service = json.loads((folder / SERVICE).read_text(encoding="utf-8"))
        return str(service["url"]) if service["pid"] == pid else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
