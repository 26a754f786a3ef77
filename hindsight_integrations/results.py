"""What the verbs return: frozen values that print well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, overload

from hindsight_integrations.model import Chunk, Entity, Memory, TimeSpan

if TYPE_CHECKING:
    from hindsight_integrations.explain import Explanation

# Retaining


class SkipReason(StrEnum):
    """Why a piece of content made no new memory."""

    UNCHANGED = "unchanged"
    """The document or chunk is stored already, word for word."""
    REPEATED = "repeated"
    """A memory says the same; its proof count was raised."""
    EMPTY = "empty"
    """Nothing to remember was found in it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A piece of content that made no new memory, the start of its text, and why.

    `memory_id` is the memory that says the same, for `REPEATED`.
    """

    text: str
    reason: SkipReason
    memory_id: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An item of a batch that was not stored, and the error that kept it out."""

    index: int
    error: Exception


@dataclass(frozen=True, slots=True)
class RetainResult:
    """What one retain, or one batch of them, changed.

    Attributes:
        stored: the new memories, in the order of the content.
        skipped: content that made none, and why.
        removed: ids of memories that went with replaced parts of a document.
        failed: items of a batch that were not stored; the others were.
        document_ids: documents written or found unchanged.
        seconds: how long it took.
    """

    bank_id: str
    stored: tuple[Memory, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()
    document_ids: tuple[str, ...] = ()
    seconds: float = 0.0

    @classmethod
    def merged(cls, bank_id: str, results: Sequence[RetainResult]) -> RetainResult:
        """Several retains as one, what failed in the order of the items."""
        failed = chain.from_iterable(each.failed for each in results)
        return cls(
            bank_id,
            stored=tuple(chain.from_iterable(each.stored for each in results)),
            skipped=tuple(chain.from_iterable(each.skipped for each in results)),
            removed=tuple(chain.from_iterable(each.removed for each in results)),
            failed=tuple(sorted(failed, key=lambda failure: failure.index)),
            document_ids=tuple(chain.from_iterable(each.document_ids for each in results)),
            seconds=sum(each.seconds for each in results),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the new memories."""
        return tuple(memory.id for memory in self.stored)

    def __repr__(self) -> str:
        parts = [f"stored={len(self.stored)}"]
        parts += [
            f"{name}={len(value)}"
            for name in ("skipped", "removed", "failed")
            if (value := getattr(self, name))
        ]
        return f"RetainResult(bank_id={self.bank_id!r}, {', '.join(parts)})"


# Recalling


class Arm(StrEnum):
    """One of the four searches of a recall."""

    TEMPORAL = "temporal"
    ENTITY = "entity"
    MEANING = "meaning"
    PATHWAY = "pathway"


class ArmScore(NamedTuple):
    """How one arm found a memory: its rank there (1 is best), the arm's own score, and why."""

    arm: Arm
    rank: int
    score: float
    reason: str


class Signal(NamedTuple):
    """One term of the final score: `contribution` is the weighted, standardised `value`."""

    name: str
    value: float
    contribution: float


class Signals(Sequence[Signal]):
    """The signals of one memory, largest contribution first.

    Each is made when it is looked at: a recall ranks by a thousand, and few are ever asked for.

    Args:
        names: of all signals of the recall, also those that say nothing of this memory.
        values: of this memory, one a name.
        contributions: of this memory, one a name.
    """

    __slots__ = ("_contributions", "_names", "_values")

    def __init__(
        self,
        names: Sequence[str] = (),
        values: Iterable[float] = (),
        contributions: Iterable[float] = (),
    ) -> None:
        self._names = names
        self._values = values
        self._contributions = contributions

    def __len__(self) -> int:
        return len(self._made())

    @overload
    def __getitem__(self, place: int) -> Signal: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Signal, ...]: ...
    def __getitem__(self, place: int | slice) -> Signal | tuple[Signal, ...]:
        return self._made()[place]

    def __iter__(self) -> Iterator[Signal]:
        return iter(self._made())

    def __eq__(self, other: object) -> bool:
        return (
            self._made() == tuple(other) if isinstance(other, Signals | tuple) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def _made(self) -> tuple[Signal, ...]:
        values, contributions = map(float, self._values), map(float, self._contributions)
        rows = zip(self._names, values, contributions, strict=True)
        found = [Signal(*row) for row in rows if row[1] or row[2]]
        return tuple(sorted(found, key=lambda each: (-abs(each.contribution), each.name)))


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that came back.

    Attributes:
        rank: place in the result, 1 is best.
        score: how sure it is that this belongs to the answer, 0 to 1, falling with the rank; what
            `min_score` is held against.
        total: what the order was made by: the sum of the signals, and the boosts.
        fused: its reciprocal rank fusion score over the arms.
        text: as rendered for a reader, without its date header.
        tokens: what it takes of the budget, date header included where it opens one.
    """

    memory: Memory
    rank: int
    score: float
    total: float
    fused: float
    text: str
    tokens: int
    arms: tuple[ArmScore, ...] = ()
    signals: Sequence[Signal] = Signals()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Failure:
    """A part of recall that failed and was left out: an arm, or the reranker."""

    part: str
    error: Exception

    def __str__(self) -> str:
        return f"{self.part}: {type(self.error).__name__}: {self.error}"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time the question was understood to ask for, and the words that said so.

    Attributes:
        firm: whether the question names the time or its distance from an event; one that is only
            before, after or during an event is a hint, and counts less.
    """

    text: str
    span: TimeSpan
    firm: bool = True


@dataclass(frozen=True, slots=True)
class EntityNote:
    """An entity among the results, with what the bank knows of it, within its own budget."""

    entity: Entity
    text: str


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What came back, best first, and how it was found.

    Attributes:
        memories: as many as fit the token budget.
        text: those memories, rendered for a reader or a prompt.
        tokens: tokens of `text`.
        truncated: the one memory here was too long for the budget, and was cut.
        windows: the times the question was understood to ask for.
        entities_named: names in the question that the bank knows.
        chunks: source chunks of the memories, within `chunk_tokens`.
        entity_notes: entities of the memories, within `entity_tokens`.
        left_out: memories that ranked here but did not fit the budget.
        considered: memories that were scored.
        failures: parts that failed and were left out.
        timings: seconds by stage.
    """

    bank_ids: tuple[str, ...]
    query: str
    memories: tuple[Recalled, ...] = ()
    text: str = ""
    tokens: int = 0
    max_tokens: int = 0
    truncated: bool = False
    windows: tuple[Window, ...] = ()
    entities_named: tuple[str, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    entity_notes: tuple[EntityNote, ...] = ()
    left_out: tuple[Recalled, ...] = ()
    considered: int = 0
    failures: tuple[Failure, ...] = ()
    timings: Mapping[str, float] | None = None
    query_time: datetime | None = None

    def explain(self, *, detailed: int = 10) -> Explanation:
        """Why each memory is there: the arms, the path through the graph, the signals.

        Args:
            detailed: memories explained in full; the rest take a line each.
        """
        from hindsight_integrations.explain import explain

        return explain(self, detailed=detailed)

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.memories)

    def __getitem__(self, place: int) -> Recalled:
        return self.memories[place]

    def __len__(self) -> int:
        return len(self.memories)

    def __bool__(self) -> bool:
        return bool(self.memories)

    def __repr__(self) -> str:
        best = f", best={self.memories[0].memory.text[:60]!r}" if self.memories else ""
        failed = f", failures={[f.part for f in self.failures]}" if self.failures else ""
        return (
            f"RecallResult({len(self.memories)} memories, {self.tokens} of "
            f"{self.max_tokens} tokens{best}{failed})"
        )
