"""Results of the client's methods: frozen values that print well.

In this order: results of retain, forget, changes, recall and reflect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from html import escape
from itertools import chain
from typing import Any, NamedTuple, Self, overload

from hindsight_integrations import display
from hindsight_integrations.display import NotebookTable
from hindsight_integrations.errors import MemoryNotFoundError
from hindsight_integrations.explain import DETAILED, Explanation
from hindsight_integrations.json_form import JsonForm, as_object, json_fields
from hindsight_integrations.models import (
    Chunk,
    Entity,
    Memory,
    MentalModel,
    ModelUsage,
)
from hindsight_integrations.pictures.recall import MemoryPlot, RecallPlot
from hindsight_integrations.scores import ArmScore as ArmScore
from hindsight_integrations.scores import Failure as Failure
from hindsight_integrations.scores import PathStep as PathStep
from hindsight_integrations.scores import RankedMemory, RankedResult, Reported
from hindsight_integrations.scores import Signal as Signal
from hindsight_integrations.scores import Signals as Signals
from hindsight_integrations.scores import Window as Window

# Retaining


class SkipReason(StrEnum):
    """Reason why a part of the content did not become a new memory."""

    UNCHANGED = "unchanged"
    """The document or chunk is stored already, word for word."""
    REPEATED = "repeated"
    """A memory already states the same; its proof count was raised."""
    EMPTY = "empty"
    """It contains nothing to remember."""
    INVALID = "invalid"
    """The extractor's fact cannot be used; `detail` says why."""
    REFUSED = "refused"
    """`before_retain` refused it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of the content that did not become a new memory: its first words, and the reason.

    For `REPEATED`, `memory_id` is the memory that states the same; for `INVALID`, `detail` says
    what is wrong.
    """

    text: str
    reason: SkipReason
    memory_id: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An item of a batch that was not stored, and its error."""

    index: int
    error: Reported


@dataclass(frozen=True, slots=True)
class Joined:
    """A name that was recognised as another name of a known entity, with the reason."""

    name: str
    entity: str
    reason: str


@dataclass(frozen=True, slots=True)
class RetainResult(JsonForm):
    """Changes made by one call of a retain method.

    Attributes:
        stored: the memories written, in the order of the content, those with new ids first.
        replaced: ids of the stored memories that the bank already had, with other content.
        skipped: content that did not become a memory, with the reason.
        removed: ids of memories deleted with replaced parts of a document.
        failed: items of a batch that were not stored; the other items were.
        document_ids: documents written or found unchanged.
        seconds: duration.
        joined: names recognised as other names of known entities; `entities.unalias` undoes one.
    """

    bank_id: str
    stored: tuple[Memory, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()
    document_ids: tuple[str, ...] = ()
    seconds: float = 0.0
    replaced: tuple[str, ...] = ()
    joined: tuple[Joined, ...] = ()

    @classmethod
    def merged(cls, bank_id: str, results: Sequence[RetainResult]) -> RetainResult:
        """Merge several results into one, failures in the order of the items."""
        failed = chain.from_iterable(result.failed for result in results)
        return cls(
            bank_id,
            stored=tuple(chain.from_iterable(result.stored for result in results)),
            skipped=tuple(chain.from_iterable(result.skipped for result in results)),
            removed=tuple(chain.from_iterable(result.removed for result in results)),
            failed=tuple(sorted(failed, key=lambda failure: failure.index)),
            document_ids=tuple(chain.from_iterable(result.document_ids for result in results)),
            seconds=sum(result.seconds for result in results),
            replaced=tuple(chain.from_iterable(result.replaced for result in results)),
            joined=tuple(chain.from_iterable(result.joined for result in results)),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the memories written."""
        return tuple(memory.id for memory in self.stored)

    def __repr__(self) -> str:
        parts = [f"stored={len(self.stored)}"]
        parts += [
            f"{name}={len(value)}"
            for name in ("replaced", "skipped", "removed", "failed")
            if (value := getattr(self, name))
        ]
        if self.failed:
            parts.append(f"failed[0].error={str(self.failed[0].error)!r}")
        return f"RetainResult(bank_id={self.bank_id!r}, {', '.join(parts)})"


# Forgetting


@dataclass(frozen=True, slots=True)
class ForgottenFields:
    """The ids and attributes of `Forgotten` as fields."""

    ids: tuple[str, ...]
    memories: tuple[Memory, ...]
    derived: tuple[Memory, ...]
    rewritten: tuple[Memory, ...]
    mental_models: tuple[str, ...]
    dry_run: bool
    until: datetime | None


