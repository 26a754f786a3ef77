"""Result of `memory.observations.observe`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from hindsight_integrations.conclusions import Observation
from hindsight_integrations.results import (
    Context,
)


@dataclass(frozen=True, slots=True, eq=False)
class Observed(Sequence[Observation]):
    """The observations that answer a question, best first; equal to a tuple of them.

    Attributes:
        observations: the observations.
        context: their texts, set out for a reader or a prompt.
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
