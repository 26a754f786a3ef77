"""`memory.observations`: conclusions drawn from several memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import overload

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.conclusions import Observation, Quotation
from hindsight_integrations.errors import InvalidInputError, MemoryNotFoundError
from hindsight_integrations.history import Change
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import (
    Memory,
    MemoryType,
    ObservationKind,
    Page,
    Source,
    is_conclusion,
    utc_now,
)
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.normalization import new_id, text_fingerprint
from hindsight_integrations.recall.request import recall_request
from hindsight_integrations.reflect import conclusions
from hindsight_integrations.reflect.context import context_of_results
from hindsight_integrations.reflect.scoring import observation_confidence
from hindsight_integrations.reflect.search import find_memories
from hindsight_integrations.results import Context
from hindsight_integrations.retain.caller_ids import changes_between
from hindsight_integrations.retain.ready_made import retain_memory
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    DUPLICATES,
    HISTORY,
    MEMORY,
    RECORD,
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
    TagsMatch,
)
from hindsight_integrations.stores.reads import read_one
from hindsight_integrations.validation import MemoryLike


@dataclass(frozen=True, slots=True)
class _Request:
    """The observation that a user asks to add, validated."""

    text: str
    kind: ObservationKind | None
    sources: tuple[tuple[Source, Memory], ...]
    reasoning: str | None
    confidence: float | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Observed(Sequence[Observation], JsonForm):
    """The observations that answer a question, best first; equal to a tuple of them.

    Attributes:
        observations: the observations.
        context: their texts, formatted for a reader or a prompt.
    """

    observations: tuple[Observation, ...]
    context: Context

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories that the observations rest on, each once."""
        return tuple(dict.fromkeys(id for each in self.observations for id in each.sources))

    def __len__(self) -> int:
        return len(self.observations)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Observation, ...]: ...
    def __getitem__(self, index: int | slice) -> Observation | tuple[Observation, ...]:
        return self.observations[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observed | tuple):
            return NotImplemented
        return self.observations == tuple(other)

    def __hash__(self) -> int:
        return hash(self.observations)


