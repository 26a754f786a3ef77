"""Lines of a form, which claim something without a verb: "Deadline: 5 May"."""

from __future__ import annotations

import re

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.syntax import parse
from hindsight_integrations.reflect.changes.claim_model import (
    Claims,
    ClauseState,
    Ending,
    NounPhrase,
    StateClaim,
)
from hindsight_integrations.reflect.changes.phrases import plain_value

_ENTRY = re.compile(r"^([A-Z][\w ]{1,40}):\s+(\S.*?)[.\s]*$")
_ARROW = re.compile(r"\s*(?:->|=>|→|⇒)\s*")


def form_line(text: str) -> tuple[str, str] | None:
    """Return the field and the value of a line "field: value"; None for others."""
    entry = _ENTRY.match(text) or (_ENTRY.match(text.capitalize()) if _ARROW.search(text) else None)
    return (entry[1], entry[2]) if entry else None


def form_claims(field: str, text: str, speaker: str | None) -> Claims:
    """Return what a line of a form claims: "Deadline: 5 May", "Server: Debian 11 -> Debian 12"."""
    subject = field.casefold()
    values = [plain_value(part) for part in _ARROW.split(text) if part]
    if len(values) != 2:
        value = plain_value(text)
        words, called = tuple(subject.split()), plain_value(field)
        given = (("obj", value),)
        state = ClauseState(
            words, speaker, "be", given, frozenset(lexemes(f"{field} {text}")), called, False, True
        )
        return Claims((StateClaim(subject, "be", {"obj": value}),), clause_states=(state,))
    head = frozenset(lexemes(values[0].text.split()[-1]))
    mention = NounPhrase(subject, subject.split()[-1], frozenset(lexemes(subject)))
    ending = Ending("shift", values[0], head, values[1], mentions=(mention,), verb="change")
    return Claims((StateClaim(subject, "be", {"obj": values[1]}),), endings=(ending,))


def unlabelled(line: tuple[str, str]) -> str:
    """Return a line without its label, which is the subject: "Docs site: switched to Y"."""
    label, text = line
    first = next(iter(parse(text).words), None)
    told = first is not None and first.text.islower() and first.tag in ("VBD", "VBN")
    return f"{label} {text}" if told else text
