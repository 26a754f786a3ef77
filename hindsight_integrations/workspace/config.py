"""Configuration of a workspace with the keys that hosts of agents use, also as a JSON5 file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError, MissingExtraError
from hindsight_integrations.workspace.notes import NoteRules
from hindsight_integrations.workspace.results import SyncEvent
from hindsight_integrations.workspace.tools import WorkspaceTool, workspace_tools
from hindsight_integrations.workspace.workspace import BUDGETS, DEBOUNCE_MS, Workspace

_GRAPH = re.compile(r"(?:neo4j|bolt)(?:\+s|\+ssc)?://")


@dataclass(frozen=True, slots=True)
class WorkspaceConfig:
    """The eight keys of a host's memory plugin.

    Attributes:
        base_url: where the memory is: the address of a service ("http://..."), the URL of a Neo4j
            server ("neo4j://..."), or a folder. What it does not name comes from the environment,
            as `Hindsight.from_env` reads it.
        bank_id: the bank.
        retain_on_write: watch the folder, and retain each note that is written.
        retain_debounce_ms: milliseconds without a write before a note is retained.
        recall_budget: how far a search looks: "low", "mid" (or "medium") or "high".
        max_tokens: budget of a search in tokens; the memory's own if None.
        fallback_to_local: search the notes themselves while the memory is away.
        reflect_enabled: give the agent the tool `reflect`.

    Raises:
        InvalidInputError: a value cannot be used.
    """

    base_url: str | None = None
    bank_id: str = "default"
    retain_on_write: bool = True
    retain_debounce_ms: int = DEBOUNCE_MS
    recall_budget: str = "mid"
    max_tokens: int | None = None
    fallback_to_local: bool = True
    reflect_enabled: bool = True

    def __post_init__(self) -> None:
        if self.base_url is not None:
            validation.text(self.base_url, "base_url")
        validation.bank_id(self.bank_id)
        validation.not_negative("retain_debounce_ms", self.retain_debounce_ms)
        validation.choice("recall_budget", self.recall_budget, BUDGETS)
        if self.max_tokens is not None:
            validation.positive("max_tokens", self.max_tokens)
        for name in ("retain_on_write", "fallback_to_local", "reflect_enabled"):
            validation.flag(name, getattr(self, name))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> WorkspaceConfig:
        """Return the configuration with these keys, in a host's spelling (`bankId`) or in ours.

        Raises:
            InvalidInputError: a key is unknown or given twice, or a value cannot be used.
        """
        known = {spelling: name for name in _names() for spelling in (name, _camel(name))}
        given: dict[str, Any] = {}
        for key, value in values.items():
            if key not in known:
                names = ", ".join(map(_camel, _names()))
                raise InvalidInputError(f"unknown key {key!r}; the keys are {names}")
            if known[key] in given:
                raise InvalidInputError(f"{key} is given in both spellings; give one")
            given[known[key]] = value
        return cls(**given)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WorkspaceConfig:
        """Return the configuration in a JSON5 file: JSON with comments and trailing commas.

        Raises:
            MissingExtraError: the package `json5` is not installed.
            InvalidInputError: the file cannot be read, or does not hold one object of these keys.
        """
        try:
            import json5
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "reading a JSON5 file needs json5, which is not installed; run: "
                'pip install "hindsight-integrations[workspace]"'
            ) from error
        try:
            values = json5.loads(Path(path).read_text(encoding="utf-8"), allow_duplicate_keys=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{os.fspath(path)} cannot be read: {error}") from error
        if not isinstance(values, dict):
            raise InvalidInputError(
                f"{os.fspath(path)} contains no object; give one with these keys"
            )
        return cls.from_mapping(values)

    def open(
        self,
        root: str | os.PathLike[str],
        *,
        memory: Hindsight | Callable[[], Hindsight] | None = None,
        rules: NoteRules | None = None,
        shadow: bool = False,
        on_event: Callable[[SyncEvent], None] | None = None,
    ) -> Workspace:
        """Return a workspace of this configuration; with `retain_on_write` it is being watched.

        Args:
            root: the folder of the notes.
            memory: an open memory, or a function that opens one, in place of `base_url`.
            rules: which files are notes.
            shadow: log each search with the hits of both searches; see `Workspace`.
            on_event: called by the thread that watches with each event.

        Raises:
            MissingExtraError: it should be watched, and `watchfiles` is not installed.
            InvalidInputError, StoreUnavailableError: see `Workspace`.
        """
        workspace = Workspace(
            memory or self.open_memory,
            self.bank_id,
            root,
            rules=rules,
            max_tokens=self.max_tokens,
            recall_budget=self.recall_budget,
            retain_debounce_ms=self.retain_debounce_ms,
            fallback_to_local=self.fallback_to_local,
            shadow=shadow,
        )
        if self.retain_on_write:
            workspace.start_watching(on_event)
        return workspace

    @property
    def location(self) -> dict[str, Any]:
        """The argument of `Hindsight.from_env` that `base_url` is; none without one."""
        if self.base_url is None:
            return {}
        return {"graph" if _GRAPH.match(self.base_url) else "path": self.base_url}

    def open_memory(self) -> Hindsight:
        """Return the memory that `base_url` and the environment name; see `Hindsight.from_env`."""
        return Hindsight.from_env(**self.location)

    def tools(self, workspace: Workspace) -> tuple[WorkspaceTool, ...]:
        """Return the agent's tools; see `workspace_tools`."""
        return workspace_tools(workspace, reflect=self.reflect_enabled)


def _names() -> list[str]:
    return [field.name for field in fields(WorkspaceConfig)]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
