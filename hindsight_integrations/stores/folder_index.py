"""The vector index in the folder of a memory: opened, and rebuilt from the graph if damaged."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from hindsight_integrations.errors import StoreCorruptError, StoreUnavailableError
from hindsight_integrations.models import utc_now
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import GraphStore, VectorIndex
from hindsight_integrations.stores.chroma.files import holds_index, was_used
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.chroma.probe import is_sound
from hindsight_integrations.stores.folder import Folder
from hindsight_integrations.stores.index_lease import check_replaceable, on_this_host

log = logging.getLogger("hindsight_integrations")

ROOM = 16 << 20
"""Bytes that must be free to rebuild an index, in addition to the size of the damaged one."""


def check_graph_file(folder: Folder) -> None:
    """Check that a folder with other parts of a memory has the graph's file, and not an empty one.

    These parts are an index that was used, or a write-ahead log. To be called before SQLite opens
    the file: it deletes the log of a file that is empty.

    Raises:
        StoreCorruptError: the file is missing or empty.
    """
    path, log_path = folder.graph_path, folder.log_paths[0]
    # The log first: another process that makes the memory writes the file before its log.
    has_log = _is_filled(log_path)
    if _is_filled(path):
        return
    state = "empty" if path.exists() else "missing"
    if has_log:
        raise StoreCorruptError(
            f"the folder {str(folder.path)!r} has {log_path.name}, a part of a memory, but its "
            f"file {path.name} is {state}: the memories themselves are missing. Put that file "
            "back beside it if it was moved; else restore a backup into another folder "
            "(hindsight-memory restore), or import an export; to start with an empty memory, "
            f"delete {str(log_path)!r} and {str(folder.vectors_path)!r} first, or open another "
            "folder"
        )
    if was_used(folder.vectors_path):
        raise StoreCorruptError(_lost_graph(folder, f"its file {path.name} is {state}"))


def open_index(folder: Folder, graph: GraphStore) -> ChromaVectors:
    """Open the folder's vector index, an empty one if it is missing or damaged.

    For an empty one, all vectors of the graph are queued, to be written by the next `flush`.
    Damaged files are renamed to `chroma.damaged-<time>`, until the new index is found sound.

    Raises:
        InvalidInputError: the index is missing or damaged, and a process uses another one.
        StoreCorruptError: the index has vectors, and the graph has none of their banks.
        StoreUnavailableError: the folder cannot be read or written, or its disk has no room for
            an index to be made again.
    """
    path = folder.vectors_path
    if is_sound(path):
        try:
            index = ChromaVectors.in_folder(path)
        except StoreCorruptError as error:
            log.warning("%s", error)
        else:
            try:
                _check_same_memory(folder, graph, index)
                _remove_put_aside(path, graph)
            except BaseException:
                index.close()
                raise
            return index
    check_replaceable(graph, on_this_host(str(path)))
    _check_room(path)
    queued = sum(sync.requeue_all(graph, bank.bank.id) for bank in sync.vector_owners(graph))
    if path.exists():
        _put_aside(path)
    if queued:
        log.warning("the vector index is being rebuilt from the graph: %d vectors", queued)
    return ChromaVectors.in_folder(path)


def _is_filled(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _check_same_memory(folder: Folder, graph: GraphStore, index: VectorIndex) -> None:
    """Raise `StoreCorruptError` if the index has vectors and the graph has no bank at all."""
    if not sync.vector_owners(graph) and not graph.pending_vectors(1) and index.keys():
        raise StoreCorruptError(_lost_graph(folder, f"its file {folder.GRAPH} contains no bank"))


def _lost_graph(folder: Folder, state: str) -> str:
    return (
        f"the folder {str(folder.path)!r} has the vector index of a memory, but {state}: the "
        "memories themselves are missing. If they are on a server, give its URL, as in "
        "graph='neo4j://localhost:7687'. Restore a backup into another folder (hindsight-memory "
        "restore), or import an export; to start with an empty memory, delete "
        f"{str(folder.vectors_path)!r} first, or open another folder"
    )


def _check_room(path: Path) -> None:
    """Raise `StoreUnavailableError` unless the disk has room to rebuild the index.

    Without room even an intact index fails to load.
    """
    if not holds_index(path):
        return
    needed = ROOM + sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    free = shutil.disk_usage(path).free
    if free < needed:
        raise StoreUnavailableError(
            f"the vector index {str(path)!r} cannot be loaded, and rebuilding it needs "
            f"{needed / 1e6:.0f} MB, but only {free / 1e6:.0f} MB are free on its disk; "
            "free some space. Nothing was changed"
        )


def _remove_put_aside(path: Path, graph: GraphStore) -> None:
    """Delete damaged indexes that were put aside, once all of the graph is in the new one."""
    aside = sorted(path.parent.glob(f"{path.name}.damaged-*"))
    if aside and not graph.pending_vectors(1):
        for damaged in aside:
            shutil.rmtree(damaged, ignore_errors=True)
        log.info("%d damaged vector indexes were deleted; the new one is sound", len(aside))


def _put_aside(path: Path) -> None:
    aside = path.with_name(f"{path.name}.damaged-{utc_now():%Y%m%dT%H%M%S%f}")
    try:
        path.rename(aside)
    except OSError as error:
        raise StoreUnavailableError(
            f"the damaged vector index {str(path)!r} cannot be renamed: {error}; delete it, "
            "and it is rebuilt from the graph"
        ) from error
    log.warning("the damaged vector index was moved to %s until the new one is sound", aside)
