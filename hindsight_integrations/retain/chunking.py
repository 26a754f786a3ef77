"""Split a text into chunks with local boundaries: an edit changes only the chunks it touches.

A paragraph is a chunk, together with the heading or the few words that lead into it. What a mail
quotes of an earlier one, and what follows its signature separator, are chunks of their own: the
first is another's words, the second is the same in every mail. A paragraph that is too long is cut
between sentences, else between words, else between characters; a hash of the text there decides
where exactly, so that the text after an edit is cut as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from zlib import crc32

import regex

from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.retain import mail

Counter = Callable[[str], int]

_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?!\s*\n))*(?:\n\s*)?")
_WORD = re.compile(r"\s*\S+\s*|\s+")
_UNBROKEN = 64
"""A word of more characters may be cut."""
# `\X` is a character as the reader sees it: never half an emoji or a letter without its accent.
_CHARACTERS = regex.compile(r"\X{1,16}\s*")
_CHARACTER = regex.compile(r"\X")
_SENTENCE_CLOSED = re.compile(r"[.!?…。！？｡।॥؟۔][\"'”’»)\]」』）*_]*\s*\Z")

_HEADING_TOKENS = 16
_FRAGMENT_TOKENS = 6
_LEAST_FILL = 4
"""A chunk cut from a longer text has at least 1/4 of the limit, except the last."""


class Break(IntEnum):
    """Unit that ends with a piece of text; the lower, the better a cut after it."""

    PARAGRAPH = 0
    SENTENCE = 1
    LINE = 2
    WORD = 3
    CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text, white space after it included, that is not cut further."""

    text: str
    tokens: int
    ends: Break


def split(text: str, max_tokens: int, count: Counter) -> list[str]:
    """Return chunks of at most `max_tokens`, in order, with no visible character lost.

    A chunk's size is the sum of its pieces' counts, so a tokenizer that merges across pieces
    may find fewer. Only a single visible character (with all its accents) may exceed the limit.
    """
    chunks: list[str] = []
    block: list[Piece] = []
    for paragraph in _paragraphs(text, max_tokens, count):
        if block and mail.begins_signature(paragraph[0].text):
            chunks.extend(_cut(block, max_tokens))
            block = []
        block.extend(paragraph)
        if len(paragraph) > 1 or not _leads_into_next(paragraph[0]):
            chunks.extend(_cut(block, max_tokens))
            block = []
    return chunks + _cut(block, max_tokens)


def pieces(text: str, max_tokens: int, count: Counter) -> list[Piece]:
    """Cut a text into sentences, and those over `max_tokens` further; the texts join to it."""
    parts: list[Piece] = []
    start = 0
    for end in sentence_ends(text):
        sentence = text[start:end]
        parts.extend(_fitting(sentence, max_tokens, count))
        start = end
    return parts


def _paragraphs(text: str, max_tokens: int, count: Counter) -> Iterator[list[Piece]]:
    paragraphs = (match.group() for match in _PARAGRAPH.finditer(text))
    for paragraph in chain.from_iterable(map(mail.parts, paragraphs)):
        if _fits(paragraph, max_tokens, count):
            yield [Piece(paragraph, count(paragraph), Break.PARAGRAPH)]
        else:
            yield pieces(paragraph, max_tokens, count)


def _fits(text: str, max_tokens: int, count: Counter) -> bool:
    """Return True if it is within the limit; very long texts are refused without counting."""
    return len(text) <= max_tokens * _UNBROKEN and count(text) <= max_tokens


def _fitting(sentence: str, max_tokens: int, count: Counter) -> Iterator[Piece]:
    ends = Break.PARAGRAPH if _ends_paragraph(sentence) else Break.SENTENCE
    if _fits(sentence, max_tokens, count):
        yield Piece(sentence, count(sentence), ends)
        return
    for match in _WORD.finditer(sentence):
        word = match.group()
        if len(word) <= _UNBROKEN and (tokens := count(word)) <= max_tokens:
            yield Piece(word, tokens, Break.LINE if "\n" in word else Break.WORD)
            continue
        for run in _CHARACTERS.findall(word):
            fits = count(run) <= max_tokens
            for part in [run] if fits else _CHARACTER.findall(run):
                yield Piece(part, count(part), Break.CHARACTER)


def _ends_paragraph(text: str) -> bool:
    return text[len(text.rstrip()) :].count("\n") > 1


def _leads_into_next(paragraph: Piece) -> bool:
    """Return True for a heading, or a few words that say little without the text after."""
    if paragraph.tokens < _FRAGMENT_TOKENS:
        return True
    return paragraph.tokens < _HEADING_TOKENS and not _SENTENCE_CLOSED.search(paragraph.text)


def _cut(block: Sequence[Piece], max_tokens: int) -> list[str]:
    """Join pieces to chunks within the limit and, except the last, of at least 1/4 of it.

    Of the breaks where a chunk may end, the best kind wins, then the least hash of the piece
    before it: chunks that begin at different pieces soon meet in the same cuts.
    """
    chunks: list[str] = []
    start = 0
    while start < len(block):
        size = 0
        cut, cut_rank = start + 1, (len(Break), 0)
        for index in range(start, len(block)):
            piece = block[index]
            size += piece.tokens
            if size > max_tokens:
                break
            if size * _LEAST_FILL >= max_tokens:
                rank = (piece.ends, crc32(piece.text.strip().encode(errors="replace")))
                if rank < cut_rank:
                    cut, cut_rank = index + 1, rank
        if size <= max_tokens:
            cut = len(block)
        chunks.append("".join(piece.text for piece in block[start:cut]).strip())
        start = cut
    return [chunk for chunk in chunks if chunk]
