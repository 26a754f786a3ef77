"""Values of the sort that a question asks for: an age, a length of time, a date, a number."""

from __future__ import annotations

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.nlp.word_classes import OCCUPATIONS
from hindsight_integrations.reflect.answers.named import is_person

_WORDS = word_sets("questions")
_CRAFTS = ("ologist", "smith", "maker", "monger", "wright", "keeper")
"""Endings of words for what somebody does for a living: "beekeeper"."""
_TIMES = ("DATE", "TIME")
_AMOUNTS = ("MONEY", "CARDINAL", "QUANTITY", "PERCENT")
_AGES = frozenset({"year", "month", "week"})
_VAGUE = frozenset({"half", "several", "few", "many", "couple", "a", "an", "all", "whole"})
_UNTIL = frozenset({"until", "till", "since"})
_FEWEST_DIGITS = 4
"""Digits of a number that is a name of something: "room 12" is no telephone."""
DATES = frozenset({"date", "day", "week", "month", "year"})
"""General nouns for a time, of which the value tells that it is one."""
_KINDS = {
    **dict.fromkeys(DATES, _TIMES),
    **dict.fromkeys(("hour", "time"), ("TIME",)),
    "amount": _AMOUNTS,
    "value": _AMOUNTS,
    **dict.fromkeys(("city", "country", "town", "place"), ("GPE", "LOC", "FAC")),
}


def is_age(verb: Word) -> bool:
    """Return True if a verb gives its subject an age: "is 31", "turned 31", "is 3 years old"."""
    if verb.lemma not in ("be", "turn", "become"):
        return False
    for word in verb.children("attr", "acomp", "dobj", "oprd"):
        if word.tag == "CD" and word.label not in ("MONEY", "TIME", "PERCENT", "QUANTITY"):
            return not word.children("prep") and not _is_clock(word)
        if word.lemma == "year" and _is_counted(word):
            return not word.children("prep", "acl", "relcl")
        if any(_is_old(child) for child in word.subtree()):
            return True
    return False


def _is_old(word: Word) -> bool:
    """Return True for a word that marks an age: "31 years old", "aged 31"."""
    if word.lower == "aged":
        return any(child.tag == "CD" for child in word.subtree())
    return word.lemma == "old" and any(
        child.lemma in _AGES and _is_counted(child) for child in word.children("npadvmod")
    )


def has_length(sentence: Sentence) -> bool:
    """Return True if a sentence gives a duration: "two days", "half an hour", "until May"."""
    return any(
        (word.lemma in _WORDS["units"] and _is_counted(word) and not _is_ago(word))
        or (word.is_time and word.head.lower in _UNTIL)
        for word in sentence.words
    )


def is_measured(measure: Word) -> bool:
    """Return True if a measure has a quantity: "two days long", not "too long on Monday"."""
    return any(
        (word.is_time or word.is_amount) or word.tag == "CD"
        for word in measure.subtree()
        if word is not measure
    )


def is_of_sort(word: Word, sort: str) -> bool:
    """Return True if a word may be a value of the sort that a general noun names."""
    if sort in ("person", "people"):
        return is_person(word)
    if sort == "number":
        digits = sum(character.isdigit() for character in word.text)
        return digits >= _FEWEST_DIGITS and not (
            word.is_time or word.label in ("MONEY", "QUANTITY")
        )
    return word.label in _KINDS.get(sort, ())


def describes(verb: Word) -> bool:
    """Return True if a verb describes its subject: "is a nurse", "works as a nurse"."""
    if verb.is_denied:
        return False
    if verb.lemma == "be":
        return any(map(_is_role, verb.children("attr")))
    ways = {way.lemma for way in verb.children("prep")}
    if "as" in ways:
        return True
    if verb.lemma == "work":
        return not ways.isdisjoint(("for", "at", "with"))
    return verb.lemma in _WORDS["posts"] and any(
        child.is_noun and not child.is_time for child in verb.children("dobj", "prt", "prep")
    )


def is_occupied(verb: Word) -> bool:
    """Return True if a verb gives its subject an occupation: "is a nurse", not "is a good dog"."""
    if verb.lemma != "be":
        return describes(verb)
    values = [word for word in verb.children("attr") if not word.child("nsubj")]  # "his wife cooks"
    return any(is_occupation(word.lemma) for word in values) and not verb.is_denied


def has_occupation_beside(name: Word) -> bool:
    """Return True for "Stan (electrician)" and "Ana, the vet": an occupation in apposition."""
    return name.is_proper and any(is_occupation(word.lemma) for word in _apposed(name))


def is_occupation(noun: str) -> bool:
    """Return True for the base form of a word for what somebody does for a living."""
    return noun in OCCUPATIONS or noun.endswith(_CRAFTS)


def is_described(name: Word) -> bool:
    """Return True if a noun in apposition describes a name: "Ana, the nurse", "Ana from Shell"."""
    if any(map(_is_role, _apposed(name))):
        return True
    within = name.children("compound", "nmod")  # "my sister Ana"
    if any(word.tag == "NN" and _is_role(word) for word in within):
        return True
    if name.head.lemma == "be" and name.dep == "attr":  # "my boss is Ana"
        return any(_is_role(word) and not is_person(word) for word in name.head.children("nsubj"))
    return any(
        of.lemma in ("from", "of", "at") and any(child.is_proper for child in of.children("pobj"))
        for of in name.children("prep")
    )


def _apposed(name: Word) -> list[Word]:
    """Return the nouns in apposition to a name, with no verb between, that are no persons."""
    beside = [*name.children("appos"), *((name.head,) if name.dep == "appos" else ())]
    return [
        noun
        for noun in beside
        if not is_person(noun)
        and not any(word.is_verb for word in min(name, noun).until(max(name, noun)))
    ]


def _is_role(word: Word) -> bool:
    denied = any(child.lemma == "no" for child in word.children("det"))
    return word.is_noun and not (word.is_time or word.is_amount) and not denied


def _is_counted(noun: Word) -> bool:
    """Return True for a quantity: "two days", "a day", "half an hour"; not "the day"."""
    return any(word.tag == "CD" or word.lower in _VAGUE for word in noun.children())


def _is_ago(noun: Word) -> bool:
    return noun.head.lower in ("ago", "later", "before", "after")


def _is_clock(word: Word) -> bool:
    return ":" in word.text
