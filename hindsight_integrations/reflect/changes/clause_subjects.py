"""Subjects of plain clauses, and in which way two of them are one, read from their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.word_classes import ATTRIBUTES, FINITE, GROUPS
from hindsight_integrations.reflect.changes.claim_model import ClauseChange, ClauseState
from hindsight_integrations.reflect.changes.value_kinds import kinds

_CHANGES = word_sets("changes")
_WORDS = word_sets("frames")
_MINE = {"my": "i", "our": "we"}
_FIRST = frozenset({"i", "we"})
_OPENS = frozenset({"IN", "TO", "RB", "RBR", "VBG", "VBN", "UH"})
_ENDS_OPENING = frozenset({"NN", "NNS", "NNP", "NNPS", "CD", "RB", "RP"})
_BESIDE_NAME = frozenset("WP WDT PRP$ DT NN NNS NNP JJ IN VBN VBG CD RB".split())
ACTING = GROUPS | _WORDS["shares"]
"""Nouns for those who act or are acted for: "team", and "stake", which they hold."""
CALLED = word_sets("kinds", "called")["roles"]
"""Nouns for a role, by which a thing or person is called."""
DETERMINERS = frozenset({"the", "a", "an", "all", "both"})
STOPS = frozenset({",", ";", ".", "!", ":", "-", "–", "—", "(", ")"})


def role_of(change: ClauseChange, state: ClauseState, *, same_speaker: bool) -> str | None:
    """Return the relation of two clauses' subjects: "same", "own" (thing) or "attribute"."""
    called = list(subjects(change.opening))
    if change.opening and any(name in called for name in _names(state)):
        return "same"
    own = any(word in _FIRST or word in _MINE for word in state.subject)
    if not same_speaker and own and state.subject[0] != "our":
        return None
    if not change.opening:
        return "same" if _is_same_unsaid(change, state) else None
    if change.before is not None:
        called += [one for each in called for one in _joined(each)]
    whole = tuple(word for word, _ in change.opening)
    if _is_called_alike((*called, whole), state) or _is_same_moved(change, state, called):
        return "same"
    owner = _owner(state.subject)
    if owner:
        return "own" if any(each in called for each in owner) else None
    read = (_attribute(each, change, state) for each in called if "'s" not in each)
    return next(filter(None, read), None)


def _is_same_unsaid(change: ClauseChange, state: ClauseState) -> bool:
    """Return True for a change without subject: "Switched the bean order from X to Y"."""
    own = frozenset(lexemes(" ".join(state.subject)))
    moved = state.is_thing and change.before is not None and bool(change.theme & own)
    first = bool(change.speaker) and state.subject in (("i",), ("we",))
    return first or moved or is_moved(change, state)


def _is_called_alike(called: Sequence[tuple[str, ...]], state: ClauseState) -> bool:
    """Return True if two subjects have the same words, in any order."""
    return any(
        each == state.subject
        or _is_whole(each, state)
        or (state.subject[0] not in _FIRST and _says_same(each, state.subject))
        for each in called
    )


def _is_same_moved(
    change: ClauseChange, state: ClauseState, called: Sequence[tuple[str, ...]]
) -> bool:
    """Return True if what somebody moves, or does something for, is the state's subject."""
    named = change.before is not None
    if is_moved(change, state) or (named and _is_short_for(called, state)):
        return True
    if named and change.theme and {state.subject[0], *(one[0] for one in called)} <= _FIRST:
        return True  # "we keep the tools in the shed", "I moved the tools from the shed"
    about = _about(change.opening)[: len(state.subject)] == state.subject
    return state.is_thing and (about or _is_spoken_of(change, state))


def _names(state: ClauseState) -> Iterator[tuple[str, ...]]:
    """Yield names within a subject: "Olga" of "my sister Olga"."""
    words = state.called.text.split()
    for at in range(1, len(words) if words[0].islower() else 0):
        if all(word[:1].isupper() for word in words[at:]):
            yield state.subject[at:]


