"""Causes told across neighbouring statements: "So we moved.", "Because the rent rose.", "Why?".

Precision comes first. An opener counts only if the rest of the sentence lacks the other half: in
"Because it rained, we took the bus" cause and effect are both told, and in "Since 2021", "So far"
and "Why don't we ...?" there is none. Its "that" must be bare: "Because of that meeting ..." tells
its own cause. What goes on with the talk ("That's why I always say: ...") tells no effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.models import TurnKind
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
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

_MUCH = (
    r"\s (?:an?\s (?:lot|great)|so|very|much|everything|nothing|little|the \s world|well|for|to)\b"
)
"""Follows "meant" where that is no effect: "This meant a lot to me"."""

_BARE = (
    r"(?= \s* (?:[^\w\s]|\Z) | \s (?:i|we|he|she|it|they|you|the|my|our|his|her|their|its|an?|there"
    r"|no|nobody|nothing|none|everybody|everyone|everything|all|some|most|many|half)\b )"
)
"""Follows "that" where no noun does."""

_IT_FOLLOWS = re.compile(
    rf"""
    (?: (?:therefore | thus (?!\sfar) | hence (?!forth) | consequently | accordingly)
      | as \s a \s (?:direct\s)? (?:result|consequence) (?!\sof\b)
      | (?:as \s a \s (?:direct\s)? (?:result|consequence) | in \s consequence | because
         | on \s account) \s of \s {_THAT} {_BARE}
      | for \s (?:that|this) \s (?:very\s)? reason | in \s consequence (?!\sof\b)
      | (?:that(?:['’]s|\s is|\s was) | this \s (?:is|was) | which \s (?:is|was)) \s
        (?:exactly\s|partly\s|mainly\s|also\s)? why (?=\s\w)
      | (?:that['’]?s|that \s (?:is|was)|which \s (?:is|was)) \s (?:also\s|exactly\s)?
        (?:the \s reason (?=\s\w) (?!\s (?:is|was)\b) | how (?=\s\w) (?!\s (?:much|many|long|it)\b))
      | (?:due|owing|thanks) \s to \s {_THAT} {_BARE}
      | (?:this|that|which|these) \s (?:has\s|had\s|in \s turn\s|eventually\s|then\s|also\s)*
        (?:led \s to | caused | resulted \s in | prompted | meant (?!{_MUCH}) | forced | triggered
         | delayed | brought \s about | left \s (?:us|me|him|her|them)
         | kept \s (?:us|me|him|her|them)
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
_TALK = re.compile(
    r"""
    (?: .{,30}\b (?:why|reason|how) | therefore | hence | thus ) \s
    (?:i|we|you|they|people|everyone|everybody|some|it|he|she) \s
    (?:\w+ \s){,2}? (?:say|says|said|saying|tell|tells|told|call|calls|called|ask|asks|invented)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Makes what was said the occasion for a saying: "That's why I always say", "why they call it"."""
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

_SO_MUST = re.compile(
    r"so \s (?:(?:now|then|finally)\s)? (?: (?:i|we|he|she|it|they)\b"
    r"| (?:[\w'’-]+\s){1,4}? (?:had \s to|has \s to|have \s to|must|can['’]?t|cannot|couldn['’]?t"
    r"|could \s not|won['’]?t)\b)",
    re.VERBOSE | re.IGNORECASE,
)
"""Tells what somebody known did, or what had to be: of others, "so" often only goes on."""

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
        (?! \s (?:(?:still|yet|as|an?|quite)\s)* (?:un(?:known|clear|certain)|not\b|being|to \s be
            |mystery|secret|riddle|puzzle|mysterious|beyond|any(?:one|body)|nobody|hard\b))
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
_BARE_WORDS = 2
"""Words of the longest question that names nothing: "How come?"."""
_SHORT_QUESTION = 3
"""Words of the longest question that only shows surprise: "Did you really?"."""
_IRREGULAR = word_sets("directions")["irregular_past"]

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
_IN_JEST = re.compile(
    r"""
    (?:just\s)? because
    (?: \s i['’]?m \s worth \s it
      | \s (?:i|we) \s (?:can|said \s so|say \s so|want(?:ed)?|felt \s like \s it)\b
      | \s why \s not | \s (?:reasons|of \s course|yes|you \s asked) )?
    \W* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ORDERS = re.compile(
    r"([A-Za-z]+) (?:[A-Z]"
    r"|(?:the|a|an|my|your|his|her|our|their|him|them|it|that|this|me|us|at|in|for)\b)"
)
_ORDER_VERBS = word_sets("names")["note_verbs"] | frozenset(
    "ask look see google try talk listen blame don't have believe trust wait guess".split()
)


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
    if _IN_JEST.match(opening):
        return None
    before = _before(statements, index)
    if before is not None:
        same_speaker = statements[before].speaker == this.speaker
        shared = not set(lexemes(first)).isdisjoint(lexemes(statements[before].text))
        if _follows(opening, same_speaker=same_speaker, shared=shared):
            return index, before
        if _explains(opening):
            return before, index
    effect = _asked_why(statements, index)
    return None if effect is None else (effect, index)


def _before(statements: Sequence[Told], index: int) -> int | None:
    """Return the position of the statement that one continues: the last that states anything.

    None if a question stands between that does not ask why: the statement may answer it.
    """
    for position in range(index - 1, max(-1, index - 1 - REACH), -1):
        told = statements[position]
        question = _last_sentence(told.text)
        if told.kind == TurnKind.QUESTION or _asks(question):
            why = _WHY.match(_opening(question))
            if why is None and len(told.text.split()) > _SHORT_QUESTION:
                return None
            if why is not None and told.kind is None:
                return position
        elif told.kind is None:
            return position
    return None


def _follows(opening: str, *, same_speaker: bool, shared: bool) -> bool:
    """Return True for an effect told without what led to it.

    Args:
        opening: the first sentence of a statement.
        same_speaker: True if it continues a statement of the same speaker.
        shared: True if both have a word in common.
    """
    if _AS_A_RESULT.search(opening):
        return True
    if follows := _IT_FOLLOWS.match(opening):
        told = re.split(r"[,;:.]", opening[follows.end() :].lstrip(" ,"), maxsplit=1)[0]
        return bool(lexemes(told)) and not _TALK.match(opening)
    if not same_speaker or not _SO.match(opening) or _SO_TALK.match(opening):
        return False
    return shared or bool(_SO_MUST.match(opening))


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
    answer = _opening(reply.text)
    if _NO_REASON.match(answer) or _orders(answer):
        return None
    words = _opening(question).rstrip("?？!. ").split()
    bare = len(words) <= _BARE_WORDS
    asks_of = _opening(question)[why.end() :]
    if index >= 2 and _takes_up(asks_of, statements[index - 2], asked):
        return index - 2
    return None if bare else index - 1


def _orders(answer: str) -> bool:
    """Return True for a request in place of a reason: "Ask the council."."""
    order = _ORDERS.match(answer)
    return order is not None and order[1].casefold() in _ORDER_VERBS


def _takes_up(asks_of: str, stated: Told, asked: Told) -> bool:
    """Return True if a question asks for the reason of what another had stated.

    Nothing in it is new: "Why was that?", "Why did she leave?" after "Alice left."; a question
    that tells more is about its own clause.
    """
    if stated.kind is not None or (stated.speaker == asked.speaker and asked.speaker is not None):
        return False
    known = set(lexemes(stated.text))
    pasts = {word[0] for word in stated.text.casefold().split() if word in _IRREGULAR}
    new = [one for one in lexemes(asks_of) if one not in known]
    return not new or (len(new) == 1 and new[0][0] in pasts)


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
