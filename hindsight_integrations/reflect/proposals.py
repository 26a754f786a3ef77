"""Proposals, checked against the matter they were drawn from: all of them hold, or none is used."""

from __future__ import annotations

from collections.abc import Iterator

from hindsight_integrations.errors import ModelError
from hindsight_integrations.reflect.ports import MAX_DRAFTS, MAX_TEXT, Draft, Matter, Proposals


def checked(matter: Matter, proposals: Proposals) -> Proposals:
    """The proposals, if each can be stored as it is.

    Raises:
        ModelError: one cannot: it names a memory or conclusion that is not of the matter, quotes
            what is not there, says nothing or too much, or there are too many.
    """
    faults = list(_faults(matter, proposals))
    if faults:
        raise ModelError(
            f"what was concluded about {matter.subject!r} cannot be stored: "
            + "; ".join(faults[:3])
            + "; nothing was changed"
        )
    return proposals


def _faults(matter: Matter, proposals: Proposals) -> Iterator[str]:
    most = max(MAX_DRAFTS, len(matter.memories))
    if len(proposals.drafts) > most:
        yield f"{len(proposals.drafts)} conclusions, of at most {most}"
    for draft in proposals.drafts:
        yield from _draft_faults(matter, draft)
    known = {memory.id for memory in matter.conclusions}
    touched = [draft.rewrites for draft in proposals.drafts if draft.rewrites is not None]
    touched += [removal.conclusion_id for removal in proposals.removals]
    yield from (f"no conclusion {each!r} is there" for each in touched if each not in known)
    if len(set(touched)) < len(touched):
        yield "a conclusion is changed twice"


def _draft_faults(matter: Matter, draft: Draft) -> Iterator[str]:
    texts = {memory.id: memory.text for memory in matter.memories}
    for what, text in (("text", draft.text), ("reasoning", draft.reasoning)):
        if not text.strip():
            yield f"a blank {what}"
        if len(text) > MAX_TEXT:
            yield f"a {what} of {len(text)} characters, of at most {MAX_TEXT}"
    if not any(piece.supports for piece in draft.evidence):
        yield "no evidence supports it"
    if len({piece.memory_id for piece in draft.evidence}) < len(draft.evidence):
        yield "a memory is given as evidence twice"
    for piece in draft.evidence:
        if piece.memory_id not in texts:
            yield f"no memory {piece.memory_id!r} is there"
        elif not piece.quote.strip() or piece.quote not in texts[piece.memory_id]:
            yield f"{piece.quote[:60]!r} does not stand in memory {piece.memory_id!r}"
