"""`memory.mental_models`: summaries that the user curates, and that reflection reads first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.core import Core
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.language.llm import as_model
from hindsight_integrations.model import Change, MentalModel, utc_now
from hindsight_integrations.naming import new_id
from hindsight_integrations.reflect.mental_models import (
    ModelParts,
    find_model,
    refresh,
    rested,
    store,
    written,
)
from hindsight_integrations.reflect.model_search import staleness
from hindsight_integrations.reflections import Staleness
from hindsight_integrations.storage.requests import ChangeSet, StoredBank

MAX_TEXT = 20_000
"""Longest text of a mental model, in characters."""

MAX_TOKENS = 1024
"""Tokens of a refreshed text, if the caller does not say."""


class MentalModels:
    """The mental models of a bank. None is ever made but by the user."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def create(
        self,
        bank_id: str,
        name: str,
        *,
        text: str | None = None,
        source_query: str | None = None,
        max_tokens: int = MAX_TOKENS,
        tags: Sequence[str] = (),
        auto_refresh: bool = False,
        llm: object | None = None,
    ) -> MentalModel:
        """Make a mental model of a text, or of what the bank answers to a question.

        Args:
            bank_id: which bank; it exists already.
            name: what it is about.
            text: what it says; written from `source_query` if None.
            source_query: the question whose answer it is, so that it can be refreshed.
            max_tokens: of a text that is written from `source_query`, at most.
            tags: labels; with any, it is written from memories only that share one of them.
            auto_refresh: refresh it after consolidation, when it has become stale.
            llm: what writes the text; the engine's own if None, and if that has none either, the
                text is the memories themselves.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            ModelError, StoreError: the text could not be written; nothing was stored.
        """
        bank = self._core.bank(checks.bank_id(bank_id))
        if text is None and source_query is None:
            raise InvalidInputError(
                "a mental model needs a text, or a source_query that it is written from"
            )
        now = utc_now()
        model = _checked(
            MentalModel(
                id=new_id("mm-"),
                bank_id=bank_id,
                name=name,
                text=text or "",
                source_query=source_query,
                max_tokens=max_tokens,
                tags=tuple(checks.tags(tags)),
                auto_refresh=auto_refresh,
                created_at=now,
                refreshed_at=now,
            )
        )
        model = written(self._parts(llm), bank, model) if text is None else _own(model, text)
        self._core.graph.apply(ChangeSet(bank_id, mental_models=(model,)))
        return model

    def get(self, bank_id: str, model_id: str) -> MentalModel:
        """A mental model.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or mental model.
        """
        return self._found(bank_id, model_id)[1]

    def list(self, bank_id: str, *, tags: Sequence[str] = ()) -> list[MentalModel]:
        """All of a bank, by name; with `tags`, those that have any of them."""
        self._core.bank(checks.bank_id(bank_id))
        wanted = set(checks.tags(tags))
        models = self._core.graph.mental_models(bank_id)
        kept = [model for model in models if not wanted or wanted.intersection(model.tags)]
        return sorted(kept, key=lambda model: (model.name, model.id))

    def update(
        self,
        bank_id: str,
        model_id: str,
        *,
        name: str | None = None,
        text: str | None = None,
        source_query: str | None = None,
        max_tokens: int | None = None,
        tags: Sequence[str] | None = None,
        auto_refresh: bool | None = None,
        reason: str | None = None,
    ) -> MentalModel:
        """Change what is given, and leave the rest. What it was is kept in its history."""
        bank, _ = self._found(bank_id, model_id)
        with self._core.lock(bank.key):
            old = find_model(self._core.graph, bank_id, model_id)
            new = _checked(
                replace(
                    old,
                    name=old.name if name is None else name,
                    source_query=old.source_query if source_query is None else source_query,
                    max_tokens=old.max_tokens if max_tokens is None else max_tokens,
                    tags=old.tags if tags is None else checks.tags(tags),
                    auto_refresh=old.auto_refresh if auto_refresh is None else auto_refresh,
                )
            )
            if text is not None:
                new = _own(replace(new, refreshed_at=utc_now()), text)
            store(self._core.graph, old, new, "update", reason)
        return new

    def delete(self, bank_id: str, model_id: str) -> None:
        """Delete a mental model; its history stays until a memory is forgotten that it quotes."""
        bank, _ = self._found(bank_id, model_id)
        with self._core.lock(bank.key):
            old = find_model(self._core.graph, bank_id, model_id)
            now = utc_now()
            gone = Change(old.id, "delete", "text", old.text, None, now)
            history = (gone, *rested(old, "delete", now))
            self._core.graph.apply(
                ChangeSet(bank_id, remove_mental_models=(model_id,), history=history)
            )

    def refresh(self, bank_id: str, model_id: str, *, llm: object | None = None) -> MentalModel:
        """Write a mental model anew from what the bank answers to its source query now.

        Args:
            bank_id: which bank.
            model_id: which mental model.
            llm: what writes it, as in `create`.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or mental model.
            InvalidInputError: it has no source query.
            ConflictError: it was changed while it was refreshed.
            ModelError, StoreError: it could not be written; it is as it was.
        """
        bank, model = self._found(bank_id, model_id)
        return refresh(self._parts(llm), bank, model)

    def staleness(self, bank_id: str, model_id: str) -> Staleness:
        """What happened since it was written: newer memories, and sources that changed or went."""
        bank, model = self._found(bank_id, model_id)
        return staleness(self._core.recalling, bank, model)

    def history(self, bank_id: str, model_id: str) -> list[Change]:  # type: ignore[valid-type]
        """What was changed of a mental model, oldest first; also of one that was deleted.

        It goes with any memory that the model was written from, once that is forgotten.
        """
        self._core.bank(checks.bank_id(bank_id))
        return self._core.graph.history(bank_id, checks.label("model_id", model_id))

    def _found(self, bank_id: str, model_id: str) -> tuple[StoredBank, MentalModel]:
        bank = self._core.bank(checks.bank_id(bank_id))
        return bank, find_model(self._core.graph, bank_id, checks.label("model_id", model_id))

    def _parts(self, llm: object | None) -> ModelParts:
        model = self._core.model if llm is None else as_model(llm)
        return ModelParts(self._core.recalling, self._core.lock, model)

    acreate = twin(create)
    aget = twin(get)
    alist = twin(list)
    aupdate = twin(update)
    adelete = twin(delete)
    arefresh = twin(refresh)
    astaleness = twin(staleness)
    ahistory = twin(history)


def _checked(model: MentalModel) -> MentalModel:
    """The model, if its fields can be used."""
    if model.auto_refresh and model.source_query is None:
        raise InvalidInputError("auto_refresh needs a source_query to refresh the text from")
    query = model.source_query
    return replace(
        model,
        name=checks.label("name", model.name),
        source_query=None if query is None else checks.query(query),
        max_tokens=checks.positive("max_tokens", model.max_tokens),
    )


def _own(model: MentalModel, text: str) -> MentalModel:
    """The model with a text of the user's own, which rests on no memory."""
    clean = checks.text(text, "text", most=MAX_TEXT).strip()
    if not clean:
        raise InvalidInputError("text is blank; say something, or give a source_query instead")
    return replace(model, text=clean, sources=())
