"""Judgements in set phrases, of which a parser makes little: "Kudos to Ana", "Shame on them".

A phrase is the whole sentence, and what it judges is the topic and nothing more: "Avoid the hotel
lifts like the plague" judges no hotel. Thanks that go on ("Kudos to the railway, another two hours
on the platform") may be ironic, and advice ("Avoid peanuts at all costs") may be a doctor's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.word_classes import UNSURE

_WORDS = word_sets("stance")
PRAISE, BLAME = (
    frozenset().union(*(_WORDS[name] for name in names))
    for names in (
        ("praise", "praise_nouns", "likes", "pleased", "succeeds", "well"),
        ("blame", "blame_nouns", "dislikes", "displeased", "fails", "fails_again", "badly"),
    )
)
AGAINST = {1: BLAME | _WORDS["against"], -1: PRAISE | _WORDS["amends"]}

_OF_ANOTHER = frozenset(
    "a an all another any both each every few her his its many most no other some their "
    "your".split()
)
"""Before a noun, these make it another thing, or none in particular: "I value your opinion"."""
_LONGEST_NOTE = 4
"""Words of a part of a note; a longer one may tell anything."""

_MOST_CHARS = 300
"""A longer sentence says more than a phrase."""

_LIKING = re.compile(
    r"(?:i|we) (?:(?:just|really|absolutely|simply|still|so) )*(?P<verb>[a-z]+) (?P<thing>[^,;:]+)"
)
_PRAISING = (
    r"(?:kudos|hats off|props|bravo) to (?P<thing>[^,;:]+)",
    r"(?:two |big |a big )?thumbs up (?:for|to) (?P<thing>[^,;:]+)",
    r"(?:i |we )?can(?:not|'?t) (?:praise|recommend) (?P<thing>[^,;:]+?) (?:highly )?enough",
    r"(?P<thing>[^,;:]+) (?:stole|won|has stolen|has won) (?:my|our) hearts?",
    r"(?:i |we )(?:absolutely |totally )?(?:fell|am|are|'m|'re) in love with (?P<thing>[^,;:]+)",
    r"(?P<thing>[^,;:]+) (?:works?|worked) (?:absolute )?(?:wonders|miracles)",
    r"(?P<thing>[^,;:]+) (?:fits?|fit me|fits me) like a glove",
)
_BLAMING = (
    r"(?:always )?(?:avoid|steer clear of|stay away from|keep away from) (?P<thing>[^,;:]+?)"
    r" like the plague",
    r"shame on (?P<thing>[^,;:]+)(?:, .*)?",
    r"(?:two |a big )?thumbs down (?:for|to) (?P<thing>[^,;:]+)",
    r"never again(?: with| at| to|,)? (?P<thing>[^,;:]+)",
    r"(?P<thing>[^,;:]+) makes? (?:me|us) (?:gag|cringe|want to (?:scream|cry))",
    r"(?:i |we )?(?:really |deeply )?regret (?:ever )?(?:going to|buying|hiring|booking|choosing|"
    r"joining|trusting|signing up for) (?P<thing>[^,;:]+)",
    r"(?:i |we )?(?:feel|felt) (?:so |totally |completely )?(?:cheated|ripped off|let down|"
    r"insulted|fobbed off|swindled) by (?P<thing>[^,;:]+)(?:, .*)?",
)
_PHRASES = tuple(
    (sign, re.compile(phrase))
    for sign, phrases in ((1, _PRAISING), (-1, _BLAMING))
    for phrase in phrases
)
_MADDENS = re.compile(
    r"(?:driv(?:e|es|ing)|drove|driven) (?:me|us) (?:\w+ly )?"
    r"(?:up the wall|round the (?:bend|twist)|to (?:despair|distraction)|mad)\b"
    r"|l(?:eft|eaves?) (?:a lot|much|a great deal) to be desired\b"
    r"|bor(?:e|es|ed|ing) (?:me|us) (?:to (?:tears|death)|stiff|silly)\b",
    re.IGNORECASE,
)
_DOES_WONDERS = re.compile(
    r"(?:does|did|do|done|works|worked|work) (?:absolute )?wonders for (?:me|us|my|our)\b",
    re.IGNORECASE,
)
_NO_HITCH = re.compile(
    r"\w+(?: \w+){0,2} without (?:a|any|one|a single) "
    r"(?:hitch|glitch|hiccup|fault|problem|flaw)s?\b",
    re.IGNORECASE,
)
_APPENDED = re.compile(
    r"(?P<words>[a-z' -]+), (?:this|that|these|those|the|our) (?P<thing>[^,;:]+)"
)
_EXCLAIMED = re.compile(
    r"what an? (?P<words>[a-z' -]+?) (?P<thing>[^,;:]+) (?:that|this|it) (?:is|was)"
)
_BEST = re.compile(
    r"(?P<best>best|worst|finest) (?:[a-z0-9]+ ){1,3}?(?:(?:i|we)(?:'ve| have)? ever [a-z]+|ever|"
    r"of (?:my|our) (?:life|lives)|of the year)(?:,|:)? (?P<thing>[^,;:]+)"
)


def sign_of_phrase(text: str, topic: str) -> int:
    """Return 1 if a sentence praises the topic in a set phrase, -1 if it blames it, else 0."""
    if len(text) > _MOST_CHARS:
        return 0
    said = text.casefold().replace("’", "'").strip(" .!")
    return (
        _of_liking(said, topic)
        or next((sign for sign, it in _PHRASES if _is_of(it.fullmatch(said), topic)), 0)
        or _of_appended(said, topic)
        or _of_best(said, topic)
        or (_names_a_thing(text.partition(":")[0]) and _of_list(said, topic))
    )


def sign_of_idiom(said: str, *, works: bool) -> int:
    """Return the sign of a predicate: "drives me up the wall", "did wonders for my back".

    Args:
        said: the sentence from its verb on.
        works: True for a verb of working, which may do so "without a hitch".
    """
    if works and _NO_HITCH.match(said):
        return 1
    return bool(_DOES_WONDERS.match(said)) - bool(_MADDENS.match(said))


def _is_of(found: re.Match[str] | None, topic: str) -> bool:
    """Return True if the thing that was found is the topic and nothing more."""
    if found is None or not _OF_ANOTHER.isdisjoint(found["thing"].split()):
        return False
    return lexemes(found["thing"]) == lexemes(topic)


def _of_liking(said: str, topic: str) -> int:
    """Return the sign of "I love pytest", whatever a parser makes of the name."""
    found = _LIKING.fullmatch(said)
    return polarity(found["verb"], "likes", "dislikes") if found and _is_of(found, topic) else 0


def _of_appended(said: str, topic: str) -> int:
    """Return the sign of "Bloody awful, those curtains", "what a lovely trip that was"."""
    found = _APPENDED.fullmatch(said) or _EXCLAIMED.fullmatch(said)
    if found is None or not _is_of(found, topic):
        return 0
    words = found["words"].split()
    signs = {polarity(word, "praise", "blame") for word in words}
    known = all(
        polarity(word, "praise", "blame") or word in _WORDS["strengthens"] for word in words
    )
    signs.discard(0)
    return signs.pop() if known and len(signs) == 1 else 0


def _of_best(said: str, topic: str) -> int:
    """Return the sign of "best 60 quid I ever spent, this air fryer"."""
    found = _BEST.fullmatch(said)
    if found is None or not _is_of(found, topic):
        return 0
    return -1 if found["best"] == "worst" else 1


def _names_a_thing(head: str) -> bool:
    """Return True if a word says what it is: "Hotel Miramar"; "Ana" before a colon speaks."""
    return any(word.islower() or word.casefold() in _WORDS["places"] for word in head.split()[-4:])


def _of_list(said: str, topic: str) -> int:
    """Return the sign of a note: "Hotel Miramar: friendly staff, great view"; 0 if it is not plain.

    At least two of its parts praise, or blame; none is long, denied, or of the other sign.
    """
    head, _, notes = said.partition(":")
    parts = [part.split() for part in re.split(r"[,;]| and ", notes)]
    words = {word for part in parts for word in part}
    if lexemes(head) != lexemes(topic) or max(map(len, parts)) > _LONGEST_NOTE:
        return 0
    if words & (UNSURE | _WORDS["others"] | {"not", "without"}):
        return 0
    signs = [each for part in parts for each in _signs(part)]
    if len(signs) < 2 or len(set(signs)) > 1:
        return 0
    beside = _WORDS["beside_blame" if signs[0] > 0 else "beside_praise"]
    return 0 if words & (AGAINST[signs[0]] | beside) else signs[0]


def _signs(words: Iterable[str]) -> set[int]:
    return {polarity(word, "praise", "blame") for word in words} - {0}


def sign_of_adverb(adverb: str) -> int:
    """Return the sign of "painfully", or "wonderfully"."""
    adjectives = (adverb.removesuffix("ly"), f"{adverb[:-1]}e", f"{adverb[:-3]}y", adverb[:-4])
    signs = {polarity(each, "praise", "blame") for each in (adverb, *adjectives)}
    signs = (signs | {polarity(adverb, "well", "badly")}) - {0}
    return signs.pop() if len(signs) == 1 and adverb.endswith("ly") else 0


def polarity(word: str, praise: str, blame: str) -> int:
    """Return 1 for a word of one list, -1 for one of the other, and 0 for one of both or none."""
    return (word in _WORDS[praise]) - (word in _WORDS[blame])
