"""Read changes from words and their order, where a parser misreads the grammar of a sentence.

The later of two statements has to name, right beside a cue of ending ("left X", "no longer in X",
"Y instead of X"), a value that the earlier one gives, and to speak of the same subject. Only the
tags of words are used, not how they depend on each other, so that this reader fails on other
sentences than `claims` and `endings` do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.reflect.claim_model import family
from hindsight_integrations.reflect.word_phrases import (
    LEAD,
    NAME,
    PRESENT,
    STOPS,
    Given,
    Phrase,
    Text,
    asserts,
    given_by,
    read_text,
)

_WORDS = word_sets("word_changes")
_CHANGES = word_sets("changes")
_ENDINGS = word_sets("endings")
_CUES = {
    name: sorted((tuple(cue.split("_")) for cue in _WORDS[name]), key=len, reverse=True)
    for name in ("instead", "succeeds", "replaces", "drops", "stops")
}
_SHIFTS = frozenset(cue for cue in _ENDINGS["shifts"] if "_" not in cue) - _WORDS["journeys"]
_BONDS = {name: frozenset(verbs.split()) for name, verbs in table("endings")["bonds"].items()}
_ENDS = {
    name: frozenset(tuple(cue.split("_")) for cue in cues.split())
    for name, cues in table("endings")["ends"].items()
}
_GENERAL = frozenset(term for word in _ENDINGS["general"] | {"new"} for term in lexemes(word))
_PEOPLE = frozenset(table("changes")["people"]["groups"].split())
_CUE = re.compile(table("word_changes")["pattern"]["cue"], re.VERBOSE | re.IGNORECASE)

_PAST = frozenset({"VBD", "VBN"})
_CONTENT = ("NN", "VB", "JJ", "CD")
_ANY_MORE = frozenset({"any more", "any longer", "anymore"})
_THIRD = frozenset({"he", "she", "it", "they"})
_LASTING = ("for good", "for ever", "at all", "any more", "any longer", "anymore")
_CLAUSE_ENDS = STOPS | {"and", "but", "because", "as", "so", "due", "while", "where", "which"}

Subject = Literal["speaker", "third", "phrase", "none", "named", "other"]


class WordChange(NamedTuple):
    """The value that has ended, and the one after it if there is one."""

    before: str
    after: str | None


class _Cue(NamedTuple):
    """A cue beside a phrase: its place, the phrase after the change, and whose change it is."""

    at: int
    after: Phrase | None
    subject: Subject
    phrase: Phrase | None = None


def may_tell_change(text: str) -> bool:
    """Return True if a sentence has a cue of ending; a quick test before anything is parsed."""
    return bool(_CUE.search(text))


def change_by_words(older: str, newer: str, *, same_speaker: bool) -> WordChange | None:
    """Return how a later sentence changes an earlier one; None if it does not for certain.

    Args:
        older: the earlier sentence.
        newer: the later one.
        same_speaker: both are said by the same person, so that "my car" is one car.
    """
    if not may_tell_change(newer) or may_tell_change(older):
        return None
    given, text = given_by(older), read_text(newer)
    if given is None or not asserts(text, newer):
        return None
    for value in given.values:
        for phrase in text.phrases:
            if not _is_same(value, phrase, given):
                continue
            cue = _cue_beside(text, phrase, given)
            if cue is None or not _is_of_subject(text, phrase, cue, given, same=same_speaker):
                continue
            return _told(text, value, phrase, cue, given)
    return None


def _told(text: Text, value: Phrase, phrase: Phrase, cue: _Cue, given: Given) -> WordChange | None:
    """Return the change, with what came instead; None if that is unclear."""
    after = cue.after
    if after is None:
        fresh = [one for one in text.phrases if _is_fresh(one, given, phrase)]
        stated = [one for one in fresh if _is_stated(text, one, cue, given)]
        found = [one for one in stated if _is_sequel(text, one, phrase, given)]
        since = any(word.lower in _WORDS["since"] for word in text.words)
        if len(found) > 1 or ((stated or (since and fresh)) and not found):
            return None
        after = found[0] if found else None
    if after is not None and after.terms <= value.terms:
        return None
    return WordChange(value.value.text, after.value.text if after else None)


# Values and what follows them


def _is_same(value: Phrase, phrase: Phrase, given: Given) -> bool:
    """Return True if a phrase names a value: "Hamburg" is the "Hamburg volleyball club"."""
    if not phrase.terms or phrase.owned or value.value.kind == "frequency":
        return False
    if phrase.terms - given.text.terms - _GENERAL:
        return False
    if "number" in (value.value.kind, phrase.value.kind):
        return value.terms == phrase.terms
    shared = phrase.head & value.terms
    return bool(shared) and (bool(phrase.names & value.names) or phrase.head == value.head)


def _limits(text: Text, index: int, given: Given, *, dated: bool = False) -> bool:
    """Return True if the rest of a clause limits what ended: "on Sundays", "with Tom".

    Args:
        text: the later sentence.
        index: the first word after what ended.
        given: the earlier statement.
        dated: a day says when it ended, as of what happened once.
    """
    rest = list(takewhile(lambda word: word.lower not in _CLAUSE_ENDS, text.words[index:]))
    spoken = " ".join(word.lower for word in rest)
    for lasting in _LASTING:
        spoken = spoken.removesuffix(lasting).rstrip()
    kept = rest[: len(spoken.split())]
    if any(word.lower == "for" and _is_time(after) for word, after in pairwise(kept)):
        return True
    return not all(
        word.lower in _WORDS["past_times"]
        or _is_known(word, given)
        or (word.tag == "CD" and before.lower != "at")
        or (dated and _is_time(word) and not word.tag.endswith("S"))
        for before, word in pairwise([text.words[index - 1], *kept])
    )


def _is_time(word: Word) -> bool:
    return word.label in ("DATE", "TIME")


def _is_known(word: Word, given: Given) -> bool:
    if word.tag in LEAD or word.tag in ("RP", "TO"):
        return True
    if word.tag == "IN":
        return word.lower not in _WORDS["limiting"]
    return word.tag[:2] in _CONTENT and set(lexemes(word.text)) <= given.text.terms


def _is_plain(words: Sequence[Word], given: Given) -> bool:
    """Return True if words between a cue and its value say nothing that was not said before."""
    return all(
        word.tag[:2] not in _CONTENT
        or word.lemma in _WORDS["light"]
        or set(lexemes(word.text)) <= given.text.terms
        for word in words
    )


# Cues


def _cue_beside(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Return the cue that says that a phrase has ended."""
    readers = (_shifted, _instead, _succeeded, _replaced, _dropped, _no_longer, _undergone)
    return next((cue for read in readers if (cue := read(text, phrase, given))), None)


