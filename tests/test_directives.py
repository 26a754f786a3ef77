"""`memory.directives`: rules with a name, on each store and through an export."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import ConflictError, InvalidInputError, NotFoundError

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]


def test_directives_are_ordered_changed_and_put_out_of_force(
    engine: Hindsight, tmp_path: Path
) -> None:
    engine.banks.create("b", directives=["Be brief."])
    kind = engine.directives.create("b", "kind", "Be kind.", priority=5)
    off = engine.directives.create("b", "later", "Be bold.", active=False)
    assert engine.banks.get("b").directives == ("Be kind.", "Be brief.")
    (brief,) = (one for one in engine.directives.list("b") if one.name == "Be brief.")
    assert engine.directives.list("b", active=False) == (off,)
    engine.retain("b", "Alice keeps bees on the roof.")
    assert "Be kind." in engine.context("b", "What does Alice keep?").text

    engine.directives.update("b", brief.id, text="Be very brief.", priority=9)
    engine.directives.update("b", kind.id, active=False)
    assert engine.banks.get("b").directives == ("Be very brief.",)
    assert [one.text for one in engine.directives.list("b")] == [
        "Be very brief.", "Be kind.", "Be bold.",
    ]  # fmt: skip
    engine.banks.update("b", directives=["Be bold."])
    assert [one.id for one in engine.directives.list("b", active=True)] == [off.id]
    engine.directives.delete("b", off.id)
    assert engine.banks.get("b").directives == ()

    engine.banks.export("b", tmp_path / "b.jsonl")
    engine.banks.import_(tmp_path / "b.jsonl", "copy")
    assert engine.directives.list("copy") == engine.directives.list("b")


def test_what_is_no_directive_is_refused(engine: Hindsight) -> None:
    engine.banks.create("b")
    one = engine.directives.create("b", "n", "Be brief.")
    with pytest.raises(ConflictError, match="update that one"):
        engine.directives.create("b", "m", "Be brief.")
    for wrong in ({"text": " "}, {"name": ""}, {"priority": True}, {"active": "yes"}):
        with pytest.raises(InvalidInputError):
            engine.directives.update("b", one.id, **wrong)
    with pytest.raises(NotFoundError, match=r"directives\.list"):
        engine.directives.delete("b", "nothing")
    assert engine.directives.list("b") == (one,)
