"""Calls of the public API with values of wrong kinds: nothing but our own errors may come out."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hindsight_integrations import Hindsight, HindsightError, Memory, Settings
from hindsight_integrations.models import Message, TimeSpan
from hindsight_integrations.retain.request import Item

NOW = datetime(2024, 5, 7, 12, tzinfo=UTC)

USABLE: dict[str, Any] = {
    "bank_id": "b",
    "id": "m",
    "memory_id": "m",
    "ids": ["m"],
    "memory_ids": ["m"],
    "content": "Ada met Ben.",
    "query": "Who met Ben?",
    "name": "Ada",
    "text": "Ada met Ben.",
    "topic": "Ben",
    "tag": "red",
    "new": "rose",
    "old": "red",
    "alias": "A",
    "document_id": "d",
    "items": ["Ada met Ben."],
    "messages": [Message("Ada", "Hi.")],
    "memory": Memory("m", "b", "Ada met Ben."),
    "path": "bank.jsonl",
    "entity": "Ada",
    "other": "Ben",
    "into": "Ada",
    "source": "Ben",
    "target": "Ada",
    "evidence": ["m"],
}
"""What a required argument is given that is not the one put to the test."""

WRONG: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    3.5,
    float("nan"),
    float("inf"),
    10**30,
    -(2**63),
    Decimal("1.5"),
    1j,
    "",
    " ",
    "x",
    "\0",
    "\ud800",
    "a\nb",
    "x" * 300,
    "x" * 25_000,
    "\u202e",
    "1970-01-01",
    "[]",
    "$gte",
    b"bytes",
    bytearray(b"x"),
    [],
    [None],
    ["b"],
    ["b", 3],
    [[]],
    [{}],
    [""],
    ["x"] * 300,
    (),
    ("a",),
    ("a", "b"),
    (None, None),
    (NOW, None),
    (None, "x"),
    {},
    {"a": 1},
    {"a": None},
    {"a": object()},
    {1: 2},
    {"a": {"$gte": []}},
    {"a": {"$in": "x"}},
    {"a": {"$no": 1}},
    {None: None},
    {"x": {"$gte": 1, 3: 4}},
    set(),
    {1, "a"},
    frozenset(),
    range(3),
    iter([1]),
    object(),
    lambda *a: a,
    NOW,
    datetime.min,
    datetime.max,
    datetime(1, 1, 1),
    date(2024, 5, 7),
    timedelta(1),
    TimeSpan.of_day(NOW),
    Path("p"),
    Path("\0"),
    ValueError("x"),
    np.zeros(3),
    np.ones((2, 2)),
    np.float64(1),
    np.int64(3),
    np.array("x"),
    Memory("m", "b", "x"),
    Memory("", "", ""),
    Memory("m2", "b", None),
    Memory(3, "b", "x"),
    Message("Ada", "Hi."),
    Message(3, None),
    Item(3),
    [Message(None, 3)],
    [Item("x", tags=3)],
    [Item("x", metadata=[])],
    [{"speaker": 3, "text": 4}],
    Settings(),
    type("Odd", (), {"__len__": lambda s: -1})(),
    ["world", 3],
    ["world"],
    "world",
    ["semantic", 3],
    {"semantic": "x"},
    {"semantic": -1},
    "nowhere/x/y.jsonl",
    ".",
    "/",
]

UNCALLED = {"close", "aclose", "from_env", "wait_idle", "await_idle"}
"""Methods that end the engine, or read only the environment."""


class Escaped(NamedTuple):
    """An error of another kind than ours, and the call that it came out of."""

    call: str
    error: str


def methods(memory: Hindsight) -> dict[str, Callable[..., Any]]:
    """Return the synchronous methods of the engine and of its namespaces, by dotted name."""
    found: dict[str, Callable[..., Any]] = {}
    spaces = {name: space for name, space in vars(memory).items() if not name.startswith("_")}
    for prefix, owner in [("", memory), *((f"{name}.", space) for name, space in spaces.items())]:
        for name in dir(type(owner)):
            if name.startswith("_") or name in UNCALLED:
                continue
            method = getattr(owner, name)
            if callable(method) and not inspect.iscoroutinefunction(method):
                found[prefix + name] = method
    return found


def calls(memory: Hindsight, number: int, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls with one to three arguments of a wrong kind, the same for the same seed."""
    rng = random.Random(seed)
    known = methods(memory)
    for _ in range(number):
        name = rng.choice(sorted(known))
        method = known[name]
        parameters = {
            p.name: p
            for p in inspect.signature(method).parameters.values()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        }
        required = [p for p, one in parameters.items() if one.default is one.empty]
        given = {p: USABLE.get(p, "x") for p in required}
        wrong = rng.sample(sorted(parameters), min(len(parameters), rng.choice((1, 1, 1, 2, 3))))
        given |= {p: rng.choice(WRONG) for p in wrong}
        shown = ", ".join(f"{p}={given[p]!r:.50}" for p in given)
        yield f"{name}({shown})", lambda method=method, given=given: method(**given)  # type: ignore[misc]


def remember(memory: Hindsight) -> None:
    """Make the bank that the calls name, if there is none, or none any more."""
    if not any(bank.id == "b" for bank in memory.banks.list()):
        memory.retain("b", "Ada met Ben in Porto.", tags=["red"], document_id="d")
        memory.retain_memory("b", Memory("m", "b", "Ada likes red.", entities=("Ada",)))


def fuzz(memory: Hindsight, number: int, seed: int = 17) -> tuple[Counter[str], list[Escaped]]:
    """Make the calls; return how they ended, and the errors that are none of ours."""
    ends: Counter[str] = Counter()
    escaped: list[Escaped] = []
    for shown, call in calls(memory, number, seed):
        remember(memory)
        try:
            result = call()
            if isinstance(result, Iterator):
                list(result)
            ends["answered"] += 1
        except HindsightError as error:
            ends[type(error).__name__] += 1
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            ends["escaped"] += 1
            escaped.append(Escaped(shown, f"{type(error).__name__}: {error!s:.120}"))
    return ends, escaped
