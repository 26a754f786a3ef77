"""Conversations that Hindsight's clients send as one text are retained as turns.

The bodies are those that the OpenClaw plugin 0.11.0 and the hooks for Claude Code send.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hindsight_integrations import Hindsight
from hindsight_integrations.service.http_api import hindsight_api
from hindsight_integrations.transcripts import conversation_in

ASKED, REPLIED = "2026-02-03T09:00:00.000Z", "2026-02-03T09:01:00.000Z"
SAID = [
    ("user", "My sister Ada moved to Bergen in May.", ASKED),
    ("assistant", "Bergen is rainy; take boots.", REPLIED),
    ("user", "Her boots are red.", "2026-02-03T09:02:00.000Z"),
    ("user", "Ada now works at the aquarium.", "2026-02-03T09:03:00.000Z"),
]
SESSION = "openclaw:agent:main:telegram:direct:42"


@pytest.fixture
def client(memory: Hindsight) -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(hindsight_api(memory))
    with TestClient(app) as connected:
        yield connected


def blocks(said: list[tuple[str, str, str]]) -> str:
    """Return messages with a call of a tool among them, as the plugin writes them by default."""
    messages: list[dict[str, object]] = []
    for role, text, time in said:
        content: list[dict[str, object]] = [{"type": "text", "text": text}]
        messages.append({"role": role, "content": content, "timestamp": time})
        if role == "assistant":
            content.append({"type": "tool_use", "name": "weather", "input": {"city": "Bergen"}})
            result = {"type": "tool_result", "content": "rain, 4 degrees", "tool_use_id": "t1"}
            messages.append({"role": "user", "content": [result]})
    return json.dumps(messages, separators=(",", ":"))


def sent(content: str, number: int, **fields: object) -> dict[str, object]:
    """Return a request; its metadata tells of the request, and differs each time."""
    item = {
        "content": content,
        "context": "This content is an AI-assistant conversation transcript from OpenClaw.",
        "metadata": {
            "retained_at": f"2026-02-03T09:0{number + 4}:10.000Z",
            "message_count": str(number),
            "turn_index": str(number),
            "source": "openclaw",
            "session_key": "agent:main:telegram:direct:42",
        },
        "document_id": SESSION,
    }
    return {"items": [item | fields], "async": True, "operation_id": f"operation-{number}"}


def test_turns_are_stored_with_roles_and_times_and_none_twice(
    memory: Hindsight, client: TestClient
) -> None:
    def retain(said: list[tuple[str, str, str]], number: int, mode: str | None) -> list[str]:
        body = sent(blocks(said), number, update_mode=mode)
        assert client.post("/v1/default/banks/b/memories", json=body).status_code == 200
        return sorted(each.id for each in memory.memories.list("b").items)

    first = retain(SAID[:2], 1, "append")
    stored = {each.text: each for each in memory.memories.list("b").items}
    assert [each.text for each in memory.documents.chunks("b", SESSION)] == [
        text for _, text, _ in SAID[:2]
    ]
    for role, text, time in SAID[:2]:
        assert stored[text].speaker == role
        assert stored[text].mentioned_at == datetime.fromisoformat(time)
    assert stored[SAID[1][1]].type == "experience"  # said by the agent
    assert stored[SAID[0][1]].metadata["message_count"] == "1"
    # A window with a turn that was sent, and then the whole session, as other hooks send it.
    second = retain(SAID[1:3], 2, "append")
    assert len(second) == 3
    assert set(first) < set(second)
    third = retain(SAID, 3, None)
    assert len(third) == 4
    assert set(second) < set(third)
    assert retain(SAID, 4, None) == third
    # A turn that the session no longer has goes.
    assert len(retain(SAID[:3], 5, "replace")) == 3


def test_long_turns_of_a_conversation_without_an_id_are_recognised(memory: Hindsight) -> None:
    said = [LONG.replace("island", place) for place in ("bay", "town", "isle", "cape")]
    turns = [{"role": "user", "content": text} for text in said]
    for part in (turns[:3], turns[1:]):
        memory.retain_messages("b", part)
    (document,) = memory.documents.list("b").items
    stored = " ".join(each.text for each in memory.documents.chunks("b", document.id))
    assert stored.split() == " ".join(said).split()


def test_a_conversation_without_an_id_goes_on(memory: Hindsight, client: TestClient) -> None:
    for number, end in enumerate((2, 4, 3)):
        body = sent(blocks(SAID[:end]), number, document_id=None)
        assert client.post("/v1/default/banks/b/memories", json=body).status_code == 200
    assert memory.banks.stats("b").documents == 1
    assert memory.banks.stats("b").memories == 4


def marked(said: Iterable[tuple[str, str]]) -> str:
    """Return turns between marks, as the hooks for Cursor write them: without times."""
    return "\n\n".join(f"[role: {role}]\n{text}\n[{role}:end]" for role, text in said)


NAMES = "Ada Bo Cleo Dan Eve Finn Gwen Hugo Ida Jon Kim Leo Mia Noa Ola".split()
TOLD = [f"{name} keeps {number} boats in Bergen." for number, name in enumerate(NAMES, 2)]
LONG = " ".join(f"{name} sails to the island of {other}." for name in NAMES for other in NAMES[:2])
"""A turn of several chunks."""
AGREED = ["Shall I book Porto?", "Yes.", "And a cabin?", "Yes.", "With a balcony?", "Yes."]
AGAIN = ["Please go on with the next of the tests.", "Done."]


@pytest.mark.parametrize(
    ("windows", "stored"),
    [
        pytest.param([TOLD[:10], TOLD[5:]], TOLD, id="overlapping"),
        pytest.param([TOLD[:2], TOLD[:4], TOLD[:4], TOLD], TOLD, id="all from the beginning"),
        pytest.param([TOLD[:6], TOLD[3:6], TOLD[2:8]], TOLD[:8], id="nothing new in one"),
        pytest.param([[LONG, *TOLD[:2]], [LONG, *TOLD[:4]]], [LONG, *TOLD[:4]], id="a long turn"),
        # Traps: said again, and no repetition of what is stored.
        pytest.param([AGREED[:4], AGREED[1:]], AGREED, id="the same answer to other questions"),
        pytest.param([AGAIN, AGAIN, AGAIN], AGAIN * 3, id="the same answer to the same question"),
        pytest.param([TOLD[:4], TOLD[1:3]], TOLD[:4] + TOLD[1:3], id="said once more"),
        pytest.param([TOLD[:4], TOLD[3:6]], TOLD[:4] + TOLD[3:6], id="one turn may be chance"),
        pytest.param([TOLD[:3], TOLD[6:9]], TOLD[:3] + TOLD[6:9], id="a gap between them"),
    ],
)
def test_windows_of_a_session_that_overlap_store_no_turn_twice(
    memory: Hindsight, client: TestClient, windows: list[list[str]], stored: list[str]
) -> None:
    """Hooks name each window by session and time (Cursor, and others in chunks)."""
    at_first = 1_770_109_200_000
    for session in ("s-1", "s-2"):  # that another session says the same changes nothing
        for number, window in enumerate(windows):
            asked = ("?", "tests.")
            said = [("user" if each.endswith(asked) else "assistant", each) for each in window]
            item = {
                "content": marked(said),
                "document_id": f"{session}-{at_first + number}",
                "context": "cursor",
                "metadata": {"session_id": session, "retained_at": str(number)},
            }
            answer = client.post("/v1/default/banks/b/memories", json={"items": [item]})
            assert answer.status_code == 200
    assert sorted(each.id for each in memory.documents.list("b").items) == ["s-1", "s-2"]
    for session in ("s-1", "s-2"):
        chunks = [each.text for each in memory.documents.chunks("b", session)]
        assert " ".join(chunks).split() == " ".join(stored).split()


@pytest.mark.parametrize(
    ("fields", "said_on"),
    [
        pytest.param({}, datetime(2025, 10, 1, 9, tzinfo=UTC), id="in the metadata"),
        pytest.param(
            {"timestamp": "2025-10-02T08:00:00Z"},
            datetime(2025, 10, 2, 8, tzinfo=UTC),
            id="in the request, which goes before",
        ),
    ],
)
def test_an_imported_session_has_the_time_it_began(
    memory: Hindsight, client: TestClient, fields: dict[str, str], said_on: datetime
) -> None:
    """OpenClaw's backfill sends sessions of long ago without times, but for their start."""
    said = [{"role": "user", "content": "My bike got a new chain yesterday."}]
    metadata = {"session_id": "s1", "session_started_at": "2025-10-01T09:00:00.000Z"}
    item = {"content": json.dumps(said), "document_id": "s1", "metadata": metadata} | fields
    assert client.post("/v1/default/banks/b/memories", json={"items": [item]}).status_code == 200
    [stored] = memory.memories.list("b").items
    assert stored.mentioned_at == said_on
    assert stored.occurred_start is not None
    assert stored.occurred_start.date() == (said_on - timedelta(days=1)).date()


