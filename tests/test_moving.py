"""A bank as a file: nothing is lost on the way, and a damaged file leaves no trace."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations import (
    Bank,
    BankExistsError,
    BankNotFoundError,
    Disposition,
    EmbedderMismatchError,
    Entity,
    Hindsight,
    InvalidInputError,
    Memory,
    MemoryType,
    Precision,
    SchemaVersionError,
    Settings,
    Source,
    StoreCorruptError,
    StoreError,
    TimeSpan,
)
from hindsight_integrations.model import (
    Change,
    Chunk,
    Document,
    Link,
    LinkKind,
    MentalModel,
    ObservationKind,
)
from hindsight_integrations.moving.exporting import ExportResult
from hindsight_integrations.moving.importing import ImportResult
from hindsight_integrations.naming import UNFINISHED
from hindsight_integrations.storage.neo4j import Neo4jGraph
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import (
    ChangeSet,
    EntityNames,
    MemoryFilter,
    MemoryRecord,
)
from hindsight_integrations.storage.sqlite import SqliteGraph

from .storage.graphs import NOW, STAMP, chunk, document, entity_id, keep, record
from .storage.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

SAID = datetime(2024, 5, 7, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=2)))
EVERYTHING = MemoryFilter(now=datetime.min.replace(tzinfo=UTC), include_invalid=True)
QUESTIONS = (
    "Who runs Project Heron?",
    "What happened in March 2021?",
    "Where does Robert Hale live?",
    "Is tea better than coffee?",
    "Why was the ferry late?",
)


def export(memory: Hindsight, bank: str, path: Path, **options: Any) -> ExportResult:
    return memory.banks.export(bank, path, **options)


RESTING = Settings(consolidate=False)
"""What waits in an imported bank goes on waiting, so that it can be compared."""


def import_(memory: Hindsight, path: Path, bank: str | None = None, **options: Any) -> ImportResult:
    return memory.banks.import_(path, bank, **options)


def lived_in(memory: Hindsight, bank: str) -> None:
    """A bank with some of everything that can be in one."""
    memory.banks.create(
        bank,
        name="Alice 🦉",
        mission="Plan\nher week",
        background="A designer from Łódź",
        disposition=Disposition(5, 1, 4),
        directives=["Never guess", "Cite «sources»"],
    )
    stored = memory.retain(
        bank,
        "Ruth Castellane has run Project Heron in Łódź since March 2021.\n\n"
        "The ferry was late because the pilot had lost his chart. 🛳️ Ünïcode, 東京, \u2028 ʼn.",
        document_id="notes/1",
        timestamp=SAID,
        context='Heron, "the bird"',
        tags=["work", "é"],
        metadata={"text": 'a "quote"\n', "whole": 2**53 + 1, "half": 1.0, "yes": True},
        scope="office",
    )
    memory.retain(bank, "The ferry is blue.", document_id="a", timestamp=SAID)
    memory.retain(bank, "The ferry is blue.", document_id="b", timestamp=SAID)  # a second source
    memory.retain_messages(
        bank,
        [
            {"speaker": "Inês", "text": "Is tea better than coffee?", "id": "m1"},
            {"speaker": "Jonas", "text": "Tea, by far.", "id": "m2", "metadata": {"mood": 3}},
        ],
        session="chat",
    )
    memory.retain(bank, "I think Lisbon is the finest city.", type="opinion", confidence=0.25)
    memory.retain(bank, "The code was 4711.", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    for name in ("Robert Hale", "Old Bob", "Ghost Ship", "Mercury"):
        text = f"{name} was seen in Tromsø, and {name} left again."
        stored = memory.retain(bank, text, entities=[name], timestamp=SAID)
        memory.retain(bank, f"Nobody knows where {name} lives.", entities=[name])
    memory.entities.merge(bank, "Old Bob", "Robert Hale")
    memory.entities.split(bank, "Mercury", "Mercury (planet)", stored.ids)
    memory.entities.alias(bank, "Ghost Ship", "GS")
    for seen in memory.memories.list(bank, entity="Ghost Ship").items:
        memory.memories.update(bank, seen.id, tags=["doubtful"], reason="who was it?")
        memory.forget(bank, seen.id)  # the name that a user gave it stays
    first, second, *_ = memory.memories.list(bank).items
    memory.memories.update(bank, first.id, text=first.text + " It is a secret.", reason="typo")
    memory.memories.invalidate(bank, second.id, "retracted")
    concluded(memory, bank)


def concluded(memory: Hindsight, bank: str) -> None:
    """Conclusions, one of which rests on a later one, mental models, and what waits."""
    graph = memory._core.graph
    ids = list(graph.memory_ids(bank))
    (like,) = graph.get_records(bank, ids[-1:]).values()

    def conclusion(id: str, *sources: Source) -> MemoryRecord:
        concluded = replace(
            like.memory,
            id=id,
            type=MemoryType.OBSERVATION,
            kind=ObservationKind.RISK.value,
            reasoning='"so" it is said',
            sources=sources,
        )
        return replace(like, memory=concluded)

    first = Source(memory_id=ids[0], mentioned_at=SAID, quote="Project «Heron»")
    against = Source(memory_id=ids[1], mentioned_at=SAID, quote="no", supports=False)
    model = MentalModel(
        "mm-1", bank, "Heron", "Ruth runs it.", "Who runs it?", 99, ("é",), (ids[0],), True
    )
    refreshed = Change("mm-1", "refresh", "text", None, model.text, SAID)
    graph.apply(ChangeSet(bank, memories=(conclusion("o-1", first, against),)))
    graph.apply(ChangeSet(bank, memories=(conclusion("o-2", first),), reflected=tuple(ids[2:])))
    later = Source(memory_id="o-2", mentioned_at=SAID)
    graph.apply(ChangeSet(bank, sources=(("o-1", later),), unreflected=("o-1",)))
    graph.apply(ChangeSet(bank, mental_models=(model,), history=(refreshed,)))
    memory._core.flush()


def everything(memory: Hindsight, bank: str) -> dict[str, list[object]]:
    """All a store gives of a bank, as values that can be compared; without the bank's id."""
    graph = memory._core.graph
    stored = graph.get_bank(bank)
    assert stored is not None
    ids = list(graph.memory_ids(bank))
    names = graph.list_entities(bank, limit=1000).items
    return {
        "bank": [replace(stored.bank, id=""), stored.embedder],
        "documents": [replace(each, bank_id="") for each in graph.documents(bank)],
        "chunks": list(graph.chunks(bank)),
        "entities": [replace(each, bank_id="") for each in names],
        "beside": [graph.cooccurring(bank, [each.id for each in names])],
        "edited": list(graph.edited_entities(bank)),
        "memories": [plain(each) for each in graph.get_records(bank, ids).values()],
        "links": list(graph.links(bank, ids, 1000, EVERYTHING)),
        "changes": list(graph.changes(bank)),
        "resting": [graph.resting_on(bank, ids)],
        "waiting": list(graph.unreflected(bank, 1000)),
        "models": [replace(each, bank_id="") for each in graph.mental_models(bank)],
        "lexemes": [graph.lexeme_stats(bank, ["ferri", "tea", "ruth"])],
    }


