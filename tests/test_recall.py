"""Recall through the engine: each arm, filters, budgets, degradation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from hindsight_integrations import Arm, Hindsight, Memory, Message, Recalled, Settings, TimeSpan
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.recall.arms import entity, keyword, semantic, temporal

NOW = datetime(2025, 6, 20, 9, tzinfo=UTC)

FACTS = [
    ("Alice works on Project Heron.", datetime(2025, 3, 3, 10, tzinfo=UTC)),
    ("Project Heron is led by Zofia Lindqvist.", datetime(2025, 4, 10, 10, tzinfo=UTC)),
    ("Invoice INV-20417 is for the radar repair.", datetime(2025, 1, 10, 10, tzinfo=UTC)),
    ("Invoice INV-20471 is for new ropes.", datetime(2025, 1, 11, 10, tzinfo=UTC)),
    ("The booking site went down during the storm.", datetime(2025, 4, 12, 10, tzinfo=UTC)),
    ("The booking site was slow for an hour.", datetime(2024, 11, 15, 10, tzinfo=UTC)),
    ("Jonas prefers window seats on trains.", datetime(2024, 10, 20, 10, tzinfo=UTC)),
    ("Alice joined Quillhaven.", datetime(2025, 2, 3, 10, tzinfo=UTC)),
    ("The review took place in Room 101.", datetime(2025, 1, 6, 10, tzinfo=UTC)),
    ("The review took place in Room 102.", datetime(2025, 3, 6, 10, tzinfo=UTC)),
]


def filled(**options: object) -> Hindsight:
    memory = Hindsight.in_memory(settings=Settings(consolidate=False), **options)  # type: ignore[arg-type]
    memory.retain_many("b", [{"content": text, "timestamp": said} for text, said in FACTS])
    return memory


@pytest.fixture(scope="module")
def bank() -> Iterator[Hindsight]:
    """The facts, for tests that only read them."""
    with filled() as memory:
        yield memory


@pytest.fixture
def changing() -> Iterator[Hindsight]:
    """The facts, for a test that changes them."""
    with filled() as memory:
        yield memory


def recalled(memory: Hindsight, query: str, **options: object) -> list[str]:
    result = memory.recall("b", query, query_time=NOW, **options)  # type: ignore[arg-type]
    assert result.failures == ()
    return [item.memory.text for item in result]


# The arms


def test_the_semantic_arm_finds_a_paraphrase(bank: Hindsight) -> None:
    best = recalled(bank, "Where does he like to sit when travelling by rail?", arms=["semantic"])
    assert best[0] == "Jonas prefers window seats on trains."


def test_the_keyword_arm_finds_an_exact_identifier(bank: Hindsight) -> None:
    found = recalled(bank, "INV-20417", arms=["keyword"])
    assert found[0] == "Invoice INV-20417 is for the radar repair."


def test_the_older_names_of_arms_are_read(bank: Hindsight) -> None:
    assert Arm("meaning") is Arm.MEANING is Arm.SEMANTIC
    assert Arm("pathway") is Arm["PATHWAY"] is Arm.KEYWORD
    assert [*Arm] == ["temporal", "entity", "semantic", "keyword"]
    for old, new in (("meaning", "semantic"), ("pathway", "keyword")):
        result = bank.recall("b", "INV-20417", arms=[old])
        assert result.memories == bank.recall("b", "INV-20417", arms=[new]).memories
        assert {score.arm for item in result for score in item.arms} == {new}
        assert f"arm {new}" in (result.timings or {})


def test_the_keyword_arm_finds_chinese_without_blanks(memory: Hindsight) -> None:
    memory.retain("b", "我们在上海开会讨论预算。")
    memory.retain("b", "他昨天买了一条鱼。")
    assert recalled(memory, "上海预算", arms=["keyword"]) == ["我们在上海开会讨论预算。"]


def test_entity_follows_a_chain_and_tells_the_path(bank: Hindsight) -> None:
    result = bank.recall("b", "Alice", arms=["entity"], query_time=NOW)
    by_text = {item.memory.text: item for item in result}
    led = by_text["Project Heron is led by Zofia Lindqvist."]
    assert "Project Heron" in led.arms[0].reason
    assert led.arms[0].reason.startswith("path: ")


def test_temporal_finds_the_window_of_the_question(bank: Hindsight) -> None:
    found = recalled(bank, "What happened to the booking site last spring?", arms=["temporal"])
    assert found[0] == "The booking site went down during the storm."
    assert "The booking site was slow for an hour." not in found


@pytest.mark.parametrize(
    ("query", "asked", "days"),
    [
        ("What was said in March?", 2026, "1 Mar 2025 to 31 Mar 2025"),
        ("What was said on 10 January?", 2031, "10 Jan 2025"),
        ("What was said in November?", 2026, "1 Nov 2024 to 30 Nov 2024"),
        # Time goes on after the month, or nothing is known of any: it is the latest.
        ("What was said in February?", 2025, "1 Feb 2025 to 28 Feb 2025"),
        ("What was said in December?", 2025, "1 Dec 2024 to 31 Dec 2024"),
        ("What was said in July?", 2026, "1 Jul 2026 to 31 Jul 2026"),
        # The year is named, or follows from the words.
        ("What was said in March 2026?", 2026, "1 Mar 2026 to 31 Mar 2026"),
        ("What was said last March?", 2027, "1 Mar 2027 to 31 Mar 2027"),
    ],
)
def test_a_month_without_its_year_is_that_of_the_latest_memories(
    bank: Hindsight, query: str, asked: int, days: str
) -> None:
    result = bank.recall("b", query, query_time=datetime(asked, 8, 20, tzinfo=UTC))
    assert [str(window.span) for window in result.windows] == [days]


def test_a_window_given_leaves_the_month_of_the_question_as_it_is(bank: Hindsight) -> None:
    given = (datetime(2026, 1, 1, tzinfo=UTC), None)
    asked = datetime(2026, 8, 20, tzinfo=UTC)
    result = bank.recall("b", "What was said in March?", query_time=asked, window=given)
    assert [str(window.span) for window in result.windows] == ["1 Mar 2026 to 31 Mar 2026"]


def test_an_event_in_the_bank_anchors_the_window(bank: Hindsight) -> None:
    query = "Which room was the review in before Alice joined Quillhaven?"
    result = bank.recall("b", query, query_time=NOW)
    found = [item.memory.text for item in result]
    right, wrong = (f"The review took place in Room {n}." for n in (101, 102))
    assert found.index(right) < found.index(wrong)
    assert result.windows[0].span.end.date() == datetime(2025, 2, 3).date()


def test_what_is_told_together_with_an_event_is_found_by_it() -> None:
    said = [
        ("Nadia won the chess cup in Porto.", datetime(2025, 3, 2, 18, tzinfo=UTC)),
        ("After the chess cup I lay awake, all I could think of was my father.", datetime(
            2025, 3, 2, 19, tzinfo=UTC)),
        ("I slept badly, the neighbours had a party.", datetime(2025, 5, 9, 9, tzinfo=UTC)),
        ("We all felt tired on the train.", datetime(2025, 4, 2, 9, tzinfo=UTC)),
    ]  # fmt: skip
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        messages = [Message("Nadia", text, at) for text, at in said]
        answer = Message("Ole", "Good morning!", datetime(2025, 5, 9, 9, 1, tzinfo=UTC))
        memory.retain_messages("b", [*messages, answer])
        result = memory.recall("b", "What did Nadia feel after the chess cup?", query_time=NOW)
    assert result[0].memory.text.startswith("After the chess cup")
    assert [window.firm for window in result.windows] == [False]


def test_a_time_in_a_statement_beside_the_question_is_a_hint(bank: Hindsight) -> None:
    asked = "I am back since last week. Which room was the review in?"
    result = bank.recall("b", asked, query_time=NOW)
    assert [window.firm for window in result.windows] == [False]


def test_a_distance_from_an_event_is_as_firm_as_a_date(bank: Hindsight) -> None:
    result = bank.recall("b", "What took place a month after Alice joined?", query_time=NOW)
    assert [window.firm for window in result.windows] == [True]
    found = [item.memory.text for item in result]
    right, wrong = (f"The review took place in Room {n}." for n in (102, 101))
    assert found.index(right) < found.index(wrong)


@pytest.mark.parametrize(
    ("question", "teller"),
    [
        ("What did Nadia recommend?", "Nadia"),
        ("What did Nadia recommend to Tom?", "Nadia"),
        ("What did Tom hear from Nadia?", "Nadia"),
        ("What do Nadia and Tom recommend?", None),
        ("What do both Tom Reyes and Nadia like?", None),
        ("What was recommended?", None),
    ],
)
def test_who_is_asked_about_speaks_first(question: str, teller: str | None) -> None:
    said = {"Nadia": "The Danish film.", "Tom Reyes": "The Polish film."}
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain_messages("b", [Message(name, text, NOW) for name, text in said.items()])
        result = memory.recall("b", question, query_time=NOW)
    told = {
        item.memory.speaker: signal.value
        for item in result
        for signal in item.signals
        if signal.name == "speaker"
    }
    assert told == ({teller: 1.0} if teller else {})


def test_no_time_in_the_question_means_no_temporal_arm(bank: Hindsight) -> None:
    result = bank.recall("b", "Which invoice is for ropes?", query_time=NOW)
    assert result.windows == ()
    assert not any(score.arm is Arm.TEMPORAL for item in result for score in item.arms)


def test_a_disabled_arm_does_not_run(bank: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[object]:
        raise AssertionError("this arm was disabled")

    monkeypatch.setattr(entity, "search", refuse)
    monkeypatch.setattr(keyword, "search", refuse)
    assert recalled(bank, "trains", arms=["semantic"])


# Filters


@pytest.fixture(scope="module")
def filed() -> Iterator[Hindsight]:
    rows = [
        ("red", "The red boat needs paint.", "world", ["boat"], {"length": 7}, "north"),
        ("blue", "The blue boat needs paint.", "opinion", ["boat", "old"], {"length": 9}, "south"),
        ("shed", "The shed needs paint.", "world", ["house"], {}, None),
    ]
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for document, text, kind, tags, metadata, scope in rows:
            memory.retain(
                "b", text, document_id=document, type=kind, tags=tags, metadata=metadata,
                scope=scope, timestamp=datetime(2025, 5, len(text) % 28 + 1, tzinfo=UTC),
            )  # fmt: skip
        yield memory


@pytest.mark.parametrize("arm", [None, *Arm])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"types": ["opinion"]}, {"blue"}),
        ({"tags": ["old", "house"]}, {"blue", "shed"}),
        ({"tags": ["old", "boat"], "tags_match": "all"}, {"blue"}),
        ({"where": {"length": 7}}, {"red"}),
        ({"where": {"length": {"$gt": 7, "$lt": 10}}}, {"blue"}),
        ({"where": {"length": {"$ne": 7}}}, {"blue", "shed"}),
        ({"where": {"length": {"$in": [7, 9]}}}, {"red", "blue"}),
        ({"scope": "north"}, {"red"}),
    ],
)
def test_every_filter_reaches_every_arm(
    filed: Hindsight, arm: Arm | None, options: dict[str, object], expected: set[str]
) -> None:
    result = filed.recall(
        "b",
        "What needed paint in May 2025, boat or shed?",
        arms=None if arm is None else [arm],
        query_time=NOW,
        **options,  # type: ignore[arg-type]
    )
    found = {item.memory.document_id for item in result}
    assert found <= expected
    assert arm is Arm.ENTITY or found == expected


def test_a_window_limits_to_its_time(bank: Hindsight) -> None:
    window = (datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 2, 1, tzinfo=UTC))
    found = recalled(bank, "review or invoice", window=window)
    assert sorted(found) == sorted(t for t, at in FACTS if window[0] <= at < window[1])
    assert found == recalled(bank, "review or invoice", window=TimeSpan(*window))


def test_as_of_shows_what_was_known_then(bank: Hindsight) -> None:
    found = recalled(bank, "Which room is the review in?", as_of=datetime(2025, 2, 1, tzinfo=UTC))
    assert "The review took place in Room 101." in found
    assert "The review took place in Room 102." not in found


def test_what_has_expired_is_passed_over(memory: Hindsight) -> None:
    memory.retain("b", "The old password is swordfish.", expires_at=NOW - timedelta(days=900))
    memory.retain("b", "The password is tuna.")
    assert recalled(memory, "password") == ["The password is tuna."]


def test_what_is_invalidated_is_not_recalled_until_restored(changing: Hindsight) -> None:
    wrong = next(m for m in changing.memories.list("b").items if "Room 101" in m.text)
    changing.memories.invalidate("b", wrong.id, reason="it was cancelled")
    assert wrong.text not in recalled(changing, "Which room was the review in?")
    changing.memories.restore("b", wrong.id)
    assert wrong.text in recalled(changing, "Which room was the review in?")
    actions = [change.action for change in changing.memories.history("b", wrong.id)]
    assert set(actions) == {"invalidate", "restore"}


def test_a_correction_is_found_by_its_new_words_and_keeps_the_old(changing: Hindsight) -> None:
    wrong = next(m for m in changing.memories.list("b").items if "window seats" in m.text)
    changing.memories.update("b", wrong.id, text="Jonas prefers aisle seats.", reason="he said so")
    assert recalled(changing, "aisle", arms=["keyword"]) == ["Jonas prefers aisle seats."]
    assert recalled(changing, "window seats", arms=["keyword"]) == ["Jonas prefers aisle seats."]
    change = next(c for c in changing.memories.history("b", wrong.id) if c.field == "text")
    assert (change.old, change.new, change.reason) == (
        "Jonas prefers window seats on trains.", "Jonas prefers aisle seats.", "he said so"
    )  # fmt: skip


# Budgets


@pytest.mark.parametrize("max_tokens", [1, 10, 25, 60, 1000])
def test_the_text_stays_within_the_budget(bank: Hindsight, max_tokens: int) -> None:
    result = bank.recall("b", "booking site review", max_tokens=max_tokens, query_time=NOW)
    counted = bank.runtime.tokenizer.count(result.text)
    assert counted == result.tokens <= max_tokens
    assert result.memories


def test_chunks_and_entities_have_budgets_of_their_own(bank: Hindsight) -> None:
    plain = bank.recall("b", "Alice", query_time=NOW)
    more = bank.recall("b", "Alice", query_time=NOW, chunk_tokens=60, entity_tokens=60)
    assert [m.id for m in more] == [m.id for m in plain]
    assert more.text == plain.text
    assert more.chunks
    assert sum(bank.runtime.tokenizer.count(c.text) for c in more.chunks) <= 60
    assert any("Alice" in note.text for note in more.entity_notes)
    assert not plain.chunks
    assert not plain.entity_notes


def test_relevance_is_a_probability_that_falls_with_the_rank(bank: Hindsight) -> None:
    for options in ({}, {"budget": "low"}, {"arms": ["keyword"]}, {"fill": True}):
        found = bank.recall("b", "Who leads Heron?", **options).memories
        relevance = [item.relevance for item in found]
        assert relevance == sorted(relevance, reverse=True)
        assert 0 < relevance[-1] <= relevance[0] < 1
        assert [item.score for item in found] == relevance


def test_min_score_leaves_out_what_is_less_relevant(bank: Hindsight) -> None:
    found = bank.recall("b", "Who leads Heron?", query_time=NOW).memories
    second = found[1].relevance
    cut = bank.recall("b", "Who leads Heron?", query_time=NOW, min_score=second).memories
    assert [item.id for item in cut] == [item.id for item in found if item.relevance >= second]
    assert len(cut) < len(found)
    nothing = bank.recall("b", "Who leads Heron?", query_time=NOW, min_score=1.0, fill=True)
    assert (nothing.memories, nothing.text) == ((), "")


def test_what_the_bank_knows_nothing_of_brings_nothing(bank: Hindsight) -> None:
    for asked in (
        "How do I bake sourdough bread?",
        "What is the boiling point of water in May?",
        "What is 2+2?",
        "Thanks!",
        "ok",
        "good morning",
    ):
        nothing = bank.recall("b", asked, query_time=NOW)
        assert (nothing.memories, nothing.text, nothing.tokens) == ((), "", 0), asked
        assert bank.recall("b", asked, query_time=NOW, fill=True).memories


def test_a_stranger_is_asked_about_in_vain_where_others_are_not() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain_many(
            "b",
            [
                "Alice's dog is called Biscuit.",
                "The spare key hangs behind the boiler.",
                "Nadia prefers trains to planes.",
                "Nadia's sister works at the harbour office.",
                "Alice is allergic to hazelnuts.",
            ],
        )
        for asked in ("Which instrument does Nadia play?", "Which instrument does she play?"):
            assert memory.recall("b", asked).memories, asked
        stranger = "Which vehicles does Bogdan own?"
        assert not memory.recall("b", stranger).memories
        assert memory.recall("b", stranger, fill=True).memories
        memory.entities.alias("b", "Nadia", "Bogdan")
        assert memory.recall("b", stranger).memories  # whom no memory calls so, and the bank does


def test_a_question_for_whatever_is_known_brings_something(bank: Hindsight) -> None:
    for asked in ("What do you remember?", "Tell me everything.", "What happened?",
                  "What happened in May 2025?", "Anything on 3 March 2024?"):  # fmt: skip
        assert bank.recall("b", asked, query_time=NOW).memories, asked
    assert bank.recall("b", "", entities=["Alice"], query_time=NOW).memories


def test_an_empty_bank_gives_an_empty_result(memory: Hindsight) -> None:
    memory.banks.create("b")
    result = memory.recall("b", "anything at all in 2023?")
    assert not result
    assert (result.text, result.tokens, result.failures) == ("", 0, ())


# Degradation


@pytest.mark.parametrize("broken", [semantic, keyword, entity, temporal])
def test_a_broken_arm_is_reported_and_the_others_answer(
    bank: Hindsight, monkeypatch: pytest.MonkeyPatch, broken: object
) -> None:
    def fail(*_: object) -> list[object]:
        raise StoreUnavailableError("the disk is on fire")

    monkeypatch.setattr(broken, "search", fail)
    result = bank.recall("b", "What happened to the booking site last spring?", query_time=NOW)
    name = broken.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
    assert [str(f) for f in result.failures] == [
        f"arm {name}: StoreUnavailableError: the disk is on fire"
    ]
    assert result.memories[0].memory.text == "The booking site went down during the storm."
    assert "on fire" in str(result.explain())


def test_if_every_arm_fails_the_error_says_so(
    bank: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[object]:
        raise StoreUnavailableError("gone")

    for arm in (semantic, keyword, entity, temporal):
        monkeypatch.setattr(arm, "search", fail)
    with pytest.raises(StoreUnavailableError, match="every arm"):
        bank.recall("b", "anything")


def longest_first(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def not_a_number(query: str, texts: Sequence[str]) -> list[float]:
    return [float("nan")] * len(texts)


def too_few(query: str, texts: Sequence[str]) -> list[float]:
    return [1.0]


def raising(query: str, texts: Sequence[str]) -> list[float]:
    raise RuntimeError("no GPU")


def test_another_reranker_decides_the_order() -> None:
    with filled(reranker=longest_first) as memory:
        found = recalled(memory, "the review of the booking site")
        lengths = [len(text) for text in found]
        assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("reranker", [not_a_number, too_few, raising])
def test_a_broken_reranker_leaves_the_order_and_is_reported(reranker: object) -> None:
    with filled() as memory, filled(reranker=reranker) as broken:
        query = "What happened to the booking site?"
        result = broken.recall("b", query, query_time=NOW)
        assert [item.memory.text for item in result] == recalled(memory, query)
        assert [failure.part for failure in result.failures] == ["reranker"]


def test_without_reranking_the_fusion_decides() -> None:
    with filled(reranker=None) as memory:
        result = memory.recall("b", "INV-20417", query_time=NOW)
        assert result.memories[0].memory.text == "Invoice INV-20417 is for the radar repair."
        fused = [item.fused for item in result]
        assert np.argmax(fused) == 0


# Order


def test_recall_is_deterministic(bank: Hindsight) -> None:
    runs = [recalled(bank, "What happened to the booking site last spring?") for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]


def test_what_changes_between_two_recalls_is_seen(changing: Hindsight) -> None:
    """Recall caches what it read for the first question, but not past a change."""
    query = "Who works on Project Heron?"

    def found() -> dict[str, Memory]:
        return {item.memory.text: item.memory for item in changing.recall("b", query)}

    works = found()["Alice works on Project Heron."]
    works.metadata["mine"] = True  # type: ignore[index]
    changing.entities.rename("b", "Alice", "Alice Okafor")
    assert found()["Alice works on Project Heron."].entities[0] == "Alice Okafor"
    changing.retain("b", "Alice works on Project Heron.", document_id="again")
    assert found()["Alice works on Project Heron."].proof_count == 2
    changing.memories.update("b", works.id, text="Alice has left Project Heron.")
    assert found()["Alice has left Project Heron."].metadata == {}
    changing.forget("b", works.id)
    assert works.id not in {memory.id for memory in found().values()}
    changing.retain("b", "Mara works on Project Heron.")
    assert "Mara works on Project Heron." in found()


def test_a_speaker_named_in_the_question_counts(memory: Hindsight) -> None:
    said = [("Maya", "My cat is called Miso."), ("Jonas", "My cat is called Pesto.")]
    messages = [
        Message(who, what, NOW + timedelta(minutes=n)) for n, (who, what) in enumerate(said)
    ]
    memory.retain_messages("b", messages)
    assert recalled(memory, "What is Jonas's cat called?")[0] == "My cat is called Pesto."


def test_what_says_something_counts_more_than_small_talk(memory: Hindsight) -> None:
    said = ["Wow, so nice!", "I booked the ferry to Bergen for 3 May.", "Yeah, so nice."]
    turns = [Message("Jonas", text, NOW) for text in said]
    memory.retain_messages("b", [*turns, Message("Mia", "Have a good trip!", NOW)])
    found = memory.recall("b", "What did Jonas say?", query_time=NOW)
    substance = {
        item.memory.text: signal.contribution
        for item in found
        for signal in item.signals
        if signal.name == "information"
    }
    assert max(substance, key=substance.__getitem__) == said[1]


def test_a_session_outside_the_time_asked_for_lends_nothing(memory: Hindsight) -> None:
    for month, rest in ((1, "The booking site is down."), (4, "The tide was high.")):
        said = [rest, "A digger cut the fibre.", rest]
        day = datetime(2025, month, 9, tzinfo=UTC)
        messages = [
            Message("Jonas", text, day + timedelta(minutes=n)) for n, text in enumerate(said)
        ]
        memory.retain_messages("b", messages, session=str(month))
    result = memory.recall("b", "Why was the booking site down last spring?", query_time=NOW)
    outside = [item for item in result if item.memory.mentioned_at.month == 1]
    lent = [s.contribution for item in outside for s in item.signals if s.name == "session"]
    assert max(lent, default=0.0) <= 0.0


def test_a_small_bank_is_scored_whole_unless_arms_are_chosen(bank: Hindsight) -> None:
    assert bank.recall("b", "window seats").considered == len(FACTS)
    assert bank.recall("b", "window seats", arms=["keyword"]).considered == 1
    assert bank.recall("b", "window seats", types=["opinion"]).considered == 0


def test_every_result_says_why(bank: Hindsight) -> None:
    result = bank.recall("b", "What happened to the booking site last spring?", query_time=NOW)
    for item in result:
        assert item.arms or any(signal.contribution > 0 for signal in item.signals)
        assert item.total == pytest.approx(sum(s.contribution for s in item.signals))
        assert 0.0 <= item.score <= 1.0
    assert result.timings is not None
    assert result.timings["total"] > 0


def test_a_recalled_memory_has_all_that_its_memory_has_and_stands_in_a_set(
    memory: Hindsight,
) -> None:
    memory.retain("b", "The boiler in Leeds broke.", metadata={"room": 3}, speaker="Ann")
    result = memory.recall("b", "boiler")
    best: tuple[Recalled, ...] = result[:3]  # mypy checks the type
    (found,) = best
    assert best == result.memories
    names = {name for name in dir(found.memory) if not name.startswith("_")} - {"to_dict"}
    assert {"speaker", "bank_id", "occurred_start", "document_id"} <= names
    assert found.to_dict()["memory"] == found.memory.to_dict()
    for name in names:
        assert getattr(found, name) == getattr(found.memory, name), name
    assert {found, found} == {found}
    assert set(memory.memories.list("b").items) == {found.memory}
    assert len({memory.banks.get("b"), memory.banks.stats("b"), Message("Ann", "Hello.")}) == 3
