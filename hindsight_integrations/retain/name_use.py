"""Tell from how a batch uses a surname whether it can be short for the one person who has it.

A surname is a family's first, then a firm's or a place's, and one man's only if nothing speaks of
another. So this looks for others: a second given name before it, Mr and Mrs, "the Halls", "a Hall",
"at Hall's". All texts of the batch are read at once, so that what comes later counts as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import (
    Gate,
    Name,
    gender_of,
    gender_of_title,
    parse,
    same_given_name,
)
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain import name_kinds
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.stated_names import find_name

_WORDS = word_sets("names")
_TITLES = _WORDS["honorifics"] | _WORDS["ranks"]
_NO_GIVEN_NAMES = _TITLES | _WORDS["calendar"] | _WORDS["function_words"] | _WORDS["determiners"]
_AT_BEGINNING = (_WORDS["openers"] - _WORDS["abbreviations"]).union(
    word_sets("directions")["irregular_past"],
    *(_WORDS[key] for key in ("note_verbs", "person_verbs", "person_object_verbs", "motion_words")),
)
"""Words that begin a sentence, with a capital, before a surname: "Met Koch"."""
_ENDINGS_AT_BEGINNING = ("ed", "ing", "ly")
_ARTICLES = frozenset({"the", "a", "an", "another", "every", "both", "these", "those"})
_NO_PERSONS = frozenset({"place", "organization"})

_WORD = re.compile(r"[^\W\d_](?:[\w’'-]*\w)?")
_POSSESSIVE = re.compile(r"['’]s\Z")
_SENTENCE_BEGINS = re.compile(r"[.!?:;\n\"“(–—]")
_AT_A_HOUSE = re.compile(
    r"\b(?:at|to|from|in|into|for|by|near|opposite|behind|was|were|is)\s([^\W\d_][\w-]*)['’]s"
    r"(?=\s*(?:[^\w\s]|\Z)|\s(?:and|or|but|when|where|until|till|since|before|after)\b)"
)
"""A firm or household: "at Pallister's, two doors down"."""
_KIN = re.compile(
    r"\b(?:mother|father|mum|mom|dad|parents?|brothers?|sisters?|siblings?|sons?|daughters?|child|wife"
    r"|husband|spouse|widow(?:er)?|uncle|aunt|cousins?|nephew|niece|grand\w+|twins?|step\w+|fianc[eé]e?"
    r"|in-law|married|née|famil(?:y|ies))\b",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?:call(?:s|ed|ing)?|nam(?:ed?|es)) (?:me|us|him|her|them|it|you) \Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that is being resolved.

    Attributes:
        text: the statement; "" if it is not known.
        mentions: the names in it, those of its speaker and hearer included.
    """

    text: str
    mentions: Sequence[Mention]


@dataclass(frozen=True, slots=True)
class _Surname:
    """A surname by which alone a short name and a full one are alike.

    Attributes:
        word: the surname.
        short: the name without a given name.
        given: given names that the full name has, in any spelling known; none if both are short.
    """

    word: str
    short: Name
    given: frozenset[str]


