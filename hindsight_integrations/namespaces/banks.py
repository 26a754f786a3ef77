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
from hindsight_integrations.runtime import Runtime

MAX_PROFILE = 20_000
"""Longest mission, background or directive, in characters."""


class Banks:
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
            bank_id: any printable text, at most 256 characters.
            name: of its agent, or for people to read. What a speaker of this name says is the
                agent's own, unless another speaker has a role such as "assistant".
            mission: what the bank is for.
            background: what its agent should always know of itself.
            disposition: how its agent weighs what it remembers.
            directives: hard rules for reflection.
            expiry: times to live of its memories.

        Raises:
            BankExistsError: there is one of this id.
            InvalidInputError: an argument cannot be used.
        """
        self._runtime.check_open()
        bank = Bank(
            id=validation.bank_id(bank_id),
            name=_profile("name", name),
            mission=_profile("mission", mission),
            background=_profile("background", background),
            disposition=_disposition(Disposition() if disposition is None else disposition),
            directives=_directives(directives),
            expiry=_expiry(Expiry() if expiry is None else expiry),
        )
        return self._runtime.graph.create_bank(bank, self._runtime.stamp).bank

    def get(self, bank_id: str) -> Bank:
        """Return the bank. Raises `BankNotFoundError`."""
        return self._runtime.stored_bank(validation.bank_id(bank_id)).bank

    def list(self) -> list[Bank]:
        """Return all banks, by id."""
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

        Another `expiry` counts for what is stored already too, unless it was given an expiry of
        its own: what it makes expired is hidden at once, and soon deleted.
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

        with runtime.lock(runtime.stored_bank(validation.bank_id(bank_id)).key):
            before = self.get(bank_id)
            wanted = with_changes(before)
            if wanted.expiry != before.expiry:
                # First: if this is interrupted, the same call finishes it.
                restamp(runtime, bank_id, before.expiry, wanted.expiry)
            return runtime.graph.update_bank(bank_id, with_changes).bank

    def delete(self, bank_id: str) -> None:
        """Delete a bank with everything in it, in both stores.

        It is gone at once; its rows are then removed in portions, by this call, or by the next
        opening if this one is interrupted. If there is no such bank, what an unfinished import of
        it left is deleted. Raises `BankNotFoundError`.
        """
        self._runtime.check_open()
        is_there = self._runtime.graph.get_bank(validation.bank_id(bank_id)) is not None
        if not is_there and remove_unfinished(self._runtime, bank_id):
            return
        self._runtime.delete_bank(self._runtime.stored_bank(bank_id))

    def stats(self, bank_id: str) -> BankStats:
        """Return counts of what a bank holds. Raises `BankNotFoundError`."""
        self.get(bank_id)
        return self._runtime.graph.bank_stats(bank_id)

    def export(
        self,
        bank_id: str,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> ExportResult:
        """Export a bank with all it holds into one file; see docs/moving.md.

        Until the file is whole it does not appear, and an older one stays. Other threads wait
        with their writes to the bank.

        Args:
            bank_id: which bank; its embedder need not be this engine's.
            path: the file, compressed if its name ends in ".gz"; "-" is standard output.
            progress: called with (done, total).

        Raises:
            BankNotFoundError: there is no such bank.
            InvalidInputError: there is something else than a file at `path`.
            StoreUnavailableError: the file cannot be written.
            StoreError: not all could be read, or another process wrote meanwhile.
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

        With `merge`, a bank that exists keeps what it has, and gains the rest: its profile, its
        memories and its mental models stay as they are. If this is interrupted, the same call
        finishes it.

        Args:
            path: the file; "-" is standard input.
            bank_id: id for the bank, if not its own.
            reembed: recompute all vectors with this client's embedder.
            merge: add the file to the bank of that id, if there is one; with vectors of the bank's
                embedder alone.
            progress: called with (done, None) while the file is checked, then with (done, total).

        Raises:
            BankExistsError: there is a bank of that id, and not `merge`.
            ConflictError: that bank has another version of a document of the file.
            InvalidInputError: the file cannot be read.
            StoreCorruptError: it is truncated, altered or no exported bank; it says in which line.
            SchemaVersionError: a newer release wrote it.
            EmbedderMismatchError: its vectors come from another embedder, and not `reembed`, or
                `merge`.
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
