"""The record of which notes of a root were retained, so that deleted ones can be recognised.

It is in a hidden folder of the root: another folder, or a root that is not mounted, has no record,
so no note counts as deleted there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple, TypeAlias, TypeGuard

from filelock import FileLock

from hindsight_integrations.errors import StoreCorruptError, StoreUnavailableError
from hindsight_integrations.models import Bank
from hindsight_integrations.private import PRIVATE

FOLDER = ".hindsight"

_Records: TypeAlias = dict[str, dict[str, list[str | None]]]
"""Fields of the entry of each path, by bank."""


class Entry(NamedTuple):
    """State of a note: hash of the text that was retained, and its operation while it is queued."""

    digest: str = ""
    operation: str | None = None


class Registry:
    """The notes retained from a root, by bank. Its methods are called with the lock held.

    A bank is identified by its id and creation time, since another store may have a bank of the
    same id. While the store is unavailable, the latest recorded bank of the id is meant.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self._file = self._folder / "workspace.json"

    @property
    def queue(self) -> Path:
        """The file of queued retains; its folder is created.

        Raises:
            StoreUnavailableError: the root cannot be written to.
        """
        self._make_folder()
        return self._folder / "retains.queue"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out other threads and processes that retain from this root.

        Raises:
            StoreUnavailableError: the root cannot be written to.
        """
        self._make_folder()
        try:
            lock = FileLock(self._folder / "workspace.lock", mode=PRIVATE)
            lock.acquire()
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            yield
        finally:
            lock.release()

    def entries(self, bank_id: str, bank: Bank | None) -> dict[str, Entry]:
        """Return the notes that the bank may hold, by path.

        Args:
            bank_id: its id.
            bank: the bank, or None if the store is unavailable.
        """
        records = self._read()
        unknown = {} if bank is None else records.get(_key(bank_id, None), {})
        found = {**unknown, **records.get(self._key_of(bank_id, bank, records), {})}
        return {path: Entry(digest or "", operation) for path, (digest, operation) in found.items()}

    def replace(self, bank_id: str, bank: Bank | None, entries: Mapping[str, Entry]) -> None:
        """Record the notes of a bank; on disk when this returns."""
        before = self._read()
        key = self._key_of(bank_id, bank, before)
        records = {**before, key: {path: [*entries[path]] for path in sorted(entries)}}
        if bank is not None:
            records.pop(_key(bank_id, None), None)
        if records == before:
            return
        with NamedTemporaryFile("w", encoding="utf-8", dir=self._folder, delete=False) as file:
            json.dump(records, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self._file)

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"{self._folder} cannot be written ({error.strerror}); the record of retained "
            "notes is stored there"
        )

    def _key_of(self, bank_id: str, bank: Bank | None, records: _Records) -> str:
        if bank is not None:
            return _key(bank_id, bank)
        times = (key.rpartition("@") for key in records)
        return max(
            (f"{id}@{time}" for id, _, time in times if id == bank_id), default=f"{bank_id}@"
        )

    def _read(self) -> _Records:
        try:
            records = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise StoreCorruptError(
                f"{self._file} is damaged ({error}); delete it to start a new one; notes "
                "deleted before the next sync must then be forgotten by hand"
            ) from error
        if not _is_record(records):
            raise StoreCorruptError(f"{self._file} is not a record of notes; delete it")
        return records


def _is_record(records: object) -> TypeGuard[_Records]:
    return isinstance(records, dict) and all(
        isinstance(notes, dict)
        and all(
            isinstance(entry, list) and len(entry) == len(Entry._fields) for entry in notes.values()
        )
        for notes in records.values()
    )


def _key(bank_id: str, bank: Bank | None) -> str:
    return f"{bank_id}@{bank.created_at.isoformat() if bank else ''}"