class Uses:
    """Index the uses of names in a batch.

    Args:
        mentions: all mentions of the batch.
        texts: all its texts.
    """

    def __init__(self, mentions: Iterable[Mention], texts: Iterable[str]) -> None:
        self._given: defaultdict[str, set[str]] = defaultdict(set)
        self._titled: defaultdict[str, set[str]] = defaultdict(set)
        self._things: set[str] = set()
        for mention in mentions:
            self._note(mention.name, mention.kind)
        for text in texts:
            self._read(text)

    def gate(
        self, mention: Mention, entity: Entity, fact: Fact, like: Sequence[Entity]
    ) -> Gate | None:
        """Return the reason why a name that is like an entity's may still be another's.

        Args:
            mention: the name.
            entity: an entity with a name that is like it but not equal.
            fact: the statement that mentions it.
            like: entities with like names.
        """
        if _is_of_kin(mention, entity, fact.text):
            return Gate.FAMILY
        is_short = entity.kind == "person" and not parse(mention.name).is_full
        if is_short and _is_called_a_thing(fact, mention.name):
            return Gate.KINDS
        if _is_told_apart(mention, entity, fact.text):
            return Gate.DENIED
        surname = _surname(mention, entity)
        return None if surname is None else self._gate_surname(surname, mention, entity, fact, like)

    def _gate_surname(
        self,
        surname: _Surname,
        mention: Mention,
        entity: Entity,
        fact: Fact,
        like: Sequence[Entity],
    ) -> Gate | None:
        """Return the reason why a surname that alone makes two names alike may be another's."""
        if self._is_anothers(surname, entity, like):
            return Gate.FAMILY
        title = gender_of_title(surname.short)
        if title and surname.given:
            if all(gender_of(one) != title for one in surname.given):
                return Gate.TITLES
            spouse = self._titled[surname.word] | {
                gender_of_title(parse(one.name)) for one in like if one.id != entity.id
            }
            if spouse - {title, ""} or _in_one_sentence(mention, entity, fact.text):
                return Gate.FAMILY
        if not surname.short.title and not parse(mention.name).is_full:
            is_thing = surname.word in self._things or _is_of_thing(surname.word, like)
            if is_thing or _is_no_person(mention, entity, fact):
                return Gate.FAMILY
        return None

    def _note(self, name: str, kind: str) -> None:
        """Note the surname of a person, or the words of a place's or firm's name."""
        parsed = parse(name)
        if kind in _NO_PERSONS and parsed.is_full:
            self._things.update(parsed.words)
        elif parsed.is_full and kind in ("person", "concept"):
            self._given[parsed.words[-1]].add(parsed.words[0])
        elif gender := gender_of_title(parsed):
            self._titled[parsed.words[-1]].add(gender)

    def _read(self, text: str) -> None:
        """Note what stands before the capitalised words of a text."""
        for match in _AT_A_HOUSE.finditer(text):
            if match[1][0].isupper():
                self._things.add(entity_norm(match[1]))
        last_end = 0
        for before, word in pairwise(_WORD.finditer(text)):
            gap = text[before.end() : word.start()]
            begins = not text[last_end : before.start()].strip(" ") and last_end == 0
            begins = begins or _SENTENCE_BEGINS.search(text, last_end, before.start()) is not None
            last_end = before.end()
            if gap != " " or not word.group()[0].isupper():
                continue
            norm, lower = entity_norm(_POSSESSIVE.sub("", word.group())), before.group().casefold()
            if lower in _ARTICLES:
                self._things.update((norm, norm.removesuffix("s")))
            elif before.group()[0].isupper() and _is_given_name(before.group(), begins=begins):
                self._given[norm].add(entity_norm(before.group()))

    def _is_anothers(self, surname: _Surname, entity: Entity, like: Iterable[Entity]) -> bool:
        """Return True if others have the surname as well."""
        named = {
            name.words[0]
            for name in map(
                parse, chain.from_iterable(_names(one) for one in like if one.id != entity.id)
            )
            if name.is_full and name.words[-1] == surname.word
        }
        title = gender_of_title(surname.short)
        own = surname.given | {
            word for name in _names(entity) for word in entity_norm(name).split()
        }
        for other in named | self._given[surname.word]:
            unlike = title and gender_of(other) not in (title, "")
            if not unlike and not any(_same_person(other, one) for one in own):
                return True
        if surname.given and not surname.short.title:
            genders = {gender_of(one) for one in surname.given}
            return not self._titled[surname.word] <= genders
        return bool(title and self._titled[surname.word] - {title})


def is_surname_alone(mention: Mention, entity: Entity) -> bool:
    """Return True if a surname alone makes a name like an entity's."""
    return _surname(mention, entity) is not None


def _names(entity: Entity) -> tuple[str, ...]:
    return (entity.name, *entity.aliases)


def _surname(mention: Mention, entity: Entity) -> _Surname | None:
    """Return the surname, if that alone makes a name and an entity's names alike."""
    name, names = parse(mention.name), [parse(one) for one in _names(entity)]
    full = [one for one in (*names, name) if one.is_full]
    if name.is_full:
        names = [one for one in names if one.is_full]
        if names:
            return None
        short = max(map(parse, _names(entity)), key=lambda one: bool(one.title))
    else:
        short = name
        if not name.title and not full:
            titled = [one for one in names if one.title]
            short = titled[0] if titled else name
    word = short.words[0]
    last = [one for one in full if one.words[-1] == word]
    given = frozenset(one.words[0] for one in last)
    if not short.title and any(_same_person(one.words[0], word) for one in full):
        return None
    if last:
        return _Surname(word, short, given)
    return _Surname(word, name, given) if short.title and not full else None


def _same_person(one: str, other: str) -> bool:
    """Return True if two given names may be one person's: equal, a nickname, an initial."""
    if 1 in (len(one), len(other)):
        return one[0] == other[0]
    return one == other or same_given_name(one, other)


def _is_given_name(word: str, *, begins: bool) -> bool:
    """Return True if a capitalised word before a surname is taken for a given name."""
    lower = word.casefold()
    if _POSSESSIVE.search(word) or (len(word) > 1 and word.isupper()):
        return False
    if not begins:
        return lower not in _TITLES | _WORDS["calendar"]
    ordinary = lower.endswith(_ENDINGS_AT_BEGINNING) or lower in _NO_GIVEN_NAMES
    return not ordinary and lower not in _AT_BEGINNING


def _is_of_thing(word: str, like: Iterable[Entity]) -> bool:
    """Return True if the bank has a place or firm with this word in its name."""
    return any(
        one.kind in _NO_PERSONS and word in parse(name).words
        for one in like
        for name in _names(one)
    )


