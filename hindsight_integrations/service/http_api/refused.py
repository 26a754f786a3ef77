"""Routes of Hindsight that this engine does not have: each answers 501 and says why."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from hindsight_integrations.service.http_api.routing import BANK, router

ALIASES = "a bank has only one id here; use it"
AUDIT = "this interface does not list an audit log; see the audit log of the service"
KNOWLEDGE = "there is no knowledge base here; use mental models instead"
TRACES = "calls of language models are not recorded here"
WEBHOOKS = "webhooks are not sent here; query the state of operations"
TRANSFER = "single documents cannot be transferred here; export the whole bank (/transfer/export)"

REASONS: dict[tuple[str, str], tuple[str, str]] = {
    ("GET", f"{BANK}/aliases"): ("list_bank_aliases", ALIASES),
    ("POST", f"{BANK}/aliases"): ("create_bank_alias", ALIASES),
    ("PATCH", f"{BANK}/aliases/{{alias}}"): ("set_bank_alias_primary", ALIASES),
    ("DELETE", f"{BANK}/aliases/{{alias}}"): ("delete_bank_alias", ALIASES),
    ("GET", f"{BANK}/attachments/{{attachment_id}}"): (
        "get_bank_attachment", "images and files are not stored here, only texts",
    ),
    ("GET", f"{BANK}/audit-logs"): ("list_audit_logs", AUDIT),
    ("GET", f"{BANK}/audit-logs/stats"): ("audit_log_stats", AUDIT),
    ("GET", f"{BANK}/audit-logs/{{log_id}}"): ("get_audit_log", AUDIT),
    ("POST", f"{BANK}/memories/dry-run-extract"): (
        "dry_run_extract_memories", "facts cannot be extracted without storing them here",
    ),
    ("GET", "/v1/bank-template-schema"): (
        "get_bank_template_schema", "the schema of templates is in /openapi.json, as Template",
    ),
    ("GET", f"{BANK}/documents/{{document_id:path}}/history"): (
        "get_document_history", "documents have no history here; their memories do",
    ),
    ("POST", f"{BANK}/documents/{{document_id:path}}/reprocess"): (
        "reprocess_document", "a document is extracted again when its text is retained again",
    ),
    ("GET", f"{BANK}/document-transfer"): ("export_documents_sync_removed", TRANSFER),
    ("POST", f"{BANK}/document-transfer"): ("import_documents", TRANSFER),
    ("POST", f"{BANK}/document-transfer/export"): ("export_documents", TRANSFER),
    ("POST", f"{BANK}/entities/{{entity_id:path}}/regenerate"): (
        "regenerate_entity_observations", "observations are drawn by consolidation (/consolidate)",
    ),
    ("GET", f"{BANK}/knowledge-base/tree"): ("get_knowledge_base_tree", KNOWLEDGE),
    ("POST", f"{BANK}/knowledge-base/folders"): ("create_knowledge_folder", KNOWLEDGE),
    ("POST", f"{BANK}/knowledge-base/pages"): ("create_knowledge_page", KNOWLEDGE),
    ("GET", f"{BANK}/knowledge-base/pages/{{page_id}}"): ("get_knowledge_page", KNOWLEDGE),
    ("GET", f"{BANK}/knowledge-base/export"): ("export_knowledge_base", KNOWLEDGE),
    ("GET", f"{BANK}/knowledge-base/search"): ("search_knowledge_base", KNOWLEDGE),
    ("PATCH", f"{BANK}/knowledge-base/nodes/{{node_id}}"): ("update_knowledge_node", KNOWLEDGE),
    ("DELETE", f"{BANK}/knowledge-base/nodes/{{node_id}}"): ("delete_knowledge_node", KNOWLEDGE),
    ("GET", f"{BANK}/llm-requests"): ("list_llm_requests", TRACES),
    ("GET", f"{BANK}/llm-requests/stats"): ("llm_request_stats", TRACES),
    ("POST", f"{BANK}/health/llm"): (
        "test_bank_llm", "banks do not have their own language models here",
    ),
    ("POST", f"{BANK}/mental-models/{{mental_model_id}}/clear"): (
        "clear_mental_model", "a mental model cannot be empty here; delete it instead",
    ),
    ("POST", f"{BANK}/mental-models/{{mental_model_id}}/dry-run-refresh"): (
        "dry_run_refresh_mental_model",
        "a mental model cannot be written without storing it here; reflect on its question instead",
    ),
    ("POST", f"{BANK}/prompts/preview"): (
        "preview_prompt", "prompts do not depend on the bank here",
    ),
    ("POST", f"{BANK}/consolidation-strategies/preview"): (
        "preview_consolidation_strategies", "there are no consolidation strategies here",
    ),
    ("POST", f"{BANK}/consolidation/recover"): (
        "recover_consolidation",
        "memories that failed to consolidate stay pending here; /consolidate retries them",
    ),
    ("GET", f"{BANK}/webhooks"): ("list_webhooks", WEBHOOKS),
    ("POST", f"{BANK}/webhooks"): ("create_webhook", WEBHOOKS),
    ("PATCH", f"{BANK}/webhooks/{{webhook_id}}"): ("update_webhook", WEBHOOKS),
    ("DELETE", f"{BANK}/webhooks/{{webhook_id}}"): ("delete_webhook", WEBHOOKS),
    ("GET", f"{BANK}/webhooks/{{webhook_id}}/deliveries"): ("list_webhook_deliveries", WEBHOOKS),
}  # fmt: skip
"""Refused requests by method and path: the operation's name in Hindsight's API, and the reason."""


def _add(routes: APIRouter, method: str, path: str, name: str, reason: str) -> None:
    def refused() -> JSONResponse:
        return JSONResponse({"detail": reason}, 501)

    routes.add_api_route(
        path,
        refused,
        methods=[method],
        operation_id=name,
        status_code=501,
        description=f"Not offered: {reason}.",
    )


routes = router("Not offered")
for (_method, _path), (_name, _reason) in REASONS.items():
    _add(routes, _method, _path, _name, _reason)
