"""Reasons without a language model: answers to "why", quoted from memories.

A cause is told in the sentence of its effect ("... because ..."), in the sentence beside it
("That's why ..."), or by another memory that a causal link leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from hindsight_integrations.models import LinkKind, Memory, TurnKind
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.sentences import sentences
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.answers.matching import Match
from hindsight_integrations.reflect.answers.questions import Query
from hindsight_integrations.reflect.answers.stated import Statement, is_stated, statements
from hindsight_integrations.results import Context, ContextItem
from hindsight_integrations.retain.causes import Utterance, causes
from hindsight_integrations.stores.base import MEMORY, StoredBank

LINKS = 8
"""Links of a memory that are read for its causes."""


def reasons(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    context: Context,
    query: Query,
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield causes stated near a mention of the effect, each with the ids of the cited memories."""
    memories = {
        item.id: (item, item.source) for item in context.items if isinstance(item.source, Memory)
    }
    for item, memory in memories.values():
        for told in _within(memory, query):
            yield f"{_by(memory)}“{told}” [{item.label}]", (item.id,)
    links = list(_links(deps, bank, request, list(memories)))
    yield from _asked_before(deps, bank, request, memories, links)
    for effect_id, cause_id in links:
        if effect_id not in memories or cause_id not in memories:
            continue
        (effect, stated), (cause, reason) = memories[effect_id], memories[cause_id]
        text = _effect(stated, reason, query)
        if text is not None:
            yield (
                f"{_by(stated)}“{text}” [{effect.label}]"
                f" Cause: {_by(reason)}“{reason.text}” [{cause.label}]",
                (effect.id, cause.id),
            )


def _by(memory: Memory) -> str:
    return f"{memory.speaker}: " if memory.speaker else ""


def _within(memory: Memory, query: Query) -> Iterator[str]:
    """Yield pairs of neighbouring sentences, one the effect asked about and one its cause."""
    texts = sentences(memory.text)
    effects = {statement.sentence.text for statement in _effects(memory, query)}
    for first, second in pairwise(texts):
        backward, forward = causes([Utterance(first), Utterance(second)])
        effect, cause = (second, first) if forward else (first, second)
        if (forward or backward) and effect in effects and is_stated(cause):
            yield f"{first} {second}"


def _effects(memory: Memory, query: Query, previous: str = "") -> Iterator[Statement]:
    """Yield the statements of the effect that the question asks about."""
    for statement in statements(memory, previous):
        if Match(statement, query).fits():
            yield statement


def _effect(memory: Memory, cause: Memory, query: Query) -> str | None:
    """Return the sentence of the effect of a linked memory, if the question asks about it.

    "So she left" stands first in its memory, and "she" is whom the cause speaks of. Otherwise the
    cause was told after the effect, which is then the last sentence of its memory.
    """
    told, reason = sentences(memory.text), sentences(cause.text)
    if not told or not reason or not all(map(is_stated, reason)):
        return None
    follows = bool(causes([Utterance(reason[-1]), Utterance(told[0])])[1])
    text = told[0] if follows else told[-1]
    previous = reason[-1] if follows and memory.speaker == cause.speaker else ""
    found = (one.sentence.text for one in _effects(memory, query, previous))
    return text if text in found else None


def _links(
    deps: RecallDependencies, bank: StoredBank, request: RecallRequest, ids: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield effect and cause of the causal links of these memories."""
    for link in deps.graph.links(bank.bank.id, ids, LINKS, request.filter):
        if link.kind is LinkKind.CAUSAL:
            yield link.source_id, link.target_id


def _asked_before(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    memories: Mapping[str, tuple[ContextItem, Memory]],
    links: Sequence[tuple[str, str]],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield replies to the same question in an earlier conversation: the question is the effect."""
    replies = [link for link in links if link[0] not in memories and link[1] in memories]
    asked = deps.graph.read(bank.bank.id, MEMORY, [effect for effect, _ in replies])
    for question_id, reply_id in replies:
        question, (item, reply) = asked.get(question_id), memories[reply_id]
        if question is None or question.kind != TurnKind.QUESTION:
            continue
        same = set(lexemes(sentences(question.text)[-1])) == set(lexemes(request.query))
        if same and all(map(is_stated, sentences(reply.text))):
            yield f"{_by(reply)}“{reply.text}” [{item.label}]", (item.id,)
