"""A memory that moves to servers by URL, and memories that share one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import ChromaVectors, Hindsight
from hindsight_integrations.errors import InvalidInputError, StoreUnavailableError

from .stores.chroma_server import free_port, served

pytestmark = pytest.mark.xdist_group("servers")

TEXTS = ["Alice keeps bees in Porto.", "Bruno repairs radios.", "The ferry leaves at nine."]


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.mark.slow
def test_a_folder_goes_on_with_its_vectors_on_a_server(tmp_path: Path, chroma: str) -> None:
    with Hindsight(tmp_path / "m") as memory:
        memory.retain_many("b", TEXTS)
        before = memory.recall("b", "Who has bees?", arms=["semantic"])
    with Hindsight(tmp_path / "m", vectors=chroma) as memory:
        assert chroma in repr(memory)
        after = memory.recall("b", "Who has bees?", arms=["semantic"])
        assert [item.id for item in after] == [item.id for item in before]
        assert memory.maintenance.doctor().findings == ()


@pytest.mark.slow
def test_memories_on_one_server_leave_each_other_alone(tmp_path: Path, chroma: str) -> None:
    with (
        Hindsight(tmp_path / "one", vectors=chroma) as one,
        Hindsight(tmp_path / "two", vectors=chroma) as two,
    ):
        one.retain("b", TEXTS[0])
        two.retain("b", TEXTS[1])
        one.maintenance.doctor(repair=True)
        assert [item.memory.text for item in two.recall("b", "radios", fill=True)] == [TEXTS[1]]
        assert [item.memory.text for item in one.recall("b", "radios", fill=True)] == [TEXTS[0]]
        two.banks.delete("b")
        assert [item.memory.text for item in one.recall("b", "bees", fill=True)] == [TEXTS[0]]


@pytest.mark.slow
def test_several_memories_share_a_folder_whose_vectors_are_on_a_server(
    tmp_path: Path, chroma: str
) -> None:
    with (
        Hindsight(tmp_path / "m", vectors=chroma) as one,
        Hindsight(tmp_path / "m", vectors=chroma) as other,
    ):
        one.retain("b", TEXTS[0])
        other.retain("b", TEXTS[1])
        for memory in (one, other):
            assert {item.memory.text for item in memory.recall("b", "bees and radios")} == {
                *TEXTS[:2]
            }


def test_a_server_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(StoreUnavailableError, match="can be reached") as caught:
        Hindsight(tmp_path / "m", vectors=url)
    assert url in str(caught.value)
    with Hindsight(tmp_path / "m") as memory:  # nothing was left locked
        memory.retain("b", TEXTS[0])


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"tenant": "nobody"}, {"database": "nothing"}])
def test_a_tenant_or_database_that_is_not_there_is_refused(
    chroma: str, wrong: dict[str, str]
) -> None:
    (name,) = wrong.values()
    with pytest.raises(StoreUnavailableError, match=f"{name}.*create it") as caught:
        ChromaVectors.at_server(chroma, **wrong)
    assert chroma in str(caught.value)
    ChromaVectors.at_server(chroma).close()


def test_a_url_of_no_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="not the URL of a Chroma server"):
        Hindsight(tmp_path / "m", vectors="localhost:8000")
