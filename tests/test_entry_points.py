"""Wrong arguments of constructors and functions raise typed errors that say what to give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import (
    EmbeddingError,
    Hindsight,
    InvalidInputError,
    Memory,
    ReflectionMemory,
    Session,
    Settings,
    TimeSpan,
)
from hindsight_integrations.durable import DurableRetain
from hindsight_integrations.evaluate import evaluate
from hindsight_integrations.sharding import Shards
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.transcripts import import_transcripts
from hindsight_integrations.workspace import NoteRules, Workspace


@pytest.fixture(scope="module")
def memory() -> Iterator[Any]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as opened:
        opened.retain("a", "Anna met Otto.")
        yield opened


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "path 5": (lambda m: Hindsight(5), "path is 5; give the path of a folder"),
    "path bytes": (lambda m: Hindsight(b"x"), "path is b'x'; give the path"),
    "path list": (lambda m: Hindsight(["x"]), "path is ['x']; give the path"),
    "no such user": (lambda m: Hindsight("~nouser/x"), "there is no such user"),
    "graph 5": (lambda m: Hindsight("p", graph=5), "graph is 5; give a store, or a server's URL"),
    "vectors 5": (lambda m: Hindsight("p", vectors=5), "vectors is 5; give a store"),
    "settings 5": (lambda m: Hindsight("p", settings=5), "settings is 5; give a Settings"),
    "restore": (lambda m: Hindsight.restore("b", None), "path is None; give the path"),
    "below a file": (lambda m: Hindsight("/etc/passwd/x"), "'/etc/passwd' is a file"),
    "where": (lambda m: m.recall("a", "q", where={1: 2}), "where has the field 1; give the name"),
    "where of list": (lambda m: m.memories.list("a", where={1: 2}), "where has the field 1"),
    "span": (lambda m: TimeSpan("2024-01-01", "2024-02-01"), "starts and ends at datetimes"),
    "session": (lambda m: Session(None, "a"), "memory is None; give an open memory"),
    "roles": (lambda m: Session(m, "s", roles=5), "roles is 5; give a list of roles"),
    "workspace": (lambda m: Workspace(None, "b", "."), "memory is None; give an open memory"),
    "root": (lambda m: Workspace(m, "b", None), "root is None; give the path of a folder"),
    "rules": (lambda m: Workspace(m, "b", ".", rules=5), "rules is 5; give a NoteRules"),
    "backoff": (lambda m: Workspace(m, "b", ".", backoff=5), "backoff is 5; give a Backoff"),
    "include": (lambda m: NoteRules(include=5), "include is 5; give a list of patterns"),
    "pattern": (lambda m: NoteRules(include=[5]), "a pattern of include is 5; give text"),
    "data": (lambda m: evaluate({"banks": []}), "data is {'banks': []}; give the path"),
    "engine": (lambda m: evaluate("b", engine=m), "give a function that opens a memory"),
    "transcripts": (lambda m: import_transcripts(m, "b", None), "path is None; give the path"),
    "shards": (lambda m: Shards({"a": 5}), "shard 'a' is 5; give an open memory"),
    "shards in memory": (lambda m: Shards.in_memory(), "open each"),
    "shards of the environment": (lambda m: Shards.from_env(), "open each"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_argument_is_named(
    memory: Any, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").write_bytes(b"")
    call, message = WRONG[case]
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        call(memory)


def test_methods_refuse_what_is_no_path_message_or_time(memory: Any, tmp_path: Path) -> None:
    with Workspace(memory, "w", tmp_path) as workspace:
        with pytest.raises(InvalidInputError, match="a path is 5; give text"):
            workspace.sync([5])
        with pytest.raises(InvalidInputError, match="timeout is 'x'"):
            workspace.drain("x")
    durable = DurableRetain(memory, tmp_path / "q")
    with durable, pytest.raises(InvalidInputError, match="timeout is 'x'"):
        durable.drain("x")
    learning = ReflectionMemory(llm=lambda system, user: "[]")
    with learning, pytest.raises(InvalidInputError, match=r"messages\[0\] is 5"):
        learning.add_messages([5])


def test_wrong_vector_of_a_caller_is_shown(memory: Any) -> None:
    with pytest.raises(EmbeddingError, match=r"the vector given is \[1.0\]; give 384 finite"):
        memory.retain_memory("a", Memory("m1", "a", "Anna paints."), vector=[1.0])


def test_store_of_the_caller_is_accepted() -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as one:
        vectors = ChromaVectors.in_memory()
        with Hindsight(graph=one.graph_store, vectors=vectors, settings=one.settings) as other:
            other.retain("own", "Anna met Otto.")
            assert other.memories.list("own").total == 1
        vectors.close()
