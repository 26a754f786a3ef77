"""Move a workspace of files onto the engine in stages: plan, curated notes, review, daily notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.conclusions import Observation
from hindsight_integrations.errors import InvalidInputError, NotFoundError, StoreUnavailableError
from hindsight_integrations.models import Entity, Memory, as_datetime, every_item, utc_now
from hindsight_integrations.nlp import tokens
from hindsight_integrations.results import Reflection
from hindsight_integrations.retain.file_dates import file_date
from hindsight_integrations.retain.markdown import markdown_sections
from hindsight_integrations.workspace.notes import Note, NoteKind, kind_of
from hindsight_integrations.workspace.results import Action, SearchHit, SyncEvent, SyncResult
from hindsight_integrations.workspace.workspace import Workspace

QUESTIONS = (
    "What are the user's main active projects?",
    "What technical preferences has the user expressed?",
)
"""Asked after a migration: answers that need many notes."""

TOKENS_PER_SECOND = 900
"""Tokens retained in a second, for the estimate: the sample workspace takes 1,150 on two cores."""

ANSWER_TOKENS = 500
"""Budget of the evidence of an answer, in tokens: about twenty notes, which a report can show."""

RECENT_DAYS = 7

_SHORT, _LONG = 3, 150
"""Words under and over which a memory is shown as a suspicious extraction."""

_FAR = timedelta(days=3 * 365)
"""A time further than this after its note is a suspicious extraction."""


class Stage(StrEnum):
    """Stages of a migration, in order."""

    CURATED = "curated"
    """Notes that are no daily notes."""
    RECENT = "recent"
    """Daily notes and summaries of the last days."""
    OLDER = "older"
    """All earlier ones."""


@dataclass(frozen=True, slots=True)
class PlannedNote:
    """One note of a plan: its stage, and its size in tokens and sections, each a memory or more."""

    path: str
    stage: Stage
    tokens: int
    sections: int


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """Counts and estimates, made without the memory.

    Attributes:
        notes: all notes to be retained, in order of stage and path.
        refused: files that are no text, too large or links.
    """

    notes: tuple[PlannedNote, ...]
    refused: tuple[SyncEvent, ...]

    def of(self, stage: Stage | str) -> list[PlannedNote]:
        """Return the notes of a stage."""
        return [note for note in self.notes if note.stage == stage]

    @property
    def seconds(self) -> float:
        """Estimate of the time that all stages take, without a language model."""
        return sum(note.tokens for note in self.notes) / TOKENS_PER_SECOND


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A memory that may have been drawn wrongly, and why."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Review:
    """State of the bank after a stage, to be looked at before the next.

    Attributes:
        facts: memories of each note, by path; notes of which nothing was retained have 0.
        merged: entities that go by several names.
        suspicious: memories that may have been drawn wrongly.
        observations: what was concluded from several memories.
    """

    facts: Counter[str]
    merged: tuple[Entity, ...]
    suspicious: tuple[Suspicion, ...]
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Hits of one query: of the text search of the files, and of the memory."""

    query: str
    files: tuple[SearchHit, ...]
    memory: tuple[SearchHit, ...]


