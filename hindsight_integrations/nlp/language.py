"""Tell English from other languages, for what was written or measured for English alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.nlp.data import table

_LANGUAGES = table("reflection")["languages"]
_FOREIGN, _ENGLISH = (
    re.compile(rf"\b(?:{_LANGUAGES[name].strip().replace(chr(10), '|')})\b", re.IGNORECASE)
    for name in ("other", "english")
)


def is_english(texts: Sequence[str]) -> bool:
    """Return True for Latin letters, and as many frequent English words as others."""
    joined = " ".join(texts)
    latin = sum(letter.isascii() for letter in joined if letter.isalpha())
    letters = sum(letter.isalpha() for letter in joined)
    return 10 * latin >= 9 * letters and (
        len(_ENGLISH.findall(joined)) >= len(_FOREIGN.findall(joined))
    )
