"""Every setting with its default, unit and source.

Pass a `Settings` to `Hindsight(settings=...)`; `Settings.from_env()` reads the same settings from
environment variables `HINDSIGHT_<NAME>`, for instance `HINDSIGHT_MAX_CONTENT_CHARS=500000`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, tzinfo
from difflib import get_close_matches
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hindsight_integrations.errors import InvalidInputError

log = logging.getLogger("hindsight_integrations")

Hemisphere = Literal["north", "south"]

PREFIX = "HINDSIGHT_"
"""Beginning of the variables that this package reads."""

PARTS = ("path", "graph", "vectors", "embedder", "model_dir")
"""Variables of a memory in addition to its settings, without the prefix and in lower case."""

_CONFIG = "config"
"""Variable of the command line alone."""

_OTHER_PROGRAMS = tuple(f"{PREFIX}{name}_" for name in ("API", "CP", "EMBED"))
"""Beginnings of the variables that the programs of Hindsight itself read."""

_LIKENESS = 0.7
"""Least likeness of a name to a known one that is taken for a slip (`difflib`): "GRAPH_URL" has
0.71 to "GRAPH", and "IDLE_TIMEOUT", which other programs read, 0.69 to "ARM_TIMEOUT"."""

_warned: set[str] = set()
"""Misspelled variables that this process has warned of."""


def variable(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the value of an environment variable; None if it is unset or blank.

    Compose files and unit files set a variable without a value to an empty text.
    """
    value = (os.environ if environ is None else environ).get(name, "")
    return value if value.strip() else None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known variable whose name is most like that of an unknown one, or None."""
    names = {each.removeprefix(PREFIX): each for each in known}
    near = get_close_matches(name.removeprefix(PREFIX), names, n=1, cutoff=_LIKENESS)
    return names[near[0]] if near else None


def warn_of_misspelled(known: Iterable[str], environ: Mapping[str, str] | None = None) -> None:
    """Log a warning for each variable whose name is nearly a known one, once in a process.

    No error, and nothing about other names: other programs read variables with this prefix too.
    """
    environ, known = os.environ if environ is None else environ, set(known)
    unknown = {name for name in environ if name.startswith(PREFIX)} - known - _warned
    for name in sorted(unknown):
        if not name.startswith(_OTHER_PROGRAMS) and (meant := nearest(name, known)):
            _warned.add(name)
            log.warning("the variable %s is not read; did you mean %s?", name, meant)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a client, each with its purpose, unit and the source of its default.

    Sources: [H] is the value of Hindsight 1.1; [C] is our choice, change it freely. Ranking
    constants are not settings; each is documented in the module of `recall` that uses it.

    Raises:
        InvalidInputError: a value has the wrong type or is out of range.
    """

    # Times
    timezone: str = "UTC"
    """IANA name of the time zone of times that carry none, such as "Europe/Berlin": those of calls,
    texts and files, and the present where no time is given [C]. It decides which day is "today". A
    time with a zone or offset of its own keeps it."""

    # Retaining
    max_content_chars: int = 2_000_000
    """Maximum characters of text in one retain; longer texts are refused [C]."""
    chunk_tokens: int = 512
    """Maximum tokens of a document chunk; chunks end between sentences [C]."""
    fact_tokens: int = 512
    """Maximum tokens of a memory of the built-in extractors; longer ones are split [C]. Passages
    are seldom longer, and each half of a split passage is found by its own content only."""
    batch_size: int = 64
    """Number of `retain_many` items stored in one transaction [C]."""
    duplicate_similarity: float = 0.97
    """Minimum cosine at which statements are checked as duplicates, 0.5 to 1 [H]."""
    semantic_link_similarity: float = 0.7
    """Minimum cosine at which two memories are linked, 0 to 1 [H]."""
    semantic_links: int = 10
    """Maximum number of similar memories a new memory is linked to [C]. Recall follows only the
    four strongest links of a memory, so the 50 of [H] would only cost time."""
    temporal_links: int = 4
    """Maximum number of memories near in time that a new memory is linked to [C]. [H] has 20, but
    recall follows only four."""
    temporal_link_hours: float = 24.0
    """Hours over which a temporal link decays to its minimum weight [H]."""
    entity_match: float = 0.6
    """Minimum score at which a mention is matched to a known entity, 0 to 1 [H]."""

    # Recalling
    max_tokens: int = 4096
    """Default token budget of a recall, context or reflection [H]."""
    rrf_k: int = 60
    """The constant k of reciprocal rank fusion, in ranks (Cormack, Clarke and Buettcher 2009)."""
    rerank_candidates: int = 200
    """Maximum number of memories passed to the reranker [C]; a `budget` may ask for fewer."""
    hemisphere: Hemisphere = "north"
    """Hemisphere for the dates of seasons such as "last spring": "north" or "south" [C]."""
    arm_timeout: float = 10.0
    """Seconds an arm has to answer; a slower arm is left out and reported in `failures` [C]."""
    recall_timeout: float = 10.0
    """Seconds after which a recall returns what it has found [C]. An embedder, event, arm, bank or
    reranker that has not finished by then is left out and reported in `failures`. Each may take
    half of the time that is left, so that the next has some."""

    # Reflecting
    consolidate: bool = True
    """True to draw observations in the background after a retain, else False [C]."""
    consolidation_batch: int = 256
    """Number of memories consolidated in one transaction [C]."""
    consolidation_delay: float = 0.5
    """Seconds without a retain before pending memories are consolidated [C]."""
    consolidation_tokens: int = 200_000
    """Maximum language model tokens of one consolidation [C]; the remaining memories wait for the
    next."""
    observation_similarity: float = 0.45
    """Minimum cosine at which memories that share a word are given to a language model together,
    0 to 1 [C]."""

    # Expiring
    purge_interval: float = 60.0
    """Seconds between deletions of expired memories [C]; 0 leaves them to `maintenance.purge`.
    Recall ignores a memory from the moment it expires."""

    # Models
    models_path: str = ""
    """Folder of installed models [C]; "" is the default folder in the user's data directory
    (docs/models.md)."""

    # Storing
    durable: bool = False
    """True if each commit waits for the disk (SQLite `synchronous=FULL`) [C]. If
    False, a killed process loses nothing, but a power failure may lose the last commits."""

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
        _zone_of(self.timezone)

    @property
    def zone(self) -> tzinfo:
        """The time zone that `timezone` names."""
        return _zone_of(self.timezone)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the defaults, overridden by `HINDSIGHT_*` variables that are not blank.

        A variable whose name is nearly that of one that is read is reported in a log warning.

        Raises:
            InvalidInputError: a variable cannot be converted to the type of its setting.
        """
        names = (*PARTS, _CONFIG, *(field.name for field in fields(cls)))
        warn_of_misspelled([f"{PREFIX}{name.upper()}" for name in names], environ)
        given = {
            field.name: _parse(field.name, type(field.default), text)
            for field in fields(cls)
            if (text := variable(f"{PREFIX}{field.name.upper()}", environ)) is not None
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


def _zone_of(name: object) -> tzinfo:
    """Return the zone of a name; UTC needs no time zone database.

    Raises:
        InvalidInputError: it is no name of the database, or the machine has no database.
    """
    if name == "UTC":
        return UTC
    try:
        if isinstance(name, str):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise InvalidInputError(
        f"settings.timezone is {name!r}; give the IANA name of a time zone, such as "
        "'Europe/Berlin' or 'America/New_York' (a machine without a time zone database needs the "
        "package tzdata)"
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
