"""The record of which notes of a root were retained, so that deleted ones can be recognised.

It lies in the root itself, in a hidden folder: a folder that is not the workspace, or one that is
not mounted, has no record, and nothing is deleted because of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock

from hindsight_integrations.errors import StoreCorruptError, StoreUnavailableError
from hindsight_integrations.models import Bank

FOLDER = ".hindsight"


class Registry:
    """The paths retained from a root, by bank. Its methods are called with the lock held.

    A bank is told by its id and when it was made: another store has a bank of that name too.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self._file = self._folder / "workspace.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold off other threads and processes that retain from this root.

        Raises:
            StoreUnavailableError: the root cannot be written to.
        """
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            lock = FileLock(self._folder / "workspace.lock", mode=0o600)
            lock.acquire()
        except OSError as error:
            raise StoreUnavailableError(
                f"{self._folder} cannot be written ({error.strerror}); the record of the notes "
                "that were retained has to be kept there"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def paths(self, bank: Bank) -> set[str]:
        """Return the paths of the notes that the bank may hold."""
        return set(self._read().get(_key(bank), ()))

    def replace(self, bank: Bank, paths: Set[str]) -> None:
        """Record the paths of a bank; on disk when this returns."""
        records = {**self._read(), _key(bank): sorted(paths)}
        with NamedTemporaryFile("w", encoding="utf-8", dir=self._folder, delete=False) as file:
            json.dump(records, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self._file)

    def _read(self) -> dict[str, list[str]]:
        try:
            records = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise StoreCorruptError(
                f"{self._file} is damaged ({error}); delete it to begin a new one: notes deleted "
                "before the next sync then have to be forgotten by hand"
            ) from error
        if not isinstance(records, dict):
            raise StoreCorruptError(f"{self._file} holds no record of notes; delete it")
        return records


def _key(bank: Bank) -> str:
    return f"{bank.id}@{bank.created_at.isoformat()}"
