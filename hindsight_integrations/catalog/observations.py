"""`memory.observations`: what several memories say together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.conclusions import Observation, Quotation
from hindsight_integrations.core import Core
from hindsight_integrations.errors import InvalidInputError, MemoryNotFoundError
from hindsight_integrations.model import (
    Change,
    Memory,
    MemoryType,
    ObservationKind,
    Page,
    Source,
    utc_now,
)
from hindsight_integrations.naming import new_id, text_fingerprint
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import recall_request
from hindsight_integrations.reflect import view
from hindsight_integrations.reflect.confidence import observation_confidence
from hindsight_integrations.reflect.record import is_drawn
from hindsight_integrations.retain.prepared import retain_memory
from hindsight_integrations.storage.requests import (
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.storage.values import is_conclusion


@dataclass(frozen=True, slots=True)
class _Given:
    """An observation as its user gave it, checked."""

    text: str
    kind: ObservationKind
    sources: tuple[tuple[Source, Memory], ...]
    reasoning: str | None
    confidence: float | None
    tags: tuple[str, ...]


class Observations:
    """The observations of a bank."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(
        self,
        bank_id: str,
        *,
        types: Iterable[ObservationKind | str] | None = None,
        min_confidence: float = 0.0,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Observation]:
        """Observations in the order they were first drawn, a page at a time.

        Args:
            bank_id: which bank.
            types: only these kinds: "pattern", "causal", "generalization", "preference", "risk",
                "strategy".
            min_confidence: only those at least so sure, 0 to 1.
            limit: observations of a page, at most 1000.
            cursor: `next_cursor` of the page before.

        Returns:
            The page; its `total` counts all observations of the bank, of any kind.
        """
        self._core.bank(checks.bank_id(bank_id))
        wanted, least = _kinds(types), checks.confidence(min_confidence) or 0.0
        limit = checks.page_limit(limit)
        filter = MemoryFilter(now=utc_now(), types=frozenset({MemoryType.OBSERVATION}))
        found: list[Observation] = []
        while True:
            page = self._core.graph.list_memories(
                bank_id, filter, limit=limit - len(found), cursor=cursor
            )
            found += _admitted(self._core, page.items, wanted, least)
            cursor = page.next_cursor
            if cursor is None or len(found) == limit:
                return Page(found, page.total, cursor)

    def observe(
        self,
        bank_id: str,
        query: str,
        *,
        types: Iterable[ObservationKind | str] | None = None,
        min_confidence: float = 0.0,
        limit: int = 10,
        tags: Sequence[str] = (),
        tags_match: str = "any",
        scope: str | None = None,
    ) -> tuple[Observation, ...]:
        """The observations that answer a question, best first.

        What waits to be reflected on is reflected on first.

        Args:
            bank_id: which bank.
            query: the question, or any text.
            types: only these kinds; see `list`.
            min_confidence: only those at least so sure, 0 to 1.
            limit: observations, at most.
            tags: only those with any of these tags, or, with `tags_match="all"`, all.
            tags_match: "any" or "all".
            scope: only those of this scope.
        """
        core = self._core
        bank = core.bank(checks.bank_id(bank_id))
        wanted, least = _kinds(types), checks.confidence(min_confidence) or 0.0
        limit = checks.positive("limit", limit)
        request = recall_request(
            bank_id,
            query,
            max_tokens=core.settings.max_tokens,
            types=[MemoryType.OBSERVATION],
            tags=tags,
            tags_match=tags_match,
            scope=scope,
        )
        for _ in core.consolidations(bank_id):
            continue
        found = [item.memory for item in recall(core.recalling, [bank], request)]
        return tuple(_admitted(core, found, wanted, least)[:limit])

    def add(
        self,
        bank_id: str,
        text: str,
        *,
        type: ObservationKind | str = ObservationKind.GENERALIZATION,
        sources: Sequence[str | Quotation] = (),
        reasoning: str = "",
        confidence: float | None = None,
        tags: Sequence[str] = (),
    ) -> Observation:
        """Add an observation of your own. It is never rewritten, and goes with its last source.

        One of the same words is there once: it rests on the sources of both.

        Args:
            bank_id: which bank.
            text: what is observed.
            type: its kind; see `list`.
            sources: ids of the memories it rests on, or quotations from them.
            reasoning: how it was drawn.
            confidence: 0 to 1; computed from the number of sources if None.
            tags: labels, for filtering in recall.

        Raises:
            MemoryNotFoundError: a source does not exist.
            InvalidInputError: a source is a conclusion itself, or does not hold its quote.
        """
        core = self._core
        bank = core.bank(checks.bank_id(bank_id))
        given = _Given(
            checks.content(text, core.settings.max_content_chars),
            checks.choice("type", type, ObservationKind),
            tuple(_sources(core, bank_id, sources)),
            checks.text(reasoning, "reasoning") or None,
            checks.confidence(confidence),
            checks.tags(tags),
        )
        with core.lock(bank.key):
            same = self._same(bank_id, given.text)
            stored = self._new(bank, given) if same is None else self._more(bank, given, same)
        return view.observation(stored, core.graph.history(bank_id, stored.id), utc_now())

    def _same(self, bank_id: str, text: str) -> MemoryRecord | None:
        """The user's own observation of these words, if there is one."""
        graph, fingerprint = self._core.graph, text_fingerprint(text)
        ids = graph.find_fingerprints(bank_id, [fingerprint]).get(fingerprint, [])
        for record in graph.get_records(bank_id, ids).values():
            if record.memory.type is MemoryType.OBSERVATION and not is_drawn(record.memory):
                return record
        return None

    def _new(self, bank: StoredBank, given: _Given) -> Memory:
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
            confidence=_sureness(bank, given, len(facts)),
            scope=facts[0].scope if len({fact.scope for fact in facts}) == 1 else None,
            sources=tuple(source for source, _ in given.sources),
            kind=given.kind,
            reasoning=given.reasoning,
        )
        return retain_memory(self._core.retaining, bank, memory, None).stored[0]

    def _more(self, bank: StoredBank, given: _Given, same: MemoryRecord) -> Memory:
        """The observation with what it rests on now beside what it rested on."""
        old, now = same.memory, utc_now()
        sources = {source.memory_id: source for source, _ in given.sources}
        rested = {source.memory_id: source for source in old.sources} | sources
        memory = replace(
            old,
            kind=given.kind,
            sources=tuple(rested.values()),
            confidence=_sureness(bank, given, len(rested)),
            reasoning=given.reasoning or old.reasoning,
            tags=tuple(dict.fromkeys((*old.tags, *given.tags))),
            updated_at=now,
        )
        proof = Change(old.id, "add", "sources", str(len(old.sources)), str(len(rested)), now)
        record = replace(same, memory=memory)
        self._core.graph.apply(
            ChangeSet(bank.bank.id, replaced=(record,), history=(proof,), reflected=(old.id,))
        )
        self._core.flush()
        return memory

    alist = twin(list)
    aobserve = twin(observe)
    aadd = twin(add)


