"""Find causal relations between neighbouring statements: "So we moved.", "Because the rent rose.".

Precision takes priority over recall. A causal opener counts only if its sentence lacks the other
half: "Because it rained, we took the bus" has cause and effect, and "Since 2021", "So far" and "Why
don't we ...?" are not causal. Its "that" must be a pronoun: "Because of that meeting ..." names its
own cause. Metalinguistic openers ("That's why I always say: ...") introduce no effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.models import TurnKind
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends

MAX_STATEMENTS_BACK = 2
"""Most statements to go back for the one that an opener continues, as some turns state nothing."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A statement in a document or conversation, with its speaker and its kind of turn."""

    text: str
    speaker: str | None = None
    kind: str | None = None


_DEMONSTRATIVE = r"(?:that|this|it|these|those|all\s(?:that|this)|the\s(?:former|above))"
_SUBJECT = (
    r"(?:i|I|we|he|she|it|they|you|the|my|our|his|her|their|its|a|an|this|these|those|there|no"
    r"|[A-Z]\w+)"
)

_NO_EFFECT_OF_MEANT = (
    r"\s (?:an?\s (?:lot|great)|so|very|much|everything|nothing|little|the \s world|well|for|to)\b"
)
"""Matches after "meant" where no effect follows: "This meant a lot to me"."""

_NO_NOUN_FOLLOWS = (
    r"(?= \s* (?:[^\w\s]|\Z) | \s (?:i|we|he|she|it|they|you|the|my|our|his|her|their|its|an?|there"
    r"|no|nobody|nothing|none|everybody|everyone|everything|all|some|most|many|half)\b )"
)
"""Matches after "that" if it is a pronoun, without a noun."""

