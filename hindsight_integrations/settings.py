"""Every setting with its default, unit and source.

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
    """Settings of a client: each with what it does, its unit, and where its value comes from.

    Sources: [H] is the value of Hindsight 1.1; [C] is a choice, to be changed freely. The constants
    of ranking are not settings: each is documented in the module of `recall` that uses it.

    Raises:
        InvalidInputError: a value has the wrong type or is out of its range.
    """

    # Retaining
    max_content_chars: int = 2_000_000
    """Refuse longer texts in one retain, in characters [C]."""
    chunk_tokens: int = 512
    """Cut documents into chunks of at most so many tokens, between sentences [C]."""
    fact_tokens: int = 512
    """Split longer memories of the built-in extractors, in tokens [C]. A passage is seldom longer,
    and one that is cut in two is found with half of its content."""
    batch_size: int = 64
    """Store so many items of `retain_many` in one transaction [C]."""
    duplicate_similarity: float = 0.97
    """Compare two statements word by word, to fold one into the other, from this cosine on, 0.5 to
    1 [H]."""
    semantic_link_similarity: float = 0.7
    """Link two memories from this cosine on, 0 to 1 [H]."""
    semantic_links: int = 10
    """Link a new memory to at most so many similar ones [C]. Recall follows the heaviest four of a
    memory, so the 50 of [H] only cost time."""
    temporal_links: int = 4
    """Link a new memory to at most so many near it in time [C]. [H] has 20; recall follows four."""
    temporal_link_hours: float = 24.0
    """Let the weight of a temporal link fall to its least over so many hours [H]."""
    entity_match: float = 0.6
    """Take a mention for a known entity from this score on, 0 to 1 [H]."""

    # Recalling
    max_tokens: int = 4096
    """Token budget of a recall, context or reflection that names none [H]."""
    rrf_k: int = 60
    """The constant k of reciprocal rank fusion, in ranks (Cormack, Clarke and Buettcher 2009)."""
    rerank_candidates: int = 200
    """Let late interaction or another reranker read at most so many memories [C]; a `budget` may
    ask for fewer."""
    hemisphere: Hemisphere = "north"
    """Hemisphere whose seasons "last spring" means: "north" or "south" [C]."""
    arm_timeout: float = 10.0
    """Go on without an arm that has not answered so many seconds after it began, and report it in
    `failures` [C]."""
    recall_timeout: float = 10.0
    """Answer a recall after so many seconds with what was found: the embedder, event, arm, bank or
    reranker that is not done by then is left out, and reported in `failures` [C]."""

    # Reflecting
    consolidate: bool = True
    """Draw observations in the background after a retain; True or False [C]."""
    consolidation_batch: int = 256
    """Consolidate so many memories in one transaction [C]."""
    consolidation_delay: float = 0.5
    """Consolidate pending memories after so many seconds without a retain [C]."""
    consolidation_tokens: int = 200_000
    """Spend at most so many tokens of a language model on one consolidation [C]; what is left
    waits for the next."""
    observation_similarity: float = 0.45
    """Give a language model memories that share a word together from this cosine on, 0 to 1 [C]."""

    # Expiring
    purge_interval: float = 60.0
    """Delete expired memories every so many seconds [C]; 0 leaves that to `maintenance.purge`.
    Recall ignores them from the moment they expire."""

    # Models
    models_path: str = ""
    """Folder of installed models [C]; "" is that of the user's data (docs/models.md)."""

    # Storing
    durable: bool = False
    """Wait for the disk at each commit (SQLite `synchronous=FULL`); True or False [C]. If False, a
    process that is killed loses nothing; a machine that loses power may lose the last commits."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            if kind is bool and not isinstance(value, bool):
                raise InvalidInputError(f"settings.{field.name} is {value!r}; give True or False")
            if kind is int and (isinstance(value, bool) or not isinstance(value, int)):
                raise InvalidInputError(f"settings.{field.name} is {value!r}; give a whole number")
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
        if not isinstance(self.models_path, str):
            raise InvalidInputError(f"settings.models_path is {self.models_path!r}; give text")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the defaults, overridden by `HINDSIGHT_*` variables.

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
    ("recall_timeout", 0.01, 3600),
    ("consolidation_batch", 1, 5000),
    ("consolidation_delay", 0.0, 3600),
    ("consolidation_tokens", 0, 1_000_000_000),
    ("observation_similarity", 0.0, 1.0),
    ("purge_interval", 0.0, 1_000_000),
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
