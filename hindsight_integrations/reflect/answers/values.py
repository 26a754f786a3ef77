"""Values of the sort that a question asks for: an age, a length of time, a date, a number."""

from __future__ import annotations

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.sentences import Sentence
from hindsight_integrations.nlp.syntax import Word
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


def is_age(sentence: Sentence, verb: int) -> bool:
    """Return True if a verb gives its subject an age: "is 31", "turned 31", "is 3 years old"."""
    if sentence.words[verb].lemma not in ("be", "turn", "become"):
        return False
    for value in sentence.children(verb, "attr", "acomp", "dobj", "oprd"):
        word = sentence.words[value]
        if word.tag == "CD" and word.label not in ("MONEY", "TIME", "PERCENT", "QUANTITY"):
            return not sentence.children(value, "prep") and not _is_clock(word)
        if word.lemma == "year" and _is_counted(sentence, value):
            return not sentence.children(value, "prep", "acl", "relcl")
        if any(_is_old(sentence, i) for i in sentence.subtree(value)):
            return True
    return False


def _is_old(sentence: Sentence, index: int) -> bool:
    """Return True for a word that marks an age: "31 years old", "aged 31"."""
    word = sentence.words[index]
    if word.lower == "aged":
        return any(sentence.words[i].tag == "CD" for i in sentence.subtree(index))
    return word.lemma == "old" and any(
        sentence.words[i].lemma in _AGES and _is_counted(sentence, i)
        for i in sentence.children(index, "npadvmod")
    )


def has_length(sentence: Sentence) -> bool:
    """Return True if a sentence gives a duration: "two days", "half an hour", "until May"."""
    return any(
        (word.lemma in _WORDS["units"] and _is_counted(sentence, i) and not _is_ago(sentence, i))
        or (word.is_time and sentence.words[word.head].lower in _UNTIL)
        for i, word in enumerate(sentence.words)
    )


def is_measured(sentence: Sentence, measure: int) -> bool:
    """Return True if a measure has a quantity: "two days long", not "too long on Monday"."""
    return any(
        (sentence.words[i].is_time or sentence.words[i].is_amount) or sentence.words[i].tag == "CD"
        for i in sentence.subtree(measure)
        if i != measure
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


def describes(sentence: Sentence, verb: int) -> bool:
    """Return True if a verb describes its subject: "is a nurse", "works as a nurse"."""
    word = sentence.words[verb]
    if sentence.is_denied(verb):
        return False
    if word.lemma == "be":
        return any(_is_role(sentence, i) for i in sentence.children(verb, "attr"))
    ways = sentence.children(verb, "prep")
    if any(sentence.words[i].lemma == "as" for i in ways):
        return True
    if word.lemma == "work":
        return any(sentence.words[i].lemma in ("for", "at", "with") for i in ways)
    return word.lemma in _WORDS["posts"] and any(
        child.is_noun and not child.is_time
        for child in sentence.dependents(verb, "dobj", "prt", "prep")
    )


def is_occupied(sentence: Sentence, verb: int) -> bool:
    """Return True if a verb gives its subject an occupation: "is a nurse", not "is a good dog"."""
    if sentence.words[verb].lemma != "be":
        return describes(sentence, verb)
    values = [i for i in sentence.children(verb, "attr") if not sentence.children(i, "nsubj")]
    told = any(is_occupation(sentence.words[i].lemma) for i in values)  # "his wife cooks"
    return told and not sentence.is_denied(verb)


def has_occupation_beside(sentence: Sentence, name: int) -> bool:
    """Return True for "Stan (electrician)" and "Ana, the vet": an occupation in apposition."""
    beside = _apposed(sentence, name)
    proper = sentence.words[name].is_proper
    return proper and any(is_occupation(sentence.words[i].lemma) for i in beside)


def is_occupation(noun: str) -> bool:
    """Return True for the base form of a word for what somebody does for a living."""
    return noun in OCCUPATIONS or noun.endswith(_CRAFTS)


def is_described(sentence: Sentence, name: int) -> bool:
    """Return True if a noun in apposition describes a name: "Ana, the nurse", "Ana from Shell"."""
    word, head = sentence.words[name], sentence.head(name)
    if any(_is_role(sentence, i) for i in _apposed(sentence, name)):
        return True
    within = sentence.children(name, "compound", "nmod")  # "my sister Ana"
    if any(sentence.words[i].tag == "NN" and _is_role(sentence, i) for i in within):
        return True
    if head.lemma == "be" and word.dep == "attr":  # "my boss is Ana"
        subjects = sentence.children(word.head, "nsubj")
        return any(_is_role(sentence, i) and not is_person(sentence.words[i]) for i in subjects)
    return any(
        sentence.words[of].lemma in ("from", "of", "at")
        and any(child.is_proper for child in sentence.dependents(of, "pobj"))
        for of in sentence.children(name, "prep")
    )


def _apposed(sentence: Sentence, name: int) -> list[int]:
    """Return the nouns in apposition to a name, with no verb between, that are no persons."""
    word = sentence.words[name]
    beside = [*sentence.children(name, "appos"), *((word.head,) if word.dep == "appos" else ())]
    return [
        i
        for i in beside
        if not is_person(sentence.words[i])
        and not any(word.is_verb for word in sentence.words[min(name, i) : max(name, i)])
    ]


def _is_role(sentence: Sentence, noun: int) -> bool:
    word = sentence.words[noun]
    denied = any(child.lemma == "no" for child in sentence.dependents(noun, "det"))
    return word.is_noun and not (word.is_time or word.is_amount) and not denied


def _is_counted(sentence: Sentence, noun: int) -> bool:
    """Return True for a quantity: "two days", "a day", "half an hour"; not "the day"."""
    below = sentence.dependents(noun)
    return any(word.tag == "CD" or word.lower in _VAGUE for word in below)


def _is_ago(sentence: Sentence, noun: int) -> bool:
    return sentence.head(noun).lower in ("ago", "later", "before", "after")


def _is_clock(word: Word) -> bool:
    return ":" in word.text
