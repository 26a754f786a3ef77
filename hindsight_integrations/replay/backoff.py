"""How long to wait before a store that was away is asked again.

Full jitter, of M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): each
failure doubles the longest wait, and the wait is drawn evenly from all of it, so that the many
clients of one server do not come back together.
"""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.errors import InvalidInputError

_DOUBLINGS = 60
"""Beyond these a wait is longest in any case, and 2 to their number still a float."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits of 0 to `first` seconds after one failure, to twice that after two, to `longest`.

    Raises:
        InvalidInputError: not 0 < first <= longest.
    """

    first: float = 0.5
    longest: float = 60.0

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.longest < float("inf"):
            raise InvalidInputError(
                f"backoff is from {self.first!r} to {self.longest!r} seconds; give two numbers "
                "above 0, the shorter first"
            )

    def ceiling(self, failures: int) -> float:
        """The longest wait, in seconds, after so many failures in a row, at least one."""
        return min(self.longest, self.first * 2.0 ** min(failures - 1, _DOUBLINGS))

    def wait(self, failures: int, chance: float) -> float:
        """The wait in seconds, where `chance` is drawn evenly from 0 to 1."""
        return chance * self.ceiling(failures)
