"""Links between memories, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.model import Link, LinkKind
from hindsight_integrations.storage.neo4j.connection import gather, run_each
from hindsight_integrations.storage.neo4j.filters import condition
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import MemoryFilter

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_ADD = """
    UNWIND $rows AS row MATCH (a:Memory {key: row.source}) MATCH (b:Memory {key: row.target})
    MERGE (a)-[l:LINK {kind: row.kind}]->(b) SET l.weight = row.weight"""


def add(tx: ManagedTransaction, bank: BankKey, links: Sequence[Link]) -> None:
    """Store links, or give them a new weight; those to memories that are gone are passed over."""
    rows = [
        {
            "source": bank.of(link.source_id),
            "target": bank.of(link.target_id),
            "kind": link.kind.value,
            "weight": link.weight,
        }
        for link in links
    ]
    run_each(tx, _ADD, rows)


def heaviest(
    tx: ManagedTransaction,
    bank: BankKey,
    memory_ids: Sequence[str],
    per_memory: int,
    filter: MemoryFilter,
) -> list[Link]:
    """Links from and to the memories, the heaviest `per_memory` of each; each link once.

    In the order of the memories asked for, then by weight, then by the other end's id.
    """
    test = condition(bank, filter)
    query = (
        f"UNWIND $rows AS key MATCH (m:Memory {{key: key}}) WHERE {test.text} "
        "WITH m AS here CALL (here) { "
        f"MATCH (here)-[l:LINK]-(m:Memory) WHERE {test.text} "
        "RETURN m.id AS other, l.kind AS kind, l.weight AS weight, startNode(l) = here AS outward "
        "ORDER BY weight DESC, other, kind, outward LIMIT $most } "
        "RETURN collect([here.id, other, kind, weight, outward])"
    )
    found: dict[str, list[Link]] = {id: [] for id in memory_ids}
    for id, other, kind, weight, outward in gather(
        tx, query, [bank.of(id) for id in found], most=max(per_memory, 0), **test.params
    ):
        source, target = (id, other) if outward else (other, id)
        found[id].append(Link(source, target, LinkKind(kind), weight))
    heavy = [sorted(links, key=lambda link: _order(id, link)) for id, links in found.items()]
    return list(dict.fromkeys(link for links in heavy for link in links))


def _order(id: str, link: Link) -> tuple[float, str, str, bool]:
    outward = link.source_id == id
    other = link.target_id if outward else link.source_id
    return -link.weight, other, link.kind.value, outward
