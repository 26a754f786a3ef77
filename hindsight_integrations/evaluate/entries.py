"""Read the fields of JSON objects; an error names the object, its field, and what to give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Entry:
    """A JSON object, and its position in the file, for error messages."""

    where: str
    fields: Mapping[str, object]

    @classmethod
    def of(cls, value: object, where: str) -> Entry:
        """Return a JSON value as an entry. Raises `InvalidInputError` if it is no object."""
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{where} is {validation.shown(value)}; give a JSON object")
        return cls(where, value)

    def optional(self, name: str) -> str | None:
        """Return a text or a whole number as text; None if it is absent, null or blank."""
        value = self.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise self.refused(name, "give text")
        return value if value and value.strip() else None

    def required(self, name: str) -> str:
        """Return a text that is not blank, or a whole number as text."""
        value = self.optional(name)
        if value is None:
            raise self.refused(name, "give text that is not blank")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false; the default if it is absent."""
        value = self.fields.get(name, default)
        if not isinstance(value, bool):
            raise self.refused(name, "give true or false")
        return value

    def timestamp(self, name: str) -> datetime | None:
        """Return a date or time in ISO 8601; None if it is absent, null or blank."""
        text = self.optional(name)
        try:
            return datetime.fromisoformat(text) if text else None
        except ValueError as error:
            raise self.refused(name, "give ISO 8601, such as 2024-05-07T13:56") from error

    def array(self, name: str) -> Sequence[object]:
        """Return a list."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise self.refused(name, "give a list")
        return value

    def entries(self, name: str, kind: str) -> list[Entry]:
        """Return the objects of a list, each named by its id or, if it has none, its number."""
        values = self.array(name)
        if not values and kind != "question":
            raise self.refused(name, f"give at least one {kind}")
        inside = "" if kind == "bank" else f"{self.where}, "
        return named(values, f"{inside}{kind}")

    def refused(self, name: str, advice: str) -> InvalidInputError:
        """Return the error for a field, with what to give in its place."""
        given = validation.shown(self.fields[name]) if name in self.fields else "missing"
        return InvalidInputError(f"{self.where}: {name!r} is {given}; {advice}")


def named(values: Sequence[object], kind: str, key: str = "id") -> list[Entry]:
    """Return objects as entries, each named by the field `key` or, if it has none, its number."""
    return [
        Entry.of(value, f"{kind} {_shown_id(value, number, key)}")
        for number, value in enumerate(values)
    ]


def _shown_id(value: object, number: int, key: str) -> str:
    given = value.get(key) if isinstance(value, Mapping) else None
    return f"number {number}" if given in (None, "") else validation.shown(given)


def distinct(ids: Sequence[str], where: str) -> None:
    """Raise `InvalidInputError` if an id occurs twice."""
    repeated = [given for given, count in Counter(ids).items() if count > 1]
    if repeated:
        raise InvalidInputError(f"{where} holds the id {repeated[0]!r} twice; give each its own")
