"""Ranking signals as pure functions over the arrays of a pool; results are in the pool's order.

There are boosts, and conversation signals (zero if no memory has a speaker). `ranking` weights and
adds them, together with the signals of `entity_graph`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex

from hindsight_integrations.nlp.bm25 import bm25, lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import sounds_same
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.recall.pool import OFFSETS, Pool
from hindsight_integrations.recall.scaling import Scores, standardise

# Boosts. Each multiplies the likelihood that a memory is wanted; totals are sums in the manner of
# log-likelihoods, so `ranking` adds the logarithm of a boost.

RECENCY = 0.10
"""Maximum relative effect of the recency boost [Hindsight 1.1]."""

TEMPORAL = 0.10
"""Maximum relative effect of the temporal boost [Hindsight 1.1]."""

PROOF = 0.05
"""Maximum relative effect of the proof boost [Hindsight 1.1]."""

RECENCY_DAYS = 365
"""Days after which a memory counts as old."""

PROOF_FULL = 10
"""Number of sources at which a memory counts as fully proven."""


def recency_boost(age: Scores) -> Scores:
    """Return 1.1 for a memory said just now, decreasing linearly to 0.9 after a year.

    Args:
        age: seconds between the memory and the question, whichever is first.
    """
    return 1.0 + RECENCY * (1.0 - 2.0 * np.minimum(1.0, np.abs(age) / 86_400 / RECENCY_DAYS))


def temporal_boost(fit: Scores) -> Scores:
    """Return 0.9 for a memory outside the period asked about, up to 1.1 for one inside it.

    Args:
        fit: results of `date_match`, 0 to 1.
    """
    return 1.0 + TEMPORAL * (2.0 * fit - 1.0)


def proof_boost(proof_count: Scores) -> Scores:
    """Return 1 for one source, up to 1.05 for ten and more."""
    return 1.0 + PROOF * (np.minimum(proof_count, PROOF_FULL) - 1) / (PROOF_FULL - 1)


# Conversation

NEAR = {-1: (0.6, 0.8), 1: (0.4, 0.3)}
"""Weights of BM25 (divided by its maximum) and cosine, for the previous and the next turn: an
answer usually follows its question. Fitted on the development set of the benchmark."""

BEST_OF_SESSION = 3
"""Number of best turns whose mean cosine is used for their session."""

_TOGETHER = frozenset({"and", "or", "und", "oder", "y", "o", "et", "ou"})
_SOURCE = frozenset({"from", "by", "von"})
_CAPITALISED = regex.compile(r"\b\p{Lu}\w+")
_NAME_INSIDE = regex.compile(r"(?<=[\w,;)%][ \t])\p{Lu}\w*\p{Ll}\w*")
"""A capitalised word that does not begin a sentence. Words in all capitals are excluded: they are
as often units or courses as names."""
_NO_NAMES = ("calendar", "feasts", "places", "peoples", "honorifics", "ranks", "function_words")
_NO_STRANGERS = frozenset[str]().union(*(word_sets("names")[kind] for kind in _NO_NAMES))


def surroundings(pool: Pool, lexical: Scores, dense: Scores) -> tuple[Scores, Scores]:
    """Return the similarity to the question of the turns one and two positions away."""
    near, far = np.zeros(len(pool)), np.zeros(len(pool))
    for column, offset in enumerate(OFFSETS):
        neighbour = pool.neighbours[:, column]
        exists = neighbour >= 0
        if offset in NEAR:
            by_terms, by_meaning = NEAR[offset]
            near[exists] += (
                by_terms * lexical[neighbour[exists]] + by_meaning * dense[neighbour[exists]]
            )
        else:
            far[exists] += lexical[neighbour[exists]] + dense[neighbour[exists]]
    speaking = pool.memories.speaking
    return near * speaking, far * speaking


def session(pool: Pool, lexemes: tuple[str, ...], dense: Scores) -> Scores:
    """Return the fit of each turn's whole session: its BM25 and best cosines, standardised."""
    speaking, session_of = pool.memories.speaking, pool.memories.sessions
    sessions = int(session_of.max()) + 1
    if not speaking.any() or sessions < 2:
        return np.zeros(len(pool))
    by_similarity = np.lexsort((-dense, session_of))
    starts = np.searchsorted(session_of[by_similarity], np.arange(sessions + 1))
    ends = np.minimum(starts[1:], starts[:-1] + BEST_OF_SESSION)
    cumulative = np.concatenate([[0.0], np.cumsum(dense[by_similarity])])
    terms = pool.memories.terms.asked(lexemes).grouped(session_of, sessions)
    mean_length = float(terms.lengths.mean())
    by_terms = bm25(terms, pool.stats.frequency, pool.stats.documents, mean_length)
    by_meaning = (cumulative[ends] - cumulative[starts[:-1]]) / (ends - starts[:-1])
    combined = standardise(by_terms) + standardise(by_meaning)
    return np.asarray(combined[session_of] * speaking)


