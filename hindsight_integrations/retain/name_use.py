"""Decide from the uses of a surname in a batch if it may stand for one person who has it.

A bare surname may be a relative's, a firm's or a place's. It is taken for one person only without
evidence of others: a second given name before it, Mr and Mrs, "the Halls", "a Hall", "at Hall's".
All texts of the batch are indexed first, so that later ones count as well.
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
from hindsight_integrations.nlp.word_classes import TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain import name_kinds
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.stated_names import find_name

_WORDS = word_sets("names")
_NO_GIVEN_NAMES = TITLES | _WORDS["calendar"] | _WORDS["function_words"] | _WORDS["determiners"]
_SENTENCE_OPENERS = (_WORDS["openers"] - _WORDS["abbreviations"]).union(
    word_sets("directions")["irregular_past"],
    *(_WORDS[key] for key in ("note_verbs", "person_verbs", "person_object_verbs", "motion_words")),
)
"""Words that begin a sentence, with a capital, before a surname: "Met Koch"."""
_OPENER_ENDINGS = ("ed", "ing", "ly")
_ARTICLES = frozenset({"the", "a", "an", "another", "every", "both", "these", "those"})
_NON_PERSON_KINDS = frozenset({"place", "organization"})

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
_CALLED_BEFORE = re.compile(
    r"\b(?:call(?:s|ed|ing)?|nam(?:ed?|es)) (?:me|us|him|her|them|it|you) \Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class StatementMentions:
    """A statement whose mentions are being resolved.

    Attributes:
        text: the statement; "" if it is not known.
        mentions: the names in it, including those of its speaker and hearer.
    """

    text: str
    mentions: Sequence[Mention]


@dataclass(frozen=True, slots=True)
class _LinkingSurname:
    """A surname that is the only common part of a short name and a full one.

    Attributes:
        word: the surname.
        short: the name without a given name.
        given_names: given names of the full name, in any known spelling; none if both are short.
    """

    word: str
    short: Name
    given_names: frozenset[str]


class NameUsage:
    """Index of how the texts of a batch use names.

    Args:
        mentions: all mentions of the batch.
        texts: all its texts.
    """

    def __init__(self, mentions: Iterable[Mention], texts: Iterable[str]) -> None:
        self._given_names_by_surname: defaultdict[str, set[str]] = defaultdict(set)
        self._genders_by_surname: defaultdict[str, set[str]] = defaultdict(set)
        self._non_person_words: set[str] = set()
        for mention in mentions:
            self._index_name(mention.name, mention.kind)
        for text in texts:
            self._index_text(text)

    def gate(
        self, mention: Mention, entity: Entity, fact: StatementMentions, similar: Sequence[Entity]
    ) -> Gate | None:
        """Return the reason why a name similar to an entity's may be another's; None if none.

        Args:
            mention: the name.
            entity: an entity with a similar, but not equal, name.
            fact: the statement that mentions it.
            similar: all entities with similar names.
        """
        if _is_relative_of_entity(mention, entity, fact.text):
            return Gate.FAMILY
        is_short = entity.kind == "person" and not parse(mention.name).is_full
        if is_short and _is_called_non_person(fact, mention.name):
            return Gate.KINDS
        if _is_distinguished(mention, entity, fact.text):
            return Gate.DENIED
        surname = _linking_surname(mention, entity)
        return (
            None if surname is None else self._gate_surname(surname, mention, entity, fact, similar)
        )

    def _gate_surname(
        self,
        surname: _LinkingSurname,
        mention: Mention,
        entity: Entity,
        fact: StatementMentions,
        similar: Sequence[Entity],
    ) -> Gate | None:
        """Return the reason why a linking surname may be another person's or thing's; else None."""
        if self._is_shared_surname(surname, entity, similar):
            return Gate.FAMILY
        title = gender_of_title(surname.short)
        if title and surname.given_names:
            if all(gender_of(name) != title for name in surname.given_names):
                return Gate.TITLES
            others = (parse(other.name) for other in similar if other.id != entity.id)
            other_genders = self._genders_by_surname[surname.word] | {
                gender_of_title(name) for name in others if name.words[-1] == surname.word
            }
            if other_genders - {title, ""} or _share_a_sentence(mention, entity, fact.text):
                return Gate.FAMILY
        if not surname.short.title and not parse(mention.name).is_full:
            word = surname.word
            is_non_person = word in self._non_person_words or _names_place_or_firm(word, similar)
            if is_non_person or _is_used_otherwise(mention, entity, fact):
                return Gate.FAMILY
        return None

    def _index_name(self, name: str, kind: str) -> None:
        """Index the surname of a person, or the words of the name of a place or firm."""
        parsed = parse(name)
        if kind in _NON_PERSON_KINDS and parsed.is_full:
            self._non_person_words.update(parsed.words)
        elif parsed.is_full and kind in ("person", "concept"):
            self._given_names_by_surname[parsed.words[-1]].add(parsed.words[0])
        elif gender := gender_of_title(parsed):
            self._genders_by_surname[parsed.words[-1]].add(gender)

    def _index_text(self, text: str) -> None:
        """Index the given names and articles before the capitalised words of a text."""
        for match in _AT_A_HOUSE.finditer(text):
            if match[1][0].isupper():
                self._non_person_words.add(entity_norm(match[1]))
        previous_end = 0
        for previous, word in pairwise(_WORD.finditer(text)):
            gap = text[previous.end() : word.start()]
            begins_sentence = (
                not text[previous_end : previous.start()].strip(" ") and previous_end == 0
            )
            begins_sentence = (
                begins_sentence
                or _SENTENCE_BEGINS.search(text, previous_end, previous.start()) is not None
            )
            previous_end = previous.end()
            if gap != " " or not word.group()[0].isupper():
                continue
            norm, lower = (
                entity_norm(_POSSESSIVE.sub("", word.group())),
                previous.group().casefold(),
            )
            if lower in _ARTICLES:
                self._non_person_words.update((norm, norm.removesuffix("s")))
            elif previous.group()[0].isupper() and _is_given_name(
                previous.group(), begins_sentence=begins_sentence
            ):
                self._given_names_by_surname[norm].add(entity_norm(previous.group()))

    def _is_shared_surname(
        self, surname: _LinkingSurname, entity: Entity, similar: Iterable[Entity]
    ) -> bool:
        """Return True if other people of the bank or batch have the surname as well."""
        others = (other.names for other in similar if other.id != entity.id)
        other_given_names = {
            name.words[0]
            for name in map(parse, chain.from_iterable(others))
            if name.is_full and name.words[-1] == surname.word
        }
        title = gender_of_title(surname.short)
        own_given_names = surname.given_names | {
            word for name in entity.names for word in entity_norm(name).split()
        }
        for given_name in other_given_names | self._given_names_by_surname[surname.word]:
            other_gender = title and gender_of(given_name) not in (title, "")
            if not other_gender and not any(
                _may_share_given_name(given_name, own) for own in own_given_names
            ):
                return True
        if surname.given_names and not surname.short.title:
            genders = {gender_of(own) for own in surname.given_names}
            return not self._genders_by_surname[surname.word] <= genders
        return bool(title and self._genders_by_surname[surname.word] - {title})


def is_surname_alone(mention: Mention, entity: Entity) -> bool:
    """Return True if a name and an entity's names have only a surname in common."""
    return _linking_surname(mention, entity) is not None