class Observations(Namespace):
    """The observations of a bank."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(
        self,
        bank_id: str,
        *,
        types: Iterable[ObservationKind | str] | None = None,
        min_confidence: float = 0.0,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Observation]:
        """Return a page of observations in the order they were first drawn.

        Args:
            bank_id: which bank.
            types: only these kinds: "pattern", "causal", "generalization", "preference", "risk",
                "strategy".
            min_confidence: only those with at least this confidence, 0 to 1.
            limit: maximum observations per page, up to 1000.
            cursor: `next_cursor` of the previous page.

        Returns:
            The page; its `total` counts all observations of the bank, of any kind.
        """
        self._runtime.bank(bank_id)
        wanted, least = _kinds(types), validation.confidence(min_confidence) or 0.0
        limit, cursor = validation.page_limit(limit), validation.page_cursor(cursor)
        filter = MemoryFilter(now=utc_now(), types=frozenset({MemoryType.OBSERVATION}))
        shown: list[Observation] = []
        while True:
            page = self._runtime.graph.list_memories(
                bank_id, filter, limit=limit - len(shown), cursor=cursor
            )
            shown += _admitted(self._runtime, bank_id, page.items, wanted, least)
            cursor = page.next_cursor
            if cursor is None or len(shown) == limit:
                return Page(shown, page.total, cursor)

    def observe(
        self,
        bank_id: str,
        query: str,
        *,
        types: Iterable[ObservationKind | str] | None = None,
        min_confidence: float = 0.0,
        limit: int = 10,
        tags: Sequence[str] = (),
        tags_match: TagsMatch = "any",
        scope: str | None = None,
    ) -> Observed:
        """Return the observations that answer a question, best first, with context and sources.

        Pending memories are consolidated first. Of the observations drawn then, only those with at
        least `min_confidence` are stored; the others may be drawn later, when more memories support
        them.

        Args:
            bank_id: which bank.
            query: the question, or any text.
            types: only these kinds; see `list`.
            min_confidence: only those with at least this confidence, 0 to 1.
            limit: maximum number of observations.
            tags: only those with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            scope: only those of this scope.
        """
        runtime = self._runtime
        bank = runtime.bank(bank_id)
        wanted, least = _kinds(types), validation.confidence(min_confidence) or 0.0
        limit = validation.positive("limit", limit)
        request = recall_request(
            bank_id,
            query,
            max_tokens=runtime.settings.max_tokens,
            types=[MemoryType.OBSERVATION],
            tags=tags,
            tags_match=tags_match,
            scope=scope,
        )
        for _ in runtime.consolidations(bank_id, min_confidence=least):
            continue
        found, failures = find_memories(runtime.recalling, bank, request)
        memories = [each.source for each in found if isinstance(each.source, Memory)]
        admitted = _admitted(runtime, bank_id, memories, wanted, least)[:limit]
        ids = {each.id for each in admitted}
        shown = [each for each in found if each.source.id in ids]
        context = context_of_results(bank.bank, request, shown, failures, runtime.tokenizer)
        return Observed(tuple(admitted), context)

    def add(
        self,
        bank_id: str,
        text: str,
        *,
        type: ObservationKind | str | None = None,
        sources: Sequence[str | MemoryLike | Quotation] = (),
        reasoning: str = "",
        confidence: float | None = None,
        tags: Sequence[str] = (),
    ) -> Observation:
        """Add an observation of your own, which the engine never rewrites.

        Adding the same text again adds the sources and tags to the existing observation; the other
        arguments given replace its fields, and its history tells of it. It is deleted together with
        its last source.

        Args:
            bank_id: which bank.
            text: what is observed.
            type: its kind; see `list`. If None, a new one is a "generalization".
            sources: ids of the memories it rests on, or quotations from them.
            reasoning: how it was drawn.
            confidence: 0 to 1; if None, that given before, else computed from the number of
                sources.
            tags: labels, for filtering in recall.

        Raises:
            MemoryNotFoundError: a source does not exist.
            InvalidInputError: a source is itself a conclusion, or does not contain its quote.
        """
        runtime = self._runtime
        bank = runtime.bank(bank_id)
        given = _Request(
            validation.content(text, runtime.settings.max_content_chars),
            None if type is None else validation.choice("type", type, ObservationKind),
            tuple(_sources(runtime, bank_id, sources)),
            validation.text(reasoning, "reasoning") or None,
            validation.confidence(confidence),
            validation.tags(tags),
        )
        with runtime.lock(bank.key):
            known, _ = change(runtime, bank_id, partial(self._extended, given=given))
            stored = self._new(bank, given) if known is None else known
        return _observations(runtime, bank_id, [stored])[0]

    def _own_with_text(self, bank_id: str, text: str) -> MemoryRecord | None:
        """Return the user's own observation with this text, if there is one."""
        graph, fingerprint = self._runtime.graph, text_fingerprint(text)
        ids = read_one(graph, bank_id, DUPLICATES, fingerprint, ())
        for record in graph.read(bank_id, RECORD, ids).values():
            if record.memory.type is MemoryType.OBSERVATION and not record.memory.derived:
                return record
        return None

    def _new(self, bank: StoredBank, given: _Request) -> Memory:
        facts = [fact for _, fact in given.sources]
        memory = Memory(
            id=new_id("m-"),
            bank_id=bank.bank.id,
            text=given.text,
            type=MemoryType.OBSERVATION,
            mentioned_at=max((fact.mentioned_at for fact in facts), default=utc_now()),
            entities=tuple(
                dict.fromkeys(name for f in facts for name in f.entities if name in given.text)
            ),
            tags=given.tags,
            confidence=_confidence(bank, given.confidence, len(facts)),
            scope=facts[0].scope if len({fact.scope for fact in facts}) == 1 else None,
            sources=tuple(source for source, _ in given.sources),
            kind=given.kind or ObservationKind.GENERALIZATION,
            reasoning=given.reasoning,
        )
        return retain_memory(self._runtime.retaining, bank, memory, None).stored[0]

    def _extended(self, bank: StoredBank, given: _Request) -> tuple[ChangeSet, Memory | None]:
        """Return the change that extends the observation with this text, and the observation.

        None, and no change, if there is no such observation.
        """
        bank_id, now = bank.bank.id, utc_now()
        known = self._own_with_text(bank_id, given.text)
        if known is None:
            return ChangeSet(bank_id), None
        old = known.memory
        added = [source for source, _ in given.sources]
        by_memory = {source.memory_id: source for source in (*old.sources, *added)}
        confidence = given.confidence
        if confidence is None and old.confidence != _confidence(bank, None, len(old.sources)):
            confidence = old.confidence  # a user gave it
        memory = replace(
            old,
            kind=given.kind or old.kind,
            sources=tuple(by_memory.values()),
            confidence=_confidence(bank, confidence, len(by_memory)),
            reasoning=given.reasoning or old.reasoning,
            tags=tuple(dict.fromkeys((*old.tags, *given.tags))),
        )
        if memory == old:
            return ChangeSet(bank_id), old
        memory = replace(memory, updated_at=now)
        # Not the sources' words: they would stay in the history when a source is forgotten.
        proof = Change(old.id, "add", "sources", str(len(old.sources)), str(len(by_memory)), now)
        others = changes_between(replace(old, sources=memory.sources), memory, "add", now)
        changes = ChangeSet(
            bank_id,
            replaced=(replace(known, memory=memory),),
            history=(proof, *others) if memory.sources != old.sources else others,
            mark_consolidated=(old.id,),
        )
        return changes, memory

    alist = async_variant(list)
    aobserve = async_variant(observe)
    aadd = async_variant(add)