def _is_no_person(mention: Mention, entity: Entity, fact: Fact) -> bool:
    """Return True if the statement uses a bare surname as no short form of the entity's name."""
    text, name = fact.text, mention.name
    full = {entity_norm(one) for one in _names(entity)}
    beside = [one.name for one in fact.mentions if entity_norm(one.name) in full]
    if text and any(one != name and find_name(text, one) < 0 for one in beside):
        return True  # speaker and hearer are not called by it
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        before, after = text[: match.start()], text[match.end() :]
        if before.endswith(", ") and after.startswith(","):
            return True
        if _CALLED.search(before) or (before.endswith((" at ", "At ")) and after[:1] not in "'’"):
            return True
    return False


_GOES_ON = re.compile(r", (?!and\b|or\b|[A-Z])")


def _is_called_a_thing(fact: Fact, name: str) -> bool:
    """Return True if the statement calls a name an animal's, a place's or a thing's.

    "Ben, the neighbour's dog, bit us", "my cat Bella", "Charlotte, North Carolina, is hot".
    """
    text, places = (
        fact.text,
        [m.name for m in fact.mentions if m.kind == "place" and m.name != name],
    )
    start = find_name(text, name)
    if start < 0:
        return False
    end = start + len(name)
    if name_kinds.beside_an_animal(text, start, end):
        return True
    return text.startswith(", ", end) and any(
        text.startswith(place, end + 2) and _GOES_ON.match(text, end + 2 + len(place))
        for place in places
    )


def _sentences(text: str, name: str) -> Iterator[str]:
    """Yield the sentences that have a name."""
    for start, end in pairwise((0, *sentence_ends(text))):
        if find_name(text[start:end], name) >= 0:
            yield text[start:end]


def _in_one_sentence(mention: Mention, entity: Entity, text: str) -> bool:
    """Return True if a sentence has both names, or has one and speaks of kin."""
    return any(
        _KIN.search(sentence) or _has_both(sentence, mention.name, entity)
        for sentence in _sentences(text, mention.name)
    )


def _has_both(sentence: str, name: str, entity: Entity) -> bool:
    """Return True if a sentence has a name beside a full name of the entity."""
    full = [one for one in _names(entity) if parse(one).is_full and one in sentence]
    rest = sentence
    for one in full:
        rest = rest.replace(one, "")
    return bool(full) and find_name(rest, name) >= 0


def _is_of_kin(mention: Mention, entity: Entity, text: str) -> bool:
    """Return True if the text introduces a name as that of somebody's relative.

    "Ann Lee and her mother Ann", "Christine Lee, his wife" if the entity is a Chris Lee, and
    "Ann Lee fixed it. Ann, my niece, watched" unless the full name is introduced as well.
    """
    if not text or not _KIN.search(text):
        return False
    is_beside = parse(mention.name).is_full or _is_of_no_kin(entity, text)
    for sentence in _sentences(text, mention.name):
        if not _KIN.search(sentence):
            continue
        if _has_both(sentence, mention.name, entity):
            return True
        if is_beside and _introduces(sentence, mention.name):
            return True
    return False


def _is_told_apart(mention: Mention, entity: Entity, text: str) -> bool:
    """Return True if a text that has a bare name makes it another's by an initial or a title.

    "Bruno chewed it. Bruno K. bought another", "Ford recalls cars. Mr Ford recalls nothing": who
    has been named already is not named in full later. Signatures do so; they stand alone.
    """
    if parse(mention.name).title:
        pairs = [(mention.name, one) for one in _names(entity) if entity.kind != "person"]
    else:
        pairs = [(one, mention.name) for one in _names(entity)]
    for fuller, bare in pairs:
        more, less = parse(fuller), parse(bare)
        initialed = len(more.words) == 2 and len(more.words[1]) == 1
        if not less.is_full and more.words[0] == less.words[0] and (more.title or initialed):
            start = find_name(text, fuller)
            ends = [end for end in sentence_ends(text) if end <= start]
            if ends and find_name(text[: ends[-1]], bare) >= 0:
                return True
    return False


def _is_of_no_kin(entity: Entity, text: str) -> bool:
    """Return True if the text has a full name of the entity, in no sentence that speaks of kin."""
    full = [one for one in _names(entity) if parse(one).is_full]
    own = [sentence for one in full for sentence in _sentences(text, one)]
    return bool(own) and not any(map(_KIN.search, own))


def _introduces(sentence: str, name: str) -> bool:
    """Return True for "NAME, his wife" and "his wife NAME"."""
    start = find_name(sentence, name)
    of = r"(?:my|our|your|his|her|their|the|\w+['’]s?)"
    after = re.match(
        rf",? {of} (?:\w+ )?({_KIN.pattern})", sentence[start + len(name) :], re.IGNORECASE
    )
    before = re.search(rf"\b{of} (?:\w+ )?({_KIN.pattern}),? \Z", sentence[:start], re.IGNORECASE)
    return after is not None or before is not None
