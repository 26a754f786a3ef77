"""Worlds of memories, and what is said or asked when some of them matter: the training data.

A world is one person's bank, one chat, one team or one diary, so that its memories are each other's
distractors. All of it is invented, and was worded by language models that were told of the ways in
which people chat, plan, note and ask; they saw no dataset, and no figure of this project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Query:
    """What is said or asked, and the positions of the memories that bear on it."""

    text: str
    relevant: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class World:
    """Memories, and queries about them.

    Attributes:
        file: name of the file that holds it, which is its kind.
        memories: texts as they are embedded, with a speaker or title where there is one.
        queries: questions, remarks, requests and dialogues.
    """

    file: str
    memories: tuple[str, ...]
    queries: tuple[Query, ...]


def worlds(folder: Path = FOLDER) -> Iterator[World]:
    """Yield all worlds, file by file. Raises `ValueError` if one points to no memory of its own."""
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            held = json.loads(line)
            memories = tuple(held["memories"])
            queries = tuple(Query(each["q"], tuple(each["relevant"])) for each in held["queries"])
            for query in queries:
                if not query.relevant or not all(0 <= i < len(memories) for i in query.relevant):
                    raise ValueError(f"{path.name}, line {number}: {query.text!r} points nowhere")
            yield World(path.stem, memories, queries)
