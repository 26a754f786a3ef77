"""Read what a sentence claims: what it says is so, and what it says has changed.

Two readings, of which neither finds what the other does, and both for a sentence that is sure of
what it says (no question, wish, condition, hearsay or story):

- by grammar: a holding is a value that a clause gives its subject (`claims`), an ending a cue that
  something is over or replaced, with what it names ("gave up X", "swapped X for Y": `endings`);
- by the order of words: a state and a step are the frames of plain clauses ("S is at X", "S moved
  from X to Y": `frame_reader`, `frames`), which small models parse wrongly.

What changes what is decided by `contradictions`, with `ended_values` for the endings and
`frame_changes` for the steps, each of which has to name what an earlier sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word, has_clause, parse
from hindsight_integrations.reflect.claim_model import (
    Claims,
    Holding,
    Value,
    family,
    groups_of,
    joined,
)
from hindsight_integrations.reflect.endings import THIRD, EndingReader
from hindsight_integrations.reflect.form_lines import form_claims, form_line
from hindsight_integrations.reflect.frames import frames
from hindsight_integrations.reflect.phrases import plain_value, state_of

_TABLE = table("changes")

_WORDS = word_sets("changes")

_LABEL = re.compile(r"^[-*•#>\s]*(?:\[?[A-Za-z]+[- ]?\d+\]?\s*:\s+)?")
"""Mark of a list or key of a ticket before a sentence."""
_PARTS = re.compile(r";\s+")
_CHAT = re.compile(_TABLE["chat"]["marks"], re.VERBOSE | re.IGNORECASE)
_IRONIC = re.compile(_TABLE["chat"]["ironic"], re.VERBOSE | re.IGNORECASE)
_HEARSAY = re.compile(_TABLE["chat"]["hearsay"])
_NOT_PLAIN = (
    _WORDS["moving"]
    | _WORDS["grading"]
    | _WORDS["dropping"]
    | _WORDS["replacing"]
    | _WORDS["stopping"]
    | _WORDS["rescheduling"]
    | _WORDS["unreal"]
)


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
        return form_claims(*line)
    parts = _PARTS.split(_CHAT.sub("", line[1] if line else bare))
    read = [_Reader(parse(part), names, speaker) for part in parts]
    sure = not (_IRONIC.match(bare) or _HEARSAY.search(bare)) and all(
        reader.is_sure for reader in read
    )
    claims = [reader.claims(sure=sure) for reader in read]
    clauses = [(reader.sentence, reader.is_passing) for reader in read] if sure else []
    states, steps = frames(clauses, names, speaker)
    return replace(joined(claims), states=states, steps=steps)


class _Reader(EndingReader):
    """Reads one parsed sentence."""

    __slots__ = ()

    @property
    def is_sure(self) -> bool:
        """True for a sentence that is no question, has no word of doubt, and tells no story."""
        is_question = self.sentence.text.rstrip("\"'”’)» ").endswith("?")
        return not (is_question or self._is_hedged() or self._is_made_up() or self._is_unreal())

    def _is_made_up(self) -> bool:
        words = self.sentence.words
        return any(
            word.lemma in _WORDS["stories"] and words[word.head].lower == "in" for word in words
        )

    def _is_unreal(self) -> bool:
        """Return True for what opens with a condition: "If I sold ...", "Had I sold ..."."""
        words = self.sentence.words
        if words and words[0].lower in ("if", "unless"):
            return True
        if not words or words[0].lower not in ("had", "were", "should"):
            return False
        verb = self.sentence.head(words[0]) if words[0].dep.startswith("aux") else words[0]
        subjects = self.sentence.children(verb, "nsubj", "nsubjpass")
        return any(subject.index < 4 for subject in subjects)

    def claims(self, *, sure: bool) -> Claims:
        """Return what the sentence claims; of an unsure one nothing.

        What is handed in or returned is not over: it may be proof of its topic still.
        """
        if not sure:
            return Claims()
        is_clause, endings = self._has_clause(), tuple(self.endings())
        ended = tuple(
            one.ended for one in endings if one.bonds != {"possession"} or one.verb == "sell"
        )
        is_plain = is_clause and not endings and self._is_plain()
        present, changed = tuple(self._present()), (*self._moved(), *self._became())
        holdings = (*present, *self._begun(), *changed)
        if self.adds or self.is_passing:
            return Claims(holdings, is_clause, is_plain, ended)
        current = (*present, *changed) if self._says_since() else changed
        return Claims(holdings, is_clause, is_plain, ended, endings, current)

    @property
    def adds(self) -> bool:
        """True for "also" and the like; not in a phrase that accompanies the clause."""
        words = self.sentence.words
        if {"as", "well"} <= {word.lower for word in words}:
            return True
        return any(
            word.lower in _WORDS["additive"]
            and not (self._accompanies(word) or self.is_degree(word))
            for word in words
        )

    def _accompanies(self, word: Word) -> bool:
        """Return True for the words of ", still living out of boxes"."""
        verb = self.sentence.head(word)
        before = self.sentence.words[word.index - 1] if word.index else word
        return verb.dep == "advcl" and verb.tag == "VBG" and before.text == ","

    def _is_hedged(self) -> bool:
        """Return True for a word of doubt; "almost every day" only limits the day."""
        words = self.sentence.words
        return any(
            word.lower in _WORDS["hedges"]
            and not (word.lower in _WORDS["degrees"] and after.lower in _WORDS["quantifiers"])
            for word, after in zip(words, [*words[1:], *words[-1:]], strict=True)
        )

    def _is_plain(self) -> bool:
        words = self.sentence.words
        was = any((a.lower, b.lower) == ("used", "to") for a, b in pairwise(words))
        return not was and not any(
            word.dep == "neg"
            or word.lower in _WORDS["unreal"]
            or (word.lemma in _NOT_PLAIN and word.tag.startswith("VB"))
            for word in words
        )

    def _has_clause(self) -> bool:
        """Return True if a verb of the main clause, or of one beside it, has a subject."""
        return any(
            verb.tag.startswith("VB")
            and not any(map(str.isdigit, verb.text))  # "Latency p95 610 ms"
            and (verb.tag != "VBG" or bool(self.sentence.child(verb, "aux")))
            and self._is_asserted(verb)
            and self._subject_word(verb) is not None
            for verb in self.sentence.words
        )

    # What is so

    def _present(self) -> Iterator[Holding]:
        """Yield what clauses in the present say is so, and as not lasting what is planned."""
        for verb in self.sentence.words:
            ended = any(word.lower == "longer" for word in self._words_of(verb))
            planned = any(word.tag == "MD" for word in self.sentence.children(verb, "aux"))
            planned = planned and verb.tag == "VB" and not self.sentence.child(verb, "neg")
            if not ended and (planned or self._is_present(verb)):
                yield self._held(verb, lasting=not planned)

    def _begun(self) -> Iterator[Holding]:
        """Yield what clauses in the past say was begun: "they went down to X", "she joined X"."""
        for verb in self.sentence.words:
            joins = verb.lemma in _WORDS["joining"]
            if not (joins or self.shifts(verb)) or not self._is_told(verb):
                continue
            values = self._values(verb)
            slots = ("obj", "for", "with") if joins else ("to",)
            begun = next((values[slot] for slot in slots if slot in values), None)
            subject = self._subject_word(verb)
            given = subject is not None and subject.lower not in THIRD
            key = self.subject_key(subject) if given or subject is None else ""
            if begun is not None and "from" not in values and key is not None:
                yield Holding(key, "begun", {"to": begun})

    def _held(self, verb: Word, *, lasting: bool) -> Holding:
        subject = self._subject_word(verb)
        given = subject is not None and subject.lower not in THIRD
        key = self.subject_key(subject) if given or subject is None else None
        passive = bool(self.sentence.children(verb, "auxpass"))
        name = family(verb.lemma, self._verb(verb))
        called, inner, values = self._called(subject), self._inner(verb), self._values(verb)
        if passive and groups_of(verb.lower):  # "is now approved"
            state = plain_value(verb.text)
            return Holding(key or "", "be", {"obj": state, **values}, lasting, called=called)
        return Holding(key or "", name, values, lasting, passive, called, inner)

    def _moved(self) -> Iterator[Holding]:
        """Yield to what a thing was moved, if that tells its kind: "was extended to 17 March"."""
        for verb in self.sentence.words:
            if not self.shifts(verb):
                continue
            values = self._values(verb)
            after = values.get("to")
            thing = self.sentence.child(verb, "dobj", "nsubjpass") or self._subject_word(verb)
            key = self.phrase_key(thing) if thing is not None else None
            if after is None or not key or not self._is_moved(verb, after):
                continue
            person = "/" not in key and key.startswith(("@", "i|", "we|"))
            kind = groups_of(after.text) and not person
            if after.kind in ("date", "time", "number") or kind:
                kept = {s: v for s, v in values.items() if s in ("to", "for", "at", "on")}
                yield Holding(key, "moved", kept, called=self._called(thing))

    def _is_moved(self, verb: Word, after: Value) -> bool:
        """Return True for "moved", "spent three nights moving", and "moves to 11 March"."""
        above = self.sentence.head(verb)
        phase = verb.tag == "VBG" and above.lemma in _WORDS["phases"] and self._is_told(above)
        dated = verb.tag == "VBZ" and after.kind == "date" and self._is_asserted(verb)
        return phase or dated or self._is_told(verb)

    def _became(self) -> Iterator[Holding]:
        """Yield what "became a manager", "became a married man" and "got married" say is so."""
        for verb in self.sentence.words:
            helper = self.sentence.child(verb, "auxpass")
            wed = helper is not None and helper.lemma == "get" and groups_of(verb.lower)
            named = helper is not None and verb.lemma in _WORDS["becoming"]
            key = self.subject_key(self._subject_word(verb))
            if not (verb.lemma == "become" or named or wed) or not key or not self._is_told(verb):
                continue
            values = (plain_value(verb.lower),) if wed else self._values(verb).values()
            for value in values:
                state = value if value.kind == "role" else state_of(value)
                if state is not None:
                    yield Holding(key, "be", {"obj": state})
