"""Whose words a sentence has, and whether they are meant: reports, jests, and what is taken back.

What somebody else is said to say, a simile that mocks, and a claim that the next sentence corrects
("I work at the bank. The river bank.") are no statements of the one who writes them.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.reflect.retractions import retraction_in, retracts_itself

_WORDS = word_sets("attribution")
_SUBJECTS = ("nsubj", "nsubjpass")
_PHRASES = ("compound", "nmod", "flat", "conj", "appos", "amod", "det", "poss", "prep", "pobj")
_HEARSAY = re.compile(
    r"\baccording to\b|\b(?:reportedly|allegedly|supposedly|so-called)\b|\bsaid no\b|\brumou?r\b",
    re.IGNORECASE,
)
_SIMILE = re.compile(r"\b[Aa]s \w+ as (?:an? [a-z]+|[A-Z]\w+) *[.!]*$")
"""A simile that ends a sentence: "as clean as a pigsty", "about as warm as Iceland"."""
_POINTS_BACK = re.compile(r"\W*(?:it|they) ?(?:['’]s|['’]re|is|are|was|were)\b", re.IGNORECASE)
_DETERMINED = frozenset("the a an no my our".split())
_FINITE = frozenset({"VBZ", "VBD", "VBP", "MD"})


class FollowUp(Enum):
    """Effects of the next sentence on a claim."""

    NONE = auto()
    EXPLAINS = auto()
    """It says of what kind the thing is: "I own a boat. It's four inches long."."""
    TAKES_BACK = auto()
    """It says that the claim is not meant, or of another thing than it seems to be."""


def is_hearsay(text: str) -> bool:
    """Return True for what a source is named for, or a simile, which mocks as often as not."""
    return bool(_HEARSAY.search(text) or _SIMILE.search(text))


def reported(sentence: Sentence) -> frozenset[int]:
    """Return the words that a sentence puts into the mouth of somebody else.

    "Ann says she rows" is of Ann herself, and "I said that X is late" of the speaker.
    """
    found: set[int] = set()
    for verb in sentence.words:
        said = sentence.child(verb, "ccomp")
        if verb.lemma in _WORDS["reporting"] and said is not None and said.is_verb:
            by = sentence.child(verb, *_SUBJECTS)
            told = sentence.child(verb, "auxpass") is not None
            own = by is not None and by.lower in ("i", "we") and not told
            inner = sentence.child(said, *_SUBJECTS)
            of_self = by is not None and inner is not None and inner.lower in ("he", "she")
            if by is not None and not own and not of_self:
                found |= {word.index for word in sentence.subtree(said)}
    return frozenset(found)


def speaks_another(sentence: Sentence) -> bool:
    """Return True for a verb of saying with another's name: "and he says, I am a carpenter"."""
    return any(
        verb.lemma in _WORDS["saying"]
        and verb.is_verb
        and (by := sentence.child(verb, *_SUBJECTS)) is not None
        and by.lower not in ("i", "we")
        for verb in sentence.words
    )


def is_inside_subject(sentence: Sentence, word: Word) -> bool:
    """Return True for a word within a subject that is of something else: "rivals of the bank".

    "More time for the bank" may be no subject, whatever a parser makes of it.
    """
    inside, at = False, word
    while at.dep in _PHRASES and at.head != at.index:
        led = at.dep == "pobj" and sentence.head(at).lower in _WORDS["where"]
        inside = inside or led or at.dep == "poss"
        at = sentence.head(at)
        if at.is_verb:
            return False
    return inside and at.dep in _SUBJECTS


def is_placed(sentence: Sentence, word: Word, holder: str) -> bool:
    """Return True for a name that only tells where something is, or somebody else goes.

    "My sister works at the Kade" says nothing of the speaker and the Kade.

    Args:
        sentence: the parsed sentence.
        word: head of the name.
        holder: normalised name of whom the statement is of; "" for its speaker.
    """
    while word.dep in ("compound", "nmod", "flat", "conj", "appos"):
        word = sentence.head(word)
    if word.dep != "pobj" or sentence.head(word).lower not in _WORDS["where"]:
        return False
    while not (by := sentence.child(word, *_SUBJECTS)) and word.head != word.index:
        word = sentence.head(word)
    mine = by is not None and by.lower in ("i", "we")
    named = by is not None and by.is_noun and by.text.casefold() in holder.split()
    return not (named if holder else mine)


def follow_up(sentence: Sentence, rest: str) -> FollowUp:
    """Return what the text after a sentence does to it."""
    after = rest.strip()
    if retracts_itself(sentence.text) or retraction_in(after):
        return FollowUp.TAKES_BACK
    following = after[: next(iter(sentence_ends(after)), len(after))].strip(" ()")
    if not following:
        return FollowUp.NONE
    things = [word for word in sentence.words if word.tag in ("NN", "NNS")]
    introduced = any(
        word.lower in ("a", "an") and sentence.head(word) in things for word in sentence.words
    )
    if _POINTS_BACK.match(following):
        return FollowUp.EXPLAINS if introduced else FollowUp.NONE
    words = parse(following).words
    bare = (
        bool(words) and words[0].lower in _DETERMINED and not any(w.tag in _FINITE for w in words)
    )
    heads = {word.lemma for word in things}
    return FollowUp.TAKES_BACK if bare and heads & {w.lemma for w in words} else FollowUp.NONE
