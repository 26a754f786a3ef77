"""Exports of other programs are read with speakers and dates right, and imported once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from hindsight_integrations import Hindsight, InvalidInputError, Item
from hindsight_integrations.cli import app
from hindsight_integrations.transcripts import (
    FORMATS,
    Transcript,
    import_transcripts,
    read_transcripts,
)

SAID = ("I moved to Bergen in May.", "Bergen is rainy; take boots.")
ASKED, REPLIED = datetime(2026, 2, 3, 9, tzinfo=UTC), datetime(2026, 2, 3, 9, 1, tzinfo=UTC)


def node(id: str, parent: str | None, role: str, text: object, when: datetime | None) -> Any:
    parts = text if isinstance(text, list) else [text]
    message = {
        "id": id, "author": {"role": role}, "create_time": when and when.timestamp(),
        "content": {"content_type": "text", "parts": parts}, "metadata": {},
    }  # fmt: skip
    return {"id": id, "message": message, "parent": parent, "children": []}


CHATGPT = [
    {
        "id": "c1", "title": "Moving", "create_time": ASKED.timestamp(), "current_node": "n3",
        "mapping": {
            "n0": {"id": "n0", "message": None, "parent": None, "children": ["s"]},
            "s": node("s", "n0", "system", "You are helpful.", None),
            "n1": node("n1", "s", "user", SAID[0], ASKED),
            "edited": node("edited", "n1", "assistant", "A branch that was left.", REPLIED),
            "tool": node("tool", "n1", "tool", "search results", ASKED),
            "n3": node("n3", "tool", "assistant", [SAID[1], {"asset": 1}], REPLIED),
        },
    }
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "c1", "name": "Moving", "created_at": ASKED.isoformat(),
        "chat_messages": [
            {"uuid": "n1", "sender": "human", "text": SAID[0], "created_at": ASKED.isoformat()},
            {"uuid": "n3", "sender": "assistant", "text": "", "created_at": "2026-02-03T09:01:00Z",
             "content": [{"type": "thinking", "thinking": "Rain?"},
                         {"type": "text", "text": SAID[1]}, {"type": "tool_use", "input": {}}]},
        ],
    },
    {"uuid": "empty", "name": "", "created_at": ASKED.isoformat(), "chat_messages": []},
]  # fmt: skip
_CODE = {"sessionId": "c1", "cwd": "/home/ann/Moving"}
CLAUDE_CODE = [
    {"type": "summary", "summary": "Moving", "leafUuid": "n3"},
    {**_CODE, "type": "user", "uuid": "m", "isMeta": True, "timestamp": "2026-02-03T09:00:00Z",
     "message": {"role": "user", "content": "Caveat: generated."}},
    {**_CODE, "type": "user", "uuid": "n1", "timestamp": "2026-02-03T09:00:00.000Z",
     "message": {"role": "user",
                 "content": f"{SAID[0]}<system-reminder>\nBe terse.\n</system-reminder>"}},
    {**_CODE, "type": "assistant", "uuid": "n3", "timestamp": "2026-02-03T09:01:00.000Z",
     "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "Rain?"},
                                                  {"type": "text", "text": SAID[1]}]}},
    {**_CODE, "type": "user", "uuid": "r", "timestamp": "2026-02-03T09:02:00.000Z",
     "message": {"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}},
    {**_CODE, "type": "assistant", "uuid": "x", "isSidechain": True,
     "timestamp": "2026-02-03T09:02:00.000Z", "message": {"role": "assistant", "content": "Aside"}},
]  # fmt: skip


def codex(when: datetime, kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": when.isoformat(), "type": kind, "payload": payload}


def codex_said(when: datetime, role: str, text: str) -> dict[str, object]:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": text}]
    return codex(when, "response_item", type="message", role=role, content=content)


CODEX = [
    codex(ASKED, "session_meta", id="c1", cwd="/home/ann/Moving"),
    codex_said(ASKED, "developer", "Be terse."),
    codex_said(ASKED, "user", "# AGENTS.md instructions for /home\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
    codex_said(ASKED, "user", "<environment_context>\n<cwd>/</cwd>\n</environment_context>"),
    codex_said(ASKED, "user", SAID[0]),
    codex(ASKED, "event_msg", type="user_message", message=SAID[0]),
    codex_said(REPLIED, "assistant", SAID[1]),
    codex(REPLIED, "response_item", type="function_call", name="shell", arguments="{}"),
]
OPENCLAW = [
    {"type": "session", "id": "c1", "timestamp": ASKED.isoformat(), "cwd": "/home/ann/Moving"},
    {"type": "message", "id": "n1", "parentId": None, "timestamp": ASKED.isoformat(),
     "message": {"role": "user", "content": [{"type": "text", "text": SAID[0]}]}},
    {"type": "message", "id": "n3", "parentId": "n1", "timestamp": REPLIED.isoformat(),
     "message": {"role": "assistant", "content": [{"type": "text", "text": SAID[1]}]}},
    {"type": "message", "id": "n4", "parentId": "n3", "timestamp": REPLIED.isoformat(),
     "message": {"role": "toolResult", "content": [{"type": "text", "text": "ok"}]}},
]  # fmt: skip
_EVENT = json.dumps({"type": "user_message", "message": SAID[0], "time": "09:00"})
_SENT = {"name": "send_message", "arguments": json.dumps({"message": SAID[1]})}
LETTA = {
    "agents": [
        {
            "id": "c1", "name": "Moving",
            "messages": [
                {"id": "s", "role": "system", "content": "You are", "created_at": None},
                {"id": "h", "role": "user", "content": '{"type": "heartbeat"}', "created_at": None},
                {"id": "n1", "role": "user", "created_at": ASKED.isoformat(),
                 "content": [{"type": "text", "text": _EVENT}]},
                {"id": "n3", "role": "assistant", "created_at": REPLIED.isoformat(),
                 "content": [{"type": "text", "text": "inner thoughts"}],
                 "tool_calls": [{"function": _SENT}]},
            ],
        }
    ],
    "blocks": [{"id": "b1", "label": "human", "value": "Ann keeps bees."},
               {"id": "b2", "label": "persona", "value": " "}],
}  # fmt: skip
MEM0 = {
    "results": [
        {"id": "m1", "memory": "Ann keeps bees.", "created_at": "2026-01-01T10:00:00-07:00",
         "updated_at": "2026-02-03T09:00:00+00:00", "metadata": {"app": "x", "n": [1]},
         "categories": ["hobby"], "user_id": "ann"},
        {"id": "m2", "memory": "Ann lives in Bergen.", "created_at": "2026-02-03T09:00:00Z",
         "updated_at": None, "metadata": None},
    ]
}  # fmt: skip


def passage(id: str, text: str, **fields: object) -> dict[str, object]:
    return {"id": id, "text": text, "archive_id": "archive-1", "tags": ["hobby"],
            "created_at": "2026-02-03 09:00:00+00:00", "metadata": {}, **fields}  # fmt: skip


PASSAGES = [
    passage("passage-1", "Ann keeps bees.", metadata={"n": 3}, updated_at="2026-03-03 09:00:00Z"),
    passage("passage-2", "Ann kept goats.", is_deleted=True),
]

CHATS: dict[str, tuple[str, Any]] = {
    "chatgpt": ("conversations.json", CHATGPT),
    "claude": ("conversations.json", CLAUDE),
    "claude-code": ("c1.jsonl", CLAUDE_CODE),
    "codex": ("rollout-c1.jsonl", CODEX),
    "openclaw": ("c1.jsonl", OPENCLAW),
    "letta": ("agent.af", LETTA),
}


def written(folder: Path, name: str, data: Any) -> Path:
    lines = "\n".join(map(json.dumps, data)) if name.endswith(".jsonl") else json.dumps(data)
    (folder / name).write_text(lines, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("format", CHATS)
def test_a_conversation_is_read_with_speakers_dates_and_title(format: str, tmp_path: Path) -> None:
    file = written(tmp_path, *CHATS[format])
    (one,) = [each for each in read_transcripts(file, user="Ann") if isinstance(each, Transcript)]
    assert (one.source, one.session, one.title) == (format, f"{format}:c1", "Moving")
    assert [(m.speaker, m.text, m.timestamp) for m in one.messages] == [
        ("Ann", SAID[0], ASKED), ("assistant", SAID[1], REPLIED),
    ]  # fmt: skip
    named = format != "codex"  # its messages have no ids
    assert [m.id for m in one.messages] == (["n1", "n3"] if named else [None, None])


def test_all_formats_are_tried_here() -> None:
    assert {*CHATS, "mem0"} == {*FORMATS}


@pytest.mark.parametrize("format", ["chatgpt", "codex", "letta"])
def test_an_import_is_done_once_and_a_later_export_adds_what_is_new(
    format: str, memory: Hindsight, tmp_path: Path
) -> None:
    name, data = CHATS[format]
    file = written(tmp_path, name, data)
    first = import_transcripts(memory, "b", file, user="Ann")
    assert first.sessions == 1
    stored = {each.text: each for each in memory.memories.list("b").items}
    assert stored[SAID[0]].speaker == "Ann"
    assert stored[SAID[0]].mentioned_at == ASKED
    assert stored[SAID[0]].metadata == {"source": format}
    assert stored[SAID[1]].type == "experience"
    assert not import_transcripts(memory, "b", file, user="Ann").result.stored
    if format == "codex":
        later = [*data, codex_said(REPLIED, "user", "The boots are red.")]
        again = import_transcripts(memory, "b", written(tmp_path, name, later), user="Ann")
        assert [each.text for each in again.result.stored] == ["The boots are red."]


def test_memories_of_mem0_keep_date_tags_and_metadata(memory: Hindsight, tmp_path: Path) -> None:
    file = written(tmp_path, "mem0.json", MEM0)
    done: list[tuple[int, int | None]] = []
    assert import_transcripts(memory, "b", file, progress=lambda *at: done.append(at)).items == 2
    assert done == [(2, 2)]
    assert not import_transcripts(memory, "b", file).result.stored
    bees, bergen = memory.memories.list("b").items
    assert (bees.document_id, bees.mentioned_at, bees.tags) == ("mem0:m1", ASKED, ("hobby",))
    assert bees.metadata == {"source": "mem0", "app": "x", "n": "[1]", "user_id": "ann"}
    assert bergen.mentioned_at == ASKED
    written(tmp_path, "mem0.json", MEM0["results"][:1])
    assert [*read_transcripts(file)] == [*read_transcripts(file, format="mem0")] != []


@pytest.mark.parametrize(
    "export",
    [
        PASSAGES,
        LETTA | {"passages": PASSAGES},
        LETTA | {"agents": [{**LETTA["agents"][0], "archival_memory": PASSAGES}]},
    ],
    ids=["listed", "beside the agents", "of an agent"],
)
def test_passages_of_letta_come_with_date_tags_and_metadata(export: Any, tmp_path: Path) -> None:
    file = written(tmp_path, "letta.json", export)
    read = [one for one in read_transcripts(file) if isinstance(one, Item)]
    (found,) = [one for one in read if one.document_id == "letta:passage:passage-1"]
    assert (found.content, found.timestamp, found.tags) == ("Ann keeps bees.", ASKED, ["hobby"])
    assert found.metadata == {"source": "letta", "n": 3}
    assert "Ann kept goats." not in [one.content for one in read]


def test_archives_folders_and_a_session_that_is_being_written(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("export/conversations.json", json.dumps(CLAUDE))
        archive.writestr("export/users.json", "[]")
    assert len([*read_transcripts(tmp_path / "export.zip")]) == 1
    (tmp_path / "project").mkdir()
    for format in ("claude-code", "openclaw", "codex"):
        written(tmp_path / "project", f"{format}.jsonl", CHATS[format][1])
    with (tmp_path / "project/codex.jsonl").open("a") as file:
        file.write('\n{"timestamp": "2026-')
    assert {one.source for one in read_transcripts(tmp_path) if isinstance(one, Transcript)} == {
        "claude-code", "openclaw", "codex",
    }  # fmt: skip


MISSENT = {"tool_calls": [{"function": {"name": "send_message", "arguments": "{cut off"}}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (
            json.dumps({"agents": [{"messages": [MISSENT]}], "blocks": []}),
            "send_message .*not JSON",
        ),
        ("[]", "the formats are chatgpt"),
        ('[{"mapping": 1}]', "not a complete export of the format 'chatgpt'"),
        ('[{"chat_messages": [{"uuid": 1}]}]', "not a complete export of the format 'claude'"),
        ('[{"memory": "x", "id": 1, "created_at": "soon"}]', "ISO 8601"),
    ],
)
def test_what_is_no_export_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        list(read_transcripts(tmp_path / "a.json"))
    with pytest.raises(InvalidInputError, match="cannot be read"):
        list(read_transcripts(tmp_path / "none.json"))


def test_the_command_imports(tmp_path: Path, folder: Path) -> None:
    file = written(tmp_path, *CHATS["claude"])
    options = [str(file), "--path", str(folder), "--user", "Ann", "--json"]
    done = json.loads(CliRunner().invoke(app, ["import-chats", *options]).stdout)
    assert (done["sessions"], len(done["result"]["stored"])) == (1, 2)


def test_only_a_line_feed_ends_a_line_of_a_session(tmp_path: Path) -> None:
    line = {"type": "user", "sessionId": "s1", "uuid": "u1", "timestamp": ASKED.isoformat()}
    lines = [
        line | {"message": {"role": "user", "content": f"Bergen is{end}rainy."}}
        for end in "\u2028\u2029\x85"
    ]
    file = tmp_path / "s1.jsonl"
    text = "\n".join(json.dumps(each, ensure_ascii=False) for each in lines)
    file.write_text(text, encoding="utf-8")
    (transcript,) = read_transcripts(file)
    assert len(transcript.messages) == 3
