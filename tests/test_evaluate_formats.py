"""LoCoMo's and LongMemEval's own files, by samples of ours in their documented format."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hindsight_integrations import InvalidInputError
from hindsight_integrations.cli import app
from hindsight_integrations.evaluate import (
    evaluate,
    load_dataset,
    parse_locomo,
    parse_longmemeval,
)
from tests.published_formats import INSTANCE, SAMPLE


def changed(sample: dict[str, Any], **fields: object) -> dict[str, Any]:
    return sample | fields


def test_a_locomo_conversation_is_a_bank() -> None:
    [bank] = parse_locomo([SAMPLE], name="locomo10").banks
    assert bank.id == "conv-7"
    assert [(item.id, item.session) for item in bank.items] == [
        ("D1:1", "session_1"),
        ("D1:2", "session_1"),
        ("D2:1", "session_2"),  # by number: session_10 comes last
        ("D10:1", "session_10"),
    ]
    first, photo, noon, last = bank.items
    assert (first.speaker, first.ts) == ("Ingrid", datetime(2024, 3, 3, 0, 5))
    assert photo.text == "Look at my canoe! [photo: a green canoe on a trailer]"
    assert photo.ts == datetime(2024, 3, 3, 0, 5, 1)
    assert noon.ts == datetime(2024, 4, 9, 12, 0)
    assert last.ts == datetime(2024, 5, 21, 13, 30)


def test_locomo_questions_keep_the_evidence_that_is_there() -> None:
    [bank] = parse_locomo(SAMPLE).banks  # a file may hold one conversation alone
    assert [(q.id, q.category, q.gold, q.gold_sessions) for q in bank.questions] == [
        ("q0", "single-hop", ("D1:1",), ("session_1",)),
        ("q1", "multi-hop", ("D1:2", "D2:1"), ("session_1", "session_2")),
        ("q4", "adversarial", ("D1:1",), ("session_1",)),
    ]
    assert [q.scored for q in bank.questions] == [True, True, False]
    assert {q.time for q in bank.questions} == {datetime(2024, 5, 22, 13, 30)}


def test_a_longmemeval_instance_is_a_bank_with_one_question() -> None:
    abstention = changed(INSTANCE, question_id="gpt_12_abs")
    [bank] = parse_longmemeval([INSTANCE, abstention]).banks
    assert [(item.id, item.speaker, item.session) for item in bank.items] == [
        ("0:0", "user", "a_1"),
        ("0:1", "assistant", "a_1"),
        ("1:0", "user", "answer_x_1"),
        ("2:0", "user", "answer_x_2"),
        ("2:1", "assistant", "answer_x_2"),
    ]
    assert bank.items[1].ts == datetime(2023, 5, 20, 2, 21, 1)
    [question] = bank.questions
    assert (bank.id, question.id, question.category) == ("gpt_11", "gpt_11", "knowledge-update")
    assert question.gold == ("1:0", "2:0")
    assert question.gold_sessions == ("answer_x_1", "answer_x_2")
    assert question.time == datetime(2023, 7, 2, 9, 15)


def test_longmemeval_sessions_count_where_no_turn_is_marked() -> None:
    unmarked = [[{"role": "user", "content": "I keep nine hens."}]]
    instance = changed(
        INSTANCE,
        haystack_session_ids=["s"],
        haystack_dates=["2023/05/20 (Sat) 02:21"],
        haystack_sessions=unmarked,
        answer_session_ids=["s"],
    )
    [question] = parse_longmemeval([instance]).banks[0].questions
    assert (question.gold, question.gold_sessions) == ((), ("s",))


CONVERSATION = SAMPLE["conversation"]


@pytest.mark.parametrize(
    ("parse", "content", "named"),
    [
        (parse_locomo, [], ["empty list", "at least one sample"]),
        (parse_locomo, {"banks": []}, ["sample number 0", "the conversation of a LoCoMo sample"]),
        (parse_locomo, [SAMPLE, SAMPLE], ["'conv-7'", "twice"]),
        (
            parse_locomo,
            [changed(SAMPLE, conversation={"speaker_a": "Ingrid"})],
            ["sample 'conv-7'", "no turns", "session_1"],
        ),
        (
            parse_locomo,
            [changed(SAMPLE, conversation=CONVERSATION | {"session_2_date_time": "yesterday"})],
            ["sample 'conv-7'", "'session_2_date_time'", "yesterday", "1:56 pm on 8 May, 2023"],
        ),
        (
            parse_locomo,
            [changed(SAMPLE, conversation=CONVERSATION | {"session_2": [{"text": "Hi"}]})],
            ["session_2, turn number 0", "'dia_id'", "missing"],
        ),
        (parse_locomo, [changed(SAMPLE, qa=None)], ["sample 'conv-7'", "'qa'", "list"]),
        (
            parse_locomo,
            [changed(SAMPLE, qa=[{"question": "Who?", "evidence": []}])],
            ["question number 0", "'category'"],
        ),
        (parse_locomo, [changed(SAMPLE, qa=[])], ["no question with evidence"]),
        (parse_longmemeval, [SAMPLE], ["instance number 0", "'question_id'", "missing"]),
        (
            parse_longmemeval,
            [changed(INSTANCE, haystack_dates=[])],
            ["instance 'gpt_11'", "3, 0 and 3 entries"],
        ),
        (
            parse_longmemeval,
            [changed(INSTANCE, question_date="2023-07-02")],
            ["'question_date'", "2023/05/20 (Sat) 02:21"],
        ),
        (
            parse_longmemeval,
            [changed(INSTANCE, haystack_dates=["2023/13/20 (Sat) 02:21"] * 3)],
            ["session 'a_1'", "'date'", "2023/13/20"],
        ),
        (
            parse_longmemeval,
            [changed(INSTANCE, answer_session_ids=["b_9"])],
            ["'answer_session_ids'", "'b_9'"],
        ),
        (
            parse_longmemeval,
            [changed(INSTANCE, question_id="gpt_11_abs")],
            ["no question with evidence"],
        ),
    ],
)
def test_bad_files_are_refused_with_the_place(
    parse: Callable[[object], object], content: object, named: list[str]
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse(content)
    assert [part for part in named if part not in str(refused.value)] == []


def written(folder: Path, content: object) -> Path:
    file = folder / "published.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_a_published_file_read_as_our_own_names_the_formats(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="name its format: locomo, longmemeval"):
        load_dataset(written(tmp_path, [SAMPLE]))


def test_locomo_is_measured_by_turn_and_by_session(tmp_path: Path) -> None:
    found = evaluate(load_dataset(written(tmp_path, [SAMPLE]), "locomo"))
    assert (found.items, len(found.rows)) == (4, 3)
    assert found.hits["overall"]["session hit@5"] == 1.0
    assert found.hits["unscored too"]["session R@10"] == 1.0
    assert "| session R@5 |" in found.table()


def test_the_command_reads_longmemeval(tmp_path: Path) -> None:
    file = written(tmp_path, [INSTANCE, changed(INSTANCE, question_id="gpt_13")])
    ran = CliRunner().invoke(
        app, ["evaluate", str(file), "--format", "longmemeval", "--every", "2", "--json"]
    )
    assert ran.exit_code == 0, ran.output
    [found] = json.loads(ran.stdout)
    assert [question["bank"] for question in found["questions"]] == ["gpt_11"]
    assert found["items"] == 5
    assert found["hits"]["knowledge-update"]["session hit@5"] == 1.0
