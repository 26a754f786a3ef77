"""The router of all of Hindsight's HTTP API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Request

from hindsight_integrations.client import Hindsight
from hindsight_integrations.service.http_api import (
    banks,
    directives,
    documents,
    entities,
    jobs,
    memories,
    mental_models,
    monitoring,
    recall,
    refused,
    templates,
    transfer,
)
from hindsight_integrations.service.http_api.operations import Operations

SUBJECTS = (
    monitoring, banks, templates, refused, recall, memories, documents, entities, mental_models,
    directives, jobs, transfer,
)  # fmt: skip
"""Modules with routes; fixed paths stand before those with a name in their place."""


def hindsight_api(memory: Hindsight) -> APIRouter:
    """Return the routes of Hindsight's HTTP API for a memory, which the caller closes.

    Include the router in an application; its operations end with the application's lifespan.
    """
    operations = Operations()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(operations.close)

    async def bind(request: Request) -> None:
        request.state.hindsight_memory = memory
        request.state.hindsight_operations = operations

    router = APIRouter(dependencies=[Depends(bind)], lifespan=lifespan)
    for subject in SUBJECTS:
        router.include_router(subject.routes)
    return router