def _linking_surname(mention: Mention, entity: Entity) -> _LinkingSurname | None:
    """Return the surname, if a name and an entity's names have only that in common."""
    name, names = parse(mention.name), [parse(known) for known in entity.names]
    full_names = [parsed for parsed in (*names, name) if parsed.is_full]
    if name.is_full:
        if any(known.is_full for known in names):
            return None
        short = max(names, key=lambda known: bool(known.title))
    else:
        short = name
        if not name.title and not full_names:
            short = next((known for known in names if known.title), name)
    word = short.words[0]
    with_surname = [full for full in full_names if full.words[-1] == word]
    given_names = frozenset(full.words[0] for full in with_surname)
    if not short.title and any(_may_share_given_name(full.words[0], word) for full in full_names):
        return None
    if with_surname:
        return _LinkingSurname(word, short, given_names)
    return _LinkingSurname(word, name, given_names) if short.title and not full_names else None


def _may_share_given_name(one: str, other: str) -> bool:
    """Return True if two given names may be one person's: equal, a nickname, an initial."""
    if 1 in (len(one), len(other)):
        return one[0] == other[0]
    return one == other or same_given_name(one, other)


def _is_given_name(word: str, *, begins_sentence: bool) -> bool:
    """Return True if a capitalised word before a surname is taken for a given name."""
    lower = word.casefold()
    if _POSSESSIVE.search(word) or (len(word) > 1 and word.isupper()):
        return False
    if not begins_sentence:
        return lower not in TITLES | _WORDS["calendar"]
    ordinary = lower.endswith(_OPENER_ENDINGS) or lower in _NO_GIVEN_NAMES
    return not ordinary and lower not in _SENTENCE_OPENERS


def _names_place_or_firm(word: str, similar: Iterable[Entity]) -> bool:
    """Return True if the bank has a place or firm with this word in its name."""
    return any(
        one.kind in _NON_PERSON_KINDS and word in parse(name).words
        for one in similar
        for name in one.names
    )


def _is_used_otherwise(mention: Mention, entity: Entity, fact: StatementMentions) -> bool:
    """Return True if the statement uses a bare surname in another way than for the entity.

    That is if the entity is its speaker or hearer, for "Jack, Hall, and Ann", "called him Hall" and
    "at Hall".
    """
    text, name = fact.text, mention.name
    norms = {entity_norm(known) for known in entity.names}
    mentioned = [other.name for other in fact.mentions if entity_norm(other.name) in norms]
    if text and any(other != name and find_name(text, other) < 0 for other in mentioned):
        return True  # the entity speaks or is addressed, and a text names others than these two
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        before, after = text[: match.start()], text[match.end() :]
        if before.endswith(", ") and after.startswith(","):
            return True
        if _CALLED_BEFORE.search(before) or (
            before.endswith((" at ", "At ")) and after[:1] not in "'’"
        ):
            return True
    return False


