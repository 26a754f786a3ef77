"""Phrases of a parsed sentence: whom or what its subjects mean, and what its verbs say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.nlp.word_classes import ATTRIBUTES, NUMBERS, OCCUPATIONS, SUBJECTS
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.claim_model import Value, groups_of, is_attitude

_WORDS = word_sets("changes")
_TITLES = word_sets("names")["honorifics"]
_KIN = _WORDS["no_trade"]
_TRADE = re.compile(r"[a-z]{2,}(?:man|woman|ist|ician|smith|wright|keeper|grapher|ologist)$")
"""Endings of what people are by trade: "postman", "florist"."""
_TIME = re.compile(r"^\d{1,2}(?:[:.]\d{2})?\s?(?:am|pm|o'clock)$|^\d{1,2}:\d{2}$", re.IGNORECASE)
_HOLIDAY = re.compile(r"\b(?:New Year|Christmas|Easter|Thanksgiving|Halloween)\b")
_COMPARED = re.compile(r"\b(?:any ?more|(?:no|any) longer) than\b")
"""No end, but a comparison: "does not eat bread any more than Ann does"."""
_QUOTE = re.compile('["“”]')
_BACK = re.compile(table("changes")["chat"]["back"])
_NO_PART = frozenset({"relcl", "advcl", "acl", "appos", "cc", "conj", "punct", "prep"})
_NO_VALUE = _NO_PART | {"neg", "advmod", "nsubj"}
_BARE = frozenset({"DT", "PRP$", "POS"})
_FIRST = {"i": "i", "we": "we", "my": "i", "our": "we", "mine": "i"}


def plain_value(text: str) -> Value:
    """Return the value of a phrase that has not been parsed."""
    return Value(text, frozenset(lexemes(text)), _kind(text, text.split()[-1].lower()))


def state_of(value: Value | None) -> Value | None:
    """Return the state that a phrase names: "married" of "a married man"."""
    if value is None:
        return None
    first, _, noun = value.text.partition(" ")
    named = groups_of(first) and (not noun or noun.casefold() in ("man", "woman", "person"))
    return plain_value(first) if named else None


def _kind(text: str, head: str) -> str:
    words = text.casefold().split()
    if _TIME.match(text):
        return "time"
    dated = bool(_HOLIDAY.search(text)) or any(
        word.strip(".,").removesuffix("s") in _WORDS["days"] for word in words
    )
    if dated and text[:1] != text[:1].lower():
        return "date"
    if any(character.isdigit() for character in text):
        return "date" if dated else "number"
    if words[0] in ("every", "each", "daily", "weekly", "monthly", "hourly", "yearly"):
        return "frequency"
    clock = words[0] in _WORDS["minutes"] and not _WORDS["clock_links"].isdisjoint(words[1:2])
    if words[0] in NUMBERS or clock:
        return "number"
    is_trade = _TRADE.search(head) and text.split()[-1].islower()  # not "Todoist"
    head = head.rpartition("-")[2] or head  # "editor-in-chief"
    if head in OCCUPATIONS or (is_trade and head not in _KIN):
        return "role"
    return "name" if any(part[:1].isupper() for part in text.split()) else "thing"


def _within(one: str, other: str) -> bool:
    """Return True if one normalised name contains all words of the other."""
    words = set(one.split()), set(other.split())
    return words[0] <= words[1] or words[1] <= words[0]


def _is_kept(word: Word) -> bool:
    """Return True for a determiner that belongs to a value: "every Monday", "The Gilded Hen"."""
    return word.lower in ("every", "each") or (word.text == "The" and word.index > 0)


@dataclass(slots=True)
class PhraseReader:
    """Reads the phrases of one sentence.

    Attributes:
        sentence: the parsed sentence.
        names: entities of its memory by normalised name, each with the name of whom it means.
        speaker: who says it, which is whom "I" means.
    """

    sentence: Sentence
    names: Mapping[str, str]
    speaker: str | None

    def subject_of(self, verb: Word) -> Word | None:
        """Return the subject of a verb, or of the verb it is coordinated with."""
        at = verb
        while True:
            helper = at.child("auxpass")
            subject = at.child(*SUBJECTS) or (
                helper.child(*SUBJECTS) if helper is not None else None
            )
            if subject is not None or at.dep != "conj":
                return subject
            at = at.head

    def is_main(self, verb: Word) -> bool:
        """Return True for the verb of a main clause, or one coordinated or juxtaposed with it."""
        at = verb
        while at.dep == "conj":
            at = at.head
        return at.dep == "ROOT" or self._is_juxtaposed(at)

    def _is_juxtaposed(self, verb: Word) -> bool:
        """Return True for the first of two main clauses separated by a comma.

        A parser makes it the complement of the second: "X is no longer Y, it is Z". It is none if
        the second says that somebody says or thinks it.
        """
        second = verb.head
        if verb.dep != "ccomp" or second.dep != "ROOT" or verb.index > second.index:
            return False
        subject = second.child(*SUBJECTS)
        if subject is None or is_attitude(second.lemma) or second.lemma in _WORDS["reporting"]:
            return False
        if subject.lower in ("that", "this"):
            return False  # "that is what Bob says"
        own_words = set(second.subtree()) - set(verb.subtree())
        if subject.lower == "i" and sum(word.tag[0].isalpha() for word in own_words) <= 2:
            return False  # "Noor prefers essays, I gather"
        own = verb.children(*SUBJECTS) and not verb.children("mark")
        between = self.sentence.words[verb.index : subject.index]
        return bool(own) and any(word.text in (",", "-", "–", "—") for word in between)

    def subject_key(self, word: Word | None) -> str | None:
        """Return the key of a phrase's referent; None if it is unclear."""
        if word is None:
            return f"i|{self.speaker}" if self.speaker else None
        if word.tag in ("PRP", "PRP$", "DT", "WP", "WDT", "EX") or word.lower in _FIRST:
            first = _FIRST.get(word.lower)
            return f"{first}|{self.speaker or ''}" if first else None
        if (whole := self._name_with_and(word)) is not None:
            return whole
        inside = word.child("appos")
        numbered = word.child("nummod") is not None
        if numbered and inside is not None and inside.is_proper:
            return self.phrase_key(inside)  # "Bed 3, Mr Baptiste, takes ..." is of him
        if word.children("conj") or word.children("relcl"):
            return None
        return self.phrase_key(word)

    def _name_with_and(self, word: Word) -> str | None:
        """Return the key of a known name with "&" or "and": "Rowan & Sons"."""
        joined = word.child("conj")
        if joined is None:
            return None
        words = self.sentence.words[word.subtree()[0].index : joined.index + 1]
        norm = entity_norm(" ".join(each.text for each in words))
        return f"@{self.names[norm]}" if norm in self.names else None

    def phrase_key(self, word: Word) -> str | None:
        """Return the key of a noun phrase; None if several known names fit."""
        owner = word.child("poss")
        parts = [
            each
            for each in word.subtree(_NO_PART | {"poss", "det", "case"})
            if each.tag not in _BARE
        ]
        surface = " ".join(each.text for each in parts)
        common = word.index == 0 and word.lower in ATTRIBUTES
        if not common and word.text[:1].isupper() and owner is None and self._is_name(word):
            norm = entity_norm(self._titleless(surface))
            titled = norm != entity_norm(surface)
            if titled and word.child("det") and word.child("prep"):
                return None  # "the Mr Lyle at Reigate" is another one
            known = {whole for name, whole in self.names.items() if _within(norm, name)}
            return f"@{known.pop()}" if len(known) == 1 else None if known else f"@{norm}"
        below = [child for child in word.children("prep") if child.lower == "of"]
        inside = [" ".join(w.lemma for w in child.subtree()) for child in below]
        base = " ".join([*(each.lemma for each in parts), *inside])
        if owner is None:
            return base
        key = self.subject_key(owner)
        return None if key is None else f"{key}/{base}"

    def _is_name(self, word: Word) -> bool:
        return word.tag in ("NNP", "NNPS") or word.index > 0 or self._first_is_name(word)

    def _first_is_name(self, word: Word) -> bool:
        """Return True for a capitalised singular first word without determiner."""
        norm = entity_norm(word.text)
        return any(_within(norm, name) for name in self.names) or word.tag == "NN"

    def _titleless(self, surface: str) -> str:
        words = surface.split()
        while len(words) > 1 and words[0].casefold().rstrip(".") in _TITLES:
            words = words[1:]
        return " ".join(words)

    def end_of_word(self, index: int) -> int:
        """Return the end of a hyphenated word: "captain" of "vice-captain"."""
        words = self.sentence.words
        while index + 2 < len(words) and words[index + 1].text == "-":
            joined = words[index].start + len(words[index].text) == words[index + 1].start
            if not joined or words[index + 1].start + 1 != words[index + 2].start:
                break
            index += 2
        return index

    def _value(self, word: Word) -> Value | None:
        if word.tag in ("PRP", "WP", "WDT", "EX"):
            return None
        parts = word.subtree(_NO_VALUE)
        parts = [p for p in parts if p.tag not in _BARE or _is_kept(p)]
        lead = word.children("nsubj")  # a model's misreading of "team lead"
        parts = sorted([*parts, *lead], key=lambda part: part.index)
        if not parts:
            return None
        rest = self.sentence.words[parts[-1].index + 1 :] if parts[-1].tag == "CD" else ()
        parts += takewhile(lambda each: each.tag == "CD", rest)  # "0151 2204"
        parts += self.sentence.words[parts[-1].index + 1 : self.end_of_word(parts[-1].index) + 1]
        rest = self.sentence.words[parts[-1].index + 1 : parts[-1].index + 3]
        if rest and rest[0].text == "&" and parts[-1].text[:1].isupper():
            parts += rest  # "Reed & Moss"
        text = self.sentence.text[parts[0].start : parts[-1].start + len(parts[-1].text)]
        of = [c for c in word.children("prep") if c.lower == "of"]
        below = " ".join(w.text for child in of for w in child.subtree())
        terms = frozenset(lexemes(f"{text} {below}"))
        kind = _kind(text, parts[-1].lemma)
        end = self.sentence.words[parts[-1].index + 1 : parts[-1].index + 2]
        owner = bool(end) and end[0].tag == "POS" and word.dep != "poss"  # "buys it from Kern's"
        if kind == "role" and of:
            last = of[0].subtree()[-1]  # "head of sales"
            text = self.sentence.text[parts[0].start : last.start + len(last.text)]
        return Value(text + end[0].text if owner else text, terms, kind)

    def _values(self, verb: Word) -> dict[str, Value]:
        """Return the values of a verb by slot, including prepositions of its object."""
        values: dict[str, Value] = {}
        objects = [
            word
            for word in verb.children("dobj", "attr", "acomp", "oprd")
            if word.index < verb.index or not self._follows_comma(word.subtree()[0])
        ]
        for word in objects:
            if value := self._value(word):
                values.setdefault("obj", value)
        roles = [
            role
            for prep in verb.children("prep")
            for role in prep.children("pobj")
            if prep.lower == "as"
        ]
        for parent in (verb, *objects, *roles, *verb.children("advmod")):
            preps = [*parent.children("prep", "agent")]
            preps += [below for prep in preps for below in prep.children("prep")]
            for prep in preps:
                for word in prep.children("pobj"):
                    if value := self._value(word):
                        values.setdefault(prep.lower, value)
        if (misread := self._misread_target(verb)) is not None:
            values.setdefault("to", misread)
        often = map(self._value, verb.children("npadvmod"))
        every = next((value for value in often if value and value.kind == "frequency"), None)
        return values | ({"every": every} if every else {})

    def _called(self, subject: Word | None) -> tuple[frozenset[str], ...]:
        """Return the lexemes of a subject with its modifiers, and of its names."""
        if subject is None:
            return ()
        words = subject.subtree(frozenset({"relcl", "conj", "cc", "advcl"}))
        names = " ".join(word.text for word in words if word.tag in ("NNP", "NNPS"))
        every = frozenset(lexemes(" ".join(word.text for word in words)))
        return tuple(terms for terms in (every, frozenset(lexemes(names))) if terms)

    def _inner(self, verb: Word) -> tuple[Value, ...]:
        """Return names within the values of a verb, and the activity of "goes"."""
        objects = verb.children("dobj", "attr")
        named = [
            name
            for thing in objects
            for calls in thing.children("acl")
            for name in calls.children("oprd", "dobj")
            if calls.lemma in ("call", "name")
        ]
        nested = [
            name
            for prep in verb.children("prep")
            for thing in prep.children("pobj")
            for below in thing.children("prep")
            for name in below.children("pobj")
            if name.tag == "NNP"
        ]
        does = verb.children("xcomp") if verb.lemma == "go" else []
        done = [plain_value(word.text) for word in does if word.tag == "VBG"]
        read = (self._value(word) for word in (*named, *nested))
        return (*(value for value in read if value is not None), *done)

    def _misread_target(self, verb: Word) -> Value | None:
        """Return the name after "to" that is tagged as a verb: "moved to Shopify"."""
        for word in verb.children("advcl", "xcomp"):
            to = word.child("aux")
            is_value = word.text[:1].isupper() or groups_of(word.text)
            if to is not None and to.lower == "to" and is_value:
                return plain_value(word.text)
        return None

    def detached(self, verb: Word) -> frozenset[str]:
        """Return the prepositions before a verb, or after a comma: "As of May,"."""
        preps = [*verb.children("prep")]
        preps += [below for prep in preps for below in prep.children("prep")]
        return frozenset(
            prep.lower for prep in preps if prep.index < verb.index or self._follows_comma(prep)
        )

    def _follows_comma(self, word: Word) -> bool:
        """Return True for a preposition after a comma: ", just off the square"."""
        words = self.sentence.words[: word.index][::-1]
        before = next((each for each in words if each.tag != "RB"), None)
        return before is not None and before.text == ","

    def _verb(self, verb: Word) -> str:
        """Return the base form of a verb with its particle."""
        particle = verb.child("prt")
        base = f"{verb.lemma}_{particle.lower}" if particle else verb.lemma
        extra = verb.child("advmod", "acomp", "dobj")
        if verb.lemma in ("step", "stand") and extra and extra.lower in ("down", "back"):
            return f"{verb.lemma}_{extra.lower}"
        if verb.lemma in ("get", "do") and extra and extra.lower in ("rid", "away"):
            return f"{verb.lemma}_{extra.lower}"
        return base

    def _words_of(self, verb: Word) -> list[Word]:
        return [*verb.children(), *(
            below
            for child in verb.children()
            for below in child.children()
            if child.dep in ("neg", "advmod", "acomp", "attr", "npadvmod")
        )]  # fmt: skip

    def says_ended(self, verb: Word) -> bool:
        """Return True for "no longer", "not ... any more" and "not ... anymore"."""
        words = [word.lower for word in self._words_of(verb)]
        text = self.sentence.text.casefold()
        denied = bool(verb.children("neg"))
        if _COMPARED.search(text):
            return False
        no = "no" in words or "no longer" in text
        if denied and ("these days" in text or "nowadays" in words or self._is_perfect_since(verb)):
            return True
        return ("longer" in words and (no or denied)) or (
            denied and ("anymore" in words or "any more" in text or "any longer" in text)
        )

    def _is_perfect_since(self, verb: Word) -> bool:
        """Return True for a negated perfect with "since": "has not smoked since May"."""
        perfect = any(word.lemma == "have" for word in verb.children("aux"))
        since = any(word.lower == "since" for word in verb.children("prep"))
        return perfect and since

    def is_degree(self, word: Word) -> bool:
        """Return True for an adverb of degree, which adds nothing: "too high"."""
        head = word.head
        return word.lower == "too" and head.index > word.index and head.tag in ("JJ", "RB")

    def is_limited(self, verb: Word) -> bool:
        """Return True for an adverb of manner after a verb: "runs the shop alone"."""
        return any(
            word.index > head.index and word.lower not in _WORDS["at_last"] | _WORDS["any_more"]
            for head in (verb, *verb.children("dobj"))
            for word in head.children("advmod")
        )

    def _names_place(self, value: Value) -> bool:
        """Return True if a model labels the last word of a value as a place's."""
        last = value.text.split()[-1]
        places = ("GPE", "LOC", "FAC")
        return any(word.text == last and word.label in places for word in self.sentence.words)

    def _is_organisation(self, value: Value) -> bool:
        """Return True if a model labels the last word of a value as an organisation's."""
        last = value.text.split()[-1]
        return any(word.text == last and word.label == "ORG" for word in self.sentence.words)

    @property
    def comes_back(self) -> bool:
        """True for a temporary change: "left for Rome and is back on Sunday"."""
        return bool(_BACK.search(self.sentence.text))

    @property
    def is_quoted(self) -> bool:
        """True for a clause in quotation marks: the page says "TTL is now 0"."""
        words = self.sentence.words
        marks = [bool(_QUOTE.match(word.text)) for word in words]
        return any(
            sum(marks[: word.index]) % 2 and word.tag in ("VBZ", "VBP", "VBD") for word in words
        )

    def is_no_span(self, word: Word) -> bool:
        """Return True for a time that limits nothing: "these days", "as of this week"."""
        span = word.head
        if word.lower == "these" and span.lower == "days":
            return True
        before = self.sentence.words[word.index - 1] if word.index else word
        if (
            before.lower in ("of", "from", "since", "starting")
            or before.lemma in _WORDS["scheduling"]
        ):
            return True
        verb = span.head
        past = word.lower == "this" and verb.tag in ("VBD", "VBN")
        return past and (span.lemma not in _WORDS["brief"] or verb.lemma in _WORDS["reporting"])
