"""Read from the grammar of a sentence what it says is so, and what it says has changed.

A state claim gives a subject one value ("Alice lives in Berlin"). A change claim says that such a
value ended or was replaced ("Alice moved to Paris", "no longer uses React"). A question, a wish, a
plan, a condition, a report of what somebody else says, and what holds for a while only make none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hindsight_integrations.nlp.data import table
from hindsight_integrations.nlp.syntax import has_clause, parse
from hindsight_integrations.reflect.attribution import reported
from hindsight_integrations.reflect.changes.claim_model import (
    Claims,
    joined,
)
from hindsight_integrations.reflect.changes.claim_reader import ClaimReader
from hindsight_integrations.reflect.changes.clause_frames import frames
from hindsight_integrations.reflect.changes.clause_splitting import is_past, plain_clauses
from hindsight_integrations.reflect.changes.endings import EndingReader
from hindsight_integrations.reflect.changes.form_lines import form_claims, form_line, unlabelled

_TABLE = table("changes")


_LABEL = re.compile(r"^[-*•#>\s]*(?:\[?[A-Za-z]+[- ]?\d+\]?\s*:\s+)?")
"""Mark of a list or key of a ticket before a sentence."""
_PARTS = re.compile(r";\s+")
_CHAT = re.compile(_TABLE["chat"]["marks"], re.VERBOSE | re.IGNORECASE)
_IRONIC = re.compile(_TABLE["chat"]["ironic"], re.VERBOSE | re.IGNORECASE)
_HEARSAY = re.compile(_TABLE["chat"]["hearsay"])
_REJECTED = re.compile(_TABLE["chat"]["rejected"], re.IGNORECASE)
_UNSURE = (_IRONIC, _HEARSAY, _REJECTED)


def bare_sentence(text: str) -> str:
    """Return a sentence without the mark of a list or the key of a ticket before it."""
    return _LABEL.sub("", text, count=1)


def read_claims(text: str, names: Mapping[str, str], speaker: str | None) -> Claims:
    """Return what a sentence claims.

    Args:
        text: one sentence.
        names: entities of its memory by normalised name, each with the name of whom it means.
        speaker: who says it, which is whom "I" means.
    """
    bare = bare_sentence(text)
    line = form_line(bare)
    if line is not None and not has_clause(parse(line[1])):
        return form_claims(*line, speaker)
    parts = _PARTS.split(_CHAT.sub("", unlabelled(line) if line else bare))
    read = [ClaimReader(parse(part), names, speaker) for part in parts]
    sure = not any(one.search(bare) for one in _UNSURE) and all(reader.is_sure for reader in read)
    claims = [one for reader in read for one in _by_clause(reader, sure=sure)]
    clauses = [(reader.sentence, reader.is_passing) for reader in read] if sure else []
    clause_states, clause_changes = frames(clauses, names, speaker)
    return replace(joined(claims), clause_states=clause_states, clause_changes=clause_changes)


def is_sure_and_lasting(text: str, speaker: str | None = None) -> bool:
    """Return True for a sentence without doubt, hearsay or a span for which it holds only.

    Args:
        text: one sentence.
        speaker: who says it.
    """
    bare = bare_sentence(text)
    reader = ClaimReader(parse(bare), {}, speaker)
    unsure = any(one.search(bare) for one in _UNSURE) or bool(reported(reader.sentence))
    return reader.is_sure and not unsure and not reader.is_passing


def _by_clause(reader: ClaimReader, *, sure: bool) -> Iterator[Claims]:
    """Yield what a sentence claims, and what its clauses claim by themselves.

    What the sentence doubts, limits in time or adds to something holds of its clauses too.
    """
    claims = reader.claims(sure=sure)
    yield claims
    names = [*reader.names, *reader.names.values()]
    texts = plain_clauses(reader.sentence.text, names) if sure else ()
    beside = [parse(text) for text in texts[1:] if not is_past(parse(text))]
    for whole in [parse(texts[0]), *beside] if len(texts) > 1 else [reader.sentence]:
        read = ClaimReader(whole, reader.names, reader.speaker)
        cues = EndingReader(whole, reader.names, reader.speaker)
        if read.adds or read.is_passing or cues.adds or cues.is_passing:
            return
    for text in texts:
        clause = ClaimReader(parse(text), reader.names, reader.speaker)
        yield replace(clause.claims(sure=clause.is_sure), is_clause=claims.is_clause)
