"""Questions read from their grammar: what is asked for, and of what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.sentences import Sentence, parse

WORDS = word_sets("questions")
CATEGORIES = {name: set(words.split()) for name, words in table("questions")["categories"].items()}
SELF = frozenset("i me my mine we us our ours myself ourselves".split())
"""First-person pronouns, singular and plural."""

_TITLES = word_sets("names")["honorifics"] | word_sets("names")["ranks"]
_AFTER_SUBJECT = ("DT", "JJ", "PRP$", "RB", "VBN", "CD")
_MEASURES = frozenset("now many much long old often far tall big".split())
_AUXILIARIES = frozenset({"be", "do", "have", "will", "would", "can", "could", "should", "'s"})


def _synonyms() -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for line in table("questions")["same"].strip().splitlines():
        stems = {stem for word in line.split() for stem in lexemes(word)}
        for stem in stems:
            groups.setdefault(stem, set()).update(stems)
    return groups


_SAME = _synonyms()


class Asked(StrEnum):
    """Kind of answer that a question asks for."""

    WHO = "who"
    WHERE = "where"
    WHEN = "when"
    WHY = "why"
    NUMBER = "how many"
    AMOUNT = "how much"
    EXTENT = "how long"
    NAME = "name"
    JOB = "job"
    EVENTS = "events"
    """Whatever happened, or somebody did, in a time that is named."""
    WHAT = "what"
    WHETHER = "whether"
    OTHER = "other"
    """Something that no rule finds the answer to: how it is done, whose it is."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question that an answer has to speak of.

    Attributes:
        stems: it and the words that stand for it.
        is_self: it is the asker: "I", "my".
        is_name: it is a proper name.
        owner: whose it is, for "Alice's dog" or "my dog".
    """

    text: str
    stems: frozenset[str]
    is_self: bool = False
    is_name: bool = False
    owner: Term | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question.

    Attributes:
        asked: what it asks for.
        terms: what the answer has to speak of, the verb apart.
        verb: stems of the verb; empty for a light one ("is", "has").
        subject: the term that does what the verb says, or is what it says; None if that is what
            is asked for.
        passive: the subject is what the verb is done to.
        focus: the noun of "which city", "how many dinghies"; empty if there is none.
        past: it asks about the past.
        future: it asks about the future.
        light: base form of a light verb.
        measure: "old", "long", "often", ... of a question for an extent; else empty.
        alternative: it offers things to choose from: "tea or coffee".
        able: it asks what somebody can do.
    """

    asked: Asked
    terms: tuple[Term, ...]
    verb: frozenset[str] = frozenset()
    subject: Term | None = None
    passive: bool = False
    focus: str = ""
    past: bool = False
    future: bool = False
    light: str = ""
    measure: str = ""
    alternative: bool = False
    able: bool = False


def stems(word: str) -> frozenset[str]:
    """Return the stems of a word and of the words that may stand for it."""
    own = set(lexemes(word))
    return frozenset(own.union(*(_SAME.get(stem, ()) for stem in own)))


def read_question(text: str, ignored: Sequence[str] = ()) -> Query | None:
    """Return what a question asks for; None for other text, or a question too open to answer.

    Args:
        text: the question.
        ignored: parts of it that name a time, which is no matter of words.
    """
    bare = text
    for part in ignored:
        bare = re.sub(rf"\b(?:(?:in|on|at|during|since|of) )?{re.escape(part)}", "", bare)
    sentence = parse(" ".join(bare.split()))
    opening = next((i for i, w in enumerate(sentence.words) if w.tag.startswith("W")), None)
    if not sentence.words or _is_open(sentence):
        return None
    if opening is None or opening > 1:
        polar = sentence.words[0].lemma in _AUXILIARIES
        return _Reader(sentence, -1).read(Asked.WHETHER) if polar else None
    return _Reader(sentence, opening).read(_asked(sentence, opening))


def _is_open(sentence: Sentence) -> bool:
    """Return True if the question is put to the reader, as "what do you know of ..."."""
    return any(word.text.casefold() in ("you", "your") for word in sentence.words)