_SENTENCE_CONTINUES = re.compile(r", (?!and\b|or\b|[A-Z])")


def _is_called_non_person(fact: StatementMentions, name: str) -> bool:
    """Return True if the statement says that a name is an animal's or a place's.

    "Ben, the neighbour's dog, bit us", "my cat Bella", "Charlotte, North Carolina, is hot".
    """
    text, place_names = (
        fact.text,
        [m.name for m in fact.mentions if m.kind == "place" and m.name != name],
    )
    start = find_name(text, name)
    if start < 0:
        return False
    end = start + len(name)
    if name_kinds.is_beside_animal(text, start, end):
        return True
    return text.startswith(", ", end) and any(
        text.startswith(place, end + 2) and _SENTENCE_CONTINUES.match(text, end + 2 + len(place))
        for place in place_names
    )


def _sentences(text: str, name: str) -> Iterator[str]:
    """Yield the sentences of a text that contain a name."""
    for start, end in pairwise((0, *sentence_ends(text))):
        if find_name(text[start:end], name) >= 0:
            yield text[start:end]


def _share_a_sentence(mention: Mention, entity: Entity, text: str) -> bool:
    """Return True if a sentence with the mention has the entity's full name or a word for kin."""
    return any(
        _KIN.search(sentence) or _has_both(sentence, mention.name, entity)
        for sentence in _sentences(text, mention.name)
    )


def _has_both(sentence: str, name: str, entity: Entity) -> bool:
    """Return True if a sentence contains a name in addition to a full name of the entity."""
    full_names = [
        full_name
        for full_name in entity.names
        if parse(full_name).is_full and full_name in sentence
    ]
    remaining = sentence
    for full_name in full_names:
        remaining = remaining.replace(full_name, "")
    return bool(full_names) and find_name(remaining, name) >= 0


def _is_relative_of_entity(mention: Mention, entity: Entity, text: str) -> bool:
    """Return True if the text introduces a name as a relative's, who is not the entity.

    "Ann Lee and her mother Ann"; "Christine Lee, his wife" if the entity is a Chris Lee; "Ann Lee
    fixed it. Ann, my niece, watched", unless the full name is introduced as a relative's as well.
    """
    if not text or not _KIN.search(text):
        return False
    is_beside = parse(mention.name).is_full or _is_apart_from_kin(entity, text)
    for sentence in _sentences(text, mention.name):
        if not _KIN.search(sentence):
            continue
        if _has_both(sentence, mention.name, entity):
            return True
        if is_beside and _is_introduced_as_kin(sentence, mention.name):
            return True
    return False


def _is_distinguished(mention: Mention, entity: Entity, text: str) -> bool:
    """Return True if a text distinguishes a bare name from a later one with an initial or a title.

    "Bruno chewed it. Bruno K. bought another", "Ford recalls cars. Mr Ford recalls nothing": people
    already named are not named in full later, except in a signature, which is a sentence alone.
    """
    if parse(mention.name).title:
        pairs = [
            (mention.name, entity_name) for entity_name in entity.names if entity.kind != "person"
        ]
    else:
        pairs = [(entity_name, mention.name) for entity_name in entity.names]
    for fuller, bare in pairs:
        fuller_name, bare_name = parse(fuller), parse(bare)
        initialed = len(fuller_name.words) == 2 and len(fuller_name.words[1]) == 1
        if (
            not bare_name.is_full
            and fuller_name.words[0] == bare_name.words[0]
            and (fuller_name.title or initialed)
        ):
            start = find_name(text, fuller)
            ends = [end for end in sentence_ends(text) if end <= start]
            if ends and find_name(text[: ends[-1]], bare) >= 0:
                return True
    return False


def _is_apart_from_kin(entity: Entity, text: str) -> bool:
    """Return True if the text has a full name of the entity, but in no sentence about relatives."""
    full_names = [name for name in entity.names if parse(name).is_full]
    sentences = [sentence for name in full_names for sentence in _sentences(text, name)]
    return bool(sentences) and not any(map(_KIN.search, sentences))


def _is_introduced_as_kin(sentence: str, name: str) -> bool:
    """Return True if a sentence introduces a name as a relative's: "NAME, his wife"."""
    start = find_name(sentence, name)
    owner = r"(?:my|our|your|his|her|their|the|\w+['’]s?)"
    after = re.match(
        rf",? {owner} (?:\w+ )?({_KIN.pattern})", sentence[start + len(name) :], re.IGNORECASE
    )
    before = re.search(
        rf"\b{owner} (?:\w+ )?({_KIN.pattern}),? \Z", sentence[:start], re.IGNORECASE
    )
    return after is not None or before is not None
