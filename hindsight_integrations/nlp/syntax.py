"""Grammar of one English sentence: lemmas, tags and dependencies, parsed at first use.

The parse is a plain value. Without a spaCy model that has a parser, every sentence has no words, so
that whoever reads it finds nothing certain in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.spacy_pipeline import preferred_model
from hindsight_integrations.nlp.word_classes import FINITE

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.tokens import Token as SpacyToken

LONGEST_SENTENCE = 600
"""Characters of a sentence above which it is not parsed: it is a list or no prose."""


@dataclass(slots=True, eq=False)
class Word:
    """A word of a sentence, linked to the words above and below it in the parse tree.

    Words are compared by identity, so that sets of them are cheap, and ordered by position.

    Attributes:
        index: its position among the words.
        start: offset of its first character.
        tag: Penn tag, such as "VBD" for a verb in the past tense.
        dep: relation to its head, such as "nsubj".
        head_index: index of the word it depends on; its own for the root.
        label: of the name it is part of, such as "ORG"; a hint, as all labels of small models.
        lower: text in lower case, with straight apostrophes.
        head: the word it depends on; itself for the root.
        sentence: the sentence that it is a word of.
    """

    index: int
    text: str
    start: int
    lemma: str
    tag: str
    dep: str
    head_index: int
    label: str = ""
    lower: str = field(init=False, repr=False)
    head: Word = field(init=False, repr=False)
    sentence: Sentence = field(init=False, repr=False)
    _below: tuple[Word, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        self.lower = self.text.lower().replace("’", "'")
        self.head = self

    def __lt__(self, other: Word) -> bool:
        """Return True if this word stands before another of its sentence."""
        return self.index < other.index

    def __gt__(self, other: Word) -> bool:
        """Return True if this word stands after another of its sentence."""
        return self.index > other.index

    @property
    def end(self) -> int:
        """Offset after its last character."""
        return self.start + len(self.text)

    @property
    def is_root(self) -> bool:
        """True for a word that depends on no other."""
        return self.head is self

    @property
    def is_verb(self) -> bool:
        """True for a verb or auxiliary."""
        return self.tag.startswith("V") or self.tag == "MD"

    @property
    def is_noun(self) -> bool:
        """True for a common or proper noun."""
        return self.tag.startswith("NN")

    @property
    def is_proper(self) -> bool:
        """True for a proper noun."""
        return self.tag.startswith("NNP")

    @property
    def is_time(self) -> bool:
        """True for a word of a date or a time of day."""
        return self.label in ("DATE", "TIME")

    @property
    def is_amount(self) -> bool:
        """True for a word of a number or quantity."""
        return self.label in ("MONEY", "CARDINAL", "QUANTITY", "PERCENT")

    @property
    def is_denied(self) -> bool:
        """True for a word with a negation of its own: "not", "never"."""
        return any(child.dep == "neg" for child in self._below)

    @property
    def is_infinitive(self) -> bool:
        """True for a verb with "to"."""
        return any(child.dep == "aux" and child.tag == "TO" for child in self._below)

    @property
    def phrase(self) -> str:
        """The text from the first to the last word of its subtree."""
        return self.sentence.phrase(self.subtree())

    @property
    def before(self) -> Word | None:
        """The word before it; None for the first."""
        return self.sentence.words[self.index - 1] if self.index else None

    @property
    def after(self) -> Word | None:
        """The word after it; None for the last."""
        words = self.sentence.words
        return words[self.index + 1] if self.index + 1 < len(words) else None

    @property
    def governing_verb(self) -> Word:
        """The first verb at or above it; the word itself if there is none."""
        return next((word for word in self.upward() if word.is_verb), self)

    def read_as(self, *, text: str = "", lemma: str = "", tag: str = "") -> Word:
        """Return a copy with another text, lemma or tag, in its place in the sentence."""
        word = copy(self)
        word.text, word.lemma, word.tag = text or self.text, lemma or self.lemma, tag or self.tag
        word.lower = word.text.lower().replace("’", "'")
        return word

    def children(self, *deps: str) -> tuple[Word, ...]:
        """Return the words that depend on it directly, in order; of these relations if any."""
        return tuple(word for word in self._below if word.dep in deps) if deps else self._below

    def child(self, *deps: str) -> Word | None:
        """Return the first word that depends on it in one of these relations."""
        return next((word for word in self._below if word.dep in deps), None)

    def subtree(self, without: frozenset[str] = frozenset()) -> list[Word]:
        """Return it and all words below it in order, less those in the relations left out."""
        found, waiting = [], [self]
        while waiting:
            word = waiting.pop()
            found.append(word)
            waiting += (child for child in word._below if child.dep not in without)
        return sorted(found, key=_position)

    def until(self, other: Word) -> tuple[Word, ...]:
        """Return it and the words after it that stand before another one."""
        return self.sentence.words[self.index : other.index]

    def following(self, most: int | None = None) -> tuple[Word, ...]:
        """Return the words after it; at most so many, if a number is given."""
        return self.sentence.words[self.index + 1 :][:most]

    def upward(self) -> list[Word]:
        """Return it and the words above it, up to the root."""
        word, found = self, list[Word]()
        while word not in found:
            found.append(word)
            word = word.head
        return found


_position = attrgetter("index")


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence, which it links to one another as a tree."""

    text: str
    words: tuple[Word, ...]

    def __post_init__(self) -> None:
        # words of another sentence keep their links: here stand copies of them
        own = tuple(replace(word) if hasattr(word, "sentence") else word for word in self.words)
        object.__setattr__(self, "words", own)
        below: dict[int, list[Word]] = {}
        for word in self.words:
            word.sentence, word.head = self, self.words[word.head_index]
            if word.head is not word:
                below.setdefault(word.head_index, []).append(word)
        for index, words in below.items():
            self.words[index]._below = tuple(words)

    @property
    def roots(self) -> tuple[Word, ...]:
        """The words that depend on no other."""
        return tuple(word for word in self.words if word.is_root)

    def phrase(self, words: Iterable[Word]) -> str:
        """Return the text from the first to the last of these words."""
        ordered = sorted(words, key=_position)
        return self.text[ordered[0].start : ordered[-1].end]

    def without_space(self) -> Sentence:
        """Return it without the words that are white space; what is below them becomes a root."""
        kept = [word for word in self.words if word.text.strip()]
        if len(kept) == len(self.words):
            return self
        position = {word.index: at for at, word in enumerate(kept)}
        return Sentence(
            self.text,
            tuple(
                replace(word, index=at, head_index=position.get(word.head_index, at))
                for at, word in enumerate(kept)
            ),
        )


