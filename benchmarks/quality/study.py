"""Questions with the pools that recall gathered for them, to rank again with other weights.

Gathering takes most of the time; it is done once, and weights are then left out or fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.dataset import DataBank, DataQuestion, Dataset
from hindsight_integrations.evaluate.metrics import Hit, figures
from hindsight_integrations.evaluate.systems import HindsightSystem
from hindsight_integrations.models import Arm, Memory
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.recall import packing
from hindsight_integrations.recall.base import DEPTHS, Question
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.recall.dependencies import Clock, RecallDependencies
from hindsight_integrations.recall.gathering import gather_pool
from hindsight_integrations.recall.packing import pack
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.ranking import rank
from hindsight_integrations.recall.request import recall_request
from hindsight_integrations.recall.weights import Weights, weights_for
from hindsight_integrations.stores.base import MEMORY, Candidate, StoredBank


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a dataset, and the pool gathered for it.

    Attributes:
        texts: texts of the bank's items, by id.
        memories: memories of the pool, in its order.
    """

    asked: DataQuestion
    texts: Mapping[str, str]
    question: Question
    pool: Pool
    memories: tuple[Memory, ...]


class Study:
    """A dataset with the pools gathered from one memory.

    Args:
        memory: holds the dataset's banks; those it does not are retained.
        dataset: banks and questions.
        arms: which searches may contribute; all by default.
        every: step through the questions.
    """

    def __init__(
        self,
        memory: Hindsight,
        dataset: Dataset,
        *,
        arms: Sequence[Arm] | None = None,
        every: int = 1,
    ) -> None:
        self.name = dataset.name
        self._deps: RecallDependencies = memory.runtime.recalling
        system = HindsightSystem(memory, dataset.name, "mid")
        self.cases: list[Case] = []
        for bank in dataset.banks:
            system.remember(bank, lambda done: None)
            stored = memory.runtime.bank(system.bank_id(bank))
            self.cases += self._gathered(stored, bank, arms, every)

    def weights_in_use(self, case: Case) -> Weights:
        """Return the weights that recall ranks this question with."""
        return weights_for(case.question, self._deps.encoder.embedder.id)

    def figures(self, weights: Weights, budgets: Sequence[int]) -> dict[str, float]:
        """Return mean figures over the questions, ranked with these weights."""
        rows = [self._figures(case, weights, budgets) for case in self.cases]
        return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}

    def _gathered(
        self, stored: StoredBank, bank: DataBank, arms: Sequence[Arm] | None, every: int
    ) -> Iterator[Case]:
        deps, bank_id = self._deps, stored.bank.id
        texts = {item.id: item.text for item in bank.items}
        known: dict[str, Memory] = {}
        shared: dict[str, Candidate] = {}  # a memory in hundreds of pools is kept once
        for asked in bank.scored(every):
            request = recall_request(
                bank_id,
                asked.question,
                max_tokens=deps.settings.max_tokens,
                arms=arms,
                query_time=asked.time,
            )
            found = gather_pool(deps, [stored], request, Clock())
            same = Candidates(shared.setdefault(each.id, each) for each in found.pool.memories)
            ids = [each.id for each in same]
            known |= deps.graph.read(bank_id, MEMORY, [id for id in ids if id not in known])
            pool = replace(found.pool, memories=same)
            yield Case(asked, texts, found.question, pool, tuple(known[id] for id in ids))

    def _figures(self, case: Case, weights: Weights, budgets: Sequence[int]) -> dict[str, float]:
        order = best_first(case, weights)
        answers = {b: _answer(case, order, b, self._deps.tokenizer) for b in budgets}
        return figures(answers, case.asked.gold, case.texts)


def best_first(case: Case, weights: Weights) -> list[int]:
    """Return positions in the pool, ranked with these weights."""
    if not len(case.pool):
        return []
    order: list[int] = rank(case.pool, case.question, DEPTHS["mid"].head, weights).order.tolist()
    return order


def _answer(case: Case, order: Sequence[int], budget: int, tokenizer: Tokenizer) -> list[Hit]:
    ranked = [case.memories[position] for position in order]
    packed = pack(ranked, budget, tokenizer.count, tokenizer.truncate)
    return [
        Hit(
            tuple(dict.fromkeys(s.reference for s in ranked[place].sources if s.reference)),
            packing.memory_line(ranked[place]),
            tokens,
        )
        for place, tokens in packed.taken
    ]
