"""Mental models: the summaries that a user curates, kept by id."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from hindsight_integrations.model import MentalModel
from hindsight_integrations.storage.sqlite.codec import (
    MENTAL_MODEL_COLUMNS,
    mental_model_of,
    mental_model_row,
)
from hindsight_integrations.storage.sqlite.keys import BankRange, new_keys


def read(cursor: sqlite3.Cursor, bank: BankRange) -> list[MentalModel]:
    """All of the bank, by id."""
    rows = cursor.execute(
        f"SELECT {MENTAL_MODEL_COLUMNS} FROM mental_models WHERE bank = ? ORDER BY id", (bank.no,)
    )
    return [mental_model_of(row, bank.id) for row in rows]


def store(cursor: sqlite3.Cursor, bank: BankRange, models: Sequence[MentalModel]) -> None:
    """Store mental models, or overwrite those of the same id."""
    columns = MENTAL_MODEL_COLUMNS.split(", ")
    cursor.executemany(
        f"INSERT INTO mental_models (key, bank, {MENTAL_MODEL_COLUMNS}) "
        f"VALUES ({', '.join('?' * (len(columns) + 2))}) ON CONFLICT (bank, id) DO UPDATE SET "
        f"{', '.join(f'{column} = excluded.{column}' for column in columns)}",
        [
            (key, bank.no, *mental_model_row(model))
            for key, model in zip(new_keys(cursor, bank, len(models)), models, strict=True)
        ],
    )


def remove(cursor: sqlite3.Cursor, bank: BankRange, ids: Iterable[str]) -> None:
    """Remove mental models; unknown ids are passed over."""
    cursor.executemany(
        "DELETE FROM mental_models WHERE bank = ? AND id = ?", [(bank.no, id) for id in ids]
    )
