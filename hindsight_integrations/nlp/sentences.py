"""Sentences of a text, and their grammar without words that are white space."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from hindsight_integrations.nlp import syntax
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.syntax import Sentence

_BETWEEN_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n|^([^\S\n]*\#{1,6}[^\S\n].*)\n", re.MULTILINE)
"""A blank line, or the end of a heading, which is kept."""


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
    """Return the sentence with its grammar, without words that are white space."""
    return syntax.parse(sentence).without_space()