class Migration:
    """The migration of a workspace. A run that was interrupted goes on where it was.

    Args:
        workspace: the folder and its bank.
        days: how many days back from `today` a daily note counts as recent.
        today: the last of these days; the present one if None.

    Raises:
        InvalidInputError: the number of days is not positive.
    """

    def __init__(
        self, workspace: Workspace, *, days: int = RECENT_DAYS, today: date | None = None
    ) -> None:
        self._workspace = workspace
        last = today or utc_now().date()
        self._since = last - timedelta(days=validation.positive("days", days))

    def plan(self) -> MigrationPlan:
        """Return counts and estimates; nothing is retained, and no memory is opened."""
        notes: list[PlannedNote] = []
        refused: list[SyncEvent] = []
        for path in self._workspace.folder.paths():
            try:
                note = self._workspace.folder.read(path)
            except NotFoundError:
                continue  # gone again
            except InvalidInputError as error:
                refused.append(SyncEvent(Action.REFUSED, path, detail=str(error)))
                continue
            if not validation.is_blank(note.text):
                notes.append(self._planned(note))
        order = list(Stage)
        notes.sort(key=lambda note: (order.index(note.stage), note.path))
        return MigrationPlan(tuple(notes), tuple(refused))

    def run(self, stage: Stage | str) -> SyncResult:
        """Retain the notes of a stage, one a retain; those that are stored already cost nothing.

        Raises:
            InvalidInputError: there is no such stage.
            StoreUnavailableError: the memory is away; what was begun waits in the queue.
        """
        wanted = Stage(validation.choice("stage", stage, [str(each) for each in Stage]))
        events: list[SyncEvent] = []
        for note in self.plan().of(wanted):
            events += self._workspace.sync([note.path]).events
            if events and events[-1].action is Action.WAITING:
                raise StoreUnavailableError(
                    f"the memory is not available, and {note.path} is waiting for it; run the "
                    "migration again when it is available"
                )
        return SyncResult(tuple(events))

    def review(self) -> Review:
        """Return what a person should look at before the next stage; consolidates the bank first.

        Raises:
            StoreError, ModelError: the memory is away, or could not consolidate.
        """
        memory, bank = self._workspace.memory, self._workspace.bank_id
        memory.consolidate(bank)
        memories = [*self._memories()]
        facts = Counter({note.path: 0 for note in self.plan().notes})
        for one in memories:
            facts.update({source.document_id or "" for source in one.sources} & facts.keys())
        merged = [e for e in memory.entities.list(bank, limit=1000).items if e.aliases]
        suspicious = (Suspicion(one, reason) for one in memories if (reason := suspicion(one)))
        observations = memory.observations.list(bank, limit=1000).items
        return Review(facts, tuple(merged), tuple(suspicious), tuple(observations))

    def compare(self, queries: Sequence[str], max_results: int = 5) -> tuple[Comparison, ...]:
        """Return the hits of the text search of the files beside those of the memory.

        Raises:
            InvalidInputError: a query is blank or too long.
            StoreUnavailableError: the memory is away.
        """
        return tuple(
            Comparison(
                query,
                tuple(self._workspace.search_files(query, max_results)),
                tuple(self._workspace.search_memory(query, max_results)),
            )
            for query in queries
        )

    def answers(self, questions: Sequence[str] = QUESTIONS) -> tuple[Reflection, ...]:
        """Return answers to questions that need many notes; see `Hindsight.reflect`.

        Without a language model few such questions have a memory that states the answer; then the
        `context` of the answer has the memories that bear on it most.
        """
        memory, bank = self._workspace.memory, self._workspace.bank_id
        return tuple(
            memory.reflect(bank, question, max_tokens=ANSWER_TOKENS, fill=True)
            for question in questions
        )

    def _planned(self, note: Note) -> PlannedNote:
        sections = markdown_sections(note.text)
        return PlannedNote(note.path, self._stage(note), tokens.count(note.text), len(sections))

    def _stage(self, note: Note) -> Stage:
        if kind_of(note.path) is NoteKind.CURATED:
            return Stage.CURATED
        found = file_date(note.path, note.text, note.modified)
        day = as_datetime(found.timestamp if found else note.modified).date()
        return Stage.RECENT if day > self._since else Stage.OLDER

    def _memories(self) -> Iterator[Memory]:
        memory, bank = self._workspace.memory, self._workspace.bank_id
        stored = every_item(lambda cursor: memory.memories.list(bank, limit=1000, cursor=cursor))
        return (one for one in stored if one.type != "observation")

    aplan = async_variant(plan)
    arun = async_variant(run)
    areview = async_variant(review)
    acompare = async_variant(compare)
    aanswers = async_variant(answers)


def suspicion(memory: Memory) -> str | None:
    """Return why a memory may have been drawn wrongly; None if nothing speaks for it."""
    words = [word for word in memory.text.split() if any(map(str.isalnum, word))]
    if len(words) < _SHORT and memory.text.isascii():
        return "says little by itself"
    if len(words) > _LONG:
        return f"{len(words)} words in one memory"
    if memory.text.lstrip().startswith(("|", "```", "~~~", "<", "http://", "https://")):
        return "a table, code or a link instead of a statement"
    if _is_far(memory.occurred_start, memory.mentioned_at):
        return f"dated {memory.occurred_start:%Y-%m-%d}, long after its note"
    return None


def _is_far(occurred: datetime | None, mentioned: datetime) -> bool:
    return occurred is not None and occurred - mentioned > _FAR
