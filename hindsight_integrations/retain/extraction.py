"""The extractor port, and the default extractor, which needs no language model.

A turn or chunk that fits the embedder's window stays one fact: apart, its sentences would lose
their subjects. A longer one is split between sentences into facts of about equal size.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, islice
from typing import Protocol

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Bank, Entity, MemoryType, TimeSpan, TurnKind
from hindsight_integrations.nlp.chatter import turn_kind
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name, same_given_name, sounds_same
from hindsight_integrations.nlp.spacy_pipeline import Annotation, Pipeline, Token
from hindsight_integrations.nlp.time import (
    TimeExpression,
    find_times,
    without_days_of_another_month,
)
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.causes import Utterance, causes
from hindsight_integrations.retain.chunking import pieces
from hindsight_integrations.retain.enrichment import preceding_question
from hindsight_integrations.retain.file_dates import is_dateline
from hindsight_integrations.retain.identifiers import NameSpan
from hindsight_integrations.retain.mail import kind_of_part
from hindsight_integrations.retain.mentions import find_all_names, is_prose
from hindsight_integrations.retain.namesakes import introduces_another
from hindsight_integrations.retain.speakers import has_agent_role
from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.stores.base import Vector


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of text with its context.

    Attributes:
        text: the chunk.
        mentioned_at: when it was said; relative times are resolved against it.
        speaker: speaker in a conversation; "I" is this person.
        addressees: the other participants; "you" is this person if there is just one.
        preceding: the turn before it in the conversation, which a short reply may answer; only
            its last chunk if it was retained earlier.
        preceding_speaker: speaker of that turn, if known.
        title: subject of the whole text: the caller's `context`.
        type: type the caller asked for, if any; an extractor keeps it.
        bank: the bank it is retained in, with its name, mission and background.
        document_id: id of the text or conversation it is part of.
    """

    text: str
    mentioned_at: datetime
    speaker: str | None = None
    addressees: tuple[str, ...] = ()
    preceding: str | None = None
    preceding_speaker: str | None = None
    title: str | None = None
    type: MemoryType | None = None
    bank: Bank | None = None
    document_id: str | None = None

    @property
    def context(self) -> str | None:
        """The `context` that the caller gave; the same as `title`."""
        return self.title


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it is spelled in a text.

    Attributes:
        name: the name.
        kind: "person", "organization", "place", "event", "product", "work", "group" or "concept".
        addressed_as: name, as the conversation lists it, of the participant whom the text
            addresses, or who is introduced as the speaker, by this other spelling.
        is_another: True if the text says that the name is somebody else's than the one known by
            it: "another Sam". If the bank knows a person of this name, the mention is nobody's.
    """

    name: str
    kind: str = "concept"
    addressed_as: str | None = None
    is_another: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A self-contained statement extracted from a passage.

    Attributes:
        text: the statement.
        occurred: times it happened.
        mentions: names in it, as it spells them.
        confidence: 0 to 1.
        causes: positions, among the facts of the passage, of those that led to this one.
        kind: that of a turn which states nothing; None for a statement.
        id: id of the memory to store; a fact whose id the bank has replaces that memory. One is
            made if None.
        vector: embedding to store, of the same embedder; computed from the text if None.
        metadata: added to the metadata of the text it is from.
    """

    text: str
    type: MemoryType = MemoryType.WORLD
    occurred: tuple[TimeSpan, ...] = ()
    mentions: tuple[Mention, ...] = ()
    confidence: float | None = None
    causes: tuple[int, ...] = ()
    kind: TurnKind | None = None
    id: str | None = None
    vector: Vector | Sequence[float] | None = field(default=None, hash=False)
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)


class Extractor(Protocol):
    """Extracts facts from passages; any object with these two members will do.

    `extract` may be a coroutine function, and a fact a mapping with the fields of `Fact`, or a
    text. A function of a `Passage` to a list of facts is an extractor too.
    """

    @property
    def id(self) -> str:
        """Name and version; documents are extracted again when it changes."""
        ...

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        """Return the facts of each passage, in order.

        Args:
            passages: successive chunks of one document or conversation, or of several.
            known: entities of the bank whose normalised names or aliases occur in the
                passages, by that normalised name.

        Raises:
            ExtractionError: it failed; a failure is never reported as no facts.
        """
        ...


_VERSION = 13
"""Part of the id; increased when the same text would give other facts."""
_MOST_TIMES = 8
_LONGEST_TITLE = 120
_WORD = re.compile(r"[\w'’]+")


