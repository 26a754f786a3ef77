"""`memory.mental_models`: summaries that the user curates, and that reflection reads first."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import ConflictError, InvalidInputError
from hindsight_integrations.history import Change
from hindsight_integrations.models import MentalModel, utc_now
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.normalization import new_id
from hindsight_integrations.reflect.mental_models import (
    MentalModelDependencies,
    dropped_source_changes,
    find_model,
    refresh,
    store,
    with_new_text,
)
from hindsight_integrations.reflect.search import staleness
from hindsight_integrations.results import Staleness
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import MENTAL_MODEL, MODEL_HISTORY, ChangeSet, StoredBank
from hindsight_integrations.stores.reads import read_one

MAX_TEXT = 20_000
"""Longest text of a mental model, in characters."""

MAX_TOKENS = 1024
"""Default maximum tokens of a refreshed text."""


class MentalModels(Namespace):
    """The mental models of a bank. Only the user creates them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

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
        model_id: str | None = None,
        llm: object | None = None,
    ) -> MentalModel:
        """Create a mental model from a text, or from the bank's answer to a question.

        Args:
            bank_id: which bank; it must exist.
            name: what it is about.
            text: its text; written from `source_query` if None.
            source_query: the question it answers; needed to refresh it.
            max_tokens: maximum tokens of a text written from `source_query`.
            tags: labels; if given, only memories with at least one of them are used to write it.
            auto_refresh: refresh it after consolidation if it is stale.
            model_id: your id for it; a new one if None.
            llm: the language model that writes the text; the client's own if None. Without any, the
                text consists of the memories themselves.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            ConflictError: the bank already has a mental model with this id.
            ModelError, StoreError: the text could not be written; nothing was stored.
        """
        bank = self._runtime.bank(bank_id)
        if text is None and source_query is None:
            raise InvalidInputError(
                "a mental model needs a text, or a source_query to write it from"
            )
        if model_id is not None:
            self._check_new(bank_id, validation.label("model_id", model_id))
        now = utc_now()
        model = _checked(
            MentalModel(
                id=new_id("mm-") if model_id is None else model_id,
                bank_id=bank_id,
                name=name,
                text="",
                source_query=source_query,
                max_tokens=max_tokens,
                tags=tuple(validation.tags(tags)),
                auto_refresh=validation.flag("auto_refresh", auto_refresh),
                created_at=now,
                refreshed_at=now,
            )
        )
        model = with_new_text(self._deps(llm), bank, model) if text is None else _own(model, text)
        with self._runtime.lock(bank.key):
            self._check_new(bank_id, model.id)
            self._runtime.graph.apply(ChangeSet(bank_id, mental_models=(model,)))
        return model

    def _check_new(self, bank_id: str, model_id: str) -> None:
        if any(known.id == model_id for known in self._runtime.graph.scan(bank_id, MENTAL_MODEL)):
            raise ConflictError(
                f"bank {bank_id!r} already has a mental model {model_id!r}; update that one, or "
                "give another id"
            )

    def get(self, bank_id: str, model_id: str) -> MentalModel:
        """Return a mental model.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or mental model.
        """
        return self._found(bank_id, model_id)[1]

    def list(self, bank_id: str, *, tags: Sequence[str] = ()) -> list[MentalModel]:
        """Return the mental models of a bank, sorted by name; `tags` keeps those with any of them.

        The default is all mental models.
        """
        self._runtime.bank(bank_id)
        wanted = set(validation.tags(tags))
        models = self._runtime.graph.scan(bank_id, MENTAL_MODEL)
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
        """Change the given fields of a mental model; the old values are kept in its history."""
        bank, _ = self._found(bank_id, model_id)
        with self._runtime.lock(bank.key):
            old = find_model(self._runtime.graph, bank_id, model_id)
            new = _checked(
                replace(
                    old,
                    name=old.name if name is None else name,
                    source_query=old.source_query if source_query is None else source_query,
                    max_tokens=old.max_tokens if max_tokens is None else max_tokens,
                    tags=old.tags if tags is None else validation.tags(tags),
                    auto_refresh=old.auto_refresh
                    if auto_refresh is None
                    else validation.flag("auto_refresh", auto_refresh),
                )
            )
            if text is not None:
                new = _own(replace(new, refreshed_at=utc_now()), text)
            store(self._runtime.graph, old, new, "update", validation.reason(reason))
        return new

    def delete(self, bank_id: str, model_id: str) -> None:
        """Delete a mental model; its history stays until a memory it cites is forgotten."""
        bank, _ = self._found(bank_id, model_id)
        with self._runtime.lock(bank.key):
            old = find_model(self._runtime.graph, bank_id, model_id)
            now = utc_now()
            gone = Change(old.id, "delete", "text", old.text, None, now, of_model=True)
            history = (gone, *dropped_source_changes(old, "delete", now))
            self._runtime.graph.apply(
                ChangeSet(bank_id, remove_mental_models=(model_id,), history=history)
            )

    def refresh(self, bank_id: str, model_id: str, *, llm: object | None = None) -> MentalModel:
        """Rewrite a mental model from the bank's current answer to its source query.

        If the text stays the same, so does its date, and the history records that the refresh
        changed nothing. Without a language model, memories that newer ones contradict are left out
        of the text.

        Args:
            bank_id: which bank.
            model_id: which mental model.
            llm: the language model that writes the text, as in `create`.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or mental model.
            InvalidInputError: it has no source query.
            ConflictError: it was changed while it was being refreshed.
            ModelError, StoreError: the text could not be written; the mental model is unchanged.
        """
        bank, model = self._found(bank_id, model_id)
        return refresh(self._deps(llm), bank, model)

    def staleness(self, bank_id: str, model_id: str) -> Staleness:
        """Return what changed since it was written: newer memories, sources changed or deleted."""
        bank, model = self._found(bank_id, model_id)
        return staleness(self._runtime.recalling, bank, model)

    def history(self, bank_id: str, model_id: str) -> builtins.list[Change]:
        """Return the changes of a mental model, oldest first, even if it was deleted.

        The history is deleted when a memory that the model was written from is forgotten.
        """
        self._runtime.bank(bank_id)
        id = validation.label("model_id", model_id)
        return list(read_one(self._runtime.graph, bank_id, MODEL_HISTORY, id, ()))

    def _found(self, bank_id: str, model_id: str) -> tuple[StoredBank, MentalModel]:
        bank = self._runtime.bank(bank_id)
        return bank, find_model(
            self._runtime.graph, bank_id, validation.label("model_id", model_id)
        )

    def _deps(self, llm: object | None) -> MentalModelDependencies:
        model = self._runtime.model if llm is None else as_model(llm)
        return MentalModelDependencies(self._runtime.recalling, self._runtime.lock, model)

    acreate = async_variant(create)
    aget = async_variant(get)
    alist = async_variant(list)
    aupdate = async_variant(update)
    adelete = async_variant(delete)
    arefresh = async_variant(refresh)
    astaleness = async_variant(staleness)
    ahistory = async_variant(history)


def _checked(model: MentalModel) -> MentalModel:
    """Return the model if its fields are valid."""
    if model.auto_refresh and model.source_query is None:
        raise InvalidInputError("auto_refresh needs a source_query to refresh the text from")
    query = model.source_query
    return replace(
        model,
        name=validation.label("name", model.name),
        source_query=None if query is None else validation.query(query),
        max_tokens=validation.positive("max_tokens", model.max_tokens),
    )


def _own(model: MentalModel, text: str) -> MentalModel:
    """Return the model with a text of the user's own, which cites no memory."""
    clean = validation.text(text, "text", most=MAX_TEXT).strip()
    if not clean:
        raise InvalidInputError("text is blank; give some text, or a source_query instead")
    return replace(model, text=clean, sources=())
