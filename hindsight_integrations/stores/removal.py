"""Rules for what goes along with removed memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hindsight_integrations.models import MentalModel
from hindsight_integrations.stores.base import CITED, CITED_MODEL


def text_left(texts: Iterable[str]) -> str:
    """Return what is left of a chunk: texts of the memories still stated in it, as stored."""
    return "\n".join(texts)


def histories_to_forget(
    removed_ids: Iterable[str],
    not_derived: Sequence[str],
    models: Iterable[MentalModel],
    citing: Callable[[Sequence[str]], Mapping[str, Iterable[str]]],
    cited_once: Callable[[Sequence[str], str], Iterable[str]],
) -> tuple[set[str], set[str]]:
    """Find the histories to remove together with memories, because they may quote these.

    These are the histories of the memories, and of all conclusions and mental models that cite them
    or have cited them, directly or through others. If only a derived conclusion is removed, no
    other history is: it says no more than its sources.

    Args:
        removed_ids: ids of the memories to remove.
        not_derived: those of them that are not `derived`.
        models: all mental models of the bank.
        citing: memory ids to the conclusions that cite each (`CONCLUSIONS_CITING`).
        cited_once: memory ids and a field (`CITED` or `CITED_MODEL`) to the `old` values that
            their histories have in changes of that field.

    Returns:
        Ids of memories and ids of mental models.
    """
    models = list(models)
    to_follow = {*not_derived, *(id for ids in citing(not_derived).values() for id in ids)}
    memories, forgotten_models = {*removed_ids, *to_follow}, set[str]()
    while to_follow:
        ids = sorted(to_follow)
        forgotten_models.update(cited_once(ids, CITED_MODEL))
        forgotten_models.update(m.id for m in models if not to_follow.isdisjoint(m.sources))
        to_follow = set(cited_once(ids, CITED)) - memories
        memories |= to_follow
    return memories, forgotten_models
