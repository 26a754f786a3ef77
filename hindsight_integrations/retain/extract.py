"""Facts without a language model: the user's own words, with the names and times in them.

A turn or chunk that fits the embedder's window stays one fact: torn apart, its sentences lose
their subjects. A longer one is parted between sentences into facts of about equal size.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.language.pipeline import Pipeline
from hindsight_integrations.language.time import find_times
from hindsight_integrations.model import Entity, MemoryType, TimeSpan
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.retain import lexicon
from hindsight_integrations.retain.causes import causes
from hindsight_integrations.retain.chunk import pieces
from hindsight_integrations.retain.enrich import answered_question
from hindsight_integrations.retain.names import find_names
from hindsight_integrations.retain.ports import Fact, Mention, Passage
from hindsight_integrations.retain.spans import NameSpan
from hindsight_integrations.settings import Hemisphere

_VERSION = 1
"""Raised whenever the same text would give other facts."""
_MOST_TIMES = 8
_LONGEST_TITLE = 120
_WORD = re.compile(r"[\w'’]+")


class SentenceExtractor:
    """An extractor that needs no language model; see `Extractor`.

    Args:
        count: tokens of a text.
        fact_tokens: longest fact, in those tokens.
        pipeline: what marks the names; by default the best spaCy model installed.
        hemisphere: where "last spring" was.
        names: what the bank's own agent is called as a speaker; what it did is an experience.

    Raises:
        InvalidInputError: `fact_tokens` is not positive.
    """

    def __init__(
        self,
        *,
        count: Callable[[str], int],
        fact_tokens: int = 512,
        pipeline: Pipeline | None = None,
        hemisphere: Hemisphere = "north",
        names: Sequence[str] = ("assistant",),
    ) -> None:
        if fact_tokens < 1:
            raise InvalidInputError(f"fact_tokens is {fact_tokens}; give 1 or more")
        self._count = count
        self._fact_tokens = fact_tokens
        self._pipeline = Pipeline() if pipeline is None else pipeline
        self._hemisphere: Hemisphere = hemisphere
        self._agent = frozenset(name.casefold() for name in names)

    @property
    def id(self) -> str:
        """This extractor's version, its fact size and its model's name and version."""
        return f"sentences-{_VERSION}:{self._fact_tokens}:{self._pipeline.id}"

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        """Facts of each passage, in order; none of one without a visible character.

        Raises:
            ModelFilesError: the pipeline's model cannot be loaded.
        """
        known = {**_participants(passages), **known}
        texts = {text: None for passage in passages for text in _texts(passage)}
        names = {
            annotation.text: find_names(annotation, known)
            for annotation in self._pipeline.annotate(list(texts))
        }
        return [self._facts(passage, names) for passage in passages]

    def _facts(self, passage: Passage, names: Mapping[str, Sequence[NameSpan]]) -> list[Fact]:
        spans = self._parts(passage.text)
        texts = [passage.text[start:end] for start, end in spans]
        implied = [span for text in _texts(passage)[1:] for span in names[text]]
        return [
            Fact(
                text=text,
                type=passage.type or self._type(passage),
                occurred=self._times(text, passage.mentioned_at),
                mentions=tuple(
                    _mentions(
                        passage,
                        text,
                        [n for n in names[passage.text] if start <= n.start < end],
                        implied,
                    )
                ),
                causes=led_to,
            )
            for (start, end), text, led_to in zip(spans, texts, causes(texts), strict=True)
        ]

    def _type(self, passage: Passage) -> MemoryType:
        own = passage.speaker is not None and passage.speaker.casefold() in self._agent
        return MemoryType.EXPERIENCE if own else MemoryType.WORLD

    def _times(self, text: str, said: datetime) -> tuple[TimeSpan, ...]:
        found = find_times(text, said, hemisphere=self._hemisphere)
        return tuple(sorted({time.span for time in found[:_MOST_TIMES]}))

    def _parts(self, text: str) -> list[tuple[int, int]]:
        """Where the facts of a text begin and end, white space around them left out."""
        if self._count(text) <= self._fact_tokens:
            return list(_trimmed(text, [len(text)]))
        sentences = pieces(text, self._fact_tokens, self._count)
        groups = _balanced([sentence.tokens for sentence in sentences], self._fact_tokens)
        lengths = [len(sentence.text) for sentence in sentences]
        return list(_trimmed(text, accumulate(sum(lengths[i] for i in group) for group in groups)))


def _balanced(sizes: Sequence[int], limit: int) -> list[list[int]]:
    """Successive positions in as few groups as keep within the limit, of about equal size.

    With `n` groups a position belongs to the n-th part of the total in which its middle lies.
    """
    total = sum(sizes)
    middles = [end - size / 2 for size, end in zip(sizes, accumulate(sizes), strict=True)]
    for parts in range(math.ceil(total / limit), total):
        by_part: defaultdict[int, list[int]] = defaultdict(list)
        for position, middle in enumerate(middles):
            by_part[int(middle * parts / total)].append(position)
        groups = list(by_part.values())
        if all(len(group) == 1 or sum(sizes[i] for i in group) <= limit for group in groups):
            return groups
    return [[position] for position in range(len(sizes))]


def _trimmed(text: str, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for end in ends:
        part = text[start:end]
        if not checks.is_blank(part):
            first = start + len(part) - len(part.lstrip())
            yield first, start + len(part.rstrip())
        start = end


def _texts(passage: Passage) -> list[str]:
    """What names are looked for in: the passage, its title, and the question it answers."""
    title = passage.title if passage.title and len(passage.title) <= _LONGEST_TITLE else None
    question = answered_question(passage.text, passage.preceding)
    return [passage.text, *(text for text in (title, question) if text)]


def _participants(passages: Sequence[Passage]) -> dict[str, Entity]:
    """Speakers and addressees, as if the bank knew them already."""
    names = {
        name
        for passage in passages
        for name in (passage.speaker, *passage.addressees)
        if name and _is_person(name)
    }
    return {
        norm: Entity(id=f"participant:{norm}", bank_id="", name=name, kind="person")
        for name in sorted(names)
        if (norm := entity_norm(name))
    }


def _is_person(speaker: str) -> bool:
    return speaker.casefold() not in lexicon.SPEECH_ROLES


def _mentions(
    passage: Passage, text: str, named: Sequence[NameSpan], implied: Sequence[NameSpan]
) -> Iterator[Mention]:
    """Who speaks, whom "you" means, and what is named; each once, as first spelled."""
    people = [passage.speaker] if passage.speaker else []
    if len(passage.addressees) == 1 and _says_you(text):
        people.extend(passage.addressees)
    mentions: dict[str, Mention] = {}
    for mention in (
        *(Mention(name, "person") for name in people if _is_person(name)),
        *(Mention(span.name, span.kind) for span in (*named, *implied)),
    ):
        norm = entity_norm(mention.name)
        if not norm:
            continue
        earlier = mentions.setdefault(norm, mention)
        if earlier.kind == "concept":
            mentions[norm] = replace(earlier, kind=mention.kind)
    yield from mentions.values()


def _says_you(text: str) -> bool:
    return any(word.casefold() in lexicon.SECOND_PERSON for word in _WORD.findall(text))
