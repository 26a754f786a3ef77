"""`memory.banks`: create, read, change, delete, export and import banks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.export_import import (
    ExportResult,
    ImportResult,
    export_bank,
    import_bank,
    remove_unfinished,
)
from hindsight_integrations.models import Bank, BankStats, Disposition, Expiry, utc_now
from hindsight_integrations.namespaces.expiry import restamp
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.runtime import Runtime

MAX_PROFILE = 20_000
"""Longest mission, background or directive, in characters."""


class Banks(Namespace):
    """The banks of a memory store."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def create(
        self,
        bank_id: str,
        *,
        name: str = "",
        mission: str = "",
        background: str = "",
        disposition: Disposition | None = None,
        directives: Sequence[str] = (),
        expiry: Expiry | None = None,
    ) -> Bank:
        """Create an empty bank.

        Args:
            bank_id: any printable text without white space around it, at most 256 characters.
            name: name of its agent, or a display name. Turns of a speaker with this name count as
                the agent's own, unless another speaker has a role such as "assistant".
            mission: what the bank is for.
            background: what its agent should always know about itself.
            disposition: how its agent weighs what it remembers.
            directives: hard rules for reflection.
            expiry: times to live of its memories.

        Raises:
            BankExistsError: a bank with this id exists already.
            InvalidInputError: an argument cannot be used.
        """
        self._runtime.check_open()
        bank = Bank(
            id=validation.new_bank_id(bank_id),
            name=_profile("name", name),
            mission=_profile("mission", mission),
            background=_profile("background", background),
            disposition=_disposition(Disposition() if disposition is None else disposition),
            directives=_directives(directives),
            expiry=_expiry(Expiry() if expiry is None else expiry),
        )
        return self._runtime.graph.create_bank(bank, self._runtime.embedder_identity).bank

    def get(self, bank_id: str) -> Bank:
        """Return the bank. Raises `BankNotFoundError`."""
        return self._runtime.stored_bank(bank_id).bank

    def list(self) -> list[Bank]:
        """Return all banks, sorted by id."""
        self._runtime.check_open()
        return [stored.bank for stored in self._runtime.graph.list_banks()]

    def update(
        self,
        bank_id: str,
        *,
        name: str | None = None,
        mission: str | None = None,
        background: str | None = None,
        disposition: Disposition | None = None,
        directives: Iterable[str] | None = None,
        expiry: Expiry | None = None,
    ) -> Bank:
        """Change the given fields only. Raises `BankNotFoundError`.

        A new `expiry` also applies to stored memories, except those that were given their own
        expiry. Memories that it makes expired are hidden at once, and deleted soon after.
        """
        runtime = self._runtime
        given: dict[str, object] = {
            "name": None if name is None else _profile("name", name),
            "mission": None if mission is None else _profile("mission", mission),
            "background": None if background is None else _profile("background", background),
            "disposition": None if disposition is None else _disposition(disposition),
            "directives": None if directives is None else _directives(directives),
            "expiry": None if expiry is None else _expiry(expiry),
        }
        changed = {field: value for field, value in given.items() if value is not None}

        def with_changes(bank: Bank) -> Bank:  # of the fields as they are stored then
            return replace(bank, **changed, updated_at=utc_now())  # type: ignore[arg-type]

        with runtime.lock(runtime.stored_bank(bank_id).key):
            before = self.get(bank_id)
            wanted = with_changes(before)
            if wanted.expiry != before.expiry:
                # First: if this is interrupted, the same call finishes it.
                restamp(runtime, bank_id, before.expiry, wanted.expiry)
            return runtime.graph.update_bank(bank_id, with_changes).bank

    def delete(self, bank_id: str) -> None:
        """Delete a bank with everything in it, from both stores.

        The bank disappears at once; its rows are then removed in batches, by this call or, if it is
        interrupted, the next time the memory is opened. If there is no such bank but an unfinished
        import of it, the remains of the import are deleted. Raises `BankNotFoundError`.
        """
        self._runtime.check_open()
        is_there = self._runtime.graph.get_bank(validation.bank_id(bank_id)) is not None
        if not is_there and remove_unfinished(self._runtime, bank_id):
            return
        self._runtime.delete_bank(self._runtime.stored_bank(bank_id))

    def stats(self, bank_id: str) -> BankStats:
        """Return counts of the bank's contents. Raises `BankNotFoundError`."""
        self.get(bank_id)
        return self._runtime.graph.bank_stats(bank_id)

    def export(
        self,
        bank_id: str,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> ExportResult:
        """Export a bank with all its contents into one file; see docs/moving.md.

        The file appears, or replaces an older one, only once it is complete. Other threads wait to
        write to the bank until the export ends.

        Args:
            bank_id: which bank; its embedder may differ from this client's.
            path: the file, compressed if its name ends in ".gz"; "-" is standard output.
            progress: called with (done, total).

        Raises:
            BankNotFoundError: there is no such bank.
            InvalidInputError: `path` exists and is not a file.
            StoreUnavailableError: the file cannot be written.
            StoreError: a part of the bank cannot be read, or another process wrote to it during
                the export.
        """
        self.get(bank_id)
        return export_bank(self._runtime, bank_id, path, validation.progress(progress))

    def import_(
        self,
        path: str | os.PathLike[str],
        bank_id: str | None = None,
        *,
        reembed: bool = False,
        merge: bool = False,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> ImportResult:
        """Create a bank from an exported file, completely or not at all; see docs/moving.md.

        With `merge`, an existing bank keeps its profile, memories and mental models unchanged, and
        gains those of the file that it does not have. If a merge is interrupted, repeat the call to
        finish it.

        Args:
            path: the file; "-" is standard input.
            bank_id: another id for the bank; by default the one in the file.
            reembed: recompute all vectors with this client's embedder.
            merge: add the file to the existing bank with this id, if there is one; the vectors must
                come from that bank's embedder.
            progress: called with (done, None) while the file is checked, then with (done, total).

        Raises:
            BankExistsError: a bank with this id exists, and `merge` is False.
            ConflictError: that bank has another version of a document of the file.
            InvalidInputError: the file cannot be read.
            StoreCorruptError: the file is truncated, altered or not an exported bank; the message
                names the line. Or, with `merge`, a memory of it that the bank has too cannot be
                read there; the message names the memory.
            StoreError: the parts of the file contradict each other.
            SchemaVersionError: a newer release wrote the file.
            EmbedderMismatchError: the vectors come from another embedder, and `reembed` is False or
                `merge` is True.
        """
        return import_bank(
            self._runtime,
            path,
            bank_id,
            reembed=validation.flag("reembed", reembed),
            merge=validation.flag("merge", merge),
            progress=validation.progress(progress),
        )

    acreate = async_variant(create)
    aget = async_variant(get)
    alist = async_variant(list)
    aupdate = async_variant(update)
    adelete = async_variant(delete)
    astats = async_variant(stats)
    aexport = async_variant(export)
    aimport_ = async_variant(import_)


def _profile(what: str, value: str) -> str:
    return validation.text(value, what, most=MAX_PROFILE)


def _directives(values: Iterable[str]) -> tuple[str, ...]:
    given = validation.items("directives", values)
    return tuple(_profile("a directive", value) for value in given)


def _expiry(value: object) -> Expiry:
    if isinstance(value, Expiry):
        return value
    raise InvalidInputError(
        f"expiry is {validation.shown(value)}; give an Expiry, such as Expiry(timedelta(days=30))"
    )


def _disposition(value: object) -> Disposition:
    if isinstance(value, Disposition):
        return value
    raise InvalidInputError(
        f"disposition is {validation.shown(value)}; give Disposition(skepticism=1..5, "
        "literalism=1..5, empathy=1..5)"
    )
