"""Retaining through the engine: documents, conversations, repetitions, batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations import (
    EmbeddingError,
    Entity,
    ExtractionError,
    Hindsight,
    HindsightError,
    InvalidInputError,
    Item,
    Memory,
    MemoryType,
    Message,
    Precision,
    StoreLockedError,
)
from hindsight_integrations.results import SkipReason
from hindsight_integrations.retain.enrichment import index_contexts
from hindsight_integrations.retain.extraction import Fact, Passage
from hindsight_integrations.retain.request import digest
from hindsight_integrations.stores.base import MEMORY_ID, RECORD, VECTOR, ChangeSet, MemoryRecord

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

REPORT = """The harbour office opened in 2019.

Maya Okoye runs it since March 2021.

Its booking server is called bison-02."""


def texts(memory: Hindsight, bank: str = "b") -> list[str]:
    return [m.text for m in memory.memories.list(bank, limit=1000).items]


# Text


def test_what_was_given_comes_back_field_by_field_after_a_restart(folder: Path) -> None:
    with Hindsight(folder) as memory:
        stored = memory.retain(
            "b",
            "Maya Okoye moved to Lagos yesterday.",
            timestamp=MAY_8,
            context="a letter",
            document_id="letter-1",
            metadata={"page": 3, "draft": False, "by": "post", "weight": 1.5},
            tags=["travel", "family"],
            entities=["Ferrybell"],
            type="experience",
            confidence=0.8,
            scope="private",
            speaker="Jonas",
        ).stored[0]
    with Hindsight(folder) as memory:
        found = memory.memories.get("b", stored.id)
    assert found == stored
    assert found.text == "Maya Okoye moved to Lagos yesterday."
    assert found.type is MemoryType.EXPERIENCE
    assert found.metadata == {"page": 3, "draft": False, "by": "post", "weight": 1.5}
    assert found.metadata["draft"] is False
    assert found.tags == ("travel", "family")
    assert found.mentioned_at == MAY_8
    assert {"Maya Okoye", "Lagos", "Ferrybell"} <= set(found.entities)
    assert found.document_id == "letter-1"
    span = found.occurred[0]
    assert (span.start, span.precision) == (datetime(2023, 5, 7, tzinfo=UTC), Precision.DAY)


def test_a_year_stays_a_year(memory: Hindsight) -> None:
    span = memory.retain("b", "The bridge was built in 1979.").stored[0].occurred[0]
    assert span.precision is Precision.YEAR
    assert span.duration == timedelta(days=365)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("We watched Freaky Friday.", []),
        ("We saw Tomorrow Never Dies.", []),
        ("The band Friday Night Lights played.", []),
        ("The Monday Club met on Tuesday.", ["2025-05-13"]),
        ("The office is on May Street.", []),
        ("Saw Ben Orr Monday.", ["2025-05-12"]),
        ("On Friday Legal called.", ["2025-05-09"]),
        ("Last Friday Ben Orr came.", ["2025-05-09"]),
        ("Tomorrow Ana flies to Porto.", ["2025-05-15"]),
        ("Tomorrow I fly to Porto.", ["2025-05-15"]),
    ],
)
def test_a_day_in_the_name_of_something_is_no_day(
    memory: Hindsight, text: str, days: list[str]
) -> None:
    said = datetime(2025, 5, 14, 15, 30, tzinfo=UTC)
    (stored,) = memory.retain("b", text, timestamp=said).stored
    assert [span.start.date().isoformat() for span in stored.occurred] == days


def test_an_unchanged_document_makes_no_work(memory: Hindsight) -> None:
    memory.retain("b", REPORT, document_id="report", timestamp=MAY_8)
    before = memory.memories.list("b").items
    again = memory.retain("b", REPORT, document_id="report", timestamp=MAY_8)
    assert again.stored == ()
    assert [skip.reason for skip in again.skipped] == [SkipReason.UNCHANGED]
    assert memory.memories.list("b").items == before


def test_only_the_changed_paragraph_is_replaced(memory: Hindsight) -> None:
    long = [f"Paragraph {n} tells of ship number {n} at length. " * 20 for n in range(5)]
    memory.retain("b", "\n\n".join(long), document_id="d", timestamp=MAY_8)
    before = {m.text: m.id for m in memory.memories.list("b").items}
    changed = [*long[:2], "The third ship was sold to Ferrybell. " * 20, *long[3:]]
    result = memory.retain("b", "\n\n".join(changed), document_id="d", timestamp=MAY_8)
    after = {m.text: m.id for m in memory.memories.list("b").items}
    kept = before.keys() & after.keys()
    assert all(before[text] == after[text] for text in kept)
    assert all("ship number 2" in text for text in before.keys() - after.keys())
    assert all("third ship" in text for text in after.keys() - before.keys())
    assert set(result.removed) == {before[text] for text in before.keys() - after.keys()}


def test_append_adds_and_replace_removes(memory: Hindsight) -> None:
    memory.retain("b", "The cat is called Miso.", document_id="notes", timestamp=MAY_8)
    memory.retain(
        "b", "The dog is called Rex.", document_id="notes", timestamp=MAY_8, update_mode="append"
    )
    assert texts(memory) == ["The cat is called Miso.", "The dog is called Rex."]
    memory.retain("b", "There are no pets.", document_id="notes", timestamp=MAY_8)
    assert texts(memory) == ["There are no pets."]


def test_recalled_text_is_never_remembered(memory: Hindsight) -> None:
    memory.retain("b", "<hindsight-memory>old news</hindsight-memory> I moved to Oslo.")
    assert texts(memory) == ["I moved to Oslo."]


# Repetitions


def test_a_repetition_raises_the_proof_instead_of_piling_up(memory: Hindsight) -> None:
    first = memory.retain("b", "Jonas is a vegetarian.", document_id="one").stored[0]
    again = memory.retain("b", "jonas is a vegetarian", document_id="two")
    assert again.stored == ()
    assert [(s.reason, s.memory_id) for s in again.skipped] == [(SkipReason.REPEATED, first.id)]
    assert memory.memories.get("b", first.id).proof_count == 2


def test_a_memory_outlives_one_of_its_documents_and_goes_with_the_last(memory: Hindsight) -> None:
    kept = memory.retain("b", "Jonas is a vegetarian.", document_id="one").stored[0]
    memory.retain("b", "Jonas is a vegetarian!", document_id="two")
    assert memory.forget("b", document_id="one") == ()
    assert memory.memories.get("b", kept.id).proof_count == 1
    assert memory.forget("b", document_id="two") == (kept.id,)
    assert texts(memory) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The review is in Room 101.", "The review is in Room 102."),
        ("Ines likes the new office.", "Ines doesn't like the new office."),
        ("Alice moved from Paris to Berlin.", "Alice moved from Berlin to Paris."),
    ],
)
def test_statements_that_differ_in_substance_are_both_kept(
    memory: Hindsight, one: str, other: str
) -> None:
    memory.retain("b", one)
    memory.retain("b", other)
    assert sorted(texts(memory)) == sorted([one, other])


def test_today_said_on_two_days_is_two_events(memory: Hindsight) -> None:
    for day in range(2):
        memory.retain("b", "I went running today.", timestamp=MAY_8 + timedelta(days=day))
    assert len(texts(memory)) == 2


# Conversations


def chat() -> list[Message]:
    said = [
        ("Maya", "Which colour did we choose for the scanner cases?"),
        ("Jonas", "The dark green one."),
        ("Maya", "Great, I will order forty at Kelpie Quay tomorrow."),
    ]
    return [
        Message(who, what, MAY_8 + timedelta(minutes=n), id=f"m{n}")
        for n, (who, what) in enumerate(said)
    ]


def test_each_turn_keeps_its_speaker_time_and_id(memory: Hindsight) -> None:
    stored = memory.retain_messages("b", chat(), session="s1").stored
    assert [m.speaker for m in stored] == ["Maya", "Jonas", "Maya"]
    assert [m.text for m in stored] == [m.text for m in chat()]
    assert [m.sources[0].reference for m in stored] == ["m0", "m1", "m2"]
    assert [m.document_id for m in stored] == ["s1"] * 3
    assert stored[2].occurred[0].start == datetime(2023, 5, 9, tzinfo=UTC)
    assert "Maya" in stored[0].entities


def test_a_short_reply_is_found_by_the_question_it_answers(memory: Hindsight) -> None:
    memory.retain_messages("b", chat(), session="s1")
    memory.retain("b", "The lighthouse needs a new lamp.")
    best = memory.recall("b", "scanner cases colour", arms=["semantic"])
    assert "The dark green one." in [m.memory.text for m in best][:2]


def test_messages_of_a_session_are_stored_once(memory: Hindsight) -> None:
    memory.retain_messages("b", chat()[:2], session="s1")
    again = memory.retain_messages("b", chat(), session="s1")
    assert [m.text for m in again.stored] == [chat()[2].text]
    assert len(texts(memory)) == 3


SAID = [
    ("Ada", "I am back from Lisbon at last."),
    ("Bo", "Welcome home! How long did you stay there?"),
    ("Ada", "Three weeks."),
    ("Bo", "I have never been. It must be lovely.\n\nDid you take the night train to Porto too?"),
    ("Ada", "Yes, in May."),
    ("Ada", "And you? Are you still at the harbour office?"),
    ("Bo", "No, since March."),
    ("Ada", "Where do you work now?"),
    ("Bo", "At Ferrybell, on the booking server.\n\nWith Maya."),
    ("Ada", "Did Maya like Porto as well?"),
    ("Bo", "Yes, in May."),
    ("Ada", "Did you tell Maya that she should see Lisbon?"),
    ("Bo", "Yes, in May."),
]


def talk() -> list[Message]:
    return [Message(who, what, MAY_8 + timedelta(hours=n)) for n, (who, what) in enumerate(SAID)]


def records(memory: Hindsight, bank: str) -> list[MemoryRecord]:
    graph = memory.runtime.graph
    return list(graph.read(bank, RECORD, list(graph.scan(bank, MEMORY_ID))).values())


@pytest.mark.local
@pytest.mark.parametrize("size", [1, 3])
def test_a_conversation_retained_bit_by_bit_is_what_it_is_in_one_go(
    memory: Hindsight, size: int
) -> None:
    memory.retain_messages("whole", talk(), session="s")
    for start in range(0, len(SAID), size):
        memory.retain_messages("bits", talk()[start : start + size], session="s")
    whole, bits = records(memory, "whole"), records(memory, "bits")
    for one, other in zip(whole, bits, strict=True):
        assert other.memory.text == one.memory.text
        assert other.memory.entities == one.memory.entities
        assert other.memory.proof_count == one.memory.proof_count
        assert other.lexemes == one.lexemes
        np.testing.assert_allclose(other.vector, one.vector, atol=1e-6)
    stood = index_contexts(memory.runtime.graph, "bits", bits)
    assert stood == index_contexts(memory.runtime.graph, "whole", whole)
    answers = zip((record.memory.text for record in bits), stood, strict=True)
    assert [(text, where.preceding) for text, where in answers if where.preceding] == [
        ("Three weeks.", "Welcome home! How long did you stay there?"),
        ("Yes, in May.", "Did you take the night train to Porto too?"),
        ("No, since March.", "And you? Are you still at the harbour office?"),
        ("At Ferrybell, on the booking server.", "Where do you work now?"),
        ("With Maya.", "Where do you work now?"),
        ("Yes, in May.", "Did Maya like Porto as well?"),
        ("Yes, in May.", "Did you tell Maya that she should see Lisbon?"),
    ]


class Noting:
    """An extractor that makes every text a fact, and notes what it was given."""

    id = "noting/1"

    def __init__(self) -> None:
        self.given: list[Passage] = []

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        self.given += passages
        return [[Fact(passage.text)] for passage in passages]


def test_a_message_that_goes_on_with_a_session_is_read_after_the_last_one_stored() -> None:
    extractor = Noting()
    with Hindsight.in_memory(extractor=extractor) as memory:
        for message in chat():
            memory.retain_messages("b", [message], session="s1")
        memory.retain("b", "Harbour news.", document_id="s1", update_mode="append")
    read = [(p.preceding_speaker, p.preceding, p.addressees) for p in extractor.given]
    first, second, _ = chat()
    assert read == [
        (None, None, ()),
        ("Maya", first.text, ("Maya",)),
        ("Jonas", second.text, ("Jonas",)),
        (None, None, ()),
    ]


def test_a_message_retained_again_is_not_read_again() -> None:
    extractor = Noting()
    with Hindsight.in_memory(extractor=extractor) as memory:
        for message in [*chat(), *chat()]:
            result = memory.retain_messages("b", [message], session="s1")
        assert [skip.reason for skip in result.skipped] == [SkipReason.UNCHANGED]
    assert [passage.text for passage in extractor.given] == [message.text for message in chat()]


def test_messages_may_be_plain_mappings(memory: Hindsight) -> None:
    result = memory.retain_messages(
        "b",
        [
            {"role": "user", "content": "My name is Tomek.", "timestamp": "2024-01-05T10:00:00"},
            {"speaker": "assistant", "text": "Nice to meet you, Tomek!"},
            {"role": "user", "content": "   "},
        ],
    )
    assert [m.speaker for m in result.stored] == ["user", "assistant"]
    assert result.stored[0].mentioned_at == datetime(2024, 1, 5, 10, tzinfo=UTC)
    assert result.stored[1].type is MemoryType.EXPERIENCE


def test_messages_may_be_those_of_a_chat_api(memory: Hindsight) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    result = memory.retain_messages(
        "b",
        [
            {"role": "system", "content": "You are a helpful assistant called Nestor."},
            {"role": "user", "name": "Tomek", "content": "My boat is moored in Gdynia."},
            {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
            {"role": "tool", "tool_call_id": "c1", "content": "Gdynia has 9 degrees."},
            {"role": "user", "content": [{"type": "text", "text": "I sail in May."}, picture]},
            {"role": "model", "content": "I noted that you sail in May.", "status": "completed"},
        ],
    )
    assert [(m.speaker, m.text) for m in result.stored] == [
        ("Tomek", "My boat is moored in Gdynia."),
        ("user", "I sail in May."),
        ("assistant", "I noted that you sail in May."),
    ]
    with pytest.raises(InvalidInputError, match="'role' and 'content'"):
        memory.retain_messages("b", [{"role": "user", "content": "Hello.", "txt": "?"}])


# Links


def test_links_of_all_kinds_are_made(memory: Hindsight) -> None:
    memory.retain("b", "The ferry booking site crashed on Friday night.", timestamp=MAY_8)
    memory.retain("b", "On Friday night the ferry booking site went down.", timestamp=MAY_8)
    long = "The launch slipped by two weeks. " * 9 + "\n" + "Because of that, Ines was angry. " * 9
    memory.retain("b", long, timestamp=MAY_8)
    links = memory.banks.stats("b").links
    assert links["semantic"] >= 1
    assert links["temporal"] >= 1


# Prepared memories


@pytest.mark.local
def test_a_prepared_memory_is_stored_as_given(memory: Hindsight) -> None:
    given = Memory(
        "my-id", "b", "Kasia works at the port.", entities=("Kasia",), tags=("work",),
        mentioned_at=MAY_8,
    )  # fmt: skip
    vector = [0.0] * 383 + [2.0]
    memory.retain_memory("b", given, vector=vector)
    found = memory.memories.get("b", "my-id")
    assert (found.text, found.entities, found.tags) == (given.text, ("Kasia",), ("work",))
    kept = memory.runtime.graph.read("b", VECTOR, ["my-id"])["my-id"]
    assert kept[-1] == pytest.approx(1.0)
    assert memory.retain_memory("b", given).skipped[0].reason is SkipReason.UNCHANGED


def test_a_prepared_memory_of_an_id_the_bank_has_replaces_it(memory: Hindsight) -> None:
    """Callers with ids of their own need not know which of them are new."""
    first = memory.retain_memory("b", Memory("m", "b", "One.", tags=("t",))).stored[0]
    again = memory.retain_memory("b", Memory("m", "b", "Two.", metadata={"n": 2}))
    assert again.replaced == ("m",)
    found = memory.memories.get("b", "m")
    assert (found.text, found.tags, found.metadata) == ("Two.", (), {"n": 2})
    assert found.created_at == first.created_at
    changed = {c.field: (c.action, c.old, c.new) for c in memory.memories.history("b", "m")}
    assert changed["text"] == ("replace", "One.", "Two.")
    assert [hit.text for hit in memory.recall("b", "Two")] == ["Two."]


@pytest.mark.parametrize("vector", [[1.0, 2.0], [float("nan")] * 384, [0.0] * 384])
def test_a_useless_vector_is_refused(memory: Hindsight, vector: list[float]) -> None:
    with pytest.raises(EmbeddingError):
        memory.retain_memory("b", Memory("m", "b", "Text."), vector=vector)
    assert texts(memory) == []


# Batches


def test_a_batch_reports_what_failed_and_stores_the_rest(memory: Hindsight) -> None:
    seen: list[tuple[int, int | None]] = []
    result = memory.retain_many(
        "b",
        [
            "The first is fine.",
            "",
            {"content": "The third is fine too.", "tags": ["x"]},
            {"content": "bad", "confidence": 1.2},
            {"text": "wrong field"},
            Item("The last is fine as well.", document_id="d"),
        ],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert len(result.stored) == 3
    assert [failure.index for failure in result.failed] == [1, 3, 4]
    assert "blank" in str(result.failed[0].error)
    assert seen[-1] == (6, 6)


def test_a_batch_that_nobody_looks_at_says_that_items_are_missing_but_not_their_text(
    memory: Hindsight, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", "hindsight_integrations.retain"):
        memory.retain_many("b", ["The first is fine."])
        assert not caplog.records
        result = memory.retain_many("b", ["Fine.", {"text": "A secret."}, {"text": "Another."}])
    assert all(part in caplog.text for part in ("2 items", "'b'", "item 1"))
    assert "secret" not in caplog.text
    assert "unknown fields ['text']" in repr(result)
    assert "error" not in repr(memory.retain_many("b", ["The next is fine."]))


@pytest.mark.local
@pytest.mark.parametrize(
    ("error", "attempts"), [(StoreLockedError("held by another"), 1), (ExtractionError("one"), 7)]
)
def test_a_batch_is_halved_for_an_item_at_fault_and_not_while_the_store_is_away(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch, error: HindsightError, attempts: int
) -> None:
    tried: list[ChangeSet] = []

    def refuse(changes: ChangeSet) -> tuple[str, ...]:
        tried.append(changes)
        raise error

    memory.retain("b", "Alice sings.")
    monkeypatch.setattr(memory.runtime.graph, "apply", refuse)
    result = memory.retain_many("b", [f"Boat {n} is red." for n in range(4)])
    assert [each.index for each in result.failed] == [0, 1, 2, 3]
    assert {type(each.error) for each in result.failed} == {type(error)}
    assert len(tried) == attempts


def test_the_later_version_of_a_document_in_one_batch_wins(memory: Hindsight) -> None:
    memory.retain_many(
        "b",
        [Item("Version one.", document_id="d"), Item("Version two.", document_id="d")],
    )
    assert texts(memory) == ["Version two."]


@pytest.mark.parametrize(
    ("items", "seen"),
    [(["A.", "B.", " "], (3, 3)), ([" ", " "], (2, 2)), (["A.", " ", "B."], (3, 3))],
)
def test_progress_reaches_the_end_whatever_the_last_items_are(
    memory: Hindsight, items: list[str], seen: tuple[int, int]
) -> None:
    told: list[tuple[int, int | None]] = []
    memory.retain_many("b", items, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == seen


def test_a_role_with_a_speaker_is_that_speaker(memory: Hindsight) -> None:
    message = {"role": "user", "speaker": "Ann", "content": "I moved to Porto."}
    (stored,) = memory.retain_messages("b", [message]).stored
    assert stored.speaker == "Ann"


def test_control_characters_do_not_make_two_texts_one() -> None:
    assert digest("a\x1fb", "c") != digest("a", "b\x1fc")
    assert digest("a\x1e1b") != digest("a\x1fb")