_EFFECT_OPENER = re.compile(
    rf"""
    (?: (?:therefore | thus (?!\sfar) | hence (?!forth) | consequently | accordingly)
      | as \s a \s (?:direct\s)? (?:result|consequence) (?!\sof\b)
      | (?:as \s a \s (?:direct\s)? (?:result|consequence) | in \s consequence | because
         | on \s account) \s of \s {_DEMONSTRATIVE} {_NO_NOUN_FOLLOWS}
      | for \s (?:that|this) \s (?:very\s)? reason | in \s consequence (?!\sof\b)
      | (?:that(?:['’]s|\s is|\s was) | this \s (?:is|was) | which \s (?:is|was)) \s
        (?:exactly\s|partly\s|mainly\s|also\s)? why (?=\s\w)
      | (?:that['’]?s|that \s (?:is|was)|which \s (?:is|was)) \s (?:also\s|exactly\s)?
        (?:the \s reason (?=\s\w) (?!\s (?:is|was)\b) | how (?=\s\w) (?!\s (?:much|many|long|it)\b))
      | (?:due|owing|thanks) \s to \s {_DEMONSTRATIVE} {_NO_NOUN_FOLLOWS}
      | (?:this|that|which|these) \s (?:has\s|had\s|in \s turn\s|eventually\s|then\s|also\s)*
        (?:led \s to | caused | resulted \s in | prompted | meant (?!{_NO_EFFECT_OF_MEANT}) | forced
        | triggered
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
_EFFECT_CLOSER = re.compile(
    r",? \s (?:as \s a \s (?:direct\s)?(?:result|consequence)|in \s consequence"
    r"|because \s of \s (?:that|this|it)|for \s (?:that|this) \s reason) [.!]?\s*\Z",
    re.VERBOSE | re.IGNORECASE,
)
"""Matches the end of a sentence that states an effect: "He sold the car as a result."."""
_METALINGUISTIC = re.compile(
    r"""
    (?: .{,30}\b (?:why|reason|how) | therefore | hence | thus ) \s
    (?:i|we|you|they|people|everyone|everybody|some|it|he|she) \s
    (?:\w+ \s){,2}? (?:say|says|said|saying|tell|tells|told|call|calls|called|ask|asks|invented)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Matches an opener that introduces a saying or a name: "That's why I always say"."""
_SO = re.compile(rf"[Ss]o \s (?:(?:now|then|finally)\s)? {_SUBJECT} \s", re.VERBOSE)
_SO_METALINGUISTIC = re.compile(
    r"so \s (?:they|he|she|it|that|this) (?:\s\w+)? \s"
    r"(?:think|thought|guess|mean|meant|say|said|says|tell|told|tells|figured|suppose)\b"
    r"|so \s (?:i|we|you) (?:\s\w+)? \s"
    r"(?:think|thought|thinking|guess|mean|meant|wonder|wondering|know|knew|hear|heard|see|saw|say"
    r"|said|tell|told|feel|hope|suppose|figured|remember|love|like|agree|believe)\b"
    r"|so \s (?:that|this|it|the) \s (?:was|is|were|are)\b | so \s (?:you|there)\b",
    re.VERBOSE | re.IGNORECASE,
)
"""Matches "so" as a discourse marker, before a verb of saying or thinking: no effect."""

_SO_ACTION = re.compile(
    r"so \s (?:(?:now|then|finally)\s)? (?: (?:i|we|he|she|it|they)\b"
    r"| (?:[\w'’-]+\s){1,4}? (?:had \s to|has \s to|have \s to|must|can['’]?t|cannot|couldn['’]?t"
    r"|could \s not|won['’]?t)\b)",
    re.VERBOSE | re.IGNORECASE,
)
"""Matches "so" before a personal pronoun or a necessity; with other subjects it is often only a
discourse marker."""

_SECOND_MAIN_CLAUSE = re.compile(
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
"""Matches a main clause after a subordinate clause with "because"."""

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
_REASON_OPENER = re.compile(
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
_MAX_BARE_QUESTION = 2
"""Most words of a question without content: "How come?"."""
_MAX_SURPRISE = 3
"""Most words of a question that only expresses surprise: "Did you really?"."""
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
"""Matches the beginning of a reply that gives no reason."""
_JOKING_REASON = re.compile(
    r"""
    (?:just\s)? because
    (?: \s i['’]?m \s worth \s it
      | \s (?:i|we) \s (?:can|said \s so|say \s so|want(?:ed)?|felt \s like \s it)\b
      | \s why \s not | \s (?:reasons|of \s course|yes|you \s asked) )?
    \W* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REQUEST = re.compile(
    r"([A-Za-z]+) (?:[A-Z]"
    r"|(?:the|a|an|my|your|his|her|our|their|him|them|it|that|this|me|us|at|in|for)\b)"
)
_REQUEST_VERBS = word_sets("names")["note_verbs"] | frozenset(
    "ask look see google try talk listen blame don't have believe trust wait guess".split()
)


def causes(statements: Sequence[Utterance]) -> list[tuple[int, ...]]:
    """Return for each of successive statements the positions of its causes."""
    led_to: list[set[int]] = [set() for _ in statements]
    for index in range(1, len(statements)):
        pair = _effect_and_cause(statements, index)
        if pair is not None:
            effect, cause = pair
            led_to[effect].add(cause)
    return [tuple(sorted(positions)) for positions in led_to]


def _effect_and_cause(statements: Sequence[Utterance], index: int) -> tuple[int, int] | None:
    """Return the positions of effect and cause, one of which is `index`; None if it is neither."""
    statement = statements[index]
    first = _first_sentence(statement.text)
    if statement.kind is not None or _is_question(first):
        return None
    opening = _opening(first)
    if _JOKING_REASON.match(opening):
        return None
    previous = _previous_statement(statements, index)
    if previous is not None:
        same_speaker = statements[previous].speaker == statement.speaker
        shared = not set(lexemes(first)).isdisjoint(lexemes(statements[previous].text))
        if _is_effect(opening, same_speaker=same_speaker, shared=shared):
            return index, previous
        if _is_reason(opening):
            return previous, index
    effect = _effect_asked_about(statements, index)
    return None if effect is None else (effect, index)


def _previous_statement(statements: Sequence[Utterance], index: int) -> int | None:
    """Return the position of the last turn that states something, which this one may continue.

    None if there is a question other than "why" in between, which the statement may answer.
    """
    for position in range(index - 1, max(-1, index - 1 - MAX_STATEMENTS_BACK), -1):
        candidate = statements[position]
        question = _last_sentence(candidate.text)
        if candidate.kind == TurnKind.QUESTION or _is_question(question):
            why = _WHY.match(_opening(question))
            if why is None and len(candidate.text.split()) > _MAX_SURPRISE:
                return None
            if why is not None and candidate.kind is None:
                return position
        elif candidate.kind is None:
            return position
    return None


def _is_effect(opening: str, *, same_speaker: bool, shared: bool) -> bool:
    """Return True if a statement opens as the effect of the previous one.

    Args:
        opening: the first sentence of the statement, without "and", "well" and the like.
        same_speaker: True if the previous statement is by the same speaker.
        shared: True if both statements have a lexeme in common.
    """
    if _EFFECT_CLOSER.search(opening):
        return True
    if follows := _EFFECT_OPENER.match(opening):
        effect = re.split(r"[,;:.]", opening[follows.end() :].lstrip(" ,"), maxsplit=1)[0]
        return bool(lexemes(effect)) and not _METALINGUISTIC.match(opening)
    if not same_speaker or not _SO.match(opening) or _SO_METALINGUISTIC.match(opening):
        return False
    return shared or bool(_SO_ACTION.match(opening))


def _is_reason(opening: str) -> bool:
    """Return True if a statement opens as the reason of the previous one."""
    if _REASON_OPENER.match(opening):
        return True
    if because := _BECAUSE.match(opening):
        return not _SECOND_MAIN_CLAUSE.search(_after_subject(opening[because.end() :]))
    due = _DUE_TO.match(opening)
    return due is not None and not _VERB.search(opening[due.end() :])


def _after_subject(clause: str) -> str:
    """Return a clause without its first word, which may be its subject."""
    return clause[len(clause.split(maxsplit=1)[0]) :] if clause.strip() else clause


def _effect_asked_about(statements: Sequence[Utterance], index: int) -> int | None:
    """Return the position of the effect, if the statement answers a question that asks why.

    The effect is the statement before the question if the question repeats it, else the question.
    """
    asking, reply = statements[index - 1], statements[index]
    question = _last_sentence(asking.text)
    why = _WHY.match(_opening(question))
    if why is None or not (_is_question(question) or asking.kind == TurnKind.QUESTION):
        return None
    if asking.speaker == reply.speaker and reply.speaker is not None:
        return None
    answer = _opening(reply.text)
    if _NO_REASON.match(answer) or _is_request(answer):
        return None
    words = _opening(question).rstrip("?？!. ").split()
    is_bare = len(words) <= _MAX_BARE_QUESTION
    question_rest = _opening(question)[why.end() :]
    if index >= 2 and _asks_reason_of(question_rest, statements[index - 2], asking):
        return index - 2
    return None if is_bare else index - 1


def _is_request(answer: str) -> bool:
    """Return True if an answer is a request instead of a reason: "Ask the council."."""
    order = _REQUEST.match(answer)
    return order is not None and order[1].casefold() in _REQUEST_VERBS


def _asks_reason_of(question_rest: str, stated: Utterance, asking: Utterance) -> bool:
    """Return True if a question asks for the reason of another speaker's statement.

    Such a question has no new lexeme: "Why was that?", "Why did she leave?" after "Alice left.". A
    question with new content asks about its own clause.
    """
    if stated.kind is not None or (stated.speaker == asking.speaker and asking.speaker is not None):
        return False
    known = set(lexemes(stated.text))
    pasts = {word[0] for word in stated.text.casefold().split() if word in _IRREGULAR}
    new_lexemes = [lexeme for lexeme in lexemes(question_rest) if lexeme not in known]
    return not new_lexemes or (len(new_lexemes) == 1 and new_lexemes[0][0] in pasts)


def _opening(sentence: str) -> str:
    lead = _LEAD.match(sentence)
    return sentence[lead.end() :] if lead else sentence


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’)*_").endswith(("?", "？"))


def _first_sentence(text: str) -> str:
    return text[: sentence_ends(text)[0]] if text else ""


def _last_sentence(text: str) -> str:
    ends = sentence_ends(text)
    return text[ends[-2] :] if len(ends) > 1 else text
