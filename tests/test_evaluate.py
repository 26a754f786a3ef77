"""`evaluate`: the figures by hand, the data's faults by name, and the whole from end to end."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.page import write_section
from benchmarks.quality import grid, together
from benchmarks.quality.__main__ import main
from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.evaluate import (
    Evaluation,
    QuestionRow,
    comparison,
    evaluate,
    evaluate_baseline,
    load_dataset,
    parse_dataset,
)
from hindsight_integrations.evaluate.dataset import Passage, by_paragraph
from hindsight_integrations.evaluate.metrics import (
    Hit,
    columns,
    figures,
    gold_ranks,
    hit_columns,
    hits_for_passages,
    session_figures,
    session_order,
    supports,
)

TEXTS = {
    "fox": "the red fox jumps over",
    "lake": "a quiet lake in june",
    "void": "nothing to see",
}


def hit(*ids: str, text: str | None = None, tokens: int = 10) -> Hit:
    return Hit(ids, " ".join(TEXTS[i] for i in ids) if text is None else text, tokens)


# Figures


def test_figures_of_a_partial_answer_worked_by_hand() -> None:
    found = figures({25: [hit("void"), hit("fox"), hit("lake")]}, ["fox", "lake"], TEXTS)
    assert found["R@5"] == 1.0
    assert found["R@25t"] == 0.5  # the lake ends at 30 tokens
    assert found["All@25t"] == 0.0
    assert found["MRR"] == 1 / 2
    gain = 1 / math.log2(3) + 1 / math.log2(4)
    assert found["nDCG@10"] == pytest.approx(gain / (1 + 1 / math.log2(3)))


def test_a_hit_ends_inside_the_budget_to_the_token() -> None:
    answer = [hit("void", tokens=7), hit("fox", tokens=5)]
    found = figures({11: answer, 12: answer}, ["fox"], TEXTS)
    assert (found["R@11t"], found["R@12t"], found["All@12t"]) == (0.0, 1.0, 1.0)


def test_each_budget_is_judged_by_the_answer_given_for_it() -> None:
    found = figures({20: [hit("lake")], 40: [hit("fox")]}, ["fox"], TEXTS)
    assert (found["R@20t"], found["R@40t"], found["MRR"]) == (0.0, 1.0, 1.0)


def test_an_id_without_its_text_does_not_count_until_a_hit_supports_it() -> None:
    empty_claim = hit("fox", text="unrelated words")
    assert gold_ranks([empty_claim], ["fox"], TEXTS) == {"fox": None}
    assert gold_ranks([empty_claim, hit("void"), hit("fox")], ["fox"], TEXTS) == {"fox": 2}


def test_half_of_the_distinct_words_are_support_enough() -> None:
    assert supports("RED! fox, fox", "the red fox jumps")
    assert not supports("red", "the red fox jumps")
    assert supports("", "?!")


def test_a_hit_that_stands_for_several_items_counts_for_each() -> None:
    found = figures({99: [hit("fox", "lake")]}, ["fox", "lake"], TEXTS)
    assert (found["All@99t"], found["nDCG@10"]) == (1.0, 1.0)


def test_an_item_counts_once_however_often_it_comes_back() -> None:
    found = figures({99: [hit("fox"), hit("fox"), hit("lake")]}, ["fox", "lake"], TEXTS)
    assert (found["R@5"], found["nDCG@10"]) == (1.0, 1.0)


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[Hit], list[str], dict[str, str]]:
    words = st.lists(st.sampled_from("red fox lake june see void".split()), max_size=4)
    texts = {f"i{n}": " ".join(draw(words)) for n in range(draw(st.integers(1, 40)))}
    ids = st.lists(st.sampled_from(list(texts)), max_size=3).map(tuple)
    hits = st.builds(Hit, ids, words.map(" ".join), st.integers(1, 50))
    gold = draw(st.lists(st.sampled_from(list(texts)), min_size=1, max_size=5, unique=True))
    return draw(st.lists(hits, max_size=40)), gold, texts


@given(answers())
def test_figures_are_shares_that_grow_with_what_is_allowed(
    case: tuple[list[Hit], list[str], dict[str, str]],
) -> None:
    hits, gold, texts = case
    found = figures(dict.fromkeys((50, 200, 2000), hits), gold, texts)
    by_item = [name for name in hit_columns() if not name.startswith("session")]
    assert sorted(found) == sorted([*columns((50, 200, 2000)), *by_item])
    assert all(found[f"hit@{k}"] == (found[f"R@{k}"] > 0) for k in (5, 10, 20))
    assert all(0 <= value <= 1 for value in found.values())
    assert found["R@5"] <= found["R@10"] <= found["R@20"]
    assert found["R@50t"] <= found["R@200t"] <= found["R@2000t"]
    assert all(found[f"All@{b}t"] == (found[f"R@{b}t"] == 1.0) for b in (50, 200, 2000))


@given(answers())
def test_figures_follow_from_the_ranks_of_the_gold(
    case: tuple[list[Hit], list[str], dict[str, str]],
) -> None:
    hits, gold, texts = case
    found = figures({2000: hits}, gold, texts)
    ranks = sorted(rank for rank in gold_ranks(hits, gold, texts).values() if rank)
    assert found["MRR"] == (1 / ranks[0] if ranks else 0)
    for k in (5, 10, 20):
        assert found[f"R@{k}"] == len([rank for rank in ranks if rank <= k]) / len(gold)
    assert found["R@2000t"] == len(ranks) / len(gold)  # 40 hits of at most 50 tokens
    ideal = sum(1 / math.log2(n + 1) for n in range(1, min(10, len(gold)) + 1))
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)
    assert found["nDCG@10"] == pytest.approx(gain / ideal)


SESSIONS = {"fox": "spring", "lake": "summer", "void": "spring"}


def test_a_session_ranks_where_the_first_of_its_items_does() -> None:
    answer = [hit("lake"), hit("void"), hit("fox"), hit("unknown", text="-")]
    texts = TEXTS | {"unknown": "-"}
    assert session_order(answer, ["summer"], texts, SESSIONS) == ["summer", "spring"]
    # A gold session has to be earned: the first hit says nothing of the fox.
    claim = [hit("fox", text="unrelated words"), hit("lake"), hit("void")]
    assert session_order(claim, ["spring"], texts, SESSIONS) == ["summer", "spring"]
    assert session_order(claim, ["summer"], texts, SESSIONS) == ["spring", "summer"]


def test_session_figures_worked_by_hand() -> None:
    order = [f"s{n}" for n in range(12)]
    assert session_figures(order, ["s7", "s11"]) == {
        "session R@5": 0.0,
        "session R@10": 0.5,
        "session hit@5": 0.0,
        "session hit@10": 1.0,
    }
    assert session_figures(order, []) == {}


def test_a_question_without_gold_items_has_no_figures_by_item() -> None:
    assert figures({2000: [hit("fox")]}, [], TEXTS) == {}


# The data


def bank(**changes: object) -> dict[str, object]:
    content: dict[str, object] = {
        "id": "b",
        "items": [{"id": "i1", "text": "Ana moved to Porto."}],
        "questions": [{"id": "q1", "question": "Where is Ana?", "gold": ["i1"]}],
    }
    return content | changes


def test_optional_fields_may_be_absent_null_or_empty() -> None:
    item = {"id": 7, "text": "Hi", "speaker": None, "ts": "", "session": 3, "extra": [1]}
    question = {"id": "q", "question": "?", "gold": [7], "time": "2024-05-07T13:56"}
    dataset = parse_dataset({"banks": [bank(items=[item], questions=[question])]}, name="mine")
    found = dataset.banks[0].items[0]
    assert dataset.name == "mine"
    assert (found.id, found.speaker, found.ts, found.session) == ("7", None, None, "3")
    assert dataset.banks[0].questions[0].gold == ("7",)
    assert dataset.banks[0].questions[0].scored


def test_questions_without_evidence_are_left_out() -> None:
    unanswerable = {"id": "q1", "question": "Where is Bo?", "gold": []}
    assert parse_dataset({"banks": [bank(questions=[unanswerable])]}).banks[0].questions == ()


def test_gold_sessions_are_those_of_the_gold_items_unless_given() -> None:
    items = [{"id": f"i{n}", "text": "x", "session": f"s{n % 2}"} for n in range(4)]
    plain = {"id": "q1", "question": "?", "gold": ["i1", "i3", "i2"]}
    given = {"id": "q2", "question": "?", "gold": [], "gold_sessions": ["s0"]}
    found = parse_dataset({"banks": [bank(items=items, questions=[plain, given])]}).banks[0]
    assert [each.gold_sessions for each in found.questions] == [("s1", "s0"), ("s0",)]
    assert [each.id for each in found.scored()] == ["q1"]


GUIDE = {
    "id": "guide",
    "text": "The hall opens at nine.\n\nKeys are with\nMara, in the kiosk.\n\n\nNo dogs.",
}


def asking(*passages: dict[str, str]) -> dict[str, object]:
    return {"id": "q", "question": "Who has the keys?", "passages": list(passages)}


def test_a_passage_makes_its_item_gold() -> None:
    question = asking({"item": "guide", "text": "keys are with Mara"})
    (found,) = parse_dataset({"banks": [bank(items=[GUIDE], questions=[question])]}).banks
    assert found.questions[0].gold == ("guide",)
    assert found.questions[0].passages == (Passage("guide", "keys are with Mara"),)


def test_a_document_may_be_cut_at_its_blank_lines() -> None:
    keys = asking({"item": "guide", "text": "keys are with Mara"})
    plain = {"id": "q2", "question": "?", "gold": ["guide"]}
    alike = {"id": "guide/old", "text": "Keys are with Mara, as ever."}
    whole = parse_dataset({"banks": [bank(items=[GUIDE, alike], questions=[keys, plain])]})
    (cut,) = by_paragraph(whole).banks
    assert [(each.id, each.text) for each in cut.items] == [
        ("guide/1", "The hall opens at nine."),
        ("guide/2", "Keys are with\nMara, in the kiosk."),
        ("guide/3", "No dogs."),
        ("guide/old/1", "Keys are with Mara, as ever."),
    ]
    assert [(each.id, each.gold) for each in cut.questions] == [("q", ("guide/2",))]


def test_a_text_counts_for_the_passages_it_holds_and_takes_a_rank_if_none() -> None:
    passages = {"a": Passage("guide", "at nine"), "b": Passage("guide", "with Mara")}
    answer = [
        Hit(("guide",), "No dogs.", 4),
        Hit(("other",), "Open at nine, keys with Mara.", 9),  # not the document that is meant
        Hit(("guide",), "Keys are WITH\n  Mara.", 6),
    ]
    found = hits_for_passages(answer, passages)
    assert gold_ranks(found, ["a", "b"], {"a": "at nine", "b": "with Mara"}) == {"a": None, "b": 3}


@pytest.mark.slow
def test_documents_are_measured_by_passage(folder: Path) -> None:
    lines = [f"Room {n} is let to a choir of {n + 20} voices." for n in range(30)]
    items = [{"id": "log", "text": "\n\n".join(lines)}, GUIDE]
    question = asking({"item": "guide", "text": "keys are with Mara"})
    dataset = parse_dataset({"banks": [bank(items=items, questions=[question])]})
    (row,) = evaluate(dataset, path=folder).rows
    assert row.ranks == {"guide: keys are with Mara": 1}
    assert row.figures["All@1024t"] == 1.0


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (
            {"banks": [bank(items=[GUIDE], questions=[asking({"item": "x", "text": "nine"})])]},
            ["passage number 0", "'item'", "no item of the bank"],
        ),
        (
            {"banks": [bank(items=[GUIDE], questions=[asking({"item": "guide", "text": "ten"})])]},
            ["passage number 0", "'text'", "does not say so"],
        ),
        ({"banks": [bank(items=[GUIDE], questions=[asking()])]}, ["'passages'", "at least one"]),
        ([], ["the dataset"]),
        ({}, ["the dataset", "'banks'", "missing"]),
        ({"banks": []}, ["the dataset", "'banks'", "at least one bank"]),
        ({"banks": [3]}, ["bank number 0", "3"]),
        ({"banks": [bank(), bank()]}, ["'banks'", "'b'", "twice"]),
        ({"banks": [bank(id="")]}, ["bank number 0", "'id'"]),
        ({"banks": [bank(items={})]}, ["bank 'b'", "'items'", "list"]),
        ({"banks": [bank(items=[])]}, ["bank 'b'", "'items'", "at least one item"]),
        ({"banks": [bank(items=[{"id": "i1"}])]}, ["bank 'b', item 'i1'", "'text'", "missing"]),
        ({"banks": [bank(items=[{"id": "i1", "text": " "}])]}, ["item 'i1'", "'text'", "blank"]),
        ({"banks": [bank(items=[{"id": "i1", "text": "x"}] * 2)]}, ["bank 'b'", "'i1'", "twice"]),
        (
            {"banks": [bank(items=[{"id": "i1", "text": "x", "ts": "last May"}])]},
            ["item 'i1'", "'ts'", "last May", "ISO 8601"],
        ),
        (
            {"banks": [bank(items=[{"id": "i1", "text": "x", "speaker": ["Ana"]}])]},
            ["item 'i1'", "'speaker'", "text"],
        ),
        (
            {"banks": [bank(questions=[{"id": "q1", "question": "?", "gold": ["i9"]}])]},
            ["bank 'b', question 'q1'", "'gold'", "'i9'"],
        ),
        (
            {
                "banks": [
                    bank(
                        questions=[{"id": "q", "question": "?", "gold": [], "gold_sessions": ["s"]}]
                    )
                ]
            },
            ["question 'q'", "'gold_sessions'", "'s' is no session"],
        ),
        (
            {"banks": [bank(questions=[{"id": "q1", "gold": ["i1"]}])]},
            ["question 'q1'", "'question'", "missing"],
        ),
        (
            {
                "banks": [
                    bank(questions=[{"id": "q", "question": "?", "gold": ["i1"], "scored": 1}])
                ]
            },
            ["question 'q'", "'scored'", "true or false"],
        ),
    ],
)
def test_bad_data_is_refused_with_its_place(content: object, named: list[str]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_dataset(content)
    assert [part for part in named if part not in str(refused.value)] == []


def test_an_unreadable_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none\.json cannot be read"):
        load_dataset(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_bytes(b'{"banks": \xff')
    with pytest.raises(InvalidInputError, match=r"broken\.json is not JSON"):
        load_dataset(broken)
    broken.write_text("[" * 100_000)
    with pytest.raises(InvalidInputError, match=r"broken\.json is nested too deeply"):
        load_dataset(broken)
    with pytest.raises(InvalidInputError, match=r"format is 'csv'; .*hindsight, locomo"):
        load_dataset(broken, "csv")


# Reports


def row(category: str, *, scored: bool, value: float) -> QuestionRow:
    return QuestionRow(
        bank="b", id=f"{category}{value}", question="?", category=category, scored=scored,
        ranks={"i1": 1}, figures=dict.fromkeys((*columns((64,)), "hit@5"), value), tokens=50,
        seconds=0.02,
        failures=("temporal: late",) if value else (),
    )  # fmt: skip


REPORT = Evaluation(
    dataset="d", system="s", budgets=(64,), items=4, memories=5, retain_seconds=2.0,
    rows=(
        row("list", scored=True, value=1.0),
        row("list", scored=True, value=0.0),
        row("trick", scored=False, value=1.0),
    ),
)  # fmt: skip


def test_unscored_questions_stay_out_of_the_overall_figures() -> None:
    assert REPORT.overall["R@5"] == 0.5
    assert {name: mean["MRR"] for name, mean in REPORT.by_category.items()} == {
        "list": 0.5,
        "trick": 1.0,
    }


def test_the_table_tells_figures_speed_and_failures() -> None:
    table = REPORT.table()
    assert "| overall | 2 | 50.0 | 50.0 |" in table
    assert "| trick | 1 | 100.0 |" in table
    assert table.count("| unscored too | 3 | 66.7 |") == 2  # in both tables
    assert "session" not in table  # this dataset has none
    assert "4 items, 5 memories, retained at 2 items/s" in table
    assert "20 ms (p50)" in table
    assert "Failed 2 times: temporal: late" in table
    assert "| s | 50.0 |" in comparison([REPORT])


def test_the_json_holds_every_question() -> None:
    content = json.loads(REPORT.to_json())
    assert content["overall"]["nDCG@10"] == 0.5
    assert content["hits"]["overall"] == {"hit@5": 0.5}
    assert [question["ranks"] for question in content["questions"]] == [{"i1": 1}] * 3


# End to end

TALK = [
    ("Rosa", "I planted three fig trees behind the shed today."),
    ("Emil", "Our cellar was flooded last night, the pump gave up."),
    ("Rosa", "My sister Beatriz starts her job at the observatory on Monday."),
    ("Emil", "I sold the old tractor to a farmer from Lugo."),
    ("Rosa", "The greenhouse glass arrives in two weeks."),
]

GARDEN: dict[str, object] = {
    "dataset": "garden",
    "banks": [
        {
            "id": "talk/1",
            "items": [
                {"id": f"m{n}", "text": text, "speaker": who, "ts": f"2024-0{n}-03", "session": "s"}
                for n, (who, text) in enumerate(TALK, start=1)
            ],
            "questions": [
                {"id": "a", "question": "Who bought the tractor?", "gold": ["m4"]},
                {"id": "b", "question": "Which trees did Rosa plant?", "gold": ["m1"]},
                {"id": "c", "question": "Where is Beatriz?", "gold": ["m3"], "time": "2024-06-01"},
            ],
        },
        {
            "id": "notes",
            "items": [
                {"id": "p1", "title": "Figs", "text": "Fig wasps pollinate figs and live in them."},
                {"id": "p2", "title": "Pumps", "text": "A sump pump keeps a cellar dry."},
            ],
            "questions": [{"id": "a", "question": "What pollinates figs?", "gold": ["p1"]}],
        },
    ],
}


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "garden.json"
    file.write_text(json.dumps(GARDEN), encoding="utf-8")
    return file


def test_messages_and_texts_are_retained_and_found_again(garden: Path, folder: Path) -> None:
    stages: list[tuple[str, int, int]] = []
    found = evaluate(garden, path=folder, progress=lambda *stage: stages.append(stage))
    assert found.overall["R@5"] == found.overall["All@1024t"] == 1.0
    assert (found.items, found.failures) == (7, {})
    assert stages[-1] == ("recall", 4, 4)
    assert ("retain", 7, 7) in stages
    assert found.items_per_second is not None
    assert 0 < found.mean_tokens <= 4096

    again = evaluate(garden, path=folder, limit_questions=1)
    assert again.items_per_second is None  # kept: nothing was retained
    assert [(r.bank, r.id) for r in again.rows] == [("talk/1", "a"), ("notes", "a")]
    with Hindsight(folder) as memory:
        kept = {item.id for item in memory.banks.list()}
    assert kept == {"evaluate/garden/talk/1", "evaluate/garden/notes"}


def test_changed_items_are_retained_anew(folder: Path) -> None:
    first = {"id": "p1", "text": "Figs are early."}
    second = {"id": "p2", "text": "Quinces are late."}
    question = {"id": "q", "question": "What is late?", "gold": ["p1"]}
    for items in ([first], [first, second]):
        notes = bank(items=items, questions=[question])
        found = evaluate(parse_dataset({"banks": [notes]}), path=folder)
        assert found.memories == len(items)
        assert found.items_per_second is not None


def test_the_engine_given_is_measured_and_closed(garden: Path) -> None:
    engine = Hindsight.in_memory(reranker=None)
    found = evaluate(garden, engine=lambda: engine, every=2, max_tokens=[512, 64])
    assert found.budgets == (64, 512)
    # Questions are counted through all banks, so that a file of many banks with one question each
    # can be sampled; the third is the last that is asked, and the notes are not retained.
    assert [(r.bank, r.id) for r in found.rows] == [("talk/1", "a"), ("talk/1", "c")]
    assert found.items == 5
    with pytest.raises(Exception, match="closed"):
        engine.banks.list()


@pytest.mark.parametrize("name", ["chroma", "bm25"])
def test_a_baseline_answers_the_same_questions(garden: Path, name: str) -> None:
    found = evaluate_baseline(garden, name)
    assert found.overall["R@5"] == 1.0
    assert [r.id for r in found.rows] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"max_tokens": ()}, "max_tokens"),
        ({"max_tokens": (0,)}, "max_tokens"),
        ({"every": 0}, "every"),
        ({"limit_questions": -1}, "limit_questions"),
        ({"budget": "huge"}, "budget"),
        ({"engine": Hindsight.in_memory, "path": "there"}, "engine"),
    ],
)
def test_arguments_are_refused_by_name(
    garden: Path, arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        evaluate(garden, **arguments)  # type: ignore[arg-type]


def test_an_unknown_baseline_names_those_there_are(garden: Path) -> None:
    with pytest.raises(InvalidInputError, match="chroma, bm25"):
        evaluate_baseline(garden, "lucene")


@pytest.mark.slow
def test_the_module_writes_rows_and_a_section(
    garden: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, page = folder.with_name("rows.json"), folder.with_name("page.md")
    page.write_text("# Figures\n", encoding="utf-8")
    options = ["--keep", folder, "--rows", rows, "--markdown", page, "--baselines", "--limit", "1"]
    assert main([str(garden), *map(str, options)]) == 0
    assert "garden" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Figures\n\n<!-- garden:start -->")
    assert "| hindsight |" in text
    assert "| plain Chroma |" in text
    assert "| BM25 |" in text
    assert len(json.loads(rows.read_text(encoding="utf-8"))["questions"]) == 2


def test_the_module_reports_bad_input_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err


# Sections of a page


def test_a_section_is_replaced_and_the_rest_of_the_page_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- one:start -->\nold\n<!-- one:end -->\n\nafter\n", encoding="utf-8")
    write_section(page, "one", "new\n")
    write_section(page, "two", "second")
    assert page.read_text(encoding="utf-8") == (
        "# A\n\n<!-- one:start -->\nnew\n<!-- one:end -->\n\nafter\n\n"
        "<!-- two:start -->\nsecond\n<!-- two:end -->\n"
    )


def test_a_section_is_written_to_a_new_page(tmp_path: Path) -> None:
    write_section(tmp_path / "new.md", "one", "text")
    assert (tmp_path / "new.md").read_text() == "<!-- one:start -->\ntext\n<!-- one:end -->\n"


@pytest.mark.parametrize("torn", ["<!-- one:start -->", "<!-- one:end -->\n<!-- one:start -->"])
def test_torn_markers_are_refused(tmp_path: Path, torn: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(torn, encoding="utf-8")
    with pytest.raises(InvalidInputError, match="give it both"):
        write_section(page, "one", "text")
    assert page.read_text(encoding="utf-8") == torn


# The grid


def test_the_grid_marks_what_is_behind_the_simple_search() -> None:
    ours = {"R@5": 0.5, "R@10": 0.75, "MRR": 0.4}
    simple = {"R@5": 0.5004, "R@10": 0.7, "MRR": 0.45}
    row = grid.Row("harbour", ours, simple, p50_ms=12.4)
    assert row.behind == ("MRR",)
    assert row.cells() == ["50.0 / 50.0", "75.0 / 70.0", "40.0 / 45.0 !"]
    assert grid.table([row]).endswith("Of 3 cells, recall is behind in 1: harbour MRR.")


def test_the_grid_measures_each_file_against_the_better_baseline(
    garden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = grid.main([str(garden), "--keep", str(tmp_path / "kept")])
    printed = capsys.readouterr().out
    assert code in (0, 1)
    assert ("recall is behind in none" in printed) == (code == 0)
    assert "R@10" in printed
    assert grid.main([str(tmp_path / "missing.json")]) == 2


# All banks as one


def test_the_banks_of_several_datasets_become_one_whose_ids_stay_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, session in (("pond", "s1"), ("lake", None)):
        item = {"id": "m1", "text": f"A frog in the {name}."}
        if session:
            item |= {"speaker": "Ana", "session": session}
        asked = {"id": "q1", "question": f"What is in the {name}?", "gold": ["m1"]}
        bank = {"id": "b", "items": [item], "questions": [asked]}
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"dataset": name, "banks": [bank]}))
    assert together.main([*map(str, files), "--name", "waters"]) == 0
    dataset = parse_dataset(json.loads(capsys.readouterr().out))
    assert dataset.name == "waters"
    (bank,) = dataset.banks
    assert [item.id for item in bank.items] == ["pond/b/m1", "lake/b/m1"]
    assert [item.session for item in bank.items] == ["pond/b/s1", None]
    assert [(each.id, each.gold) for each in bank.questions] == [
        ("pond/b/q1", ("pond/b/m1",)),
        ("lake/b/q1", ("lake/b/m1",)),
    ]
