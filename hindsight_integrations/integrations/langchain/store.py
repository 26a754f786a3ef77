"""A LangGraph store: an exact table of items, searched by recall.

The table decides which items exist; recall only ranks them by a query. Items that recall does not
know (yet) follow those it knows. For recall, each item is a document of the bank.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
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
from hindsight_integrations.asynchronous import ContextManaged, in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.integrations.common import (
    checked_memory,
    forget_document,
    recall,
    shown_bank,
)
from hindsight_integrations.integrations.langchain.conversions import BankId, bank_of, checked_bank
from hindsight_integrations.integrations.langchain.store_filter import (
    WHOLE,
    fits,
    list_namespaces,
    matches,
    searched_text,
)
from hindsight_integrations.integrations.store_table import (
    Namespace,
    Row,
    StoreTable,
    Unsent,
    row_digest,
)
from hindsight_integrations.models import as_datetime, utc_now
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.results import RecallResult
from hindsight_integrations.retain.request import Item
from hindsight_integrations.stores.servers import IN_MEMORY

log = logging.getLogger("hindsight_integrations")

ITEM = "store_item"
"""Metadata field of a memory with the document id of its item."""

EVERYTHING = 1_000_000
"""Token budget of a search, which is cut by its own limit instead."""

FILTERED = 10_000
"""Items to which one recall is restricted: each is a parameter of a query, and SQLite takes at most
32,766."""

SCORED_WHOLE = 1000
"""Items that one recall ranks: half of the memories that it scores whole, because a long item has
several."""


class HindsightStore(ContextManaged, BaseStore):
    """LangGraph's long-term store, searched by time, people, meaning and exact terms at once.

    `get`, `put`, `delete`, filters, namespaces and time-to-live work on an exact table.
    `search(query=...)` orders the items by recall, with its score.

    Warning: give the store a bank of its own, which no middleware, retriever or tool reads.
    Namespaces separate items in the store alone. Each item that queries search is a memory of the
    bank, which recall shows to everybody who reads that bank, whatever its namespace.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the engine.
        bank_id: the id of a bank for the items alone, or a function of the runtime of the graph
            that runs. Banks do not see each other's items.
        path: the SQLite file of the items, for instance in the engine's folder; ":memory:" for a
            store that is lost when closed, as `Hindsight.in_memory()` is.
        fields: paths of a value that queries search, unless `put` names its own: "$" for all of
            it, "title", "author.name", "notes[*].text" and so on.
        min_score: with a query, leave out items of a lower score, 0 to 1.
        ttl: LangGraph's `TTLConfig`, in minutes; expired items are gone at once, from the bank's
            recall too.
        clock: returns the current time, timezone-aware.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightStore

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        store = HindsightStore(memory, bank_id="items", path=":memory:")  # or "./store.sqlite3"
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
    writes to a key holds, as in LangGraph's `InMemoryStore`. A value is a dict of what JSON has.
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
        self._fields = _checked_paths("fields", fields)
        self._min_score = None if min_score is None else validation.share("min_score", min_score)
        self._clock = clock
        self.ttl_config = _checked_ttl(ttl)
        self._lock = threading.RLock()
        self._sending = threading.Lock()
        path = os.path.expanduser(path)
        self._table = StoreTable(path)
        self._settings: dict[str, Any] = {
            "path": path if path == IN_MEMORY else os.path.abspath(path),
            "fields": self._fields, "min_score": min_score, "ttl": ttl, "clock": clock,
        }  # fmt: skip

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the settings; the copy opens the same file and the same memory."""
        if self._settings["path"] == IN_MEMORY:
            raise InvalidInputError("an in-memory store cannot be pickled; give it a file as path")
        return partial(type(self), **self._settings), (self._memory, self._bank_id)

    def __repr__(self) -> str:
        bank, path = shown_bank(self._bank_id), str(self._settings["path"])
        return f"{type(self).__name__}({self._memory!r}, {bank}, path={path!r})"

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
        now = as_datetime(self._clock())
        scores = [self._scores(bank, op, now) if _has_query(op) else None for op in asked]
        with self._lock, self._table.transaction():
            changed = self._table.expire(now) > 0
            results = []
            for op, ranks in zip(asked, scores, strict=True):
                result, rows = self._read(bank, op, ranks)
                results.append(result)
                if getattr(op, "refresh_ttl", False):
                    changed |= self._table.touch(bank, rows, now)
            writes = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
            for op in writes.values():
                self._write(bank, op, now)
        if writes or changed:
            try:
                self._send(bank)
            except HindsightError as error:
                log.warning("the latest items of %r will be searchable later: %s", bank, error)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, without blocking the event loop."""
        return await in_thread(self.batch, ops)

    def close(self) -> None:
        """Close the file; may be called twice. The memory stays open."""
        with self._lock:
            self._table.close()

    def sweep_ttl(self) -> int:
        """Remove the expired items of all banks, and return their number.

        Every read and write does this too; call it for a store that is not used for a long time.

        Raises:
            HindsightError: a bank could not be updated; the next call tries again.
        """
        now = as_datetime(self._clock())
        with self._lock, self._table.transaction():
            expired = self._table.expire(now)
            banks = self._table.banks()
        for bank in banks:
            self._send(bank)
        return expired

    def _read(
        self, bank: str, op: Op, scores: Mapping[str, float] | None
    ) -> tuple[Result, Sequence[Row]]:
        """Return the result of an operation, and the items that it read."""
        if isinstance(op, ListNamespacesOp):
            fitting = [n for n in self._table.namespaces(bank) if fits(n, op.match_conditions)]
            return list_namespaces(fitting, op.max_depth, op.limit, op.offset), ()
        if isinstance(op, SearchOp):
            page = self._page(bank, op, scores)
            found = [SearchItem(**_fields(row), score=score) for row, score in page]
            return found, [row for row, _ in page]
        if isinstance(op, GetOp) and (row := self._table.get(bank, op.namespace, op.key)):
            return StoredItem(**_fields(row)), [row]
        return None, ()

    def _page(
        self, bank: str, op: SearchOp, scores: Mapping[str, float] | None
    ) -> list[tuple[Row, float | None]]:
        """Return the items of a search, best first, each with its score if it has one."""
        rows = self._table.scan(bank, op.namespace_prefix)
        fitting = (row for row in rows if matches(row.value, op.filter))
        scored: Iterable[tuple[Row, float | None]]
        if scores is None:
            scored = ((row, None) for row in fitting)
        else:
            scored = [(row, scores.get(text_fingerprint(row.text))) for row in fitting]
            if self._min_score is not None:
                scored = [(row, score) for row, score in scored if score is not None]
            scored = sorted(
                scored, key=lambda pair: -1.0 if pair[1] is None else pair[1], reverse=True
            )
        return list(islice(scored, op.offset, op.offset + op.limit))

    def _scores(self, bank: str, op: SearchOp, now: datetime) -> dict[str, float]:
        """Return how well the items that match answer the query, by fingerprints of their texts.

        One recall returns the best of all that match; if the page reaches further, the others are
        ranked by further recalls, in blocks that are scored whole.
        """
        with self._lock, self._table.transaction():
            self._table.expire(now)
        self._send(bank)
        with self._lock, self._table.transaction():
            texts = {
                document_of(row.namespace, row.key): text_fingerprint(row.text)
                for row in self._table.scan(bank, op.namespace_prefix)
                if row.text and matches(row.value, op.filter)
            }
        found = _Ranked(texts)
        for block in _blocks(list(texts), FILTERED) if op.filter else (None,):
            found.add(self._recalled(bank, op, block))
        found.settle()
        if self._min_score is None and len(found.waiting()) > len(texts) - op.offset - op.limit:
            for block in _blocks(found.waiting(), SCORED_WHOLE):
                while block and found.add(self._recalled(bank, op, block)):
                    block = found.waiting(block)
            found.settle()
        return found.scores

    def _recalled(self, bank: str, op: SearchOp, documents: Sequence[str] | None) -> RecallResult:
        return recall(
            self._memory,
            bank,
            str(op.query)[: validation.MAX_QUERY],
            tags=[_tag(op.namespace_prefix)],
            where=None if documents is None else {ITEM: {"$in": documents}},
            max_tokens=EVERYTHING,
            min_score=self._min_score,
            fill=True,
        )

    def _write(self, bank: str, op: PutOp, now: datetime) -> None:
        if op.value is None:
            self._table.delete(bank, op.namespace, op.key)
            return
        index = op.index if not op.index else _checked_paths("index", op.index)
        text = searched_text(op.value, index, self._fields)
        self._table.put(bank, op.namespace, op.key, op.value, text=text, ttl=op.ttl, now=now)

    def _send(self, bank: str) -> None:
        """Apply the queued changes of the table to the bank.

        Raises:
            HindsightError: it failed; the next call tries again.
        """
        with self._sending:
            with self._lock, self._table.transaction():
                changes = self._table.unsent(bank)
            if not changes:
                return
            _apply(self._memory, bank, changes, utc_now() - as_datetime(self._clock()))
            with self._lock, self._table.transaction():
                self._table.sent([change.id for change in changes])