class Forgotten(tuple[str, ...]):
    """Ids of the memories that were deleted or, in a dry run, would be deleted.

    The other attributes are set by a dry run only, and show what is stored now.

    Attributes:
        memories: the memories selected.
        derived: conclusions that are deleted because no memory supports them any more.
        rewritten: conclusions that are rewritten from the memories that still support them.
        mental_models: ids of the mental models whose texts are rewritten.
        dry_run: True if nothing was deleted.
        until: set if `after` was given: `memories.restore` can undo the deletion until this time.
            The ids are those of the memories selected, which are deleted then.
    """

    memories: tuple[Memory, ...]
    derived: tuple[Memory, ...]
    rewritten: tuple[Memory, ...]
    mental_models: tuple[str, ...]
    dry_run: bool
    until: datetime | None

    def __new__(
        cls,
        ids: Iterable[str] = (),
        *,
        memories: tuple[Memory, ...] = (),
        derived: tuple[Memory, ...] = (),
        rewritten: tuple[Memory, ...] = (),
        mental_models: tuple[str, ...] = (),
        dry_run: bool = False,
        until: datetime | None = None,
    ) -> Self:
        """Return the ids, with these attributes."""
        made = super().__new__(cls, ids)
        made.memories, made.derived, made.rewritten = memories, derived, rewritten
        made.mental_models, made.dry_run, made.until = mental_models, dry_run, until
        return made

    @property
    def fields(self) -> ForgottenFields:
        """The ids and attributes in one value."""
        return ForgottenFields(
            tuple(self),
            self.memories,
            self.derived,
            self.rewritten,
            self.mental_models,
            self.dry_run,
            self.until,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the ids and all attributes as values of JSON; see `RecallResult.to_dict`."""
        return json_fields(self.fields)

    def __repr__(self) -> str:
        would = "would forget" if self.dry_run else "forgot"
        further = (
            f", {display.counted(len(self.derived), 'conclusion')} with them"
            if self.derived
            else ""
        )
        return display.lines(f"Forgotten({would} {len(self)}{further})", self.memories or (*self,))

    def _repr_html_(self) -> str:
        would = "would be forgotten" if self.dry_run else "forgotten"
        if not self.memories:
            return display.table([{"id": id} for id in self], f"{len(self)} {would}")
        return _memories_table(self.memories, would) + _memories_table(
            self.derived, f"{would} with them, as nothing else supports them"
        )


# Changes of a bank


@dataclass(frozen=True, slots=True)
class Changed(JsonForm):
    """Changes of a bank between two times.

    Attributes:
        bank_id: which bank.
        since: start of the period.
        until: end of the period, when the bank was read; pass it as `since` to the next call. A
            change at exactly this time is listed by both calls.
        memories: memories stored or changed, including invalidated ones; without observations.
        observations: observations that are new or were rewritten.
        deleted: ids of the memories and observations that were deleted.
        entities: entities that were edited, or that the changed memories mention.
    """

    bank_id: str
    since: datetime
    until: datetime
    memories: tuple[Memory, ...] = ()
    observations: tuple[Memory, ...] = ()
    deleted: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()

    def __bool__(self) -> bool:
        """Return True if anything changed."""
        return bool(self.memories or self.observations or self.deleted or self.entities)

    def __repr__(self) -> str:
        counts = (
            display.counted(len(self.memories), "memory"),
            display.counted(len(self.observations), "observation"),
            f"{len(self.deleted)} deleted",
        )
        return f"Changed({', '.join(counts)} since {display.moment(self.since)})"

    def _repr_html_(self) -> str:
        tables = (
            _memories_table(self.memories, "new or changed"),
            _memories_table(self.observations, "drawn or rewritten"),
        )
        gone = f"<p>{len(self.deleted)} deleted</p>" if self.deleted else ""
        return "".join(tables) + gone or f"<p>{escape(repr(self))}</p>"


def _memories_table(memories: Sequence[Memory], what: str) -> str:
    """Return memories as an HTML table below what was done with them; "" for none."""
    caption = f"{display.counted(len(memories), 'memory')} {what}"
    return display.table([one._table_fields() for one in memories], caption) if memories else ""


# Recalling

SHOWN_MEMORIES, SHOWN_REASONS = 10, 3
"""Memories of a result, and reasons of each, in a table; `explain()` has them all."""


@dataclass(frozen=True)  # with slots, setting what the memory has would raise an obscure TypeError
class Recalled(RankedMemory, NotebookTable):
    """A memory in a result; all that a `Memory` has can be read from it directly.

    Attributes:
        memory: the memory, with all its fields.
        rank: position in the result, 1 is best.
        relevance: calibrated probability that it belongs to the answer, 0 to 1, decreasing with
            the rank; compared with `min_score`.
        total: sum of the contributions of all signals, which decides the order.
        fused: its reciprocal rank fusion score over the arms.
        line: its line in the rendered text, beginning with its speaker or context, without date
            header; cut if the result is truncated.
        tokens: tokens of that line, including the date header if the line is the first below it.
        reasons: why it was found: the signals that raised it most above the others, with the
            amount of each, then what each search found.
    """

    def plot(self) -> MemoryPlot:
        """Return a picture of why it was recalled; `RecallResult.plot` adds the question."""
        return MemoryPlot(self)

    def __repr__(self) -> str:
        text = display.short(self.text)
        return f"Recalled({self.rank}: {text}, relevance {self.relevance:.2f}, {self.id!r})"

    def _table_fields(self) -> Mapping[str, object]:
        memory = self.memory._table_fields()
        return {
            "rank": self.rank,
            "relevance": display.Share(self.relevance),
            **{name: memory[name] for name in ("text", "speaker", "said", "happened")},
            "why": "\n".join(self.reasons[:SHOWN_REASONS]),
        }


@dataclass(frozen=True, slots=True)
class EntityNote:
    """A description of an entity that the question asks about or the memories mention.

    `text` is a line about the entity. If the question asks about it, a line for each of
    `observations` follows.
    """

    entity: Entity
    text: str
    observations: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class RecalledModel:
    """A mental model in a result.

    `stale` is True if its sources changed, or if it does not cover newer memories of the result.
    """

    model: MentalModel
    stale: bool
    tokens: int

    @property
    def id(self) -> str:
        """Id of the mental model."""
        return self.model.id

    @property
    def text(self) -> str:
        """Text of the mental model."""
        return self.model.text


@dataclass(frozen=True, slots=True)
class RecallResult(RankedResult, JsonForm):
    """Memories recalled, best first, and how they were found.

    Attributes:
        memories: as many as fit the token budget.
        text: those memories, rendered for a reader or a prompt.
        tokens: tokens of `text`.
        truncated: True if the best memory was too long for the budget, and was cut.
        windows: the periods that the question asks about.
        entities_named: names in the question that the bank knows.
        chunks: source chunks of the memories, within `chunk_tokens`.
        entity_notes: entities that the question asks about, with observations about them, and
            those mentioned by the memories, within `entity_tokens`.
        mental_models: mental models relevant to the question, within `mental_model_tokens`.
        left_out: the best memories that did not fit the budget.
        considered: number of memories that were scored.
        failures: parts that failed and were left out.
        timings: seconds by stage.
        notes: warnings: `where` fields that no memory has, `entities` that no bank has.
    """

    memories: tuple[Recalled, ...] = ()
    left_out: tuple[Recalled, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    entity_notes: tuple[EntityNote, ...] = ()
    mental_models: tuple[RecalledModel, ...] = ()

    def explain(self, *, detailed: int = DETAILED) -> Explanation:
        """Explain each memory: the arms, the path through the graph, the signals.

        Args:
            detailed: number of memories explained in full; the others get one line each.
        """
        return Explanation(self, detailed)

    @overload
    def plot(self) -> RecallPlot: ...
    @overload
    def plot(self, memory: Recalled | str) -> MemoryPlot: ...
    def plot(self, memory: Recalled | str | None = None) -> RecallPlot | MemoryPlot:
        """Return a picture of the ranks in each arm and the memories kept; or of one memory.

        Args:
            memory: a memory of this result, or its id: shows why it was recalled or left out.

        Raises:
            MemoryNotFoundError: the memory is not in this result.
        """
        if memory is None:
            return RecallPlot(self)
        wanted = memory.id if isinstance(memory, Recalled) else memory
        for item in chain(self.memories, self.left_out):
            if item.id == wanted:
                return MemoryPlot(item, self.query)
        raise MemoryNotFoundError(
            f"this result has no memory {wanted!r}; pass a memory from this result, e.g. result[0]"
        )

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.memories)

    @overload
    def __getitem__(self, index: int) -> Recalled: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Recalled, ...]: ...

    def __getitem__(self, index: int | slice) -> Recalled | tuple[Recalled, ...]:
        return self.memories[index]

    def __len__(self) -> int:
        return len(self.memories)

    def __bool__(self) -> bool:
        return bool(self.memories)

    def __repr__(self) -> str:
        best = f", best={self.memories[0].memory.text[:60]!r}" if self.memories else ""
        failed = f", failures={[f.part for f in self.failures]}" if self.failures else ""
        noted = f", notes={[*self.notes]}" if self.notes else ""
        return (
            f"RecallResult({display.counted(len(self.memories), 'memory')}, {self.tokens} of "
            f"{self.max_tokens} tokens{best}{failed}{noted})"
        )

    def _repr_html_(self) -> str:
        memories = display.counted(len(self.memories), "memory")
        size = f"{memories}, {self.tokens} of {self.max_tokens} tokens"
        failed = "".join(f"; {failure}" for failure in self.failures)
        noted = "".join(f"; {note}" for note in self.notes)
        rows = [memory._table_fields() for memory in self.memories]
        return display.table(rows, f"{self.query} ({size}{failed}{noted})", SHOWN_MEMORIES)


# Reflecting

NOTHING_FOUND = "No relevant memories found."
"""Text of a context without memories."""

NOTHING_ASKED = "The question is blank, so nothing was looked up; ask in plain words."
"""Answer to a blank question."""

NOTHING_KNOWN = "Nothing known: no memory answers this."
"""Text of an answer without a language model, if no memory is near the question."""

NOTHING_CERTAIN = "Nothing known for certain. Nearest memories, which may not answer this:"
"""First line of an answer without a language model, if no memory surely states one."""


@dataclass(frozen=True, slots=True)
class Staleness(JsonForm):
    """Changes since a mental model was written. Truthy if there are any.

    Attributes:
        newer: ids of memories that its source query finds now but that it was not written from.
        changed: ids of its sources whose text changed, or that were invalidated.
        gone: ids of its sources that were deleted.
        contradicted: ids of newer memories that contradict its text or its sources.
    """

    newer: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.newer or self.changed or self.gone or self.contradicted)


class Section(StrEnum):
    """The parts of a context, in their order."""

    MENTAL_MODELS = "Mental models"
    OBSERVATIONS = "Observations"
    FACTS = "Facts and experiences"
    BELIEFS = "Beliefs"


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A memory or mental model in a context.

    Attributes:
        label: citation label: the shortest prefix of its id that is unique in this context.
        text: its line in the context, with dates and label.
        stale: True if it may be out of date: it does not cover newer memories, they contradict it,
            or nothing has supported it for a long time.
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
class Context(JsonForm):
    """Memories of a bank on a question, in sections, within a token budget.

    Attributes:
        text: the sections, in Markdown; "No relevant memories found." if there are none.
        items: the memories and mental models of the sections, in the same order.
        tokens: tokens of `text`.
        truncated: True if the only item was too long for the budget and was cut, or if the bank's
            directives were too long and were left out.
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
        """Ids of its memories and mental models."""
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
            f"Context({display.counted(len(self.items), 'item')}, {self.tokens} of "
            f"{self.max_tokens} tokens{cut}{_failed(self.failures)})"
        )

    def _repr_markdown_(self) -> str:
        return self.text


