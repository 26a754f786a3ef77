"""Sentences of a text, and their grammar by position: which word depends on which.

`syntax` parses; here the words are addressed by their indices, so that rules can hold sets of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

from hindsight_integrations.nlp import syntax
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends

_BETWEEN_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n|^([^\S\n]*\#{1,6}[^\S\n].*)\n", re.MULTILINE)
"""A blank line, or the end of a heading, which is kept."""


@dataclass(frozen=True)
class Sentence:
    """A parsed sentence."""

    text: str
    words: tuple[syntax.Word, ...]

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        below: list[list[int]] = [[] for _ in self.words]
        for index, word in enumerate(self.words):
            if word.head != index:
                below[word.head].append(index)
        return tuple(map(tuple, below))

    def children(self, index: int, *deps: str) -> tuple[int, ...]:
        """Return the words that depend on this one, in order; with `deps`, only such."""
        below = self._children[index]
        return tuple(i for i in below if self.words[i].dep in deps) if deps else below

    def head(self, index: int) -> syntax.Word:
        """Return the word that this one depends on; the root itself for the root."""
        return self.words[self.words[index].head]

    def dependents(self, index: int, *deps: str) -> tuple[syntax.Word, ...]:
        """Return the words of `children`, for rules that need no positions."""
        return tuple(self.words[i] for i in self.children(index, *deps))

    def subtree(self, index: int) -> list[int]:
        """Return the word and all that depend on it, in order."""
        found, waiting = [], [index]
        while waiting:
            here = waiting.pop()
            found.append(here)
            waiting += self._children[here]
        return sorted(found)

    def roots(self) -> tuple[int, ...]:
        """Return the words that depend on no other."""
        return tuple(i for i, word in enumerate(self.words) if word.head == i)

    def upward(self, index: int) -> list[int]:
        """Return the word and those above it in the parse tree, up to the root."""
        found: list[int] = []
        while index not in found:
            found.append(index)
            index = self.words[index].head
        return found

    def governing_verb(self, index: int) -> int:
        """Return the first verb at or above a word; the word itself if there is none."""
        return next((i for i in self.upward(index) if self.words[i].is_verb), index)

    def is_denied(self, verb: int) -> bool:
        """Return True if a word has a negation of its own: "not", "never"."""
        return bool(self.children(verb, "neg"))

    def is_infinitive(self, verb: int) -> bool:
        """Return True for a verb with "to"."""
        return any(self.words[i].tag == "TO" for i in self.children(verb, "aux"))

    def phrase(self, indices: Iterable[int]) -> str:
        """Return the text from the first to the last of these words."""
        ordered = sorted(indices)
        last = self.words[ordered[-1]]
        return self.text[self.words[ordered[0]].start : last.start + len(last.text)]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the white space around them.

    A heading is one of its own, and none goes on after a blank line.
    """
    paragraphs = (part for part in _BETWEEN_PARAGRAPHS.split(text) if part)
    return [sentence for each in paragraphs for sentence in _within(each)]


def _within(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph."""
    for start, end in pairwise([0, *sentence_ends(paragraph)]):
        if sentence := paragraph[start:end].strip():
            yield sentence


@lru_cache(maxsize=8192)
def parse(sentence: str) -> Sentence:
    """Return the sentence with its grammar; without words if no model is installed."""
    parsed = syntax.parse(sentence).words
    kept = [word for word in parsed if word.text.strip()]
    position = {word.index: i for i, word in enumerate(kept)}
    return Sentence(
        sentence,
        tuple(
            replace(word, index=at, head=position.get(word.head, at))
            for at, word in enumerate(kept)
        ),
    )
