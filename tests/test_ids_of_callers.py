"""No id that a caller gives tells the engine anything: only columns do.

Each id here looks like one that the engine makes for itself, or made for a purpose once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_integrations import (
    Bank,
    BankExistsError,
    BankNotFoundError,
    ConflictError,
    Hindsight,
    Memory,
    MemoryType,
    Message,
    Settings,
)
from hindsight_integrations.models import LinkKind, utc_now
from hindsight_integrations.normalization import ID_DIGITS
from hindsight_integrations.reflect.answer import read_citations
from hindsight_integrations.reflect.context import labels
from hindsight_integrations.sessions import ReflectionMemory, Session
from hindsight_integrations.stores.base import CHANGE, MemoryFilter
from hindsight_integrations.stores.importing import UNFINISHED

from .engines import GRAPHS, on_graph
from .observations.statements import START
from .scripted import Script
from .sessions.learning import TRAINS, as_json
from .stores.neo4j_server import empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

DIGITS = "0123456789abcdef" * 2
PREFIXES = ("c-", "m-", "mm-", "e-", "o-", "op-", "doc-", "x-", "insight-", "import-", "item-")
IDS = (
    *PREFIXES,
    *(f"{prefix}{DIGITS[:ID_DIGITS]}" for prefix in PREFIXES),
    "b/0/0123abcd",
    "b#messages",
    "b#messages/1",
    "b#remarks",
    "b (unfinished import)",
    "document:b",
    "chunk:b/0/0123abcd",
    "m0",
    "e1:e-0",
    "17",
    "17.1",
    "5f3a|0",
    "conclusion",
    "@ann",
)
SUBJECTS = ("the ferry", "the kiosk", "the seat map", "the window", "the checkout")

EAGER = Settings(consolidation_delay=0.0)


@pytest.fixture(params=GRAPHS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hindsight]:
    """An engine that reflects in the background at once, on each of the graph stores."""
    with on_graph(request, tmp_path, EAGER) as memory:
        yield memory


def everything(memory: Hindsight, bank: str) -> dict[str, tuple[str, bool]]:
    """Text of all that a bank holds, by id, and whether the engine drew it."""
    found = memory.memories.list(bank, include_invalid=True, limit=1000).items
    return {each.id: (each.text, each.derived) for each in found}


def given(memory: Hindsight, bank: str) -> dict[str, str]:
    """Return the texts that a bank was given, by id, without the engine's conclusions."""
    return {id: text for id, (text, derived) in everything(memory, bank).items() if not derived}


@pytest.mark.slow
@pytest.mark.parametrize("type", list(MemoryType))
def test_a_memory_of_any_id_stays_as_it_was_given(engine: Hindsight, type: MemoryType) -> None:
    kept = {}
    for number, id in enumerate(IDS):
        subject = SUBJECTS[number % len(SUBJECTS)]
        kept[id] = f"Inês painted {subject} blue on round {number}."
        said = START + timedelta(days=number)
        memory = Memory(id, "b", kept[id], type, mentioned_at=said, tags=("kept",))
        assert engine.retain_memory("b", memory).stored[0].text == kept[id]
    assert engine.wait_idle(120)
    assert given(engine, "b") == kept
    engine.consolidate("b")
    assert given(engine, "b") == kept
    for id in IDS:
        assert engine.memories.history("b", id) == []
    assert engine.maintenance.doctor().findings == ()
    assert engine.maintenance.reindex("b") == len(everything(engine, "b"))
    assert given(engine, "b") == kept