def test_a_start_that_is_no_time_is_passed_over(memory: Hindsight, client: TestClient) -> None:
    said = [{"role": "user", "content": "My bike got a new chain."}]
    item = {"content": json.dumps(said), "metadata": {"session_started_at": "last autumn"}}
    assert client.post("/v1/default/banks/b/memories", json={"items": [item]}).status_code == 200
    [stored] = memory.memories.list("b").items
    assert (stored.speaker, stored.text) == ("user", "My bike got a new chain.")
    assert stored.mentioned_at > datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("document", ["s-1", "s-12", "s-1770109200000x", "t-1770109200000"])
def test_a_document_with_another_name_is_no_window(
    memory: Hindsight, client: TestClient, document: str
) -> None:
    for said in (TOLD[:4], TOLD[2:6]):
        content = marked(("user", text) for text in said)
        item = {"content": content, "document_id": document, "metadata": {"session_id": "s"}}
        client.post("/v1/default/banks/b/memories", json={"items": [item]})
    assert [each.text for each in memory.documents.chunks("b", document)] == TOLD[2:6]


MARKED = marked((role, text) for role, text, _ in SAID)
LINES = "\n".join(
    json.dumps(each)
    for each in (
        {"role": "system", "content": "REF-ID: conversation:1", "timestamp": ASKED},
        *({"role": role, "content": text, "timestamp": time} for role, text, time in SAID),
        {"role": "action", "content": "Edit boots.py", "timestamp": ASKED},
    )
)


