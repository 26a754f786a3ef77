"""`memory.audit`: the changes of a bank: what was done, when, why and by whom."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.history import AuditEntry
from hindsight_integrations.models import as_datetime
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.private import create_private
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import AUDIT


class Audit(Namespace):
    """The audit log of everything stored, changed and deleted; it contains no memory texts."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(
        self,
        bank_id: str,
        *,
        since: datetime | None = None,
        actor: str | None = None,
        id: str | None = None,
    ) -> list[AuditEntry]:
        """Return the entries of a bank, oldest first.

        Args:
            bank_id: which bank.
            since: only entries from this time on.
            actor: only changes by this actor; see `acting_as`.
            id: only changes of this memory, document, entity or mental model, even if it no longer
                exists.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
        """
        self._runtime.bank(bank_id)
        start = validation.timestamp("since", since, self._runtime.settings.zone)
        first = None if start is None else as_datetime(start)
        who = validation.label_or_none("actor", actor)
        which = validation.label_or_none("id", id)
        return [
            entry
            for entry in self._runtime.graph.scan(bank_id, AUDIT)
            if (first is None or entry.at >= first)
            and who in (None, entry.actor)
            and which in (None, entry.id, entry.other)
        ]

    def export(self, bank_id: str, path: str | os.PathLike[str]) -> int:
        """Write all entries of a bank to a file, one JSON object per line; return their number.

        Raises:
            BankNotFoundError: there is no such bank.
            StoreUnavailableError: the file cannot be written.
        """
        return write_entries(self.list(bank_id), path)

    alist = async_variant(list)
    aexport = async_variant(export)


def write_entries(entries: Sequence[AuditEntry], path: str | os.PathLike[str]) -> int:
    """Write entries to a file, one JSON object per line; return their number.

    Raises:
        StoreUnavailableError: the file cannot be written.
    """
    target = Path(validation.file_path("path", path))
    try:
        create_private(target)
        with target.open("w", encoding="utf-8") as out:
            for entry in entries:
                line = asdict(entry) | {"at": entry.at.isoformat()}
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
    except (OSError, ValueError) as error:
        raise StoreUnavailableError(f"{target} cannot be written: {error}") from error
    return len(entries)
