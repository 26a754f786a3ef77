"""Answers that tell of operations."""

from __future__ import annotations

from pydantic import BaseModel, JsonValue

from hindsight_integrations.service.http_api.answers import Slice


class OperationItem(BaseModel):
    """An operation in a list."""

    id: str
    task_type: str
    operation_id: str
    operation_type: str
    items_count: int
    document_id: str | None
    filename: str | None
    mental_model_id: str | None
    created_at: str
    updated_at: str
    status: str
    error_message: str | None
    retry_count: int = 0


class OperationList(Slice):
    """Operations, the latest first."""

    bank_id: str
    operations: list[OperationItem]


class OperationStatus(BaseModel):
    """An operation, and what it made."""

    operation_id: str
    status: str
    operation_type: str
    id: str
    task_type: str
    mental_model_id: str | None
    created_at: str | None
    updated_at: str | None
    completed_at: str | None
    error_message: str | None
    retry_count: int = 0
    result_metadata: dict[str, JsonValue]


class OperationChanged(BaseModel):
    """An operation was cancelled, retried or deleted."""

    success: bool = True
    message: str
    operation_id: str
