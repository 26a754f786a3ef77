"""Extract facts with a language model, and check each against its passage.

A part of a reply that cannot be used is left out, but a reply without any usable fact is an
error, unless it says that there is nothing to retain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime, timedelta, tzinfo
from threading import Lock
from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from hindsight_integrations.errors import ExtractionError, InvalidInputError, ModelError
from hindsight_integrations.models import Entity, MemoryType, ModelUsage, Precision, TimeSpan
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.nlp.time import find_times
from hindsight_integrations.nlp.tokens import as_tokenizer
from hindsight_integrations.normalization import entity_norm, text_fingerprint
from hindsight_integrations.prompts import EXTRACT_FACTS, Rendered, as_data
from hindsight_integrations.retain.extraction import Fact, Mention, Passage
from hindsight_integrations.settings import Hemisphere

_WORKERS = 4
"""Passages that are extracted concurrently."""
_GRAM = 8
"""Characters of the n-grams whose repetition shows that a model is in a loop."""
_FEWEST_GRAMS = 24
_LONGEST_NAME = 80
_MOST_KNOWN = 50
_MOST_TIMES = 8

_ISO_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ].*)?)?)?", re.ASCII)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff]"
)
"""Scripts without spaces between words or with particles attached, from Thai to Korean."""


class _Draft(BaseModel):
    """A part of a reply in which an invalid field takes its default.

    Defaults come from factories, which do not appear in the JSON schema: the strict modes of some
    providers refuse them there.
    """

    @model_validator(mode="before")
    @classmethod
    def _wrap_bare_value(cls, value: object) -> object:
        """Take a bare value as the first field: models write "Alice" for {"name": "Alice"}."""
        if isinstance(value, Mapping | BaseModel):
            return value
        return {next(iter(cls.model_fields)): value}

    @field_validator("*", mode="wrap")
    @classmethod
    def _read_or_default(
        cls, value: object, read: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        try:
            return read(value)
        except ValidationError:
            return cls.model_fields[str(info.field_name)].get_default(call_default_factory=True)


class EntityDraft(_Draft):
    """A person, place, organisation or thing."""

    model_config = ConfigDict(json_schema_extra={"required": ["name", "kind"]})

    name: str = Field(default_factory=str)
    kind: Literal[
        "person", "organization", "place", "event", "product", "work", "group", "concept"
    ] = Field(default_factory=lambda: "concept")


class FactDraft(_Draft):
    """One fact worth remembering."""

    model_config = ConfigDict(json_schema_extra={"required": ["text", "type"]})

    text: str = Field(default_factory=str)
    type: Literal["world", "experience", "opinion"] = Field(default_factory=lambda: "world")
    occurred: list[str] = Field(default_factory=list)
    entities: list[EntityDraft] = Field(default_factory=list)
    causes: list[int] = Field(default_factory=list)
    confidence: float | None = None


class FactsReply(BaseModel):
    """The facts drawn from a passage."""

    facts: list[FactDraft]
    nothing_to_retain: bool = Field(default_factory=bool)

    @model_validator(mode="after")
    def _say_something(self) -> Self:
        if not self.facts and not self.nothing_to_retain:
            raise ValueError(
                "there are no facts; if nothing is worth remembering, set nothing_to_retain"
            )
        if self.facts and not any(_is_statement(fact.text) for fact in self.facts):
            raise ValueError("each fact is blank, or repeats the same words")
        return self


class LLMExtractor:
    """An extractor that asks a language model; see `Extractor`.

    Args:
        model: anything that `as_model` takes.
        fact_tokens: longest fact, in tokens; a longer one is cut.
        max_facts: most facts of a passage; further ones are left out.
        names: speaker names of the bank's own agent, whose facts are experiences.
        hemisphere: whose seasons "last spring" means, in a fact that the model gave no date.
        tokenizer: counts the tokens; anything that `as_tokenizer` takes.

    Raises:
        InvalidInputError: the model cannot be asked, the tokenizer cannot count, or a number is
            not positive.
    """

    def __init__(
        self,
        model: object,
        *,
        fact_tokens: int = 512,
        max_facts: int = 12,
        names: Sequence[str] = ("assistant",),
        hemisphere: Hemisphere = "north",
        tokenizer: object = None,
    ) -> None:
        if fact_tokens < 1 or max_facts < 1:
            raise InvalidInputError(
                f"fact_tokens is {fact_tokens} and max_facts is {max_facts}; give at least 1 "
                "for both"
            )
        self._model = as_model(model)
        self._tokenizer = as_tokenizer(tokenizer)
        self._fact_tokens = fact_tokens
        self._max_facts = max_facts
        self._names = tuple(names)
        self._hemisphere: Hemisphere = hemisphere
        self._usage = ModelUsage()
        self._usage_lock = Lock()

    @property
    def id(self) -> str:
        """Id of the model, and the prompt's version."""
        return f"llm:{self._model.id}:{EXTRACT_FACTS.version}"

    @property
    def usage(self) -> ModelUsage:
        """Usage of all requests so far that were answered."""
        return self._usage

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        """Return the facts of each passage, in order; a few are extracted concurrently.

        Raises:
            ExtractionError: the model failed on a passage, twice if its reply was unusable.
        """
        numbered = list(enumerate(passages, start=1))

        def read(item: tuple[int, Passage]) -> list[Fact]:
            number, passage = item
            try:
                return self._read(passage, known)
            except ModelError as error:
                raise ExtractionError(f"passage {number} of {len(numbered)}: {error}") from error

        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="hindsight-extract") as pool:
            # each in a copy of the caller's context, in which frameworks keep their callbacks
            contexts = [copy_context() for _ in numbered]
            return list(pool.map(lambda context, item: context.run(read, item), contexts, numbered))

    def _read(self, passage: Passage, known: Mapping[str, Entity]) -> list[Fact]:
        source = _Source(passage, known)
        prompt = self._prompt(passage, source.known_names())
        answer = self._model.ask(prompt.system, prompt.user, FactsReply)
        with self._usage_lock:
            self._usage += answer.usage
        return self._checked(answer.value.facts, source)

    def _prompt(self, passage: Passage, known_names: Sequence[str]) -> Rendered:
        said = passage.mentioned_at
        setting = {
            "Said on": f"{said:%A} {said.isoformat(' ', 'minutes')}",
            "Said by": passage.speaker,
            "Said to": ", ".join(passage.addressees),
            "Taken from": passage.title,
            "Names known": ", ".join(known_names),
        }
        before = f"{passage.preceding_speaker or 'Somebody'}: {passage.preceding}"
        return EXTRACT_FACTS.render(
            most=self._max_facts,
            agent=", ".join(self._names),
            setting=as_data("setting", "\n".join(f"{k}: {v}" for k, v in setting.items() if v)),
            before=as_data("before", before if passage.preceding else ""),
            passage=as_data("passage", passage.text),
        )

    def _checked(self, drafts: Sequence[FactDraft], source: _Source) -> list[Fact]:
        """Return the usable facts, each once, with the positions of their causes updated."""
        unique: dict[str, FactDraft] = {}
        new_positions: dict[int, int] = {}
        for position, draft in enumerate(drafts):
            fingerprint = text_fingerprint(_tidy(draft.text))
            if not _is_statement(draft.text):
                continue
            if len(unique) < self._max_facts:
                unique.setdefault(fingerprint, draft)
            if fingerprint in unique:
                new_positions[position] = list(unique).index(fingerprint)
        return [
            self._fact(
                draft,
                source,
                {new_positions[c] for c in draft.causes if c in new_positions} - {index},
            )
            for index, draft in enumerate(unique.values())
        ]

    def _fact(self, draft: FactDraft, source: _Source, causes: set[int]) -> Fact:
        text = self._tokenizer.truncate(_tidy(draft.text), self._fact_tokens)
        confident = draft.confidence is not None and 0.0 <= draft.confidence <= 1.0
        return Fact(
            text=text,
            type=source.passage.type or MemoryType(draft.type),
            occurred=self._times(text, draft.occurred, source.passage.mentioned_at),
            mentions=source.mentions(draft.entities),
            confidence=draft.confidence if confident else None,
            causes=tuple(sorted(causes)),
        )

    def _times(self, text: str, dates: Sequence[str], said: datetime) -> tuple[TimeSpan, ...]:
        """Return the dates as times; if none is valid, the times that the text names."""
        spans = {span for date in dates if (span := _iso_span(date, said.tzinfo))}
        if not spans:
            times = find_times(text, said, hemisphere=self._hemisphere)
            spans = {time.span for time in times}
        return tuple(sorted(spans))[:_MOST_TIMES]


