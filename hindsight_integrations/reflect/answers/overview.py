"""Read the topic of "Tell me about Ana" or a bare "Ana's boat", and find what speaks of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.models import Memory, MentalModel
from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.reflect.search import SearchResult

_REQUEST = re.compile(
    r"(?:please,? )?(?:(?:can|could|will|would) you (?:please )?)?"
    r"(?:"
    r"(?:tell|remind|brief|update) (?:me|us)(?: (?:more|all|everything|anything|something))?"
    r"(?: (?:that )?you (?:know|remember))? (?:about|of|on)"
    r"|(?:what(?: else)?|everything|anything) (?:do|did|can|have) (?:you|we|i) "
    r"(?:know|remember|recall|say|said|tell me|told you|have) (?:about|of|on)"
    r"|(?:describe|introduce|recap|outline|summari[sz]e)"
    r"|(?:(?:give|write|show) (?:me |us )?)?(?:an? |the )?(?:short |brief )?"
    r"(?:overview|summary|profile|description) (?:about|of|on)"
    r") (?P<topic>[^\n]+)",
    re.IGNORECASE,
)
_OF_CLAUSES = frozenset({"VB", "VBD", "VBP", "VBZ", "MD", "WP", "WP$", "WDT", "WRB"})
"""Tags of words of clauses: a text that has one says, asks or orders something: no topic."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that a text asks to be told about.

    Attributes:
        names: terms of its names.
        nouns: terms of its other nouns.
    """

    names: frozenset[str]
    nouns: frozenset[str]

    def related(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results that speak of the topic: none if one of its names is in no result.

        A topic with names is spoken of by one of them and one of the other nouns; one without
        names by all its nouns.
        """
        terms = [(result, set(lexemes(_text_of(result.source)))) for result in results]
        if self.names.difference(*(found for _, found in terms)):
            return []
        if not self.names:
            return [result for result, found in terms if self.nouns <= found]
        return [
            result
            for result, found in terms
            if found & self.names and (not self.nouns or found & self.nouns)
        ]


def read_topic(text: str, asker: str = "") -> Topic | None:
    """Return the topic that a text names and asks nothing specific of; None for other text.

    Args:
        text: what was asked.
        asker: name of whom "me" means, if that is known.
    """
    request = _REQUEST.match(text.strip())
    words = parse(request["topic"] if request else text.strip()).words
    if any(word.tag in _OF_CLAUSES for word in words):
        return None
    nouns = [word for word in words if word.is_noun]
    names = lexemes_of(word.text for word in nouns if word.is_proper)
    other = lexemes_of(word.text for word in nouns if not word.is_proper)
    if request and not nouns and any(word.lower in ("me", "myself") for word in words):
        names = frozenset(lexemes(asker))
    return Topic(names, other - names) if names or other else None


def _text_of(source: Memory | MentalModel) -> str:
    if isinstance(source, MentalModel):
        return f"{source.name} {source.text}"
    return " ".join((source.text, source.speaker or "", *source.entities))
