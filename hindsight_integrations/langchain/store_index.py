"""What recall knows of a store's items: each is a document of the bank, under a name of its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hindsight_integrations import checks
from hindsight_integrations.adapting.banks import forget_document, recall
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.langchain.store_filter import Namespace
from hindsight_integrations.langchain.store_table import Unsent, digest
from hindsight_integrations.retain.request import Item

log = logging.getLogger("hindsight_integrations")

ITEM = "store_item"
"""Metadata field of a memory that names the item it tells of."""

EVERYTHING = 1_000_000
"""Tokens a search may fill: it is cut by its own limit, not by a budget."""


def scores(
    memory: Hindsight, bank: str, prefix: Namespace, query: str, min_score: float | None
) -> dict[str, float]:
    """How sure recall is of each item below a namespace, by `name_of`."""
    result = recall(
        memory,
        bank,
        query[: checks.MAX_QUERY],
        tags=[_tag(prefix)],
        max_tokens=EVERYTHING,
        min_score=min_score,
    )
    found: dict[str, float] = {}
    for recalled in result:  # best first; a long item has several memories
        found.setdefault(str(recalled.memory.metadata.get(ITEM)), recalled.score)
    return found


def tell(memory: Hindsight, bank: str, changes: Sequence[Unsent]) -> None:
    """Retain the items that are new or changed, and forget those that are gone.

    Raises:
        HindsightError: it failed; tell it all again.
    """
    fresh = [change for change in changes if change.text]
    if fresh:
        for failed in memory.retain_many(bank, map(_as_item, fresh)).failed:
            if not isinstance(failed.error, InvalidInputError):
                raise failed.error
            # It would fail for ever; the item itself is safe in the table.
            key = fresh[failed.index].key
            log.warning("queries will not find the item %r: %s", key, failed.error)
    for change in changes:
        if not change.text:
            forget_document(memory, bank, name_of(change.namespace, change.key))


def name_of(namespace: Namespace, key: str) -> str:
    """The document that tells of an item."""
    return f"item-{digest(*namespace, key)}"


def _as_item(change: Unsent) -> Item:
    """Its namespaces become tags, since a query may name any of them."""
    name = name_of(change.namespace, change.key)
    above = [change.namespace[:depth] for depth in range(len(change.namespace) + 1)]
    return Item(
        change.text,
        document_id=name,
        metadata={ITEM: name},
        tags=list(map(_tag, above)),
    )


def _tag(namespace: Namespace) -> str:
    return f"namespace-{digest(*namespace)}"
