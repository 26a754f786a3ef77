"""A LangGraph store: an exact table of items, searched by recall.

The table decides which items there are; recall only ranks them by a query. Items that recall does
not know (yet) follow those it knows. For recall, each item is a document of the bank.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeGuard

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)
from langgraph.store.base import Item as StoredItem

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import ContextManaged
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError, HindsightError, InvalidInputError
from hindsight_integrations.integrations.common import checked_memory, forget_document, recall
from hindsight_integrations.integrations.langchain.conversions import BankId, bank_of, checked_bank
from hindsight_integrations.integrations.langchain.store_filter import (
    WHOLE,
    Namespace,
    fits,
    listed,
    matches,
    searched_text,
)
from hindsight_integrations.integrations.langchain.store_table import (
    Row,
    StoreTable,
    Unsent,
    digest,
)
from hindsight_integrations.models import as_datetime, utc_now
from hindsight_integrations.retain.request import Item

log = logging.getLogger("hindsight_integrations")

ITEM = "store_item"
"""Metadata field of a memory with the document id of its item."""

LAG = 100
"""Part of the time to live of an item by which that of its memories may lag behind it."""

EVERYTHING = 1_000_000
"""Token budget of a search, which is cut by its own limit instead."""


class HindsightStore(ContextManaged, BaseStore):
    """LangGraph's long-term store, searched by time, people, meaning and exact terms at once.

    `get`, `put`, `delete`, filters, namespaces and time-to-live are those of an exact table.
    `search(query=...)` puts the items in the order of recall, with its score.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the engine.
        bank_id: the bank's id, or a function of the runtime of the graph that runs. Banks
            do not see each other's items.
        path: the SQLite file of the items, for instance in the engine's folder; ":memory:" for a
            store that is lost when closed, as `Hindsight.in_memory()` is.
        fields: paths of a value that queries search, unless `put` names its own: "$" for all of
            it, "title", "author.name", "notes[*].text" and so on.
        min_score: with a query, leave out items of a lower score, 0 to 1.
        ttl: LangGraph's `TTLConfig`, in minutes; expired items are gone at once, from the store
            and from every recall of the bank.
        clock: returns the current time, timezone-aware.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightStore

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        store = HindsightStore(memory, bank_id="team", path=":memory:")  # or "./store.sqlite3"
        ```

    Use:
        ```python
        store.put(("users", "ann"), "food", {"text": "Ann is allergic to nuts.", "strength": 3})
        store.put(("users", "ann"), "home", {"text": "Ann lives in Bergen.", "strength": 1})

        print(store.get(("users", "ann"), "home").value["text"])
        print([item.key for item in store.search(("users",), filter={"strength": {"$gte": 2}})])
        print(store.search(("users",), query="What can she not eat?")[0].key)
        ```

        ```text
        Ann lives in Bergen.
        ['food']
        food
        ```

    Use within a graph:
        ```python
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.runtime import Runtime

        def answer(state: MessagesState, runtime: Runtime):
            question = state["messages"][-1].content
            best = runtime.store.search(("users", "ann"), query=question, limit=1)
            return {"messages": [("assistant", best[0].value["text"])]}

        builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
        graph = builder.compile(store=store)
        state = graph.invoke({"messages": [("user", "Where does Ann live?")]})
        print(state["messages"][-1].content)
        ```

        ```text
        Ann lives in Bergen.
        ```

    A batch reads before it writes, whatever the order of its operations, and the last of several
    writes to a key holds, as in LangGraph's `InMemoryStore`. A value is anything that JSON has.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Hindsight,
        bank_id: BankId,
        *,
        path: str | os.PathLike[str],
        fields: Sequence[str] = (WHOLE,),
        min_score: float | None = None,
        ttl: TTLConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._memory = checked_memory(memory)
        self._bank_id = checked_bank(bank_id)
        self._fields = (fields,) if isinstance(fields, str) else tuple(fields)
        self._min_score = min_score
        self._clock = clock
        self.ttl_config = ttl
        self._lock = threading.RLock()
        self._sending = threading.Lock()
        self._ends: dict[str, datetime] = {}
        """When the memories of a document expire, for items that have a time to live."""
        self._table = StoreTable(path)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations, and return their results in the same order.

        Raises:
            InvalidInputError: a value or filter cannot be used; nothing was written.
            StoreUnavailableError: the file cannot be read or written.
        """
        asked = list(ops)
        for op in asked:
            _check(op)
        bank = bank_of(self._bank_id)
        scores = [self._scores(bank, op) if _asks(op) else None for op in asked]
        now = as_datetime(self._clock())
        touched: dict[str, datetime] = {}
        with self._lock, self._table.transaction():
            self._table.expire(now)
            results = [
                self._read(bank, op, ranks, now, touched)
                for op, ranks in zip(asked, scores, strict=True)
            ]
            writes = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
            for op in writes.values():
                self._write(bank, op, now)
        if writes or touched:
            try:
                self._send(bank)
                self._extend(bank, touched, now)
            except HindsightError as error:
                log.warning("queries will find the latest items of %r later: %s", bank, error)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, without blocking the event loop."""
        return await asyncio.to_thread(self.batch, ops)

    def close(self) -> None:
        """Close the file; may be called twice. The engine stays open."""
        with self._lock:
            self._table.close()

    def _read(
        self,
        bank: str,
        op: Op,
        scores: Mapping[str, float] | None,
        now: datetime,
        touched: dict[str, datetime],
    ) -> Result:
        """Return the result of an operation; add the items that live longer now to `touched`."""
        if isinstance(op, ListNamespacesOp):
            fitting = [n for n in self._table.namespaces(bank) if fits(n, op.match_conditions)]
            return listed(fitting, op.max_depth, op.limit, op.offset)
        if isinstance(op, SearchOp):
            page = self._page(bank, op, scores)
            if op.refresh_ttl:
                touched |= self._touched([row for row, _ in page], now)
            return [SearchItem(**_fields(row), score=score) for row, score in page]
        if isinstance(op, GetOp) and (row := self._table.get(bank, op.namespace, op.key)):
            if op.refresh_ttl:
                touched |= self._touched([row], now)
            return StoredItem(**_fields(row))
        return None

    def _touched(self, rows: Sequence[Row], now: datetime) -> dict[str, datetime]:
        """Restart the time to live of items; return the end of each by its document's id."""
        ends = self._table.touch([row.id for row in rows], now)
        return {document_of(r.namespace, r.key): ends[r.id] for r in rows if r.id in ends}

    def _extend(self, bank: str, touched: Mapping[str, datetime], now: datetime) -> None:
        """Let the memories of items live as long as these; to a hundredth of the time that is left.

        So a burst of reads writes to the bank once.
        """
        for name, end in touched.items():
            known = self._ends.get(name)
            if known is not None and abs(end - known) * LAG <= end - now:
                continue
            with suppress(BankNotFoundError):  # no query can find any of its items
                held = self._memory.memories.list(bank, document_id=name, state="any").items
                for memory in held:
                    self._memory.memories.update(bank, memory.id, expires_at=self._real(end))
            self._ends[name] = end

    def _real(self, end: datetime | None) -> datetime | None:
        """Return the time that the store's clock shows as `end`, by the clock of recall."""
        if end is None:
            return None
        left = end - as_datetime(self._clock())
        now = utc_now()
        return now + min(left, datetime.max.replace(tzinfo=UTC) - now)

    def _page(
        self, bank: str, op: SearchOp, scores: Mapping[str, float] | None
    ) -> list[tuple[Row, float | None]]:
        """Return the items of a search, best first, each with its score if it has one."""
        rows = self._table.scan(bank, op.namespace_prefix)
        scored: Iterable[tuple[Row, float | None]]
        if scores is None:
            scored = ((row, None) for row in rows if matches(row.value, op.filter))
        else:
            scored = self._ranked(list(rows), op, scores)
        return list(islice(scored, op.offset, op.offset + op.limit))

    def _ranked(
        self, rows: Sequence[Row], op: SearchOp, scores: Mapping[str, float]
    ) -> list[tuple[Row, float | None]]:
        names = (document_of(row.namespace, row.key) for row in rows)
        # Recall returns one of several items with the same text.
        by_text = {
            row.text_digest: scores[name]
            for row, name in zip(rows, names, strict=True)
            if name in scores
        }
        scored = [
            (row, by_text.get(row.text_digest)) for row in rows if matches(row.value, op.filter)
        ]
        if self._min_score is not None:
            scored = [(row, score) for row, score in scored if score is not None]
        return sorted(scored, key=lambda pair: -1.0 if pair[1] is None else pair[1], reverse=True)

    def _scores(self, bank: str, op: SearchOp) -> dict[str, float]:
        """Return how well items answer the query, by their documents' ids."""
        self._send(bank)
        result = recall(
            self._memory,
            bank,
            str(op.query)[: validation.MAX_QUERY],
            tags=[_tag(op.namespace_prefix)],
            max_tokens=EVERYTHING,
            min_score=self._min_score,
            fill=True,
        )
        scores: dict[str, float] = {}
        for recalled in result:  # best first; a long item has several memories
            scores.setdefault(str(recalled.memory.metadata.get(ITEM)), recalled.score)
        return scores

    def _write(self, bank: str, op: PutOp, now: datetime) -> None:
        if op.value is None:
            self._table.delete(bank, op.namespace, op.key)
            return
        text = searched_text(op.value, op.index, self._fields)
        self._table.put(bank, op.namespace, op.key, op.value, text=text, ttl=op.ttl, now=now)

    def _send(self, bank: str) -> None:
        """Bring recall up to date with the table.

        Raises:
            HindsightError: it failed; the next call tries again.
        """
        with self._sending:
            with self._lock, self._table.transaction():
                changes = self._table.unsent(bank)
            if not changes:
                return
            _apply(self._memory, bank, changes, self._real)
            names = {document_of(c.namespace, c.key): c.expires_at for c in changes}
            self._ends |= {name: end for name, end in names.items() if end is not None}
            with self._lock, self._table.transaction():
                self._table.sent([change.id for change in changes])


def _check(op: Op) -> None:
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise InvalidInputError(
            f"{validation.shown(op)} is no operation; give a GetOp, SearchOp, PutOp "
            "or ListNamespacesOp"
        )
    validate_op_namespace(op)
    if isinstance(op, SearchOp | ListNamespacesOp):
        validation.not_negative("limit", op.limit)
        validation.not_negative("offset", op.offset)


def _asks(op: Op) -> TypeGuard[SearchOp]:
    """Return True for a search with a query that is not blank."""
    return isinstance(op, SearchOp) and not validation.is_blank(op.query or "")


def _fields(row: Row) -> dict[str, Any]:
    return {
        name: value for name, value in row._asdict().items() if name not in ("id", "text_digest")
    }


def _apply(
    memory: Hindsight,
    bank: str,
    changes: Sequence[Unsent],
    real: Callable[[datetime | None], datetime | None],
) -> None:
    """Retain the items that are new or changed, and forget those that were deleted.

    Raises:
        HindsightError: it failed; apply all changes again.
    """
    fresh = [change for change in changes if change.text]
    if fresh:
        items = (_as_item(change, real(change.expires_at)) for change in fresh)
        for failed in memory.retain_many(bank, items).failed:
            if not isinstance(failed.error, InvalidInputError):
                raise failed.error
            # It would fail every time; the item itself is safe in the table.
            key = fresh[failed.index].key
            log.warning("queries will not find the item %r: %s", key, failed.error)
    for change in changes:
        if not change.text:
            forget_document(memory, bank, document_of(change.namespace, change.key))


def document_of(namespace: Namespace, key: str) -> str:
    """Return the id of an item's document in the bank."""
    return f"item-{digest(*namespace, key)}"


def _as_item(change: Unsent, expires_at: datetime | None) -> Item:
    """Return the item's document; its namespaces become tags, since a query may name any."""
    document = document_of(change.namespace, change.key)
    above = [change.namespace[:depth] for depth in range(len(change.namespace) + 1)]
    return Item(
        change.text,
        document_id=document,
        metadata={ITEM: document},
        tags=list(map(_tag, above)),
        expires_at=expires_at,
    )


def _tag(namespace: Namespace) -> str:
    return f"namespace-{digest(*namespace)}"