_PRONOUN = "She"
_NAME_AND_VERB = re.compile(
    r"(?!(?:Just|Never|Still|Then|Today|Yesterday|Once|Already|Almost|Also|Now)\b)"
    r"([A-Z]\w+)(?<!ly) "
    r"(?:(?:no longer|now|also|often|still) )?"
    r"(?:[a-z]+s|sold|left|gave|got|took|broke|bought|went|lost|swapped|moved|switched|stopped)\b"
)
_STATES = "|".join(sorted(word_sets("syntax")["states"]))
_OWNED_AND_VERB = re.compile(
    rf"([A-Z]\w+['’]s [a-z]+) (?:(?:no longer|now) )?(?P<verb>{_STATES})\b"
)
_NOUN_AND_VERB = re.compile(
    rf"((?:The|My|Our|His|Her) [a-z]+) (?:(?:no longer|now) )?(?P<verb>{_STATES})\b"
)
_AND_VERB = re.compile(rf" (?:and|but) (?:now )?(?=(?:{_STATES}) (?!and\b|or\b))")
_NO_LONGER = re.compile(r"(?<=\w )no longer (?=[a-z]+s\b)")
_SITE = re.compile(r"[A-Za-z][\w-]*\.(?:com|io|net|org|app|dev|ai|co|de|uk|js)")
"""A name with a domain, which small models take for a pronoun or a verb: "Fly.io"."""
_NAMES = {2: "Al", 3: "Tom", 4: "Otto", 5: "Peter", 6: "Martin", 7: "Michael", 8: "Benjamin"}
"""A name of each length, which stands in for one that is misread."""
_NO_NAMES = frozenset({"IN", "VB", "VBP", "VBD", "MD", "CC", "TO", "WRB", "WDT", "UH"})
_NOT_NAMES = frozenset({"may", "march"})
_CLIPPED = {"cause": "since", "coz": "cos", "bc": "as"}
"""Spellings of "because" that small models take for a noun, and a conjunction of each length."""
_CLIPPED_BECAUSE = re.compile(
    r"(?<!\bthe )(?<!\ba )(?<!\bto )(?<!\bcan )(?<!\bmay )(?<!\bmight )(?<!\bwill )"
    r"(?<=[\w,.] )(?:cause|coz|bc)"
    r"(?= (?:i|he|she|we|they|there|(?:i|he|she|we|they|it)['’]?\w+)\b)",
    re.IGNORECASE,
)
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)$")
_lock = Lock()
_parsed: dict[str, Sentence] = {}
"""The last sentences parsed, the oldest first."""
_MOST_PARSED = 8192
_BATCH = 64


