"""What the engine is made of: the stores, the models and the locks that its parts share."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    ClosedError,
    EmbedderMismatchError,
    StoreError,
)
from hindsight_integrations.language.encode import TextEncoder
from hindsight_integrations.language.llm import StructuredModel
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Bank, MemoryType
from hindsight_integrations.naming import UNFINISHED
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.recall.ports import Reranker
from hindsight_integrations.reflect.consolidate import Consolidation, rounds
from hindsight_integrations.reflect.llm_consolidate import LLMConsolidator
from hindsight_integrations.reflect.mental_models import ModelParts, refresh_due
from hindsight_integrations.reflect.opinions import OpinionRules
from hindsight_integrations.reflect.parts import ReflectParts
from hindsight_integrations.reflect.ports import Consolidator
from hindsight_integrations.reflect.rules import RuleConsolidator
from hindsight_integrations.reflect.worker import Worker
from hindsight_integrations.retain.draft import RetainParts
from hindsight_integrations.retain.ports import Extractor
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage import ledger
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import (
    EmbedderStamp,
    StoredBank,
)

log = logging.getLogger("hindsight_integrations")

ARMS_AT_ONCE = 8
"""Threads that the arms of all recalls share."""


class Core:
    """The parts of one engine, and the rules that hold between them."""

    def __init__(
        self,
        *,
        graph: GraphStore,
        index: VectorIndex,
        encoder: TextEncoder,
        extractor: Extractor,
        tokenizer: Tokenizer,
        settings: Settings,
        reranker: Reranker | None,
        reranking: bool,
        model: StructuredModel | None,
        release: Callable[[], None],
    ) -> None:
        self.graph = graph
        self.index = index
        self.encoder = encoder
        self.settings = settings
        self.extractor = extractor
        self.tokenizer = tokenizer
        self.model = model
        self._release = release
        self._executor = ThreadPoolExecutor(ARMS_AT_ONCE, thread_name_prefix="hindsight-arm")
        self._locks: dict[str, threading.RLock] = {}
        self._locks_guard = threading.Lock()
        self._flushing = threading.Lock()
        self._closed = False
        self.lag: StoreError | None = None
        """Why the vector index is behind the graph, if the last attempt to flush failed."""
        self.probes: dict[str, Callable[[], tuple[bool, str]]] = {}
        """Parts around the engine that `health()` asks too, by name: is all well, and in words."""
        self.retaining = RetainParts(
            graph, index, encoder, extractor, tokenizer, settings, self.lock, self.flush
        )
        self.recalling = RecallParts(
            graph, index, encoder, tokenizer, self._executor, settings, reranker, reranking
        )
        rules, opinion_rules = RuleConsolidator(settings.observation_similarity), OpinionRules()
        consolidator, opinions = self._consolidators() or (rules, opinion_rules)
        self.reflecting = ReflectParts(
            graph, index, encoder, settings, consolidator, opinions, rules, opinion_rules,
            self.lock, self.flush,
        )  # fmt: skip
        self.worker = Worker(self.consolidations, settings.consolidation_delay)
        self.probes["reflecting"] = self.worker.state

    @property
    def stamp(self) -> EmbedderStamp:
        """The embedder new banks are made with, and existing ones must have."""
        return EmbedderStamp(self.encoder.embedder.id, self.encoder.embedder.dimension)

    def check_open(self) -> None:
        """Raise `ClosedError` once `close` was called."""
        if self._closed:
            raise ClosedError("this Hindsight is closed; open a new one on the same folder or URLs")

    @contextmanager
    def lock(self, bank_key: str) -> Iterator[None]:
        """The right to write to a bank, for one thread at a time."""
        with self._locks_guard:
            lock = self._locks.setdefault(bank_key, threading.RLock())
        with lock:
            yield

    def stored_bank(self, bank_id: str) -> StoredBank:
        """The bank, whatever embedder it was made with.

        Raises:
            BankNotFoundError: there is none of this id.
        """
        self.check_open()
        stored = self.graph.get_bank(bank_id)
        if stored is None:
            raise BankNotFoundError(
                f"there is no bank {bank_id!r}; retain something into it, or call "
                f"banks.create({bank_id!r})"
            )
        return stored

    def bank(self, bank_id: str) -> StoredBank:
        """The bank, made with this embedder.

        Raises:
            BankNotFoundError: there is none of this id.
            EmbedderMismatchError: its vectors come from another embedder.
        """
        stored = self.stored_bank(bank_id)
        if stored.embedder != self.stamp:
            raise EmbedderMismatchError(
                f"the vectors of bank {bank_id!r} come from {stored.embedder.id!r} "
                f"({stored.embedder.dimension} dimensions), and this engine embeds with "
                f"{self.stamp.id!r} ({self.stamp.dimension}); open it with that embedder, or call "
                f"maintenance.reindex({bank_id!r}) to move the bank to this one"
            )
        return stored

    def bank_or_new(self, bank_id: str) -> StoredBank:
        """The bank, created if there is none of this id."""
        try:
            return self.bank(bank_id)
        except BankNotFoundError:
            try:
                return self.graph.create_bank(Bank(bank_id), self.stamp)
            except BankExistsError:  # another thread was quicker
                return self.bank(bank_id)

    def delete_bank(self, bank_id: str) -> None:
        """Delete a bank that exists, in both stores."""
        self.graph.delete_bank(bank_id)
        self.flush()
        self.purge_deleted()

    def purge_deleted(self) -> None:
        """Remove what is left of deleted banks, a portion at a time."""
        while self.graph.purge_deleted():
            continue

    def flush(self) -> None:
        """Bring the vector index up to date with the graph.

        What is retained is safe in the graph already, so an index that cannot be written is
        reported by `health()` and caught up with later; it does not fail the retain.
        """
        with self._flushing:
            try:
                ledger.flush(self.graph, self.index)
                self.lag = None
            except StoreError as error:
                self.lag = error
                log.warning("the vector index is behind the graph and will catch up: %s", error)

    def consolidations(self, bank_id: str) -> Iterator[Consolidation]:
        """Reflect on what waits in a bank, a batch at a time; last, refresh its mental models."""
        bank = self.bank(bank_id)
        changed = False
        for done in rounds(self.reflecting, bank):
            changed = changed or done.considered > 0
            yield done
        if changed:
            models = refresh_due(ModelParts(self.recalling, self.lock, self.model), bank)
            yield Consolidation(bank_id, failures=models.failures)

    def reflect_later(self, bank_id: str) -> None:
        """Have the bank reflected on in the background, if the settings ask for it."""
        if self.settings.consolidate:
            self.worker.wake(bank_id)

    def reflect_on_leftovers(self) -> None:
        """Have reflected on what a process left that was killed, or closed in haste."""
        if self.settings.consolidate:
            for stored in self.graph.list_banks(waiting=True):
                whole = not stored.bank.id.endswith(UNFINISHED)
                if whole and stored.embedder == self.stamp:
                    self.worker.wake(stored.bank.id)

    def _consolidators(self) -> tuple[Consolidator, Consolidator] | None:
        """What the language model, if there is one, draws: observations and opinions."""
        if self.model is None:
            return None
        return (
            LLMConsolidator(self.model, tokenizer=self.tokenizer),
            LLMConsolidator(self.model, concluding=MemoryType.OPINION, tokenizer=self.tokenizer),
        )

    def close(self, *, finish: bool = True) -> None:
        """Finish reflecting, or leave it, and let go of everything. Twice is harmless."""
        self.worker.close(finish=finish)
        if self._closed:
            return
        self._closed = True
        self._executor.shutdown(wait=True)
        try:
            self.index.close()
        finally:
            try:
                self.graph.close()
            finally:
                self._release()
