"""Which weights a question is ranked with, and what they weigh; worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.nlp.embeddings import Vectors, unit_rows
from hindsight_integrations.nlp.encoders import encoder_for
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.nlp.model_registry import (
    BGE_SMALL_ZH,
    E5_SMALL,
    MEMORY_MINILM,
    MINILM,
    USE_MULTILINGUAL,
)
from hindsight_integrations.nlp.text_encoder import TextEncoder
from hindsight_integrations.recall.ranking import rank
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS, Weights, weights_for
from tests.recall.building import asked_tokens, candidate, pool_of, question, stored_tokens, unit

ENGLISH = "Where does my sister keep the spare keys?"
GERMAN = "Wo hat meine Schwester die Ersatzschlüssel hingelegt?"
RUSSIAN = "Где моя сестра держит запасные ключи?"
TOKENS = asked_tokens((7, {1: 0.8, 2: 0.6}))


@pytest.mark.ranking
def test_without_token_vectors_exact_terms_count_twice_and_names_half() -> None:
    found = weights_for(question(ENGLISH), USE_MULTILINGUAL.id)
    assert found == Weights(terms=1.0, length=0.0, speaker=1.8, pagerank=0.0, shared_name=0.5)
    assert found.terms == 2 * DEFAULT_WEIGHTS.terms
    assert found.speaker == DEFAULT_WEIGHTS.speaker / 2
    assert found.shared_name == DEFAULT_WEIGHTS.shared_name / 2


@pytest.mark.ranking
@pytest.mark.parametrize("text", [GERMAN, RUSSIAN])
def test_in_a_language_that_the_model_does_not_know_terms_lead_and_the_cosine_is_left_out(
    text: str,
) -> None:
    asked = question(text, tokens=TOKENS, lexemes=["key"])
    pool = pool_of(
        [
            candidate("0", vector=unit(0.9), interaction=stored_tokens((1, 1))),
            candidate("1", vector=unit(0.1), interaction=stored_tokens((2, 2)), lexemes=["key"]),
        ]
    )
    ranking = rank(pool, asked, 10, weights_for(asked, MEMORY_MINILM.id))
    added = dict(zip(ranking.names, ranking.contributions.T.tolist(), strict=True))
    plain = rank(pool, asked, 10, DEFAULT_WEIGHTS)
    before = dict(zip(plain.names, plain.contributions.T.tolist(), strict=True))
    assert added["meaning"] == [0.0, 0.0]
    assert added["terms"] == pytest.approx([3 * value for value in before["terms"]])
    assert added["terms"][1] > 0
    assert added["interaction"] == pytest.approx(before["interaction"])


@pytest.mark.ranking
@pytest.mark.parametrize(
    ("text", "embedder_id"),
    [
        (ENGLISH, MEMORY_MINILM.id),
        (ENGLISH, E5_SMALL.id),
        ("Heron?", MINILM.id),  # the language of a name alone is not known
        ("我姐姐把备用钥匙放在哪里？", BGE_SMALL_ZH.id),
        (RUSSIAN, "text-embedding-3-small"),
    ],
)
def test_what_the_embedder_may_know_has_the_usual_weights(text: str, embedder_id: str) -> None:
    assert weights_for(question(text, tokens=TOKENS), embedder_id) is DEFAULT_WEIGHTS


class Multilingual:
    """An embedder of the user's: one direction for keys and one for trains, in two languages."""

    id = "mine"
    dimension = 2

    def embed(self, texts: list[str]) -> Vectors:
        keys = ("key", "schlüssel")
        rows = [[1.0, 0.1] if any(k in t.casefold() for k in keys) else [0.1, 1.0] for t in texts]
        return unit_rows(np.array(rows, np.float32))


def test_token_vectors_of_an_english_model_beside_another_embedder_are_for_english_alone() -> None:
    mixed = encoder_for(Multilingual(), "")
    assert mixed.question(GERMAN)[1] is None
    assert mixed.question(RUSSIAN)[1] is None
    assert mixed.question(ENGLISH)[1] is not None
    assert mixed.question(GERMAN)[0] == pytest.approx(mixed.question(ENGLISH)[0])
    alone = TextEncoder(bundled(), bundled())
    assert alone.question(GERMAN)[1] is not None


@pytest.mark.parametrize("text", [" ", "\u200b"])
def test_a_question_of_no_tokens_has_no_token_vectors(text: str) -> None:
    assert TextEncoder(bundled(), bundled()).question(text)[1] is None


def test_a_multilingual_embedder_decides_in_its_languages() -> None:
    lines = [
        "Die Reserve liegt unterm Blumentopf: beide Schlüssel fürs Gartenhaus.",
        "Wo meine Schwester die Zugtickets hingelegt hat, weiß nur sie.",
        *(f"Der Zug um {hour} Uhr hatte wieder Verspätung." for hour in range(6, 18)),
    ]
    with Hindsight.in_memory(embedder=Multilingual()) as memory:
        memory.retain_many("b", lines)
        found = memory.recall("b", GERMAN)
    assert found[0].text == lines[0]


def test_a_russian_question_finds_other_forms_of_its_words() -> None:
    lines = [
        "Марина отдала запасной ключ соседке с пятого этажа.",
        "Марина записалась на курсы вождения.",
        "Сестра уехала в Казань до конца мая.",
        "Кот опять спал на подоконнике.",
    ]
    with Hindsight.in_memory() as memory:
        memory.retain_many("b", lines)
        found = memory.recall("b", "У какой соседки лежат запасные ключи Марины?")
    assert found[0].text == lines[0]