def parse(sentence: str) -> Sentence:
    """Parse a sentence; it has no words if it is too long, or no model is installed."""
    known = _parsed.get(sentence)
    return _parse([sentence])[0] if known is None else known


def parse_ahead(sentences: Iterable[str]) -> None:
    """Parse sentences for later: together they take a third of the time."""
    unread = [sentence for sentence in dict.fromkeys(sentences) if sentence not in _parsed]
    for start in range(0, len(unread), _BATCH):
        _parse(unread[start : start + _BATCH])


def _parse(sentences: Sequence[str]) -> list[Sentence]:
    words: dict[str, tuple[Word, ...]] = dict.fromkeys(sentences, ())
    model = preferred_model()
    if model is not None:
        readable = [sentence for sentence in words if len(sentence) <= LONGEST_SENTENCE]
        with _lock, model.reading() as language:
            spelled = [_CLIPPED_BECAUSE.sub(_spelled_out, sentence) for sentence in readable]
            tagged = [_words_of(doc) for doc in language.pipe(spelled, batch_size=_BATCH)]
            for sentence, first in zip(readable, tagged, strict=True):
                read = _with_known_name(language, sentence, first)
                is_question = sentence.rstrip().endswith("?")
                again = _with_asked_verb if is_question else _read_again
                words[sentence] = again(language, sentence, read)
    parsed = [Sentence(sentence, words[sentence]) for sentence in sentences]
    with _lock:
        _parsed.update(zip(sentences, parsed, strict=True))
        while len(_parsed) > _MOST_PARSED:
            del _parsed[next(iter(_parsed))]
    return parsed


def _spelled_out(clipped: re.Match[str]) -> str:
    """Return a conjunction of the same length that a model knows."""
    return _CLIPPED[clipped.group().lower()]


