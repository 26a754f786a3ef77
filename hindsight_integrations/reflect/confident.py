"""A consolidator that proposes no observation below a confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hindsight_integrations.reflect.dependencies import (
    Cluster,
    Consolidator,
    Proposals,
    ReflectDependencies,
)
from hindsight_integrations.reflect.scoring import observation_confidence


@dataclass(frozen=True, slots=True)
class ConfidentConsolidator:
    """Passes on the proposals of another, without new observations of too little evidence."""

    inner: Consolidator
    min_confidence: float

    @property
    def id(self) -> str:
        """Name of the consolidator within."""
        return self.inner.id

    def propose(self, cluster: Cluster) -> Proposals:
        """Return the proposals that are sure enough; new versions of stored ones always."""
        proposals = self.inner.propose(cluster)
        skepticism = cluster.bank.disposition.skepticism
        drafts = tuple(
            draft
            for draft in proposals.drafts
            if draft.rewrites is not None
            or observation_confidence(len(draft.evidence), skepticism) >= self.min_confidence
        )
        return replace(proposals, drafts=drafts)


def only_confident(deps: ReflectDependencies, min_confidence: float) -> ReflectDependencies:
    """Return the dependencies with a consolidator that draws nothing less sure than this."""
    if min_confidence <= 0:
        return deps
    consolidator = ConfidentConsolidator(deps.consolidator, min_confidence)
    by_rule = deps.consolidator is deps.rules
    return replace(deps, consolidator=consolidator, rules=consolidator if by_rule else deps.rules)