@dataclass
class _Ranked:
    """Items in the order of one or several recalls.

    Attributes:
        texts: fingerprint of the text of each item that matches, by its document's id. Recall
            returns one of several items with the same text.
        scores: score of each text that recall returned: those settled later are never higher.
    """

    texts: Mapping[str, str]
    scores: dict[str, float] = field(default_factory=dict)
    _totals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, result: RecallResult) -> bool:
        """Add the result of a recall; return False if it has no item that is new."""
        before = len(self._totals)
        for each in result:  # best first; a long item has several memories
            text = self.texts.get(str(each.memory.metadata.get(ITEM)))
            if text is not None and text not in self.scores:
                known = self._totals.get(text, (-math.inf, 0.0))
                self._totals[text] = max(known, (each.total, each.score))
        return len(self._totals) > before

    def settle(self) -> None:
        """Put the texts that were added behind those settled earlier.

        Scores are shares of one recall; the totals of several can be compared.
        """
        least = min(self.scores.values(), default=1.0)
        ranked = sorted(self._totals.items(), key=lambda pair: pair[1][0], reverse=True)
        for text, (_, score) in ranked:
            least = min(least, score)
            self.scores[text] = least
        self._totals.clear()

    def waiting(self, documents: Iterable[str] | None = None) -> list[str]:
        """Return the documents, by default of all, that have no score yet."""
        known = self.scores.keys() | self._totals.keys()
        asked = self.texts if documents is None else documents
        return [each for each in asked if self.texts[each] not in known]


