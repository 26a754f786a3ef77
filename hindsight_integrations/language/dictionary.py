"""The words of a language, as its spaCy model lists them for finding base forms.

English models carry WordNet's words (Fellbaum, "WordNet: An Electronic Lexical Database", 1998)
with the endings and the exceptions of each word class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language

_WORD_CLASSES = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Base forms, irregular forms, and endings with what stands in their place.

    An empty one knows every word, so that nothing is concluded from a model without a list.
    """

    bases: frozenset[str] = frozenset()
    exceptions: frozenset[str] = frozenset()
    endings: tuple[tuple[str, str], ...] = ()

    def knows(self, word: str) -> bool:
        """Whether a word in lower case, or what it is a form of, is listed."""
        if not self.bases or word in self.bases or word in self.exceptions:
            return True
        return any(
            word[: len(word) - len(ending)] + base in self.bases
            for ending, base in self.endings
            if word.endswith(ending)
        )


def read_dictionary(language: Language) -> Dictionary:
    """The words that a model lists; an empty dictionary if it lists none."""
    from spacy.lookups import Lookups

    folder = language.path / "lemmatizer" / "lookups" if language.path else None
    if folder is None or not folder.is_dir():
        return Dictionary()
    lookups = Lookups().from_disk(folder)
    if not lookups.has_table("lemma_index"):
        return Dictionary()
    index, irregular, rules = (
        lookups.get_table(name, {}) for name in ("lemma_index", "lemma_exc", "lemma_rules")
    )
    return Dictionary(
        frozenset(word for kind in _WORD_CLASSES for word in index.get(kind, ())),
        frozenset(word for kind in _WORD_CLASSES for word in irregular.get(kind, ())),
        tuple({(ending, base) for kind in _WORD_CLASSES for ending, base in rules.get(kind, ())}),
    )
