"""Test data: banks of items, and questions with the ids of the items that answer them.

The file is JSON; docs/benchmarks.md describes the fields. Errors name the bank, the item or
question, and the field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from hindsight_integrations.evaluate.entries import Entry, distinct

_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class DataItem:
    """An item to retain: a message if it has a speaker, else a text."""

    id: str
    text: str
    speaker: str | None = None
    ts: datetime | None = None
    session: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of an item that answer a question; the rest of the item need not come back."""

    item_id: str
    text: str

    def is_in(self, text: str) -> bool:
        """Return True if a text holds the passage, white space and capitals aside."""
        return _plain(self.text) in _plain(text)


@dataclass(frozen=True, slots=True)
class DataQuestion:
    """A question and its evidence.

    Attributes:
        gold: ids of the items that hold the evidence; may be empty if `gold_sessions` is not.
        passages: the evidence in items that say more than it; then just these are counted.
        scored: False if it counts in its category only, not in the overall figures.
        gold_sessions: sessions that hold the evidence; those of the gold items, if not given.
    """

    id: str
    question: str
    gold: tuple[str, ...]
    category: str = ""
    time: datetime | None = None
    scored: bool = True
    gold_sessions: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class DataBank:
    """Items of one bank, and the questions about them; those without evidence are left out."""

    id: str
    items: tuple[DataItem, ...]
    questions: tuple[DataQuestion, ...]

    def scored(self, every: int = 1) -> tuple[DataQuestion, ...]:
        """Return every `every`-th of the scored questions that have gold items."""
        return tuple(each for each in self.questions if each.scored and each.gold)[::every]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Banks with their questions."""

    name: str
    banks: tuple[DataBank, ...]


def parse_dataset(content: object, *, name: str = "dataset") -> Dataset:
    """Return the dataset of a JSON value; `name` is used if it has none of its own.

    Raises:
        InvalidInputError: a field is missing or cannot be used.
    """
    top = Entry.of(content, "the dataset")
    banks = tuple(map(_bank, top.entries("banks", "bank")))
    distinct([bank.id for bank in banks], "the dataset: 'banks'")
    return Dataset(name=top.optional("dataset") or name, banks=banks)


def _bank(entry: Entry) -> DataBank:
    items = tuple(map(_item, entry.entries("items", "item")))
    distinct([item.id for item in items], f"{entry.where}: 'items'")
    questions = [_question(question, items) for question in entry.entries("questions", "question")]
    distinct([question.id for question in questions], f"{entry.where}: 'questions'")
    return DataBank(entry.required("id"), items, answerable(questions))


def answerable(questions: Sequence[DataQuestion]) -> tuple[DataQuestion, ...]:
    """Return the questions that have evidence."""
    return tuple(each for each in questions if each.gold or each.gold_sessions)


def sessions_of(gold: Collection[str], items: Sequence[DataItem]) -> tuple[str, ...]:
    """Return the sessions of the items with these ids, in their order."""
    return tuple(dict.fromkeys(item.session for item in items if item.id in gold and item.session))


def by_paragraph(dataset: Dataset) -> Dataset:
    """Return a dataset with an item for each paragraph, as one cuts documents for plain search.

    Its questions are those with passages.
    """
    return replace(dataset, banks=tuple(map(_paragraphs_of, dataset.banks)))


def _paragraphs_of(bank: DataBank) -> DataBank:
    cut = {item.id: list(_paragraphs(item)) for item in bank.items}
    items = tuple(chain.from_iterable(cut.values()))
    questions = []
    for question in bank.questions:
        passages = tuple(
            Passage(paragraph.id, passage.text)
            for passage in question.passages
            for paragraph in cut[passage.item_id]
            if passage.is_in(paragraph.text)
        )
        gold = tuple(dict.fromkeys(passage.item_id for passage in passages))
        if passages:
            questions.append(replace(question, gold=gold, passages=passages))
    return replace(bank, items=items, questions=tuple(questions))


def _paragraphs(item: DataItem) -> Iterator[DataItem]:
    texts = filter(None, map(str.strip, _BLANK_LINES.split(item.text)))
    for number, text in enumerate(texts, start=1):
        yield replace(item, id=f"{item.id}/{number}", text=text)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _item(entry: Entry) -> DataItem:
    return DataItem(
        id=entry.required("id"),
        text=entry.required("text"),
        speaker=entry.optional("speaker"),
        ts=entry.timestamp("ts"),
        session=entry.optional("session"),
        title=entry.optional("title"),
    )


def _question(entry: Entry, items: Sequence[DataItem]) -> DataQuestion:
    texts = {item.id: item.text for item in items}
    passages: tuple[Passage, ...] = ()
    if entry.fields.get("passages") is None:
        gold = _references(entry, "gold", texts, "item")
    else:
        passages = tuple(_passage(one, texts) for one in entry.entries("passages", "passage"))
        gold = tuple(dict.fromkeys(passage.item_id for passage in passages))
    given = entry.fields.get("gold_sessions") is not None
    known = {item.session for item in items if item.session}
    return DataQuestion(
        id=entry.required("id"),
        question=entry.required("question"),
        gold=gold,
        category=entry.optional("category") or "",
        time=entry.timestamp("time"),
        scored=entry.flag("scored", default=True),
        gold_sessions=_references(entry, "gold_sessions", known, "session")
        if given
        else sessions_of(gold, items),
        passages=passages,
    )


def _passage(entry: Entry, texts: Mapping[str, str]) -> Passage:
    passage = Passage(entry.required("item"), entry.required("text"))
    if passage.item_id not in texts:
        raise entry.refused("item", "it is no item of the bank; give the id of one")
    if not passage.is_in(texts[passage.item_id]):
        raise entry.refused("text", f"item {passage.item_id!r} does not say so; copy its words")
    return passage


def _references(entry: Entry, name: str, known: Collection[str], kind: str) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(map(str, entry.array(name))))
    if strangers := [each for each in given if each not in known]:
        raise entry.refused(
            name, f"{strangers[0]!r} is no {kind} of the bank; give the ids of its {kind}s"
        )
    return given