def _read_again(language: Language, sentence: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of a sentence whose verb a small model takes for a noun."""
    nouns = {word.start for word in words if word.tag == "NNS"}
    owned = _OWNED_AND_VERB.match(sentence)
    if owned and owned.start("verb") in nouns:
        return _read_with_owner(language, sentence, owned[1])
    ended = _NO_LONGER.search(sentence)
    if ended and ended.end() in nouns:
        return _read_without(language, sentence, ended.start(), ended.end())
    if (bare := _bare_complement(words)) is not None:
        return _read_with_article(language, sentence, bare.start) or words
    if not _is_clause(words):
        if (plain := _NOUN_AND_VERB.match(sentence)) and plain.start("verb") in nouns:
            return _read_with_noun(language, sentence, plain[1])
        if words and words[0].text.islower() and words[0].tag in ("VBN", "VBD", "VBP", "VB"):
            return _read_as_mine(language, sentence) or words
        if (at := _noun_for_verb(words)) is not None:
            return _read_with_phrase(language, sentence, words, at) or words
        opening = _NAME_AND_VERB.match(sentence)
        return _read_as_pronoun(language, sentence, opening[1]) if opening else words
    joined = _AND_VERB.search(sentence)
    if joined and joined.end() in nouns:
        return _read_with_subject(language, sentence, joined.end()) or words
    return words


def _read(language: Language, sentence: str) -> tuple[Word, ...]:
    return _with_known_name(language, sentence, _tagged(language, sentence))


def _with_asked_verb(
    language: Language, sentence: str, words: tuple[Word, ...]
) -> tuple[Word, ...]:
    """Read "What is Tom learning?" with a verb, where a small model takes both for one name."""
    tags = [word.tag for word in words]
    if tags[:1] != ["WP"] or len(words) != 5 or words[1].lemma != "be" or tags[4] != ".":
        return words
    name, verb = words[2:4]
    if name.head_index != verb.index or not verb.lower.endswith("ing") or verb.tag == "VBG":
        return words
    end = name.start + len(name.text)
    known = _tagged(language, f"{sentence[: name.start]}{_PRONOUN.lower()}{sentence[end:]}")
    if len(known) != len(words) or known[3].tag != "VBG":
        return words
    named = replace(known[2], text=name.text, lemma=name.text.lower(), tag="NNP")
    return (*known[:2], named, *_moved(known[3:], 0, len(name.text) - len(_PRONOUN)))


def _with_known_name(
    language: Language, sentence: str, words: tuple[Word, ...]
) -> tuple[Word, ...]:
    if (name := _misread_name(words)) is None:
        return words
    end = name.start + len(name.text)
    known = _tagged(language, f"{sentence[: name.start]}{_NAMES[len(name.text)]}{sentence[end:]}")
    if len(known) != len(words):
        return words
    named = replace(known[name.index], text=name.text, lemma=name.text.lower(), tag="NNP")
    return (*known[: name.index], named, *known[name.index + 1 :])


def _misread_name(words: tuple[Word, ...]) -> Word | None:
    """Return a capitalised word that a small model takes for no noun: "is married to Per, who"."""
    capitalised = [word for word in words if word.text[:1].isupper()]
    if 2 * len(capitalised) > len(words):
        return None  # a heading
    return next(
        (
            word
            for before, word in pairwise(words)
            if word.tag in _NO_NAMES
            and word.text.istitle()
            and len(word.text) in _NAMES
            and word.lower not in _NOT_NAMES
            and before.text.isalpha()
        ),
        None,
    )


def _tagged(language: Language, sentence: str) -> tuple[Word, ...]:
    return _words_of(language(sentence))


def _words_of(doc: Doc) -> tuple[Word, ...]:
    return tuple(
        Word(
            token.i, token.text, token.idx, _lemma(token.text, _of_be(token) or token.lemma_),
            "NNP" if _SITE.fullmatch(token.text) else token.tag_,
            token.dep_, token.head.i, token.ent_type_,
        )
        for token in doc
    )  # fmt: skip


_BE_UNMARKED = {"m": "VBP", "s": "VBZ", "re": "VBP"}
"""Forms of "be" without their apostrophe, with their tags: "im", "shes", "theyre"."""


def _of_be(token: SpacyToken) -> str:
    """Return "be" for the "s" of "shes a nurse", which has no lemma of its own; else ""."""
    joined = token.i > 0 and token.nbor(-1).tag_ in ("PRP", "DT", "WP", "EX")
    unmarked = _BE_UNMARKED.get(token.text.lower()) == token.tag_
    helps = token.dep_[:3] == "aux" and token.head.tag_ in ("VBD", "VBN")  # or "have": "hes got"
    return "be" if joined and unmarked and not (helps or token.nbor(-1).whitespace_) else ""


def _lemma(text: str, lemma: str) -> str:
    """Return a lemma in lower case; "ride" of "rides", for which small models say "rid".

    Only after a sibilant or "o" is "es" an ending; elsewhere the "e" is of the word.
    """
    lowered = text.lower()
    stem = lowered.removesuffix("es")
    if stem != lowered and stem == lemma.lower() and not _SIBILANT.search(stem):
        return lowered[:-1]
    return lemma.lower()


def has_clause(sentence: Sentence) -> bool:
    """Return True if a sentence has a finite verb with a subject."""
    return _is_clause(sentence.words)


def _is_clause(words: tuple[Word, ...]) -> bool:
    """Return True if a finite verb or auxiliary is in the predicate of a subject."""
    subjects = {word.head_index for word in words if word.dep in ("nsubj", "nsubjpass", "expl")}
    return any(
        word.tag in FINITE and (word.index in subjects or word.head_index in subjects)
        for word in words
    )


def _read_with_owner(language: Language, sentence: str, subject: str) -> tuple[Word, ...]:
    """Read "Ana's parrot sleeps" as "She sleeps", and put the subject back in its place."""
    owner, thing = re.split(r"['’]s ", subject)
    shift = len(subject) - len(_PRONOUN)
    head, *rest = _read(language, _PRONOUN + sentence[len(subject) :])
    verb = head.head_index + 2
    added = (
        Word(0, owner, 0, owner.lower(), "NNP", "poss", 2),
        Word(1, subject[len(owner) : len(owner) + 2], len(owner), "'s", "POS", "case", 0),
        Word(2, thing, len(owner) + 3, thing, "NN", head.dep, verb),
    )
    return (*added, *_moved(rest, 2, shift))


def _moved(words: Iterable[Word], by: int, shift: int) -> tuple[Word, ...]:
    """Return words so many positions and characters further on."""
    return tuple(
        replace(
            word, index=word.index + by, head_index=word.head_index + by, start=word.start + shift
        )
        for word in words
    )


def _read_as_mine(language: Language, sentence: str) -> tuple[Word, ...]:
    """Read "ditched the car" as "I ditched the car", without the word put in; () if in vain."""
    first, *words = _read(language, "I " + sentence)
    if not words or first.dep != "nsubj" or words[0].tag != "VBD":
        return ()
    return _moved(words, -1, -2)


def _read_with_noun(language: Language, sentence: str, subject: str) -> tuple[Word, ...]:
    """Read "The toddler drinks" as "She drinks", and put the subject back in its place."""
    determiner, noun = subject.split()
    shift = len(subject) - len(_PRONOUN)
    head, *rest = _read(language, _PRONOUN + sentence[len(subject) :])
    relation, tag = ("det", "DT") if determiner == "The" else ("poss", "PRP$")
    added = (
        Word(0, determiner, 0, determiner.lower(), tag, relation, 1),
        Word(1, noun, len(determiner) + 1, noun, "NN", head.dep, head.head_index + 1),
    )
    return (*added, *_moved(rest, 1, shift))


def _noun_for_verb(words: tuple[Word, ...]) -> int | None:
    """Return the index of a plural noun that may be a verb: "The billing service stores X"."""
    if not words or words[0].tag not in ("DT", "PRP$") or words[-1].text != ".":
        return None
    nouns = list(takewhile(lambda word: word.tag[:2] in ("NN", "JJ"), words[1:7]))
    at = next((word.index for word in nouns[1:] if word.tag == "NNS"), None)
    return at if at is not None and words[at].text.islower() else None


def _read_with_phrase(
    language: Language, sentence: str, words: tuple[Word, ...], at: int
) -> tuple[Word, ...]:
    """Read "The billing service stores X" as "She stores X", with the subject put back.

    Returns:
        The words; () if that is no verb with an object.
    """
    start = words[at].start
    _, *rest = _read(language, f"{_PRONOUN} {sentence[start:]}")
    verb = rest[0]
    if (verb.tag, verb.dep) != ("VBZ", "ROOT") or not any(
        word.dep == "dobj" and word.head_index == verb.index for word in rest
    ):
        return ()
    relations = {"DT": "det", "PRP$": "poss"}
    inside = (
        replace(word, head_index=at - 1, dep=relations.get(word.tag, "compound"))
        for word in words[:at]
    )
    *before, noun = inside
    shift = start - len(_PRONOUN) - 1
    subject = replace(noun, head_index=at, dep="nsubj", tag="NN")
    return (*before, subject, *_moved(rest, at - 1, shift))


def _read_without(language: Language, sentence: str, start: int, end: int) -> tuple[Word, ...]:
    """Read "she no longer sleeps" as "she sleeps", and put the words left out in their place."""
    words = _read(language, sentence[:start] + sentence[end:])
    at = next((word.index for word in words if word.start == start), None)
    if at is None or not words[at].tag.startswith("VB"):
        return _read(language, sentence)
    verb = at + 2
    moved = [
        replace(
            word,
            index=word.index + 2 * (word.index >= at),
            head_index=word.head_index + 2 * (word.head_index >= at),
            start=word.start + (end - start) * (word.start >= start),
        )
        for word in words
    ]
    added = (
        Word(at, "no", start, "no", "RB", "neg", verb),
        Word(at + 1, "longer", start + 3, "longer", "RBR", "advmod", verb),
    )
    return (*moved[:at], *added, *moved[at:])


def _read_with_subject(language: Language, sentence: str, at: int) -> tuple[Word, ...]:
    """Read "and works for X" as "and she works for X", without the word put in; () if in vain."""
    put = _PRONOUN.lower() + " "
    words = _read(language, sentence[:at] + put + sentence[at:])
    new = next((word for word in words if word.start == at), None)
    if new is None or new.dep != "nsubj" or words[new.head_index].dep != "conj":
        return ()
    return _less(words, new, len(put))


def _bare_complement(words: tuple[Word, ...]) -> Word | None:
    """Return the base form after "is", which no verb has there: "is (no longer) scrum master"."""
    at = next((word.index + 1 for word in words if word.lower in ("is", "am", "was")), len(words))
    while at < len(words) and words[at].lower in ("no", "longer", "now", "not", "still"):
        at += 1
    return words[at] if at < len(words) and words[at].tag == "VB" else None


def _read_with_article(language: Language, sentence: str, at: int) -> tuple[Word, ...]:
    """Read "is scrum master" as "is a scrum master", without the word put in; () if in vain."""
    words = _read(language, sentence[:at] + "a " + sentence[at:])
    new = next((word for word in words if word.start == at), None)
    if new is None or new.dep != "det" or words[new.head_index].dep != "attr":
        return ()
    return _less(words, new, 2)


def _less(words: tuple[Word, ...], new: Word, size: int) -> tuple[Word, ...]:
    """Return words without one that was put in for the parser, of so many characters."""
    return tuple(
        replace(
            word,
            index=word.index - (word.index > new.index),
            head_index=word.head_index - (word.head_index > new.index),
            start=word.start - (size if word.start > new.start else 0),
        )
        for word in words
        if word is not new
    )


def _read_as_pronoun(language: Language, sentence: str, name: str) -> tuple[Word, ...]:
    """Read "Nora drinks tea" as "She drinks tea": small models take "drinks" for a noun."""
    shift = len(name) - len(_PRONOUN)
    first, *rest = _read(language, _PRONOUN + sentence[len(name) :])
    subject = replace(first, text=name, lemma=name.lower(), tag="NNP")
    if rest and rest[0].tag == "NNS" and rest[0].dep == "ROOT":
        rest[0] = replace(rest[0], tag="VBZ")
    return (subject, *_moved(rest, 0, shift))
