"""Decide the kind of a known entity again, by the texts of all memories that mention it.

The first mention of a name often says nothing of what it names, or says it wrongly. A mention that
says otherwise than what is stored has the stored memories read again, and all of them vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain import name_kinds
from hindsight_integrations.retain.entity_resolution import KindDoubt
from hindsight_integrations.retain.stated_names import name_offsets
from hindsight_integrations.stores.base import MEMORY, GraphStore
from hindsight_integrations.stores.conditions import EVERYTHING

_MOST_MEMORIES = 40
"""Memories of an entity whose texts are read, the latest stored."""
_MOST_MENTIONS = 200
"""Mentions that vote."""
_HONORIFICS = word_sets("names")["honorifics"]
_ROLES = word_sets("names")["speech_roles"]
"""Speakers who are no persons: "assistant"."""


def kinds_by_all_mentions(
    graph: GraphStore, bank_id: str, doubts: Sequence[KindDoubt]
) -> tuple[tuple[str, str], ...]:
    """Return ids of entities with their kinds, where these are no longer the stored ones.

    The kind is "concept" (unknown) where the mentions disagree; who speaks is a person. What only
    the extractor knew, as by a model's label, and what is stored count as one certain vote each.

    Args:
        graph: the store of the bank.
        bank_id: the bank.
        doubts: entities that new texts mention as of another kind.
    """
    changed: list[tuple[str, str]] = []
    for doubt in doubts:
        entity, given = doubt.entity, {*doubt.kinds, doubt.entity.kind} - {"concept"}
        if given == {entity.kind} and not _contradicts(_votes(doubt), entity.kind):
            continue
        stored = _stored_memories(graph, bank_id, entity.id)
        votes = _votes(doubt, [memory.text for memory in stored])
        for kind in given:
            votes[kind] = max(votes[kind], name_kinds.MIN_CERTAIN_WEIGHT)
        kind = "person" if _speaks(entity, stored) else name_kinds.decide([votes])[0]
        if kind != entity.kind:
            changed.append((entity.id, kind))
    return tuple(changed)


def _contradicts(votes: Counter[str], kind: str) -> bool:
    """Return True if a vote is for another kind, or against this one."""
    against = {"person": name_kinds.NO_PERSON, "place": name_kinds.NO_PLACE}
    for_none = {*against.values()} - {against.get(kind, "")}
    return bool((+votes).keys() - {kind, *for_none})


def _speaks(entity: Entity, stored: Sequence[Memory]) -> bool:
    """Return True for the speaker of a memory, whatever the name is said of elsewhere."""
    names = {entity_norm(name) for name in entity.names}
    speakers = {memory.speaker for memory in stored if memory.speaker}
    return any(s.casefold() not in _ROLES and entity_norm(s) in names for s in speakers)


def _stored_memories(graph: GraphStore, bank_id: str, entity_id: str) -> list[Memory]:
    """Return the latest memories that mention an entity, those left out that the engine drew."""
    postings = graph.postings(bank_id, [entity_id], _MOST_MEMORIES, EVERYTHING)
    memories = graph.read(bank_id, MEMORY, [posting.memory_id for posting in postings])
    return [memory for memory in memories.values() if not memory.derived]


def _votes(doubt: KindDoubt, stored: Iterable[str] = ()) -> Counter[str]:
    """Return the votes of an entity's names, and of the new texts and stored ones around them."""
    texts = dict.fromkeys([*doubt.texts, *stored])
    names = dict.fromkeys([*doubt.names, doubt.entity.name, *doubt.entity.aliases])
    of_texts = chain.from_iterable(_votes_in(text, name) for text in texts for name in names)
    votes: Counter[str] = Counter()
    for vote in chain(map(_own_votes, names), islice(of_texts, _MOST_MENTIONS)):
        votes.update(vote)
    return votes


def _votes_in(text: str, name: str) -> Iterator[Counter[str]]:
    """Yield the votes of what stands around each mention of a name in a text."""
    for start in name_offsets(text, name):
        yield name_kinds.votes_of_context(text, start, start + len(name))


def _own_votes(name: str) -> Counter[str]:
    """Return the votes of a name's own words."""
    words = name.casefold().split()
    if not words or name.isupper():
        return Counter()
    titled = len(words) > 1 and words[0].strip(".") in _HONORIFICS
    return name_kinds.votes_of_words(words, titled)