def names_someone_unknown(text: str, pool: Pool) -> bool:
    """Return True if an English question has a name that no memory and no entity contains.

    Dates, places and nationalities do not count: "What shall I do in Lisbon?" asks for preferences.

    Args:
        text: of the question, or its beginning.
        pool: what was found for it.
    """
    names = {name for name in _NAME_INSIDE.findall(text) if name.lower() not in _NO_STRANGERS}
    return any(
        not any(pool.stats.frequency.get(term, 0) for term in lexemes(name))
        for name in names
        if entity_norm(name) not in pool.entity_words
    )


def speaker_named(pool: Pool, question: str) -> Scores:
    """Return 1 for turns of the speaker whom the question asks about, else 0.

    A name in the question that only sounds like a speaker's is taken as that speaker: "Muhammad"
    for Muhhamed.
    """
    words = entity_norm(question).split()
    speakers = pool.memories.speaker_names
    first_names = {speaker.split()[0] for speaker in speakers}
    capitalised = {entity_norm(word) for word in _CAPITALISED.findall(question)} - first_names
    candidates = []
    for speaker in speakers:
        name = speaker.split()[0]
        similar = [word for word in words if word in capitalised and sounds_same(word, name)]
        matched = name if name in words else next(iter(similar), None)
        if matched is not None:
            candidates.append((words.index(matched), speaker))
    expected_speaker = _expected_speaker(words, sorted(candidates))
    if expected_speaker is None:
        return np.zeros(len(pool))
    number = pool.memories.speakers.index(expected_speaker)
    speaker_numbers = pool.memories.speaker_numbers
    return np.asarray(speaker_numbers == speaker_numbers[number], dtype=np.float64)


def _expected_speaker(words: Sequence[str], candidates: Sequence[tuple[int, str]]) -> str | None:
    """Return the named speaker who probably said what is asked for, if any.

    `candidates` contains word indexes and speakers. If there are two, it is the one who acts: "What
    did Ana recommend to Tom?", "What did Tom hear from Ana?"
    """
    match candidates:
        case [(_, alone)]:
            return alone
        case [(first, acting), (second, other)] if first != second:
            together = not _TOGETHER.isdisjoint(words[first + 1 : second][-2:])
            if together or "both" in words:
                return None
            return other if words[second - 1] in _SOURCE else acting
    return None


_OF_THE_AGENT = regex.compile(
    r"""
    \b(?: (?:did|have|had|were) \s you            # what did you recommend, have you said
    | you (?:['’](?:ve|d) | \s (?:have|had))? (?:\s (?:just|already|once|also|first|last|earlier))?
        \s (?: \w+ (?<!e)ed                       # the hotel you mentioned, but: what you need
        | said | told | gave | given | wrote | written | made | shown | found | chose | chosen )
    | your \s (?:\w+\s)? (?:answer | repl(?:y|ie) | response | advice | recommendation | suggestion
        | proposal | explanation | word)s?
    | (?:the|my) \s (?:assistant|agent|bot|ai)
    | hast \s du | haben \s (?-i:Sie) | (?:dein|(?-i:Ihr)) (?:e[mnrs]?)? \s (?:\w+\s)?
        (?:antwort | rat | ratschl[aä]g | vorschl[aä]g | empfehlung) (?:en?)?
    | as-tu | avez-vous | tu \s m['’]as | vous \s m['’]avez
    | (?:ta|ton|tes|votre|vos) \s (?:\w+\s)? (?:réponse|suggestion|recommandation|conseil)s?
    | dijiste | recomendaste | sugeriste | diste | aconsejaste | explicaste | me \s has
    | tus? \s (?:\w+\s)? (?:(?:respuesta|consejo|sugerencia)s? | recomendaci(?:ón|ones))
    )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of a question about the agent's own statements, in English, German, French and Spanish."""


def asks_the_agent(question: str) -> bool:
    """Return True if the question asks what the agent itself said or did."""
    return _OF_THE_AGENT.search(question) is not None


_OF_ANY_MATTER = regex.compile(
    r"""\b(?: remember | recall | memor(?:y|ies) | happen(?:s|ed|ing)? | so \s far | until \s now
        | every(?:thing|one|body) | anything | (?:is|'s) \s new | about \s (?:me|us|myself)
        | (?:we|i) \s (?:last \s)?
          (?:discuss|talk|decid|agree|plan|mention|said|tell|told)\w* )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of a question for anything the memory knows; its answers need not resemble it."""


def asks_for_any_matter(question: str) -> bool:
    """Return True if the question asks for anything known, like "What do you know about me?"."""
    return _OF_ANY_MATTER.search(question) is not None


def answers(pool: Pool, lexical: Scores, dense: Scores) -> Scores:
    """Return for each turn how similar the question before it, by another speaker, is to this one.

    It is the square of the mean of both measures, 0 to 1, so that only close questions count.
    """
    previous = pool.neighbours[:, OFFSETS.index(-1)]
    speaker_numbers = pool.memories.speaker_numbers
    replies = (
        (previous >= 0)
        & (pool.memories.asking[previous] > 0)
        & (speaker_numbers[previous] != speaker_numbers)
    )
    similarity = np.clip((lexical + dense) / 2, 0.0, 1.0)
    scores = np.zeros(len(pool))
    scores[replies] = similarity[previous[replies]] ** 2
    return scores
