"""Find words after which something told before may no longer be so: "resigned", "took me off".

They are too broad to say that it ended, but enough to withhold what was concluded from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Word

_CUES: dict[str, set[tuple[str, ...]]] = {}
for _cue in word_sets("endings_hinted")["may_have_ended"]:
    _first, *_rest = _cue.split("_")
    _CUES.setdefault(_first, set()).add(tuple(_rest))
_KINDS = word_sets("endings_hinted", "kinds")
_APART = 4
"""Most words from one word of a phrase to the next: "took the whole family off"."""


def may_have_ended(words: Sequence[Word]) -> Word | None:
    """Return the first word that hints at an end; None if there is none.

    Args:
        words: the words of a sentence, in order.
    """
    for index, word in enumerate(words):
        for form in {word.lemma, word.lower}:
            if any(_follows(words, index, rest) for rest in _CUES.get(form, ())):
                return word
    return None


def kind_nouns(verb: str) -> frozenset[str]:
    """Return nouns of a verb's typical objects, by its base form: "car" for "drive"."""
    return _KINDS.get(verb, frozenset())


def _follows(words: Sequence[Word], index: int, rest: Sequence[str]) -> bool:
    """Return True if the other words of a phrase follow its first with short gaps."""
    for part in rest:
        after = range(index + 1, min(index + 1 + _APART, len(words)))
        found = next((i for i in after if part in (words[i].lemma, words[i].lower)), None)
        if found is None:
            return False
        index = found
    return True
