"""What draws conclusions: given memories of one matter, it proposes; others check and store.

One port for rules and for language models, for observations and for opinions. Whoever implements
it holds no lock, touches no store, and may take its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hindsight_integrations.language.llm import ModelUsage
from hindsight_integrations.model import Bank, Memory, ObservationKind
from hindsight_integrations.storage.requests import Vector


@dataclass(frozen=True, slots=True)
class Matter:
    """Memories that may say more together than each alone.

    Attributes:
        bank: whose memories they are; its mission and disposition may shape what is proposed.
        subject: whom or what they share: the name of an entity or of a speaker; of an opinion,
            its topic.
        memories: the evidence to draw on, oldest first; valid, and never conclusions themselves.
        new: ids of what was not reflected on yet: memories that are new or have changed, and
            conclusions that lost a source or rest on a memory that has changed, whose text may
            thus say what nobody says any more.
        conclusions: what was concluded of the matter before, oldest first: observations, or
            opinions where an opinion is asked for. Only these may be rewritten or removed.
        vectors: memory id to its stored vector, of memories and conclusions.
        speakers: names of those who take part in the conversations that it comes from.
    """

    bank: Bank
    subject: str
    memories: tuple[Memory, ...]
    new: frozenset[str] = frozenset()
    conclusions: tuple[Memory, ...] = ()
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    speakers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of a memory that a conclusion rests on.

    Attributes:
        memory_id: one of `Matter.memories`.
        quote: a part of that memory's text, to the letter; not blank.
        supports: False for evidence against an opinion; always True of an observation.
    """

    memory_id: str
    quote: str
    supports: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """A conclusion to be stored: a new one, or a stored one as it shall read from now on.

    Attributes:
        text: the statement, to be understood on its own; 1 to `MAX_TEXT` characters.
        evidence: all it rests on, each memory once; at least one that supports it.
        reasoning: how the evidence leads to the statement, or why it was rewritten.
        kind: of an observation; None of an opinion.
        rewrites: id of the conclusion that it takes the place of; None for a new one.
        earlier: of one that tells a change, how it read before that; kept in its history.
    """

    text: str
    evidence: tuple[Evidence, ...]
    reasoning: str
    kind: ObservationKind | None = None
    rewrites: str | None = None
    earlier: str | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """A conclusion that no longer holds, or that another one says too, and why it goes."""

    conclusion_id: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class Proposals:
    """What is proposed of one matter; nothing at all is a good answer.

    Confidence, dates, trend and proof count are no part of it: they are computed from the
    evidence.

    Attributes:
        drafts: conclusions to write.
        removals: conclusions to take away, applied after the drafts.
        usage: what asking a language model took.
    """

    drafts: tuple[Draft, ...] = ()
    removals: tuple[Removal, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)


MAX_TEXT = 2_000
"""Longest statement or reasoning, in characters."""

MAX_DRAFTS = 20
"""Most conclusions of one matter, unless it has more memories than that."""


class Consolidator(Protocol):
    """Proposes what to conclude. Called from several threads, one matter at a time."""

    @property
    def id(self) -> str:
        """Which rules or which model, for logs and reports; never a secret."""
        ...

    def propose(self, matter: Matter) -> Proposals:
        """What follows from the matter, beyond what `matter.conclusions` say already.

        The same matter a second time, with its own conclusions among `matter.conclusions`,
        proposes nothing. What is proposed is checked by `proposals.checked` before anything is
        stored: one bad quote or id, and nothing of the matter is.

        Raises:
            ModelError: the model failed, or gave nothing usable. The matter waits, what was
                concluded before stays as it was, and the error is reported.
        """
        ...
