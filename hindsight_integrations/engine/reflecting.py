"""The verbs that make something of what is remembered: a context, an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.core import Core
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.language.llm import ModelUsage, as_model
from hindsight_integrations.model import MemoryType
from hindsight_integrations.recall.request import Where, recall_request
from hindsight_integrations.reflect.agent import ITERATIONS, SECONDS, Bounds, reflect
from hindsight_integrations.reflect.context import context
from hindsight_integrations.reflect.forms import as_form
from hindsight_integrations.reflections import Context, Reflection


class Reflecting:
    """What `Hindsight` offers for making something of memories."""

    _core: Core

    def context(
        self,
        bank_id: str,
        query: str,
        *,
        max_tokens: int | None = None,
        budget: str = "mid",
        types: Iterable[MemoryType | str] | None = None,
        tags: Sequence[str] = (),
        tags_match: str = "any",
        where: Where | None = None,
        scope: str | None = None,
        query_time: datetime | None = None,
        as_of: datetime | None = None,
        min_score: float | None = None,
        prefer_observations: bool = False,
    ) -> Context:
        """What the bank knows of a question, set out for a reader or a prompt. Asks no model.

        Its sections are mental models, observations, facts and experiences, beliefs; each item
        has its dates, and a label to cite it by. The bank's directives stand first, and its
        disposition words the doubts.

        Args:
            bank_id: which bank.
            query: the question, or any text.
            max_tokens: budget of the text, in tokens; `settings.max_tokens` if None.
            budget: how far to look: "low", "mid" or "high".
            types: only memories of these types, and no mental models.
            tags: only what has any of these tags, or, with `tags_match="all"`, all.
            tags_match: "any" or "all".
            where: metadata conditions, as in `recall`; mental models have none to meet.
            scope: only memories of this scope, and no mental models.
            query_time: the moment that "last week" is counted from; now if not given.
            as_of: only what was known then.
            min_score: leave out memories that score less, 0 to 1; see docs/recall.md.
            prefer_observations: an observation takes the place of the facts it quotes.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            StoreUnavailableError: every arm of recall failed. A single one that fails is
                reported in the result's `failures`, and the others answer.
        """
        request = recall_request(
            checks.bank_id(bank_id),
            query,
            max_tokens=self._core.settings.max_tokens if max_tokens is None else max_tokens,
            budget=budget,
            types=types,
            tags=tags,
            tags_match=tags_match,
            where=where,
            scope=scope,
            query_time=query_time,
            as_of=as_of,
            min_score=min_score,
            prefer_observations=prefer_observations,
        )
        return context(self._core.recalling, self._core.bank(bank_id), request)

    def reflect(
        self,
        bank_id: str,
        query: str,
        *,
        llm: object | None = None,
        max_tokens: int | None = None,
        budget: str = "mid",
        response_schema: type[BaseModel] | Mapping[str, object] | None = None,
        types: Iterable[MemoryType | str] | None = None,
        tags: Sequence[str] = (),
        tags_match: str = "any",
        where: Where | None = None,
        scope: str | None = None,
        query_time: datetime | None = None,
        as_of: datetime | None = None,
        min_score: float | None = None,
        max_iterations: int = ITERATIONS,
        timeout: float = SECONDS,
    ) -> Reflection:
        """An answer from the bank, with the memories it rests on.

        A language model looks things up, mental models first, then observations, then facts,
        and answers from what it found. It cites nothing else: other citations are taken out
        and reported. Without a language model the answer is the text of `context`. A bank that
        holds nothing to answer from is not asked about.

        Args:
            bank_id: which bank.
            query: the question.
            llm: a LangChain chat model, a LlamaIndex LLM or a function (system, user) -> reply;
                the engine's own if None.
            max_tokens: budget of the evidence, in tokens; `settings.max_tokens` if None.
            budget: how far each search looks: "low", "mid" or "high".
            response_schema: a pydantic model class or a JSON schema; the answer is put into this
                form too, as `.structured`, with one more call of the model.
            types: only memories of these types, and no mental models.
            tags: only what has any of these tags, or, with `tags_match="all"`, all.
            tags_match: "any" or "all".
            where: metadata conditions, as in `recall`; mental models have none to meet.
            scope: only memories of this scope, and no mental models.
            query_time: the moment that "last week" is counted from; now if not given.
            as_of: only what was known then.
            min_score: leave out memories that score less, 0 to 1; see docs/recall.md.
            max_iterations: times the model is asked, the last of which it has to answer.
            timeout: seconds for all of it.

        Raises:
            InvalidInputError: an argument cannot be used, or `response_schema` was given and
                there is no language model.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            ModelError: the model failed, or gave no answer in time.
            StoreUnavailableError: every arm of recall failed.
        """
        request = recall_request(
            checks.bank_id(bank_id),
            query,
            max_tokens=self._core.settings.max_tokens if max_tokens is None else max_tokens,
            budget=budget,
            types=types,
            tags=tags,
            tags_match=tags_match,
            where=where,
            scope=scope,
            query_time=query_time,
            as_of=as_of,
            min_score=min_score,
        )
        bounds = Bounds(max_iterations, timeout)
        form = None if response_schema is None else as_form(response_schema)
        model = self._core.model if llm is None else as_model(llm)
        bank = self._core.bank(bank_id)
        if model is not None:
            return reflect(self._core.recalling, bank, request, model, bounds, form)
        if form is not None:
            raise InvalidInputError(
                "response_schema needs a language model to fill it in; give one as llm=, here or "
                "to Hindsight"
            )
        found = context(self._core.recalling, bank, request)
        return Reflection(bank_id, request.query, found.text, found.sources, found, ModelUsage())

    acontext = twin(context)
    areflect = twin(reflect)
