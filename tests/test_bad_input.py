"""Bad input: handled as a user would expect, or refused by an error that says what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_integrations import (
    ContentTooLargeError,
    EmbeddingError,
    Hindsight,
    InvalidInputError,
    Memory,
    Settings,
)

Call = Callable[[Hindsight], Any]


def only_text(memory: Hindsight) -> str:
    items = memory.memories.list("b").items
    assert len(items) == 1
    return items[0].text


class NaT(datetime):
    """A datetime that is no time, as that of pandas."""

    def utcoffset(self) -> Any:
        raise ValueError("NaTType does not support utcoffset")


class Table(list[str]):
    """A table as that of pandas, which yields the names of its columns."""

    columns = ("content", "tags")


NO_TIME = NaT(1, 1, 1)


def raised(error: Exception) -> None:
    raise error


REFUSED: dict[str, tuple[Call, str]] = {
    "empty content": (lambda m: m.retain("b", ""), "blank"),
    "blank content": (lambda m: m.retain("b", " \n\t\u200b"), "blank"),
    "content that is not text": (lambda m: m.retain("b", 7), "content is 7; give text"),
    "content of nothing": (lambda m: m.retain("b", None), "content is None; give text"),
    "5 MB of text": (lambda m: m.retain("b", "word " * 1_000_000), "split it into parts"),
    "confidence 1.2": (lambda m: m.retain("b", "x", confidence=1.2), "0 (doubtful) to 1"),
    "confidence NaN": (lambda m: m.retain("b", "x", confidence=float("nan")), "0 (doubtful)"),
    "an unknown type": (lambda m: m.retain("b", "x", type="rumour"), "choose from world"),
    "a timestamp that is no time": (
        lambda m: m.retain("b", "x", timestamp=NO_TIME),
        "give a datetime",
    ),
    "an expiry that is no time": (
        lambda m: m.retain("b", "x", expires_at=NO_TIME),
        "give a datetime",
    ),
    "a table instead of items": (
        lambda m: m.retain_many("b", Table(["content", "tags"])),
        "to_dict('records')",
    ),
    "a table instead of messages": (
        lambda m: m.retain_messages("b", Table(["speaker", "text"])),
        "to_dict('records')",
    ),
    "a column of a table that is no field": (
        lambda m: raised(m.retain_many("b", [{"content": "x", "customer": "Ann"}]).failed[0].error),
        "fields of your own go into 'metadata'",
    ),
    "a timestamp as text": (lambda m: m.retain("b", "x", timestamp="today"), "give a datetime"),
    "a where test without operator": (
        lambda m: m.recall("full", "x", where={"tenant": {}}),
        "operator such as",
    ),
    "a where test for None": (
        lambda m: m.recall("full", "x", where={"tenant": None}),
        "{'$exists': False}",
    ),
    "a graph of a million entities": (
        lambda m: m.graph("full", limit=10**6),
        "give at most 1000",
    ),
    "a memory of two entities given as text": (
        lambda m: m.retain_memory("b", Memory("m1", "b", "x", entities="Bob")),  # type: ignore[arg-type]
        "memory.entities",
    ),
    "a memory whose times are texts": (
        lambda m: m.retain_memory("b", Memory("m1", "b", "x", occurred=("2030",))),  # type: ignore[arg-type]
        "memory.occurred",
    ),
    "a memory that is pinned by a word": (
        lambda m: m.retain_memory("b", Memory("m1", "b", "x", pinned="yes")),  # type: ignore[arg-type]
        "memory.pinned",
    ),
    "a memory of an unknown kind": (
        lambda m: m.retain_memory("b", Memory("m1", "b", "x", kind="rumour")),
        "memory.kind",
    ),
    "a memory that expires at a text": (
        lambda m: m.retain_memory("b", Memory("m1", "b", "x", expires_at="soon")),  # type: ignore[arg-type]
        "memory.expires_at",
    ),
    "a text of 101 entities": (
        lambda m: m.retain("b", "x", entities=[f"Zed {n}" for n in range(101)]),
        "entities has 101 names; give at most 100",
    ),
    "a memory of 101 entities": (
        lambda m: m.retain_memory("b", Memory("m1", "b", "x", entities=("Zed",) * 101)),
        "memory.entities has 101 names",
    ),
    "an unknown update mode": (lambda m: m.retain("b", "x", update_mode="merge"), "'append'"),
    "nested metadata": (lambda m: m.retain("b", "x", metadata={"a": {"b": 1}}), "flatten"),
    "metadata of None": (lambda m: m.retain("b", "x", metadata={"a": None}), "instead of None"),
    "metadata of 10,000 keys": (
        lambda m: m.retain("b", "x", metadata={f"k{n}": n for n in range(10_000)}),
        "at most 200",
    ),
    "metadata NaN": (lambda m: m.retain("b", "x", metadata={"a": float("nan")}), "leave the field"),
    "metadata beyond 64 bits": (lambda m: m.retain("b", "x", metadata={"a": 2**70}), "as text"),
    "tags as one text": (lambda m: m.retain("b", "x", tags="red"), "give a list"),
    "a blank tag": (lambda m: m.retain("b", "x", tags=[" "]), "a tag is blank"),
    "a blank bank id": (lambda m: m.retain(" ", "x"), "bank_id is blank"),
    "a bank id with white space around it": (
        lambda m: m.retain(" b\u3000", "x"),
        "around it; give 'b' for a new bank",
    ),
    "a bank created with white space around its id": (
        lambda m: m.banks.create("b "),
        "around it; give 'b' for a new bank",
    ),
    "a bank id with a NUL": (lambda m: m.retain("a\0b", "x"), "control characters"),
    "a bank id with a line break": (lambda m: m.retain("a\nb", "x"), "control characters"),
    "a bank id of 257 characters": (lambda m: m.retain("a" * 257, "x"), "at most 256"),
    "a bank id that is a number": (lambda m: m.retain(3, "x"), "is 3; give text"),
    "one message instead of a list": (
        lambda m: m.retain_messages("b", {"role": "user", "content": "x"}),
        "a list of messages",
    ),
    "a message without a speaker": (lambda m: m.retain_messages("b", [{"text": "x"}]), "speaker"),
    "a message with a broken time": (
        lambda m: m.retain_messages("b", [{"role": "u", "content": "x", "time": "noon"}]),
        "ISO 8601",
    ),
    "one item instead of a list": (lambda m: m.retain_many("b", "text"), "give a list of items"),
    "a blank query": (lambda m: m.recall("full", "  "), "query is blank"),
    "a query of 1 MB": (lambda m: m.recall("full", "x" * 1_000_000), "at most 20,000"),
    "budget huge": (lambda m: m.recall("full", "x", budget="huge"), "low, mid, high"),
    "max_tokens 0": (lambda m: m.recall("full", "x", max_tokens=0), "at least 1"),
    "max_tokens -5": (lambda m: m.recall("full", "x", max_tokens=-5), "at least 1"),
    "max_tokens 2.5": (lambda m: m.recall("full", "x", max_tokens=2.5), "whole number"),
    "max_tokens True": (lambda m: m.recall("full", "x", max_tokens=True), "whole number"),
    "chunk_tokens -1": (lambda m: m.recall("full", "x", chunk_tokens=-1), "at least 0"),
    "min_score 3": (lambda m: m.recall("full", "x", min_score=3), "from 0 to 1"),
    "an unknown arm": (
        lambda m: m.recall("full", "x", arms=["magic"]),
        "entity, keyword, semantic",
    ),
    "no arm": (lambda m: m.recall("full", "x", arms=[]), "arms is empty"),
    "no type": (lambda m: m.recall("full", "x", types=[]), "types is empty"),
    "no bank": (lambda m: m.recall([], "x"), "no bank given"),
    "an unknown operator": (
        lambda m: m.recall("full", "x", where={"a": {"$regex": "."}}),
        "operators are $eq",
    ),
    "a window that ends before it starts": (
        lambda m: m.recall("full", "x", window=(datetime(2025, 2, 1), datetime(2025, 1, 1))),
        "must end after it starts",
    ),
    "a window of one moment": (lambda m: m.recall("full", "x", window=datetime.now()), "pair"),
    "nothing to forget": (lambda m: m.forget("full"), "give ids"),
    "a dry run that is no flag": (lambda m: m.forget("full", tags=["x"], dry_run=None), "dry_run"),
    "dated, but no flag": (lambda m: m.retain_memories("full", [], dated="no"), "dated is 'no'"),
    "a page of a million": (lambda m: m.memories.list("full", limit=10**6), "at most 1000"),
    "a million entities": (lambda m: m.entities.list("full", limit=10**6), "at most 1000"),
    "a million opinions": (lambda m: m.opinions.list("full", limit=10**6), "at most 1000"),
    "a wait of -1 s": (lambda m: m.wait_idle(-1), "give a number of seconds, 0 or more"),
    "an endless wait": (lambda m: m.wait_idle(float("inf")), "give a number of seconds"),
    "a made-up cursor": (lambda m: m.memories.list("full", cursor="x'; --"), "cursor"),
    "a setting out of range": (lambda m: Settings(batch_size=0), "batch_size"),
    "a setting of the wrong kind": (
        lambda m: Settings.from_env({"HINDSIGHT_RRF_K": "sixty"}),
        "HINDSIGHT_RRF_K",
    ),
    "nowhere to keep memories": (lambda m: Hindsight(), "give a folder"),
    "an extractor that is none": (lambda m: Hindsight.in_memory(extractor=3), "extract"),
    "a reranker that is none": (lambda m: Hindsight.in_memory(reranker=3), "reranker"),
    "an embedder that is none": (lambda m: Hindsight.in_memory(embedder=3), "embed"),
}


@pytest.fixture(scope="module")
def untouched() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("full", "Something is in here.")
        yield memory


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_what_to_do_and_nothing_touched(untouched: Hindsight, name: str) -> None:
    call, advice = REFUSED[name]
    with pytest.raises(InvalidInputError) as refusal:
        call(untouched)
    assert advice in str(refusal.value)
    assert len(str(refusal.value)) < 500
    assert [bank.id for bank in untouched.banks.list()] == ["full"]
    assert untouched.banks.stats("full").memories == 1


def test_a_misspelt_argument_is_one_of_hindsight() -> None:
    with pytest.raises(TypeError, match=r"^Hindsight.__init__\(\) got .* 'tokenizer'"):
        Hindsight(":memory:", tokenizer=len)  # type: ignore[call-arg]


ADDRESSES = [
    "localhost:8888",
    "10.0.0.7:80/",
    "neo4j://localhost:7687",
    "htp://x",
    "sqlite:///m.db",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match="with http:// or https://"):
        Hindsight(address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such name")
def test_a_folder_that_exists_may_be_named_like_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes:2024").mkdir()
    with Hindsight("notes:2024") as memory:
        assert memory.retain("b", "The ferry leaves at nine.").stored


def test_too_much_text_has_an_error_of_its_own(memory: Hindsight) -> None:
    with pytest.raises(ContentTooLargeError, match=r"5,000,000 characters.*max_content_chars"):
        memory.retain("b", "word " * 1_000_000)


STORED: dict[str, tuple[str, str]] = {
    "a lone surrogate": ("A broken \ud83d emoji.", "A broken \ufffd emoji."),
    "a surrogate pair": ("A split \ud83d\ude00 emoji.", "A split 😀 emoji."),
    "NUL bytes": ("Zero\0 bytes.", "Zero bytes."),
    "emoji alone": ("👩‍👩‍👧‍👦🎉", "👩‍👩‍👧‍👦🎉"),
    "right-to-left text": ("انتقلت ليلى إلى القاهرة في مايو.", "انتقلت ليلى إلى القاهرة في مايو."),
    "Hebrew": ("הפגישה היא בחדר 101.", "הפגישה היא בחדר 101."),
    "Chinese": ("会议在上海举行。", "会议在上海举行。"),
    "Thai": ("ประชุมที่กรุงเทพ", "ประชุมที่กรุงเทพ"),
    "combining marks": ("Zalgo t̷̢̧e̵x̶t̴ here.", "Zalgo t̷̢̧e̵x̶t̴ here."),
    "SQL": ("Robert'); DROP TABLE units;--", "Robert'); DROP TABLE units;--"),
    "FTS syntax": ('"a" OR b NEAR(c) * ^ -d', '"a" OR b NEAR(c) * ^ -d'),
    "one character": ("x", "x"),
    "one symbol": ("!", "!"),
    "one word of 3,000 characters": ("a" * 3000, "a" * 3000),
}


@pytest.mark.parametrize("name", STORED)
def test_unusual_text_is_stored_and_recalled(memory: Hindsight, name: str) -> None:
    given, expected = STORED[name]
    memory.retain("b", given)
    kept = " ".join(m.text for m in memory.memories.list("b").items)
    assert kept.replace(" ", "") == expected.replace(" ", "")
    result = memory.recall("b", given, fill=True)
    assert result.memories
    assert result.failures == ()


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2024, 5, 1, 12, 0),
    ],
)
def test_any_moment_is_kept(memory: Hindsight, moment: datetime) -> None:
    memory.retain("b", "It happened yesterday, in spring.", timestamp=moment)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    assert memory.memories.list("b").items[0].mentioned_at == aware
    result = memory.recall("b", "What happened yesterday?", query_time=moment)
    assert result.failures == ()
    assert result.memories


@pytest.mark.parametrize(
    "bank_id",
    [
        "a/b\\c",
        "it's",
        '"quoted"',
        "x'; DROP TABLE banks;--",
        "MATCH (n) DETACH DELETE n",
        "🐝 é",
        "..",
    ],
)
def test_any_printable_bank_id_works(memory: Hindsight, bank_id: str) -> None:
    memory.retain(bank_id, "Bees live here.")
    assert [b.id for b in memory.banks.list()] == [bank_id]
    assert memory.recall(bank_id, "Who lives here?").memories[0].memory.text == "Bees live here."
    memory.banks.delete(bank_id)
    assert memory.banks.list() == []


def nan(texts: Sequence[str]) -> np.ndarray:
    return np.full((len(texts), 8), np.nan)


class Fickle:
    """An embedder that is sound until `fault` is set."""

    id = "fickle"
    dimension = 8
    fault: Callable[[Sequence[str]], object] | None = None

    def embed(self, texts: Sequence[str]) -> object:
        if self.fault is not None:
            return self.fault(texts)
        rng = np.random.default_rng(0)
        return rng.normal(size=(len(texts), 8)).astype(np.float32)


def wrong_dimension(texts: Sequence[str]) -> np.ndarray:
    return np.ones((len(texts), 5), dtype=np.float32)


def raises(texts: Sequence[str]) -> object:
    raise ConnectionError("the embedding service is away")


@pytest.mark.parametrize("fault", [nan, wrong_dimension, raises])
def test_an_embedder_that_fails_leaves_nothing_half_stored(
    fault: Callable[[Sequence[str]], object],
) -> None:
    embedder = Fickle()
    with Hindsight.in_memory(embedder=embedder) as memory:
        memory.retain("b", "This one is fine.")
        embedder.fault = fault
        with pytest.raises(EmbeddingError, match="fickle"):
            memory.retain("b", "This one is not.", document_id="d")
        embedder.fault = None
        assert only_text(memory) == "This one is fine."
        assert memory.maintenance.doctor(repair=False).findings == ()
        memory.retain("b", "This one is not.", document_id="d")
        assert memory.banks.stats("b").memories == 2


@pytest.mark.parametrize("given", ["2024-05-07T13:56", "2024-05-07T13:56+00:00"])
def test_a_time_is_a_datetime_or_its_text(memory: Hindsight, given: str) -> None:
    for retain in (
        lambda: memory.retain("b", "A.", timestamp=given),
        lambda: memory.retain_many("b", [{"content": "B.", "timestamp": given}]),
        lambda: memory.retain_messages(
            "b", [{"role": "user", "content": "C.", "timestamp": given}]
        ),
    ):
        (stored,) = retain().stored
        assert stored.mentioned_at == datetime(2024, 5, 7, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize("day", [date(2024, 5, 7), datetime(2024, 5, 7, tzinfo=UTC)])
def test_metadata_and_filters_hold_no_dates(memory: Hindsight, day: date) -> None:
    with pytest.raises(InvalidInputError, match=r"metadata.*date"):
        memory.retain("b", "A.", metadata={"day": day})
    with pytest.raises(InvalidInputError, match="date"):
        memory.recall("b", "A?", where={"day": day})


def test_a_day_is_a_time(memory: Hindsight) -> None:
    (stored,) = memory.retain("b", "A.", timestamp=date(2024, 5, 7)).stored
    assert stored.mentioned_at == datetime(2024, 5, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("consolidate", "no", "True or False"), ("durable", "false", "True or False"),
        ("batch_size", 2.5, "whole number"), ("semantic_links", 2.5, "whole number"),
        ("max_tokens", True, "whole number"),
    ],
)  # fmt: skip
def test_a_setting_has_its_type(name: str, value: Any, wanted: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"settings\.{name} is .*{wanted}"):
        Settings(**{name: value})


def test_settings_are_no_mapping() -> None:
    with pytest.raises(InvalidInputError, match="give a Settings"):
        Hindsight.in_memory(settings={"max_tokens": 5})  # type: ignore[arg-type]


def test_an_item_without_a_time_does_not_fail_the_others(memory: Hindsight) -> None:
    items = [{"content": "A.", "timestamp": NO_TIME}, {"content": "B."}]
    result = memory.retain_many("b", items)
    assert [(each.index, type(each.error)) for each in result.failed] == [(0, InvalidInputError)]
    assert only_text(memory) == "B."


def test_tags_and_entities_may_be_generated(memory: Hindsight) -> None:
    (stored,) = memory.retain(
        "b", "They met.", tags=(t for t in ("x", "y")), entities=iter(["Zoe"])
    ).stored
    assert (stored.tags, stored.entities) == (("x", "y"), ("Zoe",))
    items = [{"content": "They parted.", "tags": iter(["z"])}]
    assert memory.retain_many("b", items).stored[0].tags == ("z",)


def test_numbers_and_flags_of_numpy_are_numbers_and_flags(memory: Hindsight) -> None:
    given = {"n": np.int64(3), "share": np.float32(0.5), "done": np.bool_(True)}
    confidence: Any = np.float32(0.5)
    (stored,) = memory.retain("b", "It is done.", metadata=given, confidence=confidence).stored
    assert stored.metadata == {"n": 3, "share": 0.5, "done": True}
    assert {type(value) for value in stored.metadata.values()} == {int, float, bool}
    limits: dict[str, Any] = {"max_tokens": np.int64(100), "min_score": np.float32(0)}
    found = memory.recall("b", "Is it done?", where={"n": np.int64(3)}, **limits)
    assert [each.id for each in found] == [stored.id]
    with pytest.raises(InvalidInputError, match="flatten"):
        memory.retain("b", "x", metadata={"row": np.array([1, 2])})
