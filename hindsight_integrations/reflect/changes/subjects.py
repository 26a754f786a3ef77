"""Decide whether two statements are about one subject; if in doubt, no change is reported.

Somebody may have several friends, and two Toms are not one. A thing with a qualifier that the
earlier statement does not have may be another: the deadline, and the deadline for the flyers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.nlp.word_classes import (
    FINITE,
    GROUPS,
    OCCUPATIONS,
    PEOPLE,
    PERSONS,
    SUBJECTS,
)
from hindsight_integrations.reflect.changes.claim_model import Value, ValueChange, is_time
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.topics import DatedStatement

_GENERAL = frozenset(
    lexemes(
        "new now former old previous current present existing own whole entire next late final one"
    )
)
_NO_QUALIFIER = frozenset({"from", "to", "since", "until", "till", "as", "because", "than"})
_SOME_OF = re.compile(r"\b(?:one|some|two|three|most|many|none|another) of\b", re.IGNORECASE)
_LABEL = re.compile(r"\W*([^\W\d][^:.,;!?\n]{0,40}):\s")
_OWNERS = frozenset({"my", "our", "his", "her", "their", "your"})


def is_person_noun(key: str) -> bool:
    """Return True for the key of a person called by a noun: "user", "i|/sister"."""
    last = _thing(key).split()[-1:]
    return bool(last) and last[0] in PERSONS | OCCUPATIONS


def is_another(older: DatedStatement, newer: DatedStatement, value_change: ValueChange) -> bool:
    """Return True if the subject of a change may differ from that of the older statement."""
    thing = _thing(value_change.subject)
    if _labelled_by(older.text) != _labelled_by(newer.text):
        return True
    office = thing.split()[-1:] and thing.split()[-1] in OCCUPATIONS  # "the CEO" looks like a name
    if value_change.subject.startswith("@") and "/" not in value_change.subject and not office:
        return _is_namesake(thing, older.text, newer.text)
    if not thing or "|" in thing:
        return False
    noun = thing.split()[-1]
    noun = noun if noun in PEOPLE["several"] else noun.removesuffix("s")
    if noun in PEOPLE["several"]:
        named = (
            value_change.after and frozenset(lexemes(value_change.before)) <= newer.statement.terms
        )
        return not named and _is_one_of_several(noun, older.text, newer.text)
    if "@" in thing:
        return False
    return _is_qualified(noun, older, newer, value_change)


def _labelled_by(text: str) -> str:
    """Return the person or group of a label, "Mum: my dentist is now X"; "" if none."""
    label = _LABEL.match(text)
    words = label[1].casefold().split() if label else []
    if not words:
        return ""
    person = words[-1] in PERSONS | GROUPS or is_given_name(words[0])
    return " ".join(words).removeprefix("the ") if person else ""


def _thing(key: str) -> str:
    """Return the thing of a key, without its owner and its "of" phrase."""
    key = re.sub(r"^one of (?:my|our|his|her|their|the) ", "", key)
    return key.rpartition("/")[2].lstrip("@").partition(" of ")[0]


def _is_namesake(name: str, older: str, newer: str) -> bool:
    """Return True for another person of the name: "Uncle Tom", "the other Tom"."""
    found = [_before_name(name, text) for text in (older, newer)]
    return found[0] != found[1]


def _before_name(name: str, text: str) -> str:
    words = r"\W+".join(map(re.escape, name.split()))
    match = re.search(rf"(?:(\w+) )?(?:(\w+) )(?<!\w){words}(?!\w)", text, re.IGNORECASE)
    word = match[2].casefold() if match else ""
    mine = match is not None and (match[1] or "").casefold() in _OWNERS  # "my aunt Olga"
    return word if word in PEOPLE["namesakes"] and not mine else ""


def _is_one_of_several(noun: str, older: str, newer: str) -> bool:
    """Return True for a relative or the like of whom there may be several."""
    heads = [list(_heads(noun, text)) for text in (older, newer)]
    plural = {head.tag == "NNS" for found in heads for _, head in found}
    if _SOME_OF.search(f"{older} {newer}") or any(len(found) > 1 for found in heads):
        return True
    if plural == {True}:
        return False  # "our customers are": all of them
    return len(plural) > 1 or any(not _is_singled_out(*found[0]) for found in heads if found)


def _is_singled_out(sentence: Sentence, head: Word) -> bool:
    """Return True for a unique one: "my eldest son", "the patient"; not "my friend"."""
    words = sentence.words
    before = [word for word in words[max(0, head.index - 4) : head.index] if word.text != ","]
    lead = next((word.lower for word in before[::-1] if word.tag in ("DT", "PRP$", "POS")), "")
    if not PEOPLE["singled"].isdisjoint(word.lower for word in before):
        return True
    after = words[head.index + 1 : head.index + 2]
    named = bool(after) and after[0].text[:1].isupper()
    return named or lead in ("the", "this", "that")


def _heads(noun: str, text: str) -> Iterator[tuple[Sentence, Word]]:
    sentence = parse(text)
    for word in sentence.words:
        if word.tag.startswith("NN") and noun in (word.lemma, word.lower):
            yield sentence, word


def _is_qualified(
    noun: str, older: DatedStatement, newer: DatedStatement, value_change: ValueChange
) -> bool:
    """Return True if only the later subject has a qualifier."""
    known = older.statement.terms | _GENERAL | frozenset(lexemes(value_change.subject))
    known |= frozenset(lexemes(f"{value_change.before} {value_change.after or ''}"))
    prefixes = re.findall(rf"\b(\w+)-{re.escape(noun)}s?\b", newer.text, re.IGNORECASE)
    if not frozenset(lexemes(" ".join(prefixes))) <= known:
        return True
    heads = [word for _, word in _heads(noun, newer.text)]
    sentence = parse(newer.text)
    subjects = [word for word in heads if word.dep in (*SUBJECTS, "dobj", "compound")] or heads
    return bool(subjects) and all(not _qualifiers(sentence, word) <= known for word in subjects)


def _qualifiers(sentence: Sentence, head: Word) -> frozenset[str]:
    """Return the lexemes that distinguish a noun from others of its kind."""
    at = head.head if head.dep == "compound" else head
    words: list[str] = []
    for child in at.children():
        if child.dep in ("compound", "amod", "nmod", "poss", "nummod", "npadvmod"):
            words += [word.text for word in child.subtree() if word.tag != "POS"]
        elif child.dep == "prep" and child.lower not in _NO_QUALIFIER and child.index > at.index:
            below = child.subtree()[1:]
            value = plain_value(" ".join(word.text for word in below)) if below else None
            if value is not None and not _is_when(value):
                words += [word.text for word in below if word.tag != "POS"]
    words += [] if at is head else [at.text]
    following = sentence.words[at.index + 1 :]
    if following[:1] and following[0].tag == "IN" and following[0].lower not in _NO_QUALIFIER:
        verb = next((each for each in following if each.tag in FINITE), None)
        phrase = following[1 : verb.index - at.index - 1] if verb is not None else ()
        words += [each.text for each in phrase]  # a parser hangs it on the verb
    return frozenset(lexemes(" ".join(words)))


def _is_when(value: Value) -> bool:
    """Return True for the time of a change; not for recurring times such as "on Mondays"."""
    return is_time(value) and not value.text.endswith("s")