def _kinds(types: Iterable[ObservationKind | str] | None) -> frozenset[ObservationKind]:
    if types is None:
        return frozenset(ObservationKind)
    found = frozenset(
        validation.choice("type", each, ObservationKind)
        for each in validation.items_or_one("types", types, f"some of {', '.join(ObservationKind)}")
    )
    if not found:
        raise InvalidInputError(f"types is empty; choose from {', '.join(ObservationKind)}")
    return found


def _confidence(bank: StoredBank, given: float | None, n_sources: int) -> float:
    """Return the confidence given, or that of an observation with so many sources."""
    if given is not None:
        return given
    return observation_confidence(n_sources, bank.bank.disposition.skepticism)


def _sources(
    runtime: Runtime, bank_id: str, given: Sequence[str | MemoryLike | Quotation]
) -> Iterator[tuple[Source, Memory]]:
    """Yield a source for each memory that is cited, with the memory."""
    quotes: dict[str, str | None] = {}
    for cited in validation.items("sources", given, "a list of memories, their ids or Quotations"):
        if not isinstance(cited, Quotation):
            quotes[validation.memory_id("a source", cited, bank_id)] = None
        elif isinstance(cited.quote, str | None):
            quotes[validation.label("a source", cited.memory_id)] = cited.quote
        else:
            raise InvalidInputError(
                f"the quote of a source is {validation.shown(cited.quote)}; give text or None"
            )
    known = runtime.graph.read(bank_id, MEMORY, list(quotes))
    for memory_id, quote in quotes.items():
        if memory_id not in known:
            raise MemoryNotFoundError(
                f"bank {bank_id!r} has no memory {memory_id!r}; see memories.list({bank_id!r})"
            )
        fact = known[memory_id]
        if fact.type is MemoryType.OBSERVATION or is_conclusion(fact):
            raise InvalidInputError(
                f"memory {memory_id!r} is itself a conclusion; give the memories it rests on"
            )
        quote = fact.text if quote is None else quote
        if not quote.strip() or quote not in fact.text:
            raise InvalidInputError(
                f"{validation.shown(quote)} is not in memory {memory_id!r}; quote it verbatim"
            )
        yield Source(mentioned_at=fact.mentioned_at, memory_id=memory_id, quote=quote), fact


def _admitted(
    runtime: Runtime,
    bank_id: str,
    memories: Iterable[Memory],
    kinds: frozenset[ObservationKind],
    least: float,
) -> list[Observation]:
    """Return the memories of these kinds, with at least this confidence, as observations."""
    of_kinds = [memory for memory in memories if conclusions.kind(memory) in kinds]
    found = _observations(runtime, bank_id, of_kinds)
    return [observation for observation in found if observation.confidence >= least]


def _observations(runtime: Runtime, bank_id: str, memories: Sequence[Memory]) -> list[Observation]:
    """Return memories as observations, each with its history."""
    histories = runtime.graph.read(bank_id, HISTORY, [memory.id for memory in memories])
    now = utc_now()
    return [
        conclusions.observation(memory, histories.get(memory.id, ()), now) for memory in memories
    ]
