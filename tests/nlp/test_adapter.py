"""The default embedder: the published model with thin changes of its matrices."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedder.worlds import FOLDER, worlds
from hindsight_integrations import Hindsight, MemoryMiniLM, ModelFilesError
from hindsight_integrations.nlp import minilm
from hindsight_integrations.nlp.adapter import (
    Change,
    changed_weights,
    load_changes,
    save_changes,
)
from hindsight_integrations.nlp.minilm import bundled, find_model_files, published
from hindsight_integrations.nlp.onnx_encoder import ModelFiles

LAYERS, MATRICES = 6, 6


def test_a_change_is_added_to_the_matrix_at_its_place(tmp_path: Path) -> None:
    weights = np.arange(10, dtype=np.float32)
    weights.tofile(tmp_path / "weights")
    down, up = np.array([[1.0], [2.0]], np.float32), np.array([[10.0, 20.0, 30.0]], np.float32)
    change = Change("matrix", 8, down, up)  # its first number is the third of the file
    # [[2, 3, 4], [5, 6, 7]] + [[1], [2]] [[10, 20, 30]]
    assert change.applied(tmp_path / "weights").tolist() == [[12, 23, 34], [25, 46, 67]]
    save_changes([change], tmp_path / "adapter.npz")
    (read,) = load_changes(tmp_path / "adapter.npz")
    assert (read.name, read.offset) == ("matrix", 8)
    assert (read.down == down).all()
    assert (read.up == up).all()


def test_the_adapter_changes_every_matrix_of_the_model_a_little() -> None:
    weights = find_model_files().model.with_name("model.onnx_data")
    changed = changed_weights(weights)
    assert len(changed) == LAYERS * MATRICES
    for change in load_changes():
        plain = changed[change.name] - change.down @ change.up
        moved = np.linalg.norm(change.down @ change.up) / np.linalg.norm(plain)
        assert 0.01 < moved < 0.5, change.name


ASKED = {
    "What does Nadia do for a living?": (
        "Nadia: got the job at the harbour office!!",
        "Oleg: Nadia, what does that even do?",
    ),
    "What health problems has Marta had?": (
        "Marta: my knee gave out again on the stairs",
        "Jo: How are you, Marta? What have you been up to?",
    ),
}
"""Question, the memory that answers it, and one that sounds like it."""


@pytest.mark.parametrize("question", ASKED)
def test_the_adapted_model_finds_what_answers_before_what_sounds_alike(question: str) -> None:
    texts = ASKED[question]
    answers, sounds_alike = bundled().embed(texts) @ bundled().embed_query(question)
    assert answers > sounds_alike
    answers, sounds_alike = published().embed(texts) @ published().embed_query(question)
    assert answers < sounds_alike


def test_banks_of_the_published_model_go_on_and_can_be_moved(tmp_path: Path) -> None:
    with Hindsight(tmp_path, embedder="all-MiniLM-L6-v2") as memory:
        memory.retain("a", "Nadia works at the harbour office.")
        assert memory.recall("a", "Where does Nadia work?")
    with Hindsight(tmp_path) as memory:
        assert memory.maintenance.reindex("a") == 1
        assert memory.recall("a", "Where does Nadia work?")


def test_another_export_of_the_model_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = find_model_files()
    alone = tmp_path / "model.onnx"
    shutil.copy(held.model, alone)  # one file, as the model hub and Chroma have it
    monkeypatch.setattr(minilm, "find_model_files", lambda _: ModelFiles(alone, held.tokenizer))
    with pytest.raises(ModelFilesError, match=r'not the export.*embedder="all-MiniLM-L6-v2"'):
        MemoryMiniLM().embed(["Nadia works at the harbour office."])


def test_the_worlds_that_it_was_trained_on_are_whole() -> None:
    seen = set()
    files = set()
    for world in worlds():  # which checks what each query points to
        files.add(world.file)
        assert len(world.memories) >= 10
        assert world.queries
        assert world.memories not in seen
        seen.add(world.memories)
    assert files == {path.stem for path in FOLDER.glob("*.jsonl")}
    assert len(seen) == 2347
