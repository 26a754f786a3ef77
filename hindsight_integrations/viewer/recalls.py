"""The page that tries a recall: why each result came, what was left out, two settings compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hindsight_integrations import explain
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Arm, MemoryType
from hindsight_integrations.recall.base import Budget
from hindsight_integrations.results import Recalled, RecallResult
from hindsight_integrations.viewer.pages import (
    PageRequest,
    PageRequestDep,
    number_given,
    time_given,
)

router = APIRouter(default_response_class=HTMLResponse)

LEFT_OUT = 10
"""Memories shown of those that did not fit the budget."""

FILTERS = ("entity", "tag", "from", "until", "as_of", "asked", "type")
"""Fields that are shown once one of them is filled in."""

SIGNALS = 6
"""Signals shown of a memory, the largest first."""


@dataclass(frozen=True, slots=True)
class Side:
    """One set of settings, and the recall with them.

    Attributes:
        name: "a" or "b"; leads the names of its fields.
        has_filters: True if it leaves out some memories, whatever the question.
        given: its settings in words.
        result: None if nothing was asked yet, or it failed.
        problem: the reason why a setting cannot be used.
    """

    name: str
    title: str
    has_filters: bool = False
    given: str = ""
    result: RecallResult | None = None
    problem: str | None = None

    @property
    def ranks(self) -> Mapping[str, int]:
        """Rank of each memory returned, by id."""
        return {item.id: item.rank for item in self.result or ()}


@router.get("/recall")
def recall(request: PageRequestDep) -> HTMLResponse:
    """Try a recall with one or two sets of settings."""
    request.memory.banks.get(request.bank_id)
    names = (
        {"a": "Settings A", "b": "Settings B"}
        if request.query.get("compare")
        else {"a": "Settings"}
    )
    sides = [_side(request, name, title) for name, title in names.items()]
    failed = any(side.problem for side in sides)
    return request.page(
        "recall.html",
        400 if failed else 200,
        sides=sides,
        settings_shown=failed or (len(sides) > 1 and not request.query.get("query")),
        types=list(MemoryType),
        arms=list(Arm),
        budgets=get_args(Budget),
        default_tokens=request.memory.settings.max_tokens,
        left_out=LEFT_OUT,
        signals_shown=signals_shown,
        arm_reason=explain.arm_reason,
        said_by=explain.said_by,
        window_text=explain.window_text,
    )


def _side(request: PageRequest, name: str, title: str) -> Side:
    query = request.query.get("query")
    given = [
        f"{field.removeprefix(f'{name}_')} {' '.join(request.every(field))}"
        for field in request.query
        if field.startswith(f"{name}_")
    ]
    filtered = any(request.value(f"{name}_{filter}") for filter in FILTERS)
    empty = Side(name, title, filtered, ", ".join(given))
    if not query:
        return empty
    try:
        return replace(
            empty, result=request.memory.recall(request.bank_id, query, **_options(request, name))
        )
    except InvalidInputError as error:
        return replace(empty, problem=str(error))


def _options(request: PageRequest, side: str) -> dict[str, Any]:
    """Return the options of `recall` that the address names for a side."""

    def one(name: str) -> str | None:
        return request.query.get(f"{side}_{name}")

    start, end = time_given("from", one("from")), time_given("until", one("until"))
    given = {
        "budget": one("budget"),
        "max_tokens": number_given("tokens", one("tokens"), int),
        "min_score": number_given("least relevance", one("least"), float),
        "types": request.every(f"{side}_type"),
        "arms": request.every(f"{side}_arm"),
        "tags": request.every(f"{side}_tag"),
        "entities": request.every(f"{side}_entity"),
        "window": (start, end) if start or end else None,
        "as_of": time_given("known on", one("as_of")),
        "query_time": time_given("asked on", one("asked")),
        "prefer_observations": bool(one("observations")),
        "fill": bool(one("fill")),
    }
    return {
        name: value
        for name, value in given.items()
        if value not in (None, []) and value is not False
    }


def signals_shown(item: Recalled) -> list[tuple[str, float, float]]:
    """Return the largest signals: plain name, contribution, and its share of the first one's."""
    main = [signal for signal in item.signals if not signal.name.endswith(explain.BOOST)][:SIGNALS]
    largest = max((abs(signal.contribution) for signal in main), default=0.0) or 1.0
    return [
        (explain.PLAIN.get(s.name, s.name), s.contribution, abs(s.contribution) / largest)
        for s in main
    ]