class Tool(StrEnum):
    """Searches of reflection, in the order they are used."""

    MENTAL_MODELS = "search_mental_models"
    OBSERVATIONS = "search_observations"
    FACTS = "search_facts"


@as_object
class Lookup(NamedTuple):
    """One search of reflection, and the ids that it found first."""

    tool: Tool
    query: str
    found: tuple[str, ...]


class Bound(StrEnum):
    """Limit that made reflection answer before it had finished searching."""

    ITERATIONS = "iterations"
    TOKENS = "tokens"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Reflection(JsonForm):
    """An answer from memory. Truthy if it cites a source.

    Attributes:
        text: the answer. Without a language model it consists of quotations with citations. If no
            memory surely answers, it shows the nearest ones under a line that says so, or is
            "Nothing known: no memory answers this.".
        sources: ids of the memories and mental models it cites, in the order of the citations.
        context: the evidence it was made from.
        usage: calls and tokens of the language model; zero without one.
        structured: the answer in the form of `response_schema`, if one was given.
        lookups: the searches made, in order.
        foreign: citations of ids that were never retrieved; they were removed from the text.
        forced: the limit that ended the search, if any.
        extractive: True if the answer was quoted from memories without a language model.
        nearest: ids of the memories that `text` shows because none surely answers; then `sources`
            is empty.
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
    extractive: bool = False
    nearest: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Parts of recall that failed and were left out."""
        return self.context.failures

    def __bool__(self) -> bool:
        return bool(self.sources)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        foreign = f", foreign={list(self.foreign)}" if self.foreign else ""
        forced = f", forced by {self.forced}" if self.forced else ""
        sources = display.counted(len(self.sources), "source")
        return (
            f"Reflection({display.short(self.text)}, {sources}, "
            f"{self._made_by}{forced}{foreign}{_failed(self.failures)})"
        )

    @property
    def _made_by(self) -> str:
        return "extractive" if self.extractive else display.counted(self.usage.calls, "model call")

    def _repr_markdown_(self) -> str:
        if not self.usage.calls and not self.extractive:
            return self.text
        cited = {item.id: item for item in self.context.items if item.id in self.sources}
        lines = "\n".join(cited[id].text for id in self.sources if id in cited)
        return f"{self.text}\n\n**Sources**\n\n{lines}" if lines else self.text


def _failed(failures: tuple[Failure, ...]) -> str:
    return f", failures={[failure.part for failure in failures]}" if failures else ""
