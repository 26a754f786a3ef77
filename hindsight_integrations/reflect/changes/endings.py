"""Read from a sentence what it says has ended or been replaced, whatever the thing was to whom.

Where `clause_reader` reads whole clauses, this reads cues ("gave up", "swapped ... for", "from X to
Y", "no longer") and the phrases beside them. By itself that proves little: `ended_values` makes
a change of it only if an earlier statement gives the same subject that very value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.nlp.word_classes import SUBJECTS
from hindsight_integrations.reflect.changes.certainty import CertaintyReader
from hindsight_integrations.reflect.changes.claim_model import (
    Ending,
    NounPhrase,
    StateClaim,
    Value,
    family,
    groups_of,
    terms_of,
)
from hindsight_integrations.reflect.changes.phrases import plain_value, state_of

Kind = Literal["end", "replacement", "shift", "renaming"]

_WORDS = word_sets("endings")
_CHANGES = word_sets("changes")
_REPORTS = _CHANGES["reporting"] | word_sets("changes", "attitudes")["verbs"]
_RELATIONS: dict[tuple[str, ...], frozenset[str]] = {}
for _relation, _cues in table("endings")["ends"].items():
    for _cue in _cues.split():
        _parts = tuple(_cue.split("_"))
        _RELATIONS[_parts] = _RELATIONS.get(_parts, frozenset()) | {_relation}
_LONGEST_CUE = max(map(len, _RELATIONS))
_SPLIT = {name: {tuple(cue.split("_")) for cue in _WORDS[name]} for name in (
    "replaces", "succeeds", "shifts", "renames"
)}  # fmt: skip
_PHRASE = frozenset("NN NNS NNP NNPS JJ JJR JJS CD $ POS HYPH FW ADD".split())
_LEAD = frozenset({"DT", "PRP$", "PDT"})
_THIRD = frozenset({"he", "she", "it", "they"})
_POSSESSIVE = frozenset({"his", "her", "its", "their"})
_TO = frozenset({"to", "into", "->", "→"})
_PASSED_OVER = frozenset({"finally", "just", "also", "recently", "then", "all", "both"})
_TIMES = frozenset({"last", "next", "this", "ago", "yesterday", "today"})
_CLOSE = _WORDS["reasons"] | {",", ";", ".", "!", "and", "but", ")", "-", "–", "—", ":"}
_INSTEAD = (("instead", "of"), ("rather", "than"), (",", "not"))


class Ended(NamedTuple):
    """A phrase that may have ended, with its value, the lexemes of its head and its position."""

    value: Value
    head: frozenset[str]
    start: int
    end: int
    does: str = ""


@dataclass(slots=True)
class EndingReader(CertaintyReader):
    """Reads what one parsed sentence says has ended."""

    def endings(self) -> list[Ending]:
        """Return the endings that the sentence tells, in order."""
        told = [w for w in self.sentence.words if w.tag.startswith("VB") and self._is_told(w)]
        return [
            *(ending for verb in told for ending in self._of_verb(verb)),
            *self._instead(),
            *(ending for verb in self.sentence.words for ending in self._no_longer(verb)),
        ]

    def states(self) -> tuple[StateClaim, ...]:
        """Return the states claimed by clauses in the present tense."""
        verbs = [
            word
            for word in self.sentence.words
            if self._is_present(word)
            and not any(each.lower == "longer" for each in self._words_of(word))
        ]
        return (*(self._state(verb) for verb in verbs), *self._begun())

    def _begun(self) -> Iterator[StateClaim]:
        """Yield states that clauses in the past tense began: "she joined X"."""
        for verb in self.sentence.words:
            joins = verb.lemma in _CHANGES["joining"]
            begins = joins or self._shifts(verb)
            if not verb.tag.startswith("VB") or not begins or not self._is_told(verb):
                continue
            values = self._values(verb)
            slots = ("obj", "for", "with") if joins else ("to",)
            begun = next((values[slot] for slot in slots if slot in values), None)
            subject = self.subject_of(verb)
            named = subject is None or subject.lower not in _THIRD
            key = self.subject_key(subject) if named else ""
            if begun is not None and "from" not in values and key is not None:
                yield StateClaim(key, "begun", {"to": begun})

    def current(self, states: Sequence[StateClaim]) -> tuple[StateClaim, ...]:
        """Return the claims with a cue of change: "now", "these days", "new"."""
        if self._says_since() or any(word.lower == "new" for word in self.sentence.words[:4]):
            return (*states, *self.moved(), *self._became())
        return (*self.moved(), *self._became())

    @property
    def comes_and_goes(self) -> bool:
        """True for a limited time or a single occasion; what ended "this morning" has ended."""
        words = [word.lower for word in self.sentence.words]
        return self.is_limited_in_time or "once" in words or words[:1] == ["during"]

    # What is told

    def _is_told(self, verb: Word) -> bool:
        """Return True for a verb of an event that the speaker asserts."""
        helpers = verb.children("aux", "auxpass")
        if any(word.tag in ("MD", "TO") or word.lower == "to" for word in helpers):
            return False
        if verb.children("neg") or verb.tag in ("VBG", "VBZ"):
            return False
        opens = verb.index == 0 and verb.text.islower() and _is_past_too(verb)
        if (verb.tag == "VB" and not opens) or (verb.tag == "VBP" and not _is_past_too(verb)):
            return False
        return self._is_asserted(verb)

    def _is_asserted(self, verb: Word) -> bool:
        at = verb
        while at.dep != "ROOT":
            above = at.head
            if at.dep in ("ccomp", "advcl") and not self._is_parted(at, above):
                return False
            if at.dep not in ("conj", "ccomp", "advcl", "dep", "parataxis"):
                return False
            at = above
        return True

    def _is_parted(self, verb: Word, above: Word) -> bool:
        """Return True for a juxtaposed clause: "finally quit it, I am free"."""
        marks = {word.lower for word in verb.children("mark", "advmod")}
        if marks & _CHANGES["conditions"] or above.lemma in _REPORTS:
            return False
        if verb.dep == "advcl":
            return True
        subject = above.child(*SUBJECTS)
        if subject is not None and subject.lower in ("that", "this"):
            return False  # "that is what Bob says"
        between = self.sentence.words[verb.index : above.index]
        return any(word.text in (",", ";", "-", "–", "—", ":") for word in between)

    def _no_longer(self, verb: Word) -> Iterator[Ending]:
        """Read an ending: "is not X any more", "no longer does X", "used to do X"."""
        if not verb.tag.startswith("VB") or not self._is_asserted(verb):
            return
        told, did = verb, verb.child("xcomp")
        used = verb.lemma == "use" and verb.tag == "VBD" and did is not None and did.tag == "VB"
        modal = any(word.tag == "MD" for word in verb.children("aux"))
        if used and did is not None and not verb.children("neg"):
            verb = did
        elif modal or not self.says_ended(verb):
            return
        beside = {"since", "because", *self.detached(verb)}
        values = {s: v for s, v in self._values(verb).items() if s not in beside}
        if self.is_limited(verb):
            return
        agents = self._agents(self.subject_of(told))
        opposed = any(word.lower == "but" and word.dep == "cc" for word in self.sentence.words)
        unclear = (
            (verb.lemma == "be" and "of" not in values)
            or verb.child("neg")
            or (opposed and not used)
        )
        if "obj" in values and len(values) > 1 and unclear:
            return  # which of them has ended
        if not values:  # "no longer babysits"
            values = {"": plain_value(verb.lower)}
        for value in values.values():
            head = frozenset(lexemes(value.text.split()[-1]))
            name = family(verb.lemma, self._verb(verb))
            ended = Ended(value, head, verb.index, verb.index + 1, name)
            limits = terms_of(v for v in values.values() if v != value)
            made = self._made("end", verb, ended, None, frozenset({"any"}))
            yield replace(made, limits=limits, agents=agents)

    def _is_present(self, verb: Word) -> bool:
        """Return True for a clause that asserts a present state."""
        helpers = verb.children("aux", "auxpass")
        if verb.children("neg") or any(w.tag in ("MD", "TO") for w in helpers):
            return False
        bare = verb.tag == "VB" and verb.dep == "conj" and not helpers
        present = (
            verb.tag in ("VBZ", "VBP") or bare or any(w.tag in ("VBZ", "VBP") for w in helpers)
        )
        return present and verb.tag.startswith("VB") and self._is_asserted(verb)

    def _state(self, verb: Word) -> StateClaim:
        subject = self.subject_of(verb)
        named = subject is None or subject.lower not in _THIRD
        key = self.subject_key(subject) if named else None
        passive = bool(verb.children("auxpass"))
        name = family(verb.lemma, self._verb(verb))
        called, inner, values = self._called(subject), self._inner(verb), self._values(verb)
        if passive and groups_of(verb.lower):  # "is now approved"
            values = values | {"obj": plain_value(verb.text)}
            return StateClaim(key or "", "be", values, called=called)
        return StateClaim(key or "", name, values, passive, called, inner)

    def moved(self) -> tuple[StateClaim, ...]:
        """Return the days and numbers of a new date: "was extended to 17 March"."""
        found = []
        for verb in self.sentence.words:
            shifts = verb.tag.startswith("VB") and self._shifts(verb)
            told = shifts and (self._is_told(verb) or self._is_present(verb))
            value = self._values(verb).get("to") if told else None
            thing = verb.child("dobj", "nsubjpass") or self.subject_of(verb)
            key = self.phrase_key(thing) if thing is not None else None
            if value is not None and value.kind in ("date", "time", "number") and key:
                found.append(StateClaim(key, "moved", {"to": value}, called=self._called(thing)))
        return tuple(found)

    def _became(self) -> Iterator[StateClaim]:
        """Yield the roles and states that somebody took on: "became a nurse", "got married"."""
        for verb in self.sentence.words:
            helpers = verb.children("auxpass")
            got = any(word.lemma == "get" for word in helpers) and groups_of(verb.lower)
            became = self._verb(verb) in _CHANGES["becoming"] and (
                helpers or verb.lemma == "become"
            )
            if not verb.tag.startswith("VB") or not (got or became) or not self._is_told(verb):
                continue
            values = [plain_value(verb.lower)] if got else self._values(verb).values()
            roles = (v for v in values if v.kind == "role" or groups_of(v.text))
            role = next(roles, None) or state_of(self._values(verb).get("obj"))
            key = self.subject_key(self.subject_of(verb))
            if role is not None and key is not None:
                yield StateClaim(key, "be", {"obj": role})

    def _says_since(self) -> bool:
        words = [word.lower for word in self.sentence.words]
        joined = f" {' '.join(words)} "
        phrases = (phrase.replace("_", " ") for phrase in _WORDS["since_phrases"])
        return (
            bool(_WORDS["since"].intersection(words))
            or any(f" {phrase} " in joined for phrase in phrases)
            or any(self._is_since(word) for word in self.sentence.words)
        )

    def _is_since(self, word: Word) -> bool:
        """Return True for "since" with a time or event: "since May", "since the move"."""
        after = self.sentence.words[word.index + 1 :]
        opens = word.lower == "since" or (word.lower == "from" and word.index == 0)
        onwards = any(w.lower in ("on", "onwards", "onward") for w in after[:4])
        if word.lower not in ("since", "from") or not (opens or onwards):
            return False
        return any(w.lemma in _CHANGES["time_words"] or w.label == "DATE" for w in after[:3])

    def _instead(self) -> Iterator[Ending]:
        """Read a replacement: "now meets in Y instead of X"."""
        words = self.sentence.words
        if not self._says_since():
            return
        for first, second in pairwise(words):
            if (first.lower, second.lower) not in _INSTEAD:
                continue
            before = self._phrase(second.index + 1) or self._phrase(second.index + 2)
            verb = next((w for w in words[: first.index][::-1] if self._is_present(w)), None)
            if before is None or verb is None:
                continue
            values = (v for s, v in self._values(verb).items() if s not in ("from", "since"))
            alike = [value for value in values if _takes_place_of(value, before.value)]
            if len(alike) == 1:
                made = self._made("replacement", verb, before, alike[0])
                yield replace(made, limits=self._limits(before.end))

    # Cues

    def _of_verb(self, verb: Word) -> Iterator[Ending]:
        cue = [word for word in self.sentence.words[verb.index :] if word.tag not in _LEAD]
        lemmas = [word.lemma for word in cue[:_LONGEST_CUE]]
        shifted = self._shift(verb)
        if shifted is not None:
            yield shifted
            return
        if (size := _longest(lemmas, _SPLIT["renames"])) is not None:
            yield from self._renamed(verb, verb.index + size)
            return
        yield from self._replaced(verb, lemmas)
        if (size := _longest(lemmas, _RELATIONS)) is not None:
            yield from self._ended(verb, cue[size - 1], _RELATIONS[tuple(lemmas[:size])])
        yield from self._with_object_inside(verb, lemmas)
        yield from self._couple(verb, lemmas)

    def _couple(self, verb: Word, lemmas: Sequence[str]) -> Iterator[Ending]:
        """Read the end of a couple: "X and Y broke up"."""
        subject = self.subject_of(verb)
        cue = _longest([*lemmas[:2], "with"], _RELATIONS) or _longest(
            [lemmas[0], "with"], _RELATIONS
        )
        parted = verb.lemma == "divorce" or (cue is not None and cue > 1)
        joined = subject.children("conj") if subject is not None else []
        if subject is None or len(joined) != 1 or not parted:
            return
        for one, other in ((subject, joined[0]), (joined[0], subject)):
            ended, key = self._around(other), self.phrase_key(one)
            if ended is not None and key is not None:
                made = self._made("end", verb, ended, None, frozenset({"couple"}))
                yield replace(made, agents=frozenset({key}))

    def _renamed(self, verb: Word, at: int) -> Iterator[Ending]:
        subject = self.subject_of(verb) if verb.child("auxpass") else None
        thing = subject if subject is not None else verb.child("dobj")
        before = self._around(thing) if thing is not None else None
        after = self._phrase(before.end if before and before.start > verb.index else at)
        if after is not None and self.word(after.start - 1) in ("to", "as"):
            after = self._phrase(after.start)
        if before is not None and after is not None:
            yield self._made("renaming", verb, before, after.value)

    def _shifts(self, verb: Word) -> bool:
        """Return True for a verb of change: "moved", "switched over"."""
        lemmas = [word.lemma for word in self.sentence.words[verb.index : verb.index + 2]]
        return _longest(lemmas, _SPLIT["shifts"]) is not None

    def _shift(self, verb: Word) -> Ending | None:
        """Read a shift after a verb of change: "from X to Y"."""
        words = self.sentence.words
        if not self._shifts(verb):
            return None
        start = next((w.index for w in words[verb.index :] if w.lower == "from"), None)
        before = self._phrase(start + 1) if start is not None else None
        if before is None or self.word(before.end) not in _TO:
            return None
        after = self._phrase(before.end + 1, after_to=True)
        return self._made("shift", verb, before, after.value) if after is not None else None

    def _replaced(self, verb: Word, lemmas: Sequence[str]) -> Iterator[Ending]:
        size = _longest(lemmas, _SPLIT["replaces"])
        passive = bool(verb.children("auxpass"))
        subject = self.subject_of(verb)
        if size is not None and passive and subject is not None:
            before = self._around(subject)
            after = self._after_word(verb.index + size, ("by", "with", "for"))
        elif size is not None:
            before = self._phrase(verb.index + size)
            after = self._after_word(before.end, ("with", "for", "by")) if before else None
        else:
            before = after = None
        if before is not None and after is not None:
            yield self._made("replacement", verb, before, after.value)
            return
        yield from self._succeeded(verb, lemmas, subject, passive=passive)

    def _succeeded(
        self, verb: Word, lemmas: Sequence[str], subject: Word | None, *, passive: bool
    ) -> Iterator[Ending]:
        """Read a succession: "Y took over from X", "X was succeeded by Y"."""
        size = _longest(lemmas, _SPLIT["succeeds"])
        if size is None or subject is None or subject.tag.startswith("PRP"):
            return
        other = self._phrase(verb.index + size)
        if passive:
            by = verb.child("agent")
            other = self._phrase(by.index + 1) if by is not None else None
        own = self._around(subject)
        if other is not None and own is not None:
            before, after = (own, other) if passive else (other, own)
            if passive and (named := subject.child("appos")) is not None:
                before = self._around(named) or before
            yield self._made("replacement", verb, before, after.value)

    def _ended(self, verb: Word, last: Word, relations: frozenset[str]) -> Iterator[Ending]:
        """Read the phrase that ends after a cue; in the passive its subject."""
        passive = verb.children("auxpass") and verb.tag == "VBN"
        if passive and last.tag != "IN":
            subject = self.subject_of(verb)
            if subject is not None and (before := self._around(subject)) is not None:
                yield self._made("end", verb, before, None, relations)
            return
        phrase = self._phrase(last.index + 1, activity=True)
        if phrase is None or (not phrase.does and self.word(phrase.start - 1) in ("a", "an")):
            return  # "dropped a biscuit": of what is known one says "the"
        after = self._after_word(phrase.end, ("for", "in")) if verb.lemma != "leave" else None
        favour = self.word(phrase.end + 1) in ("favour", "favor")
        if self.word(phrase.end) == "in":
            after = self._phrase(phrase.end + 3) if favour else None
        if verb.lemma == "leave" and not self._closes(phrase.end):
            return
        named = after is not None and (after.value.same_kind(phrase.value) or favour)
        value = after.value if after is not None and named else None
        yield self._made("end", verb, phrase, value, relations)

    def _closes(self, index: int) -> bool:
        """Return True if a clause ends at a word, without adjuncts."""
        words = self.sentence.words
        if index < len(words) and words[index].text in ("and", "but"):
            verb = next((w for w in words[index:] if w.tag in ("VBD", "VBZ", "VBP", "VBN")), None)
            return verb is not None and verb.tag in ("VBZ", "VBP")
        return index >= len(words) or words[index].text in (",", ".", ";", "!")

    def _with_object_inside(self, verb: Word, lemmas: Sequence[str]) -> Iterator[Ending]:
        """Read a cue whose object precedes the particle: "gave the bees up"."""
        phrase = self._phrase(verb.index + 1)
        if phrase is None or phrase.end >= len(self.sentence.words):
            return
        parts = (verb.lemma, self.sentence.words[phrase.end].lower)
        replaces = parts in _SPLIT["replaces"]
        after = self._after_word(phrase.end + 1, ("for", "with")) if replaces else None
        if after is not None:
            yield self._made("replacement", verb, phrase, after.value)
        elif parts in _RELATIONS:
            yield self._made("end", verb, phrase, None, _RELATIONS[parts])

    def _made(
        self,
        kind: Kind,
        verb: Word,
        ended: Ended,
        after: Value | None,
        relations: frozenset[str] = frozenset(),
    ) -> Ending:
        subject = self.subject_of(verb)
        direct = [w for w in (subject, *verb.children("dobj")) if w is not None]
        agents = self._agents(subject)
        others = [
            word
            for word in self.sentence.words
            if word.tag.startswith("NN") and word.dep in ("pobj", "dobj", *SUBJECTS, "poss")
        ]
        return Ending(
            kind,
            ended.value,
            ended.head,
            after,
            relations,
            agents,
            tuple(self._mention(word, agents) for word in direct),
            tuple(self._mention(word, agents) for word in others),
            verb.lemma,
            ended.does,
            self._limits(ended.end) if ended.does else frozenset(),
        )

    def _limits(self, index: int) -> frozenset[str]:
        """Return the lexemes of modifiers: those of "Bo" in "playing chess against Bo"."""
        words = list(takewhile(lambda w: w.text not in _CLOSE, self.sentence.words[index:]))
        if words and words[0].lower in ("in", "last", "this") and words[-1].label == "DATE":
            return frozenset()
        if [word.lower for word in words[:2]] in (["for", "good"], ["for", "ever"]):
            return frozenset()
        further = (word.text for word in words if word.tag != "RB")
        return frozenset(lexemes(" ".join(further)))

    # Whom and what it is about

    def _agents(self, subject: Word | None) -> frozenset[str]:
        """Return the keys of a subject; "she" is the subject of the sentence."""
        if subject is None:
            return frozenset({f"i|{self.speaker or ''}"})
        if subject.lower in _THIRD:
            first = next((w for w in self.sentence.words if w.dep in SUBJECTS), subject)
            key = self.phrase_key(first) if first.lower not in _THIRD else None
            return frozenset({key}) if key and "|" not in key else frozenset()
        joined = subject.children("conj")
        keys = (self.phrase_key(word) for word in (subject, *joined))
        plain = self.subject_key(subject) if not joined else None
        return frozenset(key for key in (*keys, plain) if key)

    def _mention(self, word: Word, agents: Iterable[str]) -> NounPhrase:
        owner = word.child("poss")
        key = self.phrase_key(word)
        if owner is not None and owner.lower in _POSSESSIVE and (own := next(iter(agents), None)):
            key = f"{own}/{word.lemma}"
        below = word.subtree(frozenset({"relcl", "conj", "cc", "appos", "advcl"}))
        text = " ".join(each.text for each in below if each.tag != "POS")
        others = {each.lower for each in below} & _WORDS["another"]
        inside = owner.child("poss") if owner is not None else None
        theirs = inside is not None and inside.lower in _POSSESSIVE
        return NounPhrase(key, word.lemma, frozenset(lexemes(text)), bool(others) or theirs)

    # Phrases

    def word(self, index: int) -> str:
        """Return the text of a word in lower case; "" where there is none."""
        words = self.sentence.words
        return words[index].lower if 0 <= index < len(words) else ""

    def _after_word(self, index: int, openings: Sequence[str]) -> Ended | None:
        """Return the phrase after a preposition at an index."""
        return self._phrase(index + 1) if self.word(index) in openings else None

    def _around(self, noun: Word) -> Ended | None:
        """Return the phrase with this head noun."""
        start = noun.index
        words = self.sentence.words
        while start and words[start - 1].tag in _PHRASE | _LEAD | {"VBN"}:
            start -= 1
        phrase = self._phrase(start)
        return phrase if phrase is not None and phrase.start <= noun.index < phrase.end else None

    def _phrase(
        self, index: int, *, activity: bool = False, after_to: bool = False
    ) -> Ended | None:
        """Return the noun phrase, adjective or activity that begins at an index."""
        words = self.sentence.words
        while index < len(words) and words[index].lower in _PASSED_OVER:
            index += 1
        if activity and index < len(words) and words[index].lower.endswith("ing"):
            further = self._phrase(index + 1)
            if words[index].tag in ("VBG", "NN") and further is not None:
                return further._replace(does=words[index].lemma)
            if words[index].tag in ("VBG", "NN"):
                place = self._phrase(index + 2) if words[index + 1 :][:1] else None
                if place and words[index + 1].tag == "IN" and place.value.kind == "name":
                    return place._replace(does=words[index].lemma)  # "quit swimming at X"
                return self._as_phrase(index, index + 1)
        start = index
        while start < len(words) and words[start].tag in _LEAD:
            start += 1
        end = start
        while (
            end < len(words)
            and not (end > start and words[end].lower in _TIMES)
            and self._belongs(words, end, start, after_to=after_to)
        ):
            end += 1
        while end > start and words[end - 1].tag in ("POS", "HYPH"):
            end -= 1
        return self._as_phrase(start, end) if end > start else None

    def _belongs(self, words: Sequence[Word], at: int, start: int, *, after_to: bool) -> bool:
        word = words[at]
        after = words[at + 1].lemma if at + 1 < len(words) else ""
        if at > start and word.tag == "CD" and after in _CHANGES["time_words"]:
            return False  # "gave up coffee three weeks ago"
        if word.tag in _PHRASE or (word.tag == "SYM" and at > start):
            return True
        before_noun = at + 1 < len(words) and words[at + 1].tag.startswith("NN")
        if word.tag in ("VBG", "VBN") and before_noun:
            return True
        if word.tag == "DT" and word.text == "The" and at > start:
            return True
        if word.tag in ("VB", "VBP") and at == start and after_to:
            return before_noun or word.text[:1].isupper() or self._closes(at + 1)
        named = at > start and words[at - 1].tag == "NNP"
        return word.lower == "of" and named and before_noun and words[at + 1].tag == "NNP"

    def _as_phrase(self, start: int, end: int) -> Ended:
        words = self.sentence.words
        if (
            start
            and words[start - 1].text == "The"
            and start > 1
            and words[start].text[:1].isupper()
        ):
            start -= 1
        end = self.end_of_word(end - 1) + 1
        last = words[end - 1]
        text = self.sentence.text[words[start].start : last.start + len(last.text)]
        return Ended(plain_value(text), frozenset(lexemes(last.text)), start, end)


def _takes_place_of(value: Value, before: Value) -> bool:
    return value.terms != before.terms and value.kind == before.kind


def _longest(lemmas: Sequence[str], cues: Iterable[tuple[str, ...]]) -> int | None:
    """Return the length of the longest cue that is a prefix of the lemmas."""
    known = cues if isinstance(cues, set | dict) else set(cues)
    sizes = range(min(len(lemmas), _LONGEST_CUE), 0, -1)
    return next((size for size in sizes if tuple(lemmas[:size]) in known), None)


def _is_past_too(verb: Word) -> bool:
    """Return True for a base form that is also a past form: "quit", "cut", "let"."""
    return verb.lower == verb.lemma and verb.lemma in ("quit", "cut", "let", "put", "set", "shed")