def _joined(called: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield single subjects of a joint or described one: "Ingrid" of "Ingrid and her cat"."""
    if called.count("and") == 1:
        at = called.index("and")
        yield from (called[:at], called[at + 1 :])
    elif len(called) == 3 and called[0] in _MINE:
        yield called[2:]


def _about(opening: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the words after an opening "for": "for offline data the app"."""
    words = [word for word, _ in opening]
    if words[:1] != ["for"]:
        return ()
    return tuple(words[2 if words[1:2] and words[1] in DETERMINERS | _MINE.keys() else 1 :])


def _is_spoken_of(change: ClauseChange, state: ClauseState) -> bool:
    """Return True if the moved thing is the subject under another name order."""
    own = frozenset(
        lexemes(
            " ".join(
                word
                for word, tag in change.opening
                if tag not in ("PRP", "PRP$") and word not in _CHANGES["time_words"]
            )
        )
    )
    verb = frozenset(lexemes(state.verb))
    head = (
        frozenset(lexemes(state.called.text.split()[-1]))
        | verb
        | frozenset(lexemes(state.called.text.split(" with ")[0].split()[-1]))
    )
    theirs = change.whose not in ("", *_MINE) and state.subject[0] in _MINE
    return bool(change.theme & head) and change.theme | own <= state.terms and not theirs


def _is_short_for(called: Sequence[tuple[str, ...]], state: ClauseState) -> bool:
    """Return True for a shortened subject: "the ward" after "our ward"."""
    if not state.is_thing or "'s" in state.subject:
        return False
    whole = [word for word in state.subject if word not in DETERMINERS | _MINE.keys()]
    return any(
        each[-1] == state.subject[-1] and "'s" not in each and {*each} <= {*whole}
        for each in called
    )


def _says_same(called: Sequence[str], subject: Sequence[str]) -> bool:
    """Return True for two phrasings of one subject: "paper supplier", "supplier for paper"."""
    return {*called} - _WORDS["small"] == {*subject} - _WORDS["small"]


def _is_whole(called: tuple[str, ...], state: ClauseState) -> bool:
    """Return True for a thing of the state's subject: "the squad's standup" of "the squad"."""
    things = [value for slot, value in state.values if slot == "obj" and value.kind != "name"]
    own = frozenset(lexemes(" ".join(state.subject)))
    told = frozenset(lexemes(" ".join(called)))
    return bool(own) and any(told == own | thing.terms != own for thing in things)


def is_moved(change: ClauseChange, state: ClauseState) -> bool:
    """Return True for the moved thing X of "we moved X from A to B"; not "they moved their X"."""
    if state.subject[0] in _MINE and change.whose not in ("", *_MINE):
        return False
    own = frozenset(lexemes(" ".join(state.subject)))
    if not own or own != change.theme:
        return False
    grouped = any("team" in kinds(value) for _, value in state.values)
    return state.is_thing or state.passive or grouped or state.verb == "be"


def _owner(subject: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the owner of a subject: "our bank", "Grace's bank"; () if it has none."""
    if "'s" in subject:
        at = subject.index("'s")
        own = subject[:at]
        return (own,) if "'s" not in subject[at + 1 :] and not _MINE.keys() & {*own} else ()
    was = _WORDS["former"] & {*subject}
    return (("i",), ("we",)) if subject[0] in _MINE and not was else ()


def _attribute(called: tuple[str, ...], change: ClauseChange, state: ClauseState) -> str | None:
    """Return "same" for the same subject, "attribute" for "the fee at S" and "S"."""
    own, others = {*called} - _WORDS["small"], {*state.subject} - _WORDS["small"]
    more = own ^ others
    if not own or not others or not (own < others or others < own):
        return None
    further = frozenset(lexemes(" ".join(more)))
    named = state.called.kind == "name"  # "the Mistral package"; not "the museum shop"
    if (named and more <= CALLED) or (further and further <= change.theme):
        return "same"
    does = lexemes(state.verb)
    attribute = ATTRIBUTES | {w for w in more if does and w.startswith(does[0])}
    return "attribute" if more & attribute else None


def subjects(opening: Sequence[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield possible subjects of a cue: its words, without at most an opening."""
    verb = next((at for at, (_, tag) in enumerate(opening) if tag in FINITE), 0)
    if verb and opening[-1][1] == "CC":  # "Elsie sold the house and"
        yield from subjects(opening[:verb])
    if opening and opening[-1][0] == ",":
        for at, (word, _) in enumerate(opening[:-1]):
            if word == "," and opening[at + 1][1] in _BESIDE_NAME:
                yield from subjects(opening[:at])
    for start in range(len(opening)):
        words = tuple(word for word, _ in opening[start:])
        is_phrase = not any(w in STOPS or tag in FINITE for w, tag in opening[start:])
        is_phrase = is_phrase and opening[start][1] not in ("IN", "TO", "CC", "POS", ",")
        if is_phrase and words[0] not in DETERMINERS and _opens(opening[:start]):
            yield words


def _opens(before: Sequence[tuple[str, str]]) -> bool:
    """Return True for words before a subject that do not belong to it: "in May the"."""
    rest = list(before)
    while rest and rest[-1][0] in DETERMINERS:
        rest.pop()
    if not rest or rest[-1][0] in STOPS:
        return True
    held = any(tag in FINITE for _, tag in rest)
    timed = rest[-1][0] in _CHANGES["time_words"]
    opens = rest[0][1] in _OPENS or (timed and rest[0][1] in ("JJ", "DT", "NN"))
    return not held and opens and rest[-1][1] in _ENDS_OPENING
