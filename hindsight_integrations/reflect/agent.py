"""An answer from memory: a language model searches, step by step, and answers with citations.

mental models -> observations -> facts, all with the question itself -> as long as the model asks
for more: search -> answer. Iterations, tokens and seconds are bounded; at a bound the model has
to answer with what there is. It is told the bank's directives first and last, each time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hindsight_integrations import checks
from hindsight_integrations.errors import ModelError
from hindsight_integrations.language.llm import ModelUsage, StructuredModel
from hindsight_integrations.model import Bank, MemoryType
from hindsight_integrations.prompts import (
    FILL_IN,
    REFLECT,
    REFLECT_AT_LAST,
    Prompt,
    as_data,
    as_rules,
)
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.citations import read_citations
from hindsight_integrations.reflect.context import compose, set_out
from hindsight_integrations.reflect.deadline import within
from hindsight_integrations.reflect.forms import unwrapped
from hindsight_integrations.reflect.model_search import find_models
from hindsight_integrations.reflect.search import Found, find_memories, types_of
from hindsight_integrations.reflect.wording import after_blank, purpose, traits
from hindsight_integrations.reflections import Bound, Context, Lookup, Reflection, Tool
from hindsight_integrations.results import Failure
from hindsight_integrations.storage.requests import StoredBank

T = TypeVar("T", bound=BaseModel)

OBSERVATION_SHARE, FACT_SHARE = 1 / 6, 1 / 3
"""Parts of the token budget for what the question itself brings; half is left for more."""

FURTHER_SHARE = 1 / 2
"""Part of what is left of the budget that one further search may take, while there is much."""

SMALLEST_ROOM = 48
"""Tokens left of the budget below which searching on is no use: a memory is seldom shorter."""

CHECKED = 3
"""Stale observations of one search that are held against the facts, at most."""

ITERATIONS = 4
"""Times that the model is asked, if the caller does not say."""

SECONDS = 120.0
"""Seconds for a whole reflection, if the caller does not say."""

LONGEST_ANSWER = 20_000
"""Characters. A model that writes more is going round in circles."""

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

    # A sampler that is held to the schema would else pass over the answer.
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
            self.query = checks.query(self.query)
        return self


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long reflection may go on.

    Attributes:
        iterations: times the model is asked for the next step or the answer.
        seconds: for all of it; a call that does not come back is given up then.

    Raises:
        InvalidInputError: one is not positive.
    """

    iterations: int = ITERATIONS
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        checks.positive("max_iterations", self.iterations)
        checks.seconds("timeout", self.seconds)


def reflect(
    parts: RecallParts,
    bank: StoredBank,
    request: RecallRequest,
    model: StructuredModel,
    bounds: Bounds,
    form: type[BaseModel] | None = None,
) -> Reflection:
    """The model's answer to the request's question, from the bank.

    Args:
        parts: what recall works with.
        bank: where to search.
        request: the question, its filters, and the token budget of the evidence.
        model: asked for steps and the answer.
        bounds: on steps and time.
        form: the answer is also put into this form, with one more call.

    Raises:
        ModelError: the model failed, or gave no answer in time.
        EmbeddingError, StoreUnavailableError: recall failed altogether.
    """
    asking = _Asking(model, bank.bank, request.query, bounds)
    evidence = _Evidence(parts, bank, request)
    evidence.look_up_question()
    if not (here := evidence.context()):
        return Reflection(bank.bank.id, request.query, here.text, (), here, ModelUsage())
    while True:
        bound = asking.bound or (Bound.TOKENS if evidence.room < SMALLEST_ROOM else None)
        if bound is not None:
            final = asking.ask(REFLECT_AT_LAST, AnswerReply, here)
            break
        step = asking.ask(REFLECT, StepReply, here, searches=evidence.searches)
        if step.action == "answer":
            final = AnswerReply(answer=step.answer, sources=step.sources)
            break
        evidence.look_up(Tool(step.action), step.query)
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
    """What was found so far, within the token budget."""

    def __init__(self, parts: RecallParts, bank: StoredBank, request: RecallRequest) -> None:
        self._parts = parts
        self._bank = bank
        self._request = request
        self._found: dict[str, Found] = {}
        self._failures: dict[str, Failure] = {}
        self.lookups: list[Lookup] = []

    @property
    def searches(self) -> str:
        """The searches made, as the model reads them."""
        return "\n".join(f"{tool} {query!r}: {len(ids)} new" for tool, query, ids in self.lookups)

    @property
    def room(self) -> int:
        """Tokens of the budget that are left."""
        return self._request.max_tokens - (self.context().tokens if self._found else 0)

    def context(self) -> Context:
        """All of it, set out for the model."""
        return set_out(
            self._bank.bank,
            self._request,
            list(self._found.values()),
            tuple(self._failures.values()),
            self._parts.tokenizer,
        )

    def look_up_question(self) -> None:
        """Search with the question itself: mental models, observations, facts, in this order."""
        budget = self._request.max_tokens
        self._search(Tool.MENTAL_MODELS, self._request.query, budget)
        self._search(Tool.OBSERVATIONS, self._request.query, int(budget * OBSERVATION_SHARE))
        self._search(Tool.FACTS, self._request.query, int(budget * FACT_SHARE))

    def look_up(self, tool: Tool, query: str) -> None:
        """Search with words of the model's own."""
        self._search(tool, query, max(SMALLEST_ROOM, int(self.room * FURTHER_SHARE)))

    def _search(self, tool: Tool, query: str, max_tokens: int) -> None:
        """Look up, and hold what is stale against the facts."""
        request = replace(self._request, query=query, max_tokens=max(1, max_tokens))
        found = [each for each in self._run(tool, request) if each.source.id not in self._found]
        made = compose(self._bank.bank, found, request.max_tokens, self._parts.tokenizer)
        taken = {item.id for item in made.items}
        new = {each.source.id: each for each in found if each.source.id in taken}
        self._found |= new
        self.lookups.append(Lookup(tool, query, tuple(new)))
        if tool is Tool.OBSERVATIONS:
            stale = [each.source.text for each in new.values() if each.stale]
            for text in stale[:CHECKED]:
                self._search(Tool.FACTS, text, max_tokens)

    def _run(self, tool: Tool, request: RecallRequest) -> list[Found]:
        if tool is Tool.MENTAL_MODELS:
            return find_models(self._parts, self._bank, request)
        types = types_of(_TYPES[tool], request)
        if not types:
            return []
        request = replace(request, filter=replace(request.filter, types=types))
        found, failures = find_memories(self._parts, self._bank, request)
        self._failures.update((failure.part, failure) for failure in failures)
        return found


class _Asking:
    """The model, asked within bounds; every prompt opens and ends with the bank's directives."""

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
        """The bound that leaves time for the answer only, if one does."""
        if self._left <= 1:
            return Bound.ITERATIONS
        return Bound.TIME if self._until - monotonic() < self._slowest else None

    def ask(self, prompt: Prompt, form: type[T], evidence: Context, **values: str) -> T:
        """The model's reply; `values` are data to fill the prompt in with, by tag."""
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
                f"{self._model.id} gave no answer in {self._bounds.seconds:g} s; allow more "
                "with timeout=, or ask a faster model"
            ) from error
        self._slowest = max(self._slowest, monotonic() - started)
        self._left -= 1
        self.usage += answer.usage
        return answer.value
