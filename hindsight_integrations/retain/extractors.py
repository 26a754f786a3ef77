"""The choice of an extractor, extractors that callers give, and the check of their facts.

A caller gives a function, an asynchronous one or an object. A failure of an extractor is an
`ExtractionError`. A fact that cannot be used is left out and reported; it does not fail the facts
beside it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

from hindsight_integrations import validation
from hindsight_integrations.errors import ExtractionError, HindsightError, InvalidInputError
from hindsight_integrations.models import Entity, TurnKind
from hindsight_integrations.nlp.embeddings import checked
from hindsight_integrations.nlp.llm import StructuredModel
from hindsight_integrations.nlp.spacy_pipeline import Pipeline
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.results import Skipped, SkipReason
from hindsight_integrations.retain.extraction import (
    Extractor,
    Fact,
    Mention,
    Passage,
    SentenceExtractor,
)
from hindsight_integrations.retain.llm_extraction import LLMExtractor
from hindsight_integrations.settings import Settings

T = TypeVar("T")

COMPUTE_SLOTS = 8
"""Passages that an asynchronous function extracts concurrently."""

_FACT_FIELDS = frozenset(field.name for field in fields(Fact))


def extractor_for(
    extractor: object | None,
    model: StructuredModel | None,
    settings: Settings,
    tokenizer: Tokenizer,
) -> Extractor:
    """Return the extractor given, else one that asks the model, else the bundled one.

    Raises:
        InvalidInputError: the extractor given cannot be used.
    """
    if extractor is not None:
        return as_extractor(extractor)
    if model is not None:
        return LLMExtractor(
            model,
            fact_tokens=settings.fact_tokens,
            hemisphere=settings.hemisphere,
            tokenizer=tokenizer,
        )
    return SentenceExtractor(
        count=tokenizer.count,
        fact_tokens=settings.fact_tokens,
        pipeline=bundled_pipeline(),
        hemisphere=settings.hemisphere,
    )


@cache
def bundled_pipeline() -> Pipeline:
    """Return the spaCy pipeline that all extractors of this process share."""
    return Pipeline()


def as_extractor(extractor: object) -> Extractor:
    """Return any extractor as an `Extractor`.

    Takes an object with an `extract(passages, known)` method, and an `id` or none; or a function
    of a `Passage` to its facts. Method and function may be asynchronous.

    Raises:
        InvalidInputError: it is neither.
    """
    if isinstance(extractor, type):
        raise InvalidInputError(
            f"extractor is the class {extractor.__name__}; give an instance of it"
        )
    extract = getattr(extractor, "extract", None)
    if callable(extract):
        if isinstance(getattr(extractor, "id", None), str):
            return cast(Extractor, extractor)
        return _Adapted(_name_of(extractor), extract)
    if callable(extractor):
        return _Adapted(_name_of(extractor), _each(extractor))
    raise InvalidInputError(
        f"extractor is {extractor!r:.80}; give a function of a Passage to a "
        "list of facts, an object with an `extract(passages, known)` method, or a chat "
        "model as llm="
    )


@dataclass(frozen=True, slots=True)
class _Adapted:
    """A caller's extractor: its name, and a method or function, whose answer may be awaitable."""

    id: str
    call: Callable[[Sequence[Passage], Mapping[str, Entity]], Any]

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        facts: list[list[Fact]] = self.call(passages, known)
        return facts


def _name_of(extractor: object) -> str:
    """Return a name that is the same in each process: documents are extracted again if not."""
    named = extractor if hasattr(extractor, "__qualname__") else type(extractor)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


def _each(function: Callable[[Passage], Any]) -> Callable[..., Any]:
    """Return the function of one passage as one of several."""

    def extract(passages: Sequence[Passage], known: Mapping[str, Entity]) -> Any:
        made = [_named(number, function, passage) for number, passage in enumerate(passages, 1)]
        return _together(made) if any(map(inspect.isawaitable, made)) else made

    return extract


def _named(number: int, function: Callable[[Passage], Any], passage: Passage) -> Any:
    try:
        return function(passage)
    except HindsightError:
        raise
    except Exception as error:
        raise _raised(f"on passage {number}", error) from error


async def _together(made: Sequence[Any]) -> list[Any]:
    """Wait for the facts of all passages, a few at a time."""
    limit = asyncio.Semaphore(COMPUTE_SLOTS)

    async def one(number: int, facts: Any) -> Any:
        async with limit:
            try:
                return await facts if inspect.isawaitable(facts) else facts
            except HindsightError:
                raise
            except Exception as error:
                raise _raised(f"on passage {number}", error) from error

    return list(await asyncio.gather(*(one(n, facts) for n, facts in enumerate(made, 1))))


def _awaited(awaitable: Awaitable[T]) -> T:
    """Return what an awaitable gives; in a thread of its own beside a running event loop."""

    async def wait() -> T:
        return await awaitable

    work: Coroutine[Any, Any, T] = wait()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="hindsight-extract") as pool:
        return pool.submit(asyncio.run, work).result()


