"""Banks: their profiles, configuration, counts and consolidation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import JsonValue

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankExistsError, InvalidInputError
from hindsight_integrations.models import Bank, Disposition, Memory, utc_now
from hindsight_integrations.service.http_api import answers, conversions, listing, requests
from hindsight_integrations.service.http_api.routing import (
    BANK,
    Jobs,
    Limit,
    Offset,
    part_of,
    refuse,
    router,
)
from hindsight_integrations.service.http_api.routing import (
    Memory as MemoryOf,
)
from hindsight_integrations.stores.base import NO_LIMIT

routes = router("Banks")

TRAITS = ("skepticism", "literalism", "empathy")

PERIODS: Mapping[str, tuple[timedelta, Literal["minute", "hour", "day"]]] = {
    "1h": (timedelta(hours=1), "minute"),
    "12h": (timedelta(hours=12), "hour"),
    "1d": (timedelta(days=1), "hour"),
    "7d": (timedelta(days=7), "day"),
    "30d": (timedelta(days=30), "day"),
    "90d": (timedelta(days=90), "day"),
}
_STEPS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}


def config_of(memory: Hindsight, bank: Bank) -> dict[str, JsonValue]:
    """Return the settings of Hindsight's that this engine has, with what holds for a bank."""
    consolidates = memory.settings.consolidate
    return {
        **{f"disposition_{trait}": getattr(bank.disposition, trait) for trait in TRAITS},
        "reflect_mission": bank.mission,
        "enable_observations": consolidates,
        "enable_auto_consolidation": consolidates,
        "enable_text_search": True,
        "enable_temporal_retrieval": True,
        "enable_graph_retrieval": True,
        "enable_reranking": memory.reranker is not None,
        "recall_max_tokens": memory.settings.max_tokens,
        "store_document_text": True,
    }


def changed_config(
    memory: Hindsight, bank: Bank, updates: Mapping[str, JsonValue]
) -> tuple[str | None, Disposition]:
    """Return the mission, None if it stays, and the disposition that settings give a bank.

    Raises:
        HTTPException: 501 for a setting that this engine does not have for one bank.
    """
    held = config_of(memory, bank)
    given = {name: value for name, value in updates.items() if value is not None}
    own = {"reflect_mission", *(f"disposition_{trait}" for trait in TRAITS)}
    for name, value in given.items():
        if name not in own and held.get(name) != value:
            now = f"; it is {held[name]!r} for all banks" if name in held else ""
            raise refuse(f"the setting {name!r} cannot be changed for a single bank here{now}")
    mission = given.get("reflect_mission")
    if mission is not None and not isinstance(mission, str):
        raise InvalidInputError(f"reflect_mission is {mission!r:.80}; give the mission as text")
    changed = {trait: given.get(f"disposition_{trait}") for trait in TRAITS}
    return mission, _with_traits(bank.disposition, changed)


def _with_traits(old: Disposition, traits: Mapping[str, Any]) -> Disposition:
    """Return a disposition with the traits that are given; those that are None stay."""
    return replace(old, **{name: value for name, value in traits.items() if value is not None})


def change_config(memory: Hindsight, bank: Bank, updates: Mapping[str, JsonValue]) -> Bank:
    """Return the bank with settings changed; see `changed_config`."""
    mission, disposition = changed_config(memory, bank, updates)
    if mission is None and disposition == bank.disposition:
        return bank
    return memory.banks.update(bank.id, mission=mission, disposition=disposition)


def _write(memory: Hindsight, bank_id: str, given: requests.BankGiven) -> answers.Profile:
    bank = memory.banks.update(
        bank_id,
        name=given.name,
        mission=given.mission,
        background=given.background,
        disposition=_disposition(memory, bank_id, given.disposition),
    )
    return conversions.profile(change_config(memory, bank, given.model_extra or {}))


def _disposition(
    memory: Hindsight, bank_id: str, traits: requests.Traits | None
) -> Disposition | None:
    """Return a bank's disposition with these traits changed; None if no traits are given."""
    if traits is None:
        return None
    return _with_traits(memory.banks.get(bank_id).disposition, traits.model_dump())


@routes.get("/v1/default/banks", operation_id="list_banks")
def list_banks(
    memory: MemoryOf, q: str | None = None, limit: Limit = 100, offset: Offset = 0
) -> answers.BankList:
    """List banks by id; `q` is a part of an id or name."""
    part = (q or "").casefold()
    found = [
        bank
        for bank in memory.banks.list()
        if part in bank.id.casefold() or part in bank.name.casefold()
    ]
    shown = [_item(memory, bank) for bank in part_of(found, limit, offset)]
    return answers.BankList(banks=shown, total=len(found), limit=limit, offset=offset)


