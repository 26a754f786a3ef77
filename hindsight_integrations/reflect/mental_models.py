"""Refresh mental models from what the bank knows now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.errors import (
    ConflictError,
    HindsightError,
    InvalidInputError,
    NotFoundError,
)
from hindsight_integrations.history import Change
from hindsight_integrations.models import Bank, Memory, MentalModel, utc_now
from hindsight_integrations.nlp.llm import StructuredModel
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.answer import Bounds, reflect
from hindsight_integrations.reflect.context import context_of_results, labels, memory_line
from hindsight_integrations.reflect.search import (
    find_memories,
    source_request,
    staleness,
    with_changes,
)
from hindsight_integrations.results import Context, Failure
from hindsight_integrations.stores.base import (
    CITED_MODEL,
    MEMORY,
    MENTAL_MODEL,
    ChangeSet,
    GraphStore,
    StoredBank,
)

UNCHANGED = "nothing changed: the bank answers as before"
"""Reason in the history of a refresh that left the text as it was."""


@dataclass(frozen=True, slots=True)
class MentalModelDependencies:
    """Dependencies of mental models.

    Attributes:
        recalling: dependencies of recall.
        lock: returns the writer's lock of a bank.
        llm: writes the texts; without one, these are composed of memories.
    """

    recalling: RecallDependencies
    lock: Callable[[str], AbstractContextManager[object]]
    llm: StructuredModel | None = None

    @property
    def graph(self) -> GraphStore:
        """Store of the mental models."""
        return self.recalling.graph


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Result of a refresh: the rewritten mental models, and the failures of others."""

    models: tuple[MentalModel, ...] = ()
    failures: tuple[Failure, ...] = ()


def find_model(graph: GraphStore, bank_id: str, model_id: str) -> MentalModel:
    """Return the mental model of this id; raises `NotFoundError`."""
    for model in graph.scan(bank_id, MENTAL_MODEL):
        if model.id == model_id:
            return model
    raise NotFoundError(
        f"bank {bank_id!r} has no mental model {model_id!r}; see mental_models.list({bank_id!r})"
    )


def with_new_text(
    deps: MentalModelDependencies, bank: StoredBank, model: MentalModel
) -> MentalModel:
    """Return the model with a new text from the memories that its source query finds.

    With a language model, the text is its answer to the query; without, the memories themselves.
    It is empty if nothing is found.

    Raises:
        ModelError, StoreUnavailableError: it could not be written.
    """
    now = utc_now()  # memories retained from here on are newer than the text
    tokenizer, settings = deps.recalling.tokenizer, deps.recalling.settings
    if deps.llm is None:
        composed = compose_current(deps.recalling, bank, source_request(model, model.max_tokens))
        text = "\n".join(item.text for item in composed.items)
        sources = composed.sources
    else:
        request = source_request(model, settings.max_tokens)
        answer = reflect(deps.recalling, bank, request, deps.llm, Bounds())
        text = answer.text if answer.context else ""
        sources = answer.sources or answer.context.sources
    cut = tokenizer.truncate(text, model.max_tokens)
    return replace(model, text=cut, sources=sources, refreshed_at=now)


def compose_current(deps: RecallDependencies, bank: StoredBank, request: RecallRequest) -> Context:
    """Compose the context of a request without contradicted memories and directives."""
    memories, failures = find_memories(deps, bank, request)
    current = [result for result in with_changes(memories) if not result.contradicted]
    return context_of_results(bank.bank, request, current, failures, deps.tokenizer)


def refresh(
    deps: MentalModelDependencies, bank: StoredBank, model: MentalModel, reason: str | None = None
) -> MentalModel:
    """Rewrite a stored model; its history keeps the old text.

    If the text does not change, the model keeps its date, and its history notes the refresh.

    Raises:
        InvalidInputError: it has no source query.
        ConflictError: it was changed meanwhile.
        NotFoundError: it was deleted meanwhile.
        ModelError, StoreError: it could not be written; it is unchanged.
    """
    if model.source_query is None:
        raise InvalidInputError(
            f"mental model {model.id!r} was written by hand and has no source_query to "
            "refresh it from; add one with mental_models.update, or give the new text"
        )
    new = with_new_text(deps, bank, model)
    if new.text == model.text:
        new = replace(new, refreshed_at=model.refreshed_at)
    with deps.lock(bank.key):
        if find_model(deps.graph, bank.bank.id, model.id) != model:
            raise ConflictError(
                f"mental model {model.id!r} was changed while it was being refreshed; refresh "
                "it again"
            )
        store(deps.graph, model, new, "refresh", reason)
        if new == model and reason is None:
            deps.graph.apply(ChangeSet(model.bank_id, history=(unchanged_refresh(model),)))
    return new


