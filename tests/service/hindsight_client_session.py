"""A session with every method of `hindsight-client`, and what each is expected to do.

python -m tests.service.hindsight_client_session      write the table into docs/service.md
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path

import hindsight_client_api.api as generated

from hindsight_integrations.service.http_api.refused import REASONS

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
BEGIN = "<!-- table: python -m tests.service.hindsight_client_session -->"
END = "<!-- end of table -->"

REFUSED = {name for name, _ in REASONS.values()}

DIFFERS = {
    "add_bank_background": "the disposition stays as it is: no model reads the text",
    "clone_bank": "whole banks only, without histories of requests",
    "create_directive": "no tags: a directive counts for the whole bank",
    "create_mental_model": "written when the call returns; of a trigger, only"
    " `refresh_after_consolidation`",
    "create_or_update_bank": "of the configuration, mission and disposition; another value of"
    " another setting is refused",
    "delete_operation": "operations are kept until the service ends",
    "export_bank_transfer": "whole banks only, in this package's own format",
    "file_retain": "text files in UTF-8; others are refused",
    "get_agent_stats": "without the time of the last write and links by type of memory",
    "get_document": "the text is put together from its paragraphs",
    "get_entity": "no tags",
    "get_entity_graph": "no tags",
    "get_observation_history": "of every memory, not of observations alone",
    "get_operation_status": "no `include_payload`",
    "import_bank_template": "settings as in `create_or_update_bank`",
    "import_bank_transfer": "archives of this package, into a new bank",
    "list_banks": "by id, without the times of the last write",
    "list_documents": "not by time",
    "list_entities": "no tags",
    "recall_memories": "no `min_scores.reranker`; `final` is the calibrated relevance; a memory"
    " passes `min_scores` if it has all of these scores; tags are not `fuzzy`; types include"
    " opinions unless named; a query that nothing in the bank is like finds nothing",
    "reflect": "without a language model quotations with citations, `context` is not read, and"
    " `response_schema` refused;"
    " with tags in the modes that let untagged memories pass, or tag groups, no mental models",
    "retain_memories": "texts only, no `unset` times; a `strategy` is passed over, as one that the"
    " bank's configuration lacks; of `observation_scopes` only `shared`, and an observation keeps"
    " the tags that all of its memories have; the work is done when the call returns, with `async`"
    " too, once for each `operation_id` (refused with other texts); `resolve_entities` only true,"
    " and the `type` of an entity is found by the engine",
    "trigger_consolidation": "all that is pending; no scopes",
    "update_bank": "as `create_or_update_bank`",
    "update_bank_config": "as `create_or_update_bank`",
    "update_document": "tags only",
    "update_memory": "not the context; times are given as a pair; `resolve_entities` only true",
    "update_mental_model": "of a trigger, only `refresh_after_consolidation`",
}
"""Methods that do less or other than Hindsight's own server, and how."""


def methods() -> dict[str, list[str]]:
    """Return the methods of the generated client, by its API classes."""
    found: dict[str, list[str]] = {}
    for name, kind in inspect.getmembers(generated, inspect.isclass):
        own = [
            method
            for method, value in vars(kind).items()
            if inspect.isfunction(value)
            and not method.startswith("_")
            and not method.endswith(("_with_http_info", "_without_preload_content"))
        ]
        found[name.removesuffix("Api")] = sorted(own)
    return found


def verdict(method: str) -> str:
    """Return "works", "differs" or "refused"."""
    if method in REFUSED:
        return "refused"
    return "differs" if method in DIFFERS else "works"


def table() -> str:
    """Return the table of docs/service.md."""
    rows = ["| client | works | differs | refused (501) |", "|---|---|---|---|"]
    for api, names in methods().items():
        cells = defaultdict(list)
        for name in names:
            cells[verdict(name)].append(f"`{name}`")
        shown = (", ".join(cells[kind]) for kind in ("works", "differs", "refused"))
        rows.append(f"| {api} | {' | '.join(shown)} |")
    notes = [f"- `{name}`: {how}." for name, how in DIFFERS.items()]
    return "\n".join([*rows, "", "What differs:", "", *notes])


def written() -> str:
    """Return the page with the table in its place."""
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