# Facts


class ExtractedFacts(NamedTuple):
    """The usable facts of a passage, and those that are not, with the reasons."""

    facts: tuple[Fact, ...]
    rejected: tuple[Skipped, ...] = ()


def extract_all(
    extractor: Extractor,
    passages: Sequence[Passage],
    known: Mapping[str, Entity],
    *,
    dimension: int,
    max_chars: int,
) -> list[ExtractedFacts]:
    """Return the facts of each passage, each fact checked.

    A fact has a text of at most `max_chars`, and may carry a vector of this dimension.

    Raises:
        ExtractionError: the extractor raised, or its answer has no list of facts for a passage.
    """
    try:
        answer: object = extractor.extract(passages, known)
        if inspect.isawaitable(answer):
            answer = _awaited(answer)
    except HindsightError:
        raise
    except Exception as error:
        raise _raised(f"{extractor.id!r}", error) from error
    if not isinstance(answer, Sequence) or len(answer) != len(passages):
        held = f"{len(answer)} results for " if isinstance(answer, Sequence) else "no list for "
        raise ExtractionError(
            f"extractor {extractor.id!r} returned {held}{len(passages)} passages; return a "
            "list of facts for each, empty if there are none"
        )
    return [_checked_row(extractor.id, row, dimension, max_chars) for row in answer]


def _raised(where: str, error: Exception) -> ExtractionError:
    return ExtractionError(
        f"extractor {where} raised {type(error).__name__}: {error}; nothing was stored"
    )


def _checked_row(name: str, row: object, dimension: int, max_chars: int) -> ExtractedFacts:
    if isinstance(row, str | Mapping | Fact) or not isinstance(row, Iterable):
        raise ExtractionError(
            f"extractor {name!r} returned {validation.shown(row)} for a passage; return a "
            "list of facts, empty if there are none"
        )
    facts: list[Fact] = []
    rejected: list[Skipped] = []
    positions: dict[int, int] = {}
    for position, given in enumerate(row):
        try:
            fact = _checked(given, dimension, max_chars)
        except HindsightError as error:
            text = getattr(given, "text", given)
            shown = text[:80] if isinstance(text, str) else validation.shown(given)
            rejected.append(Skipped(shown, SkipReason.INVALID, detail=str(error)))
        else:
            positions[position] = len(facts)
            facts.append(fact)
    linked = (
        replace(fact, causes=tuple(positions[c] for c in fact.causes if c in positions))
        for fact in facts
    )
    return ExtractedFacts(tuple(linked), tuple(rejected))


def _checked(given: object, dimension: int, max_chars: int) -> Fact:
    """Return a fact with all its fields checked.

    Raises:
        InvalidInputError, EmbeddingError: it cannot be used; the message says why.
    """
    fact = _as_fact(given)
    vector = fact.vector
    if vector is not None:
        vector = checked([vector], 1, dimension, "the extractor")[0]
    return replace(
        fact,
        text=validation.content(fact.text, max_chars),
        type=validation.memory_type(fact.type),
        occurred=validation.spans("occurred", fact.occurred),
        mentions=tuple(map(_mention, _several("mentions", fact.mentions))),
        confidence=validation.confidence(fact.confidence),
        causes=tuple(
            validation.not_negative("a cause", c) for c in _several("causes", fact.causes)
        ),
        kind=None if fact.kind is None else validation.choice("kind", fact.kind, TurnKind),
        id=validation.label_or_none("id", fact.id),
        vector=vector,
        metadata=validation.metadata(fact.metadata),
    )


def _as_fact(given: object) -> Fact:
    if isinstance(given, Fact):
        return given
    if isinstance(given, str):
        return Fact(given)
    if isinstance(given, Mapping):
        if unknown := sorted(map(str, set(given) - _FACT_FIELDS)):
            raise InvalidInputError(
                f"unknown fields {unknown} in a fact; the fields are {sorted(_FACT_FIELDS)}"
            )
        if "text" not in given:
            raise InvalidInputError("a fact has no 'text'; give the statement")
        return Fact(**given)
    raise InvalidInputError(
        f"a fact is {validation.shown(given)}; give a Fact, a mapping with its fields, or text"
    )


def _several(what: str, values: object) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{what} is {validation.shown(values)}; give a list")
    return values


def _mention(value: object) -> Mention:
    mention = Mention(value) if isinstance(value, str) else value
    if not isinstance(mention, Mention):
        raise InvalidInputError(f"a mention is {validation.shown(value)}; give a Mention or a name")
    other = mention.addressed_as
    return replace(
        mention,
        name=validation.label("a mention", mention.name),
        kind=validation.label("its kind", mention.kind),
        addressed_as=validation.label_or_none("addressed_as", other),
    )