def plain(value: Any) -> object:
    """A value whose vectors can be compared, and that is of no bank."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tobytes())
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name != "bank_id"]
        return {name: plain(getattr(value, name)) for name in names}
    return value


def answers(memory: Hindsight, bank: str) -> list[list[str]]:
    return [[found.id for found in memory.recall(bank, question)] for question in QUESTIONS]


@pytest.fixture(scope="module")
def home() -> Iterator[Hindsight]:
    """An engine with a bank "alice" that is only to be read, and room for others."""
    with Hindsight.in_memory(settings=RESTING) as memory:
        lived_in(memory, "alice")
        yield memory


@pytest.fixture(scope="module")
def whole(home: Hindsight, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bank "alice" as a file."""
    path = tmp_path_factory.mktemp("whole") / "alice.jsonl"
    export(home, "alice", path)
    return path


# There and back


def test_a_bank_goes_to_another_memory_and_back_without_a_byte_changed(
    home: Hindsight, whole: Path, folder: Path, tmp_path: Path
) -> None:
    with Hindsight(folder, settings=RESTING) as other:
        import_(other, whole)
        assert everything(other, "alice") == everything(home, "alice")
        export(other, "alice", tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_a_bank_goes_to_a_server_and_back_without_a_byte_changed(
    home: Hindsight, whole: Path, empty_neo4j: Address, tmp_path: Path
) -> None:
    away = Neo4jGraph(empty_neo4j.uri, **empty_neo4j.options())
    with Hindsight(tmp_path / "vectors", graph=away, settings=RESTING) as server:
        import_(server, whole)
        assert everything(server, "alice") == everything(home, "alice")
        assert server.maintenance.doctor().findings == ()
        export(server, "alice", tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == whole.read_bytes()
    import_(home, tmp_path / "back.jsonl", "back")
    assert everything(home, "back") == everything(home, "alice")
    home.banks.delete("back")


def test_every_part_is_there_to_be_compared(home: Hindsight, whole: Path) -> None:
    assert all(everything(home, "alice").values())
    kinds = {next(iter(json.loads(line))) for line in whole.read_bytes().splitlines()}
    assert kinds == {
        "hindsight-bank", "document", "chunk", "entity", "edited", "memory", "evidence",
        "waiting", "link", "change", "model", "end",
    }  # fmt: skip


def test_under_another_id_only_the_bank_has_another_name(
    home: Hindsight, memory: Hindsight, whole: Path, tmp_path: Path
) -> None:
    result = import_(memory, whole, "eve 😀")
    assert result.bank_id == "eve 😀"
    assert [bank.id for bank in memory.banks.list()] == ["eve 😀"]
    assert everything(memory, "eve 😀") == everything(home, "alice")
    export(memory, "eve 😀", tmp_path / "eve.jsonl")
    before, after = (path.read_bytes().splitlines() for path in (whole, tmp_path / "eve.jsonl"))
    assert before[1:-1] == after[1:-1]


def test_recall_answers_as_before(home: Hindsight, memory: Hindsight, whole: Path) -> None:
    import_(memory, whole)
    assert all(answers(home, "alice"))
    assert answers(memory, "alice") == answers(home, "alice")


def test_an_imported_bank_is_sound_and_goes_on_as_it_would_have(
    memory: Hindsight, whole: Path
) -> None:
    import_(memory, whole)
    assert memory.maintenance.doctor().findings == ()
    assert memory.banks.stats("alice").pending_vectors == 0
    again = memory.retain("alice", "The ferry is blue.", document_id="b", timestamp=SAID)
    assert (again.stored, [skip.reason for skip in again.skipped]) == ((), ["unchanged"])
    (invalid,) = [m for m in all_of(memory, "alice") if m.invalidated_at]
    assert memory.memories.restore("alice", invalid.id).invalidated_at is None
    assert memory.entities.get("alice", "GS").name == "Ghost Ship"
    memory.retain("alice", "Ghost Ship is back.", entities=["GS"], document_id="ghost")
    memory.forget("alice", document_id="ghost")
    assert memory.entities.get("alice", "GS").mention_count == 0


def all_of(memory: Hindsight, bank: str) -> Sequence[Memory]:
    return memory.memories.list(bank, include_invalid=True, limit=1000).items


def test_an_empty_bank_can_be_moved(memory: Hindsight, tmp_path: Path) -> None:
    made = memory.banks.create("empty", name="Nobody's")
    assert export(memory, "empty", tmp_path / "file").counts == {}
    memory.banks.delete("empty")
    assert import_(memory, tmp_path / "file").counts == {}
    assert memory.banks.get("empty") == made


@pytest.mark.slow
def test_a_thousand_memories_come_through_in_batches(memory: Hindsight, tmp_path: Path) -> None:
    texts = [f"Parcel {n} went to pier {n % 7} with Captain Vance{n % 50}." for n in range(1000)]
    memory.retain_many("b", texts)
    seen: list[tuple[int, int | None]] = []
    export(memory, "b", tmp_path / "b.gz", progress=lambda *at: seen.append(at))
    total = seen[-1][1]
    assert seen[-1] == (total, total)
    seen.clear()
    import_(memory, tmp_path / "b.gz", "c", progress=lambda *at: seen.append(at))
    checked = [done for done, of in seen if of is None]
    stored = [done for done, of in seen if of is not None]
    assert checked == sorted(checked)
    assert stored == sorted(stored)
    assert seen[-1] == (stored[-1], stored[-1])
    assert everything(memory, "c") == everything(memory, "b")
    for question in ("Where did parcel 77 go?", "What did Captain Vance7 carry to pier 3?"):
        before, after = (memory.recall(bank, question) for bank in ("b", "c"))
        assert [found.id for found in before] == [found.id for found in after]


# Whatever a store can hold

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
MOMENTS = st.datetimes(timezones=st.just(UTC))
SPANS = st.builds(
    lambda start, minutes, precision: TimeSpan(
        start, start + timedelta(minutes=minutes), precision
    ),
    st.datetimes(max_value=datetime(9000, 1, 1), timezones=st.just(UTC)),
    st.integers(1, 10**6),
    st.sampled_from(Precision),
)
VALUES = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, width=64)
).filter(lambda value: value not in (float("inf"), float("-inf")))
SOURCES = st.builds(
    Source, st.none() | TEXTS, st.none() | TEXTS, st.integers(0, 2**40), MOMENTS, st.none() | TEXTS
)
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1)
MEMORIES = st.builds(
    Memory,
    id=st.just(""),
    bank_id=st.just(""),
    text=TEXTS,
    type=st.sampled_from(MemoryType),
    occurred=st.lists(SPANS, max_size=2).map(tuple),
    mentioned_at=MOMENTS,
    speaker=st.none() | TEXTS,
    context=st.none() | TEXTS,
    tags=st.lists(TEXTS, max_size=3, unique=True).map(tuple),
    metadata=st.dictionaries(TEXTS, VALUES, max_size=3),
    confidence=st.none() | st.floats(0, 1),
    scope=st.none() | TEXTS,
    sources=st.lists(SOURCES, max_size=2, unique=True).map(tuple),
    created_at=MOMENTS,
    updated_at=MOMENTS,
    expires_at=st.none() | MOMENTS,
    invalidated_at=st.none() | MOMENTS,
    invalidated_because=st.none() | TEXTS,
    kind=st.none() | TEXTS,
    reasoning=st.none() | TEXTS,
)
EVIDENCE = st.builds(
    Source,
    st.none(),
    st.none(),
    st.integers(0, 9),
    MOMENTS,
    st.none() | TEXTS,
    st.sampled_from(["m0", "o0", "o1", "o2"]),
    st.none() | TEXTS,
    st.booleans(),
)
RECORDS = st.builds(
    MemoryRecord,
    memory=MEMORIES,
    lexemes=st.lists(WORDS, max_size=4).map(tuple),
    vector=st.integers(0, 2**32 - 1).map(lambda seed: unit_vector(seed)),
    fingerprint=WORDS,
    interaction=st.none() | st.binary(),
)
NUMBERS = count()