class SentenceExtractor:
    """An extractor that needs no language model; see `Extractor`.

    Args:
        count: counts the tokens of a text.
        fact_tokens: longest fact, in those tokens.
        pipeline: spaCy pipeline that marks names; by default the best model installed.
        hemisphere: whose seasons "last spring" and the like mean.
        names: speaker names of the agent beside its roles and its name in the bank; its facts are
            experiences.

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
        names: Sequence[str] = (),
    ) -> None:
        if fact_tokens < 1:
            raise InvalidInputError(f"fact_tokens is {fact_tokens}; give at least 1")
        self._count = count
        self._fact_tokens = fact_tokens
        self._pipeline = Pipeline() if pipeline is None else pipeline
        self._hemisphere: Hemisphere = hemisphere
        self._agent = frozenset(name.casefold() for name in names)

    @property
    def id(self) -> str:
        """Version of this extractor, its fact size, and the name and version of its model."""
        return f"sentences-{_VERSION}:{self._fact_tokens}:{self._pipeline.id}"

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        """Return the facts of each passage, in order; none if it has no visible character.

        Raises:
            ModelFilesError: the pipeline's model cannot be loaded.
        """
        known = {**_participants(passages), **known}
        texts = {text: None for passage in passages for text in _texts(passage)}
        annotations = {one.text: one for one in self._pipeline.annotate(list(texts))}
        titles = {p.title for p in passages if p.title and is_prose(annotations[p.text])}
        found = find_all_names(list(annotations.values()), known, titles)
        names = dict(zip(annotations, found, strict=True))
        return [self._facts(one, names, annotations[one.text]) for one in passages]

    def _facts(
        self, passage: Passage, names: Mapping[str, Sequence[NameSpan]], annotation: Annotation
    ) -> list[Fact]:
        spans = self._parts(passage.text)
        texts = [passage.text[start:end] for start, end in spans]
        times = self._times(passage, annotation.tokens)
        led_to_by = causes([Utterance(text, passage.speaker) for text in texts])
        kind = _kind(passage, annotation) if passage.type is None else None
        implied = [span for text in _texts(passage)[1:] for span in names[text]]
        return [
            Fact(
                text=text,
                type=passage.type or self._type(passage),
                occurred=_spans(time for time in times if start <= time.start_char < end),
                mentions=tuple(
                    _mentions(
                        passage,
                        text,
                        [n for n in names[passage.text] if start <= n.start < end],
                        implied,
                    )
                ),
                causes=led_to,
                kind=kind if len(spans) == 1 else None,
            )
            for (start, end), text, led_to in zip(spans, texts, led_to_by, strict=True)
        ]

    def _type(self, passage: Passage) -> MemoryType:
        speaker = passage.speaker
        own = speaker is not None and (has_agent_role(speaker) or speaker.casefold() in self._agent)
        return MemoryType.EXPERIENCE if own else MemoryType.WORLD

    def _times(self, passage: Passage, words: Sequence[Token]) -> tuple[TimeExpression, ...]:
        """Return the times of the whole passage: a heading in it tells plans from reports."""
        said = passage.mentioned_at
        question = preceding_question(passage.text, passage.preceding)
        times = find_times(
            passage.text,
            said,
            hemisphere=self._hemisphere,
            words=words,
            setting=[text for text in (passage.title, question) if text],
        )
        if passage.preceding:
            times = without_days_of_another_month(times, passage.preceding, said)
        # The date above a note says when it was written, which `mentioned_at` holds.
        return tuple(
            time
            for time in times
            if not (time.span.contains(said) and is_dateline(passage.text, time.start_char))
        )

    def _parts(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of each fact of a text, without white space around it."""
        if self._count(text) <= self._fact_tokens:
            return list(_trimmed(text, [len(text)]))
        sentences = pieces(text, self._fact_tokens, self._count)
        groups = _balanced([sentence.tokens for sentence in sentences], self._fact_tokens)
        lengths = [len(sentence.text) for sentence in sentences]
        return list(_trimmed(text, accumulate(sum(lengths[i] for i in group) for group in groups)))


def _spans(times: Iterable[TimeExpression]) -> tuple[TimeSpan, ...]:
    """Return the first few spans, sorted."""
    return tuple(sorted({time.span for time in islice(times, _MOST_TIMES)}))