def _blocks(documents: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (documents[start : start + size] for start in range(0, len(documents), size))


def _checked_paths(what: str, paths: str | Sequence[str]) -> tuple[str, ...]:
    """Return paths of a value; a text is the only one."""
    given = validation.items_or_one(what, paths, "paths of a value, such as 'title'")
    return tuple(validation.text(path, f"a path in {what}") for path in given)


def _checked_ttl(ttl: TTLConfig | None) -> TTLConfig | None:
    """Return the time to live of items, if it can be used.

    Raises:
        InvalidInputError: it is no `TTLConfig`; an unknown name is refused, because no item would
            expire.
    """
    if ttl is None:
        return None
    known = [*TTLConfig.__annotations__]
    if not isinstance(ttl, Mapping) or not {*ttl} <= {*known}:
        raise InvalidInputError(
            f"ttl is {validation.shown(ttl)}; give a mapping with some of {', '.join(known)}, "
            'such as {"default_ttl": 60}, in minutes'
        )
    minutes: object = ttl.get("default_ttl")
    is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    if minutes is not None and not (is_number and 0 <= minutes < math.inf):  # type: ignore[operator]
        raise InvalidInputError(
            f"default_ttl is {validation.shown(minutes)}; give minutes, or None to keep items "
            "forever"
        )
    validation.flag("refresh_on_read", ttl.get("refresh_on_read", True))
    return ttl


def _check(op: Op) -> None:
    if not isinstance(op, GetOp | SearchOp | PutOp | ListNamespacesOp):
        raise InvalidInputError(
            f"{validation.shown(op)} is not an operation; give a GetOp, SearchOp, PutOp or "
            "ListNamespacesOp"
        )
    if isinstance(op, PutOp) and op.value is not None and not isinstance(op.value, dict):
        raise InvalidInputError(
            f"the value of the item {op.key!r} is {validation.shown(op.value)}; a store holds "
            'dicts: give {"text": ...}, or None to delete the item'
        )
    namespace: object = getattr(op, "namespace", getattr(op, "namespace_prefix", ()))
    if isinstance(namespace, str):  # a tuple of its letters would be another namespace
        raise InvalidInputError(
            f"the namespace is {validation.shown(namespace)}; give a tuple of texts, such as "
            f"{validation.shown((namespace,))}"
        )
    validate_op_namespace(op)
    if isinstance(op, SearchOp):
        validation.text(op.query or "", "query")
        if not isinstance(op.filter or {}, Mapping):
            raise InvalidInputError(
                f"filter is {validation.shown(op.filter)}; give a mapping from fields to values"
            )
    if isinstance(op, SearchOp | ListNamespacesOp):
        validation.not_negative("limit", op.limit)
        validation.not_negative("offset", op.offset)


def _has_query(op: Op) -> TypeGuard[SearchOp]:
    """Return True for a search with a query that is not blank."""
    return isinstance(op, SearchOp) and not validation.is_blank(op.query or "")


def _fields(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name not in ("id", "text")}


def _apply(memory: Hindsight, bank: str, changes: Sequence[Unsent], ahead: timedelta) -> None:
    """Retain the items that are new or changed, and forget those that were deleted.

    Args:
        memory: the open memory.
        bank: the bank.
        changes: the items.
        ahead: how far the engine's clock is ahead of the store's.

    Raises:
        HindsightError: it failed; apply all changes again.
    """
    fresh = [change for change in changes if change.text]
    if fresh:
        for failed in memory.retain_many(bank, [_as_item(each, ahead) for each in fresh]).failed:
            if not isinstance(failed.error, InvalidInputError):
                raise failed.error
            # It would fail every time; the item itself is safe in the table.
            key = fresh[failed.index].key
            log.warning("the item %r will not be searchable: %s", key, failed.error)
    for change in changes:
        if not change.text:
            forget_document(memory, bank, document_of(change.namespace, change.key))


def document_of(namespace: Namespace, key: str) -> str:
    """Return the id of an item's document in the bank."""
    return f"item-{row_digest(*namespace, key)}"


def _as_item(change: Unsent, ahead: timedelta) -> Item:
    """Return the item's document; its namespaces become tags, since a query may name any."""
    document = document_of(change.namespace, change.key)
    above = [change.namespace[:depth] for depth in range(len(change.namespace) + 1)]
    return Item(
        change.text,
        document_id=document,
        metadata={ITEM: document},
        tags=list(map(_tag, above)),
        expires_at=None if change.expires_at is None else change.expires_at + ahead,
    )


def _tag(namespace: Namespace) -> str:
    return f"namespace-{row_digest(*namespace)}"
