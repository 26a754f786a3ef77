"""Deletion of expired memories, on request and in the background."""

from __future__ import annotations

import logging
import threading
import weakref
from dataclasses import replace
from functools import partial

from hindsight_integrations.acting import ENGINE, acting_as
from hindsight_integrations.errors import ClosedError, HindsightError
from hindsight_integrations.models import utc_now
from hindsight_integrations.namespaces.forgetting import all_of, forget
from hindsight_integrations.namespaces.grace import documents_of
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import CONCLUSIONS_CITING, MEMORY, MemoryFilter
from hindsight_integrations.stores.reads import every_id

log = logging.getLogger("hindsight_integrations")


def purge(runtime: Runtime, bank_id: str) -> int:
    """Delete the expired memories of a bank permanently; return their number.

    A memory that a pinned conclusion rests on is kept, hidden, as its evidence, unless it was
    forgotten.
    """
    bank = runtime.stored_bank(bank_id)
    with runtime.lock(bank.key):
        filter = MemoryFilter(now=None, include_invalid=True, expired_by=utc_now())
        expired = every_id(runtime.graph, bank_id, filter)
        hidden = runtime.graph.filter_ids(bank_id, expired, replace(filter, only_invalid=True))
        citing = runtime.graph.read(bank_id, CONCLUSIONS_CITING, expired)
        cited_by = sorted({id for ids in citing.values() for id in ids})
        conclusions = runtime.graph.read(bank_id, MEMORY, cited_by)
        pinned = {id for id, memory in conclusions.items() if memory.pinned}
        gone = [id for id in expired if id in hidden or pinned.isdisjoint(citing.get(id, ()))]
        documents = documents_of(runtime.graph, bank_id, sorted(hidden))
        number = len(forget(runtime, bank_id, gone, None)) if gone else 0
        for id in documents:
            if next(all_of(runtime, bank_id, id), None) is None:
                forget(runtime, bank_id, (), id)
        return number


def purge_in_background(runtime: Runtime) -> None:
    """Delete expired memories regularly, in a thread that ends with the runtime.

    The thread does not keep a runtime alive. A failure is logged, and the deletion is retried.
    """
    interval = runtime.settings.purge_interval
    if interval:
        keep_purging = partial(_keep_purging, weakref.ref(runtime), runtime.closing, interval)
        runtime.in_background(keep_purging, "hindsight-expiry")


def _keep_purging(
    reference: weakref.ref[Runtime], closing: threading.Event, interval: float
) -> None:
    while not closing.is_set() and (runtime := reference()) is not None:
        _purge_all(runtime)
        del runtime
        closing.wait(interval)


def _purge_all(runtime: Runtime) -> None:
    try:
        for stored in runtime.graph.list_banks(expired_by=utc_now()):
            if not runtime.closing.is_set():
                with acting_as(ENGINE, "expired"):
                    purge(runtime, stored.bank.id)
    except ClosedError:
        log.debug("closed; expired memories are deleted the next time the memory is opened")
    except HindsightError as error:
        log.warning("expired memories could not be deleted yet: %s", error)