def test_what_the_engine_draws_is_marked_and_what_looks_like_it_is_not(engine: Hindsight) -> None:
    engine.retain_messages(
        "b",
        [
            Message("Inês", f"The seat map needs {what}.", START + timedelta(days=20 * day))
            for day, what in enumerate(("boats", "a legend", "more light"))
        ],
        session="s",
    )
    assert engine.wait_idle(60)
    (observation,) = engine.observations.list("b").items
    stored = engine.memories.get("b", observation.id)
    assert stored.derived
    own = engine.observations.add(
        "b", "The seat map is late.", sources=[stored.sources[0].memory_id or ""]
    )
    assert not engine.memories.get("b", own.id).derived
    copied = Memory(
        **{name: getattr(stored, name) for name in Memory.__dataclass_fields__}
        | {"id": "c-1", "text": "The seat map is a work of years."}
    )
    engine.retain_memory("b", copied)  # a caller's words are the caller's, wherever they come from
    assert not engine.memories.get("b", "c-1").derived
    engine.retain_messages(
        "b", [Message("Inês", "The seat map is done.", START + timedelta(days=99))], session="t"
    )
    assert engine.wait_idle(60)
    assert engine.memories.get("b", "c-1").text == copied.text
    assert engine.memories.get("b", own.id).text == "The seat map is late."


def test_new_memories_are_linked_to_what_was_given_whatever_its_id(engine: Hindsight) -> None:
    text = "Maya repaired the red bicycle in the harbour shed."
    engine.retain_memory("b", Memory("c-1", "b", text, mentioned_at=START))
    said = START + timedelta(hours=1)
    stored = engine.retain("b", "Maya repaired the green bicycle in that shed.", timestamp=said)
    found = engine.runtime.graph.links("b", stored.ids, 99, MemoryFilter(now=utc_now()))
    kinds = {link.kind for link in found if "c-1" in (link.source_id, link.target_id)}
    assert kinds == {LinkKind.SEMANTIC, LinkKind.TEMPORAL}


def test_forgetting_leaves_no_history_whatever_the_id(engine: Hindsight) -> None:
    """A given memory takes along the history of what was drawn from it, even if it is "c-1"."""
    for day, what in enumerate(("a quokka", "a legend", "more light")):
        memory = Memory(
            f"c-{day}", "b", f"The seat map needs {what}.", speaker="Inês",
            mentioned_at=START + timedelta(days=20 * day),
        )  # fmt: skip
        engine.retain_memory("b", memory)
    assert engine.wait_idle(60)
    assert len(engine.observations.list("b").items) == 1
    engine.memories.update("b", "c-1", text="The seat map needs no legend.")
    assert engine.wait_idle(60)
    engine.forget("b", "c-0")
    changes = engine.runtime.graph.scan("b", CHANGE)
    assert not any("quokka" in f"{each.old} {each.new}" for each in changes)


@pytest.mark.slow
def test_banks_of_any_id_are_banks(engine: Hindsight) -> None:
    for id in IDS:
        engine.banks.create(id)
        engine.retain(id, f"The ferry of {id} is blue.")
    assert engine.wait_idle(120)
    assert [bank.id for bank in engine.banks.list()] == sorted(IDS)
    for id in IDS:
        assert [each.memory.text for each in engine.recall(id, "What is blue?")] == [
            f"The ferry of {id} is blue."
        ]
    assert engine.maintenance.doctor().findings == ()


def test_a_bank_named_like_an_unfinished_import_is_reflected_on_and_outlives_imports(
    folder: Path, tmp_path: Path
) -> None:
    bank, file = "alice (unfinished import)", tmp_path / "alice.jsonl"
    with Hindsight(folder, settings=Settings(consolidate=False)) as memory:
        memory.retain("alice", "Alice lives in Porto.")
        memory.banks.export("alice", file)
        memory.banks.delete("alice")
        for day, what in enumerate(("boats", "a legend", "more light")):
            said = START + timedelta(days=20 * day)
            memory.retain_messages(
                bank, [Message("Inês", f"The seat map needs {what}.", said)], session=str(day)
            )
    with Hindsight(folder) as memory:
        assert memory.wait_idle(60)
        assert len(memory.observations.list(bank).items) == 1
        memory.banks.import_(file)
        assert memory.wait_idle(60)
        assert [each.id for each in memory.banks.list()] == ["alice", bank]
        assert len(memory.memories.list(bank).items) == 4
        assert memory.maintenance.doctor().findings == ()


