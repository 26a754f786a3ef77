"""Retain the conversations and memories of an export."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from hindsight_integrations.client import Hindsight
from hindsight_integrations.results import RetainResult
from hindsight_integrations.transcripts.reading import Transcript, read_transcripts


@dataclass(frozen=True, slots=True)
class ImportedTranscripts:
    """Outcome of an import.

    Attributes:
        sessions: conversations that were read.
        items: memories and blocks that were read.
        result: what was stored and skipped of both.
    """

    sessions: int
    items: int
    result: RetainResult


def import_transcripts(
    memory: Hindsight,
    bank_id: str,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    user: str = "user",
    progress: Callable[[int, int | None], None] | None = None,
) -> ImportedTranscripts:
    """Retain an export of conversations or memories; imported again, only what is new is stored.

    A conversation is a session whose id names its source, such as "chatgpt:68a1...", and its
    messages keep their ids, so that a later export with more messages adds just those.

    Args:
        memory: an open memory.
        bank_id: the bank; made if there is none.
        path: an exported file or its archive (.zip), or a folder of session files (.jsonl).
        format: one of `FORMATS`; told by the content if None.
        user: name of the person who speaks as the user.
        progress: called with (conversations and items done, None).

    Raises:
        InvalidInputError: the file cannot be read, or is of no known format.
        HindsightError: a conversation could not be stored; those before it are.
    """
    read = [*read_transcripts(path, format=format, user=user)]
    results: list[RetainResult] = []
    items = [one for one in read if not isinstance(one, Transcript)]
    transcripts = [one for one in read if isinstance(one, Transcript)]
    for done, one in enumerate(transcripts, start=1):
        results.append(
            memory.retain_messages(
                bank_id,
                one.messages,
                session=one.session,
                context=one.title or None,
                metadata={"source": one.source},
            )
        )
        if progress is not None:
            progress(done, len(read))
    if items:
        results.append(memory.retain_many(bank_id, items))
    return ImportedTranscripts(len(transcripts), len(items), RetainResult.merged(bank_id, results))
