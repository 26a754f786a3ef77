"""`VectorIndex` in Neo4j: a vector index for each bank that is big enough for one.

Neo4j 5.26 searches a vector index first and filters what it found afterwards, so the index of
several banks would give a small one nothing. Each bank key has a label, and from some hundred
vectors on an index of that label; the vectors of a smaller one are all compared, which is exact.

    (:VectorSpace {key, namespace, bank, dimension})    (:IndexedVector {key, id, embedding})
    (:VectorSpace {key, identity, graph}), of a namespace: its own id, and the graph it belongs to

The key of a vector is that of its space, a bar, and the memory's id. A space is there from before
its first vector until after its last.
"""

# ruff: noqa: D102 (the methods are described in `VectorIndex`)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import EmbedderMismatchError, StoreError
from hindsight_integrations.stores.base import Vector, VectorIndex
from hindsight_integrations.stores.hits import by_cosine
from hindsight_integrations.stores.index_lease import IndexIdentity, of_another_graph, on_this_host
from hindsight_integrations.stores.neo4j.connection import WRITE_BATCH, Database, Row
from hindsight_integrations.stores.neo4j.schema import change

INDEXED_FROM = 500
"""Vectors from which a space has an index: to compare so many takes as long as to search it."""

SEARCHED = 100
"""Neighbours that Neo4j looks for at least: it has no other setting of how widely it searches."""

SPARE = 20
"""Neighbours beyond those asked for, in place of those that are deleted while it searches."""

_DELETED_AT_ONCE = 5_000
_INDEX_SECONDS = 60

_SCHEMA = (
    "CREATE CONSTRAINT hindsight_indexedvector_key IF NOT EXISTS "
    "FOR (n:IndexedVector) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT hindsight_vectorspace_key IF NOT EXISTS "
    "FOR (n:VectorSpace) REQUIRE n.key IS UNIQUE",
)

_CREATE_INDEX = """
    CREATE VECTOR INDEX {name} IF NOT EXISTS FOR (n:{name}) ON (n.embedding)
    OPTIONS {{indexConfig: {{`vector.dimensions`: {dimension},
        `vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}}}"""
"""Without quantization: with it one in sixteen of the nearest 160 was missed of 10,000."""

_ONLINE = "SHOW VECTOR INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name"

_UPSERT = """
    MERGE (s:VectorSpace {{key: $space}})
    ON CREATE SET s.namespace = $namespace, s.bank = $bank, s.dimension = $dimension
    WITH s WHERE s.dimension = $dimension
    UNWIND $rows AS row
    MERGE (v:IndexedVector {{key: row[0]}}) SET v:{name}, v.id = row[1]
    WITH v, row CALL db.create.setNodeVectorProperty(v, 'embedding', row[2])
    RETURN count(*)"""

_IDENTIFY = """
    MERGE (s:VectorSpace {key: $key})
    ON CREATE SET s.identity = randomUUID(), s.graph = $graph
    RETURN s.identity, s.graph"""

_COUNT = "MATCH (v:IndexedVector) WHERE v.key STARTS WITH $prefix RETURN count(v)"

_SEARCH = """
    UNWIND range(0, size($vectors) - 1) AS row
    CALL db.index.vector.queryNodes($name, $limit, $vectors[row]) YIELD node, score
    RETURN row, node.id, 2 * score - 1"""

_COMPARE = """
    MATCH (v:IndexedVector) WHERE v.key STARTS WITH $prefix
    WITH collect([v.id, v.embedding]) AS held
    UNWIND range(0, size($vectors) - 1) AS row
    CALL (row, held) {
        UNWIND held AS one
        WITH one[0] AS id, 2 * vector.similarity.cosine(one[1], $vectors[row]) - 1 AS cosine
        RETURN id, cosine ORDER BY cosine DESC, id LIMIT $limit }
    RETURN row, id, cosine, size(held)"""


@dataclass(frozen=True, slots=True)
class _Space:
    """The vectors of one bank key.

    Attributes:
        name: of its label and of its index.
        prefix: of the keys of its nodes.
    """

    key: str
    name: str
    prefix: str


