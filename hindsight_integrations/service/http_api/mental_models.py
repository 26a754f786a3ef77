"""Mental models: summaries that are written from a question."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import JsonValue

from hindsight_integrations.client import Hindsight
from hindsight_integrations.models import MentalModel
from hindsight_integrations.service.http_api import answers, listing, requests
from hindsight_integrations.service.http_api.banks import created_if_absent
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

routes = router("Mental Models")

MAX_TOKENS = 2048
"""Tokens of a mental model, where a request names none; of Hindsight 1.1."""

USUAL: dict[str, JsonValue] = {
    "mode": "full",
    "exclude_mental_models": False,
    "keep_trace": False,
}
"""Fields of a trigger that may be given with the value that holds anyway."""

Detail = Literal["metadata", "content", "full"]
ModelTags = Literal["any", "all", "exact"]


def auto_refresh(trigger: requests.Trigger | None) -> bool | None:
    """Return what a trigger says of refreshing after consolidation; None for nothing.

    Raises:
        HTTPException: 501 if it asks for more.
    """
    if trigger is None:
        return None
    for name, value in (trigger.model_extra or {}).items():
        if value is not None and USUAL.get(name) != value:
            raise refuse(f"the trigger {name!r} is not offered: a mental model is refreshed as a "
                         "whole, on request or after consolidation")  # fmt: skip
    return trigger.refresh_after_consolidation


def _answer(memory: Hindsight, model: MentalModel, detail: Detail) -> answers.Model:
    answer = answers.Model(
        id=model.id, bank_id=model.bank_id, name=model.name, tags=list(model.tags)
    )
    if detail == "metadata":
        return answer
    answer.source_query = model.source_query
    answer.content = model.text
    answer.max_tokens = model.max_tokens
    answer.trigger = answers.ModelTrigger(refresh_after_consolidation=model.auto_refresh)
    answer.last_refreshed_at = model.refreshed_at.isoformat()
    answer.created_at = model.created_at.isoformat()
    if detail == "full":
        answer.is_stale = bool(memory.mental_models.staleness(model.bank_id, model.id))
        answer.reflect_response = {"text": model.text, "sources": list(model.sources)}
    return answer


@routes.get(f"{BANK}/mental-models", operation_id="list_mental_models")
def list_mental_models(
    memory: Memory,
    bank_id: str,
    tags: Annotated[list[str] | None, Query()] = None,
    tags_match: ModelTags = "any",
    detail: Detail = "full",
    limit: Limit = 100,
    offset: Offset = 0,
    exclude_knowledge_pages: bool = False,
) -> answers.ModelList:
    """List mental models by name, none of a bank that is not there; none is a knowledge page."""
    known = memory.mental_models.list(bank_id) if listing.has_bank(memory, bank_id) else []
    if tags:
        known = [model for model in known if _has_tags(model, set(tags), tags_match)]
    return answers.ModelList(
        items=[_answer(memory, model, detail) for model in part_of(known, limit, offset)],
        total=len(known),
        limit=limit,
        offset=offset,
    )


def _has_tags(model: MentalModel, tags: set[str], match: ModelTags) -> bool:
    if match == "exact":
        return tags == set(model.tags)
    return bool(tags & set(model.tags)) if match == "any" else tags <= set(model.tags)


@routes.post(f"{BANK}/mental-models", operation_id="create_mental_model")
def create_mental_model(
    memory: Memory, jobs: Jobs, bank_id: str, body: requests.ModelGiven
) -> answers.ModelCreated:
    """Write a mental model from the bank's answer to its question. It is written at once.

    A bank that is not there is created.
    """
    refreshed = auto_refresh(body.trigger) or False
    with created_if_absent(memory, bank_id):
        model = memory.mental_models.create(
            bank_id,
            body.name,
            source_query=body.source_query,
            max_tokens=body.max_tokens or MAX_TOKENS,
            tags=body.tags or (),
            auto_refresh=refreshed,
            model_id=body.id or None,
        )
    done = jobs.note(bank_id, "refresh_mental_model", mental_model_id=model.id)
    return answers.ModelCreated(mental_model_id=model.id, operation_id=done.id)


@routes.get(f"{BANK}/mental-models/{{mental_model_id}}", operation_id="get_mental_model")
def get_mental_model(
    memory: Memory, bank_id: str, mental_model_id: str, detail: Detail = "full"
) -> answers.Model:
    """Return a mental model."""
    return _answer(memory, memory.mental_models.get(bank_id, mental_model_id), detail)


@routes.patch(f"{BANK}/mental-models/{{mental_model_id}}", operation_id="update_mental_model")
def update_mental_model(
    memory: Memory, bank_id: str, mental_model_id: str, body: requests.ModelChanges
) -> answers.Model:
    """Change the given fields; the text stays until a refresh."""
    model = memory.mental_models.update(
        bank_id,
        mental_model_id,
        name=body.name,
        source_query=body.source_query,
        max_tokens=body.max_tokens,
        tags=body.tags,
        auto_refresh=auto_refresh(body.trigger),
    )
    return _answer(memory, model, "full")


@routes.delete(f"{BANK}/mental-models/{{mental_model_id}}", operation_id="delete_mental_model")
def delete_mental_model(memory: Memory, bank_id: str, mental_model_id: str) -> answers.Deleted:
    """Delete a mental model."""
    memory.mental_models.delete(bank_id, mental_model_id)
    return answers.Deleted(message=f"Mental model {mental_model_id!r} was deleted")


@routes.get(
    f"{BANK}/mental-models/{{mental_model_id}}/history", operation_id="get_mental_model_history"
)
def get_mental_model_history(
    memory: Memory, bank_id: str, mental_model_id: str
) -> list[answers.ModelChange]:
    """Return the changes of a mental model, the latest first."""
    memory.mental_models.get(bank_id, mental_model_id)
    return [
        answers.ModelChange(
            previous_content=change.old if change.field == "text" else None,
            changed_at=change.at.isoformat(),
            action=change.action,
            field=change.field,
            previous_value=change.old,
            new_value=change.new,
        )
        for change in memory.mental_models.history(bank_id, mental_model_id)[::-1]
    ]


@routes.post(
    f"{BANK}/mental-models/{{mental_model_id}}/refresh", operation_id="refresh_mental_model"
)
def refresh_mental_model(
    memory: Memory,
    jobs: Jobs,
    bank_id: str,
    mental_model_id: str,
    body: requests.Refresh | None = None,
) -> answers.Submitted:
    """Write a mental model again, in an operation."""
    memory.mental_models.get(bank_id, mental_model_id)

    def refreshed() -> dict[str, object]:
        model = memory.mental_models.refresh(bank_id, mental_model_id)
        return {"refreshed_at": model.refreshed_at.isoformat()}

    begun = jobs.start(bank_id, "refresh_mental_model", refreshed, mental_model_id=mental_model_id)
    return answers.Submitted(operation_id=begun.id, status=begun.status)
