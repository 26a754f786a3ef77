"""Operations as clients see them: their state, and what stops or repeats them."""

from __future__ import annotations

from typing import Any

from hindsight_integrations.errors import NotFoundError
from hindsight_integrations.service.http_api import operation_answers as answers
from hindsight_integrations.service.http_api.operations import Operation
from hindsight_integrations.service.http_api.routing import (
    BANK,
    Jobs,
    Limit,
    Memory,
    Offset,
    part_of,
    refuse,
    router,
)
from hindsight_integrations.service.idempotency import DONE, last_part

routes = router("Operations")


def _item(operation: Operation) -> answers.OperationItem:
    subject = operation.subject
    return answers.OperationItem(
        id=operation.id,
        task_type=operation.kind,
        operation_id=operation.id,
        operation_type=operation.kind,
        items_count=operation.items,
        document_id=subject.get("document_id"),
        filename=subject.get("filename"),
        mental_model_id=subject.get("mental_model_id"),
        created_at=operation.created_at.isoformat(),
        updated_at=operation.updated_at.isoformat(),
        status=operation.status,
        error_message=operation.error,
    )


@routes.get(f"{BANK}/operations", operation_id="list_operations")
def list_operations(
    memory: Memory,
    jobs: Jobs,
    bank_id: str,
    status: str | None = None,
    type: str | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
    exclude_parents: bool = False,
) -> answers.OperationList:
    """List the operations of a bank, the latest first. None has others below it."""
    memory.banks.get(bank_id)
    found = [
        each
        for each in jobs.list(bank_id)
        if status in (None, each.status) and type in (None, each.kind)
    ]
    return answers.OperationList(
        bank_id=bank_id,
        operations=[_item(each) for each in part_of(found, limit, offset)],
        total=len(found),
        limit=limit,
        offset=offset,
    )


@routes.get(f"{BANK}/operations/{{operation_id}}", operation_id="get_operation_status")
def get_operation_status(
    memory: Memory, jobs: Jobs, bank_id: str, operation_id: str, include_payload: bool = False
) -> answers.OperationStatus:
    """Return an operation. A retain with an id of the caller is known after a restart too."""
    if include_payload:
        raise refuse("the request of an operation is not stored here; leave out include_payload")
    try:
        known = jobs.get(bank_id, operation_id)
    except NotFoundError:
        memory.banks.get(bank_id)
        if last_part(memory.graph_store, bank_id, operation_id) != DONE:
            raise
        return _status(Operation(operation_id, bank_id, "retain", "completed"), times=False)
    return _status(known)


def _status(operation: Operation, *, times: bool = True) -> answers.OperationStatus:
    created = operation.created_at.isoformat() if times else None
    updated = operation.updated_at.isoformat() if times else None
    result: dict[str, Any] = dict(operation.result)
    return answers.OperationStatus(
        operation_id=operation.id,
        status=operation.status,
        operation_type=operation.kind,
        id=operation.id,
        task_type=operation.kind,
        mental_model_id=operation.subject.get("mental_model_id"),
        created_at=created,
        updated_at=updated,
        completed_at=updated if operation.ended else None,
        error_message=operation.error,
        result_metadata=result,
    )


@routes.delete(f"{BANK}/operations/{{operation_id}}", operation_id="cancel_operation")
def cancel_operation(jobs: Jobs, bank_id: str, operation_id: str) -> answers.OperationChanged:
    """Keep an operation from starting."""
    jobs.cancel(bank_id, operation_id)
    return answers.OperationChanged(message="It will not start", operation_id=operation_id)


@routes.post(f"{BANK}/operations/{{operation_id}}/retry", operation_id="retry_operation")
def retry_operation(jobs: Jobs, bank_id: str, operation_id: str) -> answers.OperationChanged:
    """Run an operation again that failed or was cancelled."""
    jobs.retry(bank_id, operation_id)
    return answers.OperationChanged(message="It will run again", operation_id=operation_id)


@routes.delete(f"{BANK}/operations/{{operation_id}}/delete", operation_id="delete_operation")
def delete_operation(jobs: Jobs, bank_id: str, operation_id: str) -> answers.OperationChanged:
    """Forget an operation that has ended."""
    jobs.delete(bank_id, operation_id)
    return answers.OperationChanged(message="It is forgotten", operation_id=operation_id)
