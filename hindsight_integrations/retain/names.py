"""Names in a text: what the model marks, capitalised runs it misses, identifiers, known names.

The model's labels are a hint for the kind, nothing more: small ones take PostgreSQL for a place
and Priya for a nationality.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from hindsight_integrations.language.pipeline import Annotation, NamedSpan
from hindsight_integrations.model import Entity
from hindsight_integrations.retain import lexicon
from hindsight_integrations.retain.gazetteer import known_names
from hindsight_integrations.retain.identifiers import identifiers
from hindsight_integrations.retain.nicknames import is_given_name
from hindsight_integrations.retain.spans import NameSpan, longest
from hindsight_integrations.retain.unspaced import unspaced_names
from hindsight_integrations.retain.words import Word, proper_nouns, read_words

_KINDS = {
    "PERSON": "person",
    "NORP": "group",
    "FAC": "place",
    "GPE": "place",
    "LOC": "place",
    "ORG": "organization",
    "PRODUCT": "product",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "LAW": "work",
    "LANGUAGE": "concept",
}
"""OntoNotes labels of names; the others are of dates and quantities."""

_NEVER_COMPOUND = frozenset({"person", "place", "group"})
"""Kinds whose names hold no "and", comma or possessive: these part two names."""

_ORDINARY = lexicon.FUNCTION_WORDS | lexicon.OPENERS
_AROUND_NAMES = _ORDINARY | lexicon.DETERMINERS
_NEVER_ALONE = _AROUND_NAMES | lexicon.CALENDAR | lexicon.TITLES
_CAN_BE_ORDINARY = _NEVER_ALONE | lexicon.ALSO_WORDS
_BEFORE_A_TIME = frozenset(
    "in on since until till by last next this every of from to early late mid before after during "
    "through between".split()
)

_AFTER_POSSESSIVE = lexicon.ORGANIZATION_WORDS | lexicon.PLACE_WORDS
_ABBREVIATED = lexicon.TITLES | {"st", "mt", "ft"}
_AFTER_COMMA = frozenset({"inc", "ltd", "llc", "jr", "sr"})
_MOST_WORDS = 8
_NAME_SHAPE = re.compile(r"P(?:(?:ll?|lt)?P)*n?")
"""Proper nouns, joined by "of the" or "van der", with a number after them: "Apollo 11"."""

_URL = re.compile(r"(?:https?://|ftp://|www\.)\S+", re.IGNORECASE)
_NUMBER = re.compile(r"(?!(?:1[5-9]|20)\d\d\Z)\d{1,4}(?:\.\d+)*")
_NOT_NUMBERING = re.compile(r"\s?(?:%|:\d|/\d|,\d|[ap]\.?m\b|years?\b|days?\b|weeks?\b|months?\b)")
_GREETING = re.compile(
    r"\b(?:hey|hi|hello|dear|thanks|thank you|thx|congrats|congratulations|morning|evening|bye|"
    r"welcome|sorry|hola|bonjour|hallo)[, ]+\Z",
    re.IGNORECASE,
)


def find_names(annotation: Annotation, known: Mapping[str, Entity]) -> list[NameSpan]:
    """Names in a text, in order, not overlapping; of two that overlap the longer.

    Args:
        annotation: the text as the model read it.
        known: entities by the normal forms of their names and aliases. They are found in lower
            case too, save where that is an ordinary word.
    """
    text = _URL.sub(lambda url: " " * len(url.group()), annotation.text)
    words = read_words(text, annotation)
    proper = proper_nouns(words)
    return longest(
        [
            *_known(text, words, proper, known),
            *identifiers(text),
            *_marked(text, words, proper, annotation.names),
            *_capitalised(text, words, proper),
            *unspaced_names(text),
        ]
    )


def _known(
    text: str, words: Sequence[Word], proper: Sequence[bool], known: Mapping[str, Entity]
) -> Iterator[NameSpan]:
    """Known names, save where one is an ordinary word: "will", "in May"."""
    places = {word.start: index for index, word in enumerate(words)}
    for span in known_names(text, known):
        index = places.get(span.start)
        if index is None or words[index].end < span.end:
            yield span
            continue
        word = words[index]
        if word.lower not in _CAN_BE_ORDINARY or proper[index]:
            yield span
        elif word.lower in lexicon.CALENDAR and word.is_capital and not word.opens:
            before = words[index - 1].lower if index else ""
            if before not in _BEFORE_A_TIME and not text[word.end : word.end + 2].strip().isdigit():
                yield span


def _marked(
    text: str, words: Sequence[Word], proper: Sequence[bool], names: Sequence[NamedSpan]
) -> Iterator[NameSpan]:
    """Names the model marks."""
    index = 0
    for name in names:
        if (kind := _KINDS.get(name.label)) is None:
            continue
        while index < len(words) and words[index].end <= name.start:
            index += 1
        last = index
        while last < len(words) and words[last].start < name.end:
            last += 1
        all_small = not any(proper) and _is_lower_name(words[index:last], kind)
        if not (all_small or any(proper[index:last])):
            continue
        if kind in _NEVER_COMPOUND:
            for segment in _segments(text, words[index:last]):
                for is_and, part in groupby(segment, lambda word: word.lower == "and"):
                    yield from () if is_and else _name(text, list(part), kind)
        elif "\n" not in text[name.start : name.end]:
            yield from _name(text, words[index:last], kind)


def _capitalised(text: str, words: Sequence[Word], proper: Sequence[bool]) -> Iterator[NameSpan]:
    """Runs of words that look like names."""
    is_proper = dict(zip((word.start for word in words), proper, strict=True))
    for segment in _segments(text, words):
        shape = "".join(_shape(text, word, is_proper[word.start]) for word in segment)
        for match in _NAME_SHAPE.finditer(shape):
            yield from _name(text, segment[match.start() : match.end()], "concept")


def _shape(text: str, word: Word, proper: bool) -> str:
    """The letter that stands for a word in `_NAME_SHAPE`."""
    if proper:
        return "P"
    if word.text in lexicon.NAME_LINKS:
        return "l"
    if word.text == "the":
        return "t"
    counts = _NUMBER.fullmatch(word.text) and not _NOT_NUMBERING.match(text, word.end)
    return "n" if counts else "x"


def _segments(text: str, words: Iterable[Word]) -> Iterator[list[Word]]:
    """Successive words that may be one name: no break, comma or possessive between them."""
    segment: list[Word] = []
    for word in words:
        if segment and not _joined(segment[-1], text[segment[-1].end : word.start], word):
            yield segment
            segment = []
        segment.append(word)
    if segment:
        yield segment


def _joined(before: Word, gap: str, word: Word) -> bool:
    if word.opens:
        return False
    if gap in (" ", "\u00a0", "  ", " & ", "-"):
        return before.stem_end == before.end or word.lower in _AFTER_POSSESSIVE
    if gap in (". ", "."):
        return len(before.text) == 1 or before.lower in _ABBREVIATED
    return gap == ", " and word.lower in _AFTER_COMMA


def _name(text: str, words: Sequence[Word], kind: str) -> Iterator[NameSpan]:
    """The name that the words hold, without what merely stands before and after it, if any."""
    start, end = 0, len(words)
    while start < end and _merely_precedes(words[start]):
        start += 1
    while start < end and words[end - 1].lower in _AROUND_NAMES and not _is_acronym(words[end - 1]):
        end -= 1
    titled = end - start > 1 and words[start].lower in lexicon.HONORIFICS
    if titled and end - start > 2:
        start += 1
    name = words[start:end]
    if name and _is_name(name):
        spelled = text[name[0].start : name[-1].stem_end]
        yield NameSpan(
            name[0].start,
            name[-1].stem_end,
            " ".join(spelled.split()),
            "person" if titled else _kind(text[: name[0].start], name, kind),
        )


def _merely_precedes(word: Word) -> bool:
    if not word.is_capital and word.lower in lexicon.NAME_LINKS:
        return False
    if word.lower in _AROUND_NAMES:
        return not _is_acronym(word)
    return not word.is_capital and (word.lower in lexicon.NUMBERED or not word.is_tagged_proper)


def _is_name(words: Sequence[Word]) -> bool:
    if len(words) > _MOST_WORDS or len(words[0].text) + len(words) < 3:
        return False
    return any(
        _is_acronym(word) or not (word.lower in _NEVER_ALONE or word.text.isdigit())
        for word in words
    )


def _is_lower_name(words: Sequence[Word], kind: str) -> bool:
    """Whether this is a person or place, in the words of one who capitalises nothing."""
    return kind in ("person", "place") and all(
        word.is_tagged_proper and not word.is_capital and word.lower not in _CAN_BE_ORDINARY
        for word in words
    )


def _is_acronym(word: Word) -> bool:
    return word.text in ("US", "WHO")


def _kind(before: str, words: Sequence[Word], kind: str) -> str:
    """A better guess than the label, where the words themselves tell."""
    if len(words) > 1 and words[-1].lower in lexicon.ORGANIZATION_WORDS:
        return "organization"
    if len(words) > 1 and words[-1].lower in lexicon.PLACE_WORDS:
        return "place"
    if kind not in ("person", "place", "event") and is_given_name(words[0].lower):
        return "person"
    if len(words) < 3 and kind not in ("person", "event") and _GREETING.search(before[-24:]):
        return "person"
    return kind
