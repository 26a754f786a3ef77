"""Which of the times that a sentence names is that of what a question asks of.

The first time of a sentence need not be it: "the passport that I got in 2015 expires in 2025". It
is the one that belongs to the verb or noun asked of, with no other verb between and no denial.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.nlp.time import TimeExpression, TimeSpan

_WORDS = word_sets("questions")
_WITHIN = ("compound", "amod", "nummod", "nmod", "poss")
"""Dependencies of a time within a noun phrase: "the 2010 report"."""

_DISTANCE = re.compile(r"\b(?:days?|weeks?|months?|years?)\b", re.IGNORECASE)

_ROLES = ("nsubj", "nsubjpass", "dobj", "attr")


@dataclass(frozen=True, slots=True)
class Event:
    """The event whose time a question asks for, as it occurs in one sentence.

    Attributes:
        verbs: its verbs.
        nouns: its nouns.
        by_noun: the question has no verb of its own: "when is the wedding".
    """

    verbs: frozenset[Word]
    nouns: frozenset[Word]
    by_noun: bool


def date_of(sentence: Sentence, event: Event, times: Sequence[TimeExpression]) -> TimeSpan | None:
    """Return the time of an event; None if it is unclear which time belongs to it."""
    found = [time.span for time in times if _belongs(sentence, event, time, len(times) == 1)]
    if not found or any(not _meet(found[0], other) for other in found[1:]):
        return None
    return found[0]


def _meet(one: TimeSpan, other: TimeSpan) -> bool:
    return one.start < other.end and other.start < one.end


def _belongs(sentence: Sentence, event: Event, time: TimeExpression, only: bool) -> bool:
    """Return True if a time depends on the event.

    If it is the only one of the sentence, it may do so by way of nouns that were not asked of.
    """
    own = {w for w in sentence.words if time.start_char <= w.start < time.end_char}
    if not own:
        return False
    first = min(own)
    before = sentence.words[first.index - 1]
    word = before if before.dep == "prep" else first  # "on 3 May Kai left"
    while word in own and word.head in own and not word.is_root:
        word = word.head
    way = word.lower if word.tag == "IN" else ""  # "in May"
    while not (word in event.verbs or (word.is_verb and word not in own)):
        above = word.head
        if word.dep == "prep":
            way = word.lower
        if way in _WORDS["relating"]:
            return False
        if word.is_root:
            return only or word in event.nouns
        if above.is_noun:
            if above in event.nouns and event.by_noun:
                return not _is_related(above, first)
            part = word.dep in _WITHIN or way in _WORDS["describing"]
            if part or not (only or above in event.nouns):
                return False
        word = above
    ends = word in event.verbs or (word.is_root and not event.verbs)
    aim = way == "for" and word.tag == "VBD"  # "bought a ticket for 3 May"
    return ends and not (
        aim or _is_unreal(word) or _is_related(word, first) or _is_counted_from(word, time)
    )


def _is_related(event: Word, time: Word) -> bool:
    """Return True for the time of another event: "signed it two days after the party on 3 May"."""
    return any(word.lower in _WORDS["relating"] for word in event.until(time))


def _is_counted_from(event: Word, time: TimeExpression) -> bool:
    """Return True for a time from which is counted back: "on 3 May it is a year since he left".

    What is counted itself dates the event: "six weeks today since he left".
    """
    between = (w for w in event.sentence.words[: event.index] if w.start >= time.end_char)
    return not _DISTANCE.search(time.text) and any(word.lower == "since" for word in between)


def _verbs_of(noun: Word) -> set[Word]:
    """Return the verb of which a noun is subject or object, if there is one."""
    head = noun.head
    return {head} if noun.dep in _ROLES and head.is_verb else set()


def _is_unreal(verb: Word) -> bool:
    """Return True for a denied or merely planned event: "was going to be on 3 May"."""
    if verb.is_denied:
        return True
    was = verb.tag == "VBD" or any(w.tag == "VBD" for w in verb.children("aux", "auxpass"))
    return was and verb.lemma in _WORDS["unkept"] and bool(verb.children("xcomp"))


def events_of(verbs: Collection[Word], nouns: Set[Word]) -> Event:
    """Return the events of these verbs; without verbs, of these nouns and their verbs.

    A verb under which another is done counts: "managed to fix it on Monday".
    """
    found = set(verbs)
    if not verbs:
        found = {word for noun in nouns for word in _verbs_of(noun)}
    for word in tuple(found):
        if word.dep == "acomp" or (word.dep == "xcomp" and word.head.lemma in _WORDS["doing"]):
            found.add(word.head)
    return Event(frozenset(found), frozenset(nouns), not verbs)
