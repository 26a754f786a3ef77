"""Low-rank changes that adapt the bundled model to memory, added to its weights as it is loaded.

all-MiniLM-L6-v2 was trained on sentences of the web. Asked "What does Nadia do for a living?", it
prefers "Oleg: Nadia, what does that even do?" to "Nadia: got the job at the harbour office!!". The
adapter was trained on worlds of memories and questions that were written for it
(`benchmarks/embedder`): chats, diaries, notes, preferences, plans, and what is said or asked when
one of them matters.

Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022: a matrix W
becomes W + A B, where A and B are thin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.nlp.blas import one_core

Matrix = NDArray[np.float32]

FILE = Path(__file__).with_name("adapter.npz")


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one matrix of the model.

    Attributes:
        name: of the matrix in the model's graph.
        offset: of its first byte in the file of the model's weights.
        down: A, shape (inputs, rank).
        up: B, shape (rank, outputs).
    """

    name: str
    offset: int
    down: Matrix
    up: Matrix

    def applied(self, weights: Path) -> Matrix:
        """Return the changed matrix, read from the file of the model's weights."""
        shape = len(self.down), self.up.shape[1]
        count = shape[0] * shape[1]
        read = np.fromfile(weights, np.float32, count, offset=self.offset).reshape(shape)
        changed: Matrix = read + self.down @ self.up
        return changed


def save_changes(changes: list[Change], file: Path = FILE) -> None:
    """Write the changes in half precision."""
    held: dict[str, Any] = {
        "names": np.array([change.name for change in changes]),
        "offsets": np.array([change.offset for change in changes]),
    }
    for number, change in enumerate(changes):
        held[f"down{number}"] = change.down.astype(np.float16)
        held[f"up{number}"] = change.up.astype(np.float16)
    np.savez(file, **held)


def load_changes(file: Path = FILE) -> tuple[Change, ...]:
    """Return the changes in a file, by default those that come with the package."""
    with np.load(file) as held:
        return tuple(
            Change(
                str(name),
                int(offset),
                held[f"down{number}"].astype(np.float32),
                held[f"up{number}"].astype(np.float32),
            )
            for number, (name, offset) in enumerate(
                zip(held["names"], held["offsets"], strict=True)
            )
        )


def changed_weights(weights: Path) -> Mapping[str, Matrix]:
    """Return the adapted matrices by name, for the file of the bundled model's weights."""
    with one_core():  # on several, small products mostly wait for the threads of one another
        return {change.name: change.applied(weights) for change in load_changes()}