def unchanged_refresh(model: MentalModel) -> Change:
    """Return the entry for the history of a refresh that changed nothing."""
    return Change(
        model.id, "refresh", "text", model.text, model.text, utc_now(), UNCHANGED, of_model=True
    )


def refresh_due(deps: MentalModelDependencies, bank: StoredBank) -> Refreshed:
    """Refresh the stale models that have `auto_refresh`; a failure does not stop the others."""
    models: list[MentalModel] = []
    failures: list[Failure] = []
    for model in deps.graph.scan(bank.bank.id, MENTAL_MODEL):
        if not model.auto_refresh:
            continue
        try:
            if staleness(deps.recalling, bank, model):
                new = refresh(deps, bank, model, "stale after consolidation")
                models += [new] if new != model else []
        except HindsightError as error:
            failures.append(Failure(f"mental model {model.id}", error))
    return Refreshed(tuple(models), tuple(failures))


def store(
    graph: GraphStore, old: MentalModel, new: MentalModel, action: str, reason: str | None = None
) -> None:
    """Store `new` in place of `old`, and the differences in its history."""
    if new == old:
        return
    now = utc_now()
    changes = tuple(
        Change(old.id, action, field, before, after, now, reason, of_model=True)
        for field, before, after in _differences(old, new)
    )
    dropped = dropped_source_changes(old, action, now, kept=new.sources)
    graph.apply(ChangeSet(old.bank_id, mental_models=(new,), history=(*changes, *dropped)))


def dropped_source_changes(
    model: MentalModel, action: str, at: datetime, *, kept: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Return an entry for the history of each source, except `kept`, of the model."""
    dropped = (source for source in model.sources if source not in kept)
    return tuple(Change(source, action, CITED_MODEL, model.id, None, at) for source in dropped)


def without_forgotten(
    graph: GraphStore,
    bank: Bank,
    forgotten: Set[str],
    changed: Mapping[str, Memory],
    tokenizer: Tokenizer,
) -> tuple[MentalModel, ...]:
    """Rewrite the mental models that may quote forgotten memories, and return them.

    These are the models with a forgotten source, or with one that is rewritten for that reason.
    Their texts are composed of the remaining sources, "" if there are none. They stay stale until
    they are refreshed, as `sources` still lists the forgotten ones.

    Args:
        graph: store of the models.
        bank: the bank of the models.
        forgotten: ids of the forgotten memories, and of the conclusions removed with them.
        changed: conclusions that are rewritten without the forgotten memories, by id.
        tokenizer: counts the tokens of the texts.
    """
    models = []
    for model in graph.scan(bank.id, MENTAL_MODEL):
        stored = graph.read(bank.id, MEMORY, [id for id in model.sources if id not in forgotten])
        if len(stored) == len(model.sources) and changed.keys().isdisjoint(stored):
            continue
        label_of = labels(list(stored))
        lines = (
            memory_line(changed.get(id, memory), label_of[id], bank.disposition)
            for id, memory in stored.items()
            if memory.invalidated_at is None
        )
        text = tokenizer.truncate("\n".join(lines), model.max_tokens)
        models.append(replace(model, text=text))
    return tuple(models)


def _differences(old: MentalModel, new: MentalModel) -> list[tuple[str, str | None, str | None]]:
    fields: Sequence[str] = (
        "name", "text", "source_query", "max_tokens", "tags", "sources", "auto_refresh",
    )  # fmt: skip
    both = ((field, getattr(old, field), getattr(new, field)) for field in fields)
    return [(field, _shown(a), _shown(b)) for field, a, b in both if a != b]


def _shown(value: object) -> str | None:
    if value is None:
        return None
    return ", ".join(value) if isinstance(value, tuple) else str(value)