def _before(text: Text, index: int, cues: Sequence[tuple[str, ...]]) -> int | None:
    """Return where a cue begins that ends before a place, but for articles and adverbs."""
    at = index - 1
    while at >= 0 and (
        text.words[at].tag in LEAD or (text.words[at].tag == "RB" and text.lower(at) != "not")
    ):
        at -= 1
    for cue in cues:
        first = at - len(cue) + 1
        if first >= 0 and all(
            part in (word.lemma, word.lower)
            for part, word in zip(cue, text.words[first : at + 1], strict=True)
        ):
            return first
    return None


def _shifted(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "moved from X to Y" and "58 euros, up from 49 euros"."""
    start = _before(text, phrase.start, [("from",)])
    if start is None:
        return None
    if text.lower(start - 1) in ("up", "down"):
        numbers = [p for p in text.phrases if p.end < start and p.value.kind == "number"]
        of_number = phrase.value.kind == "number" and numbers
        return _Cue(start, numbers[-1], "named") if of_number else None
    after = text.phrase_at(phrase.end + 1) if text.lower(phrase.end) in ("to", "->", "→") else None
    verb = next(
        (w for w in text.words[:start][::-1] if w.lemma in _SHIFTS and _is_told(text, w)), None
    )
    if (
        after is None
        or verb is None
        or not phrase.fits(after)
        or _limits(text, after.end, given, dated=True)
    ):
        return None
    moved = [p for p in text.phrases if verb.index < p.start < start]
    if any(not p.terms <= given.text.terms for p in moved):
        return None
    return _cue(text, verb.index, after)


def _instead(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "is now Y instead of X", "meets on Y from now on rather than on X"."""
    preposition = text.words[phrase.start - 1].tag == "IN" if phrase.start else False
    start = _before(text, phrase.start, _CUES["instead"])
    if start is None and preposition:
        start = _before(text, phrase.start - 1, _CUES["instead"])
    before = [p for p in text.phrases if start is not None and p.end <= start]
    verbs = [w for w in text.words[:start] if w.tag in PRESENT]
    begins = text.lower(0) == "from" or any(w.lower in _WORDS["since"] for w in text.words)
    if start is None or not before or not verbs or not begins:
        return None
    if not phrase.fits(before[-1]) or _limits(text, phrase.end, given):
        return None
    return _cue(text, verbs[-1].index, before[-1])


def _succeeded(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "Y has replaced X", "Y took over from X"."""
    start = _before(text, phrase.start, _CUES["succeeds"])
    if start is None or not _is_told(text, text.words[start]) or _limits(text, phrase.end, given):
        return None
    if text.lower(phrase.end) in ("with", "by", "for") or text.lower(start - 1) in ("was", "were"):
        return None
    kind, after = _subject(text, start)
    fits = kind == "phrase" and after is not None and phrase.fits(after)
    return _Cue(start, after, "named") if fits else None


def _replaced(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "swapped X for Y", "left X for Y"."""
    start = _before(text, phrase.start, _CUES["replaces"])
    if start is None or text.lower(phrase.end) not in ("for", "with", "by"):
        return None
    after = text.phrase_at(phrase.end + 1)
    told = _is_told(text, text.words[start])
    if (
        after is None
        or not told
        or not phrase.fits(after)
        or _limits(text, after.end, given, dated=True)
    ):
        return None
    return _cue(text, start, after)


def _dropped(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "gave up X", "moved out of X", "stopped taking X"."""
    at, cues = phrase.start, _CUES["drops"]
    doing = [w for w in text.words[max(0, at - 3) : at] if w.tag == "VBG"]
    if doing and doing[-1].lemma in {given.verb, *_WORDS["light"]}:
        at, cues = doing[-1].index, _CUES["stops"]
    start = _before(text, at, cues)
    if start is None or not _is_told(text, text.words[start]) or _limits(text, phrase.end, given):
        return None
    cue = tuple(word.lemma for word in text.words[start:at] if word.tag not in LEAD)
    if given.verb == cue[0] or (not doing and not _may_end(cue, given.verb)):
        return None
    return None if _is_departure(text, cue, phrase, given) else _cue(text, start, None)


def _may_end(cue: Sequence[str], verb: str) -> bool:
    """Return True if a cue may end such a bond: one leaves a team, and sells a car."""
    bonds = [
        name for name, cues in _ENDS.items() for known in cues if tuple(cue[: len(known)]) == known
    ]
    verbs = {verb, family(verb, verb)}
    return not bonds or "any" in bonds or any(verbs & _BONDS.get(name, set()) for name in bonds)


def _is_departure(text: Text, cue: Sequence[str], phrase: Phrase, given: Given) -> bool:
    """Return True if "left X" may mean that somebody went away for a while."""
    if cue[0] not in ("leave", "quit") or phrase.value.kind != "name":
        return cue[0] == "leave"
    for_good = any(word.lower == "good" for word in text.words)
    rest = takewhile(lambda word: word.text not in STOPS, text.words[phrase.end :])
    away = any(
        (word.tag == "VBD" and word.lemma not in _WORDS["begins"])
        or (word.label == "PERSON")
        or (word.lower in _WORDS["of_a_day"])
        for word in rest
    )
    return away or (family(given.verb, given.verb) == "residence" and not for_good)


def _no_longer(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "is no longer X (but Y)", "used to be X", "does not do X any more"."""
    clause = _clause_before(text, phrase.start)
    for at in range(phrase.start - 1, clause - 1, -1):
        pair = (text.lower(at), text.lower(at + 1))
        used = pair == ("used", "to") and text.words[at - 1].lemma not in ("be", "get")
        if pair == ("no", "longer") or used:
            return _ended(text, phrase, given, at, at + 2, phrase.end)
        if text.lower(at) in ("not", "n't"):
            ends = _any_more(text, phrase.end)
            return _ended(text, phrase, given, at, at + 1, ends) if ends is not None else None
    return None


def _any_more(text: Text, index: int) -> int | None:
    """Return the place after "any more" if no word of content is before it."""
    for at in range(index, len(text.words)):
        for size in (2, 1):
            if " ".join(w.lower for w in text.words[at : at + size]) in _ANY_MORE:
                return at + size if text.lower(at + size) != "than" else None
        if text.words[at].tag[:2] in _CONTENT or text.lower(at) in _CLAUSE_ENDS:
            return None
    return None


def _ended(text: Text, phrase: Phrase, given: Given, cue: int, start: int, end: int) -> _Cue | None:
    between = text.words[start : phrase.start]
    others = [v for v in given.values if any(v.terms <= {*lexemes(w.text)} for w in between)]
    if others or not _is_plain(between, given):
        return None
    verb = cue - 1 if text.words[cue - 1].tag[:2] in ("VB", "MD") else cue
    if text.lower(end) == "but":
        after = text.phrase_at(end + 1) or text.phrase_at(end + 2)
        return _cue(text, verb, after) if after is not None and phrase.fits(after) else None
    return None if _limits(text, end, given) else _cue(text, verb, None)


def _undergone(text: Text, phrase: Phrase, given: Given) -> _Cue | None:
    """Read "X was replaced by Y", "X has been retired"."""
    at = phrase.end
    while text.lower(at) in _WORDS["helpers"] or (text.lower(at) and text.words[at].tag == "RB"):
        at += 1
    if at == phrase.end or text.lower(at) == "" or text.words[at].tag != "VBN":
        return None
    if not _is_told(text, text.words[at]):
        return None
    lemma, further = (
        text.words[at].lemma,
        at + 1 + (text.words[min(at + 1, len(text.words) - 1)].tag == "RP"),
    )
    if (lemma,) in _CUES["succeeds"] and text.lower(further) in ("by", "with"):
        after = text.phrase_at(further + 1)
        return _Cue(at, after, "named") if after is not None and phrase.fits(after) else None
    ended = lemma in _WORDS["undergone"] and not _limits(text, further, given)
    return _Cue(at, None, "named") if ended else None


def _is_told(text: Text, verb: Word) -> bool:
    """Return True for a verb of what has happened; False for what is denied, or to come."""
    past = verb.tag in _PAST or (verb.lower in ("quit", "cut", "put") and verb.tag != "VBG")
    before = {word.lower for word in text.words[max(0, verb.index - 4) : verb.index]}
    return past and before.isdisjoint(_WORDS["untold"])


def _clause_before(text: Text, index: int) -> int:
    while index and text.lower(index - 1) not in STOPS:
        index -= 1
    return index


# Whose change it is


def _cue(text: Text, index: int, after: Phrase | None) -> _Cue:
    kind, phrase = _subject(text, index)
    return _Cue(index, after, kind, phrase)


def _subject(text: Text, verb: int) -> tuple[Subject, Phrase | None]:
    """Return who is before a verb."""
    at = verb - 1
    while at >= 0 and (text.words[at].tag in ("RB", "MD") or text.lower(at) in _WORDS["helpers"]):
        at -= 1
    if text.lower(at) in ("and", "but"):
        earlier = [w.index for w in text.words[:at] if w.tag in ("VBD", *PRESENT)]
        return _subject(text, earlier[-1]) if earlier else ("none", None)
    if at < 0 or text.lower(at) in STOPS | {"that", "because", "so", "since"}:
        return "none", None
    if text.lower(at) in ("i", "we"):
        return "speaker", None
    if text.lower(at) in _THIRD:
        return "third", None
    phrase = next((p for p in text.phrases if p.start <= at < p.end), None)
    return ("phrase", phrase) if phrase is not None else ("other", None)


def _is_of_subject(text: Text, phrase: Phrase, cue: _Cue, given: Given, *, same: bool) -> bool:
    """Return True if a cue is about the subject of the earlier statement."""
    others = [one for one in text.phrases if one not in (phrase, cue.after)]
    named = [one for one in others if _names_subject(text, one, given)]
    if given.first and not same:
        return False
    owned = any(text_word.lower in ("my", "our") for p in given.subject
                for text_word in given.text.words[max(0, p.start - 1) : p.start])  # fmt: skip
    if cue.subject == "speaker":
        if not given.subject:
            return given.first
        acts = any(word.lemma in _PEOPLE for p in given.subject for word in p.words)
        return not acts and bool(named) and not (given.names and not owned)
    if cue.subject == "phrase":
        return cue.phrase is not None and _names_subject(text, cue.phrase, given)
    if cue.subject in ("none", "named"):
        people = any(word.label == "PERSON" for one in others for word in one.words)
        return bool(named) or (given.first and not given.subject and not people)
    if cue.subject == "third" and named:
        pronoun = next((w.index for w in text.words if w.lower in _THIRD), cue.at)
        before = [one for one in others if one.start < pronoun and (one.names or one in named)]
        return bool(before) and all(one in named for one in before)
    return False


def _names_subject(text: Text, phrase: Phrase, given: Given) -> bool:
    """Return True if a phrase names the earlier subject, and nobody's sister or other one."""
    another = any(word.lower in _ENDINGS["another"] for word in phrase.words)
    if not phrase.terms or phrase.owned or another:
        return False
    common = {term for w in phrase.words if w.tag not in NAME for term in lexemes(w.text)}
    if common - given.terms - _GENERAL:
        return False
    before = text.words[phrase.start - 1] if phrase.start else None
    if before is not None and before.tag == "POS" and not _owner_is_known(text, phrase, given):
        return False
    if given.names and not any(p.owned for p in given.subject):
        names = phrase.names
        return bool(names) and (names <= given.names or given.names <= names)
    return any(phrase.head == one.head for one in given.subject if not one.owned)


def _owner_is_known(text: Text, phrase: Phrase, given: Given) -> bool:
    owner = next((p for p in text.phrases if p.owned and p.end == phrase.start - 1), None)
    return owner is not None and owner.terms <= given.terms


# What came instead


def _is_fresh(phrase: Phrase, given: Given, ended: Phrase) -> bool:
    """Return True for a phrase that the earlier statement does not have, and that is no time."""
    times = ("date", "time")
    day = phrase.value.kind in times and ended.value.kind not in times
    dated = phrase.words[-1].label in ("DATE", "TIME") and phrase.value.kind != "number"
    return (
        bool(phrase.terms)
        and not phrase.terms <= given.text.terms
        and not (phrase.is_time or day or dated)
        and phrase.value.text.lower() not in ("nothing", "none", "nobody")
    )


def _verb_of(text: Text, phrase: Phrase) -> Word | None:
    verbs = (w for w in text.words[: phrase.start][::-1] if w.tag in (*PRESENT, *_PAST, "VB"))
    return next(verbs, None)


def _is_stated(text: Text, phrase: Phrase, cue: _Cue, given: Given) -> bool:
    """Return True for a phrase that a clause beside the cue says of the subject."""
    verb = _verb_of(text, phrase)
    if verb is None or verb.index == cue.at:
        return False
    if verb.lemma in _WORDS["begins"] and verb.tag in (*_PAST, "VBP"):
        return True
    joined = verb.tag == "VB" and text.lower(verb.index - 1) in ("and", "but")
    kind, subject = _subject(text, verb.index)
    known = subject is not None and (
        _names_subject(text, subject, given) or subject.terms <= given.text.terms
    )
    own = kind in ("speaker", "third", "none") or known
    return own and (verb.tag in PRESENT or joined) and verb.lemma in ("be", given.verb)


def _is_sequel(text: Text, phrase: Phrase, ended: Phrase, given: Given) -> bool:
    """Return True for the Y of "gave up X and took up Y", "I am at Y now, I left X"."""
    verb = _verb_of(text, phrase)
    if verb is None or phrase.words[-1].tag.startswith("JJ"):
        return False
    between = [p for p in text.phrases if verb.index < p.start < phrase.start]
    alike = phrase.value.kind == ended.value.kind
    if verb.lemma in _WORDS["begins"]:
        person = any(word.label == "PERSON" for word in phrase.words)
        return not between and not person and alike
    if any(not p.terms <= given.text.terms for p in between):
        return False
    return ended.fits(phrase) or (alike and verb.lemma == given.verb)
