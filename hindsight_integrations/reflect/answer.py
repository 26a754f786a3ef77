"""Answer a question from memory: a language model searches step by step, and cites its sources.

mental models -> observations -> facts, all with the question itself -> further searches while the
model asks for them -> answer. Iterations, tokens and seconds are bounded; at a bound the model has
to answer from what was found. Each prompt opens and ends with the bank's directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal, Self, TypeVar

from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]
from jsonschema.validators import Draft202012Validator, validator_for  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator
from referencing import Registry

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import within
from hindsight_integrations.errors import InvalidInputError, ModelError
from hindsight_integrations.models import Bank, MemoryType, ModelUsage
from hindsight_integrations.nlp.llm import StructuredModel
from hindsight_integrations.prompts import (
    FILL_IN,
    REFLECT,
    REFLECT_AT_LAST,
    Prompt,
    as_data,
    as_rules,
)
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.context import (
    LABEL_DIGITS,
    after_blank,
    compose,
    context_of_results,
    purpose,
    traits,
)
from hindsight_integrations.reflect.search import SearchResult, find_memories, find_models, types_of
from hindsight_integrations.results import Bound, Context, Failure, Lookup, Reflection, Tool
from hindsight_integrations.stores.base import StoredBank

_LABEL = re.compile(rf"(?<![\w-])[a-z]{{1,3}}-[0-9a-f]{{{LABEL_DIGITS},}}(?![\w-])")
_CITATION = re.compile(rf"[ \t]*(?:\[[^\[\]\n]*\]|\([^()\n]*\)|{_LABEL.pattern})")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer with its citations resolved.

    Attributes:
        text: the answer, with each resolved citation as "[label]" or "[label, label]".
        sources: ids cited, each once, in order.
        foreign: apparent citations of nothing that was retrieved.
    """

    text: str
    sources: tuple[str, ...]
    foreign: tuple[str, ...]


def read_citations(text: str, listed: Iterable[str], ids: Mapping[str, str]) -> Cited:
    """Resolve the citations of an answer.

    Args:
        text: the answer, with citations such as "[m-1a2b3c]" or "(m-1a2b3c, m-4d5e6f)".
        listed: sources that the model named apart from the text.
        ids: label to id of everything that was retrieved.
    """
    cited: dict[str, None] = {}
    foreign: dict[str, None] = {}

    def read(match: re.Match[str]) -> str:
        pieces = [p for p in _LABEL.findall(match[0]) if _resolved(p, ids) or _has_digit(p)]
        if not pieces:
            return match[0]
        known = list(dict.fromkeys(label for p in pieces if (label := _resolved(p, ids))))
        cited.update(dict.fromkeys(ids[label] for label in known))
        foreign.update(dict.fromkeys(p for p in pieces if not _resolved(p, ids)))
        return f" [{', '.join(known)}]" if known else ""

    plain = _CITATION.sub(read, text).strip()
    for source in listed:
        known = [label for p in _LABEL.findall(source) if (label := _resolved(p, ids))]
        cited.update(dict.fromkeys(ids[label] for label in known))
        if source.strip() and not known:
            foreign[source.strip()] = None
    return Cited(plain, tuple(cited), tuple(foreign))


def _resolved(piece: str, ids: Mapping[str, str]) -> str | None:
    """Return the label that a piece is, or that is its beginning; None if there is none."""
    if piece in ids:
        return piece
    near = [label for label, id in ids.items() if id.startswith(piece)]
    return near[0] if len(near) == 1 else None


def _has_digit(piece: str) -> bool:
    """Return True if there is a digit: ordinary words can look like labels ("mid-decade")."""
    return any(character.isdigit() for character in piece)


class _Filled(RootModel[dict[str, Any]]):
    """An object that fits a JSON schema."""


def as_form(schema: object) -> type[BaseModel]:
    """Return the pydantic model that a reply is parsed into.

    Args:
        schema: a pydantic model class, or the JSON schema of an object. References within the
            schema are followed; those to other places are not.

    Raises:
        InvalidInputError: it is neither.
    """
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema
    if not isinstance(schema, Mapping):
        raise InvalidInputError(
            f"response_schema is {schema!r:.80}; give a pydantic model class, or a "
            "JSON schema as a dict"
        )
    if schema.get("type", "object") != "object":
        raise InvalidInputError(
            f"response_schema describes a JSON {schema['type']!r}; describe an object that "
            f"has the {schema['type']!r} as one of its properties"
        )
    described = dict(schema)
    kind = validator_for(described, default=Draft202012Validator)
    try:
        kind.check_schema(described)
    except SchemaError as error:
        raise InvalidInputError(f"response_schema is not a JSON schema: {error.message}") from error
    return _form_of(described, kind(described, registry=Registry()))


