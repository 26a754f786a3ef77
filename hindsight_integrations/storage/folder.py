"""The folder of an embedded memory, and the one process that owns it.

```
<folder>/memory.sqlite3   the graph, and all there is to lose
<folder>/chroma/          the vector index, made again from the graph if it is lost
<folder>/owner.lock       locked by the process that has the folder open
<folder>/owner.json       who that is, for the error that others get
```
The system lets go of the lock when its process ends, however it ends.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from hindsight_integrations.asynchronous import Closing
from hindsight_integrations.errors import (
    InvalidInputError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_integrations.model import utc_now


class Folder(Closing):
    """A folder owned by this process until closed. Use `Folder.open`."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Folder:
        """Own the folder at `path`, which is made if it does not exist.

        What else lies in it is left alone.

        Raises:
            InvalidInputError: it is a file, or its parent does not exist.
            StoreLockedError: this or another process has it open.
            StoreUnavailableError: it cannot be made or written.
        """
        try:
            place = _place(os.fspath(path))
            place.mkdir(exist_ok=True)
            folder = cls(place, FileLock(place / "owner.lock", thread_local=False))
            folder._own()
        except Timeout as error:
            raise StoreLockedError(_locked(place)) from error
        except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
            raise StoreUnavailableError(
                f"the folder {os.fspath(path)!r} cannot be used for memories: {error}; give one "
                "on a local disk that this user may write to"
            ) from error
        return folder

    @classmethod
    def shared(cls, path: str | os.PathLike[str]) -> Folder:
        """The folder for one of several processes, whose vectors lie on a server.

        The graph takes several writers; only the embedded vector index needs an owner.

        Raises:
            StoreLockedError: a process has it open with its vectors inside.
        """
        folder = cls.open(path)
        folder.close()
        return folder

    @property
    def graph_path(self) -> Path:
        """The file of the graph."""
        return self.path / "memory.sqlite3"

    @property
    def vectors_path(self) -> Path:
        """The folder of the vector index."""
        return self.path / "chroma"

    def close(self) -> None:
        """Let others have it; calling it twice is harmless."""
        if self._lock.is_locked:
            (self.path / "owner.json").unlink(missing_ok=True)
            self._lock.release()

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    def _own(self) -> None:
        self._lock.acquire(blocking=False)
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": utc_now().isoformat()}
        try:
            written = self.path / f"owner.json.{os.getpid()}"
            written.write_text(json.dumps(owner), encoding="utf-8")
            written.replace(self.path / "owner.json")
        except OSError:
            self._lock.release()
            raise


def _place(given: str) -> Path:
    if not given or "\0" in given:
        raise InvalidInputError(f"{given!r} is no path; give that of a folder for the memories")
    place = Path(given).expanduser().absolute()
    if place.exists() and not place.is_dir():
        raise InvalidInputError(f"{str(place)!r} is a file; give a folder for the memories")
    if not place.parent.is_dir():
        raise InvalidInputError(
            f"{str(place.parent)!r} does not exist; create it, or correct the path {given!r}"
        )
    return place


def _locked(place: Path) -> str:
    try:
        owner = json.loads((place / "owner.json").read_text(encoding="utf-8"))
        pid, host = int(owner["pid"]), str(owner["host"])
        since = datetime.fromisoformat(owner["since"])
    except (OSError, ValueError, KeyError, TypeError):  # it has not signed yet, or just left
        who = "another process has it open"
    else:
        here = pid == os.getpid() and host == socket.gethostname()
        who = "this process" if here else f"process {pid} on {host}"
        who += f" has had it open since {since:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"the folder {str(place)!r} is in use: {who}. An embedded memory has one owner: close it "
        "there, or share that one Hindsight between threads and callers. For several processes, "
        f"close it, start `chroma run --path {shlex.quote(str(place / 'server'))}`, and give each "
        'of them vectors="http://localhost:8000": it is filled from the graph'
    )
