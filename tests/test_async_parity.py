"""Every public method has an asynchronous variant that does the same."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from hindsight_integrations import (
    BankNotFoundError,
    DurableRetain,
    Hindsight,
    ReflectionMemory,
    Session,
)
from hindsight_integrations.namespaces.audit import Audit
from hindsight_integrations.namespaces.banks import Banks
from hindsight_integrations.namespaces.changes import Changes
from hindsight_integrations.namespaces.directives import Directives
from hindsight_integrations.namespaces.documents import Documents
from hindsight_integrations.namespaces.entities import Entities
from hindsight_integrations.namespaces.maintenance import Maintenance
from hindsight_integrations.namespaces.memories import Memories
from hindsight_integrations.namespaces.mental_models import MentalModels
from hindsight_integrations.namespaces.observations import Observations
from hindsight_integrations.namespaces.opinions import Opinions
from hindsight_integrations.namespaces.tags import Tags

NOT_WORK = {"in_memory", "from_env"}


def public_methods(kind: type) -> list[str]:
    return [
        name
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in NOT_WORK
    ]


@pytest.mark.parametrize(
    "kind",
    [
        Hindsight,
        Audit,
        Banks,
        Changes,
        Memories,
        Directives,
        Documents,
        Tags,
        Entities,
        Observations,
        MentalModels,
        Opinions,
        Maintenance,
        Session,
        ReflectionMemory,
        DurableRetain,
    ],
)
def test_every_method_has_a_twin_of_the_same_signature(kind: type) -> None:
    methods = public_methods(kind)
    plain = [
        name
        for name in methods
        if not inspect.iscoroutinefunction(getattr(kind, name))
        and not inspect.isasyncgenfunction(getattr(kind, name))
    ]
    assert plain
    for name in plain:
        async_variant = getattr(kind, f"a{name}", None)
        assert inspect.iscoroutinefunction(async_variant), f"{kind.__name__}.a{name} is missing"
        assert inspect.signature(async_variant) == inspect.signature(getattr(kind, name))


async def test_twins_do_the_same_inside_a_running_loop() -> None:
    async with Hindsight.in_memory() as memory:
        await asyncio.gather(*(memory.aretain("b", f"Boat number {n} is blue.") for n in range(8)))
        result = await memory.arecall("b", "Which boat is blue?")
        assert len(result) == 8
        assert memory.recall("b", "Which boat is blue?").text == result.text
        with pytest.raises(BankNotFoundError):
            await memory.arecall("nowhere", "anything")
        await memory.banks.adelete("b")
        assert await memory.banks.alist() == []
