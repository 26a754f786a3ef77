"""Writing mental models anew from what the bank knows now."""

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
from hindsight_integrations.language.llm import StructuredModel
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Bank, Change, Memory, MentalModel, utc_now
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.reflect.agent import Bounds, reflect
from hindsight_integrations.reflect.context import context
from hindsight_integrations.reflect.model_search import source_request, staleness
from hindsight_integrations.reflect.wording import labels, memory_line
from hindsight_integrations.reflections import NOTHING_FOUND
from hindsight_integrations.results import Failure
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import ChangeSet, StoredBank
from hindsight_integrations.storage.values import RESTED


@dataclass(frozen=True, slots=True)
class ModelParts:
    """What mental models are written with. `lock` is the right to write to a bank."""

    recalling: RecallParts
    lock: Callable[[str], AbstractContextManager[object]]
    llm: StructuredModel | None = None

    @property
    def graph(self) -> GraphStore:
        """Where they are stored."""
        return self.recalling.graph


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The mental models that were written anew, and those that could not be, with the error."""

    models: tuple[MentalModel, ...] = ()
    failures: tuple[Failure, ...] = ()


def find_model(graph: GraphStore, bank_id: str, model_id: str) -> MentalModel:
    """The bank's mental model of this id. Raises `NotFoundError`."""
    for model in graph.mental_models(bank_id):
        if model.id == model_id:
            return model
    raise NotFoundError(
        f"bank {bank_id!r} has no mental model {model_id!r}; mental_models.list({bank_id!r}) "
        "names those it has"
    )


def written(parts: ModelParts, bank: StoredBank, model: MentalModel) -> MentalModel:
    """The model with its text written from the memories that its source query brings.

    With a language model, it is that one's answer to the query; without, the memories themselves.

    Raises:
        ModelError, StoreUnavailableError: it could not be written.
    """
    now = utc_now()  # what is retained from here on is newer than the text
    tokenizer, settings = parts.recalling.tokenizer, parts.recalling.settings
    if parts.llm is None:
        found = context(parts.recalling, _plain(bank), source_request(model, model.max_tokens))
        text = "\n".join(item.text for item in found.items) or NOTHING_FOUND
        sources = found.sources
    else:
        request = source_request(model, settings.max_tokens)
        answer = reflect(parts.recalling, bank, request, parts.llm, Bounds())
        text = answer.text
        sources = answer.sources or answer.context.sources
    cut = tokenizer.truncate(text, model.max_tokens)
    return replace(model, text=cut, sources=sources, refreshed_at=now)


def _plain(bank: StoredBank) -> StoredBank:
    """The bank without directives: they stand over a context, and are no part of a summary."""
    return replace(bank, bank=replace(bank.bank, directives=()))


def refresh(
    parts: ModelParts, bank: StoredBank, model: MentalModel, reason: str | None = None
) -> MentalModel:
    """Write a stored model anew; what it was is kept in its history.

    Raises:
        InvalidInputError: it has no source query.
        ConflictError: it was changed while it was written.
        NotFoundError: it was deleted meanwhile.
        ModelError, StoreError: it could not be written; it is as it was.
    """
    if model.source_query is None:
        raise InvalidInputError(
            f"mental model {model.id!r} was written by hand and has no source_query to refresh it "
            "from; give it one with mental_models.update, or give the new text"
        )
    new = written(parts, bank, model)
    with parts.lock(bank.key):
        if find_model(parts.graph, bank.bank.id, model.id) != model:
            raise ConflictError(
                f"mental model {model.id!r} was changed while it was refreshed; refresh it again"
            )
        store(parts.graph, model, new, "refresh", reason)
    return new


def refresh_due(parts: ModelParts, bank: StoredBank) -> Refreshed:
    """Refresh those that ask for it and have become stale; one that fails leaves the others."""
    models: list[MentalModel] = []
    failures: list[Failure] = []
    for model in parts.graph.mental_models(bank.bank.id):
        if not model.auto_refresh:
            continue
        try:
            if staleness(parts.recalling, bank, model):
                models.append(refresh(parts, bank, model, "stale after consolidation"))
        except HindsightError as error:
            failures.append(Failure(f"mental model {model.id}", error))
    return Refreshed(tuple(models), tuple(failures))


def store(
    graph: GraphStore, old: MentalModel, new: MentalModel, action: str, reason: str | None = None
) -> None:
    """Put `new` in the place of `old`, with what changed in its history."""
    now = utc_now()
    changes = tuple(
        Change(old.id, action, field, before, after, now, reason)
        for field, before, after in _differences(old, new)
    )
    left = rested(old, action, now, but=new.sources)
    graph.apply(ChangeSet(old.bank_id, mental_models=(new,), history=(*changes, *left)))


def rested(
    model: MentalModel, action: str, at: datetime, *, but: Sequence[str] = ()
) -> tuple[Change, ...]:
    """What tells of each memory that the model rested on, `but` some, that it does no more."""
    lost = (source for source in model.sources if source not in but)
    return tuple(Change(source, action, RESTED, model.id, None, at) for source in lost)


def retold(
    graph: GraphStore,
    bank: Bank,
    gone: Set[str],
    changed: Mapping[str, Memory],
    tokenizer: Tokenizer,
) -> tuple[MentalModel, ...]:
    """The mental models that may hold words of memories which are forgotten now, without these.

    Those are the ones of whose sources any is gone, or changed with them. Their texts are put
    together from the sources that are left, until they are refreshed: they name still what is
    gone, and so they are stale.

    Args:
        graph: where they are stored.
        bank: whose they are.
        gone: ids of the memories, and of the conclusions that go with them.
        changed: by id, the conclusions that are written anew without them.
        tokenizer: counts the tokens of the texts.
    """
    models = []
    for model in graph.mental_models(bank.id):
        stored = graph.get_memories(bank.id, [id for id in model.sources if id not in gone])
        if len(stored) == len(model.sources) and changed.keys().isdisjoint(stored):
            continue
        named = labels(list(stored))
        lines = (
            memory_line(changed.get(id, memory), named[id], bank.disposition)
            for id, memory in stored.items()
            if memory.invalidated_at is None
        )
        text = tokenizer.truncate("\n".join(lines), model.max_tokens) or NOTHING_FOUND
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