def _item(memory: Hindsight, bank: Bank) -> answers.BankItem:
    stats = memory.banks.stats(bank.id)
    return answers.BankItem(
        bank_id=bank.id,
        name=bank.name or bank.id,
        disposition=conversions.traits(bank),
        mission=bank.mission,
        created_at=bank.created_at.isoformat(),
        updated_at=bank.updated_at.isoformat(),
        fact_count=stats.memories,
    )


@routes.put(BANK, operation_id="create_or_update_bank")
def create_or_update_bank(
    memory: MemoryOf, bank_id: str, body: requests.BankGiven
) -> answers.Profile:
    """Create a bank, or change the given fields of one that is there."""
    with created_if_absent(memory, bank_id):
        return _write(memory, bank_id, body)


@contextmanager
def created_if_absent(memory: Hindsight, bank_id: str) -> Iterator[None]:
    """Create the bank if there is none, and delete it again if the block raises.

    It stays if another request has retained something into it in the meantime.
    """
    try:
        memory.banks.create(bank_id)
    except BankExistsError:
        yield
        return
    try:
        yield
    except Exception:
        if not memory.banks.stats(bank_id).memories:
            memory.banks.delete(bank_id)
        raise


@routes.patch(BANK, operation_id="update_bank")
def update_bank(memory: MemoryOf, bank_id: str, body: requests.BankGiven) -> answers.Profile:
    """Change the given fields of a bank, which is created if it is not there."""
    return create_or_update_bank(memory, bank_id, body)


@routes.delete(BANK, operation_id="delete_bank")
def delete_bank(memory: MemoryOf, bank_id: str) -> answers.Deleted:
    """Delete a bank with everything in it."""
    count = memory.banks.stats(bank_id).memories
    memory.banks.delete(bank_id)
    return answers.Deleted(message=f"Bank {bank_id!r} was deleted", deleted_count=count)


@routes.get(f"{BANK}/profile", operation_id="get_bank_profile")
def get_bank_profile(memory: MemoryOf, bank_id: str) -> answers.Profile:
    """Return name, mission and disposition of a bank."""
    return conversions.profile(memory.banks.get(bank_id))


@routes.put(f"{BANK}/profile", operation_id="update_bank_disposition")
def update_bank_disposition(
    memory: MemoryOf, bank_id: str, body: requests.DispositionGiven
) -> answers.Profile:
    """Change the given traits of a bank's disposition."""
    disposition = _disposition(memory, bank_id, body.disposition)
    return conversions.profile(memory.banks.update(bank_id, disposition=disposition))


@routes.post(f"{BANK}/background", operation_id="add_bank_background")
def add_bank_background(
    memory: MemoryOf, bank_id: str, body: requests.Background
) -> answers.BackgroundAdded:
    """Add to the background of a bank; its disposition stays, as no model reads the text."""
    old = memory.banks.get(bank_id).background
    bank = memory.banks.update(bank_id, background=f"{old}\n{body.content}".strip())
    return answers.BackgroundAdded(
        mission=bank.mission, background=bank.background, disposition=conversions.traits(bank)
    )


def own_config(memory: Hindsight, bank: Bank) -> dict[str, JsonValue]:
    """Return the settings of a bank that differ from those of a new one."""
    plain = config_of(memory, Bank(bank.id))
    return {n: value for n, value in config_of(memory, bank).items() if value != plain[n]}


def _config(memory: Hindsight, bank: Bank) -> answers.Config:
    held, own = config_of(memory, bank), own_config(memory, bank)
    return answers.Config(bank_id=bank.id, config=held, overrides=own)


@routes.get(f"{BANK}/config", operation_id="get_bank_config")
def get_bank_config(memory: MemoryOf, bank_id: str) -> answers.Config:
    """Return the settings that hold for a bank."""
    return _config(memory, memory.banks.get(bank_id))


@routes.patch(f"{BANK}/config", operation_id="update_bank_config")
def update_bank_config(
    memory: MemoryOf, bank_id: str, body: requests.ConfigGiven
) -> answers.Config:
    """Change settings of a bank, which is created if it is not there."""
    with created_if_absent(memory, bank_id):
        return _config(memory, change_config(memory, memory.banks.get(bank_id), body.updates))


@routes.delete(f"{BANK}/config", operation_id="reset_bank_config")
def reset_bank_config(memory: MemoryOf, bank_id: str) -> answers.Config:
    """Give a bank the default mission and disposition."""
    return _config(memory, memory.banks.update(bank_id, mission="", disposition=Disposition()))