def unwrapped(filled: BaseModel) -> object:
    """Return what the caller asked for: an instance of a model, or a dict that fits a schema."""
    return filled.root if isinstance(filled, _Filled) else filled


def _form_of(described: dict[str, Any], validator: Any) -> type[_Filled]:
    class Form(_Filled):
        @model_validator(mode="after")
        def _fits(self) -> Self:
            fault = next(validator.iter_errors(self.root), None)
            if fault is not None:
                raise ValueError(f"{fault.json_path}: {fault.message}")
            return self

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {**described, "title": cls.__name__}

    # Providers take the title for the name of a tool, and refuse blanks in it.
    Form.__name__ = re.sub(r"[^A-Za-z0-9_-]+", "_", str(described.get("title") or "Form"))[:64]
    Form.__doc__ = str(described.get("description") or _Filled.__doc__)
    return Form


T = TypeVar("T", bound=BaseModel)

OBSERVATION_SHARE, FACT_SHARE = 1 / 6, 1 / 3
"""Shares of the token budget for searches with the question itself; half is left for more."""

FURTHER_SHARE = 1 / 2
"""Share of the remaining budget that one further search may take, if it is not small."""

SMALLEST_ROOM = 48
"""Remaining tokens below which no further search is made: a memory is seldom shorter."""

CHECKED = 3
"""Stale observations of one search that are checked against the facts, at most."""

ITERATIONS = 4
"""Default number of calls to the model."""

SECONDS = 120.0
"""Default number of seconds for a whole reflection."""

LONGEST_ANSWER = 20_000
"""Most characters of an answer: a longer one repeats itself."""

_TYPES = {
    Tool.OBSERVATIONS: frozenset({MemoryType.OBSERVATION}),
    Tool.FACTS: frozenset({MemoryType.WORLD, MemoryType.EXPERIENCE, MemoryType.OPINION}),
}


class AnswerReply(BaseModel):
    """The answer to the question, and the labels of the memories it rests on."""

    model_config = ConfigDict(json_schema_extra={"required": ["answer", "sources"]})

    answer: str
    sources: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        if not any(character.isalnum() for character in self.answer):
            raise ValueError("the answer is blank")
        if len(self.answer) > LONGEST_ANSWER:
            raise ValueError(f"the answer has more than {LONGEST_ANSWER} characters")
        return self


