"""A user's own test data: banks of items, and questions with the items that answer them.

The file is JSON; docs/benchmarks.md describes the fields. Whatever is wrong with it is refused
with the bank, the item or question, and the field it stands in.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class DataItem:
    """One thing to remember: a message if it has a speaker, a text otherwise."""

    id: str
    text: str
    speaker: str | None = None
    ts: datetime | None = None
    session: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class DataQuestion:
    """A question, and the ids of the items that hold its evidence.

    One that is not `scored` appears in its category, and not in the overall figures.
    """

    id: str
    question: str
    gold: tuple[str, ...]
    category: str = ""
    time: datetime | None = None
    scored: bool = True


@dataclass(frozen=True, slots=True)
class DataBank:
    """Items that are remembered together, and the questions about them."""

    id: str
    items: tuple[DataItem, ...]
    questions: tuple[DataQuestion, ...]

    def scored(self, every: int = 1) -> tuple[DataQuestion, ...]:
        """The scored questions, or only every so many of them."""
        return tuple(question for question in self.questions if question.scored)[::every]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Banks with their questions. Questions without any evidence were left out."""

    name: str
    banks: tuple[DataBank, ...]


def load_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Read a dataset from a JSON file.

    Raises:
        InvalidInputError: the file cannot be read, or a field cannot be used.
    """
    file = Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidInputError(f"{file} is not JSON in UTF-8: {error}") from error
    return parse_dataset(content, name=file.stem)


def parse_dataset(content: object, *, name: str = "dataset") -> Dataset:
    """A dataset from its JSON value. `name` is for one that carries no name of its own.

    Raises:
        InvalidInputError: a field is missing or cannot be used.
    """
    top = _Entry.of(content, "the dataset")
    banks = tuple(map(_bank, top.entries("banks", "bank")))
    _distinct([bank.id for bank in banks], "the dataset: 'banks'")
    return Dataset(name=top.optional("dataset") or name, banks=banks)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A JSON object, and where in the file it stands."""

    where: str
    fields: Mapping[str, object]

    @classmethod
    def of(cls, value: object, where: str) -> _Entry:
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{where} is {checks.shown(value)}; give a JSON object")
        return cls(where, value)

    def optional(self, name: str) -> str | None:
        """A text or a whole number, as text; None if it is absent, null or blank."""
        value = self.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise self.refused(name, "give text")
        return value if value and value.strip() else None

    def required(self, name: str) -> str:
        value = self.optional(name)
        if value is None:
            raise self.refused(name, "give text that is not blank")
        return value

    def moment(self, name: str) -> datetime | None:
        text = self.optional(name)
        try:
            return datetime.fromisoformat(text) if text else None
        except ValueError as error:
            raise self.refused(name, "give ISO 8601, such as 2024-05-07T13:56") from error

    def array(self, name: str) -> Sequence[object]:
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise self.refused(name, "give a list")
        return value

    def entries(self, name: str, kind: str) -> list[_Entry]:
        """The objects of a list, each known by its place and, if it has one, its id."""
        values = self.array(name)
        if not values and kind != "question":
            raise self.refused(name, f"give at least one {kind}")
        inside = "" if kind == "bank" else f"{self.where}, "
        return [
            _Entry.of(value, f"{inside}{kind} {_shown_id(value, number)}")
            for number, value in enumerate(values)
        ]

    def refused(self, name: str, advice: str) -> InvalidInputError:
        given = checks.shown(self.fields[name]) if name in self.fields else "missing"
        return InvalidInputError(f"{self.where}: {name!r} is {given}; {advice}")


def _shown_id(value: object, number: int) -> str:
    named = value.get("id") if isinstance(value, Mapping) else None
    return f"number {number}" if named in (None, "") else checks.shown(named)


def _distinct(ids: Sequence[str], where: str) -> None:
    repeated = [given for given, count in Counter(ids).items() if count > 1]
    if repeated:
        raise InvalidInputError(f"{where} holds the id {repeated[0]!r} twice; give each its own")


def _bank(entry: _Entry) -> DataBank:
    items = tuple(map(_item, entry.entries("items", "item")))
    _distinct([item.id for item in items], f"{entry.where}: 'items'")
    known = frozenset(item.id for item in items)
    questions = [_question(found, known) for found in entry.entries("questions", "question")]
    _distinct([question.id for question in questions], f"{entry.where}: 'questions'")
    answerable = tuple(question for question in questions if question.gold)
    return DataBank(entry.required("id"), items, answerable)


def _item(entry: _Entry) -> DataItem:
    return DataItem(
        id=entry.required("id"),
        text=entry.required("text"),
        speaker=entry.optional("speaker"),
        ts=entry.moment("ts"),
        session=entry.optional("session"),
        title=entry.optional("title"),
    )


def _question(entry: _Entry, known: frozenset[str]) -> DataQuestion:
    gold = tuple(dict.fromkeys(map(str, entry.array("gold"))))
    if strangers := [item_id for item_id in gold if item_id not in known]:
        raise entry.refused(
            "gold", f"{strangers[0]!r} is no item of the bank; give the ids of its items"
        )
    scored = entry.fields.get("scored", True)
    if not isinstance(scored, bool):
        raise entry.refused("scored", "give true or false")
    return DataQuestion(
        id=entry.required("id"),
        question=entry.required("question"),
        gold=gold,
        category=entry.optional("category") or "",
        time=entry.moment("time"),
        scored=scored,
    )