def _asked(sentence: Sentence, opening: int) -> Asked:
    words = [word.text.casefold() for word in sentence.words]
    kinds = {
        "who": Asked.WHO, "whom": Asked.WHO, "where": Asked.WHERE,
        "when": Asked.WHEN, "why": Asked.WHY, "what": Asked.WHAT, "which": Asked.WHAT,
    }  # fmt: skip
    word = words[opening]
    following = words[opening + 1] if opening + 1 < len(words) else ""
    if word == "how":
        extents = dict.fromkeys(("long", "old", "often", "far", "tall", "big"), Asked.EXTENT)
        counts = {"many": Asked.NUMBER, "much": Asked.AMOUNT} | extents
        return counts.get(following, Asked.OTHER)
    if word in ("what", "which") and following in ("time", "day", "date", "year", "month"):
        return Asked.WHEN
    if word in ("what", "which") and following in ("city", "country", "town", "place"):
        return Asked.WHERE if "live" in words or "work" in words else Asked.WHAT
    return kinds.get(word, Asked.OTHER)


class _Reader:
    """Reads one question; `opening` is the index of its question word, or -1."""

    def __init__(self, sentence: Sentence, opening: int) -> None:
        self._words = sentence.words
        self._sentence = sentence
        self._opening = opening
        self._auxiliary = self._first_auxiliary()
        self._verb = self._main_verb()
        self._focus = self._focus_nouns()

    def read(self, asked: Asked) -> Query:
        """Return the question."""
        lemmas = {word.lemma for word in self._words}
        if asked is Asked.WHAT and (lemmas & {"name", "call"}) and self._is_naming():
            asked = Asked.NAME
        if asked is Asked.WHAT and self._is_job():
            asked = Asked.JOB
        verb = None if self._verb is None else self._words[self._verb]
        light = self._light()
        named = asked is Asked.NAME and verb is not None and verb.lemma in ("call", "name")
        content = verb is not None and not light and not named
        terms = tuple(self._terms(asked))
        first = self._auxiliary is not None and self._words[self._auxiliary]
        return Query(
            asked=asked,
            terms=terms,
            verb=stems(verb.text if lexemes(verb.text) else verb.lemma) | stems(verb.lemma)
            if content and verb is not None
            else frozenset(),
            subject=self._subject(terms),
            passive=bool(first and first.lemma == "be" and verb and verb.tag == "VBN"),
            focus=" ".join(self._words[i].text.casefold() for i in self._focus),
            past=bool(first and first.tag == "VBD") or bool(verb and verb.tag == "VBD"),
            future=bool(first and first.lemma in ("will", "would")),
            light=light or ("be" if named else ""),
            measure=self._words[self._opening + 1].lemma if asked is Asked.EXTENT else "",
            alternative="or" in lemmas,
            able=bool(first and first.lemma in ("can", "could")),
        )

    def _light(self) -> str:
        """Return the verb if it says nothing beside its nouns: "be", "have", "take place"."""
        if self._verb is None:
            return ""
        lemma, after = self._words[self._verb].lemma, self._words[self._verb + 1 :]
        places = lemma == "take" and any(word.lemma == "place" for word in after)
        return lemma if places or lemma in WORDS["light"] else ""

    def _first_auxiliary(self) -> int | None:
        start = self._opening + 1
        for index in range(start, len(self._words)):
            word = self._words[index]
            if word.lemma in _AUXILIARIES and word.tag != "POS":
                return index
            if word.is_verb and not self._is_counted(index):
                return None
        return None

    def _is_counted(self, index: int) -> bool:
        """Return True for the noun of "which languages does", which a tagger may call a verb."""
        following = self._words[index + 1] if index + 1 < len(self._words) else None
        return (
            self._opening >= 0
            and index == self._opening + 1
            and self._words[self._opening].text.casefold() in ("what", "which")
            and following is not None
            and following.lemma in _AUXILIARIES
        )

    def _main_verb(self) -> int | None:
        """Return the first verb after the auxiliary and its subject; else the auxiliary."""
        start = self._opening + 1 if self._auxiliary is None else self._auxiliary + 1
        root = next(iter(self._sentence.roots()))
        verbs = [
            i
            for i in range(start, len(self._words))
            if (self._words[i].tag.startswith("V") or (i == root and i > start))
            and self._words[i].dep not in ("amod", "compound")
        ]
        if self._auxiliary is not None and verbs and self._words[self._auxiliary].lemma == "be":
            verbs = [i for i in verbs if self._words[i].tag in ("VBN", "VBG", "VBD")]
            verbs = verbs or self._adjective_before_preposition()
        return verbs[0] if verbs else self._auxiliary

    def _adjective_before_preposition(self) -> list[int]:
        """Return the "allergic" of "what is she allergic to"."""
        ends = [i for i, word in enumerate(self._words) if word.tag in ("IN", "TO")]
        return [i - 1 for i in ends[-1:] if self._words[i - 1].tag == "JJ"]

    def _focus_nouns(self) -> tuple[int, ...]:
        """Return the nouns between the question word and the verb: "cities" of "which cities"."""
        stop = self._auxiliary if self._auxiliary is not None else self._verb
        if stop is None or self._opening < 0:
            return ()
        return tuple(
            i
            for i in range(self._opening + 1, stop)
            if self._words[i].is_noun or self._is_counted(i)
        )

    def _is_naming(self) -> bool:
        last = [word.lemma for word in self._words if word.tag not in (".", ",")]
        return last[-1] in ("call", "name") or "name" in last[:5]

    def _is_job(self) -> bool:
        words = [word.lemma for word in self._words if word.tag != "."]
        return (
            words[-1] in WORDS["jobs"]
            and (words[0] == "what" and {"be", "do", "'s"} & set(words)) != set()
        )

    def _subject(self, terms: Sequence[Term]) -> Term | None:
        """Return the head of the subject: the last noun after the auxiliary, and no preposition."""
        if self._auxiliary is None:
            return None
        end = self._verb if self._verb and self._verb > self._auxiliary else len(self._words)
        head = None
        for index in range(self._auxiliary + 1, end):
            word = self._words[index]
            if word.tag == "IN" or (head is not None and word.tag in _AFTER_SUBJECT):
                break
            if (word.is_noun or word.text.casefold() in ("i", "we")) and not self._owns(index):
                head = word.text
        return next((term for term in terms if term.text == head), None)

    def _owns(self, index: int) -> bool:
        following = self._words[index + 1] if index + 1 < len(self._words) else None
        return following is not None and following.tag == "POS"

    def _terms(self, asked: Asked) -> Iterator[Term]:
        """Yield what an answer has to speak of."""
        owner: Term | None = None
        for index, word in enumerate(self._words):
            if index in (self._opening, self._verb, self._auxiliary):
                continue
            if index in self._focus and asked in (Asked.WHAT, Asked.WHEN, Asked.WHERE):
                continue
            if word.text.casefold() in SELF:
                owner = Term(word.text, frozenset(), is_self=True)
                if word.tag != "PRP$":
                    yield owner
                    owner = None
            elif self._is_content(index, asked):
                own = frozenset(lexemes(word.text)) if word.is_proper else stems(word.text)
                its = owner if word.is_noun else None
                term = Term(word.text, own, is_name=word.is_proper, owner=its)
                if self._owns(index):
                    owner = term
                    continue
                yield term
                part = word.dep == "compound" and word.head != self._verb
                owner = owner if part or not word.is_noun else None
        if owner is not None:  # of a noun that is what is asked for: "Alice's job"
            yield owner

    def _is_content(self, index: int, asked: Asked) -> bool:
        word = self._words[index]
        text = word.lemma
        if not lexemes(word.text) or word.tag in (".", ",", "POS", "IN", "DT"):
            return False
        if text in _TITLES and word.is_proper and self._words[index + 1].is_proper:
            return False  # "Aunt Salma"
        if asked is Asked.NAME and text in ("name", "call"):
            return False
        if asked is Asked.JOB and text in WORDS["jobs"]:
            return False
        if word.tag in ("RB", "RBR", "UH", "EX", "MD", "TO") or text in _MEASURES:
            return False
        return text not in WORDS["general"]
