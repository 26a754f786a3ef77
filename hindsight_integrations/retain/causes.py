"""Causes told across neighbouring statements: "So we moved.", "Because the rent rose.", "Why?".

Precision comes first. An opener counts only if the rest of the sentence lacks the other half: in
"Because it rained, we took the bus" cause and effect are both told, and in "Since 2021", "So far"
and "Why don't we ...?" there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.models import TurnKind
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends

REACH = 2
"""Statements looked back for the one that an opener continues, past turns that state nothing."""


@dataclass(frozen=True, slots=True)
class Told:
    """One of successive statements of a document or conversation."""

    text: str
    speaker: str | None = None
    kind: str | None = None


_THAT = r"(?:that|this|it|these|those|all\s(?:that|this)|the\s(?:former|above))"
_SUBJECT = (
    r"(?:i|I|we|he|she|it|they|you|the|my|our|his|her|their|its|a|an|this|these|those|there|no"
    r"|[A-Z]\w+)"
)

_IT_FOLLOWS = re.compile(
    rf"""
    (?: (?:therefore | thus (?!\sfar) | hence (?!forth) | consequently | accordingly)
      | as \s a \s (?:direct\s)? (?:result|consequence) (?!\sof\b)
      | (?:as \s a \s (?:direct\s)? (?:result|consequence) | in \s consequence | because
         | on \s account) \s of \s {_THAT}
      | for \s (?:that|this) \s (?:very\s)? reason | in \s consequence (?!\sof\b)
      | (?:that(?:['’]s|\s is|\s was) | this \s (?:is|was) | which \s (?:is|was)) \s
        (?:exactly\s|partly\s|mainly\s|also\s)? why (?=\s\w)
      | (?:that['’]?s|that \s (?:is|was)|which \s (?:is|was)) \s (?:also\s|exactly\s)?
        (?:the \s reason (?=\s\w) (?!\s (?:is|was)\b) | how (?=\s\w) (?!\s (?:much|many|long|it)\b))
      | (?:due|owing|thanks) \s to \s {_THAT}
      | (?:this|that|which|these) \s (?:has\s|had\s|in \s turn\s|eventually\s|then\s|also\s)*
        (?:led \s to | caused | resulted \s in | prompted | meant | forced | triggered | delayed
         | brought \s about | left \s (?:us|me|him|her|them) | kept \s (?:us|me|him|her|them)
         | made \s (?:us|me|him|her|them|it))
      | (?: deshalb | deswegen | daher | darum | folglich
          | por \s eso | por \s lo \s tanto | así \s que
          | donc | c['’]est \s pourquoi | par \s conséquent )
    ) \b
    | (?: 因此 | 所以 | だから | したがって | 그래서 )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AS_A_RESULT = re.compile(
    r",? \s (?:as \s a \s (?:direct\s)?(?:result|consequence)|in \s consequence"
    r"|because \s of \s (?:that|this|it)|for \s (?:that|this) \s reason) [.!]?\s*\Z",
    re.VERBOSE | re.IGNORECASE,
)
"""Ends a sentence that tells an effect: "He sold the car as a result."."""
_SO = re.compile(rf"[Ss]o \s (?:(?:now|then|finally)\s)? {_SUBJECT} \s", re.VERBOSE)
_SO_TALK = re.compile(
    r"so \s (?:they|he|she|it|that|this) (?:\s\w+)? \s"
    r"(?:think|thought|guess|mean|meant|say|said|says|tell|told|tells|figured|suppose)\b"
    r"|so \s (?:i|we|you) (?:\s\w+)? \s"
    r"(?:think|thought|thinking|guess|mean|meant|wonder|wondering|know|knew|hear|heard|see|saw|say"
    r"|said|tell|told|feel|hope|suppose|figured|remember|love|like|agree|believe)\b"
    r"|so \s (?:that|this|it|the) \s (?:was|is|were|are)\b | so \s (?:you|there)\b",
    re.VERBOSE | re.IGNORECASE,
)
"""Goes on with the talk, where "so" tells no effect."""

_CLAUSE_OF_ITS_OWN = re.compile(
    r"""
    , \s* (?:then\s)? (?:i|we|he|she|it|they|you|the|my|our|his|her|their|its|a|an|this|that|there
      |nobody|everybody|everyone|[A-Z]\w+) \b \s+ \S
    | (?<!\band) (?<!\bbut) (?<!\bthat) (?<!\bwhich) (?<!\bwho) (?<!\bsays) (?<!\bsaid)
      (?<!\bthinks) (?<!\bthought) (?<!\bknew) (?<!\bwhen) (?<!\bwhile) (?<!\bif) (?<!\bas)
      (?<!\bwhere) (?<!\bor) (?<!\bbecause) (?<!\bof) (?<!\bafter) (?<!\bbefore) (?<!\bsince)
      (?<!\bwhat) (?<!\bhow) (?<!\buntil) (?<!\bthan) (?<!^because)
      \s (?:i|we|he|she|they) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A main clause after the one that "because" opens."""

_BECAUSE = re.compile(
    r"(?:(?:mainly|mostly|probably|partly|just|simply|only|purely|perhaps|maybe)\s)? because"
    r"(?!-|\sof\s(?:that|this|it|these|those)\b) \s",
    re.VERBOSE | re.IGNORECASE,
)
_DUE_TO = re.compile(
    r"(?:(?:all|mainly|mostly|probably|partly)\s)?"
    r"(?:due \s to | owing \s to | on \s account \s of | thanks \s to (?!\s(?:you|all|every)))\s",
    re.VERBOSE | re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|did|do|does|will|would|can|could|i|we|he|she|they|it|you)\b"
    r"|n['’]t\b|\w{3,}ed\b|\bgot\b|\bwent\b|,",
    re.IGNORECASE,
)
_IT_EXPLAINS = re.compile(
    r"""
    (?: (?:that|it|this) (?:['’]s|\s is|\s was) \s
        (?:mainly\s|mostly\s|probably\s|partly\s|just\s|simply\s|all\s|only\s)*
        (?: because (?!-) | due \s to | owing \s to | thanks \s to | down \s to | caused \s by)
      | (?:the|my|our|his|her|their|one|its) \s (?:main\s|only\s|real\s|root\s|likely\s)?
        (?:reason|cause|culprit|explanation) (?:\s (?:for|behind|of) \s (?:that|this|it))?
        (?:['’]s|\s (?:is|was|being) | \s turned \s out \s to \s be)
        (?! \s (?:(?:still|yet|as)\s)* (?:un(?:known|clear|certain)|not\b|being|to \s be))
      | you \s see (?=,)
      | (?:(?:das|es) \s (?:ist|war|liegt \s daran,?) \s)? (?:denn | weil) | der \s grund
      | (?:c['’](?:est|était) \s)? parce \s qu (?:e\b|(?=['’])) | car
      | (?:es \s)? porque ) (?: \b | (?<=['’]) | (?=['’,]) )
    | (?:(?:root|main|likely|probable) \s)? (?:cause|reason|explanation) \s?: \s
    | 因为 | なぜなら | 왜냐하면
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LEAD = re.compile(r"[\s\W]*(?:and|but|well|oh|yes|yeah|und|y|et)?,?\s*", re.IGNORECASE)

_WHY = re.compile(
    r"""
    (?: why (?!,) (?!\s (?:not|should|would|bother|on|in|the \s (?:long|sad) \s face)\b)
          (?!\s (?:don['’]?t|do \s not|doesn['’]?t|aren['’]?t|can['’]?t) \s (?:we|you|u|i|they)\b)
          (?!\s (?:do|are|did) \s you \s (?:ask|asking|say|saying|think|want))
      | how \s come | what \s for | for \s what \s reason | what(?:['’]s|\s is|\s was) \s the \s
        (?:reason|cause)
      | what \s (?:made|caused|led|prompted|drove|forced|brought) \b (?!\s up) ) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ABOUT_IT = re.compile(r"\b(?:he|she|they|it|that|this|him|her|them)\b", re.IGNORECASE)
_BARE_WORDS = 2
"""Words of the longest question that names nothing: "How come?"."""

_NO_REASON = re.compile(
    r"(?: i (?:\s\w+)? \s don['’]?t \s (?:know|remember|recall)"
    r"| i \s (?:wish|can['’]?t|cannot|forgot)"
    r"| no\b | yes\b | yeah\b | nope\b | not \s (?:sure|really) | i['’]?m \s not \s sure"
    r"| good \s question | great \s question | hard \s to | who\b | what\b | why\b | when\b | how\b"
    r"| let \s me | guess\b | it \s depends | never \s mind | long \s story | none \s of"
    r"| (?:did|do|does|is|are|was|were) \s | i \s (?:did|do|was|am)n['’]?t\b"
    r"| dunno | idk | beats \s me | search \s me | maybe\b | perhaps\b"
    r"| haha | lol | thanks\b"
    r"| sorry\b | speaking \s of | anyway\b | by \s the \s way | btw\b | well \s i \s don)",
    re.VERBOSE | re.IGNORECASE,
)
"""Opens a reply that gives no reason."""


def causes(statements: Sequence[Told]) -> list[tuple[int, ...]]:
    """Return for each of successive statements the positions of those that led to it."""
    led_to: list[set[int]] = [set() for _ in statements]
    for index in range(1, len(statements)):
        pair = _pair(statements, index)
        if pair is not None:
            effect, cause = pair
            led_to[effect].add(cause)
    return [tuple(sorted(positions)) for positions in led_to]


def _pair(statements: Sequence[Told], index: int) -> tuple[int, int] | None:
    """Return the effect and the cause that the statement at `index` is one of."""
    this = statements[index]
    first = _first_sentence(this.text)
    if this.kind is not None or _asks(first):
        return None
    opening = _opening(first)
    before = _before(statements, index)
    if before is not None:
        same_speaker = statements[before].speaker == this.speaker
        if _follows(opening, same_speaker=same_speaker):
            return index, before
        if _explains(opening):
            return before, index
    effect = _asked_why(statements, index)
    return None if effect is None else (effect, index)


def _before(statements: Sequence[Told], index: int) -> int | None:
    """Return the position of the statement that one continues: the last that states anything."""
    for position in range(index - 1, max(-1, index - 1 - REACH), -1):
        if statements[position].kind is None:
            return position
    return None


def _follows(opening: str, *, same_speaker: bool) -> bool:
    if _IT_FOLLOWS.match(opening) or _AS_A_RESULT.search(opening):
        return True
    return same_speaker and bool(_SO.match(opening)) and not _SO_TALK.match(opening)


def _explains(opening: str) -> bool:
    """Return True for a reason told without what it led to."""
    if _IT_EXPLAINS.match(opening):
        return True
    if because := _BECAUSE.match(opening):
        return not _CLAUSE_OF_ITS_OWN.search(_after_subject(opening[because.end() :]))
    due = _DUE_TO.match(opening)
    return due is not None and not _VERB.search(opening[due.end() :])


def _after_subject(clause: str) -> str:
    """Return a clause from its second word on: the first may be its subject."""
    return clause[len(clause.split(maxsplit=1)[0]) :] if clause.strip() else clause


def _asked_why(statements: Sequence[Told], index: int) -> int | None:
    """Return the effect that the statement gives the reason for, as the one before asks why.

    It is what was stated before the question if that takes it up, else the question itself.
    """
    asked, reply = statements[index - 1], statements[index]
    question = _last_sentence(asked.text)
    why = _WHY.match(_opening(question))
    if why is None or not (_asks(question) or asked.kind == TurnKind.QUESTION):
        return None
    if asked.speaker == reply.speaker and reply.speaker is not None:
        return None
    if _NO_REASON.match(_opening(reply.text)):
        return None
    words = _opening(question).rstrip("?？!. ").split()
    bare = len(words) <= _BARE_WORDS
    if index >= 2 and _takes_up(question, statements[index - 2], asked, bare=bare):
        return index - 2
    return None if bare else index - 1


def _takes_up(question: str, stated: Told, asked: Told, *, bare: bool) -> bool:
    """Return True if a question asks for the reason of what another had stated."""
    if stated.kind is not None or (stated.speaker == asked.speaker and asked.speaker is not None):
        return False
    shared = set(lexemes(question)) & set(lexemes(stated.text))
    return bare or bool(shared) or bool(_ABOUT_IT.search(question))


def _opening(sentence: str) -> str:
    lead = _LEAD.match(sentence)
    return sentence[lead.end() :] if lead else sentence


def _asks(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’)*_").endswith(("?", "？"))


def _first_sentence(text: str) -> str:
    return text[: sentence_ends(text)[0]] if text else ""


def _last_sentence(text: str) -> str:
    ends = sentence_ends(text)
    return text[ends[-2] :] if len(ends) > 1 else text
