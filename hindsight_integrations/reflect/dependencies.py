"""Dependencies of reflection, and the port of consolidators with its value objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from hindsight_integrations.models import (
    Bank,
    Memory,
    MemoryType,
    ModelUsage,
    ObservationKind,
    is_conclusion,
    utc_now,
)
from hindsight_integrations.nlp.text_encoder import TextEncoder
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import (
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    Vector,
    VectorIndex,
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that may say more together than each alone.

    Attributes:
        bank: the bank of the memories; its mission and disposition may shape the proposals.
        subject: the shared entity or speaker by name; for an opinion, its topic.
        memories: the evidence, oldest first; valid, and never conclusions themselves.
        new: ids that were not consolidated yet: memories that are new or have changed, and
            conclusions that lost a source or rest on a changed memory, whose text may no longer
            be supported.
        conclusions: earlier conclusions, oldest first: observations, or opinions if an opinion is
            asked for. Only these may be rewritten or removed.
        vectors: stored vectors of memories and conclusions, by id.
        speakers: names of people, such as the participants of the conversations.
        ambiguous: first names that several people of the bank have, normalised.
    """

    bank: Bank
    subject: str
    memories: tuple[Memory, ...]
    new: frozenset[str] = frozenset()
    conclusions: tuple[Memory, ...] = ()
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    speakers: frozenset[str] = frozenset()
    ambiguous: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote from a memory that a conclusion rests on.

    Attributes:
        memory_id: one of `Cluster.memories`.
        quote: a verbatim part of that memory's text; not blank.
        supports: False for evidence against an opinion; always True for an observation.
    """

    memory_id: str
    quote: str
    supports: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """A conclusion to be stored: a new one, or a new version of a stored one.

    Attributes:
        text: the statement, understandable on its own; 1 to `MAX_TEXT` characters.
        evidence: all evidence, each memory once; at least one that supports the statement.
        reasoning: how the evidence leads to the statement, or why it was rewritten.
        kind: of an observation; None for an opinion.
        rewrites: id of the conclusion that it replaces; None for a new one.
        earlier: for a statement of a change, the text before the change; kept in its history.
    """

    text: str
    evidence: tuple[Evidence, ...]
    reasoning: str
    kind: ObservationKind | None = None
    rewrites: str | None = None
    earlier: str | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """Removal of a conclusion that no longer holds or is redundant, with the reason."""

    conclusion_id: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class Proposals:
    """Proposals for one cluster; may be empty.

    Confidence, dates, trend and proof count are not proposed: they are computed from the evidence.

    Attributes:
        drafts: conclusions to write.
        removals: conclusions to remove, applied after the drafts.
        usage: tokens and calls of a language model.
    """

    drafts: tuple[Draft, ...] = ()
    removals: tuple[Removal, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)


FACTS = frozenset({MemoryType.WORLD, MemoryType.EXPERIENCE, MemoryType.OPINION})
"""Types of memories that a conclusion may rest on, if they are no conclusions themselves."""

MAX_TEXT = 2_000
"""Longest statement or reasoning, in characters."""

MAX_DRAFTS = 20
"""Most conclusions of one cluster, unless it has more memories than that."""


class Consolidator(Protocol):
    """Proposes conclusions. Called from several threads, one cluster at a time."""

    @property
    def id(self) -> str:
        """Name of the rules or the model, for logs and reports; never a secret."""
        ...

    def propose(self, cluster: Cluster) -> Proposals:
        """Propose what follows from the cluster, beyond `cluster.conclusions`.

        The same cluster a second time, with its own conclusions among `cluster.conclusions`,
        proposes nothing. Proposals are checked by `conclusions.validated` before any is stored: one
        bad quote or id, and none of the cluster is.

        Raises:
            ModelError: the model failed, or gave nothing usable. The cluster waits, earlier
                conclusions stay unchanged, and the error is reported.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReflectDependencies:
    """Dependencies of drawing conclusions.

    Attributes:
        consolidator: proposes observations.
        opinions: proposes opinions.
        rules: writes observations where no call may wait for a language model.
        opinion_rules: writes opinions likewise.
        lock: returns the writer's lock of a bank.
        flush: brings the vector index up to date with the graph.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    settings: Settings
    consolidator: Consolidator
    opinions: Consolidator
    rules: Consolidator
    opinion_rules: Consolidator
    lock: Callable[[str], AbstractContextManager[object]]
    flush: Callable[[str | None], None]

    def waiting(self, bank_id: str) -> set[str]:
        """Return the ids of all memories and conclusions that wait to be consolidated.

        The text of a conclusion among them may quote a memory that is gone.
        """
        return set(self.graph.pending_consolidation(bank_id, sys.maxsize))

    def evidence(
        self, bank_id: str, records: Mapping[str, MemoryRecord]
    ) -> dict[str, MemoryRecord]:
        """Return those of the records that conclusions may be drawn from, by id."""
        filter = MemoryFilter(now=utc_now(), types=FACTS)
        admitted = self.graph.filter_ids(bank_id, list(records), filter)
        return {
            id: record
            for id, record in records.items()
            if id in admitted
            and record.memory.is_evidence
            and record.memory.is_trusted
            and not is_conclusion(record.memory)
        }