def _balanced(sizes: Sequence[int], limit: int) -> list[list[int]]:
    """Group successive sizes into as few groups within the limit as possible, about equal.

    With `n` groups, a position belongs to that n-th of the total in which its middle lies.

    Returns:
        Positions of each group.
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
    """Yield start and end of each part that is not blank, without white space around it."""
    start = 0
    for end in ends:
        part = text[start:end]
        if not validation.is_blank(part):
            first = start + len(part) - len(part.lstrip())
            yield first, start + len(part.rstrip())
        start = end


def _texts(passage: Passage) -> list[str]:
    """Return the texts that are searched for names: passage, title, and question answered."""
    title = passage.title if passage.title and len(passage.title) <= _LONGEST_TITLE else None
    question = preceding_question(passage.text, passage.preceding)
    return [passage.text, *(text for text in (title, question) if text)]


def _participants(passages: Sequence[Passage]) -> dict[str, Entity]:
    """Return speakers and addressees as known entities, by normal form."""
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


def _kind(passage: Passage, annotation: Annotation) -> TurnKind | None:
    """Return the kind of a turn that is no statement of its speaker's own."""
    part = kind_of_part(passage.text) if passage.speaker else None
    return part or turn_kind(annotation, passage.preceding)


def _is_person(speaker: str) -> bool:
    return speaker.casefold() not in word_sets("names")["speech_roles"]


def _mentions(
    passage: Passage, text: str, named: Sequence[NameSpan], implied: Sequence[NameSpan]
) -> Iterator[Mention]:
    """Yield the speaker, the person "you" means, and the names; each once, as first spelled."""
    people = [passage.speaker] if passage.speaker else []
    if len(passage.addressees) == 1 and _says_you(text) and not _greets_another(passage, text):
        people.extend(passage.addressees)
    spelled = _spelled_otherwise(passage, text)
    said = [
        Mention(
            n.name,
            n.kind,
            spelled.pop(n.name, None),
            is_another=introduces_another(passage.text, n.start, n.end),
        )
        for n in named
    ]
    said += [Mention(name, "person", participant) for name, participant in spelled.items()]
    people.extend(mention.addressed_as for mention in said if mention.addressed_as)
    mentions: dict[str, Mention] = {}
    for mention in (
        *(Mention(name, "person") for name in people if _is_person(name)),
        *said,
        *(Mention(span.name, span.kind) for span in implied),
    ):
        norm = entity_norm(mention.name)
        if not norm:
            continue
        earlier = mentions.setdefault(norm, mention)
        if earlier.kind == "concept":
            mentions[norm] = replace(earlier, kind=mention.kind)
    yield from mentions.values()


_GREETS = r"(?:hey|hi|hello|dear|thanks|thank you|morning|good morning|sorry|welcome(?: back)?|bye)"
_INTRODUCES = r"(?:I['’]m|I am|my name is|this is|call me)"
_ADDRESSES = re.compile(
    rf"(?:\A\W*|\b{_GREETS},? )([^\W\d_][\w’'-]*)\W*(?:[,!?]|\Z)"
    r"|, ([^\W\d_][\w’'-]*)[.!?]*\s*\Z",
    re.IGNORECASE,
)
_GREETED = re.compile(rf"\b(?i:{_GREETS}),? ([A-ZÀ-Ý][^\W\d_]+)")
_NAMES_SPEAKER = re.compile(rf"\b{_INTRODUCES} ([^\W\d_][\w’'-]*)", re.IGNORECASE)


def _spelled_otherwise(passage: Passage, text: str) -> dict[str, str]:
    """Return the participants whose names the text spells otherwise, by that spelling.

    Only the one hearer is addressed, and only the speaker says "I'm Fahim": a Jon may know a John.
    """
    hearer = passage.addressees[0] if len(passage.addressees) == 1 else None
    spelled: dict[str, str] = {}
    for participant, pattern in ((hearer, _ADDRESSES), (passage.speaker, _NAMES_SPEAKER)):
        if not participant or not _is_person(participant):
            continue
        first = participant.casefold().split()[0]
        for match in pattern.finditer(text):
            name = next(group for group in match.groups() if group)
            if name[0].isupper() and sounds_same(name.casefold(), first):
                spelled.setdefault(name, participant)
    return spelled


def _greets_another(passage: Passage, text: str) -> bool:
    """Return True if the text greets a name that is not the one hearer's: "Thank you Gemma"."""
    hearer = [name.casefold() for name in passage.addressees[0].split()]
    names = (match[1].casefold() for match in _GREETED.finditer(text))
    return any(
        is_given_name(name)
        and not any(sounds_same(name, own) or same_given_name(name, own) for own in hearer)
        for name in names
    )


def _says_you(text: str) -> bool:
    """Return True if the text addresses its hearer."""
    second_person = word_sets("names")["second_person"]
    return any(word.casefold() in second_person for word in _WORD.findall(text))
