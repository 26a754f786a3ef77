"""Base forms of verbs, for the few that tell when something is to be."""

from __future__ import annotations

_BASES = {
    "bought": "buy", "got": "get", "told": "tell", "held": "hold", "kept": "keep", "sold": "sell",
    "swore": "swear", "said": "say", "chose": "choose",
}  # fmt: skip


def verb_stems(word: str) -> set[str]:
    """Return the base forms that a regular verb form may have, and the form itself."""
    stems = {word, _BASES.get(word, word)}
    for ending in ("ed", "d", "ing", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            stems |= {stem, stem + "e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem}
            stems.add(stem[:-1] + "y" if stem.endswith("i") else stem)
    return stems