def unit_vector(seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    values = np.random.default_rng(seed).standard_normal(384)
    return (values / np.linalg.norm(values)).astype(np.float32)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(RECORDS, min_size=1, max_size=4),
    st.lists(TEXTS, max_size=3),
    st.lists(st.lists(EVIDENCE, max_size=3, unique=True), max_size=3),
)
def test_whatever_a_store_can_hold_comes_back_the_same(
    home: Hindsight,
    whole: Path,
    records: list[MemoryRecord],
    texts: list[str],
    evidence: list[list[Source]],
) -> None:
    bank, copy, path = f"random {next(NUMBERS)}", f"copy {next(NUMBERS)}", whole.with_suffix(".tmp")
    graph = home._core.graph
    graph.create_bank(Bank(bank), home._core.stamp)
    ids = [f"m{n}" for n in range(len(records))]
    entity = Entity("e", bank, "É 😀", "thing", ("É2",))
    numbered = [
        replace(
            each, memory=replace(each.memory, id=id, entities=(entity.name,)), entity_ids=("e",)
        )
        for id, each in zip(ids, records, strict=True)
    ]
    on_first = Source(memory_id="m0", mentioned_at=SAID)
    conclusions = [
        replace(
            records[0], memory=replace(records[0].memory, id=f"o{n}", sources=(*given, on_first))
        )
        for n, given in enumerate(evidence)
    ]
    graph.apply(
        ChangeSet(
            bank,
            documents=(Document("d", bank, "f", SAID, SAID),),
            chunks=tuple(Chunk(f"c{n}", "d", n, text, "f") for n, text in enumerate(texts)),
            entities=(entity,),
            memories=(*conclusions, *numbered),
            mental_models=tuple(
                MentalModel(f"mm{n}", bank, text, text, text, n, (text,), (text,), n > 0)
                for n, text in enumerate(texts)
            ),
            reflected=tuple(ids[1:]),
            links=tuple(Link(id, "m0", LinkKind.CAUSAL, 1 / 3) for id in ids),
        )
    )
    export(home, bank, path)
    import_(home, path, copy)
    assert everything(home, copy) == everything(home, bank)
    home.banks.delete(bank)
    home.banks.delete(copy)


