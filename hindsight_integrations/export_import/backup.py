"""Backup: the graph of a memory, copied into a file while it is used, and a folder made of it."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hindsight_integrations import validation
from hindsight_integrations.display import counted
from hindsight_integrations.errors import (
    BankNotFoundError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StoreError,
)
from hindsight_integrations.export_import.atomic_file import PIPE, writing_beside
from hindsight_integrations.export_import.exporting import export_bank
from hindsight_integrations.export_import.importing import copy_bank
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.folder import Folder
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.sqlite.copying import Copied, Progress, copy_file, make_another

TRIES, PAUSE_SECONDS = 20, 0.5
"""Attempts to export a bank that other processes change, and the most seconds between two."""


@dataclass(frozen=True, slots=True)
class BackupResult(JsonForm):
    """Outcome of a backup, or of its restoring.

    Attributes:
        path: the file that was written, or the folder that was filled.
        banks: number of banks in it.
        memories: number of memories in all of them.
        bytes: size of the graph's file.
        seconds: duration.
    """

    path: str
    banks: int
    memories: int
    bytes: int
    seconds: float

    def __repr__(self) -> str:
        banks, memories = counted(self.banks, "bank"), counted(self.memories, "memory")
        return f"BackupResult({self.path!r}: {banks}, {memories}, {self.bytes:,} bytes)"


def back_up(
    runtime: Runtime, path: str | os.PathLike[str], progress: Progress | None = None
) -> BackupResult:
    """Copy the graph of an open memory into one file; see `Maintenance.backup`."""
    runtime.check_open()
    graph = runtime.graph
    if isinstance(graph, SqliteGraph):
        return _written(path, lambda copy: graph.copy_to(copy, progress))
    return _written(path, lambda copy: _copy_banks(runtime, copy, progress))


def _copy_banks(runtime: Runtime, target: Path, progress: Progress | None) -> Copied:
    """Bring the banks of another store into a file of this package, one after the other."""
    with tempfile.TemporaryDirectory(prefix="hindsight-backup-") as folder:
        made = SqliteGraph(Path(folder, Folder.GRAPH))
        try:
            banks = runtime.graph.list_banks()
            for done, stored in enumerate(banks, start=1):
                file = Path(folder, "bank.jsonl")
                with suppress(BankNotFoundError):  # deleted meanwhile
                    _export(runtime, stored.bank.id, file)
                    copy_bank(made, file)
                if progress is not None:
                    progress(done, len(banks))
            return made.copy_to(target)
        finally:
            made.close()


def _export(runtime: Runtime, bank_id: str, file: Path) -> None:
    """Export a bank; again, if another process changes it meanwhile."""
    for left in reversed(range(TRIES)):
        try:
            export_bank(runtime, bank_id, file)
        except StoreError as error:
            if type(error) is not StoreError or not left:
                raise
            time.sleep(PAUSE_SECONDS * random.random())
        else:
            return


def back_up_folder(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    progress: Progress | None = None,
) -> BackupResult:
    """Copy the graph of the folder of a memory into one file, also if another process has it open.

    Args:
        folder: the folder.
        path: the file; see `Maintenance.backup`.
        progress: called with (done, total), in pages of 4 KiB.

    Raises:
        NotFoundError: there is no memory in the folder.
        StoreCorruptError: it is damaged; an older file stays.
        StoreUnavailableError: it cannot be read, or the file cannot be written.
    """
    graph = Path(folder) / Folder.GRAPH
    if not graph.is_file() or not graph.stat().st_size:  # SQLite deletes the log of an empty file
        raise NotFoundError(
            f"there is no memory at {os.fspath(folder)}; give the folder that contains "
            f"{Folder.GRAPH}"
        )
    return _written(path, lambda copy: copy_file(graph, copy, progress))


def restore_folder(
    backup: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    progress: Progress | None = None,
) -> BackupResult:
    """Make the folder of a memory from a backup, completely or not at all.

    The vector index is made from the graph when the folder is opened. If the process is killed,
    what it left in the folder is removed by the next call.

    Args:
        backup: the file.
        folder: created if it does not exist.
        progress: called with (done, total), in pages of 4 KiB.

    Raises:
        ConflictError: the folder holds a memory, or what is left of one.
        InvalidInputError: the file is no backup.
        StoreCorruptError: it is damaged.
        SchemaVersionError: a newer release wrote it.
        StoreLockedError: a process has the folder open.
        StoreUnavailableError: the file cannot be read, or the folder cannot be written.
    """
    started = time.perf_counter()
    source = Path(validation.file_path("backup", backup))
    if not source.is_file():
        raise NotFoundError(f"there is no backup {str(source)!r}; give the path of its file")
    with Folder.open(folder) as owned:
        if owned.graph_path.exists() or owned.vectors_path.exists():
            raise ConflictError(
                f"the folder {str(owned.path)!r} already contains a memory, which is never "
                "overwritten; restore into another folder, or move this one away first"
            )
        if left := [path.name for path in owned.log_paths if path.exists()]:
            raise ConflictError(
                f"the folder {str(owned.path)!r} still has {', '.join(left)} of an earlier memory, "
                "which would be mixed into the restored one; restore into another folder, or move "
                "these files away first"
            )
        with writing_beside(owned.graph_path) as copy:
            copied = copy_file(source, copy, progress)
            make_another(copy)
        return _result(owned.graph_path, str(owned.path), copied, started)


def _written(path: str | os.PathLike[str], copy: Callable[[Path], Copied]) -> BackupResult:
    started = time.perf_counter()
    named = validation.file_path("path", path)
    if named == PIPE:
        raise InvalidInputError("a backup must be written to a file; give its path instead of '-'")
    with writing_beside(named) as unfinished:
        copied = copy(unfinished)
    return _result(Path(named), named, copied, started)


def _result(graph: Path, named: str, copied: Copied, started: float) -> BackupResult:
    seconds = time.perf_counter() - started
    return BackupResult(named, copied.banks, copied.memories, graph.stat().st_size, seconds)
