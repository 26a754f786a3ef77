"""Forms of verbs, for the few that tell when something is to be."""

from __future__ import annotations

_BASES = {
    "bought": "buy", "got": "get", "told": "tell", "held": "hold", "kept": "keep", "sold": "sell",
    "swore": "swear", "said": "say", "chose": "choose",
}  # fmt: skip
_SHORT_DAYS = frozenset({"tues", "thur", "thurs"})
_ALSO_VERBS = frozenset({"wed", "sat"})
_BEFORE_DAYS = frozenset("to til till until thru through on this next last - –".split())


def verb_stems(word: str) -> set[str]:
    """Return the base forms that a regular verb form may have, and the form itself."""
    stems = {word, _BASES.get(word, word)}
    for ending in ("ed", "d", "ing", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            stems |= {stem, stem + "e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem}
            stems.add(stem[:-1] + "y" if stem.endswith("i") else stem)
    return stems


def is_no_verb(word: str, before: str) -> bool:
    """Return True for what taggers take for a verb: a short day ("thurs to sat"), a picture."""
    lower = word.casefold()
    if not any(map(str.isalpha, lower)):
        return True
    return lower in _SHORT_DAYS or (lower in _ALSO_VERBS and before.casefold() in _BEFORE_DAYS)
