"""A LangGraph store: an exact table of items, found by recall.

The table says what there is; recall only says in which order it answers a query. What recall
does not know (yet) comes after what it does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
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

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import Closing
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.langchain import store_index as index
from hindsight_integrations.langchain.bank import BankId, bank_of, checked_bank
from hindsight_integrations.langchain.store_filter import fits, listed, matches
from hindsight_integrations.langchain.store_table import Row, StoreTable
from hindsight_integrations.langchain.store_text import WHOLE, searched_text
from hindsight_integrations.model import as_moment, utc_now

log = logging.getLogger("hindsight_integrations")


class HindsightStore(Closing, BaseStore):
    """LangGraph's long-term store, searched by time, people, meaning and exact terms at once.

    `get`, `put`, `delete`, filters, namespaces and time-to-live are those of an exact table.
    `search(query=...)` puts the items in the order of recall, with its score.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]"
        ```

    Key init args:
        memory: the engine.
        bank_id: which bank: its id, or a function of the runtime of the graph that runs. Banks
            do not see each other's items.
        path: the SQLite file of the items; ":memory:" for a store as short-lived as
            `Hindsight.in_memory()`. A file in the engine's folder will do.
        fields: paths of a value that queries search, unless `put` names its own: "$" for all of
            it, or such as "title", "author.name", "notes[*].text".
        min_score: with a query, leave out items that recall is less sure of, 0 to 1.
        ttl: LangGraph's `TTLConfig`, in minutes; items that are over are gone at once.
        clock: what tells the time; must be timezone-aware.

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

    A batch reads before it writes, whatever the order of its operations, and of several writes
    to a key the last one holds: as in LangGraph's `InMemoryStore`. A value is what JSON can say.
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
        self._memory = memory
        self._bank_id = checked_bank(bank_id)
        self._fields = (fields,) if isinstance(fields, str) else tuple(fields)
        self._min_score = min_score
        self._clock = clock
        self.ttl_config = ttl
        self._lock = threading.RLock()
        self._sending = threading.Lock()
        self._table = StoreTable(path)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; results in their order.

        Raises:
            InvalidInputError: a value or filter cannot be used; nothing was written.
            StoreUnavailableError: the file cannot be read or written.
        """
        asked = list(ops)
        for op in asked:
            _check(op)
        bank = bank_of(self._bank_id)
        scores = [self._scores(bank, op) if _asks(op) else None for op in asked]
        now = as_moment(self._clock())
        with self._lock, self._table.transaction():
            self._table.expire(now)
            results = [self._read(bank, *each, now) for each in zip(asked, scores, strict=True)]
            writes = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
            for op in writes.values():
                self._write(bank, op, now)
        if writes:
            try:
                self._send(bank)
            except HindsightError as error:
                log.warning("queries will find the latest items of %r later: %s", bank, error)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, without blocking the event loop."""
        return await asyncio.to_thread(self.batch, ops)

    def close(self) -> None:
        """Let go of the file; twice is harmless. The engine stays open."""
        with self._lock:
            self._table.close()

    def _read(self, bank: str, op: Op, scores: Mapping[str, float] | None, now: datetime) -> Result:
        if isinstance(op, ListNamespacesOp):
            found = [n for n in self._table.namespaces(bank) if fits(n, op.match_conditions)]
            return listed(found, op.max_depth, op.limit, op.offset)
        if isinstance(op, SearchOp):
            page = self._page(bank, op, scores)
            if op.refresh_ttl:
                self._table.touch([row.id for row, _ in page], now)
            return [SearchItem(**_fields(row), score=score) for row, score in page]
        if isinstance(op, GetOp) and (row := self._table.get(bank, op.namespace, op.key)):
            if op.refresh_ttl:
                self._table.touch([row.id], now)
            return StoredItem(**_fields(row))
        return None

    def _page(
        self, bank: str, op: SearchOp, scores: Mapping[str, float] | None
    ) -> list[tuple[Row, float | None]]:
        """The items of a search, best first, each with its score if it has one."""
        rows = self._table.scan(bank, op.namespace_prefix)
        found: Iterable[tuple[Row, float | None]]
        if scores is None:
            found = ((row, None) for row in rows if matches(row.value, op.filter))
        else:
            found = self._ranked(list(rows), op, scores)
        return list(islice(found, op.offset, op.offset + op.limit))

    def _ranked(
        self, rows: Sequence[Row], op: SearchOp, scores: Mapping[str, float]
    ) -> list[tuple[Row, float | None]]:
        names = (index.name_of(row.namespace, row.key) for row in rows)
        # Of several items with the same text recall names one.
        by_text = {
            row.text_digest: scores[name]
            for row, name in zip(rows, names, strict=True)
            if name in scores
        }
        found = [
            (row, by_text.get(row.text_digest)) for row in rows if matches(row.value, op.filter)
        ]
        if self._min_score is not None:
            found = [(row, score) for row, score in found if score is not None]
        return sorted(found, key=lambda each: -1.0 if each[1] is None else each[1], reverse=True)

    def _scores(self, bank: str, op: SearchOp) -> dict[str, float]:
        """How well recall finds that items answer the query, by their names."""
        self._send(bank)
        return index.scores(self._memory, bank, op.namespace_prefix, str(op.query), self._min_score)

    def _write(self, bank: str, op: PutOp, now: datetime) -> None:
        if op.value is None:
            self._table.delete(bank, op.namespace, op.key)
            return
        text = searched_text(op.value, op.index, self._fields)
        self._table.put(bank, op.namespace, op.key, op.value, text=text, ttl=op.ttl, now=now)

    def _send(self, bank: str) -> None:
        """Tell recall what has changed.

        Raises:
            HindsightError: it could not be told; it will be the next time.
        """
        with self._sending:
            with self._lock, self._table.transaction():
                changes = self._table.unsent(bank)
            if not changes:
                return
            index.tell(self._memory, bank, changes)
            with self._lock, self._table.transaction():
                self._table.sent([change.id for change in changes])


def _check(op: Op) -> None:
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise InvalidInputError(
            f"{checks.shown(op)} is no operation; give a GetOp, SearchOp, PutOp or ListNamespacesOp"
        )
    validate_op_namespace(op)
    if isinstance(op, SearchOp | ListNamespacesOp):
        checks.not_negative("limit", op.limit)
        checks.not_negative("offset", op.offset)


def _asks(op: Op) -> TypeGuard[SearchOp]:
    """Whether it is a search with a query that says something."""
    return isinstance(op, SearchOp) and not checks.is_blank(op.query or "")


def _fields(row: Row) -> dict[str, Any]:
    return {
        name: value for name, value in row._asdict().items() if name not in ("id", "text_digest")
    }
