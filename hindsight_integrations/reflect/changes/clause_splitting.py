"""Plain clauses of a sentence, each read by itself where a parser misreads them together.

Small models take the subject of "Since the move Ana works at X" for a part of the move, and the
clause before the comma of "Ana left X for Y, the rent was too high" for what the second one says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.nlp.word_classes import HEDGES

_WORDS = word_sets("changes")
_SAYS = _WORDS["reporting"] | frozenset(
    "say tell think believe know hear mention suggest hope wish".split()
)
_TELLS = frozenset({"tell", "say", "mention", "announce", "write"})
_SUBJECTS = ("nsubj", "nsubjpass", "expl")
_FINITE = frozenset({"VBZ", "VBD", "VBP"})
_ENDS_OPENING = frozenset({"NN", "NNS", "NNP", "NNPS", "CD", "RB", "RP", ","})
_OPENINGS = frozenset({"IN", "TO", "RB", "RBR", "JJ", "DT"})
_NO_SUBJECT = frozenset({"that", "this", "which", "who", "what"})
_SPLICE = re.compile(r"(?:,| [-–—])\s+(?=[A-Za-z])")
_BEFORE_NAME = re.compile(r"(?:\b(?:[Tt]he|[Mm]y|[Oo]ur) )?$")
_PRONOUN = re.compile(r"(?<!\w)(?:I|[Ww]e)(?=[ '’])")
_LABELLED = re.compile(r"^([A-Z][\w ,-]{1,30}): +(?=\w)")


def plain_clauses(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the clauses joined by a comma, without the introduction of the first.

    Args:
        text: a sentence.
        names: those that it may speak of, normalised.

    Returns:
        The clauses, each with a subject and a verb of its own; () if the sentence is plain already.
    """
    parts = tuple(_parted(text))
    first = _without_opening(parts[0], names)
    return () if first == text else (first, *parts[1:])


def _parted(text: str) -> Iterator[str]:
    """Yield the two clauses of a juxtaposition: "X moved to Y, the rent was too high"."""
    for comma in _SPLICE.finditer(text):
        left, right = text[: comma.start()], text[comma.end() :]
        if not _is_clause(parse(f"{left}.")):
            continue
        if right.split()[0].lower() in ("please", "not"):
            yield f"{left}."
            return
        second = parse(right)
        if _opens_with_subject(second) and not _doubts(second):
            yield f"{left}."
            yield right
            return
    yield text


def _is_clause(sentence: Sentence) -> bool:
    """Return True for a main clause that depends on no other: not "If X moved"."""
    root = next((word for word in sentence.words if word.dep == "ROOT"), None)
    if root is None or not _is_finite(sentence, root) or not root.child(*_SUBJECTS):
        return False
    unreal = _WORDS["conditions"] | _WORDS["unreal"]
    opens = sentence.words[0].lower in unreal or sentence.words[0].tag == "WRB"
    return not opens and not root.children("mark")


def _is_finite(sentence: Sentence, verb: Word) -> bool:
    helpers = verb.children("aux", "auxpass")
    return verb.tag in _FINITE or any(word.tag in (*_FINITE, "MD") for word in helpers)


def _opens_with_subject(sentence: Sentence) -> bool:
    """Return True for a clause that begins with the subject of its main verb."""
    root = next((word for word in sentence.words if word.dep == "ROOT"), None)
    if root is None or not _is_finite(sentence, root):
        return False
    subject = root.child(*_SUBJECTS)
    if subject is None or subject.lower in _NO_SUBJECT:
        return False
    return subject.tag != "WP" and subject.subtree()[0].index == 0


def is_past(sentence: Sentence) -> bool:
    """Return True for a clause in the past tense."""
    root = next((word for word in sentence.words if word.dep == "ROOT"), None)
    helpers = root.children("aux", "auxpass") if root is not None else []
    return root is not None and (helpers or [root])[0].tag == "VBD"


def _doubts(sentence: Sentence) -> bool:
    """Return True for a clause that casts doubt: "they say", "I think", "it would"."""
    if any(word.tag == "MD" and word.lower != "can" for word in sentence.words):
        return True
    root = next(word for word in sentence.words if word.dep == "ROOT")
    subject = root.child(*_SUBJECTS)
    own = subject is not None and subject.lower in ("he", "she") and root.lemma in _TELLS
    return root.lemma in _SAYS and not own


def _without_opening(text: str, names: Iterable[str]) -> str:
    """Return a clause from its subject on, without "As of Monday," or "Since the move".

    A name, "I", or what follows a comma is looked for, and has to be the subject of the rest.
    """
    label = _LABELLED.match(text)
    if label and _is_label(parse(label[1])) and _is_clause(parse(text[label.end() :])):
        text = f"{text[label.end()].upper()}{text[label.end() + 1 :]}"
    whole = parse(text)
    for start in sorted(set(_starts(text, names)), reverse=True):
        before = [word for word in whole.words if word.start < start]
        if not before or not _introduces(before):
            continue
        rest = text[start:]
        clause = parse(rest[:1].upper() + rest[1:])
        if _opens_with_subject(clause) and not _is_read(whole, clause, start):
            return clause.text
    return text


def _is_label(sentence: Sentence) -> bool:
    """Return True for a label that states nothing: "Good to know", "Minutes, item 3"."""
    unsure = _WORDS["stories"] | HEDGES | {"plan", "idea", "proposal", "wish", "joke"}
    return not any(
        word.tag in ("NNP", "NNPS", "MD", *_FINITE) or word.lemma in unsure
        for word in sentence.words
    )


def _starts(text: str, names: Iterable[str]) -> Iterator[int]:
    """Yield where a subject may begin: at a name with article, "I" or "we", or after a comma."""
    yield from (match.end() for match in re.finditer(r", +", text))
    for name in names:
        words = r"\W+".join(map(re.escape, name.split()))
        for match in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
            lead = _BEFORE_NAME.search(text[: match.start()])
            yield lead.start() if lead else match.start()
    yield from (match.start() for match in _PRONOUN.finditer(text))


def _introduces(words: list[Word]) -> bool:
    """Return True for introductory words that hold no clause and end like a phrase."""
    last, parted = words[-1], words[-1].text == ","
    named = any(word.dep in _SUBJECTS or word.dep == "neg" for word in words)
    if (parted and named) or words[-1].lower == "not":
        return False  # "Ana, Bob's sister, moved"
    opens = words[0].tag in _OPENINGS or parted
    return (
        opens
        and last.tag in _ENDS_OPENING
        and not any(
            word.tag in (*_FINITE, "MD", "CC", "WRB") or word.lower in _WORDS["conditions"]
            for word in words
        )
    )


def _is_read(whole: Sentence, clause: Sentence, start: int) -> bool:
    """Return True if the whole sentence has the same main verb and subject as the clause."""
    root = next(word for word in clause.words if word.dep == "ROOT")
    subject = root.child(*_SUBJECTS)
    at = next((word for word in whole.words if word.start == root.start + start), None)
    if at is None or at.dep != "ROOT" or not _is_finite(whole, at):
        return False
    own = at.child(*_SUBJECTS)
    return own is not None and subject is not None and own.start == subject.start + start
