"""An export writes a whole file or leaves the older one as it was."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hindsight_integrations import BankNotFoundError, Hindsight, InvalidInputError, StoreError

from .banks import everything, export, import_


@pytest.mark.local
def test_a_file_is_compressed_by_its_name_and_read_by_its_content(
    home: Hindsight, memory: Hindsight, whole: Path, tmp_path: Path
) -> None:
    export(home, "alice", tmp_path / "alice.gz")
    packed = (tmp_path / "alice.gz").read_bytes()
    assert gzip.decompress(packed) == whole.read_bytes()
    export(home, "alice", tmp_path / "again.gz")
    assert (tmp_path / "again.gz").read_bytes() == packed
    (tmp_path / "alice.gz").rename(tmp_path / "alice")
    import_(memory, tmp_path / "alice")
    assert everything(memory, "alice") == everything(home, "alice")


@pytest.mark.local
def test_a_tilde_is_the_home_as_it_is_of_the_folder(
    home: Hindsight, memory: Hindsight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home.banks.export("alice", "~/alice.jsonl")
    home.timeline("alice").save("~/alice.svg")
    home.audit.export("alice", "~/audit.jsonl")
    home.maintenance.backup("~/all.backup")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"alice.jsonl", "alice.svg", "audit.jsonl", "all.backup"} <= names
    assert memory.banks.import_("~/alice.jsonl", "other").bank_id == "other"


@pytest.mark.local
def test_an_export_that_fails_leaves_the_older_file_whole(
    memory: Hindsight, tmp_path: Path
) -> None:
    memory.retain_many("b", ["The ferry is blue.", "The ferry is green."])
    export(memory, "b", tmp_path / "file")
    before = (tmp_path / "file").read_bytes()
    with memory.runtime.graph._connections.write() as cursor:  # type: ignore[attr-defined]
        cursor.execute("DELETE FROM vectors WHERE unit = (SELECT min(unit) FROM vectors)")
    with pytest.raises(StoreError, match=r"1 of 2 memory records.*doctor"):
        export(memory, "b", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == before


def test_an_export_replaces_files_and_nothing_else(memory: Hindsight, tmp_path: Path) -> None:
    memory.banks.create("b")
    with pytest.raises(InvalidInputError, match="is not a file"):
        export(memory, "b", tmp_path)
    with pytest.raises(InvalidInputError, match="is not a file"):
        export(memory, "b", Path("/dev/null"))
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        export(memory, "b", tmp_path / "nowhere" / "file")
    with pytest.raises(BankNotFoundError, match="'c'"):
        export(memory, "c", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
