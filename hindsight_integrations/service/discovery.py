"""Find the service that has a folder open, from the file it leaves there.

The file, `service.json`, is readable by its user only, since it holds the token. One left by a
killed process is recognised by the folder's lock, which the operating system has released.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout

from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.private import PRIVATE, create_private
from hindsight_integrations.stores.folder import SERVICE


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that has a folder open.

    Attributes:
        url: where it answers, such as "http://127.0.0.1:8888".
        pid: id of its process.
        token: to send with requests; "" if it asks for none.
    """

    url: str
    pid: int
    token: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """The URL with the token, as `Hindsight` takes it."""
        scheme, _, place = self.url.partition("://")
        return f"{scheme}://:{quote(self.token, safe='')}@{place}" if self.token else self.url


def find_service(folder: str | os.PathLike[str]) -> RunningService | None:
    """Return the service that has a folder open; None if none has.

    Raises:
        StoreUnavailableError: the folder cannot be read.
    """
    path = Path(os.fspath(folder)).expanduser()
    try:
        service = RunningService(**json.loads((path / SERVICE).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError):  # being written
        return None
    except OSError as error:
        raise StoreUnavailableError(
            f"{str(path / SERVICE)!r} cannot be read: {error}; run as the user who runs the service"
        ) from error
    return service if _owner(path) == service.pid and _is_held(path) else None


@contextmanager
def announced(folder: str | os.PathLike[str] | None, service: RunningService) -> Iterator[None]:
    """Let others find the service while the block runs; the folder is open in this process.

    A folder that this process does not own, since the memory is on servers or in RAM, is left
    alone.
    """
    target = Path(os.fspath(folder or "")).expanduser().absolute() / SERVICE
    if _owner(target.parent) != os.getpid():
        yield
        return
    written = target.with_name(f"{SERVICE}.{os.getpid()}")
    written.unlink(missing_ok=True)
    create_private(written)
    written.write_text(json.dumps(asdict(service)), encoding="utf-8")
    written.replace(target)
    try:
        yield
    finally:
        target.unlink(missing_ok=True)


def _is_held(folder: Path) -> bool:
    """Return True if a process holds the folder's lock."""
    lock = FileLock(folder / "owner.lock", mode=PRIVATE, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False


def _owner(folder: Path) -> int | None:
    try:
        return int(json.loads((folder / "owner.json").read_text(encoding="utf-8"))["pid"])
    except (OSError, ValueError, KeyError, TypeError):  # being written
        return None
