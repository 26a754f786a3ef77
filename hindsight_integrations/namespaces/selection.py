"""Selection of memories to list or forget: the filters of recall, and the memories' state."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import MemoryState, as_datetime, utc_now
from hindsight_integrations.namespaces.entities import find_entity
from hindsight_integrations.recall.request import DEFAULTS, FilterOptions, memory_filter
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import MemoryFilter
from hindsight_integrations.stores.conditions import Condition
from hindsight_integrations.validation import When


class SelectionOptions(FilterOptions, total=False):
    """Options that choose memories; `Memories.list` documents them."""

    text: str | None
    speaker: str | None
    changed_since: When | None
    state: MemoryState | None


SELECTION: SelectionOptions = {
    "text": None,
    "speaker": None,
    "types": DEFAULTS["types"],
    "tags": DEFAULTS["tags"],
    "tags_match": DEFAULTS["tags_match"],
    "where": DEFAULTS["where"],
    "scope": DEFAULTS["scope"],
    "entities": DEFAULTS["entities"],
    "window": DEFAULTS["window"],
    "as_of": DEFAULTS["as_of"],
    "changed_since": None,
    "state": None,
}
"""Default of each option, in the order that signatures list them."""


def selection(
    runtime: Runtime, bank_id: str, options: SelectionOptions, *, state: MemoryState
) -> MemoryFilter:
    """Return the filter that the options ask for.

    Args:
        runtime: the parts of the client.
        bank_id: the bank whose entities are named.
        options: those given.
        state: the state of the memories, where the options name none.

    Raises:
        InvalidInputError: an option cannot be used.
        EntityNotFoundError: the bank does not know an entity.
    """
    given: SelectionOptions = {**SELECTION, **options}
    text, speaker, asked = given["text"], given["speaker"], given["state"]
    zone = runtime.settings.zone
    filter = memory_filter(given, zone)
    if speaker is not None:
        said = Condition("speaker", "$eq", validation.label("speaker", speaker))
        filter = replace(filter, where=(*filter.where, said))
    since = validation.timestamp("changed_since", given["changed_since"], zone)
    if asked is not None:
        state = validation.choice("state", asked, get_args(MemoryState))
    names = validation.items("entities", given["entities"], "a list of names or ids")
    entities = (find_entity(runtime, bank_id, name).id for name in names)
    if text is not None and validation.is_blank(validation.text(text, "text")):
        raise InvalidInputError("text is blank; give words to look for, or leave it out")
    filter = replace(
        filter,
        text=None if text is None else validation.text(text, "text"),
        entity_ids=tuple(dict.fromkeys(entities)),
        updated_since=None if since is None else as_datetime(since),
    )
    return _in_state(filter, state)


def _in_state(filter: MemoryFilter, state: MemoryState) -> MemoryFilter:
    match state:
        case "invalidated":
            return replace(filter, now=None, include_invalid=True, only_invalid=True)
        case "expired":
            return replace(filter, now=None, include_invalid=True, expired_by=utc_now())
        case "any":
            return replace(filter, now=None, include_invalid=True)
    return filter
