"""The spaCy pipeline: loaded late, shared by threads, indifferent to odd input."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import spacy

from hindsight_integrations.errors import ExtractionError, ModelFilesError
from hindsight_integrations.nlp import spacy_pipeline as module
from hindsight_integrations.nlp.spacy_pipeline import Annotation, Pipeline, preferred_model
from hindsight_integrations.nlp.syntax import parse
from tests.bundled import PIPELINE


@pytest.fixture
def pipeline() -> Pipeline:
    return PIPELINE


def names(annotation: Annotation) -> list[tuple[str, str]]:
    return [(annotation.text[name.start : name.end], name.label) for name in annotation.names]


def test_creating_one_and_asking_its_id_loads_nothing() -> None:
    code = (
        "import sys; from hindsight_integrations.nlp.spacy_pipeline import Pipeline; "
        "p = Pipeline(); assert p.id != 'no-model'; "
        "assert 'spacy' not in sys.modules, 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_marks_names_and_tags_words(pipeline: Pipeline) -> None:
    (annotation,) = pipeline.annotate(["Barack Obama was born in Hawaii."])
    assert names(annotation) == [("Barack Obama", "PERSON"), ("Hawaii", "GPE")]
    assert [(token.text, token.tag) for token in annotation.tokens][:3] == [
        ("Barack", "NNP"),
        ("Obama", "NNP"),
        ("was", "VBD"),
    ]
    assert all(annotation.text[t.start :].startswith(t.text) for t in annotation.tokens)


def test_a_batch_reads_as_its_texts_one_by_one(pipeline: Pipeline) -> None:
    texts = [
        f"{name} met {other} in {place} {n} times."
        for n, (name, other, place) in enumerate(
            [
                ("Alice Chen", "Bob", "Paris"),
                ("Priya", "Dr. Wu", "Lagos"),
                ("Tomek", "Inês", "Rome"),
            ]
            * 22  # more than are read at once
        )
    ]
    assert pipeline.annotate(texts) == [pipeline.annotate([text])[0] for text in texts]


def test_other_scripts_are_left_alone(pipeline: Pipeline) -> None:
    texts = ["我们在北京见了王伟。", "Мария живёт в Москве.", "😀😀", "", " \n"]
    assert pipeline.annotate(texts) == [Annotation(text) for text in texts]
    (mixed,) = pipeline.annotate(["Barack Obama (バラク・オバマ) was born in Hawaii."])
    assert ("Hawaii", "GPE") in names(mixed)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "a" * 1_000_000,
        "." * 100_000,
        "x \ud800 y",
        "a\x00b",
        "Bob " + "http://" * 50_000,
    ],
)
def test_odd_texts_are_read_in_good_time(pipeline: Pipeline, text: str) -> None:
    (annotation,) = pipeline.annotate([text])
    assert annotation.text == text


def test_threads_share_one(pipeline: Pipeline) -> None:
    texts = [f"Barack Obama met {name} in Berlin." for name in ("Anna", "Bob", "Chen", "Dana")]
    alone = [pipeline.annotate([text]) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            assert list(threads.map(pipeline.annotate, [[text] for text in texts])) == alone


def test_one_model_serves_annotations_and_grammar_unless_both_read_at_once() -> None:
    model = preferred_model()
    assert model is not None
    with model.reading() as first:
        assert parse("The parrot of the neighbours sleeps.").words
    with model.reading() as one, model.reading() as other:
        assert one is not other
        assert first in (one, other)


@pytest.mark.slow
def test_a_pipeline_object_or_a_folder_may_be_given(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "Northwind"}])
    nlp.to_disk(tmp_path / "own")
    for given in (nlp, tmp_path / "own", str(tmp_path / "own")):
        own = Pipeline(given)
        assert own.id.startswith("en_pipeline-")
        assert names(own.annotate(["I work at Northwind."])[0]) == [("Northwind", "ORG")]


def test_a_model_that_is_not_there_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match="pip install en_core_none"):
        Pipeline("en_core_none")
    with pytest.raises(ModelFilesError, match=r"meta\.json"):
        Pipeline(tmp_path)


def test_a_damaged_model_is_reported_when_it_is_loaded(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path)
    (tmp_path / "config.cfg").write_text("[nlp]\nlang = nowhere\n")
    with pytest.raises(ModelFilesError, match="cannot be loaded"):
        Pipeline(tmp_path).annotate(["Hello"])


def test_a_component_that_raises_is_an_extraction_error() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer").punct_chars = None
    with pytest.raises(ExtractionError, match="en_pipeline"):
        Pipeline(nlp).annotate(["Hello there."])


def test_without_a_model_annotations_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PREFERRED_MODELS", ())
    bare = Pipeline()
    assert bare.id == "no-model"
    assert bare.annotate(["Barack Obama"]) == [Annotation("Barack Obama")]