@routes.get(f"{BANK}/stats", operation_id="get_agent_stats")
def get_agent_stats(memory: MemoryOf, jobs: Jobs, bank_id: str) -> answers.Stats:
    """Return counts of what a bank holds."""
    stats = memory.banks.stats(bank_id)
    links = {kind.value: count for kind, count in stats.links.items()}
    statuses = Counter[str](operation.status for operation in jobs.list(bank_id))
    pending = memory.graph_store.pending_consolidation(bank_id, NO_LIMIT)
    return answers.Stats(
        bank_id=bank_id,
        total_nodes=stats.memories,
        total_links=sum(links.values()),
        total_documents=stats.documents,
        nodes_by_fact_type={kind.value: count for kind, count in stats.by_type.items()},
        links_by_link_type=links,
        links_by_fact_type={},
        links_breakdown={},
        pending_operations=statuses["pending"] + statuses["processing"],
        failed_operations=statuses["failed"],
        operations_by_status=dict(statuses),
        pending_consolidation=len(pending),
        total_observations=next(
            (count for kind, count in stats.by_type.items() if kind.value == "observation"), 0
        ),
    )


@routes.get(f"{BANK}/stats/memories-timeseries", operation_id="get_memories_timeseries")
def get_memories_timeseries(
    memory: MemoryOf,
    bank_id: str,
    period: str = "7d",
    time_field: Literal["created_at", "mentioned_at", "occurred_start"] = "created_at",
) -> answers.Timeseries:
    """Count memories by time and type over a period that ends now."""
    if period not in PERIODS:
        raise InvalidInputError(f"period is {period[:20]!r}; choose from {', '.join(PERIODS)}")
    memory.banks.get(bank_id)
    length, trunc = PERIODS[period]
    step = _STEPS[trunc]
    last = _truncated(utc_now(), trunc)
    counts: dict[datetime, Counter[str]] = {}
    for each in listing.memories(memory, bank_id, {}):
        time = getattr(each, time_field)
        if time is not None and time >= last - length:
            counts.setdefault(_truncated(time, trunc), Counter())[each.type.value] += 1
    times = [last - length + step * n for n in range(1, int(length / step) + 1)]
    buckets = [
        answers.TimeBucket(time=time.isoformat(), **counts.get(time, Counter())) for time in times
    ]
    return answers.Timeseries(
        bank_id=bank_id, period=period, trunc=trunc, time_field=time_field, buckets=buckets
    )


def _truncated(time: datetime, trunc: str) -> datetime:
    whole = time.replace(second=0, microsecond=0)
    if trunc != "minute":
        whole = whole.replace(minute=0)
    return whole.replace(hour=0) if trunc == "day" else whole


@routes.post(f"{BANK}/consolidate", operation_id="trigger_consolidation")
def trigger_consolidation(
    memory: MemoryOf, jobs: Jobs, bank_id: str, body: requests.Consolidate | None = None
) -> answers.Consolidating:
    """Consolidate what is pending, in an operation."""
    if body and body.observation_scopes:
        raise refuse("observations have the tags of their memories here; leave out the scopes")
    memory.banks.get(bank_id)
    for known in jobs.list(bank_id):
        if known.kind == "consolidation" and known.status == "pending":
            return answers.Consolidating(operation_id=known.id, deduplicated=True)

    def consolidate() -> dict[str, object]:
        done = memory.consolidate(bank_id)
        return {"considered": done.considered, "failures": [str(each) for each in done.failures]}

    return answers.Consolidating(operation_id=jobs.start(bank_id, "consolidation", consolidate).id)


@routes.delete(f"{BANK}/observations", operation_id="clear_observations")
def clear_observations(memory: MemoryOf, bank_id: str) -> answers.Deleted:
    """Delete all observations of a bank."""
    count = len(memory.forget(bank_id, types=["observation"]))
    return answers.Deleted(message=f"{count} observations were deleted", deleted_count=count)


@routes.get(f"{BANK}/observations/scopes", operation_id="list_observation_scopes")
def list_observation_scopes(
    memory: MemoryOf, bank_id: str, limit: Limit = 100, offset: Offset = 0
) -> answers.ScopeList:
    """List the sets of tags that observations have, the most frequent first."""
    memory.banks.get(bank_id)
    drawn: Iterator[Memory] = listing.memories(memory, bank_id, {"types": ["observation"]})
    counts = Counter(tuple(sorted(each.tags)) for each in drawn)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return answers.ScopeList(
        scopes=[
            answers.Scope(tags=list(tags), count=count)
            for tags, count in part_of(ordered, limit, offset)
        ],
        total=len(ordered),
        limit=limit,
        offset=offset,
    )
