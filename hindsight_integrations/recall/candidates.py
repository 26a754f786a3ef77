"""The memories that are ranked, and what of them no question changes, worked out once."""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.language.bm25 import HeldTerms
from hindsight_integrations.language.interaction import HeldTokens, held_tokens
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.recall.standard import Scores, standardise
from hindsight_integrations.storage.requests import Candidate

SUBSTANCE = (0.6, 0.25, 0.45, -0.25)
"""What rarity of the words, names, a date and the length count in the substance of a turn, by
standard deviation. Fitted on the development conversations of the bench, and rounded."""


class Candidates(tuple[Candidate, ...]):
    """Memories in an order, and arrays that are aligned with it; those of a small bank are kept.

    Several recalls may share one: nothing in it is to be changed.
    """

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Embeddings, one a row."""
        return np.stack([memory.vector for memory in self])

    @cached_property
    def tokens(self) -> HeldTokens:
        """The tokens that each holds, for late interaction."""
        return held_tokens([memory.interaction for memory in self])

    @cached_property
    def terms(self) -> HeldTerms:
        """The lexemes that each holds, for BM25."""
        return HeldTerms([memory.lexemes for memory in self])

    @cached_property
    def speakers(self) -> tuple[str, ...]:
        """Who said each, as names are compared; empty for what nobody said."""
        return tuple(entity_norm(memory.speaker or "") for memory in self)

    @cached_property
    def speaking(self) -> NDArray[np.bool_]:
        """Whether each was said by somebody."""
        return np.array([memory.speaker is not None for memory in self], dtype=np.bool_)

    @cached_property
    def asking(self) -> Scores:
        """1 for a turn that ends in a question, which seldom holds an answer."""
        ends = np.array([m.text.rstrip().endswith(("?", "？")) for m in self], dtype=np.float64)
        return ends * self.speaking

    @cached_property
    def sessions(self) -> NDArray[np.intp]:
        """The number of the document of each: in a conversation, its session."""
        keys = [(memory.bank_id, memory.document_id) for memory in self]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys], dtype=np.intp)

    @cached_property
    def substance(self) -> Scores:
        """How much each turn says, whatever is asked: rare words, names and dates, for its length.

        Small talk has little of them. Rarity is the mean of -ln(memories here that have the word).
        """
        if not self.speaking.any():
            return np.zeros(len(self))
        words = [set(memory.lexemes) for memory in self]
        held = Counter(chain.from_iterable(words))
        rarity = {word: -math.log(count) for word, count in held.items()}
        commonest = -math.log(len(self))
        speakers = set(self.speakers)
        measured = np.array(
            [
                (
                    sum(map(rarity.__getitem__, own)) / len(own) if own else commonest,
                    math.log1p(sum(entity_norm(name) not in speakers for _, name in m.entities)),
                    bool(m.occurred),
                    math.log(10 + len(m.text)),
                )
                for m, own in zip(self, words, strict=True)
            ]
        )
        parts = zip(SUBSTANCE, measured.T, strict=True)
        return np.asarray(sum(weight * standardise(part) for weight, part in parts) * self.speaking)
