"""Questions read from their grammar: what is asked for, and of what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, takewhile

from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.nlp.word_classes import TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.answers.indirect import direct
from hindsight_integrations.reflect.answers.named import (
    is_person_noun,
    titles_of,
    whole_name,
)

WORDS = word_sets("questions")
CATEGORIES = word_sets("questions", "categories")
KINDS = dict(word_sets("kinds", "names"))
KINDS["language"] = KINDS["code"] | word_sets("kinds", "nouns")["language"]
"""Well-known names of things, by what they are: "postgres" is a database."""
SELF = frozenset("i me my mine we us our ours myself ourselves".split())
"""First-person pronouns, singular and plural."""
PLURAL_SELF = frozenset("we us our ours ourselves".split())

_AFTER_SUBJECT = ("DT", "JJ", "PRP$", "RB", "VBN", "CD")
_WITHIN_SUBJECT = (*_AFTER_SUBJECT, "POS", "HYPH", "IN", "VBG")
_WITHIN_PHRASE = ("JJ", "JJR", "JJS", "CD", "POS", "HYPH", "DT", "PRP$", "VBN")
_TIME_NOUNS = frozenset({"time", "day", "date", "year", "month"})
_MEASURES = frozenset("now many much long old often far tall big".split())
_ANYTHING = frozenset("anything something anyone anybody someone somebody else".split())
"""Pronouns for whatever there may be, which an answer replaces: "Did it break anything?"."""
_AUXILIARIES = frozenset({"be", "do", "have", "will", "would", "can", "could", "should", "'s"})
_HELPERS = frozenset("do does did is are was were have has had can".split())
_PASSIVE = frozenset("am is are was were be been being get gets got gotten getting".split())
"""Verbs with which a participle is passive: "is paid", "got engaged"."""
_USED = re.compile(r"(?<=\s)used? to (?=\w)")
_BEFORE = re.compile(
    r",? (?:before(?: that| then)?|previously|formerly|earlier|originally)[?. ]*$"
    r"|,? before (?P<next>(?:[A-Z][\w'’-]*\s*)+)\?*$"
    r"|,? before (?:\w+ ){1,4}?(?:moved|switched|migrated|changed|joined)\b[^?]*\?*$"
)
"""Matches the end of a question for a former state."""


def _synonyms() -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for line in table("questions")["same"].strip().splitlines():
        stems = lexemes_of(line.split())
        for stem in stems:
            groups.setdefault(stem, set()).update(stems)
    return groups


_SYNONYMS = _synonyms()


class Asked(StrEnum):
    """Kind of answer that a question asks for."""

    WHO = "who"
    WHOSE = "whose"
    WHERE = "where"
    WHEN = "when"
    WHY = "why"
    NUMBER = "how many"
    AMOUNT = "how much"
    EXTENT = "how long"
    NAME = "name"
    EVENTS = "events"
    """Whatever happened, or somebody did, in a time that is named."""
    WHAT = "what"
    WHETHER = "whether"
    SAID = "said"
    HOW = "how"
    """By which means or in which manner something is done."""
    OTHER = "other"
    """Something that no rule finds the answer to: how somebody feels, whose it is."""


_SINGLE_VALUED = frozenset(
    {Asked.WHERE, Asked.WHEN, Asked.HOW, Asked.EXTENT, Asked.AMOUNT, Asked.NUMBER}
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question that an answer must contain, or a synonym.

    Attributes:
        stems: stems of the word and its synonyms.
        is_name: it is a proper name.
        name: words of the whole name that it is part of, folded; empty if it is none.
        owner: whose it is, for "Alice's dog" or "my dog".
        preposition: the preposition before it: "from" of "from Porto"; empty if there is none.
        article: the determiner before it, in lower case: "a", "the", "her"; empty if there is none.
        titles: the titles before a name, folded: "mrs".
        is_self: it is the asker: "I", "my".
        is_person: it is a common noun for a person: "landlord".
    """

    text: str
    stems: frozenset[str]
    is_name: bool = False
    name: frozenset[str] = frozenset()
    owner: Term | None = None
    preposition: str = ""
    article: str = ""
    titles: frozenset[str] = frozenset()
    is_self: bool = False
    is_person: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A question.

    Attributes:
        asked: kind of answer that it asks for.
        terms: terms that the answer must contain, without the verb.
        verb: stems of the content verb and its synonyms; empty for a light verb ("is", "has").
        action: base form of the content verb.
        subject: term of the grammatical subject; None if the question asks for the subject.
        passive: the content verb is in the passive.
        focus: the noun of "which city", "how many dinghies"; empty if there is none.
        past: it asks about the past.
        future: it asks about the future.
        light_verb: base form of a light verb; empty if there is a content verb.
        measure: "old", "long", "often", ... of a question for an extent; else empty.
        alternative: it offers things to choose from: "tea or coffee".
        asks_ability: it asks what somebody can do.
        is_negated: it is a negated question: "who does not eat fish".
        asks_former: it asks for a former state: "where did Ana live before?".
        followed_by: stems of the state after the former one, if it is named: "before Keiko".
        still: it has "still", and asks if a state has lasted.
        asker: lower-case name of the speaker whom "I" refers to; empty if not known.
        preposition: stranded preposition, or the one after "what is": "written in", "on".
        general_noun: the general noun that is asked for: "date" of "what is the date of the
            contract".
        compound: the general noun is the head of a compound: "lead time".
        tense: "past", "perfect", "present" or "future".
        all_stems: stems of all its words, including those that name a time.
        comparatives: its words that compare, in lower case: "more", "older".
    """

    asked: Asked
    terms: tuple[Term, ...]
    verb: frozenset[str] = frozenset()
    action: str = ""
    subject: Term | None = None
    passive: bool = False
    focus: str = ""
    past: bool = False
    future: bool = False
    light_verb: str = ""
    measure: str = ""
    alternative: bool = False
    asks_ability: bool = False
    is_negated: bool = False
    asks_former: bool = False
    followed_by: frozenset[str] = frozenset()
    still: bool = False
    asker: str = ""
    preposition: str = ""
    general_noun: str = ""
    compound: bool = False
    tense: str = "present"
    all_stems: frozenset[str] = frozenset()
    comparatives: frozenset[str] = frozenset()

    @property
    def is_single_valued(self) -> bool:
        """True if the answer usually has one value, so that a newer one replaces it."""
        named = self.asked in (Asked.WHO, Asked.WHAT) and self.light_verb == "be"
        value = self.asked is Asked.WHO or not self.preposition
        held = self.asked is Asked.WHO and self.action in WORDS["held_by_one"]
        return self.asked in _SINGLE_VALUED or (named and value) or held

    @property
    def asks_presence(self) -> bool:
        """True for a question of whereabouts, "is Ana in Porto": residents may be away."""
        return self.asked is Asked.WHETHER and self.verb == RESIDENCE_STEMS


def stems(word: str) -> frozenset[str]:
    """Return the stems of a word and of its synonyms."""
    own = set(lexemes(word))
    return frozenset(own.union(*(_SYNONYMS.get(stem, ()) for stem in own)))


RESIDENCE_STEMS = stems("live") | stems("work")
"""Stems of the verbs that a question like "is she still in Porto" stands for."""


def read_question(text: str, ignored: Sequence[str] = ()) -> Query | None:
    """Parse a question; return None for other text, and for a question too open to answer.

    Args:
        text: the question.
        ignored: phrases that name a time, which are left out: times are compared as such.
    """
    remaining = direct(text)
    for time in ignored:
        remaining = re.sub(rf"\b(?:(?:in|on|at|during|since|of) )?{re.escape(time)}", "", remaining)
    remaining = " ".join(remaining.split())
    ending = None if ignored else _BEFORE.search(remaining)
    without_past = remaining if ignored else _BEFORE.sub("?", _USED.sub("", remaining))
    sentence = parse(without_past)
    question_word = next((w for w in sentence.words if w.tag.startswith("W")), None)
    if not sentence.words or _is_open_ended(sentence):
        return None
    if question_word is None or question_word.index > 1:
        if sentence.words[0].lemma not in _AUXILIARIES:
            return None
        query = _Reader(sentence, None).read(Asked.WHETHER)
    else:
        asked = _asked_kind(question_word)
        if _asks_what_may_be(question_word, asked):
            return None
        query = _Reader(sentence, question_word).read(asked)
    next_stems = frozenset(lexemes(ending["next"] or "")) if ending else frozenset()
    return replace(
        query,
        asks_former=query.past and without_past != remaining,
        followed_by=next_stems,
        all_stems=frozenset(lexemes(text)),
    )


def _is_open_ended(sentence: Sentence) -> bool:
    """Return True if the question addresses the reader: "what do you know of ..."."""
    return any(word.text.casefold() in ("you", "your") for word in sentence.words)


def _is_negation(word: Word) -> bool:
    """Return True for "not", and for "no" before a noun."""
    return word.dep == "neg" or (word.lower == "no" and word.dep == "det")


def _asks_what_may_be(opening: Word, asked: Asked) -> bool:
    """Return True for a question for advice or a guess: "which bakery could I go to"."""
    modals = (word.lower for word in opening.following() if word.tag == "MD")
    return asked is not Asked.WHEN and next(modals, "") in WORDS["supposing"]


def _asked_kind(opening: Word) -> Asked:
    """Return the kind of answer that a question word and the word after it ask for."""
    kinds = {
        "who": Asked.WHO, "whom": Asked.WHO, "whose": Asked.WHOSE, "where": Asked.WHERE,
        "when": Asked.WHEN, "why": Asked.WHY, "what": Asked.WHAT, "which": Asked.WHAT,
    }  # fmt: skip
    word = opening.text.casefold()
    following = opening.after.text.casefold() if opening.after else ""
    if word == "how":
        extents = dict.fromkeys(("long", "old", "often", "far", "tall", "big"), Asked.EXTENT)
        counts = {"many": Asked.NUMBER, "much": Asked.AMOUNT} | extents
        return counts.get(following, Asked.HOW if following in _HELPERS else Asked.OTHER)
    if word in ("what", "which") and following.removesuffix("s") in _TIME_NOUNS:
        return Asked.WHEN
    if word in ("what", "which") and following in ("city", "country", "town", "place"):
        stays = any(word.text.casefold() in ("live", "work") for word in opening.sentence.words)
        return Asked.WHERE if stays else Asked.WHAT
    return kinds.get(word, Asked.OTHER)


class _Reader:
    """Parses one question; `opening` is its question word, None for a yes-or-no question."""

    def __init__(self, sentence: Sentence, opening: Word | None) -> None:
        self._words = sentence.words
        self._sentence = sentence
        self._opening = opening
        self._helpers: list[Word] = []
        self._auxiliary = self._first_auxiliary()
        self._verb = self._main_verb()
        self._focus = self._focus_nouns()

    def read(self, asked: Asked) -> Query:
        """Return the query for this kind of answer, which may be refined from the words."""
        lemmas = {word.lemma for word in self._words}
        if asked is Asked.WHAT and (lemmas & {"name", "call"}) and self._is_naming():
            asked = Asked.NAME
        verb, auxiliary = self._verb, self._auxiliary
        is_about = "about" in lemmas and self._preposition() != "about"  # no "complain about"
        if asked is Asked.WHAT and verb and verb.lemma in WORDS["saying"] and is_about:
            asked = Asked.SAID
        light = self._light()
        is_naming = asked is Asked.NAME and verb is not None and verb.lemma in ("call", "name")
        has_content_verb = verb is not None and not light and not is_naming
        terms = tuple(self._terms(asked))
        finite = auxiliary or verb
        verb_stems = frozenset[str]()
        if has_content_verb and verb is not None:
            verb_stems = stems(verb.text if lexemes(verb.text) else verb.lemma) | stems(verb.lemma)
            # "own" and "get" are no terms of the index
            verb_stems = verb_stems or frozenset({verb.lemma})
        asks_owner = asked is Asked.WHOSE and self._focus and verb is auxiliary
        subject = None if asks_owner else self._subject(terms)
        stays = asked is Asked.WHETHER and light == "be" and self._is_in_a_place(subject)
        general_noun = self._general_head() if asked is Asked.WHAT and light == "be" else None
        return Query(
            asked=asked,
            terms=terms,
            verb=RESIDENCE_STEMS if stays else verb_stems,
            action="live" if stays else verb.lemma if has_content_verb and verb is not None else "",
            subject=subject,
            passive=self._is_passive(verb),
            focus=" ".join(word.text.casefold() for word in self._focus),
            past=finite is not None and finite.tag == "VBD",
            future=bool(auxiliary and auxiliary.lemma in ("will", "would")),
            light_verb="" if stays else light or ("be" if is_naming else ""),
            measure=self._after_opening()[0].lemma if asked is Asked.EXTENT else "",
            alternative="or" in lemmas,
            asks_ability=bool(auxiliary and auxiliary.lemma in ("can", "could")),
            is_negated=asked is not Asked.WHETHER and any(map(_is_negation, self._words)),
            still="still" in lemmas,
            preposition=self._preposition(),
            general_noun="" if general_noun is None else general_noun.lemma,
            compound=general_noun is not None and self._is_compound(general_noun),
            tense=self._tense(light),
            comparatives=frozenset(w.lower for w in self._words if w.tag in ("JJR", "RBR")),
        )

    def _tense(self, light: str) -> str:
        """Return the tense of the first auxiliary, or else of the verb."""
        word = self._auxiliary or self._verb
        if word is None:
            return "present"
        if word.lower in ("did", "was", "were", "had", "could") or word.tag == "VBD":
            return "past"
        if word.lower in ("will", "would"):
            return "future"
        return "perfect" if word.lemma == "have" and light != "have" else "present"

    def _is_done(self, verb: Word | None) -> bool:
        """Return True for a participle, which a tagger may label as past tense."""
        return verb is not None and verb.lemma != "be" and verb.tag in ("VBN", "VBD")

    def _is_in_a_place(self, subject: Term | None) -> bool:
        """Return True if the question asks for a residence: "is Maria still in Porto"."""
        ends = [word for word in self._words if word.tag != "."][-2:]
        person = subject is not None and (subject.is_name or subject.is_self)
        return person and ends[0].text in ("in", "at") and ends[1].is_proper

    def _preposition(self) -> str:
        """Return the stranded preposition: "in" of "which language is it written in"."""
        if self._opening and self._opening.before and self._opening.lower == "whom":
            return self._opening.before.lemma
        last = [word for word in self._words if word.tag != "."][-1]
        if last.tag in ("IN", "TO"):
            return last.lemma
        after = self._auxiliary.after if self._auxiliary else None
        return after.lemma if after and after.tag == "IN" else ""

    def _light(self) -> str:
        """Return the verb if it is light, without own content: "be", "have", "take place"."""
        if self._verb is None:
            return ""
        lemma = self._verb.lemma
        places = lemma == "take" and any(word.lemma == "place" for word in self._verb.following())
        return lemma if places or lemma in WORDS["light"] else ""

    def _after_opening(self) -> tuple[Word, ...]:
        """Return the words after the question word; all of them if there is none."""
        return self._opening.following() if self._opening else self._words

    def _first_auxiliary(self) -> Word | None:
        for word in self._after_opening():
            if word.lemma in _AUXILIARIES and word.tag != "POS":
                return word
            if word.is_verb and not self._is_counted(word):
                return None
        return None

    def _is_counted(self, word: Word) -> bool:
        """Return True if a word is a noun that may be tagged as a verb: "which languages does"."""
        return (
            self._opening is not None
            and word is self._opening.after
            and self._opening.text.casefold() in ("what", "which")
            and word.after is not None
            and word.after.lemma in _AUXILIARIES
        )

    def _main_verb(self) -> Word | None:
        """Return the first verb after the auxiliary and its subject; else the auxiliary."""
        rest = self._auxiliary.following() if self._auxiliary else self._after_opening()
        root = self._sentence.roots[0]
        verbs = [
            word
            for word in rest
            if (word.tag.startswith("V") or (word is root and word is not rest[0]))
            and word.dep not in ("amod", "compound")
            and not self._is_name(word)
            and not self._is_subject_of_do(word)
        ]
        self._helpers = self._helping(verbs)
        verbs = verbs[len(self._helpers) :]
        if self._auxiliary and verbs and self._auxiliary.lemma == "be":
            verbs = [verb for verb in verbs if verb.tag in ("VBN", "VBG", "VBD")]
            if len(verbs) > 1 and verbs[0] is rest[0] and rest[0].tag == "VBG":
                verbs = verbs[1:]  # "is smoking allowed"
        return verbs[0] if verbs else self._untagged_verb()

    def _is_subject_of_do(self, word: Word) -> bool:
        """Return True if a word is the subject after "do", and no base form of a verb.

        What follows "does" is its subject, unless it is "who does".
        """
        if self._auxiliary is None or self._auxiliary.lemma != "do":
            return False
        gerund = word.tag in ("VBG", "VBZ")
        return gerund or (word is self._auxiliary.after and len(word.following()) > 1)

    def _helping(self, verbs: Sequence[Word]) -> list[Word]:
        """Return the verbs that only support the next one: the first of "been paid"."""
        helps = (
            one.lower in _PASSIVE and other is one.after and other.tag in ("VBN", "VBG", "VBD")
            for one, other in pairwise(verbs)
        )
        return [one for one, _ in takewhile(lambda pair: pair[1], zip(verbs, helps, strict=False))]

    def _is_passive(self, verb: Word | None) -> bool:
        """Return True for a passive: "is repaired", "has been repaired", "got married"."""
        first = () if self._auxiliary is None else (self._auxiliary,)
        helpers = {word.lower for word in (*first, *self._helpers)}
        return self._is_done(verb) and not _PASSIVE.isdisjoint(helpers)

    def _untagged_verb(self) -> Word | None:
        """Return the verb after a form of "do" that has another tag; else the "do".

        It is "like", or the last of at least two nouns in a row: "does the app use".
        """
        do = self._auxiliary
        if do is None or do.lemma != "do":
            return do
        rest = do.following()
        if like := next((word for word in rest if word.text == "like"), None):
            return like
        if self._words[0].text.casefold() == "who":
            return do
        run = list(
            takewhile(
                lambda word: word is do.after or word.is_noun or word.tag in _WITHIN_SUBJECT, rest
            )
        )
        nouns = [word for word in run if word.is_noun]
        ends = len(nouns) > 1 and nouns[-1] is run[-1] and nouns[-1].tag == "NN"
        return nouns[-1] if ends else do

    def _is_name(self, word: Word) -> bool:
        """Return True for a proper noun, or a capitalised word that is tagged as a verb."""
        if is_person_noun(word):
            return False  # "mum", which a tagger may take for a name
        inside = word > (self._opening or self._words[0])
        mistaken = inside and word.text[0].isupper() and bool(lexemes(word.text))
        noun = word.dep in ("nsubj", "nsubjpass", "dobj", "pobj")  # "Is Brixmoor suing us?"
        others = ("NN", "PR", "CD", *(() if noun else ("JJ",)))
        return word.is_proper or (mistaken and word.tag[:2] not in others)

    def _focus_nouns(self) -> tuple[Word, ...]:
        """Return the nouns after the question word: "trouble" of "what trouble with my ear"."""
        stop = self._auxiliary or self._verb
        if stop is None or self._opening is None:
            return ()
        # "what kind of car" is answered without the word "car"
        asked = takewhile(
            lambda word: word.tag != "IN" or word.lemma == "of", self._opening.until(stop)[1:]
        )
        return tuple(word for word in asked if word.is_noun or self._is_counted(word))

    def _is_naming(self) -> bool:
        last = [word.lemma for word in self._words if word.tag not in (".", ",")]
        return last[-1] in ("call", "name") or "name" in last[:5]

    def _subject(self, terms: Sequence[Term]) -> Term | None:
        """Return the head of the subject: the last noun after the auxiliary, and no preposition."""
        auxiliary, verb = self._auxiliary, self._verb
        if auxiliary is None:
            return None
        head = None
        for word in auxiliary.following():
            if word is verb:
                break
            if word.tag == "IN" or (head is not None and word.tag in _AFTER_SUBJECT):
                break
            if head is not None and self._is_predicate(word):
                break
            noun = word.is_noun or self._is_name(word) or word.text.casefold() in ("i", "we")
            smoking = word.tag == "VBG" and word is auxiliary.after
            smoking = smoking and word not in self._helpers
            if (noun or smoking) and not self._owns(word):
                head = word.text
        return next((term for term in terms if term.text == head), None)

    def _is_predicate(self, word: Word) -> bool:
        """Return True for the last word of "is Mrs Okafor diabetic", which is tagged as a noun."""
        whether = self._opening is None and self._verb is self._auxiliary
        be = self._auxiliary is not None and self._auxiliary.lemma == "be"
        last = word.after is None or word.after.tag == "."
        there = self._words[1].tag == "EX"
        named = word.before is not None and self._is_name(word.before) and not self._is_name(word)
        return whether and be and last and named and not there

    def _general_head(self) -> Word | None:
        """Return the general noun of "what is the date of X" or "what is X's date"; else None."""
        if self._auxiliary is None:
            return None
        nouns = takewhile(lambda word: word.tag not in ("IN", "."), self._auxiliary.following())
        heads = [word for word in nouns if word.is_noun and not self._owns(word)]
        return heads[-1] if heads and heads[-1].lemma in WORDS["general"] else None

    def _is_compound(self, head: Word) -> bool:
        """Return True if a noun has a modifying noun: the "time" of "lead time"."""
        before = self._words[head.index - 1]
        return before.tag[:2] in ("NN", "JJ", "VB") and before.lemma not in WORDS["general"]

    def _owns(self, word: Word) -> bool:
        return word.after is not None and word.after.tag == "POS"

    def _terms(self, asked: Asked) -> Iterator[Term]:
        """Yield the terms that an answer must contain."""
        owner: Term | None = None
        for word in self._words:
            if word in (self._opening, self._verb, self._auxiliary, *self._helpers):
                continue
            if word in self._focus and asked in (Asked.WHAT, Asked.WHEN, Asked.WHERE):
                continue
            if word.text.casefold() in SELF:
                owner = Term(word.text, frozenset(), is_self=True)
                if word.tag != "PRP$":
                    yield owner
                    owner = None
            elif self._is_content(word, asked):
                named = self._is_name(word)
                own = frozenset(lexemes(word.text)) if named else stems(word.text)
                its = owner if word.is_noun else None
                name = self._name(word) if named else frozenset[str]()
                way, article = self._opening_of(word)
                titles = titles_of(word) if named else frozenset[str]()
                person = not named and is_person_noun(word)
                term = Term(word.text, own, named, name, its, way, article, titles, False, person)
                if self._owns(word):
                    owner = term
                    continue
                yield term
                part = word.dep in ("compound", "amod", "nmod") and word.head is not self._verb
                owner = owner if part or not word.is_noun else None
        if owner is not None:  # of a noun that is what is asked for: "Alice's job"
            yield owner

    def _opening_of(self, noun: Word) -> tuple[str, str]:
        """Return preposition and determiner of the phrase of a noun; empty if it has none."""
        article = ""
        if not (noun.is_noun or self._is_name(noun)):
            return "", ""
        for word in reversed(self._words[: noun.index]):
            if word.tag in ("IN", "TO"):
                return word.lemma, article
            if word.tag in ("DT", "PRP$") and not article:
                article = word.lower
            elif not (word.is_noun or word.tag in _WITHIN_PHRASE):
                break
        return "", article

    def _name(self, word: Word) -> frozenset[str]:
        """Return the words of the name that a word is part of, without the question's verbs."""
        first = self._opening or self._words[-1]
        others = {entity_norm(other.text) for other in (first, self._verb) if other}
        return (whole_name(word) - others) | {entity_norm(word.text)}

    def _is_content(self, word: Word, asked: Asked) -> bool:
        text = word.lemma
        if self._is_name(word) and not word.is_proper:
            return True
        if not lexemes(word.text) or word.tag in (".", ",", "POS", "IN", "DT"):
            return False
        titled = word.after is not None and word.after.is_proper
        if entity_norm(text) in TITLES and word.is_proper and titled:
            return False  # "Aunt Salma"
        if asked is Asked.NAME and text in ("name", "call"):
            return False
        if word.tag in ("RB", "RBR", "UH", "EX", "MD", "TO") or text in _MEASURES:
            return False
        if word.lower in _ANYTHING:
            return False
        return text not in WORDS["general"]