@pytest.mark.parametrize("text", [blocks(SAID), MARKED, LINES, f"{LINES}\n"])
def test_each_form_is_read(text: str) -> None:
    messages = conversation_in(text, datetime(2026, 1, 1, tzinfo=UTC))
    assert messages is not None
    assert [(each.speaker, each.text) for each in messages] == [each[:2] for each in SAID]
    times = [each.timestamp for each in messages]
    expected = [datetime.fromisoformat(time) for _, _, time in SAID]
    assert times == (expected if text != MARKED else [datetime(2026, 1, 1, tzinfo=UTC)] * 4)


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_pairs_of_user_and_assistant_are_read(between: str) -> None:
    """Programs of few turns at a time send them so: for the Chat SDK, Eve, Pipecat, AgentCore."""
    said = [
        ("user", "My boss is Nils Berg.\nHe is from Uppsala."),
        ("assistant", "I see: Nils Berg."),
        ("user", "Where is he from?"),
        ("assistant", "From Uppsala.\n\nAnything else?"),
    ]
    text = between.join(f"{role.capitalize()}: {words}" for role, words in said)
    messages = conversation_in(text)
    assert messages is not None
    assert [(each.speaker, each.text) for each in messages] == said


def test_a_pair_that_is_sent_is_stored_as_its_turns(memory: Hindsight, client: TestClient) -> None:
    for text in ("User: I work at the museum.\nAssistant: I see.", "User:\nAssistant:"):
        client.post("/v1/default/banks/b/memories", json={"items": [{"content": text}]})
    stored = {each.speaker: each for each in memory.memories.list("b").items}
    assert {speaker: each.text for speaker, each in stored.items()} == {
        "user": "I work at the museum.",
        "assistant": "I see.",
    }
    assert stored["assistant"].type == "experience"


@pytest.mark.parametrize(
    "text",
    [
        "User: admin",
        "User: Ada\nUser: Bo\nAssistant: Cy",
        "User: Who may log in?\nAssistant: Two kinds:\nUser: reads\nAdmin: writes",
        "Accounts\nUser: Ada\nAssistant: Bo",
        "Assistant: Hello!\nUser: Hello.",
        "user: a\nassistant: b",
        "[]",
        "[1, 2]",
        '["a"]',
        "[" * 100_000,
        '{"role": "user"}',
        '[{"role": "engineer", "content": "She builds bridges."}]',
        '[{"role": ["user"], "content": "x"}]',
        '[{"role": "user", "content": 7}]',
        '[{"role": "user", "content": "x", "timestamp": "soon"}]',
        '[{"role": "user", "content": "x", "timestamp": 1e300}]',
        f"{MARKED}\nand more",
        "[role: user]\nwithout an end",
        "[see the notes] Alice keeps bees.",
    ],
)  # fmt: skip
def test_another_text_stays_one(text: str) -> None:
    assert conversation_in(text) is None
