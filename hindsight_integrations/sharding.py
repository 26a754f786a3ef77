"""`Shards`: banks spread over several memories, and moved when one is added.

The shard of a bank is computed from its id by rendezvous hashing: of all shards, the one whose
name, hashed with the id, gives the greatest number. An added shard therefore takes its share from
all others, and no other bank moves. A bank that has not been moved yet is found where it is.

A bank is moved in steps that keep it complete even if the process ends: it gets another id in its
old shard, so that no process writes to it any more; it is exported from there; imported into its
new shard, where it appears when it is complete; and deleted in the old one. Calls for the bank wait
during the move. The next `rebalance` finishes an interrupted move.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from threading import Condition
from typing import Any, NoReturn, TypeVar
from uuid import uuid4

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant, in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import (
    BankNotFoundError,
    ConflictError,
    HindsightError,
    InvalidInputError,
    StoreLockedError,
)
from hindsight_integrations.export_import import ImportResult
from hindsight_integrations.export_import.atomic_file import PIPE
from hindsight_integrations.export_import.bank_file import Header, read_lines, reading
from hindsight_integrations.models import Bank
from hindsight_integrations.namespaces.maintenance import Diagnosis, Health
from hindsight_integrations.nlp.embeddings import Embedder
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.remote.engine import RemoteMemory, namespace_class, routed_methods
from hindsight_integrations.remote.wire import BACKUP, IMPORT, NAMESPACES, Verb, verbs
from hindsight_integrations.retain.extraction import Extractor
from hindsight_integrations.settings import Settings

WAIT_SECONDS = 600.0
"""Seconds that a call waits for its bank to arrive."""

T = TypeVar("T")

_calling: ContextVar[frozenset[str]] = ContextVar("calling", default=frozenset())
"""Banks for which this context is making a call."""

ASK_SECONDS = 0.05
"""Seconds between checks whether a bank moved by another process has arrived."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A bank that `rebalance` moved, or why it could not.

    Attributes:
        bank_id: the bank.
        source: name of the shard it was in.
        target: name of the shard where it belongs.
        error: None if it was moved; otherwise what is left to do. No data is lost.
    """

    bank_id: str
    source: str
    target: str
    error: HindsightError | None = None


_OPENED = (
    "Shards takes memories that are open: open each, for example with Hindsight.in_memory() or "
    "Hindsight.from_env(), and give Shards({name: memory, ...})"
)


class Shards(Hindsight):
    """Several memories used as one, with the methods of `Hindsight`: each bank is in one of them.

    A call goes to the shard that has its bank; a new bank is created in the shard computed from its
    id. A recall of several banks at once needs them in one shard. Background work, models and
    settings belong to each shard.

    Args:
        memories: the shards by name. The shard of a bank is computed from these names, so never
            change the name of a shard. Closed with this object.
        leaving: names of shards that get no new banks; `rebalance` empties them.

    Raises:
        InvalidInputError: there is no shard, or `leaving` contains other names, or all of them.
    """

    def __init__(self, memories: Mapping[str, Hindsight], *, leaving: Collection[str] = ()) -> None:
        if not isinstance(memories, Mapping):
            raise InvalidInputError(
                f"memories is {validation.shown(memories)}; give a mapping from names to memories"
            )
        self.shards = {
            validation.label("name", name): validation.memory(f"shard {name!r}", each)
            for name, each in memories.items()
        }
        self.leaving = frozenset(leaving)
        if self.leaving - self.shards.keys() or not self.shards.keys() - self.leaving:
            raise InvalidInputError(
                f"shards are {', '.join(self.shards) or 'missing'}, leaving are "
                f"{', '.join(sorted(self.leaving)) or 'none'}; leaving may only contain names "
                "of shards, and at least one shard must stay"
            )
        self._caller = _Router(self)
        for name in NAMESPACES:
            setattr(self, name, namespace_class(name)(self._caller))

    @classmethod
    def in_memory(cls, **options: object) -> NoReturn:
        """Refuse: shards are opened one by one.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(_OPENED)

    @classmethod
    def from_env(cls, **options: object) -> NoReturn:
        """Refuse: the environment names one memory.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(_OPENED)

    def place_of(self, bank_id: str) -> str:
        """Return the name of the shard where the bank belongs, whether it exists or not."""
        return self._ranked(validation.bank_id(bank_id))[0]

    def shard_of(self, bank_id: str) -> str:
        """Return the name of the shard that has the bank, or in which it would be created.

        Raises:
            StoreLockedError: it has been moving for longer than `WAIT_SECONDS`.
        """
        ranked = self._ranked(validation.bank_id(bank_id))
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            for name in ranked:
                if self._has(name, bank_id):
                    return name
            if not any(self._leaving(name, bank_id) for name in ranked):
                # One that arrived between these looks is in its place.
                return ranked[0]
            if time.monotonic() > deadline:
                raise StoreLockedError(
                    f"bank {bank_id!r} has been moving to {ranked[0]!r} for longer than "
                    f"{WAIT_SECONDS:g} s; if the process that moves it has ended, call "
                    "rebalance()"
                )
            time.sleep(ASK_SECONDS)

    def rebalance(
        self, *, progress: Callable[[int, int | None], None] | None = None
    ) -> tuple[Moved, ...]:
        """Move each bank to the shard where it belongs, one at a time; return the moved banks.

        Other threads and processes with the same shards can read and write during this; a call for
        a bank that is being moved waits. Drain `DurableRetain` queues first, because their progress
        is not moved.

        Args:
            progress: called with (done, total) banks.
        """
        report = validation.progress(progress)
        wanted = [(bank_id, source) for source in self.shards for bank_id in self._to_move(source)]
        moved = []
        for done, (bank_id, source) in enumerate(wanted, start=1):
            moved.append(self._move(bank_id, source, self.place_of(bank_id)))
            if report is not None:
                report(done, len(wanted))
        return tuple(moved)

    ashard_of = async_variant(shard_of)
    arebalance = async_variant(rebalance)

    def _ranked(self, bank_id: str) -> list[str]:
        """Return the names of all shards, the place of the bank first, those that leave last."""

        def score(name: str) -> tuple[bool, bytes]:
            hashed = blake2b(f"{name}\0{bank_id}".encode(), digest_size=8)
            return name not in self.leaving, hashed.digest()

        return sorted(self.shards, key=score, reverse=True)

    def _has(self, name: str, bank_id: str) -> bool:
        try:
            self.shards[name].banks.get(bank_id)
        except BankNotFoundError:
            return False
        return True

    def _leaving(self, name: str, bank_id: str | None = None) -> dict[str, str]:
        """Return the ids in a shard of the banks on their way from it, by the ids they had.

        One behind a service has none: it cannot be rebalanced from outside.
        """
        shard: object = self.shards[name]
        if isinstance(shard, RemoteMemory):
            return {}
        leaving = self.shards[name].runtime.graph.list_banks(leaving=True)
        ids = {stored.leaving: stored.bank.id for stored in leaving if stored.leaving is not None}
        return ids if bank_id is None else {id: ids[id] for id in {bank_id} & ids.keys()}

    def _to_move(self, name: str) -> list[str]:
        """Return the ids of the banks of a shard that belong elsewhere, or are on their way."""
        leaving = self._leaving(name)
        ids = {bank.id for bank in self.shards[name].banks.list()} - {*leaving.values()}
        return [
            *leaving,
            *(id for id in sorted(ids - leaving.keys()) if self._ranked(id)[0] != name),
        ]

    def _move(self, bank_id: str, source: str, target: str) -> Moved:
        try:
            with self._caller.alone(bank_id):
                # Again, if another process was in between.
                while on_its_way := self._fence(bank_id, source, target):
                    self._carry(bank_id, on_its_way, source, target)
        except HindsightError as error:
            return Moved(bank_id, source, target, error)
        return Moved(bank_id, source, target)

    def _fence(self, bank_id: str, source: str, target: str) -> str | None:
        """Give the bank another id in its old shard and return it; None if it is not there.

        One that an interrupted move left comes first: the rest is what was written since.
        """
        if left := self._leaving(source, bank_id):
            return left[bank_id]
        if source == target:
            return None
        runtime, other = self.shards[source].runtime, f"moving-{uuid4().hex}"
        try:
            with runtime.lock(runtime.stored_bank(bank_id).key):
                runtime.graph.update_bank(
                    bank_id, lambda bank: replace(bank, id=other), leaving=True
                )
        except BankNotFoundError:
            return None
        return other

    def _carry(self, bank_id: str, other: str, source: str, target: str) -> None:
        """Bring a bank that has another id into its new shard, and delete it in the old one."""
        old, new = self.shards[source], self.shards[target]
        on_its_way = old.banks.get(other)
        there: Bank | None = None
        if self._has(target, bank_id):
            there = new.banks.get(bank_id)
        if there is None or there.created_at != on_its_way.created_at:  # else it has arrived
            with tempfile.TemporaryDirectory(prefix="hindsight-move-") as folder:
                file = Path(folder) / "bank.jsonl"
                old.banks.export(other, file)
                new.banks.import_(file, bank_id, merge=there is not None)
        old.banks.delete(other)

    # What `Hindsight` has beside its verbs

    @property
    def _first(self) -> Hindsight:
        return next(iter(self.shards.values()))

    @property
    def settings(self) -> Settings:
        """The settings of the first shard."""
        return self._first.settings

    @property
    def probes(self) -> dict[str, Callable[[], tuple[bool, str]]]:
        """Health checks of additional parts, by name, of the first shard."""
        return self._first.probes

    @property
    def embedder(self) -> Embedder:
        """The embedder of the first shard."""
        return self._first.embedder

    @property
    def extractor(self) -> Extractor:
        """The extractor of the first shard."""
        return self._first.extractor

    @property
    def reranker(self) -> Reranker | None:
        """The reranker of the first shard."""
        return self._first.reranker

    def configure(self, **parts: Any) -> None:
        """Replace models in all shards; see `Hindsight.configure`."""
        for memory in self.shards.values():
            memory.configure(**parts)

    def close(self) -> None:
        """Close all shards."""
        with ExitStack() as closing:
            for memory in self.shards.values():
                closing.callback(memory.close)

    async def aconfigure(self, **parts: Any) -> None:
        """`configure`, without blocking the event loop."""
        await in_thread(self.configure, **parts)

    async def aclose(self) -> None:
        """`close`, without blocking the event loop."""
        await in_thread(self.close)

    def __exit__(self, *error: Any) -> None:
        with ExitStack() as closing:
            for memory in self.shards.values():
                closing.callback(memory.__exit__, *error)

    def __repr__(self) -> str:
        leaving = f", leaving={sorted(self.leaving)}" if self.leaving else ""
        return f"Shards({self.shards}{leaving})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the shards; unpickling opens the same memories again."""
        return _unpickled, (self.shards, self.leaving)

    @property
    def runtime(self) -> NoReturn:
        """Raise an error: each shard has its own runtime.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError(
            "each shard has its own stores; use memory.shards[memory.shard_of(bank_id)]"
        )

    graph_store = vector_index = vectors = runtime


def _unpickled(memories: Mapping[str, Hindsight], leaving: Collection[str]) -> Shards:
    return Shards(memories, leaving=leaving)


class _Router:
    """Makes the calls of `Shards`, each in the shard that has the bank."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self._turn = Condition()
        self._calls: Counter[str] = Counter()
        self._moving: set[str] = set()

    @contextmanager
    def alone(self, bank_id: str) -> Iterator[None]:
        """Let the calls for a bank end, and hold back others until the block ends."""
        with self._turn:
            self._turn.wait_for(lambda: bank_id not in self._moving)
            self._moving.add(bank_id)
            self._turn.wait_for(lambda: not self._calls[bank_id])
        try:
            yield
        finally:
            with self._turn:
                self._moving.discard(bank_id)
                self._turn.notify_all()

    @contextmanager
    def _beside(self, bank_id: str) -> Iterator[None]:
        """Be one of the calls for a bank; wait while this process moves it.

        A call within another, such as one that reports progress, is part of that.
        """
        if bank_id in _calling.get():
            yield
            return
        with self._turn:
            self._turn.wait_for(lambda: bank_id not in self._moving)
            self._calls[bank_id] += 1
        before = _calling.set(_calling.get() | {bank_id})
        try:
            yield
        finally:
            _calling.reset(before)
            with self._turn:
                self._calls[bank_id] -= 1
                if not self._calls[bank_id]:
                    del self._calls[bank_id]
                self._turn.notify_all()

    def plan(
        self, verb: Verb, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Callable[[], Any]:
        """Return the work of a call."""
        given = verb.bind(args, kwargs)
        if verb.name in _OF_ALL:
            return lambda: _OF_ALL[verb.name](self._shards, **given)

        def call(memory: Hindsight) -> Any:
            space, _, name = verb.name.rpartition(".")
            return getattr(getattr(memory, space) if space else memory, name)(*args, **kwargs)

        if "bank_id" not in given:  # of models, which all shards have alike
            return lambda: call(self._shards._first)
        return lambda: self.routed(given["bank_id"], call, verb)

    def run(self, work: Callable[[], Any]) -> Any:
        """Do the work."""
        return work()

    async def arun(self, work: Callable[[], Any]) -> Any:
        """Do the work without blocking the event loop."""
        return await in_thread(work)

    def routed(self, named: object, call: Callable[[Hindsight], T], verb: Verb) -> T:
        """Make a call in the shard that has the bank, or all banks, that it names."""
        given = [named] if isinstance(named, str) else validation.items("bank_id", named)  # type: ignore[arg-type]
        bank_ids = sorted({validation.bank_id(each) for each in given})
        with ExitStack() as turns:
            for bank_id in bank_ids:
                turns.enter_context(self._beside(bank_id))
            while True:
                names = {self._shards.shard_of(bank_id) for bank_id in bank_ids}
                if len(names) > 1:
                    raise InvalidInputError(
                        f"the banks {', '.join(bank_ids)} are in the shards "
                        f"{', '.join(sorted(names))}; query each bank separately"
                    )
                try:
                    return call(self._shards.shards[names.pop()])
                except BankNotFoundError as error:
                    if not self._moved_meanwhile(bank_ids):
                        raise
                    if verb.writes:  # how much of it was stored before is not known
                        raise ConflictError(
                            f"another process moved {', '.join(bank_ids)} while {verb.name} "
                            "ran; call it again"
                        ) from error

    def _moved_meanwhile(self, bank_ids: Collection[str]) -> bool:
        """Return True if all banks of a call that missed one are there after all."""
        return all(
            self._shards._has(self._shards.shard_of(bank_id), bank_id) for bank_id in bank_ids
        )


def _health(shards: Shards) -> Health:
    return Health(
        tuple(
            replace(part, part=f"{name}: {part.part}")
            for name, memory in shards.shards.items()
            for part in memory.health().parts
        )
    )


def _doctor(shards: Shards, *, repair: bool = True) -> Diagnosis:
    return Diagnosis(
        tuple(
            replace(finding, table=f"{name}: {finding.table}")
            for name, memory in shards.shards.items()
            for finding in memory.maintenance.doctor(repair=repair).findings
        )
    )


def _wait_idle(shards: Shards, timeout: float | None = None) -> bool:
    if timeout is not None:
        validation.seconds("timeout", timeout, zero=True)
    deadline = None if timeout is None else time.monotonic() + timeout
    idle = [
        memory.wait_idle(None if deadline is None else max(0.0, deadline - time.monotonic()))
        for memory in shards.shards.values()
    ]
    return all(idle)


def _banks(shards: Shards) -> list[Bank]:
    found = {}
    for name, memory in shards.shards.items():
        leaving = shards._leaving(name).values()
        found.update({bank.id: bank for bank in memory.banks.list() if bank.id not in leaving})
    return [found[id] for id in sorted(found)]


def _import(
    shards: Shards, path: str | os.PathLike[str], bank_id: str | None = None, **options: Any
) -> ImportResult:
    if bank_id is None:
        bank_id = _bank_in(path)
    verb = verbs(Hindsight)[IMPORT]
    return shards._caller.routed(
        bank_id, lambda memory: memory.banks.import_(path, bank_id, **options), verb
    )


def _bank_in(path: str | os.PathLike[str]) -> str:
    """Return the id of the bank in an exported file."""
    if validation.file_path("path", path) == PIPE:
        raise InvalidInputError(
            "give bank_id when importing from standard input: it decides the shard"
        )
    with reading(path) as file:
        header = next(iter(read_lines(file)))
    assert isinstance(header, Header)  # read_lines refuses other files
    return header.bank.id


def _backup(shards: Shards, path: object, *, progress: object = None) -> NoReturn:
    raise InvalidInputError(
        "each shard is backed up separately: memory.shards[name].maintenance.backup(file)"
    )


_OF_ALL: Mapping[str, Callable[..., Any]] = {
    "health": _health,
    "maintenance.health": _health,
    "maintenance.doctor": _doctor,
    BACKUP: _backup,
    "wait_idle": _wait_idle,
    "banks.list": _banks,
    IMPORT: _import,
}
"""Verbs that concern all shards, or find their shard in another way than by `bank_id`."""

for _name, _method in routed_methods(
    {name: verb for name, verb in verbs(Hindsight).items() if "." not in name}
).items():
    setattr(Shards, _name, _method)
