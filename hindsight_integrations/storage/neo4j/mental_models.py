"""Mental models: the summaries that a user curates, kept by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.model import MentalModel
from hindsight_integrations.storage.neo4j.codec import mental_model_of, mental_model_properties
from hindsight_integrations.storage.neo4j.connection import run, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_STORE = "UNWIND $rows AS row MERGE (n:MentalModel {key: row.key}) SET n = row"
_REMOVE = "UNWIND $rows AS key MATCH (n:MentalModel {key: key}) DELETE n"


def read(tx: ManagedTransaction, bank: BankKey) -> list[MentalModel]:
    """All of the bank, by id."""
    rows = run(
        tx,
        "MATCH (n:MentalModel) WHERE n.key STARTS WITH $prefix RETURN properties(n)",
        prefix=bank.prefix,
    )
    models = [mental_model_of(node, bank.id) for (node,) in rows]
    return sorted(models, key=lambda model: model.id)


def store(tx: ManagedTransaction, bank: BankKey, models: Sequence[MentalModel]) -> None:
    """Store mental models, or overwrite those of the same id."""
    run_each(tx, _STORE, [mental_model_properties(bank, model) for model in models])


def remove(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> None:
    """Remove mental models; unknown ids are passed over."""
    run_each(tx, _REMOVE, [bank.of(id) for id in ids])
