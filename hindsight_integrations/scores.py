"""Ranking of a recall: its memories, their ranks in each arm, and the signals that place them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Generic, NamedTuple, Self, TypeAlias, TypeVar, overload

from pydantic import AfterValidator, PlainSerializer, PlainValidator

from hindsight_integrations.errors import error_content, error_of
from hindsight_integrations.json_form import as_object
from hindsight_integrations.models import Arm, Memory, TimeSpan

T = TypeVar("T")

Reported: TypeAlias = Annotated[Exception, PlainValidator(error_of), PlainSerializer(error_content)]
"""An error in a result; in JSON it is represented by its type and message."""


@as_object
class PathStep(NamedTuple):
    """A memory or an entity on a path through the graph.

    Attributes:
        kind: "entity" or "memory".
        id: id of the entity or memory.
        text: name of the entity; text of the memory, "" if the recall did not rank it.
        link: kind of the link that led to the memory; "" if it was an entity.
    """

    kind: str
    id: str
    text: str = ""
    link: str = ""


@as_object
class ArmScore(NamedTuple):
    """Rank of a memory in one arm (1 is best), with the arm's own score and its reason.

    In the entity arm, `path` leads through the graph from a name or a similar memory to this one.
    """

    arm: Arm
    rank: int
    score: float
    reason: str
    path: tuple[PathStep, ...] = ()


@as_object
class Signal(NamedTuple):
    """One term of the final score: `contribution` is the weighted, standardised `value`."""

    name: str
    value: float
    contribution: float


class Signals(Sequence[Signal]):
    """The signals of one memory, largest contribution first.

    They are created on access, because a recall ranks thousands of memories and few are read.

    Args:
        names: names of all signals of the recall, including those with value 0 here.
        values: one for each name.
        contributions: one for each name.
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
    def __getitem__(self, index: int) -> Signal: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Signal, ...]: ...
    def __getitem__(self, index: int | slice) -> Signal | tuple[Signal, ...]:
        return self._made()[index]

    def __iter__(self) -> Iterator[Signal]:
        return iter(self._made())

    def __eq__(self, other: object) -> bool:
        return (
            self._made() == tuple(other) if isinstance(other, Signals | tuple) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._made())

    def __deepcopy__(self, memo: object) -> tuple[Signal, ...]:
        """Return a tuple: what copies a result for JSON (`asdict`, FastAPI) knows no other type."""
        return self._made()

    def __repr__(self) -> str:
        return repr(self._made())

    def _made(self) -> tuple[Signal, ...]:
        values, contributions = map(float, self._values), map(float, self._contributions)
        rows = zip(self._names, values, contributions, strict=True)
        made = [Signal(*row) for row in rows if row[1] or row[2]]
        return tuple(sorted(made, key=lambda signal: (-abs(signal.contribution), signal.name)))


class _OfMemory(Generic[T]):
    """An attribute of the memory that is read from its ranking directly."""

    def __init__(self, read: Callable[[Memory], T]) -> None:
        self._read = read

    @overload
    def __get__(self, ranked: None, kind: type) -> Self: ...
    @overload
    def __get__(self, ranked: RankedMemory, kind: type) -> T: ...
    def __get__(self, ranked: RankedMemory | None, kind: type) -> T | Self:
        return self if ranked is None else self._read(ranked.memory)


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory as ranked by a recall; `results.Recalled` documents the fields."""

    memory: Memory
    rank: int
    relevance: float
    total: float
    fused: float
    line: str
    tokens: int
    arms: tuple[ArmScore, ...] = ()
    signals: Annotated[
        Sequence[Signal], AfterValidator(tuple), PlainSerializer(list, return_type=list[Signal])
    ] = Signals()
    reasons: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The relevance, under the name used by vector stores."""
        return self.relevance

    # All that the memory has; see `models.Memory`.
    id = _OfMemory(lambda memory: memory.id)
    bank_id = _OfMemory(lambda memory: memory.bank_id)
    text = _OfMemory(lambda memory: memory.text)
    type = _OfMemory(lambda memory: memory.type)
    occurred = _OfMemory(lambda memory: memory.occurred)
    occurred_start = _OfMemory(lambda memory: memory.occurred_start)
    occurred_end = _OfMemory(lambda memory: memory.occurred_end)
    mentioned_at = _OfMemory(lambda memory: memory.mentioned_at)
    speaker = _OfMemory(lambda memory: memory.speaker)
    context = _OfMemory(lambda memory: memory.context)
    entities = _OfMemory(lambda memory: memory.entities)
    tags = _OfMemory(lambda memory: memory.tags)
    metadata = _OfMemory(lambda memory: memory.metadata)
    confidence = _OfMemory(lambda memory: memory.confidence)
    scope = _OfMemory(lambda memory: memory.scope)
    sources = _OfMemory(lambda memory: memory.sources)
    document_id = _OfMemory(lambda memory: memory.document_id)
    proof_count = _OfMemory(lambda memory: memory.proof_count)
    created_at = _OfMemory(lambda memory: memory.created_at)
    updated_at = _OfMemory(lambda memory: memory.updated_at)
    expires_at = _OfMemory(lambda memory: memory.expires_at)
    invalidated_at = _OfMemory(lambda memory: memory.invalidated_at)
    invalidated_because = _OfMemory(lambda memory: memory.invalidated_because)
    kind = _OfMemory(lambda memory: memory.kind)
    reasoning = _OfMemory(lambda memory: memory.reasoning)
    derived = _OfMemory(lambda memory: memory.derived)
    pinned = _OfMemory(lambda memory: memory.pinned)
    is_context = _OfMemory(lambda memory: memory.is_context)
    is_evidence = _OfMemory(lambda memory: memory.is_evidence)
    is_trusted = _OfMemory(lambda memory: memory.is_trusted)


@dataclass(frozen=True, slots=True)
class Failure:
    """A part of recall that failed and was left out: an arm, or the reranker."""

    part: str
    error: Reported

    def __str__(self) -> str:
        return f"{self.part}: {type(self.error).__name__}: {self.error}"


@dataclass(frozen=True, slots=True)
class Window:
    """A period that the question asks about, and the words that name it.

    Attributes:
        firm: True if the question names the period, or its distance from an event. A period before,
            after or during an event is only a hint and counts less, like a period in a statement
            next to the question.
    """

    text: str
    span: TimeSpan
    firm: bool = True


@dataclass(frozen=True, slots=True)
class RankedResult:
    """Memories ranked by a recall; `results.RecallResult` documents the fields."""

    bank_ids: tuple[str, ...]
    query: str
    memories: tuple[RankedMemory, ...] = ()
    text: str = ""
    tokens: int = 0
    max_tokens: int = 0
    truncated: bool = False
    windows: tuple[Window, ...] = ()
    entities_named: tuple[str, ...] = ()
    left_out: tuple[RankedMemory, ...] = ()
    considered: int = 0
    failures: tuple[Failure, ...] = ()
    timings: Mapping[str, float] | None = field(default=None, hash=False)
    query_time: datetime | None = None
    notes: tuple[str, ...] = ()
