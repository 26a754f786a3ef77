"""Scores of one memory in a recall: its rank in each arm, and the signals that place it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from hindsight_integrations.models import Arm


class PathStep(NamedTuple):
    """A memory or an entity on a path through the graph.

    Attributes:
        kind: "entity" or "memory".
        id: of the entity or memory.
        text: name of the entity; text of the memory, "" if the recall did not rank it.
        link: kind of the link that led to the memory; "" if it was an entity.
    """

    kind: str
    id: str
    text: str = ""
    link: str = ""


class ArmScore(NamedTuple):
    """Rank of a memory in one arm (1 is best), with the arm's own score and its reason.

    `path` leads through the graph, from a name or a near memory to this one, in the entity arm.
    """

    arm: Arm
    rank: int
    score: float
    reason: str
    path: tuple[PathStep, ...] = ()


class Signal(NamedTuple):
    """One term of the final score: `contribution` is the weighted, standardised `value`."""

    name: str
    value: float
    contribution: float


class Signals(Sequence[Signal]):
    """The signals of one memory, largest contribution first.

    They are made on access: a recall ranks by thousands, and few are ever read.

    Args:
        names: of all signals of the recall, those of value 0 here included.
        values: one a name.
        contributions: one a name.
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

    def __repr__(self) -> str:
        return repr(self._made())

    def _made(self) -> tuple[Signal, ...]:
        values, contributions = map(float, self._values), map(float, self._contributions)
        rows = zip(self._names, values, contributions, strict=True)
        made = [Signal(*row) for row in rows if row[1] or row[2]]
        return tuple(sorted(made, key=lambda signal: (-abs(signal.contribution), signal.name)))
