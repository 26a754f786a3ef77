"""Sync the notes of a folder to a bank, or to a queue on disk while its store is unavailable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from hindsight_integrations import validation
from hindsight_integrations.durable import DurableRetain
from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    DocumentNotFoundError,
    HindsightError,
    InvalidInputError,
    NotFoundError,
)
from hindsight_integrations.models import Bank, MemoryType
from hindsight_integrations.results import Forgotten, RetainResult, SkipReason
from hindsight_integrations.retain.request import Item, digest
from hindsight_integrations.workspace.notes import Note, NoteFolder, NoteKind, kind_of
from hindsight_integrations.workspace.registry import Entry, Registry
from hindsight_integrations.workspace.results import Action, SyncEvent

PATIENCE = 60.0
"""Seconds that a retain may take before it counts as waiting: a language model may read it."""

_DELETED_LATER = "deleted once the store is back"


class NoteSync:
    """Syncs of one folder with one bank.

    Retains go through the queue of `durable`, so that none is lost. Deletions are not queued: they
    follow from the registry, and are made when the queue is empty.
    """

    def __init__(
        self, durable: DurableRetain, registry: Registry, folder: NoteFolder, bank_id: str
    ) -> None:
        self._durable = durable
        self._registry = registry
        self._folder = folder
        self._bank_id = bank_id

    def run(self, wanted: Iterable[str] | None) -> Iterator[SyncEvent]:
        """Sync these paths, or all, and yield an event for each note."""
        given = None
        if wanted is not None:
            paths = validation.items("paths", wanted, "a list of paths")
            given = [validation.text(path, "a path").rstrip("/") for path in paths]
        with self._registry.locked():
            bank = self._bank()
            entries = self._registry.entries(self._bank_id, bank)
            present = set(self._present(given))
            deleted = sorted(path for path in entries.keys() - present if _covered(path, given))
            # Recorded before it is retained: a note deleted after a crash in between is known.
            recorded = {**dict.fromkeys(present, Entry()), **entries}
            self._registry.replace(self._bank_id, bank, recorded)
            try:
                for path in deleted:
                    yield self._delete(path, bank, entries)
                for path in sorted(present):
                    event = self._sync_note(path, bank, entries)
                    if event is not None:
                        yield event
            finally:
                self._registry.replace(self._bank_id, bank, entries)

    def waiting(self) -> list[str]:
        """Return the paths of the notes that were queued and not seen stored since."""
        entries = self._registry.entries(self._bank_id, None)
        return sorted(path for path, entry in entries.items() if entry.operation)

    def _present(self, given: Sequence[str] | None) -> Iterator[str]:
        """Yield the paths of the notes there are, all or those given and below those given."""
        if given is None:
            yield from self._folder.paths()
            return
        for path in given:
            if ".." in PurePath(path).parts or PurePath(path).is_absolute():
                raise InvalidInputError(f"{path!r} is outside the root; give a path relative to it")
            place = self._folder.root / path
            folder_link = place.is_symlink() and place.is_dir()
            if folder_link or place.parent.resolve() != place.parent:
                continue  # links of folders are not followed
            if place.is_dir():
                yield from self._folder.paths(path)
            elif os.path.lexists(place) and self._folder.rules.admit(path):
                yield path

    def _bank(self) -> Bank | None:
        """Return the bank, made if there is none; None if the store is away, or behind."""
        if not (self._durable.available() and self._durable.drain(PATIENCE)):
            return None
        try:
            banks = self._durable.memory.banks
            try:
                return banks.get(self._bank_id)
            except BankNotFoundError:
                return banks.create(self._bank_id)
        except BankExistsError:  # another process was faster
            return banks.get(self._bank_id)
        except HindsightError as error:
            if not self._durable.note_failure(error):
                raise
            return None

    def _delete(self, path: str, bank: Bank | None, entries: dict[str, Entry]) -> SyncEvent:
        if bank is None:
            return SyncEvent(Action.WAITING, path, detail=_DELETED_LATER)
        try:
            removed = self._durable.memory.documents.delete(self._bank_id, path)
        except (DocumentNotFoundError, InvalidInputError):  # it was never stored
            removed = Forgotten()
        except HindsightError as error:
            if self._durable.note_failure(error):
                return SyncEvent(Action.WAITING, path, detail=_DELETED_LATER)
            return SyncEvent(Action.FAILED, path, detail=str(error), error=error)
        del entries[path]
        return SyncEvent(Action.DELETED, path, removed=len(removed))

    def _sync_note(
        self, path: str, bank: Bank | None, entries: dict[str, Entry]
    ) -> SyncEvent | None:
        """Sync one note; return None if it is blank or deleted, and was never retained."""
        try:
            note = self._folder.read(path)
        except NotFoundError:
            note = None
        except InvalidInputError as error:
            return SyncEvent(Action.REFUSED, path, detail=str(error))
        if note is None or validation.is_blank(note.text):
            return self._delete(path, bank, entries) if path in entries else None
        before = entries.get(path, Entry())
        entry = Entry(digest(note.text))
        if bank is None and before.digest == entry.digest:
            entries[path] = before
            action = Action.WAITING if before.operation else Action.UNCHANGED
            return SyncEvent(action, path, detail=before.operation)
        if before.operation:  # it may have been set aside, and is tried again
            self._durable.discard([before.operation])
        event, operation = self._retain(note)
        entries[path] = Entry() if event.action is Action.FAILED else Entry(entry.digest, operation)
        if before.operation and event.action is Action.UNCHANGED:
            return SyncEvent(Action.RETAINED, path, detail=f"sent as {before.operation}")
        return event

    def _retain(self, note: Note) -> tuple[SyncEvent, str | None]:
        """Retain a note; return the outcome, and the operation if it waits."""
        receipt = self._durable.retain_many(self._bank_id, [_item(note)])
        if receipt.queued:
            (operation,) = receipt.queued
            reason = self._durable.state().last_error
            detail = f"{operation}: {reason}" if reason else operation
            return SyncEvent(Action.WAITING, note.path, detail=detail), operation
        return _event(note.path, receipt.result), None


def metadata_of(path: str, kind: NoteKind) -> dict[str, str]:
    """Return the metadata that the memories of a note are retained with."""
    return {"source": "workspace", "path": path, "type": str(kind)}


def _item(note: Note) -> Item:
    kind = kind_of(note.path)
    return Item(
        note.text,
        context=kind.context,
        document_id=note.path,
        metadata=metadata_of(note.path, kind),
        type=MemoryType.EXPERIENCE if kind is NoteKind.SESSION_SUMMARY else None,
        file=note.path,
        modified=note.modified,
        markdown=True,
    )


def _event(path: str, result: RetainResult) -> SyncEvent:
    if result.failed:
        error = result.failed[0].error
        return SyncEvent(Action.FAILED, path, detail=str(error), error=error)
    reasons = {skipped.reason for skipped in result.skipped}
    is_unchanged = reasons == {SkipReason.UNCHANGED} and not result.stored and not result.removed
    action = Action.UNCHANGED if is_unchanged else Action.RETAINED
    return SyncEvent(action, path, len(result.stored), len(result.removed))


def _covered(path: str, given: Sequence[str] | None) -> bool:
    """Return True if a note is one of the paths given, or below one of them."""
    return given is None or any(path == top or path.startswith(f"{top}/") for top in given)