class StepReply(BaseModel):
    """The next step: a search with a query, or the answer with the labels it rests on."""

    # A sampler constrained by the schema would else skip the answer.
    model_config = ConfigDict(
        json_schema_extra={"required": ["action", "query", "answer", "sources"]}
    )

    action: Literal["search_mental_models", "search_observations", "search_facts", "answer"]
    query: str = Field(default_factory=str)
    answer: str = Field(default_factory=str)
    sources: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        if self.action == "answer":
            AnswerReply(answer=self.answer)
        else:
            self.query = validation.query(self.query)
        return self


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a reflection.

    Attributes:
        iterations: number of times the model is asked for the next step or the answer.
        seconds: for the whole reflection; a call that takes longer is given up.

    Raises:
        InvalidInputError: one is not positive.
    """

    iterations: int = ITERATIONS
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        validation.positive("max_iterations", self.iterations)
        validation.seconds("timeout", self.seconds)


def reflect(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    model: StructuredModel,
    bounds: Bounds,
    form: type[BaseModel] | None = None,
) -> Reflection:
    """Answer the request's question from the bank.

    Args:
        deps: dependencies of recall.
        bank: where to search.
        request: the question, its filters, and the token budget of the evidence.
        model: asked for steps and the answer.
        bounds: on steps and time.
        form: model that the answer is also written into, with one more call.

    Raises:
        ModelError: the model failed, or gave no answer in time.
        EmbeddingError, StoreUnavailableError: recall failed altogether.
    """
    asking = _BoundedModel(model, bank.bank, request.query, bounds)
    evidence = _Evidence(deps, bank, request)
    evidence.search_question()
    if not (here := evidence.context()):
        return Reflection(bank.bank.id, request.query, here.text, (), here, ModelUsage())
    while True:
        bound = asking.bound or (Bound.TOKENS if evidence.tokens_left < SMALLEST_ROOM else None)
        if bound is not None:
            final = asking.ask(REFLECT_AT_LAST, AnswerReply, here)
            break
        step = asking.ask(REFLECT, StepReply, here, searches=evidence.searches)
        if step.action == "answer":
            final = AnswerReply(answer=step.answer, sources=step.sources)
            break
        evidence.search_with(Tool(step.action), step.query)
        here = evidence.context()
    cited = read_citations(
        final.answer, final.sources, {item.label: item.id for item in here.items}
    )
    filled = form and unwrapped(asking.ask(FILL_IN, form, here, answer=cited.text))
    return Reflection(
        bank_id=bank.bank.id,
        query=request.query,
        text=cited.text,
        sources=cited.sources,
        context=here,
        structured=filled,
        usage=asking.usage,
        lookups=tuple(evidence.lookups),
        foreign=cited.foreign,
        forced=bound,
    )


class _Evidence:
    """Evidence collected within the token budget."""

    def __init__(self, deps: RecallDependencies, bank: StoredBank, request: RecallRequest) -> None:
        self._deps = deps
        self._bank = bank
        self._request = request
        self._results: dict[str, SearchResult] = {}
        self._failures: dict[str, Failure] = {}
        self.lookups: list[Lookup] = []

    @property
    def searches(self) -> str:
        """Searches so far, as the model reads them."""
        return "\n".join(f"{tool} {query!r}: {len(ids)} new" for tool, query, ids in self.lookups)

    @property
    def tokens_left(self) -> int:
        """Tokens left of the budget."""
        return self._request.max_tokens - (self.context().tokens if self._results else 0)

    def context(self) -> Context:
        """Compose the evidence into a context for the model."""
        return context_of_results(
            self._bank.bank,
            self._request,
            list(self._results.values()),
            tuple(self._failures.values()),
            self._deps.tokenizer,
        )

    def search_question(self) -> None:
        """Search with the question itself: mental models, observations, facts, in this order."""
        budget = self._request.max_tokens
        self._search(Tool.MENTAL_MODELS, self._request.query, budget)
        self._search(Tool.OBSERVATIONS, self._request.query, int(budget * OBSERVATION_SHARE))
        self._search(Tool.FACTS, self._request.query, int(budget * FACT_SHARE))

    def search_with(self, tool: Tool, query: str) -> None:
        """Run a search that the model asked for."""
        self._search(tool, query, max(SMALLEST_ROOM, int(self.tokens_left * FURTHER_SHARE)))

    def _search(self, tool: Tool, query: str, max_tokens: int) -> None:
        """Search, and check stale observations against the facts."""
        request = replace(self._request, query=query, max_tokens=max(1, max_tokens))
        results = [
            result for result in self._run(tool, request) if result.source.id not in self._results
        ]
        composed = compose(self._bank.bank, results, request.max_tokens, self._deps.tokenizer)
        taken = {item.id for item in composed.items}
        new = {result.source.id: result for result in results if result.source.id in taken}
        self._results |= new
        self.lookups.append(Lookup(tool, query, tuple(new)))
        if tool is Tool.OBSERVATIONS:
            stale = [result.source.text for result in new.values() if result.stale]
            for text in stale[:CHECKED]:
                self._search(Tool.FACTS, text, max_tokens)

    def _run(self, tool: Tool, request: RecallRequest) -> list[SearchResult]:
        if tool is Tool.MENTAL_MODELS:
            return find_models(self._deps, self._bank, request)
        types = types_of(_TYPES[tool], request)
        if not types:
            return []
        request = replace(request, filter=replace(request.filter, types=types))
        results, failures = find_memories(self._deps, self._bank, request)
        self._failures.update((failure.part, failure) for failure in failures)
        return results


class _BoundedModel:
    """Calls the model within bounds; each prompt begins and ends with the bank's directives."""

    def __init__(self, model: StructuredModel, bank: Bank, query: str, bounds: Bounds) -> None:
        self._model = model
        self._bounds = bounds
        self._left = bounds.iterations
        self._until = monotonic() + bounds.seconds
        self._slowest = 0.0
        self.usage = ModelUsage()
        rules = as_rules(bank.directives)
        self._values = {
            "rules": rules,
            "reminder": rules,
            "purpose": after_blank(purpose(bank)),
            "traits": after_blank(traits(bank.disposition)),
            "question": as_data("question", query),
        }

    @property
    def bound(self) -> Bound | None:
        """The bound that has been reached, after which only the answer may follow; else None."""
        if self._left <= 1:
            return Bound.ITERATIONS
        return Bound.TIME if self._until - monotonic() < self._slowest else None

    def ask(self, prompt: Prompt, form: type[T], evidence: Context, **values: str) -> T:
        """Return the model's reply; `values` are data for the prompt, by tag."""
        asked = prompt.render(
            **self._values,
            memories=as_data("memories", evidence.text),
            **{tag: as_data(tag, text) for tag, text in values.items()},
        )
        started = monotonic()
        try:
            answer = within(
                self._until - started, lambda: self._model.ask(asked.system, asked.user, form)
            )
        except TimeoutError as error:
            raise ModelError(
                f"{self._model.id} did not answer within {self._bounds.seconds:g} s; raise "
                "timeout=, or use a faster model"
            ) from error
        self._slowest = max(self._slowest, monotonic() - started)
        self._left -= 1
        self.usage += answer.usage
        return answer.value