def test_nobody_sees_a_bank_until_its_import_is_whole(engine: Hindsight, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"
    engine.retain("alice", "Alice lives in Porto.")
    assert engine.wait_idle(60)
    engine.banks.export("alice", file)
    looks = 0

    def look(done: int, total: int | None) -> None:
        nonlocal looks
        if total is None:
            return
        looks += 1
        assert [bank.id for bank in engine.banks.list()] == ["alice"]
        (importing,) = engine.runtime.graph.list_banks(importing=True)
        for id in ("copy", importing.bank.id):
            with pytest.raises(BankNotFoundError):
                engine.banks.get(id)
            with pytest.raises(BankNotFoundError):
                engine.recall(id, "Where does Alice live?")
        engine.maintenance.doctor()  # leaves the vectors of what is being imported alone

    engine.banks.import_(file, "copy", progress=look)
    assert looks
    assert [bank.id for bank in engine.banks.list()] == ["alice", "copy"]
    assert engine.recall("copy", "Where does Alice live?", arms=["meaning"])
    assert engine.maintenance.doctor().findings == ()


def test_an_import_left_unfinished_is_reported_and_goes_with_the_id_it_was_for(
    engine: Hindsight, tmp_path: Path
) -> None:
    file = tmp_path / "alice.jsonl"
    engine.retain("alice", "Alice lives in Porto.")
    assert engine.wait_idle(60)
    engine.banks.export("alice", file)
    graph, embedder_identity = engine.runtime.graph, engine.runtime.embedder_identity
    for number, target in enumerate(("bob", "carol")):
        graph.create_bank(Bank(f"{UNFINISHED}{number}"), embedder_identity, importing=target)
    found = engine.maintenance.doctor().findings
    assert [(each.problem, each.repaired) for each in found] == [
        ("the import of 'bob' was not finished", False),
        ("the import of 'carol' was not finished", False),
    ]
    engine.banks.import_(file, "bob")
    engine.banks.delete("carol")
    with pytest.raises(BankNotFoundError):
        engine.banks.delete("carol")
    assert graph.list_banks(importing=True) == []
    assert engine.maintenance.doctor().findings == ()
    with pytest.raises(BankExistsError):
        engine.banks.create("bob")


def test_documents_and_sessions_of_any_id_keep_apart(engine: Hindsight) -> None:
    for id in IDS:
        if id not in ("b#messages", "b#remarks"):
            engine.retain("b", f"The ferry of {id} is blue.", document_id=id)
    with (
        Session(engine, "b", "b") as one,
        Session(engine, "b", "b#messages/x") as other,
    ):
        one.add_message("user", "One.", id="x#messages/y")
        other.add_message("user", "Two.", id="y")
        one.add_message("user", "Three.", id="1")
        other.add_message("user", "Four.", id="0/0123abcd")
        one.retain()
        other.retain()
        assert [each.text for each in one.messages] == ["One.", "Three."]
        assert [each.text for each in other.messages] == ["Two.", "Four."]
    assert engine.wait_idle(120)
    for id in IDS:
        if id not in ("b#messages", "b#remarks"):
            found = engine.memories.list("b", document_id=id, limit=100).items
            assert f"The ferry of {id} is blue." in [each.text for each in found]


def test_what_is_retained_never_takes_the_place_of_what_a_conversation_keeps(
    engine: Hindsight,
) -> None:
    with Session(engine, "b", "s") as session:
        session.add_message("user", "One.")
        learning = ReflectionMemory(
            Script(as_json((TRAINS, 0.9))), memory=engine, bank_id="b", session_id="s", every=0
        )
        learning.add_message("user", "Two.")
        for id in ("s#messages", "s#remarks"):
            with pytest.raises(ConflictError, match=id):
                engine.retain("b", "A handbook.", document_id=id)
            with pytest.raises(ConflictError, match=id):
                engine.retain_messages("b", [Message("user", "Three.")], session=id)
        assert [each.text for each in session.messages] == ["One."]
        assert [each.text for each in learning.recent] == ["Two."]
    with Session(engine, "b", "s") as session:
        assert [each.text for each in session.messages] == ["One."]


def test_a_memory_and_a_mental_model_of_one_id_have_their_own_histories(
    engine: Hindsight, tmp_path: Path
) -> None:
    engine.banks.create("b")
    model = engine.mental_models.create("b", "Heron", text="Ruth runs it.")
    engine.retain_memory("b", Memory(model.id, "b", "Ruth runs Project Heron."))
    engine.mental_models.update("b", model.id, text="Ruth ran it.")
    engine.memories.update("b", model.id, text="Ruth ran Project Heron.")
    assert engine.wait_idle(60)

    def told(bank: str) -> tuple[list[str | None], list[str | None]]:
        memories = [c.new for c in engine.memories.history(bank, model.id) if c.field == "text"]
        models = [c.new for c in engine.mental_models.history(bank, model.id) if c.field == "text"]
        return memories, models

    assert told("b") == (["Ruth ran Project Heron."], ["Ruth ran it."])
    engine.banks.export("b", tmp_path / "b.jsonl")
    engine.banks.import_(tmp_path / "b.jsonl", "copy")
    assert told("copy") == told("b")
    engine.mental_models.delete("b", model.id)
    assert engine.memories.get("b", model.id).text == "Ruth ran Project Heron."
    engine.forget("b", model.id)
    assert told("b") == ([], ["Ruth ran it.", None])


@pytest.mark.slow
def test_a_moved_bank_keeps_what_is_given_and_what_is_drawn_apart(
    engine: Hindsight, tmp_path: Path
) -> None:
    for number, id in enumerate(IDS):
        said = START + timedelta(days=20 * number)
        memory = Memory(
            id, "b", f"The seat map needs round {number}.", mentioned_at=said, speaker="Inês"
        )
        engine.retain_memory("b", memory)
    with Session(engine, "b", "s") as session:
        session.add_message("user", "One.", id="c-1")
    assert engine.wait_idle(120)
    engine.banks.export("b", tmp_path / "b.jsonl")
    engine.banks.import_(tmp_path / "b.jsonl", "copy")
    assert engine.wait_idle(120)
    copied = everything(engine, "copy")
    assert copied == everything(engine, "b")
    assert any(derived for _, derived in copied.values())
    with Session(engine, "copy", "s") as session:
        assert [each.id for each in session.messages] == ["c-1"]
    with pytest.raises(ConflictError):
        engine.retain("copy", "A handbook.", document_id="s#messages")


def test_entities_of_any_name_are_found_by_it(engine: Hindsight) -> None:
    names = ["c-1", "e-1", "e-0123456789abcdef0123", "m-1 (unfinished import)", "b#messages"]
    for name in names:
        engine.retain_memory(
            "b", Memory(f"about {name}", "b", f"{name} is here.", entities=(name,))
        )
    assert engine.wait_idle(60)
    for name in names:
        entity = engine.entities.get("b", name)
        found = engine.memories.list("b", entity=name).items
        assert (entity.name, [each.id for each in found]) == (name, [f"about {name}"])


def test_labels_tell_ids_apart_that_look_like_labels() -> None:
    hashed = "x-" + hashlib.blake2b(b"foo", digest_size=ID_DIGITS // 2).hexdigest()
    ids = ["foo", hashed, labels(["foo"])["foo"], "m-012345 and more"]
    ids += [f"{prefix}{DIGITS[:ID_DIGITS]}" for prefix in ("x-", "m-", "mm-")]
    by_label = {label: id for id, label in labels(ids).items()}
    assert len(by_label) == len(ids)
    for label, id in by_label.items():
        assert read_citations(f"So it is [{label}].", (), by_label).sources == (id,)