# Files that are refused


def refused(
    memory: Hindsight, data: bytes, folder: Path, error: type[StoreError] = StoreCorruptError
) -> str:
    """What is said when a file of this content is to be imported; nothing may come of it."""
    path = folder / "refused"
    path.write_bytes(data)
    before = memory.banks.list(), memory._core.index.keys()
    with pytest.raises(error) as caught:
        import_(memory, path, "refused")
    assert (memory.banks.list(), memory._core.index.keys()) == before
    assert "Nothing was imported" in str(caught.value)
    return str(caught.value)


def signed(lines: Sequence[bytes]) -> bytes:
    """A file of these lines with an end that is true of them."""
    counts: dict[str, int] = {}
    for line in lines[1:]:
        name = next(iter(json.loads(line)))
        counts[name] = counts.get(name, 0) + 1
    content = b"".join(line + b"\n" for line in lines)
    end = {"end": {"counts": counts, "sha256": sha256(content).hexdigest()}}
    return content + json.dumps(end).encode() + b"\n"


@pytest.mark.slow
@settings(max_examples=300)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_file_with_any_byte_altered_is_refused(
    home: Hindsight, whole: Path, place: float, change: int
) -> None:
    data = bytearray(whole.read_bytes())
    data[int(place * len(data))] ^= change
    message = refused(home, bytes(data), whole.parent, StoreError)
    assert ", line " in message


