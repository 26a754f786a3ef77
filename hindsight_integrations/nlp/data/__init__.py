"""Word tables as TOML files, shipped with the package.

A top-level text is a list of words that white space parts; a table maps a word to words
(`given_names.toml`) or follows the notation its file explains (`times.toml`). Words are in lower
case, except where a file says that spelling counts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return the parsed content of `<name>.toml`, read once."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


@cache
def word_sets(name: str, part: str | None = None) -> Mapping[str, frozenset[str]]:
    """Return the word lists of `<name>.toml`, or of one table in it, as sets."""
    lists = (table(name)[part] if part else table(name)).items()
    return {key: frozenset(words.split()) for key, words in lists if isinstance(words, str)}
