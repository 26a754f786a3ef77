"""Read from the grammar of a sentence what it says is so, and what it says has changed.

A state claim gives a subject a value ("Alice lives in Berlin"); what has ended or been replaced the
clause frames and `endings` read. A question, a wish, a plan, a condition, a report of what somebody
else says, and what holds for a while only claim nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word, has_clause, parse
from hindsight_integrations.nlp.word_classes import SUBJECTS
from hindsight_integrations.reflect.changes.certainty import bare_sentence, is_unsure
from hindsight_integrations.reflect.changes.claim_model import (
    Claims,
    ClauseChange,
    ClauseState,
    StateClaim,
    joined,
)
from hindsight_integrations.reflect.changes.clause_frames import frames
from hindsight_integrations.reflect.changes.clause_splitting import is_past, plain_clauses
from hindsight_integrations.reflect.changes.endings import EndingReader
from hindsight_integrations.reflect.changes.phrases import plain_value

_TABLE = table("changes")

_WORDS = word_sets("changes")

_WORD = re.compile(r"(?:[^\W\d_]|['’-])*")
_ENTRY = re.compile(r"^([A-Z][\w ]{1,40}):\s+(\S.*?)[.\s]*$")
_ARROW = re.compile(r"\s*(?:->|=>|→|⇒)\s*")
_PARTS = re.compile(r";\s+")
_ANY_MORE = re.compile(
    r"\b(?:(am|is|are|was|were|do|does|did)(?:n['’]t| not)|(?<=['’])(m|s|re) not)\b"
    r"([^,;]{1,80}?) (?:any ?more|any longer)\b(?! than)",
    re.IGNORECASE,
)
"""A denial that says that something ended: "isn't X any more", for which "no longer" is read."""
_CHAT = re.compile(_TABLE["chat"]["marks"], re.VERBOSE | re.IGNORECASE)
_HANDED = frozenset({"possession"})
"""Relation of cues that end a thing only for one who is known to have it: "handed in my thesis"."""
_NOT_PLAIN = (
    _WORDS["moving"]
    | _WORDS["grading"]
    | _WORDS["dropping"]
    | _WORDS["replacing"]
    | _WORDS["stopping"]
    | _WORDS["rescheduling"]
    | _WORDS["unreal"]
)


def read_claims(text: str, names: Mapping[str, str], speaker: str | None) -> Claims:
    """Parse what a sentence claims.

    Args:
        text: one sentence.
        names: entities of its memory by normalised name, each with the name of whom it means.
        speaker: who says it, which is whom "I" means.
    """
    bare = bare_sentence(text)
    line = _form_line(bare)
    if line is not None and not has_clause(parse(line[1])):
        return _form_claims(*line, speaker)
    parts = _PARTS.split(_no_longer(_CHAT.sub("", _unlabelled(line) if line else bare)))
    readers = [EndingReader(parse(part), names, speaker) for part in parts]
    if is_unsure(bare) or not all(reader.is_sure for reader in readers):
        return Claims()
    parsed = [(reader, _clauses(reader)) for reader in readers]
    clauses = [(clause, reader.is_passing) for reader, each in parsed for clause in each]
    clause_states, clause_changes = frames(clauses, names, speaker)
    told = joined([one for reader, each in parsed for one in _by_clause(reader, *each)])
    return replace(
        told,
        is_plain=told.is_plain and all(one.cue == "now" for one in clause_changes),
        clause_states=clause_states,
        clause_changes=clause_changes,
    )


def _no_longer(text: str) -> str:
    """Return a sentence with "no longer" for "not ... any more"."""

    def said(denied: re.Match[str]) -> str:
        verb = denied[1] or denied[2]
        helper = "" if verb.casefold() in ("do", "does", "did") else f"{verb} "
        return f"{helper}no longer{denied[3]}"

    return _ANY_MORE.sub(said, text)


def _clauses(reader: EndingReader) -> list[Sentence]:
    """Return a sentence, and the plain clauses of which it consists."""
    texts = plain_clauses(reader.sentence.text, [*reader.names, *reader.names.values()])
    return [reader.sentence, *map(parse, texts)]


def _by_clause(reader: EndingReader, whole: Sentence, *clauses: Sentence) -> Iterator[Claims]:
    """Yield the claims of a sentence, and those of its clauses read alone.

    What the sentence doubts, limits in time or adds to something holds of its clauses too.
    """
    is_clause = any(reader.subject_of(word) for word in whole.words if _asserts(reader, word))
    yield _claims(reader, is_clause=is_clause)
    told = [clause for clause in clauses[:1] if clauses[1:]]
    told += [clause for clause in clauses[1:] if not is_past(clause)]
    readers = [EndingReader(clause, reader.names, reader.speaker) for clause in told or [whole]]
    if not any(one.adds or one.is_passing or one.comes_and_goes for one in readers):
        for clause in clauses:
            one = EndingReader(clause, reader.names, reader.speaker)
            if one.is_sure:
                yield _claims(one, is_clause=is_clause)


def _claims(reader: EndingReader, *, is_clause: bool) -> Claims:
    told, states = tuple(reader.endings()), reader.states()
    endings = () if reader.adds or reader.comes_and_goes else told
    return Claims(
        states,
        is_clause,
        is_clause and not endings and _is_plain(reader.sentence),
        tuple(one.ended for one in told if one.verb == "sell" or one.relations != _HANDED),
        endings,
        () if reader.is_passing or reader.adds else reader.current(states),
    )


def _is_plain(sentence: Sentence) -> bool:
    """Return True for a sentence that denies nothing, and says neither a change nor a wish."""
    return not any(
        word.dep == "neg"
        or word.lower in _WORDS["unreal"]
        or (word.lemma in _NOT_PLAIN and word.tag.startswith("VB"))
        for word in sentence.words
    )


def _asserts(reader: EndingReader, word: Word) -> bool:
    """Return True for a finite verb of the main clause, or one coordinated with it."""
    if not word.tag.startswith("VB") or not _WORD.fullmatch(word.text):
        return False
    if not reader.is_main(word):
        return False
    if word.tag == "VB" and not word.children(*SUBJECTS):
        return word.dep == "conj"  # else a command
    return word.tag != "VBG" or bool(word.children("aux"))


# Lines of a form, which claim something without a verb


def _form_line(text: str) -> tuple[str, str] | None:
    """Return the field and the value of a line "field: value"; None for others."""
    entry = _ENTRY.match(text) or (_ENTRY.match(text.capitalize()) if _ARROW.search(text) else None)
    return (entry[1], entry[2]) if entry else None


def _form_claims(label: str, text: str, speaker: str | None) -> Claims:
    """Return what a line of a form claims: "Deadline: 5 May", "Server: Debian 11 -> Debian 12"."""
    subject, terms = label.casefold(), frozenset(lexemes(f"{label} {text}"))
    *before, value = (plain_value(part) for part in _ARROW.split(text) if part)
    words, given = tuple(subject.split()), (("obj", value),)
    state = ClauseState(words, speaker, "be", given, terms, plain_value(label), False, True)
    opening = tuple((word, "NN") for word in words)
    changes = tuple(
        ClauseChange("move", speaker, opening, "switch", old, value, bare=True) for old in before
    )
    claim = StateClaim(subject, "be", {"obj": value})
    return Claims((claim,), clause_states=(state,), clause_changes=changes[-1:])


def _unlabelled(line: tuple[str, str]) -> str:
    """Return a line without its label, which is the subject: "Docs site: switched to Y"."""
    label, text = line
    first = next(iter(parse(text).words), None)
    told = first is not None and first.text.islower() and first.tag in ("VBD", "VBN")
    return f"{label} {text}" if told else text
