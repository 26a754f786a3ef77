"""The parts of one client: stores, models, locks and background work."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hindsight_integrations import validation
from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    ClosedError,
    EmbedderMismatchError,
    HindsightError,
    InvalidInputError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Bank, MemoryType
from hindsight_integrations.nlp.llm import StructuredModel, as_model
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.nlp.text_encoder import StandInEmbedder, TextEncoder
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.rerankers import LateInteraction, reranker_given
from hindsight_integrations.reflect.confident import only_confident
from hindsight_integrations.reflect.consolidation import Consolidation, rounds
from hindsight_integrations.reflect.dependencies import Consolidator, ReflectDependencies
from hindsight_integrations.reflect.llm_rules import LLMConsolidator
from hindsight_integrations.reflect.mental_models import MentalModelDependencies, refresh_due
from hindsight_integrations.reflect.opinions import OpinionRules
from hindsight_integrations.reflect.rules import RuleConsolidator
from hindsight_integrations.reflect.worker import Worker
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.extraction import Extractor
from hindsight_integrations.retain.extractors import extractor_for
from hindsight_integrations.retain.guard import as_guards
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import EmbedderIdentity, GraphStore, StoredBank, VectorIndex
from hindsight_integrations.stores.deadline import limited
from hindsight_integrations.stores.index_lease import IndexLease

log = logging.getLogger("hindsight_integrations")

BACKGROUND_SECONDS = 10.0
"""Time that `close` waits for a background thread: one that reads a silent server ends then."""

ARMS_AT_ONCE = 32
"""Threads at most that the arms of all recalls share: on servers they do little but wait."""

PAGE, LEAST_PAGE = 500, 20
"""Vectors that are written at once; and to a server that is too slow for that, at least."""

PAGES = 5
"""Pages of the outbox that a call applies itself: about two seconds."""

PAUSE = 0.01
"""Seconds between two pages that are applied in the background."""

AGAIN_SECONDS = 3.0
"""Seconds after which a store that is not available is asked again in the background."""

CLAIM_SECONDS = 30.0
"""Time in which a page is applied: then another process may take its turn."""

UNCHANGED: object = object()
"""Default of an argument whose None has a meaning: leave the part as it is."""


@dataclass(slots=True)
class _BankLock:
    """The write lock of a bank, and how often it was taken."""

    held: threading.RLock = field(default_factory=threading.RLock)
    taken: int = 0


class Runtime:
    """The stores, models, locks and background work of one client."""

    def __init__(
        self,
        *,
        graph: GraphStore,
        index: VectorIndex,
        index_lease: IndexLease,
        encoder: TextEncoder,
        extractor: object | None,
        tokenizer: Tokenizer,
        settings: Settings,
        reranker: object | None,
        model: StructuredModel | None,
        before_retain: object | None,
        release: Callable[[], None],
        computing: threading.Semaphore | None,
    ) -> None:
        self.graph = graph
        self.index = index
        self.index_lease = index_lease
        self.encoder = encoder
        self.settings = settings
        self.tokenizer = tokenizer
        self.model = model
        self._extractor_given = extractor
        self._configuring = threading.Lock()
        self._release = release
        self._executor = ThreadPoolExecutor(ARMS_AT_ONCE, thread_name_prefix="hindsight-arm")
        self._locks: dict[str, _BankLock] = {}
        self._locks_guard = threading.Lock()
        self._flushing = threading.Lock()
        self._applying = False
        self.behind = False
        """True while work for the vector index is left to the background."""
        self.lost = False
        """True while vectors are queued that the index lacked when it was opened."""
        self._caught_up: set[str] = set()
        """Keys of banks whose work was applied when they were first used meanwhile."""
        self._known: dict[str, StoredBank] = {}
        """Banks as they were when they were last read; see `remembered_bank`."""
        self._closed = False
        self.closing = threading.Event()
        """Set once `close` was called: background work ends."""
        self._background: list[threading.Thread] = []
        self.lag: StoreError | None = None
        """Error of the last attempt to flush the outbox; None if the vector index is up to date."""
        self.probes: dict[str, Callable[[], tuple[bool, str]]] = {}
        """Health checks of additional parts, by name: each returns (healthy, description)."""
        self.recalling = RecallDependencies(
            graph, index, encoder, tokenizer, self._executor, settings, reranker_given(reranker),
            reranking=reranker is not None, turns=computing,
        )  # fmt: skip
        self.retaining = RetainDependencies(
            graph, index, encoder, extractor_for(extractor, model, settings, tokenizer), tokenizer,
            settings, self.lock, self.flush, self.recalling.alongside, as_guards(before_retain),
        )  # fmt: skip
        rules, opinion_rules = RuleConsolidator(), OpinionRules()
        consolidator, opinions = self._consolidators(model) or (rules, opinion_rules)
        self.reflecting = ReflectDependencies(
            graph, index, encoder, settings, consolidator, opinions, rules, opinion_rules,
            self.lock, self.flush,
        )  # fmt: skip
        self.worker = Worker(self.consolidations, settings.consolidation_delay)
        self.probes["reflecting"] = self.worker.state

    @property
    def reranker(self) -> Reranker | None:
        """The reranker given, or late interaction with the memory's own model; None if off."""
        deps = self.recalling
        if deps.reranker is None and deps.reranking:
            return LateInteraction(self.encoder.tokens or bundled())
        return deps.reranker

    @property
    def extractor(self) -> Extractor:
        """The extractor in use."""
        return self.retaining.extractor

    @property
    def embedder_identity(self) -> EmbedderIdentity:
        """Identity of the embedder: new banks get it, existing ones must have it."""
        return EmbedderIdentity(self.encoder.embedder.id, self.encoder.embedder.dimension)

    @property
    def is_closed(self) -> bool:
        """Return True once `close` was called."""
        return self._closed

    def check_open(self) -> None:
        """Raise `ClosedError` if `close` was called."""
        if self._closed:
            raise ClosedError("this Hindsight is closed; open a new one on the same folder or URLs")

    @contextmanager
    def lock(self, bank_key: str) -> Iterator[int]:
        """Hold the write lock of a bank, reentrant; yield how often it was taken before."""
        with self._locks_guard:
            lock = self._locks.setdefault(bank_key, _BankLock())
        with lock.held:
            taken, lock.taken = lock.taken, lock.taken + 1
            yield taken

    def stored_bank(self, bank_id: str) -> StoredBank:
        """Return the bank, whichever embedder its vectors come from.

        Raises:
            InvalidInputError: the id cannot be that of a bank.
            BankNotFoundError: there is none of this id.
        """
        validation.bank_id(bank_id)
        self.check_open()
        return self._existing(bank_id)

    def has_bank(self, bank_id: str) -> bool:
        """Return True if there is a bank of this id."""
        self.check_open()
        return self._find(bank_id) is not None

    def _find(self, bank_id: str) -> StoredBank | None:
        with limited(self.settings.recall_timeout, each=self.settings.arm_timeout):
            return self.graph.get_bank(bank_id)

    def _existing(self, bank_id: str) -> StoredBank:
        stored = self._find(bank_id)
        if stored is None:
            meant = bank_id.strip()
            advice = (
                f"retain something into it, or call banks.create({bank_id!r})"
                if meant == bank_id
                else f"it has white space around it; give {meant!r}"
            )
            raise BankNotFoundError(f"there is no bank {bank_id!r}; {advice}")
        return stored

    def bank(self, bank_id: str) -> StoredBank:
        """Return the bank, with vectors of this embedder.

        Raises:
            InvalidInputError: the id cannot be that of a bank.
            BankNotFoundError: there is none of this id.
            EmbedderMismatchError: its vectors come from another embedder.
        """
        bank = self._own(self.stored_bank(bank_id))
        if self.behind and self.lag is None and bank.key not in self._caught_up:
            self._caught_up.add(bank.key)
            self.flush(bank.key)
        self._known[bank_id] = bank
        return bank

    def fits(self, bank: StoredBank) -> bool:
        """Return True if the bank's vectors come from this embedder."""
        return bank.embedder == self.embedder_identity

    def removing_from(self, bank: StoredBank) -> tuple[RetainDependencies, ReflectDependencies]:
        """Return the dependencies of removing memories of a bank, whichever embedder it has.

        What the removal changes is embedded again only if the embedder fits. If not, it keeps
        nothing of what was removed, and a search by meaning does not find it until a reindex.
        """
        if self.fits(bank):
            return self.retaining, self.reflecting
        encoder = TextEncoder(StandInEmbedder(bank.embedder.id, bank.embedder.dimension), None)
        return (
            replace(self.retaining, encoder=encoder),
            replace(self.reflecting, encoder=encoder),
        )

    def remembered_bank(self, bank_id: str) -> StoredBank:
        """Return the bank as `bank` returned it last: others may have changed it since."""
        return self._known.get(bank_id) or self.bank(bank_id)

    def _own(self, stored: StoredBank) -> StoredBank:
        bank_id, used = stored.bank.id, self.embedder_identity
        if not self.fits(stored):
            raise EmbedderMismatchError(
                f"the vectors of bank {bank_id!r} come from {stored.embedder.id!r} "
                f"({stored.embedder.dimension} dimensions), but this client embeds with "
                f"{used.id!r} ({used.dimension}); open it with that embedder, or "
                f"call maintenance.reindex({bank_id!r}) to recompute them"
            )
        return stored

    def bank_or_new(self, bank_id: str) -> StoredBank:
        """Return the bank; create it if no bank has this id."""
        try:
            return self.bank(bank_id)
        except BankNotFoundError:
            new = Bank(validation.new_bank_id(bank_id))
            try:
                return self.graph.create_bank(new, self.embedder_identity)
            except BankExistsError:  # another thread was quicker
                return self.bank(bank_id)

    def delete_bank(self, stored: StoredBank) -> None:
        """Delete a bank that exists, in both stores."""
        self.graph.delete_bank(stored.bank.id)
        self.flush(stored.key)
        self.purge_deleted()

    def purge_deleted(self) -> None:
        """Remove all rows of deleted banks, a batch at a time."""
        while self.graph.purge_deleted():
            continue

    def flush(self, bank_key: str | None = None) -> None:
        """Apply the outbox of a bank to the vector index, or that of all banks to its end.

        What is retained is safe in the graph already, so an index that cannot be written is
        reported by `health()` and caught up with later; it does not fail the retain. A long queue
        of one bank is left to the background.
        """
        self._flush(bank_key, (lambda: True) if bank_key is None else _times(PAGES - 1))

    def _flush(self, bank_key: str | None, proceed: Callable[[], bool]) -> None:
        try:
            with limited(each=self.settings.arm_timeout):
                left = self._apply(bank_key, proceed).more
            if left:
                self._apply_later()
        except ClosedError:
            log.debug(
                "closed; the vector index is brought up to date the next time the memory is opened"
            )
        except StoreError as error:
            log.warning("the vector index is behind the graph and will catch up: %s", error)
            if isinstance(error, StoreUnavailableError):
                self._apply_later()

    def catch_up(self) -> None:
        """Apply the outbox of all banks to the vector index.

        Raises:
            StoreError: the index cannot be written; the work stays queued.
        """
        self._apply(None, lambda: True)

    def _apply(
        self, bank_key: str | None, proceed: Callable[[], bool], page: int = PAGE
    ) -> sync.FlushReport:
        """Apply the outbox, one thread at a time; see `sync.flush`.

        Of threads that find the index unavailable one waits for it, and the others do not wait.
        """
        if not self._flushing.acquire(blocking=self.lag is None or bank_key is None):
            return sync.FlushReport(more=True)
        try:
            try:
                if self.index_lease.refused:  # processes with the other index do the work
                    raise StoreError(self.index_lease.refused)
                report = sync.flush(
                    self.graph, self.index, bank_key=bank_key, batch=page, proceed=proceed
                )
            except StoreError as error:
                self.lag = error
                raise
            self.lag = None
            return report
        finally:
            self._flushing.release()

    def bring_in_step(self, *, shared: bool, replaced: bool = False) -> None:
        """Bring the index in step with the graph, as far as an opening may take.

        Args:
            replaced: the graph used another index until now: all of it is written again.
            shared: other processes write the index too. It is compared with the graph, and all
                but a page is queued and applied in the background. Work that waits for a bank is
                applied when the bank is first used, unless it is much.
        """
        if replaced:
            sync.drop_all(self.index)
            self.index_lease.mark_emptied()
            lacking = [bank.bank.id for bank in sync.vector_owners(self.graph)]
        else:
            lacking = sync.banks_without_vectors(self.graph, self.index)
        if shared:
            self.behind = bool(lacking) or bool(self.graph.pending_vectors(1))
            queued = 0
            for bank_id in lacking:
                if queued < sync.REQUEUED_AT_ONCE:
                    queued += sync.requeue_banks(self.graph, [bank_id], _times(1))
            self.lost = bool(queued)
            self.in_background(self._mend_index, "hindsight-mend")
        else:
            sync.requeue_banks(self.graph, lacking)
            self._flush(None, _times(PAGES - 1))

    def renew_index_lease(self) -> None:
        """Renew the lease of the index; fill the index again if it was replaced or emptied."""
        try:
            with limited(each=self.settings.arm_timeout):
                if self.index_lease.renew():
                    self.bring_in_step(shared=True, replaced=True)
        except InvalidInputError as error:
            log.error("%s", error)
        except HindsightError as error:
            log.info("could not renew the index lease: %s", error)

    def _apply_later(self) -> None:
        """Apply the outbox of all banks in the background."""
        with self._locks_guard:
            if self._applying:
                return
            self._applying = self.behind = True
            self._known.clear()  # a recall of such a bank first waits for its vectors
        self.in_background(self._apply_all, "hindsight-apply")

    def _apply_all(self) -> None:
        """Apply the outbox of all banks, one process at a time, until it is empty or `close`."""

        def proceed() -> bool:
            self._flushing.release()  # between two pages, what a call waits for goes first
            try:
                return not self.closing.wait(PAUSE) and self.graph.claim_outbox(me, CLAIM_SECONDS)
            finally:
                self._flushing.acquire()

        me = secrets.token_hex(8)
        try:
            more, page = True, PAGE
            while more and not self.closing.is_set():
                try:
                    more = self._apply_in_turn(me, proceed, page)
                except StoreUnavailableError as error:
                    log.info("the vector index will be updated later: %s", error)
                    page = max(LEAST_PAGE, page // 2)
                    self.closing.wait(AGAIN_SECONDS)
            self.behind = more
        except ClosedError:
            log.debug(
                "closed; the vector index is brought up to date the next time the memory is opened"
            )
        except StoreError as error:
            log.warning("the vector index is behind the graph and will catch up: %s", error)
        finally:
            self._applying = False

    def _apply_in_turn(self, me: str, proceed: Callable[[], bool], page: int) -> bool:
        """Apply the outbox unless another process does; return True if more is left."""
        with limited(each=self.settings.arm_timeout):
            if self.graph.claim_outbox(me, CLAIM_SECONDS):
                more = self._apply(None, proceed, page).more
                self.graph.claim_outbox(me, 0)
                return more
            more = bool(self.graph.pending_vectors(1))
        self.closing.wait(CLAIM_SECONDS / 10)
        return more

    def in_background(self, target: Callable[[], None], name: str) -> None:
        """Run a function in a thread of its own, which `close` waits for.

        It has to end soon after `closing` is set.
        """
        thread = threading.Thread(target=target, name=name, daemon=True)
        with self._locks_guard:
            running = [each for each in self._background if each.is_alive()]
            self._background = [*running, thread]
            thread.start()

    def _mend_index(self) -> None:
        """Apply the outbox, then queue and apply what the index lacks, or has and should not.

        Processes that were killed may have left a vector of what another forgot meanwhile. The
        two are compared when nothing waits: a long queue is too much to read at once.
        """
        try:
            while not self.closing.is_set():
                if self.behind:
                    self._apply_later()
                while self._applying and not self.closing.wait(PAUSE):
                    continue
                try:
                    count = sync.mend(self.graph, self.index)
                except StoreUnavailableError as error:
                    log.info("the vector index will be compared with the graph later: %s", error)
                    self.closing.wait(AGAIN_SECONDS)
                    continue
                if count:
                    log.warning("the vector index differed from the graph in %d vectors", count)
                    self._apply_later()
                self.lost = False
                return
        except ClosedError:
            log.debug("closed before the vector index was compared with the graph")
        except HindsightError as error:
            log.warning("the vector index could not be compared with the graph: %s", error)

    def consolidations(
        self, bank_id: str, *, min_confidence: float = 0.0
    ) -> Iterator[Consolidation]:
        """Consolidate the pending memories of a bank in batches, then refresh its mental models.

        No new observation is stored that is less sure than `min_confidence`.
        """
        bank = self._own(self._existing(bank_id))  # `close` waits for what has begun
        changed = False
        deps = only_confident(self.reflecting, min_confidence)
        for done in rounds(deps, bank, lambda: self.worker.is_aborting):
            changed = changed or done.considered > 0
            yield done
        if changed:
            models = refresh_due(
                MentalModelDependencies(self.recalling, self.lock, self.model), bank
            )
            yield Consolidation(bank_id, failures=models.failures)

    def reflect_later(self, bank_id: str) -> None:
        """Schedule background consolidation of the bank, if the settings ask for it."""
        if self.settings.consolidate:
            self.worker.wake(bank_id)

    def reflect_on_leftovers(self) -> None:
        """Schedule consolidation of memories that an interrupted process left pending."""
        if self.settings.consolidate:
            for stored in self.graph.list_banks(pending_consolidation=True):
                if self.fits(stored):
                    self.worker.wake(stored.bank.id, leftover=True)

    def _consolidators(
        self, model: StructuredModel | None
    ) -> tuple[Consolidator, Consolidator] | None:
        """Return the consolidators that use the language model: observations, opinions."""
        if model is None:
            return None
        return (
            LLMConsolidator(model, tokenizer=self.tokenizer),
            LLMConsolidator(model, concluding=MemoryType.OPINION, tokenizer=self.tokenizer),
        )

    def configure(
        self,
        *,
        llm: object | None = UNCHANGED,
        reranker: object | None = UNCHANGED,
        extractor: object | None = UNCHANGED,
    ) -> None:
        """Exchange models; see `Hindsight.configure`. Calls that run keep those they began with."""
        self.check_open()
        with self._configuring:
            model = self.model
            if llm is not UNCHANGED:
                model = None if llm is None else as_model(llm)
            given = self._extractor_given if extractor is UNCHANGED else extractor
            chosen = self.extractor
            if extractor is not UNCHANGED or (llm is not UNCHANGED and given is None):
                chosen = extractor_for(given, model, self.settings, self.tokenizer)
            recalling = self.recalling
            if reranker is not UNCHANGED:
                recalling = replace(
                    recalling, reranker=reranker_given(reranker), reranking=reranker is not None
                )
            reflecting = self.reflecting
            if llm is not UNCHANGED:
                first, second = self._consolidators(model) or (
                    reflecting.rules,
                    reflecting.opinion_rules,
                )
                reflecting = replace(reflecting, consolidator=first, opinions=second)
            # All arguments are usable: from here on nothing fails.
            self.model, self._extractor_given = model, given
            self.retaining = replace(self.retaining, extractor=chosen)
            self.recalling, self.reflecting = recalling, reflecting

    def close(self, *, finish: bool = True) -> None:
        """Close stores and threads. Idempotent.

        From now on all calls are refused; one that runs ends with `ClosedError`, unless it is done
        before the stores close.

        Args:
            finish: complete pending consolidation first; otherwise it stays pending in the graph.
        """
        with self._locks_guard:
            first, self._closed = not self._closed, True
        self.closing.set()
        self.worker.close(finish=finish)
        if not first:
            return
        for thread in self._background:
            if thread is not threading.current_thread():
                thread.join(BACKGROUND_SECONDS)
        self._executor.shutdown(wait=True, cancel_futures=True)
        with limited(each=self.settings.arm_timeout):
            self.index_lease.release()
        try:
            self.index.close()
        finally:
            try:
                self.graph.close()
            finally:
                self._release()


def _times(count: int) -> Callable[[], bool]:
    """Return a function that returns True so many times, and then False."""
    left = iter(range(count))
    return lambda: next(left, None) is not None