def _kinds(types: Iterable[ObservationKind | str] | None) -> frozenset[ObservationKind]:
    if types is None:
        return frozenset(ObservationKind)
    found = frozenset(
        checks.choice("type", each, ObservationKind)
        for each in ([types] if isinstance(types, str) else types)
    )
    if not found:
        raise InvalidInputError(f"types is empty; choose from {', '.join(ObservationKind)}")
    return found


def _sureness(bank: StoredBank, given: _Given, n_sources: int) -> float:
    if given.confidence is not None:
        return given.confidence
    return observation_confidence(n_sources, bank.bank.disposition.skepticism)


def _sources(
    core: Core, bank_id: str, given: Sequence[str | Quotation]
) -> Iterator[tuple[Source, Memory]]:
    if isinstance(given, str):
        raise InvalidInputError("sources is a single text; give a list of memory ids")
    wanted = [Quotation(g, None, utc_now()) if isinstance(g, str) else g for g in given]
    quotes = {checks.label("a source", piece.memory_id): piece.quote for piece in wanted}
    known = core.graph.get_memories(bank_id, list(quotes))
    for memory_id, words in quotes.items():
        if memory_id not in known:
            raise MemoryNotFoundError(f"bank {bank_id!r} has no memory {memory_id!r}")
        fact = known[memory_id]
        if fact.type is MemoryType.OBSERVATION or is_conclusion(fact):
            raise InvalidInputError(
                f"memory {memory_id!r} is itself concluded from others; give what it rests on"
            )
        quote = fact.text if words is None else words
        if not quote.strip() or quote not in fact.text:
            raise InvalidInputError(
                f"{checks.shown(quote)} does not stand in memory {memory_id!r}; quote it to the "
                "letter"
            )
        yield Source(mentioned_at=fact.mentioned_at, memory_id=memory_id, quote=quote), fact


def _admitted(
    core: Core, memories: Iterable[Memory], kinds: frozenset[ObservationKind], least: float
) -> list[Observation]:
    now = utc_now()
    found = (
        view.observation(memory, core.graph.history(memory.bank_id, memory.id), now)
        for memory in memories
        if view.kind(memory) in kinds
    )
    return [each for each in found if each.confidence >= least]
