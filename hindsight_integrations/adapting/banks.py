"""The verbs as an agent needs them: a bank that does not exist yet is an empty one.

An adapter makes no bank by reading: the first thing retained does.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import (
    BankNotFoundError,
    DocumentNotFoundError,
    MemoryNotFoundError,
)
from hindsight_integrations.language.llm import ModelUsage
from hindsight_integrations.reflections import NOTHING_FOUND, Context, Reflection
from hindsight_integrations.results import Failure, RecallResult

log = logging.getLogger("hindsight_integrations")


def recall(
    memory: Hindsight, bank_id: str | Sequence[str], query: str, **options: Any
) -> RecallResult:
    """`Hindsight.recall` from those of the banks that exist.

    Parts of recall that failed, and were left out, are logged: an agent has nowhere to look.
    """
    try:
        result = memory.recall(bank_id, query, **options)
    except BankNotFoundError:
        banks = (bank_id,) if isinstance(bank_id, str) else tuple(bank_id)
        known = [bank for bank in banks if _exists(memory, bank)]
        if not known:
            return RecallResult(banks, query)
        result = memory.recall(known, query, **options)
    _log(result.failures, bank_id)
    return result


def reflect(memory: Hindsight, bank_id: str, query: str, **options: Any) -> Reflection:
    """`Hindsight.reflect`; failed parts of recall are logged."""
    try:
        result = memory.reflect(bank_id, query, **options)
    except BankNotFoundError:
        return Reflection(bank_id, query, NOTHING_FOUND, (), Context(bank_id, query), ModelUsage())
    _log(result.failures, bank_id)
    return result


def forget(memory: Hindsight, bank_id: str, ids: Sequence[str]) -> tuple[str, ...]:
    """`Hindsight.forget` by ids.

    Raises:
        MemoryNotFoundError: one of them does not exist; nothing was deleted.
    """
    try:
        return memory.forget(bank_id, ids)
    except BankNotFoundError as error:
        raise MemoryNotFoundError("nothing is remembered; nothing was deleted") from error


def forget_document(memory: Hindsight, bank_id: str, document_id: str) -> None:
    """Forget what came from a document or session, if anything did."""
    with contextlib.suppress(BankNotFoundError, DocumentNotFoundError):
        memory.forget(bank_id, document_id=document_id)


def _exists(memory: Hindsight, bank_id: str) -> bool:
    try:
        memory.banks.get(bank_id)
    except BankNotFoundError:
        return False
    return True


def _log(failures: Iterable[Failure], bank_id: str | Sequence[str]) -> None:
    for failure in failures:
        log.warning("a recall in bank %r went on without %s", bank_id, failure)
