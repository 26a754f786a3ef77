"""Recognise turns that state nothing: questions, courtesies, and answers that give none.

Precision comes first: a turn is chatter only if every part of every sentence is. A question that
carries a statement ("Can you recommend a vet for my dog Rex in Porto?", "Did you know I moved?", "I
love jazz, don't you?") is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from hindsight_integrations.models import TurnKind
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.spacy_pipeline import Annotation, Token, sentence_ends
from hindsight_integrations.nlp.word_classes import FINITE

LONGEST = 240
"""Characters of the longest sentence that may be chatter: a longer one tells something."""

LONGEST_WITHOUT_MARK = 12
"""Words of the longest question without a question mark: a longer one may say more than it asks.

So are spoken words that were written down without marks: "can you move the dentist it is on the
fifth of june at ten".
"""

_SEPARATORS = frozenset(",;:-–—")
_PROPER = frozenset({"NNP", "NNPS"})
_QUESTION_MARK = re.compile(r"[?？][\W_]*\Z")
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th|:\d\d)?\Z")

_WH = r"(?:what|who|whom|whose|which|when|where|why|how|wat|wot)"
_AUXILIARY = (
    r"(?:do|does|did|is|are|am|was|were|can|could|will|would|shall|should|has|have|had|may|might"
    r"|must|don't|doesn't|didn't|isn't|aren't|wasn't|weren't|can't|couldn't|won't|wouldn't"
    r"|shouldn't|hasn't|haven't|hadn't)"
)
_PRONOUN = r"(?:i|you|u|he|she|it|we|they)"
_SUBJECT = (
    r"(?:i|you|u|he|she|it|we|they|the|a|an|my|your|his|her|our|their|its|this|that|these|those"
    r"|there|NAME)"
)
_OPENER = re.compile(
    rf"(?:{_WH}(?:'s|s|'re|'d|'ll|'ve)?|{_AUXILIARY}|any|anyone|anybody|anything|ever|wanna|mind)\b"
)
"""Opens a question that ends in a question mark."""

_INVERSION = re.compile(
    rf"""
    {_WH}(?:'s|s|'re)\s (?:my|your|his|her|our|their|the|that|this|it|up|NAME)\b(?!.*\b(?:is|was)\b)
    | (?!which\s(?:is|was|are|were)\b) {_WH}\s {_AUXILIARY}\s {_SUBJECT}\b
    | (?:which|whose|what\s(?:time|day|date|year|kind\sof|sort\sof|type\sof)
        | how\s(?:many|much|long|old|far|often|tall|big|late|soon))
      \s (?:(?!{_SUBJECT}\b)\S+\s){{0,2}} {_AUXILIARY}\s {_SUBJECT}\b
    | how\s(?:many|much|long|far|soon)\s (?:\S+\s){{0,2}}
      (?:until|till|til|before|left|away|per|between|from\shere)\b
    | (?:what\stime|which\sday|what\sday|who\selse|what\selse)\s
      (?:tomorrow|today|tonight|again|works|suits|on\s\S+day)\b
    | (?:do|does|did|can|could|will|would|is|are|was|has|have|don't|didn't|isn't|aren't|can't)\s
      {_PRONOUN}\b
    | (?:is|are|isn't|aren't)\s (?:the|my|your|there|that|this)\b
    | (?:please\s|just\s|kindly\s)* (?:tell|show|explain\sto|give)\s me\s (?:again\s|please\s)*
      (?:what|where|when|who|whom|whose|which|why|how|if|whether|about|more|something|my|your)\b
    | (?:please\s|just\s|kindly\s)* remind\s me\s (?:again\s)* (?:what|where|who|which|how|why|of)\b
    | (?:i|i'm|i\sam|i\swas)\s (?:just\s)? (?:wonder|wondering|curious)\s (?:about\s)?
      (?:{_WH}|if|whether)\b
    | (?:i'd|i\swould)\s (?:like|love)\sto\sknow\s (?:{_WH}|if|whether|more|your|about)\b
    | i\s? (?:'d\s(?:really\s)?(?:like|love)|would\s(?:like|love)|need|want|have|'?a?m\strying)\s
      to\s (?:know|find\sout|remember|figure\sout|work\sout|check|ask)\s (?:you\s)?
      (?:{_WH}|if|whether)\b
    | i\s (?:can't|cannot|forget)\s (?:for\sthe\slife\sof\sme\s|quite\s)* (?:remember|recall)?\s?
      {_WH}\s (?!to\b) (?=.*\b(?:i|we|was|is|were|are|my|it)\b)
    | any\s (?:idea|clue|chance|thoughts\son)\s (?:{_WH}|if|whether|you|that|on|about)\b
    | (?:you|u)\s (?:wouldn't|would\snot|don't)\s (?:happen\sto|by\sany\schance)\s
      (?:know|remember|recall|have)\b
    | (?:would\syou\s)? mind\s (?:telling|reminding|showing)\s me\b
    | (?:so\s|and\s|then\s)* who(?:'s|se|\sis|\swas)\s (?:\S+ing|turn|got|next|in|on|at)\b
    | (?:please\s|just\s|kindly\s)* tell\s me\s (?:again\s|once\smore\s|please\s)* {_WH}\b
    | whose\s \S+\s (?:is|was)\b
    """,
    re.VERBOSE,
)
"""Opens a question by its word order, with a question mark or without."""

_FACTIVE = re.compile(
    r"""
    (?:did|do|have|haven't|didn't|don't)\s (?:you|i|we)\s (?:ever\s|already\s|also\s|just\s)*
    (?:know|hear|heard|see|seen|notice|noticed|realize|realise|mention|mentioned|tell|told|say|said)
    (?:\sto)? (?:\syou|\sme)? (?:\sthat)? \s
    | (?:can|could|would)\s you\s believe\s (?:that\s)?
    | (?:do\syou\s)? remember\s (?:that|when)\s (?=i\b|we\b)
    | you\sknow\s (?:that\s)? (?=i\b|i'm\b|i've\b|we\b|my\b|our\b)
    """,
    re.VERBOSE,
)
"""Opens a question that takes what follows for a fact, if that is a clause."""

_NO_CLAUSE = re.compile(rf"(?:{_WH}|if|whether|about)\b")
_REASON_OF_MINE = re.compile(
    r"\b(?:because|since|now that|although|though|given that|but|and)"
    r" (?:i|i'm|i've|we|we're|my|our)\b"
)
_RHETORICAL = re.compile(
    r"(?:why (?:would|should|on earth)|how (?:can|could|am i supposed)|who (?:would|could))\b.*"
    r" when (?:i|i'm|i've|we|we're|my|our)\b"
)
"""Matches a rhetorical question with a fact: "Why would I fly when I'm afraid of heights?"."""

_NEXT_CLAUSE = re.compile(
    rf"\s(?!(?:{_WH}|if|whether|that|think|know|say|said|and|or)\s) \S+ \s"
    r"(?:i'?m|i'?ve|it'?s|he'?s|she'?s|we're|we'?ve|they'?re|they'?ve) \s",
    re.VERBOSE,
)
"""Matches a clause that follows another without a mark: "can you make it vegan I'm on a diet"."""

_HYPOTHETICAL = re.compile(r"(?:if|unless|in case|whether|when|whenever|before|while|or)\b")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|we're|we've|our|ours)\b")
_REQUESTS = re.compile(
    r"(?:can|could|would|will|do|are|have) you\b|(?:is|are) there\b|any\b"
    r"|(?:what|where|which|who|how|when)\b.{0,40}?\b(?:should|can|could|would) (?:i|we)\b"
    r"|how do (?:i|we)\b|(?:can|could|may|should) (?:i|we)\b"
    r"|is it (?:ok|okay|fine|alright|possible)\b"
)
"""Matches a request for something in the world, unlike a question for what the memory knows."""

_ASKS_MEMORY = re.compile(
    r"\b(?:know|remember|recall|tell|remind|told|said|mentioned|happen to have"
    r"|(?:in|on) my (?:diary|calendar|notes?|list|schedule|agenda|records?))\b"
)
_YES_NO = re.compile(
    r"(?:yes|yeah|yep|yup|yah|ya|aye|no|nope|nah|sure|of course|definitely|absolutely|certainly"
    r"|never|always|exactly|ok|okay|k|please|both|same|me too|me neither|not at all|true|right"
    r"|correct|indeed|good|great|fine|lovely|amazing|awesome|perfect|nice|i do|you bet"
    r"|i will(?! (?:ask|check|look|find|see|let))"
    r"|maybe|perhaps|possibly|depends)(?:,? \w+){0,2}"
)


_COPULA_AFTER = re.compile(r" (?:is|was)\b")
"""Matches after a word that is mentioned, not used: "Hello is the name of the cafe"."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word in lower case, with the tags of its parts ("I'm" has two); "NAME" for a name."""

    text: str
    tags: frozenset[str] = frozenset()


_Part = Sequence[_Word]
"""The words between two separators."""


def turn_kind(annotation: Annotation, preceding: str | None = None) -> TurnKind | None:
    """Return the kind of a turn that states nothing; None for one that does or may state something.

    Args:
        annotation: of the turn. Without tags, less is recognised.
        preceding: the turn before it: "Yes." after a question is an answer.
    """
    kinds: set[TurnKind] = set()
    start = 0
    for end in sentence_ends(annotation.text):
        sentence = annotation.text[start:end]
        tokens = [token for token in annotation.tokens if start <= token.start < end]
        parts = _split_parts(sentence, tokens, start)
        start = end
        if not parts:
            continue
        kind = _sentence_kind(parts, asks=_QUESTION_MARK.search(sentence) is not None)
        if kind is None or len(sentence) > LONGEST:
            return None
        if kind != TurnKind.QUESTION and _is_answer(parts, preceding):
            return None
        kinds.add(kind)
    order = (TurnKind.QUESTION, TurnKind.NON_ANSWER, TurnKind.COURTESY)
    if not kinds:  # nothing but signs: "👍"
        return TurnKind.COURTESY
    return next(kind for kind in order if kind in kinds)


def _is_answer(parts: Sequence[_Part], preceding: str | None) -> bool:
    """Return True for a bare yes or no after a question."""
    is_after_question = preceding is not None and _QUESTION_MARK.search(preceding) is not None
    return is_after_question and _YES_NO.fullmatch(_joined_text(parts)) is not None


# Words


def _split_parts(sentence: str, tokens: Sequence[Token], start: int) -> list[_Part]:
    """Return the words of a sentence in lower case, split at commas, colons and dashes."""
    words = [*_tagged(tokens)] if tokens else [_Word(w) for w in _untagged(sentence)]
    grouped = groupby(words, key=lambda word: word.text in _SEPARATORS)
    return [tuple(group) for separates, group in grouped if not separates]


def _untagged(sentence: str) -> Iterator[str]:
    for word in re.findall(r"[\w'’]+|[,;:–—]", sentence.casefold()):
        yield word.replace("’", "'")


def _tagged(tokens: Sequence[Token]) -> Iterator[_Word]:
    """Yield words and separators, each contraction as one word; other signs are skipped."""
    text, tags, end = "", frozenset[str](), -1
    for token in tokens:
        plain = token.text.replace("’", "'")
        is_sign = not any(character.isalnum() for character in plain)
        if text and not is_sign and token.start == end:
            text, tags = text + plain, tags | {token.tag}
        else:
            if text:
                yield _word(text, tags)
            text, tags = ("", frozenset()) if is_sign else (plain, frozenset({token.tag}))
            if plain in _SEPARATORS:
                yield _Word(plain)
        end = token.start + len(token.text)
    if text:
        yield _word(text, tags)


def _word(text: str, tags: frozenset[str]) -> _Word:
    lower = text.casefold()
    known = lower in _vocabulary() or lower in word_sets("names")["calendar"]
    return _Word("NAME" if tags <= _PROPER and not known else lower, tags)


def _joined_text(parts: Sequence[_Part]) -> str:
    return ", ".join(" ".join(word.text for word in part) for part in parts)


# Sentences


def _sentence_kind(parts: Sequence[_Part], *, asks: bool) -> TurnKind | None:
    """Return the kind of a sentence: of the whole, or of its parts if each has one."""
    whole = _kind_of_parts(parts, asks=asks)
    if whole is not None or len(parts) == 1:
        return whole
    kinds = [
        _kind_of_parts([part], asks=asks and part is parts[-1])
        for part in parts
        if not _phrases("vocatives").fullmatch(_joined_text([part]))
    ]
    if not kinds or None in kinds:
        return None
    return max((kind for kind in kinds if kind), key=_rank)


def _rank(kind: TurnKind) -> int:
    return (TurnKind.COURTESY, TurnKind.NON_ANSWER, TurnKind.QUESTION).index(kind)


def _kind_of_parts(parts: Sequence[_Part], *, asks: bool) -> TurnKind | None:
    """Return the kind of some parts together, with or without introductory words."""
    text = _joined_text(parts)
    lead = _phrases("lead_ins")
    while text:
        if _is_one_of("offers", text) or _is_one_of("courtesies", text):
            return TurnKind.COURTESY
        if not asks and _is_one_of("non_answers", text):
            return TurnKind.NON_ANSWER
        if _is_question(text, parts, asks=asks):
            return None if _carries_fact(text, parts) else TurnKind.QUESTION
        match = lead.match(text)
        if match is None or match.end() == len(text):
            return None
        if not asks and _COPULA_AFTER.match(text, match.end()):
            return None
        text = text[match.end() :].lstrip(" ,")
    return None


def _is_question(text: str, parts: Sequence[_Part], *, asks: bool) -> bool:
    if _INVERSION.match(text):
        return asks or not _may_say_more(text)
    if not asks:
        return False
    if _OPENER.match(text):
        return True
    head = _phrases("tags").sub("", text)
    if head != text and (not head.startswith("you") or _FIRST_PERSON.search(head)):
        return False
    return not _FIRST_PERSON.search(text) and (
        head.startswith("you") or not _has_finite_verb(parts[0])
    )


def _may_say_more(text: str) -> bool:
    """Return True if a question without a question mark may be followed by a statement."""
    return text.count(" ") >= LONGEST_WITHOUT_MARK or _NEXT_CLAUSE.search(text) is not None


def _has_finite_verb(part: _Part) -> bool:
    """Return True if the words have a finite verb, or have no tags at all."""
    tagged = any(word.tags for word in part)
    return not tagged or any(word.tags & FINITE for word in part)


def _carries_fact(text: str, parts: Sequence[_Part]) -> bool:
    """Return True if a question also states a fact."""
    factive = _FACTIVE.match(text)
    if factive and not _NO_CLAUSE.match(text, factive.end()):
        words = text[factive.end() :].split()
        if _has_finite_verb([word for part in parts for word in part][-len(words) :]):
            return True
    if _REASON_OF_MINE.search(text) or _RHETORICAL.match(text):
        return True
    if any(_is_statement(part) for part in parts[1:]):
        return True
    return (
        bool(_REQUESTS.match(text)) and not _ASKS_MEMORY.search(text) and _names_possession(parts)
    )


def _is_statement(part: _Part) -> bool:
    """Return True for a further part of a question that is a statement."""
    text = _joined_text([part])
    if not _has_finite_verb(part) or _HYPOTHETICAL.match(text) or _phrases("tags").fullmatch(text):
        return False
    return _kind_of_parts([part], asks=False) is None


def _names_possession(parts: Sequence[_Part]) -> bool:
    """Return True if a name or number follows "my" or "our": "my dog Rex"."""
    words = [word for part in parts for word in part]
    possessive = next(
        (index for index, word in enumerate(words) if word.text in ("my", "our")), len(words)
    )
    return any(word.tags & _PROPER or _NUMBER.match(word.text) for word in words[possessive + 1 :])


# Phrases


@cache
def _phrases(name: str) -> re.Pattern[str]:
    """Return the compiled pattern of a list of phrases in `chatter.toml`."""
    listed = table("chatter")["phrases"][name]
    pattern = "|".join(map(_expanded, listed))
    if name == "lead_ins":
        return re.compile(rf"(?:{pattern})(?=[ ,]|\Z)")
    if name == "tags":
        return re.compile(rf",? ?\b(?:{pattern})\Z")
    return re.compile(pattern)


def _expanded(phrase: str) -> str:
    parts = table("chatter")["parts"]
    while (expanded := re.sub("<([a-z]+)>", lambda part: parts[part.group(1)], phrase)) != phrase:
        phrase = expanded
    return phrase


@cache
def _vocabulary() -> frozenset[str]:
    """Return all words of the phrases, which count as no names, whatever their tags."""
    phrases = table("chatter")["phrases"].values()
    text = " ".join(_expanded(phrase) for listed in phrases for phrase in listed)
    return frozenset(re.findall(r"[^\W\d_][^\W\d_']*", text))


def _is_one_of(name: str, text: str) -> bool:
    return len(text) <= LONGEST and _phrases(name).fullmatch(text) is not None