class Neo4jVectors(VectorIndex):
    """A `VectorIndex` in a database of the Neo4j server at `uri`, 5.26 or later.

    It may be the database of a `Neo4jGraph` or one of its own. Arguments and errors are those of
    `Neo4jGraph`; memories that share a database need a `namespace` each.
    """

    def __init__(
        self,
        uri: str,
        *,
        user: str | None = None,
        password: str | None = None,
        database: str = "neo4j",
        namespace: str = "hindsight",
    ) -> None:
        self._database = Database(uri, user=user, password=password, name=database)
        self._namespace = namespace
        self._indexed: frozenset[str] = frozenset()
        try:
            for statement in _SCHEMA:
                change(self._database, statement)
            self._look_at_indexes()
        except BaseException:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"Neo4jVectors({self._database.where!r}, database={self._database.name!r})"

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension).

        Raises:
            EmbedderMismatchError: the space holds vectors of another dimension.
        """
        space, dimension = self._space(bank_key), vectors.shape[1]
        rows = [
            [space.prefix + id, id, vector.tolist()]
            for id, vector in zip(ids, vectors, strict=True)
        ]
        for start in range(0, len(rows), WRITE_BATCH):
            ((written,),) = self._database.repeatable.run(
                _UPSERT.format(name=space.name),
                rows=rows[start : start + WRITE_BATCH],
                space=space.key,
                namespace=self._namespace,
                bank=bank_key,
                dimension=dimension,
            )
            if not written:
                raise EmbedderMismatchError(
                    f"{self!r} holds vectors of another dimension than {dimension} for this "
                    "bank; open it with the embedder that made them, or call "
                    "maintenance.reindex"
                )
            if space.name not in self._indexed:
                self._index_if_big(space, dimension)

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        prefix = self._space(bank_key).prefix
        self._database.repeatable.run_each(
            "UNWIND $rows AS key MATCH (v:IndexedVector {key: key}) DETACH DELETE v",
            [prefix + id for id in ids],
        )

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        return self.query_many(bank_key, vector[np.newaxis, :], limit)[0]

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        found: list[list[tuple[str, float]]] = [[] for _ in vectors]
        if limit > 0 and len(vectors):
            for row, id, cosine in self._nearest(self._space(bank_key), vectors.tolist(), limit):
                if id is not None:  # deleted while the index was searched
                    found[row].append((id, cosine))
        return [by_cosine(hits)[:limit] for hits in found]

    def ids(self, bank_key: str) -> set[str]:
        query = "MATCH (v:IndexedVector) WHERE v.key STARTS WITH $prefix RETURN collect([v.id])"
        rows = self._database.reads.collected(query, prefix=self._space(bank_key).prefix)
        return {id for (id,) in rows}

    def keys(self) -> set[str]:
        query = "MATCH (s:VectorSpace) WHERE s.namespace = $namespace RETURN collect([s.bank])"
        return {key for (key,) in self._database.reads.collected(query, namespace=self._namespace)}

    def drop(self, bank_key: str) -> None:
        space, write = self._space(bank_key), self._database.repeatable
        change(self._database, f"DROP INDEX {space.name} IF EXISTS")
        self._indexed -= {space.name}
        deleted = 1
        while deleted:
            ((deleted,),) = write.run(
                "MATCH (v:IndexedVector) WHERE v.key STARTS WITH $prefix WITH v LIMIT $limit "
                "DETACH DELETE v RETURN count(*)",
                prefix=space.prefix,
                limit=_DELETED_AT_ONCE,
            )
        write.run("MATCH (s:VectorSpace {key: $key}) DETACH DELETE s", key=space.key)

    def identity(self, graph: str) -> IndexIdentity:
        """Return the id of the namespace, made once; see `ChromaVectors.identity`."""
        key, write = self._space("").key, self._database.repeatable
        where = on_this_host(f"{self._database.where}/{self._database.name}")
        ((id, owner),) = write.run(_IDENTIFY, key=key, graph=graph)
        if owner != graph:
            if self.keys():
                raise of_another_graph(where)
            write.run("MATCH (s:VectorSpace {key: $key}) DELETE s", key=key)
            ((id, _),) = write.run(_IDENTIFY, key=key, graph=graph)
        return IndexIdentity(str(id), where)

    def close(self) -> None:
        self._database.close()

    def _space(self, bank_key: str) -> _Space:
        """Return the space of a key, whose name has no character that Cypher would read."""
        text = f"{self._namespace}\0{bank_key}".encode()
        key = blake2b(text, digest_size=16).hexdigest()
        return _Space(key, f"HindsightVectors_{key}", f"{key}|")

    def _nearest(self, space: _Space, vectors: list[list[float]], limit: int) -> list[Row]:
        """Return (row, id, cosine) of the nearest of each vector, at least `limit` if there are."""
        if space.name in self._indexed:
            try:
                return self._database.reads.run(
                    _SEARCH, name=space.name, limit=max(limit + SPARE, SEARCHED), vectors=vectors
                )
            except StoreError:
                self._look_at_indexes()
                if space.name in self._indexed:
                    raise
        found = self._database.reads.run(
            _COMPARE, prefix=space.prefix, vectors=vectors, limit=limit
        )
        if found and found[0][3] >= INDEXED_FROM:  # another process may have made the index
            self._look_at_indexes()
        return [(row, id, cosine) for row, id, cosine, _ in found]

    def _index_if_big(self, space: _Space, dimension: int) -> None:
        ((held,),) = self._database.reads.run(_COUNT, prefix=space.prefix)
        if held >= INDEXED_FROM:
            change(self._database, _CREATE_INDEX.format(name=space.name, dimension=dimension))
            self._database.reads.run(
                "CALL db.awaitIndex($name, $seconds)", name=space.name, seconds=_INDEX_SECONDS
            )
            self._indexed |= {space.name}

    def _look_at_indexes(self) -> None:
        self._indexed = frozenset(name for (name,) in self._database.reads.run(_ONLINE))
