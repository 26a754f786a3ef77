"""What reflection returns: frozen values that read well in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from hindsight_integrations.model import Memory, MentalModel
from hindsight_integrations.results import Failure

if TYPE_CHECKING:
    from hindsight_integrations.language.llm import ModelUsage

NOTHING_FOUND = "No relevant memories found."
"""The text of a context without memories."""


@dataclass(frozen=True, slots=True)
class Staleness:
    """What happened since a mental model was written; true if anything did.

    Attributes:
        newer: ids of memories that its source query would bring and that it was not made from.
        changed: ids of its sources that read otherwise now, or are held to be wrong.
        gone: ids of its sources that were forgotten.
    """

    newer: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.newer or self.changed or self.gone)


class Section(StrEnum):
    """The parts of a context, in their order."""

    MENTAL_MODELS = "Mental models"
    OBSERVATIONS = "Observations"
    FACTS = "Facts and experiences"
    BELIEFS = "Beliefs"


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A memory or mental model as it stands in a context.

    Attributes:
        label: what it is cited by: the beginning of its id, long enough to tell it from the
            others here.
        text: its line in the context, with dates and label.
        stale: what it says may be out of date: newer memories are not in it yet, or nothing has
            borne it out for long.
    """

    label: str
    section: Section
    text: str
    source: Memory | MentalModel
    stale: bool = False

    @property
    def id(self) -> str:
        """Id of the memory or mental model."""
        return self.source.id


@dataclass(frozen=True, slots=True)
class Context:
    """What a bank knows of a question, in sections, within a token budget.

    Attributes:
        text: the sections, in Markdown; "No relevant memories found." if there is nothing.
        items: what stands in them, in that order.
        tokens: of `text`.
        truncated: the one item here was too long for the budget and was cut, or the bank's
            directives were, and are left out.
        failures: parts of recall that failed and were left out.
    """

    bank_id: str
    query: str
    text: str = NOTHING_FOUND
    items: tuple[ContextItem, ...] = ()
    tokens: int = 0
    max_tokens: int = 0
    truncated: bool = False
    failures: tuple[Failure, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories and mental models it holds."""
        return tuple(item.id for item in self.items)

    def __iter__(self) -> Iterator[ContextItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        cut = ", truncated" if self.truncated else ""
        return (
            f"Context({len(self.items)} items, {self.tokens} of {self.max_tokens} tokens{cut}"
            f"{_failed(self.failures)})"
        )

    def _repr_markdown_(self) -> str:
        return self.text


class Tool(StrEnum):
    """What reflection can look things up with, in the order it does."""

    MENTAL_MODELS = "search_mental_models"
    OBSERVATIONS = "search_observations"
    FACTS = "search_facts"


class Lookup(NamedTuple):
    """One search that reflection made, and the ids it brought that were not there before."""

    tool: Tool
    query: str
    found: tuple[str, ...]


class Bound(StrEnum):
    """What made reflection answer before it was done searching."""

    ITERATIONS = "iterations"
    TOKENS = "tokens"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Reflection:
    """An answer from memory; true if it rests on any.

    Attributes:
        text: the answer; without a language model, the text of the context.
        sources: ids of the memories and mental models it cites, in that order.
        context: the evidence it was drawn from.
        usage: what asking the model took; no calls without one.
        structured: the answer in the form of `response_schema`, if one was given.
        lookups: the searches made, in order.
        foreign: citations of what was never retrieved; they were taken out of the text.
        forced: the bound that ended the search, if one did.
    """

    bank_id: str
    query: str
    text: str
    sources: tuple[str, ...]
    context: Context
    usage: ModelUsage
    structured: object = None
    lookups: tuple[Lookup, ...] = ()
    foreign: tuple[str, ...] = ()
    forced: Bound | None = None

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Parts of recall that failed and were left out."""
        return self.context.failures

    def __bool__(self) -> bool:
        return bool(self.sources)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        start = self.text if len(self.text) <= 60 else f"{self.text[:59]}…"
        foreign = f", foreign={list(self.foreign)}" if self.foreign else ""
        forced = f", forced by {self.forced}" if self.forced else ""
        return (
            f"Reflection({start!r}, {len(self.sources)} sources, {self.usage.calls} model calls"
            f"{forced}{foreign}{_failed(self.failures)})"
        )

    def _repr_markdown_(self) -> str:
        if not self.usage.calls:
            return self.text
        cited = {item.id: item for item in self.context.items if item.id in self.sources}
        lines = "\n".join(cited[id].text for id in self.sources if id in cited)
        return f"{self.text}\n\n**Sources**\n\n{lines}" if lines else self.text


def _failed(failures: tuple[Failure, ...]) -> str:
    return f", failures={[failure.part for failure in failures]}" if failures else ""
