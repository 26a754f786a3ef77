"""An import happens as a whole or not at all, and vectors are those of the embedder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_integrations import (
    Bank,
    BankExistsError,
    BankNotFoundError,
    EmbedderMismatchError,
    Hindsight,
    InvalidInputError,
)
from tests.embedders import Letters

from .banks import QUESTIONS, RESTING, all_of, everything, export, import_

# All or nothing


def test_a_bank_that_exists_is_left_alone(memory: Hindsight, whole: Path) -> None:
    memory.retain("alice", "Quite another Alice.")
    with pytest.raises(BankExistsError, match=r"'alice' exists already.*bank_id"):
        import_(memory, whole)
    assert [m.text for m in all_of(memory, "alice")] == ["Quite another Alice."]
    import_(memory, whole, "eve")
    with pytest.raises(BankExistsError, match="'eve'"):
        import_(memory, whole, "eve")


@pytest.mark.local
def test_a_bank_with_white_space_around_its_id_is_used_and_moved(
    memory: Hindsight, tmp_path: Path
) -> None:
    """Earlier releases created such banks."""
    memory.runtime.graph.create_bank(Bank(" alice "), memory.runtime.embedder_identity)
    memory.retain(" alice ", "Alice keeps bees.")
    export(memory, " alice ", tmp_path / "a.jsonl")
    with Hindsight.in_memory() as other:
        with pytest.raises(InvalidInputError, match="give 'alice' for a new bank"):
            import_(other, tmp_path / "a.jsonl")
        import_(other, tmp_path / "a.jsonl", "alice")
        assert [m.text for m in all_of(other, "alice")] == ["Alice keeps bees."]
    memory.banks.delete(" alice ")


@pytest.mark.local
def test_an_import_that_is_interrupted_leaves_nothing(memory: Hindsight, whole: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if total is not None:
            assert memory.banks.list() == []
            assert len(memory.runtime.graph.list_banks(importing=True)) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_(memory, whole, progress=interrupt)
    assert memory.banks.list() == memory.runtime.graph.list_banks(importing=True) == []
    assert memory.runtime.index.keys() == set()
    assert memory.maintenance.doctor().findings == ()
    import_(memory, whole)


@pytest.mark.local
def test_a_bank_made_meanwhile_is_kept_and_the_import_taken_back(
    memory: Hindsight, whole: Path
) -> None:
    def retain(done: int, total: int | None) -> None:
        if total is not None:
            memory.retain("alice", "I was quicker.")

    with pytest.raises(BankExistsError, match="'alice'"):
        import_(memory, whole, progress=retain)
    assert [bank.id for bank in memory.banks.list()] == ["alice"]
    assert [m.text for m in all_of(memory, "alice")] == ["I was quicker."]


KILLED = """
import os, sys
from hindsight_integrations import Hindsight
from hindsight_integrations.export_import import import_bank

with Hindsight(sys.argv[1]) as memory:
    import_bank(memory.runtime, sys.argv[2], progress=lambda done, total: total and os._exit(9))
"""


@pytest.mark.slow
def test_what_a_killed_import_left_is_removed_when_the_folder_is_opened(
    home: Hindsight, whole: Path, folder: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), str(whole)]
    assert subprocess.run(command, check=False).returncode == 9
    with Hindsight(folder, settings=RESTING) as memory:
        assert memory.banks.list() == []
        assert memory.runtime.graph.list_banks(importing=True) == []
        assert memory.maintenance.doctor().findings == ()
        with pytest.raises(BankNotFoundError):
            memory.recall("alice", "anything")
        import_(memory, whole)
        assert [bank.id for bank in memory.banks.list()] == ["alice"]
        assert everything(memory, "alice") == everything(home, "alice")
        assert memory.maintenance.doctor().findings == ()


# Embedders


def test_vectors_of_another_embedder_are_refused_or_made_anew(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    with Hindsight.in_memory(embedder=Letters(), settings=RESTING) as memory:
        with pytest.raises(EmbedderMismatchError, match=r"MiniLM.*letters/1.*--reembed"):
            import_(memory, whole)
        assert memory.banks.list() == []
        assert import_(memory, whole, reembed=True).reembedded
        found, before = everything(memory, "alice"), everything(home, "alice")
        for vectorless in ("documents", "chunks", "entities", "links", "changes"):
            assert found[vectorless] == before[vectorless]
        assert all(memory.recall("alice", question, arms=["semantic"]) for question in QUESTIONS)
        assert memory.maintenance.doctor().findings == ()
        export(memory, "alice", tmp_path / "letters")
    assert b'"embedder":{"id":"letters/1","dimension":26}' in (tmp_path / "letters").read_bytes()