class _Source:
    """A passage with the names that its facts may mention."""

    def __init__(self, passage: Passage, known: Mapping[str, Entity]) -> None:
        self.passage = passage
        self._known = known
        texts = (
            passage.text,
            passage.preceding,
            passage.title,
            passage.speaker,
            passage.preceding_speaker,
            *passage.addressees,
        )
        self._words = f" {entity_norm(' '.join(filter(None, texts)))} "

    def known_names(self) -> list[str]:
        """Return canonical names of the known entities that occur here."""
        here = {entity.name for norm, entity in self._known.items() if self._occurs(norm)}
        return sorted(here)[:_MOST_KNOWN]

    def mentions(self, drafts: Iterable[EntityDraft]) -> tuple[Mention, ...]:
        """Return the names that occur here or are known, each once; others are made up."""
        mentions: dict[str, Mention] = {}
        for draft in drafts:
            name = _tidy(draft.name)
            norm = entity_norm(name)
            if 0 < len(name) <= _LONGEST_NAME and (norm in self._known or self._occurs(norm)):
                mentions.setdefault(norm, Mention(name, draft.kind))
        return tuple(mentions.values())

    def _occurs(self, norm: str) -> bool:
        return (norm if _UNSPACED.search(norm) else f" {norm} ") in self._words


def _tidy(text: str) -> str:
    """Remove control characters and lone surrogates, and collapse white space."""
    plain = (" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    return " ".join("".join(plain).split())


def _is_statement(text: str) -> bool:
    """Return True if it has a word, and at least half of its 8-grams are distinct."""
    folded = _tidy(text).casefold()
    grams = [folded[i : i + _GRAM] for i in range(len(folded) - _GRAM + 1)]
    repeats = len(grams) >= _FEWEST_GRAMS and 2 * len(set(grams)) < len(grams)
    return any(c.isalnum() for c in folded) and not repeats


def _iso_span(text: str, zone: tzinfo | None) -> TimeSpan | None:
    """Return the year, month or day that "2023", "2023-05" or "2023-05-07" names."""
    date = _ISO_DATE.fullmatch(text.strip())
    if not date:
        return None
    year, month, day = (int(part) if part else None for part in date.groups())
    try:
        start = datetime(year or 0, month or 1, day or 1, tzinfo=zone)
        if day:
            return TimeSpan(start, start + timedelta(days=1), Precision.DAY)
        if month:
            following = (start + timedelta(days=31)).replace(day=1)
            return TimeSpan(start, following, Precision.MONTH)
        return TimeSpan(start, start.replace(year=start.year + 1), Precision.YEAR)
    except (ValueError, OverflowError):  # no such day, or past the calendar's end
        return None
