"""Every tunable with its default, unit and source, in one place.

A `Settings` is given to `Hindsight(settings=...)`; `Settings.from_env()` reads the same names
from the environment as `HINDSIGHT_<NAME>`, for instance `HINDSIGHT_MAX_CONTENT_CHARS=500000`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from hindsight_integrations.errors import InvalidInputError

Hemisphere = Literal["north", "south"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How the engine behaves. Values marked [H] are those of Hindsight 1.1.

    Raises:
        InvalidInputError: a value has the wrong type or is out of its range.
    """

    # Retaining
    max_content_chars: int = 2_000_000
    """Longest text of one retain, in characters."""
    chunk_tokens: int = 512
    """Longest chunk of a document, in tokens."""
    fact_tokens: int = 512
    """Longest memory the built-in extractor makes, in tokens: a passage is seldom longer, and
    one that is cut in two answers with half of what it says."""
    batch_size: int = 64
    """Items that `retain_many` stores in one transaction."""
    duplicate_similarity: float = 0.97
    """Cosine from which two statements may be the same one [H]."""
    semantic_link_similarity: float = 0.7
    """Cosine from which two memories are linked [H]."""
    semantic_links: int = 10
    """Semantic links a new memory gets, at most. Recall follows the heaviest few of a memory, so
    Hindsight's 50 only cost time here."""
    temporal_links: int = 4
    """Temporal links a new memory gets, at most; Hindsight has 20."""
    temporal_link_hours: float = 24.0
    """Hours over which a temporal link's weight falls to its floor [H]."""
    entity_match: float = 0.6
    """Score from which a mention is taken for a known entity [H]."""

    # Recalling
    max_tokens: int = 4096
    """Token budget of a recall when the call names none."""
    rrf_k: int = 60
    """The k of reciprocal rank fusion (Cormack, Clarke, Buettcher 2009)."""
    rerank_candidates: int = 200
    """Memories that the reranker reads at most."""
    hemisphere: Hemisphere = "north"
    """Where the user's seasons are."""
    arm_timeout: float = 10.0
    """Seconds after which recall goes on without an arm, and says so."""

    # Reflecting
    consolidate: bool = True
    """Whether observations are drawn in the background after a retain."""
    consolidation_batch: int = 256
    """Memories reflected on in one transaction."""
    consolidation_delay: float = 0.5
    """Seconds without a retain after which what waits is reflected on."""
    consolidation_tokens: int = 200_000
    """Tokens that one consolidation may take of a language model; what is left then waits."""
    observation_similarity: float = 0.45
    """Cosine from which memories that share a phrase are of one matter."""

    # Storing
    durable: bool = False
    """Whether each commit waits for the disk (SQLite `synchronous=FULL`). Off, a process that
    is killed loses nothing; a machine that loses power may lose the last moments."""

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInputError(f"settings.{name} is {value!r}; give a number")
            if not low <= value <= high:
                raise InvalidInputError(
                    f"settings.{name} is {value!r}; give a number from {low} to {high}"
                )
        if self.hemisphere not in ("north", "south"):
            raise InvalidInputError(
                f"settings.hemisphere is {self.hemisphere!r}; give 'north' or 'south'"
            )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """The defaults, with what `HINDSIGHT_*` variables override.

        Raises:
            InvalidInputError: a variable cannot be read as its setting's type.
        """
        env = os.environ if environ is None else environ
        given = {
            field.name: _parse(field.name, type(field.default), env[key])
            for field in fields(cls)
            if (key := f"HINDSIGHT_{field.name.upper()}") in env
        }
        return cls(**given)  # type: ignore[arg-type]


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("max_content_chars", 1, 100_000_000),
    ("chunk_tokens", 32, 8192),
    ("fact_tokens", 16, 8192),
    ("batch_size", 1, 5000),
    ("duplicate_similarity", 0.5, 1.0),
    ("semantic_link_similarity", 0.0, 1.0),
    ("semantic_links", 0, 1000),
    ("temporal_links", 0, 1000),
    ("temporal_link_hours", 0.01, 100_000),
    ("entity_match", 0.0, 1.0),
    ("max_tokens", 1, 10_000_000),
    ("rrf_k", 1, 10_000),
    ("rerank_candidates", 0, 5000),
    ("arm_timeout", 0.01, 3600),
    ("consolidation_batch", 1, 5000),
    ("consolidation_delay", 0.0, 3600),
    ("consolidation_tokens", 0, 1_000_000_000),
    ("observation_similarity", 0.0, 1.0),
)


def _parse(name: str, kind: type, text: str) -> object:
    if kind is bool:
        lowered = text.strip().lower()
        if lowered in ("1", "true", "yes", "on"):
            return True
        if lowered in ("0", "false", "no", "off"):
            return False
    elif kind is str:
        return text.strip()
    else:
        try:
            return kind(text)
        except ValueError as error:
            raise InvalidInputError(
                f"HINDSIGHT_{name.upper()} is {text!r}; give a number"
            ) from error
    raise InvalidInputError(f"HINDSIGHT_{name.upper()} is {text!r}; give true or false")
