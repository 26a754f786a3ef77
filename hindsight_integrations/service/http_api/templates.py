"""Templates: a bank's configuration, mental models and directives, without its memories."""

from __future__ import annotations

from hindsight_integrations.client import Hindsight
from hindsight_integrations.models import Bank, Directive
from hindsight_integrations.service.http_api import answers, listing, requests
from hindsight_integrations.service.http_api.banks import (
    change_config,
    changed_config,
    created_if_absent,
    own_config,
)
from hindsight_integrations.service.http_api.directives import check_tags
from hindsight_integrations.service.http_api.mental_models import auto_refresh
from hindsight_integrations.service.http_api.routing import BANK, Memory, refuse, router

routes = router("Bank Templates")

TEMPLATE_VERSION = "1"


@routes.get(f"{BANK}/export", operation_id="export_bank_template")
def export_bank_template(memory: Memory, bank_id: str) -> requests.Template:
    """Return a bank's configuration, mental models and directives as a template."""
    bank = memory.banks.get(bank_id)
    active = memory.directives.list(bank_id, active=True)
    return requests.Template(
        version=TEMPLATE_VERSION,
        bank=dict(own_config(memory, bank)),
        mental_models=[
            requests.TemplateModel(
                id=model.id,
                name=model.name,
                source_query=model.source_query,
                tags=list(model.tags),
                max_tokens=model.max_tokens,
                trigger=requests.Trigger(refresh_after_consolidation=model.auto_refresh),
            )
            for model in memory.mental_models.list(bank_id)
            if model.source_query is not None
        ],
        directives=[
            requests.TemplateDirective(
                name=each.name, content=each.text, priority=each.priority, is_active=each in active
            )
            for each in memory.directives.list(bank_id)
        ],
    )


@routes.post(f"{BANK}/import", operation_id="import_bank_template")
def import_bank_template(
    memory: Memory,
    bank_id: str,
    body: requests.Template,
    dry_run: bool = False,
) -> answers.TemplateApplied:
    """Apply a template: settings, mental models by id and directives by name.

    A bank that is not there is created, unless something of the template is refused. Mental
    models are written at once.
    """
    models, directives = body.mental_models or [], body.directives or []
    for directive in directives:
        check_tags(directive.tags)
    for model in models:
        auto_refresh(model.trigger)
    if body.version != TEMPLATE_VERSION:
        raise refuse(f"the version of templates is {TEMPLATE_VERSION!r} here")
    exists = listing.has_bank(memory, bank_id)
    bank = memory.banks.get(bank_id) if exists else Bank(bank_id)
    changed_config(memory, bank, body.bank or {})
    known = {model.id for model in memory.mental_models.list(bank_id)} if exists else set()
    named = {each.name: each for each in memory.directives.list(bank_id)} if exists else {}
    applied = answers.TemplateApplied(
        bank_id=bank_id,
        config_applied=bool(body.bank),
        mental_models_created=[model.id for model in models if model.id not in known],
        mental_models_updated=[model.id for model in models if model.id in known],
        directives_created=[each.name for each in directives if each.name not in named],
        directives_updated=[each.name for each in directives if each.name in named],
        operation_ids=[],
        dry_run=dry_run,
    )
    if dry_run:
        return applied
    with created_if_absent(memory, bank_id):
        change_config(memory, memory.banks.get(bank_id), body.bank or {})
        for model in models:
            _apply_model(memory, bank_id, model, known)
        for directive in directives:
            _apply_directive(memory, bank_id, directive, named.get(directive.name))
    return applied


def _apply_directive(
    memory: Hindsight, bank_id: str, given: requests.TemplateDirective, known: Directive | None
) -> None:
    priority, active = given.priority, given.is_active
    if known is None:
        memory.directives.create(
            bank_id, given.name, given.content, priority=priority, active=active
        )
    else:
        memory.directives.update(
            bank_id, known.id, text=given.content, priority=priority, active=active
        )


def _apply_model(
    memory: Hindsight, bank_id: str, model: requests.TemplateModel, known: set[str]
) -> None:
    fields: dict[str, object] = {
        "source_query": model.source_query,
        "tags": model.tags or (),
        "auto_refresh": auto_refresh(model.trigger) or False,
    }
    if model.max_tokens is not None:
        fields["max_tokens"] = model.max_tokens
    if model.id in known:
        memory.mental_models.update(bank_id, model.id, name=model.name, **fields)  # type: ignore[arg-type]
    else:
        memory.mental_models.create(bank_id, model.name, model_id=model.id, **fields)  # type: ignore[arg-type]
