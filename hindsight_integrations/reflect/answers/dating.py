"""Which of the times that a sentence names is that of what a question asks of.

The first time of a sentence need not be it: "the passport that I got in 2015 expires in 2025". It
is the one that belongs to the verb or noun asked of, with no other verb between and no denial.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.sentences import Sentence
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
        verbs: positions of its verbs.
        nouns: positions of its nouns.
        by_noun: the question has no verb of its own: "when is the wedding".
    """

    verbs: frozenset[int]
    nouns: frozenset[int]
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
    words = sentence.words
    own = {w.index for w in words if time.start_char <= w.start < time.end_char}
    if not own:
        return False
    index = min(own) - 1 if words[min(own) - 1].dep == "prep" else min(own)  # "on 3 May Kai left"
    while index in own and words[index].head in own and words[index].head != index:
        index = words[index].head
    way = words[index].lower if words[index].tag == "IN" else ""  # "in May"
    while not (index in event.verbs or (words[index].is_verb and index not in own)):
        above = words[index].head
        if words[index].dep == "prep":
            way = words[index].lower
        if way in _WORDS["relating"]:
            return False
        if above == index:
            return only or index in event.nouns
        if words[above].is_noun:
            if above in event.nouns and event.by_noun:
                return not _is_related(sentence, above, min(own))
            part = words[index].dep in _WITHIN or way in _WORDS["describing"]
            if part or not (only or above in event.nouns):
                return False
        index = above
    ends = index in event.verbs or (words[index].head == index and not event.verbs)
    aim = way == "for" and words[index].tag == "VBD"  # "bought a ticket for 3 May"
    return ends and not (
        aim
        or _is_unreal(sentence, index)
        or _is_related(sentence, index, min(own))
        or _is_counted_from(sentence, index, time)
    )


def _is_related(sentence: Sentence, event: int, time: int) -> bool:
    """Return True for the time of another event: "signed it two days after the party on 3 May"."""
    return any(word.lower in _WORDS["relating"] for word in sentence.words[event:time])


def _is_counted_from(sentence: Sentence, event: int, time: TimeExpression) -> bool:
    """Return True for a time from which is counted back: "on 3 May it is a year since he left".

    What is counted itself dates the event: "six weeks today since he left".
    """
    between = (w for w in sentence.words[:event] if w.start >= time.end_char)
    return not _DISTANCE.search(time.text) and any(word.lower == "since" for word in between)


def _verbs_of(sentence: Sentence, noun: int) -> set[int]:
    """Return the verb of which a noun is subject or object, if there is one."""
    head = sentence.words[noun].head
    return {head} if sentence.words[noun].dep in _ROLES and sentence.words[head].is_verb else set()


def _is_unreal(sentence: Sentence, verb: int) -> bool:
    """Return True for a denied or merely planned event: "was going to be on 3 May"."""
    words = sentence.words
    if sentence.is_denied(verb):
        return True
    helpers = (words[i] for i in sentence.children(verb, "aux", "auxpass"))
    was = words[verb].tag == "VBD" or any(helper.tag == "VBD" for helper in helpers)
    return was and words[verb].lemma in _WORDS["unkept"] and bool(sentence.children(verb, "xcomp"))


def events_at(sentence: Sentence, verbs: Collection[int], nouns: Set[int]) -> Event:
    """Return the events of these verbs; without verbs, of these nouns and their verbs.

    A verb under which another is done counts: "managed to fix it on Monday".
    """
    words = sentence.words
    found = set(verbs)
    if not verbs:
        found = {verb for noun in nouns for verb in _verbs_of(sentence, noun)}
    for verb in tuple(found):
        word = words[verb]
        if word.dep == "acomp" or (
            word.dep == "xcomp" and words[word.head].lemma in _WORDS["doing"]
        ):
            found.add(word.head)
    return Event(frozenset(found), frozenset(nouns), not verbs)
