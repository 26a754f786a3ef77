"""Read from the grammar of a sentence what it says is so, and what it says has changed.

A holding gives a subject one value ("Alice lives in Berlin"). A turn says that such a value ended
or was replaced ("Alice moved to Paris", "no longer uses React"). A question, a wish, a plan, a
condition, a report of what somebody else says, and what holds for a while only make no turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word, has_clause, parse
from hindsight_integrations.reflect.claim_model import (
    Claims,
    Holding,
    family,
    is_attitude,
    joined,
)
from hindsight_integrations.reflect.endings import EndingReader
from hindsight_integrations.reflect.form_lines import form_claims, form_line
from hindsight_integrations.reflect.phrases import (
    SUBJECTS,
    Phrases,
)
from hindsight_integrations.reflect.plain_clauses import frames

_TABLE = table("changes")

_WORDS = word_sets("changes")

_LABEL = re.compile(r"^[-*•#>\s]*(?:\[?[A-Za-z]+[- ]?\d+\]?\s*:\s+)?")
"""Mark of a list or key of a ticket before a sentence."""
_WORD = re.compile(r"(?:[^\W\d_]|['’-])*")
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
_CLAUSES = frozenset({"ROOT", "conj"})


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


@dataclass(slots=True)
class _Reader(Phrases):
    """Reads one parsed sentence."""

    holdings: list[Holding] = field(default_factory=list)

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
        verbs = [word for word in self.sentence.words if self._asserts(word)]
        for verb in verbs if sure else ():
            self._read(verb)
        adds, passing = self.adds, self.is_passing
        holdings = () if passing else tuple(self.holdings)
        with_subject = any(self._subject_word(verb) for verb in verbs)
        is_clause = sure and with_subject
        cues = EndingReader(self.sentence, self.names, self.speaker)
        endings = cues.endings() if sure else []
        ended = tuple(ending.ended for ending in endings)
        endings = [] if cues.adds or cues.is_passing else endings
        is_plain = is_clause and not endings and self._is_plain()
        sequels = cues.sequels() if sure and not adds else ()
        current = () if passing or adds or not sure else cues.current(sequels)
        return Claims(holdings, is_clause, is_plain, ended, tuple(endings), sequels, current)

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
        return not any(
            word.dep == "neg"
            or word.lower in _WORDS["unreal"]
            or (word.lemma in _NOT_PLAIN and word.tag.startswith("VB"))
            for word in words
        )

    def _asserts(self, word: Word) -> bool:
        """Return True for a finite verb of the main clause, or one joined to it."""
        clausal = word.dep in _CLAUSES or self._is_juxtaposed(word)
        if not word.tag.startswith("VB") or not clausal or not _WORD.fullmatch(word.text):
            return False
        at = word
        while at.dep == "conj":
            at = self.sentence.head(at)
        if at.dep != "ROOT" and not self._is_juxtaposed(at):
            return False
        if word.tag == "VB" and not self.sentence.children(word, *SUBJECTS):
            return word.dep == "conj"  # else a command
        return word.tag != "VBG" or bool(self.sentence.children(word, "aux"))

    def _is_juxtaposed(self, verb: Word) -> bool:
        """Return True for the first of two main clauses that a comma parts.

        A parser makes it the complement of the second: "X is no longer Y, it is Z". It is none if
        the second says that somebody says or thinks it.
        """
        second = self.sentence.head(verb)
        if verb.dep != "ccomp" or second.dep != "ROOT" or verb.index > second.index:
            return False
        subject = self.sentence.child(second, *SUBJECTS)
        if subject is None or is_attitude(second.lemma) or second.lemma in _WORDS["reporting"]:
            return False
        if subject.lower in ("that", "this"):
            return False  # "that is what Bob says"
        own = self.sentence.children(verb, *SUBJECTS) and not self.sentence.children(verb, "mark")
        between = self.sentence.words[verb.index : subject.index]
        return bool(own) and any(word.text in (",", "-", "–", "—") for word in between)

    @property
    def is_passing(self) -> bool:
        """True for what holds for a while only."""
        if self.comes_back:
            return True
        for word in self.sentence.words:
            if word.lower in _WORDS["temporary"]:
                return True
            if self.is_no_span(word):
                continue
            if word.lower in ("this", "these", "tonight", "tomorrow", "next") and (
                (word.lower[0] == "t" and word.lower[1:] in ("onight", "omorrow"))
                or self.sentence.head(word).lemma in _WORDS["time_words"]
            ):
                return True
            if word.lower in _WORDS["spans"] and any(
                below.lemma in _WORDS["time_words"] or below.lower in _WORDS["time_words"]
                for below in self.sentence.children(word, "pobj", "advmod", "pcomp")
            ):
                return True
        return False

    def _read(self, verb: Word) -> None:
        subject = self._subject_word(verb)
        if subject is None and verb.dep == "ROOT" and verb.tag == "VB":
            return  # a command
        key = self.subject_key(subject)
        phase = self.sentence.child(verb, "xcomp", "advcl")
        if verb.lemma in _WORDS["phases"] and phase is not None and phase.tag == "VBG":
            verb = phase
        if key is None and not self._is_passive(verb) and not self.sentence.child(verb, "dobj"):
            return
        self._read_clause(verb, key or "", subject)

    def _is_passive(self, verb: Word) -> bool:
        return bool(self.sentence.children(verb, "auxpass"))

    def _read_clause(self, verb: Word, key: str, subject: Word | None) -> None:
        helpers = self.sentence.children(verb, "aux", "auxpass")
        if self.sentence.children(verb, "neg") or self.says_ended(verb):
            return
        lasting = not any(word.tag == "MD" for word in helpers) and (
            verb.tag in ("VBZ", "VBP")
            or (verb.tag == "VBG" and verb.dep in _CLAUSES)
            or any(word.tag in ("VBZ", "VBP") for word in helpers)
        )
        name = family(verb.lemma, self._verb(verb))
        values, inner = self._values(verb), self._inner(verb)
        passive, called = self._is_passive(verb), self._called(subject)
        self.holdings.append(Holding(key, name, values, lasting, passive, called, inner))
