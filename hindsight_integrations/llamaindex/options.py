"""What recalling and reflecting may be given by name, typed, with the meaning it has there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypedDict

from pydantic import BaseModel

from hindsight_integrations.model import MemoryType, TimeSpan
from hindsight_integrations.recall.request import Where
from hindsight_integrations.results import Arm


class _Filters(TypedDict, total=False):
    budget: str
    types: Iterable[MemoryType | str] | None
    tags: Sequence[str]
    tags_match: str
    where: Where | None
    min_score: float | None


class ChatOptions(_Filters, total=False):
    """Those keyword arguments of `Hindsight.recall` that make sense for a whole chat."""

    max_tokens: int


class RecallOptions(_Filters, total=False):
    """The keyword arguments of `Hindsight.recall`."""

    max_tokens: int | None
    arms: Iterable[Arm | str] | None
    scope: str | None
    window: TimeSpan | tuple[datetime, datetime] | None
    query_time: datetime | None
    as_of: datetime | None
    chunk_tokens: int
    entity_tokens: int
    prefer_observations: bool


class ReflectOptions(_Filters, total=False):
    """The keyword arguments of `Hindsight.reflect`."""

    llm: object | None
    max_tokens: int | None
    response_schema: type[BaseModel] | Mapping[str, object] | None
    scope: str | None
    query_time: datetime | None
    as_of: datetime | None
    max_iterations: int
    timeout: float
