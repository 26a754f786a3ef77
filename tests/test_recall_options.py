"""Recall by entities, by a vector, within half-open windows, and what it gives beside memories."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from hindsight_integrations import (
    Arm,
    Hindsight,
    InvalidInputError,
    MemoryType,
    RecallResult,
    TimeSpan,
)
from hindsight_integrations.recall.base import DEPTHS
from hindsight_integrations.recall.request import DEFAULTS, RecallOptions, recall_request

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

MOVED = "Priya moved from Leeds to Porto in May 2023."
CHESS = "Tomasz taught the juniors chess on 4 March 2024."
BOTH = "Priya and Tomasz repainted the boathouse in June 2024."
TRAM = "The number 12 tram stops at the old mill."
NOTES = (MOVED, CHESS, BOTH, TRAM)


@pytest.fixture
def told(engine: Hindsight) -> Hindsight:
    for day, text in enumerate(NOTES, start=1):
        engine.retain("b", text, timestamp=datetime(2024, 7, day, tzinfo=UTC))
    return engine


def texts(result: RecallResult) -> set[str]:
    return {item.text for item in result}


@pytest.mark.parametrize(
    ("entities", "expected"),
    [
        (["Priya"], {MOVED, BOTH}),
        (["priya"], {MOVED, BOTH}),
        (["Tomasz", "Priya"], {MOVED, CHESS, BOTH}),
        (["Nobody Known"], set()),
        (["Nobody Known", "Tomasz"], {CHESS, BOTH}),
        ([], set(NOTES)),
    ],
)
def test_entities_admit_what_mentions_one_of_them(
    told: Hindsight, entities: Sequence[str], expected: set[str]
) -> None:
    result = told.recall("b", "What happened?", entities=entities)
    assert texts(result) == expected


def test_entities_go_by_alias_and_id_and_reach_every_arm(told: Hindsight) -> None:
    told.entities.alias("b", "Priya", "Pri")
    id = told.entities.get("b", "Priya").id
    for name in ("Pri", id):
        for arm in (Arm.SEMANTIC, Arm.KEYWORD, Arm.ENTITY):
            found = texts(told.recall("b", "boathouse chess tram", entities=[name], arms=[arm]))
            assert found <= {MOVED, BOTH}
    assert told.recall("b", "", entities=["Pri"]).entities_named == ("Priya",)


def test_a_blank_question_beside_entities_asks_for_them(told: Hindsight) -> None:
    assert texts(told.recall("b", " ", entities=["Tomasz"])) == {CHESS, BOTH}
    with pytest.raises(InvalidInputError, match="blank"):
        told.recall("b", " ")


def test_entities_are_looked_up_in_each_bank(told: Hindsight) -> None:
    told.retain("c", "Priya sings in a choir in Braga.")
    result = told.recall(["b", "c"], "What of her?", entities=["Priya"])
    assert texts(result) == {MOVED, BOTH, "Priya sings in a choir in Braga."}


def test_context_and_reflect_take_entities_and_windows(told: Hindsight) -> None:
    context = told.context("b", "What happened?", entities=["Tomasz"])
    assert CHESS in context.text
    assert MOVED not in context.text
    since = (datetime(2024, 5, 1, tzinfo=UTC), None)
    answer = told.reflect("b", "What about Priya?", entities=["Priya"], window=since)
    assert MOVED not in answer.context.text


def test_a_given_vector_takes_the_place_of_the_questions(told: Hindsight) -> None:
    vector = told.embedder.embed([CHESS])[0]
    for given in (vector, vector.tolist(), tuple(vector * 40)):
        result = told.recall("b", "", query_vector=given)
        assert result[0].text == CHESS
        best = {score.arm: score.rank for score in result[0].arms}
        assert best[Arm.SEMANTIC] == 1
    only = told.recall("b", "a tram", query_vector=vector, arms=["semantic"])
    first = {item.text: item.arms[0].rank for item in only}
    assert first[CHESS] == 1


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0, 2.0], "2 numbers.*384"),
        ([[1.0] * 384], "shape"),
        ([], "shape"),
        (3.0, "shape"),
        ([float("nan")] * 384, "NaN"),
        ([float("inf")] + [0.0] * 383, "NaN"),
        ([0.0] * 384, "zeros"),
        (["a"] * 384, "numbers"),
        ("chess", "numbers"),
    ],
)
def test_a_vector_that_cannot_be_compared_is_refused(
    memory: Hindsight, vector: object, message: str
) -> None:
    memory.retain("b", CHESS)
    with pytest.raises(InvalidInputError, match=message):
        memory.recall("b", "chess", query_vector=vector)  # type: ignore[arg-type]


def test_half_open_windows(told: Hindsight) -> None:
    year = datetime(2024, 1, 1)
    assert texts(told.recall("b", "What?", window=(None, year))) == {MOVED}
    assert texts(told.recall("b", "What?", window=(year, None))) == {CHESS, BOTH, TRAM}
    span = TimeSpan.between(datetime(2024, 6, 15, tzinfo=UTC), None)
    assert texts(told.recall("b", "What?", window=span)) == {BOTH, TRAM}


@pytest.mark.parametrize(
    "window", [(None, None), "2024", (1, 2), (datetime(2025, 1, 1), datetime(2024, 1, 1)), ()]
)
def test_a_window_without_sense_is_refused(memory: Hindsight, window: Any) -> None:
    memory.retain("b", CHESS)
    with pytest.raises(InvalidInputError):
        memory.recall("b", "chess", window=window)


def test_limits_of_arms_are_kept(told: Hindsight) -> None:
    limits: dict[Arm | str, int] = {"semantic": 2, "pathway": 1, Arm.ENTITY: 1}
    result = told.recall("b", "Did Priya or Tomasz take the tram?", arm_limits=limits)
    hits = [score.arm for item in (*result, *result.left_out) for score in item.arms]
    assert (hits.count(Arm.SEMANTIC), hits.count(Arm.KEYWORD)) == (2, 1)
    assert hits.count(Arm.ENTITY) <= 1
    assert result.considered <= 4


@pytest.mark.parametrize("limits", [{"smell": 3}, {"semantic": 0}, {"semantic": True}, 5])
def test_limits_without_sense_are_refused(memory: Hindsight, limits: Any) -> None:
    memory.retain("b", CHESS)
    with pytest.raises(InvalidInputError, match="arm"):
        memory.recall("b", "chess", arm_limits=limits)


def test_the_depth_of_high_visits_600_nodes() -> None:
    assert [DEPTHS[name].nodes for name in ("low", "mid", "high")] == [100, 300, 600]  # type: ignore[index]


def test_entity_tokens_give_observations_about_whom_the_question_asks_for(
    told: Hindsight,
) -> None:
    ids = [memory.id for memory in told.memories.list("b").items if "Priya" in memory.text]
    about = "Priya is often near water."
    told.observations.add("b", about, sources=ids)
    result = told.recall("b", "Where does Priya spend her time?", entity_tokens=200)
    first = result.entity_notes[0]
    assert first.entity.name == "Priya"
    assert [observation.text for observation in first.observations] == [about]
    assert about in first.text
    others = {note.entity.name: note.observations for note in result.entity_notes[1:]}
    assert others
    assert not any(others.values())
    without = told.recall("b", "Where does the tram stop?", entity_tokens=200)
    assert not any(note.observations for note in without.entity_notes)
    asked = told.recall("b", "Where?", entities=["Priya"], entity_tokens=200)
    assert asked.entity_notes[0].observations
    assert told.recall("b", "Priya?", entity_tokens=10).entity_notes == ()


def test_mental_models_come_on_request_within_their_budget(told: Hindsight) -> None:
    text = "Priya: moved to Porto, paints boats."
    model = told.mental_models.create("b", "Priya", text=text)
    assert told.recall("b", "What about Priya?").mental_models == ()
    (found,) = told.recall("b", "What about Priya?", mental_model_tokens=50).mental_models
    assert (found.id, found.text, found.stale) == (model.id, text, False)
    assert 0 < found.tokens <= 50
    assert told.recall("b", "What about Priya?", mental_model_tokens=3).mental_models == ()
    typed = told.recall("b", "What of Priya?", mental_model_tokens=50, types=[MemoryType.WORLD])
    assert typed.mental_models == ()


def test_a_results_memory_gives_its_fields_directly(memory: Hindsight) -> None:
    memory.retain("b", TRAM, speaker="Jonas", metadata={"line": 12}, tags=["transit"], type="world")
    (item,) = memory.recall("b", "Where does the tram stop?")
    assert item.text == TRAM
    assert item.line == f"Jonas: {TRAM}"
    assert item.metadata == {"line": 12}
    assert 0 <= item.score <= 1
    assert (item.tags, item.type) == (("transit",), MemoryType.WORLD)
    assert item.mentioned_at == item.memory.mentioned_at
    assert item.entities == item.memory.entities


# The one list of options


def test_every_option_has_a_default_and_stands_in_the_signature_and_the_docstring() -> None:
    parameters = inspect.signature(Hindsight.recall).parameters
    assert set(RecallOptions.__annotations__) == set(DEFAULTS)
    assert {*parameters} == {"self", "bank_id", "query", *DEFAULTS}
    for verb in (Hindsight.recall, Hindsight.context, Hindsight.reflect):
        for name, parameter in inspect.signature(verb).parameters.items():
            if name in DEFAULTS:
                assert parameter.default == DEFAULTS[name]  # type: ignore[literal-required]
                assert f"\n    {name}: " in (inspect.getdoc(verb) or "")


def test_an_unknown_option_is_a_type_error_that_names_the_known(memory: Hindsight) -> None:
    memory.retain("b", CHESS)
    with pytest.raises(TypeError, match=r"'tokens'.*max_tokens"):
        memory.recall("b", "chess", tokens=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'arms'"):
        memory.context("b", "chess", arms=["semantic"])  # type: ignore[call-arg]


def test_a_request_holds_a_unit_vector() -> None:
    request = recall_request("b", "q", query_vector=[3.0, 4.0])
    assert request.vector is not None
    assert np.allclose(request.vector, [0.6, 0.8])
