"""Programs, rooms and restaurants are neither places nor persons by their names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import Hindsight


@pytest.fixture(scope="module")
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory() as opened:
        yield opened


def kind(memory: Hindsight, text: str, name: str) -> str:
    memory.retain(text, text)
    return memory.entities.get(text, name).kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Rotated the signing key in Vault.", "Vault"),
        ("Secrets live in Vault now.", "Vault"),
        ("The dashboards are in Grafana.", "Grafana"),
        ("Nice but no auth. Back to Grafana.", "Grafana"),
        ("Moved from Vault to Infisical.", "Infisical"),
        ("We moved from Jira to Trello last week.", "Jira"),
        ("The review is on Monday in room Oslo.", "Oslo"),
        ("We sat in the Oslo room.", "Oslo"),
    ],
)
def test_what_need_be_no_place_is_none(memory: Hindsight, text: str, name: str) -> None:
    assert kind(memory, text, name) != "place"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ana moved to Szentendre in March.", "Szentendre"),
        ("Moved to Brno in March.", "Brno"),
        ("We moved from Berlin to Szentendre.", "Szentendre"),
        ("We went back home to Szentendre.", "Szentendre"),
        ("We stayed in Deal for a week.", "Deal"),
        ("Ana lives in Bath.", "Bath"),
        ("The review is on Monday in Oslo.", "Oslo"),
        ("Her flat in Hove fell through.", "Hove"),
    ],
)
def test_where_somebody_is_remains_a_place(memory: Hindsight, text: str, name: str) -> None:
    assert kind(memory, text, name) == "place"


@pytest.mark.parametrize(
    ("text", "name", "is_person"),
    [
        ("Dinner at the Thai place, Basil, at 8?", "Basil", False),
        ("We ate at the new restaurant, Clara.", "Clara", False),
        ("We met at the restaurant, Clara, Tom and me.", "Clara", True),
        ("Clara works at the restaurant.", "Clara", True),
    ],
)
def test_name_beside_a_house(memory: Hindsight, text: str, name: str, is_person: bool) -> None:
    assert (kind(memory, text, name) == "person") is is_person


def test_initial_ends_a_name_before_a_new_sentence(memory: Hindsight) -> None:
    memory.retain("calls", "Do not call Anna K. Please call Hal. Anna K. Brown rang.")
    names = {entity.name for entity in memory.entities.list("calls")}
    assert names == {"Anna K", "Hal", "Anna K. Brown"}


def test_whoever_is_nobody(memory: Hindsight) -> None:
    memory.retain("rota", "Whoever closes does it.")
    assert list(memory.entities.list("rota")) == []