@pytest.mark.slow
def test_a_file_cut_off_anywhere_is_refused_and_the_line_named(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        message = refused(home, b"".join(lines[:kept]), tmp_path)
        assert f"line {kept + 1}: its end is missing" in message
        message = refused(home, b"".join([*lines[:kept], lines[kept][:-1]]), tmp_path)
        assert f"line {kept + 1}: " in message
        assert "breaks off" in message


@pytest.mark.slow
def test_a_compressed_file_cut_off_or_altered_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    packed = gzip.compress(whole.read_bytes(), mtime=0)
    for cut in (5, 100, len(packed) // 2, len(packed) - 8, len(packed) - 1):
        assert ", line " in refused(home, packed[:cut], tmp_path)
    for place in (len(packed) // 3, len(packed) // 2, len(packed) - 6):
        altered = packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]
        assert ", line " in refused(home, altered, tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"Dear diary,\n",
        b"{}\n",
        b"[]\n",
        b'{"content": "An item to retain."}\n',
        b'{"hindsight-bank": null}\n',
        b'{"end": {"counts": {}, "sha256": ""}}\n',
        bytes(range(256)) * 100,
        b"[" * 100_000 + b"\n",
        gzip.compress(b"Dear diary,\n", mtime=0),
    ],
)
def test_a_file_of_another_kind_is_refused(home: Hindsight, tmp_path: Path, data: bytes) -> None:
    assert "line 1: this is no exported bank" in refused(home, data, tmp_path)


def test_a_file_of_a_newer_release_is_refused(home: Hindsight, whole: Path, tmp_path: Path) -> None:
    header, *rest = whole.read_bytes().splitlines()[:-1]
    newer = header.replace(b'"schema":2', b'"schema":3,"planet":"Mars"')
    message = refused(home, signed([newer, *rest]), tmp_path, SchemaVersionError)
    assert "format version 3" in message
    assert "upgrade" in message


def test_a_file_from_before_conclusions_is_read_and_all_it_holds_waits(
    home: Hindsight, memory: Hindsight, whole: Path, tmp_path: Path
) -> None:
    older = []
    for line in map(json.loads, whole.read_bytes().splitlines()[:-1]):
        if record := line.get("memory"):
            if record["memory"]["kind"]:
                continue
            for lacking in ("kind", "reasoning"):
                del record["memory"][lacking]
            for stated in record["memory"]["sources"]:
                for lacking in ("memory_id", "quote", "supports"):
                    del stated[lacking]
        if not line.keys() & {"evidence", "waiting", "model"}:
            older.append(json.dumps(line).encode())
    older[0] = older[0].replace(b'"schema": 2', b'"schema": 1')
    links = [line for line in older if not (line.startswith(b'{"link"') and b'"o-' in line)]
    (tmp_path / "older").write_bytes(signed(links))
    import_(memory, tmp_path / "older")
    assert everything(memory, "alice")["memories"] == everything(home, "alice")["memories"][:-2]
    graph = memory._core.graph
    stored = graph.get_memories("alice", list(graph.memory_ids("alice"))).values()
    valid = [each.id for each in stored if each.invalidated_at is None]
    assert graph.unreflected("alice", 1000) == valid


def test_what_was_taken_out_doubled_or_put_behind_the_end_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    refused(home, b"".join([*lines[:5], *lines[6:]]), tmp_path)
    refused(home, b"".join([*lines[:5], lines[5], *lines[5:]]), tmp_path)
    refused(home, b"".join([*lines[:5], lines[6], lines[5], *lines[7:]]), tmp_path)
    assert f"line {len(lines) + 1}" in refused(home, b"".join([*lines, lines[-1]]), tmp_path)
    assert "line 3" in refused(
        home, signed([lines[0][:-1], lines[1][:-1], lines[0][:-1]]), tmp_path
    )


MISSHAPEN: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "half a character": ("memory", lambda m: m["memory"].update(text="\ud83d"), "text: .*surrog"),
    "no number": ("link", lambda link: link.update(weight=float("nan")), "not a finite number"),
    "a huge number": ("link", lambda link: link.update(weight=10**400), "too large"),
    "a text for a number": ("chunk", lambda c: c.update(position="1"), "position: '1' is not"),
    "a truth for a number": ("chunk", lambda c: c.update(position=True), "position: True"),
    "nothing for a text": ("chunk", lambda c: c.update(text=None), "text: None is not a str"),
    "no timezone": ("change", lambda c: c.update(at="2024-05-07T09:30:15"), "at: .*timezone"),
    "no time": ("change", lambda c: c.update(at="yesterday"), "at: .*yesterday"),
    "a list in metadata": (
        "memory",
        lambda m: m["memory"]["metadata"].update(x=[]),
        r"memory: metadata: \[\] is not",
    ),
    "a span turned round": (
        "memory",
        lambda m: m["memory"]["occurred"].append(
            {"start": "2024-01-02T00:00Z", "end": "2024-01-01T00:00Z", "precision": "day"}
        ),
        "occurred: a time span ends after it starts",
    ),
    "an unknown type": ("memory", lambda m: m["memory"].update(type="rumour"), "type: 'rumour'"),
    "an unknown field": ("entity", lambda e: e.update(colour="red"), "unknown field 'colour'"),
    "a field left out": ("entity", lambda e: e.pop("aliases"), "lacks field 'aliases'"),
    "no base64": ("memory", lambda m: m.update(interaction="%%%"), "interaction: "),
    "half a float": ("memory", lambda m: m.update(vector="AAAA"), "vector: "),
    "a short vector": ("memory", lambda m: m.update(vector="AAAAAA=="), "1 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSHAPEN)
def test_a_line_of_the_wrong_shape_is_refused_even_under_a_true_checksum(
    home: Hindsight, whole: Path, tmp_path: Path, case: str
) -> None:
    name, change, said = MISSHAPEN[case]
    lines = whole.read_bytes().splitlines()[:-1]
    number = next(n for n, line in enumerate(lines) if line.startswith(b'{"%s"' % name.encode()))
    line = json.loads(lines[number])
    change(line[name])
    lines[number] = json.dumps(line).encode()
    message = refused(home, signed(lines), tmp_path)
    assert f"line {number + 1}: " in message
    assert re.search(said, message)


def test_a_sound_file_whose_parts_contradict_each_other_leaves_nothing(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines()[:-1]
    (tmp_path / "doubled").write_bytes(signed([*lines, lines[-1], lines[1]]))
    before = home.banks.list(), home._core.index.keys()
    with pytest.raises(StoreError, match="contradicts itself"):
        import_(home, tmp_path / "doubled", "doubled")
    assert (home.banks.list(), home._core.index.keys()) == before


def test_a_file_that_is_not_there_is_named(memory: Hindsight, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none' cannot be read: No such file"):
        import_(memory, tmp_path / "none")
    with pytest.raises(InvalidInputError, match="cannot be read: Is a directory"):
        import_(memory, tmp_path)


# All or nothing


def test_a_bank_that_exists_is_left_alone(memory: Hindsight, whole: Path) -> None:
    memory.retain("alice", "Quite another Alice.")
    with pytest.raises(BankExistsError, match=r"'alice' exists already.*bank_id"):
        import_(memory, whole)
    assert [m.text for m in all_of(memory, "alice")] == ["Quite another Alice."]
    import_(memory, whole, "eve")
    with pytest.raises(BankExistsError, match="'eve'"):
        import_(memory, whole, "eve")


def test_an_import_that_is_interrupted_leaves_nothing(memory: Hindsight, whole: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if total is not None:
            assert [bank.id for bank in memory.banks.list()] == [f"alice {UNFINISHED}"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_(memory, whole, progress=interrupt)
    assert memory.banks.list() == []
    assert memory._core.index.keys() == set()
    assert memory.maintenance.doctor().findings == ()
    import_(memory, whole)


def test_a_bank_made_meanwhile_is_kept_and_the_import_taken_back(
    memory: Hindsight, whole: Path
) -> None:
    def retain(done: int, total: int | None) -> None:
        if total is not None:
            memory.retain("alice", "I was quicker.")

    with pytest.raises(BankExistsError, match="'alice'"):
        import_(memory, whole, progress=retain)
    assert [bank.id for bank in memory.banks.list()] == ["alice"]
    assert [m.text for m in all_of(memory, "alice")] == ["I was quicker."]


KILLED = """
import os, sys
from hindsight_integrations import Hindsight
from hindsight_integrations.moving.importing import import_bank

with Hindsight(sys.argv[1]) as memory:
    import_bank(memory._core, sys.argv[2], progress=lambda done, total: total and os._exit(9))
"""


@pytest.mark.slow
def test_what_a_killed_import_left_is_plain_to_see_and_removed_by_the_next(
    home: Hindsight, whole: Path, folder: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), str(whole)]
    assert subprocess.run(command, check=False).returncode == 9
    with Hindsight(folder, settings=RESTING) as memory:
        assert [bank.id for bank in memory.banks.list()] == [f"alice {UNFINISHED}"]
        with pytest.raises(BankNotFoundError):
            memory.recall("alice", "anything")
        import_(memory, whole)
        assert [bank.id for bank in memory.banks.list()] == ["alice"]
        assert everything(memory, "alice") == everything(home, "alice")
        assert memory.maintenance.doctor().findings == ()


# Embedders


class Letters:
    """An embedder of another make: counts letters."""

    id = "letters/1"
    dimension = 26

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        rows = [[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_vectors_of_another_embedder_are_refused_or_made_anew(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    with Hindsight.in_memory(embedder=Letters(), settings=RESTING) as memory:
        with pytest.raises(EmbedderMismatchError, match=r"MiniLM.*letters/1.*--reembed"):
            import_(memory, whole)
        assert memory.banks.list() == []
        assert import_(memory, whole, reembed=True).reembedded
        found, before = everything(memory, "alice"), everything(home, "alice")
        for vectorless in ("documents", "chunks", "entities", "links", "changes"):
            assert found[vectorless] == before[vectorless]
        assert all(memory.recall("alice", question, arms=["meaning"]) for question in QUESTIONS)
        assert memory.maintenance.doctor().findings == ()
        export(memory, "alice", tmp_path / "letters")
    assert b'"embedder":{"id":"letters/1","dimension":26}' in (tmp_path / "letters").read_bytes()


# Files that are written


def test_a_file_is_compressed_by_its_name_and_read_by_its_content(
    home: Hindsight, memory: Hindsight, whole: Path, tmp_path: Path
) -> None:
    export(home, "alice", tmp_path / "alice.gz")
    packed = (tmp_path / "alice.gz").read_bytes()
    assert gzip.decompress(packed) == whole.read_bytes()
    export(home, "alice", tmp_path / "again.gz")
    assert (tmp_path / "again.gz").read_bytes() == packed
    (tmp_path / "alice.gz").rename(tmp_path / "alice")
    import_(memory, tmp_path / "alice")
    assert everything(memory, "alice") == everything(home, "alice")


def test_an_export_that_fails_leaves_the_older_file_whole(
    memory: Hindsight, tmp_path: Path
) -> None:
    memory.retain_many("b", ["The ferry is blue.", "The ferry is green."])
    export(memory, "b", tmp_path / "file")
    before = (tmp_path / "file").read_bytes()
    with memory._core.graph._connections.write() as cursor:  # type: ignore[attr-defined]
        cursor.execute("DELETE FROM vectors WHERE unit = (SELECT min(unit) FROM vectors)")
    with pytest.raises(StoreError, match=r"1 of 2 memory records.*doctor"):
        export(memory, "b", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == before


def test_an_export_replaces_files_and_nothing_else(memory: Hindsight, tmp_path: Path) -> None:
    memory.banks.create("b")
    with pytest.raises(InvalidInputError, match="is no file"):
        export(memory, "b", tmp_path)
    with pytest.raises(InvalidInputError, match="is no file"):
        export(memory, "b", Path("/dev/null"))
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        export(memory, "b", tmp_path / "nowhere" / "file")
    with pytest.raises(BankNotFoundError, match="'c'"):
        export(memory, "c", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


# What a graph store gives of a bank


class MovingContract:
    """What every `GraphStore` does for moving; a test class inherits it, with a `graph`."""

    @pytest.fixture(autouse=True)
    def bank(self, graph: GraphStore) -> None:
        graph.create_bank(Bank("b"), STAMP)
        graph.create_bank(Bank("other"), STAMP)

    def test_parts_come_by_id_each_once_and_of_one_bank_only(self, graph: GraphStore) -> None:
        names = [f"{n:04}" for n in range(2500)]
        graph.apply(
            ChangeSet(
                "b",
                documents=tuple(document(name) for name in reversed(names)),
                chunks=tuple(chunk(name, "0007") for name in reversed(names)),
            )
        )
        graph.apply(ChangeSet("other", documents=(document("x", bank="other"),)))
        documents = list(graph.documents("b"))
        assert [each.id for each in documents] == names
        assert [each.chunk_count for each in documents[6:9]] == [0, 2500, 0]
        assert documents[7] == graph.get_document("b", "0007")
        assert list(graph.chunks("b")) == graph.get_chunks("b", "0007")
        assert [each.bank_id for each in graph.documents("other")] == ["other"]
        assert list(graph.chunks("other")) == []

    def test_the_history_comes_by_memory_oldest_first_also_of_those_gone(
        self, graph: GraphStore
    ) -> None:
        keep(graph, record("m1"), record("m2"))
        changes = [Change(f"m{n % 3}", "update", f"{n:04}", str(n), None, NOW) for n in range(2500)]
        graph.apply(ChangeSet("b", history=tuple(changes), remove_memories=("m2",)))
        assert list(graph.changes("b")) == sorted(changes, key=lambda each: each.memory_id)
        assert list(graph.changes("other")) == []

    def test_edited_entities_are_those_that_outlive_their_mentions(self, graph: GraphStore) -> None:
        keep(graph, record("m1", entities=("Zoë", "Bob", "Ann")))
        assert list(graph.edited_entities("b")) == []
        for name in ("Zoë", "Ann"):
            graph.edit_entity("b", EntityNames(entity_id(name), name, (f"{name} Lee", "A" + name)))
        graph.apply(ChangeSet("b", remove_memories=("m1",)))
        assert list(graph.edited_entities("b")) == [
            EntityNames("e:ann", "Ann", ("Ann Lee", "AAnn")),
            EntityNames("e:zoe", "Zoë", ("Zoë Lee", "AZoë")),
        ]
        assert list(graph.edited_entities("other")) == []

    def test_a_renamed_bank_keeps_its_key_and_all_it_holds(self, graph: GraphStore) -> None:
        keep(graph, record("m1", entities=("Ann",)), documents=(document("d"),))
        before = graph.get_bank("b")
        assert before is not None
        graph.rename_bank("b", 'it\'s "new" 😀')
        assert graph.get_bank("b") is None
        after = graph.get_bank('it\'s "new" 😀')
        assert after == replace(before, bank=replace(before.bank, id='it\'s "new" 😀'))
        memory = graph.get_memories(after.bank.id, ["m1"])["m1"]
        assert (memory.bank_id, memory.entities) == (after.bank.id, ("Ann",))
        assert [each.bank_id for each in graph.documents(after.bank.id)] == [after.bank.id]

    def test_a_bank_is_not_renamed_to_one_that_exists(self, graph: GraphStore) -> None:
        with pytest.raises(BankExistsError):
            graph.rename_bank("b", "other")
        assert [each.bank.id for each in graph.list_banks()] == ["b", "other"]

    def test_of_an_unknown_bank_there_is_nothing_to_move(self, graph: GraphStore) -> None:
        for read in (graph.documents, graph.chunks, graph.edited_entities, graph.changes):
            with pytest.raises(BankNotFoundError):
                read("x")
        with pytest.raises(BankNotFoundError):
            graph.rename_bank("x", "y")


class TestSqlite(MovingContract):
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(tmp_path / "graph.db")
        yield graph
        graph.close()


# The command line


def command(folder: Path, *arguments: str, input: bytes = b"") -> tuple[int, bytes, str]:
    from typer.testing import CliRunner

    from hindsight_integrations.cli import app

    environ = {"HINDSIGHT_PATH": str(folder), "COLUMNS": "100"}
    ran = CliRunner().invoke(app, list(arguments), input=input, env=environ)
    return ran.exit_code, ran.stdout_bytes, ran.stderr


@pytest.mark.slow
def test_the_commands_move_a_bank_by_file_and_by_pipe(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "bank.gz"
    with Hindsight(here) as memory:
        memory.retain("default", "Ruth Castellane runs Project Heron. 🐦")
    code, out, _ = command(here, "export", str(file))
    assert (code, b"1 memory" in b" ".join(out.split())) == (0, True)
    code, out, _ = command(there, "import", str(file), "--bank", "copy", "--json")
    assert (code, json.loads(out)["bank_id"]) == (0, "copy")
    code, piped, err = command(here, "export", "-")
    assert (code, piped, err) == (0, gzip.decompress(file.read_bytes()), "")
    assert command(there, "import", "-", input=piped)[0] == 0
    with Hindsight(there) as memory:
        assert [bank.id for bank in memory.banks.list()] == ["copy", "default"]
        assert everything(memory, "copy") == everything(memory, "default")


def test_the_commands_say_what_is_wrong(tmp_path: Path) -> None:
    here, file = tmp_path / "here", tmp_path / "bank"
    with Hindsight(here) as memory:
        memory.banks.create("default")
    assert command(here, "export", "-", "--json")[0] == 2
    assert command(here, "import", str(tmp_path / "none"))[0] == 2
    assert command(here, "export", str(file))[0] == 0
    code, out, err = command(here, "import", str(file))
    assert (code, out) == (1, b"")
    assert err.startswith("error: bank 'default' exists already")
    code, _, err = command(here, "import", "-", input=b"Dear diary,\n")
    assert (code, "standard input, line 1" in err) == (1, True)
