"""The wording of insights: which sentence is one, and which two say the same or contradict.

All of it is decided without a model of meaning: vectors of "Alice prefers trains to planes" and
"Alice prefers planes to trains" are nearly equal. Two statements are the same if they have the same
content words, up to synonyms, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.spacy_pipeline import Annotation, Pipeline, Token, sentence_ends

_TABLE: Mapping[str, str] = table("insights")
_WORDS = word_sets("insights")

_QUOTED = re.compile(r"[\"“„«].*?[\"”“»]")
_SPEAKS = re.compile(
    r"\b(?:i|i['’]\w+|me|my|mine|myself|we|we['’]\w+|us|our|ours|let['’]s)\b", re.I
)
_ADDRESSES = re.compile(r"\b(?:you|you['’]\w+|your|yours|yourself)\b", re.I)
_YOU = re.compile(r"\Ayou(?:r|rs)?\b", re.I)
_YOU_MAY = re.compile(
    r"\Ayou(?:['’]\w+)?\s+(?:are|can|could|may|might|should|would|will|want)\b", re.I
)
_QUESTION = re.compile(r"[?？؟][\"”')\]]*\Z")
_MARKUP = re.compile(r"\*\*|__|`|\A#+\s*|\A>\s*")
_NOTHING = re.compile(_TABLE["nothing"].strip(), re.I)
_SMILEY = re.compile(r"\s*(?::-?[)D]|;-?\)|[\U0001F300-\U0001FAFF☀-➿]+)\s*\Z")

_FINITE = frozenset({"VBZ", "VBD", "VBP", "MD"})
_NOUN = "NN"
_OPEN_CLASS = frozenset({"NN", "VB", "JJ", "UH", "FW"})
_NO_SUBJECT = frozenset({"VB", "UH"})  # "Ask me", "Sure"


def _alternatives(name: str) -> list[list[str]]:
    return [
        [word.strip() for word in line.split(",") if word.strip()]
        for line in _TABLE[name].strip().splitlines()
    ]


def _any_of(name: str) -> str:
    words = sorted((w for line in _alternatives(name) for w in line), key=len, reverse=True)
    return "|".join(map(re.escape, words))


_OPENING = re.compile(
    rf"\W*(?:(?:{_any_of('openings')})\b|(?:{_any_of('interjections')})\s*(?:[^\w\s]|\Z))", re.I
)
_CHANGE = re.compile(rf"\b(?:{_any_of('change')})\b", re.I)


# Which sentence states something


def says_nothing_new(reply: str) -> bool:
    """Return True if a reply says that there is nothing to learn."""
    return bool(_NOTHING.search(reply))


def statements(text: str, *, listed: bool) -> str:
    """Return the sentences of a line that state something, without pleasantries; "" if none does.

    Args:
        text: one line of a reply, or the text of one insight.
        listed: it stood in a list, where a fragment such as "Prefers trains" is a statement too,
            and where the user may be addressed ("You prefer trains").
    """
    clean = _SMILEY.sub("", _MARKUP.sub("", text)).strip()
    start, sentences = 0, []
    for end in sentence_ends(clean):
        sentences.append(clean[start:end].strip())
        start = end
    possible = [sentence for sentence in sentences if _may_state(sentence, listed=listed)]
    annotated = _pipeline().annotate(possible)
    return " ".join(one.text for one in annotated if _states(one, listed=listed))


def _may_state(sentence: str, *, listed: bool) -> bool:
    spoken = _QUOTED.sub("", sentence)
    if not spoken.strip() or sentence.endswith(":") or _QUESTION.search(sentence):
        return False
    if _OPENING.match(spoken) or _SPEAKS.search(spoken):
        return False
    if not _ADDRESSES.search(spoken):
        return True
    return listed and bool(_YOU.match(spoken)) and not _YOU_MAY.match(spoken)


def _states(sentence: Annotation, *, listed: bool) -> bool:
    if not sentence.tokens:  # no model is installed, or it knows no such script
        return True
    tokens = [token for token in sentence.tokens if token.text[0].isalnum()]
    if not tokens:
        return False
    verb = next((n for n, token in enumerate(tokens) if token.tag in _FINITE), None)
    subject = _subject(tokens if verb is None else tokens[:verb])
    if subject in _WORDS["about_the_talk"] or tokens[0].text.casefold() in _WORDS["absence"]:
        return False
    if verb is None and sentence.text.endswith("!"):  # "What a story!"
        return False
    # The tagger takes many a verb after a rare name for a noun: "Greta lives in Ghent."
    first = tokens[0]
    named = len(tokens) > 1 and first.text.istitle() and not first.listed
    named = named and first.tag[:2] in _OPEN_CLASS
    if not (listed or verb or (named and sentence.text.endswith("."))):
        return False  # nothing is said of anything
    return len(tokens) > 1 and (named or first.tag not in _NO_SUBJECT)


def _subject(tokens: Sequence[Token]) -> str:
    """Return the word before the verb that names what is spoken of, in lower case."""
    head = next((token for token in reversed(tokens) if token.tag.startswith(_NOUN)), None)
    if head is None:
        head = tokens[0] if tokens else None
    return head.text.casefold() if head else ""


@cache
def _pipeline() -> Pipeline:
    return Pipeline()


# Which two statements say the same, or contradict each other


@dataclass(frozen=True, slots=True)
class Wording:
    """Content words of a statement, each as the name of its group of synonyms.

    Attributes:
        order: the words whose order matters, without predicates.
        words: all of them.
        names: those of `order` that are written as names or numbers.
        negated: it has a negation, or says that something ended.
        changes: it says that something is otherwise than before.
    """

    order: tuple[str, ...]
    words: frozenset[str]
    names: frozenset[str]
    negated: bool
    changes: bool

    @property
    def about(self) -> str:
        """The first word: what the statement is about."""
        return self.order[0] if self.order else ""


def same(one: str, other: str) -> bool:
    """Return True if two statements say the same, in the same or in other words."""
    first, second = wording(one), wording(other)
    return len(first.words) > 1 and (first.order, first.words) == (second.order, second.words)


def supersedes(newer: str, older: str) -> bool:
    """Return True if `newer` denies `older`, or gives what has one value another one."""
    new, old = wording(newer), wording(older)
    if not new.about or new.about != old.about:
        return False
    return _denies(new, old) or _reverses(new, old) or _gives_another_value(new, old)


def _denies(new: Wording, old: Wording) -> bool:
    claims = [side.words - _ENDING - {"begin"} for side in (new, old)]
    return new.negated != old.negated and claims[0] == claims[1] and len(claims[0]) > 1


def _reverses(new: Wording, old: Wording) -> bool:
    """Return True for "prefers planes to trains" after "prefers trains to planes"."""
    return "prefer" in new.words and new.words == old.words and new.order != old.order


def _gives_another_value(new: Wording, old: Wording) -> bool:
    if not new.changes or new.negated or old.negated or len(new.order) != len(old.order):
        return False
    attributes = [{_SINGLE[word] for word in side.words if word in _SINGLE} for side in (new, old)]
    values = [pair for pair in zip(new.order, old.order, strict=True) if pair[0] != pair[1]]
    if not attributes[0] or attributes[0] != attributes[1] or len(values) != 1:
        return False
    value, was = values[0]
    # "works at night" names no other employer
    named = value in new.names and was in old.names
    return named or not attributes[0] & _NAMED_VALUES


@lru_cache(maxsize=4096)
def wording(text: str) -> Wording:
    """Return the content words of a statement."""
    folded = _PHRASE.sub(lambda match: f" {_PHRASES[match[0].casefold()]} ", text.replace("’", "'"))
    folded = _PASSIVE.sub(r"\1 \2 passive ", folded)
    folded = _LIKES_MORE.sub(r"prefer \1 to ", folded)
    order: list[str] = []
    words: set[str] = set()
    names: set[str] = set()
    for token in _TOKEN.findall(folded):
        for key in _keys(token):
            words.add(key)
            if key not in _PREDICATES and (not order or order[-1] != key):
                order.append(key)
            if token[0].isupper() or token[0].isdigit():
                names.add(key)
    if words & {"like", "prefer"}:
        words -= _ACTIVITIES
        order = [key for key in order if key not in _ACTIVITIES]
    negated = len(words & _ENDING) == 1  # "can't stop" denies nothing
    return Wording(
        tuple(order), frozenset(words), frozenset(names), negated, bool(_CHANGE.search(text))
    )


def _keys(token: str) -> Iterable[str]:
    word = token.casefold()
    if word in _KEPT:
        return (word,)
    groups = [_GROUP_OF.get(lexeme, lexeme) for lexeme in lexemes(token)]
    groups = [key for group in groups for key in _OPPOSITES.get(group, (group,))]
    # "quite" is told from "quit" by its form: they have one stem.
    return [] if word in _WORDS["light"] else [one for one in groups if one != "currently"]


def _groups(*lists: str) -> dict[str, str]:
    """Return the group of each single word, by its lexeme."""
    return {
        lexeme: line[0]
        for name in lists
        for line in _alternatives(name)
        for word in line
        if " " not in word
        for lexeme in lexemes(word)
    }


_PHRASES = {
    word: line[0]
    for name in ("synonyms", "predicates")
    for line in _alternatives(name)
    for word in line
    if " " in word or "'" in word
}
_PHRASE = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, sorted(_PHRASES, key=len, reverse=True)))})\b", re.I
)
_GROUP_OF = _groups("synonyms", "predicates")
_PREDICATES = frozenset(line[0] for line in _alternatives("predicates"))
_KEPT = frozenset("and or no passive had was were could should would".split())
_NAMED_VALUES = frozenset({"live", "work"})
_ACTIVITIES = frozenset(lexeme for word in _WORDS["activities"] for lexeme in lexemes(word))
_OPPOSITES = {line[0]: ("not", line[1]) for line in _alternatives("opposites")}
_SINGLE = {
    _GROUP_OF.get(lexeme, lexeme): line[0]
    for line in _alternatives("single")
    for word in line
    for lexeme in lexemes(word)
}
_ENDING = frozenset({"not", "no", "stop"})
_TOKEN = re.compile(r"[\w#+]+(?:[-.'][\w#+]+)*")
_LIKES_MORE = re.compile(
    r"\b(?:like|love|enjoy|favou?r)s?\s+((?:(?!not\b|and\b|or\b|but\b)\w+\s+){1,4}?)"
    r"(?:more|better)\s+than\b",
    re.I,
)
_PASSIVE = re.compile(r"\b((?:is|are|was|were|been|being|gets?|got))\s+(\w+)\s+by\b", re.I)
