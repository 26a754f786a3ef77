"""`memory.banks`: make, read, change and delete banks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.core import Core
from hindsight_integrations.errors import BankNotFoundError, InvalidInputError
from hindsight_integrations.model import Bank, BankStats, Disposition, utc_now
from hindsight_integrations.moving.exporting import ExportResult, export_bank
from hindsight_integrations.moving.importing import ImportResult, import_bank

MAX_PROFILE = 20_000
"""Longest mission, background or directive, in characters."""


class Banks:
    """The banks of a memory."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def create(
        self,
        bank_id: str,
        *,
        name: str = "",
        mission: str = "",
        background: str = "",
        disposition: Disposition | None = None,
        directives: Sequence[str] = (),
    ) -> Bank:
        """Make an empty bank.

        Args:
            bank_id: any printable text, at most 256 characters.
            name: for people to read.
            mission: what the bank is for.
            background: what its agent should always know of itself.
            disposition: how its agent weighs what it remembers.
            directives: hard rules for reflection.

        Raises:
            BankExistsError: there is one of this id.
            InvalidInputError: an argument cannot be used.
        """
        self._core.check_open()
        bank = Bank(
            id=checks.bank_id(bank_id),
            name=_profile("name", name),
            mission=_profile("mission", mission),
            background=_profile("background", background),
            disposition=_disposition(disposition or Disposition()),
            directives=_directives(directives),
        )
        return self._core.graph.create_bank(bank, self._core.stamp).bank

    def get(self, bank_id: str) -> Bank:
        """The bank. Raises `BankNotFoundError`."""
        self._core.check_open()
        stored = self._core.graph.get_bank(checks.bank_id(bank_id))
        if stored is None:
            raise BankNotFoundError(f"there is no bank {bank_id!r}; {self._existing()}")
        return stored.bank

    def list(self) -> list[Bank]:
        """All banks, by id."""
        self._core.check_open()
        return [stored.bank for stored in self._core.graph.list_banks()]

    def update(
        self,
        bank_id: str,
        *,
        name: str | None = None,
        mission: str | None = None,
        background: str | None = None,
        disposition: Disposition | None = None,
        directives: Iterable[str] | None = None,
    ) -> Bank:
        """Change what is given, and leave the rest. Raises `BankNotFoundError`."""
        old = self.get(bank_id)
        bank = replace(
            old,
            name=old.name if name is None else _profile("name", name),
            mission=old.mission if mission is None else _profile("mission", mission),
            background=old.background if background is None else _profile("background", background),
            disposition=old.disposition if disposition is None else _disposition(disposition),
            directives=old.directives if directives is None else _directives(directives),
            updated_at=utc_now(),
        )
        self._core.graph.replace_bank(bank)
        return bank

    def delete(self, bank_id: str) -> None:
        """Delete a bank with everything in it, in both stores.

        It is gone at once; its rows are then removed in portions, by this call, or by the next
        opening if this one is interrupted. Raises `BankNotFoundError`.
        """
        self.get(bank_id)
        self._core.delete_bank(bank_id)

    def stats(self, bank_id: str) -> BankStats:
        """How much a bank holds. Raises `BankNotFoundError`."""
        self.get(bank_id)
        return self._core.graph.bank_stats(bank_id)

    def export(
        self,
        bank_id: str,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> ExportResult:
        """Write a bank with all it holds into one file; see docs/moving.md.

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
        return export_bank(self._core, bank_id, path, progress)

    def import_(
        self,
        path: str | os.PathLike[str],
        bank_id: str | None = None,
        *,
        reembed: bool = False,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> ImportResult:
        """Make a bank of an exported file, all of it or nothing; see docs/moving.md.

        Args:
            path: the file; "-" is standard input.
            bank_id: id for the bank, if not its own.
            reembed: make all vectors anew with this engine's embedder.
            progress: called with (done, None) while the file is checked, then with (done, total).

        Raises:
            BankExistsError: there is a bank of that id.
            InvalidInputError: the file cannot be read.
            StoreCorruptError: it is truncated, altered or no exported bank; it says in which line.
            SchemaVersionError: a newer release wrote it.
            EmbedderMismatchError: its vectors come from another embedder, and not `reembed`.
        """
        return import_bank(self._core, path, bank_id, reembed=reembed, progress=progress)

    def _existing(self) -> str:
        ids = [bank.id for bank in self.list()]
        if not ids:
            return "there are none yet; retain something, or create one"
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        return "there are " + ", ".join(map(repr, ids[:5])) + more

    acreate = twin(create)
    aget = twin(get)
    alist = twin(list)
    aupdate = twin(update)
    adelete = twin(delete)
    astats = twin(stats)
    aexport = twin(export)
    aimport_ = twin(import_)


def _profile(what: str, value: str) -> str:
    return checks.text(value, what, most=MAX_PROFILE)


def _directives(values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise InvalidInputError("directives is a single text; give a list of texts")
    return tuple(_profile("a directive", value) for value in values)


def _disposition(value: object) -> Disposition:
    if isinstance(value, Disposition):
        return value
    raise InvalidInputError(
        f"disposition is {checks.shown(value)}; give Disposition(skepticism=1..5, "
        "literalism=1..5, empathy=1..5)"
    )
