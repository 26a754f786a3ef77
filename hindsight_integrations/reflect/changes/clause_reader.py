"""Frames of plain clauses: subject, relation and values, in the order of their words.

"S moved from X to Y", "S left X for Y", "S no longer does X", "S switched to Y" and "S is now at Y"
are read from the tags of the words, which small models get right where they misread dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Literal

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.nlp.word_classes import FINITE
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.certainty import CLAUSE_LIMITS
from hindsight_integrations.reflect.changes.claim_model import (
    ClauseChange,
    ClauseState,
    Value,
    family,
    is_time,
    terms_of,
)
from hindsight_integrations.reflect.changes.clause_subjects import (
    ACTING,
    CALLED,
    DETERMINERS,
    STOPS,
)
from hindsight_integrations.reflect.changes.endings import EndingReader
from hindsight_integrations.reflect.changes.phrases import plain_value
from hindsight_integrations.reflect.changes.value_kinds import kinds

_CHANGES = word_sets("changes")
_WORDS = word_sets("frames")
_SHIFTS = _CHANGES["moving"] | _WORDS["shifts"]
_FOR = frozenset({"for", "with"})
_TO = frozenset({"to", "into", "onto"})
_PRESENT = frozenset({"VBZ", "VBP"})
_AS_PRESENT = _PRESENT | {"NNS", "VB"}
"""Tags that small models give the present tense: "the build no longer uses", "I no longer use"."""
_AWAY = _CHANGES["at_last"] | {*"over across back away house home fully completely".split()}
_BESIDE_MOVE = frozenset({"in", "on", "after", "with", "since", "during"})
_LIGHT = _WORDS["helpers"] | {"do", "help", "let", "make"}
_UNREAD = (
    (frozenset({"NNS", "NNPS"}), "VB", "VBP"),
    (frozenset({"NNP", "NN", "JJ"}), "NNS", "VBZ"),
)
"""Tags of a subject, of the verb behind it as it is misread, and as it is: "Wren runs"."""
_OWN_SUBJECT = {"me": "i", "us": "we"}
_MANNERS = frozenset({"in", "by", "with", "via", "through", "on"})
_PLACING = frozenset({"in", "on", "at", "above", "near", "by"})
_VEHICLES = frozenset({"name commute", "name airline", "vehicle", "alternatives transport"})


class ClauseReader(EndingReader):
    """Reads states and changes of one parsed clause."""

    __slots__ = ()

    def state(self) -> ClauseState | None:
        """Return the state that a clause in the present tense gives its subject."""
        words = self.sentence.words
        at = next((w.index for w in words if w.tag in FINITE), 0)
        if not at:
            return None
        planned = words[at].lower in ("will", "'ll") and self._tag(at + 1) == "VB"
        if not (planned or words[at].tag in _PRESENT) or self._is_denied(at):
            return None
        verb = at + planned
        while verb + 1 < len(words) and words[verb].lemma in _WORDS["helpers"] and (
            words[verb + 1].tag in ("VBN", "VBG", "RB")
        ):  # fmt: skip
            verb += 1
        if words[verb].tag == "RB":
            verb = at
        opening = [
            w
            for w in words[:at]
            if w.text != "." and (w.tag != "RB" or 0 < w.index < at - 1)  # "the nightly backup"
        ]
        if opening and opening[-1].text == ",":
            head = list(takewhile(lambda w: w.text != ",", opening))
            rest = [w for w in opening[len(head) :] if w.text != ","]
            is_name = head and all(w.tag == "NNP" for w in rest) and head[-1].tag != "NNP"
            opening = head + rest if is_name else head  # "our vet, Ida, is", "Ana, our vet, is"
        if opening and (
            opening[0].is_proper or entity_norm(opening[0].text) in self.names
        ):  # "Philippa from our section"
            opening = list(takewhile(lambda w: w.tag != "IN", opening))
        elif opening and opening[0].tag == "IN":  # "For the record, the service"
            opening = opening[
                max((i for i, w in enumerate(opening) if w.text == ","), default=-1) + 1 :
            ]
        subject = _without_article([w.lower for w in opening])
        values = tuple(self.given(verb + 1))
        lemma = words[verb].lemma
        does = family(lemma, lemma) if lemma not in ("'s", "'re", "'m") else "be"
        terms = frozenset(lexemes(self.sentence.text))
        if not subject:
            return None
        first, last = opening[-len(subject)], opening[-1]
        text = self.sentence.text[first.start : last.start + len(last.text)]
        common = not first.index and not self._is_name(first)
        called = plain_value(f"{text[:1].lower()}{text[1:]}" if common else text)
        passive = words[verb].tag == "VBN" and words[at].lemma == "be"
        common = last.tag in ("NN", "NNS") and last.lemma not in ACTING
        is_thing = (common and plain_value(last.text).kind != "role") or not CALLED.isdisjoint(
            subject
        )
        return ClauseState(subject, self.speaker, does, values, terms, called, passive, is_thing)

    def clause_changes(self) -> Iterator[ClauseChange]:
        """Yield the changes that a clause tells."""
        words = self.sentence.words
        for word in words:
            if word.lower == "longer" and word.index and words[word.index - 1].lower == "no":
                yield from self._said_ended(word.index)
            elif word.lower == "now":
                yield from self._now(word.index)
            elif (word.tag in ("VBD", "VBN") or self._phase(word)) and (
                word.lemma in _SHIFTS | _WORDS["leaves"] or self._made_move(word)
            ):
                yield from self._moved(word)

    # Cues

    def _moved(self, verb: Word) -> Iterator[ClauseChange]:
        """Read a move: "moved (the blog) (last week) (from X) to Y", "left X (in May) for Y"."""
        opening, helped = self._opening((self._phase(verb) or verb).index)
        if opening is None or (verb.tag == "VBN" and not helped) or self._adds(verb.index):
            return
        at = self._past_beside(verb.index + 1 + 2 * self._made_move(verb), {"from", *_TO})
        if self.word(at) in {"from", *_TO}:
            yield from self._targets_of(verb, opening, at, frozenset())
            return
        if self.word(at) in _OWN_SUBJECT and self.word(at + 1) in {"from", *_TO}:
            subject = verb.read_as(text=_OWN_SUBJECT[self.word(at)], tag="PRP")
            yield from self._targets_of(verb, (subject,), at + 1, frozenset())
            return
        thing = self._at_whom(at)
        if thing is None:
            return
        value, end = thing
        after = self._past_beside(end, {"from", *_TO})
        if self.word(after) in {"from", *_TO} and verb.lemma not in _CHANGES["leaving"]:
            whose = self.word(at) if self._tag(at) == "PRP$" else ""
            for change in self._targets_of(verb, opening, after, value.terms):
                yield replace(change, whose=whose)
        elif verb.lemma in _WORDS["leaves"] and (then := self._new_one(verb, end)) is not None:
            yield self._step("leave", verb, opening, before=value, after=then)

    def _phase(self, verb: Word) -> Word | None:
        """Return the verb before "moving" in "spent a night moving"."""
        before = [w for w in self.sentence.words[: verb.index] if w.is_verb]
        phase = verb.tag == "VBG" and bool(before) and before[-1].tag == "VBD"
        return before[-1] if phase and before[-1].lemma in _CHANGES["phases"] else None

    def _made_move(self, verb: Word) -> bool:
        """Return True for a change told by a noun: "made the switch", "made the move"."""
        then = self.sentence.words[verb.index + 1 : verb.index + 3]
        return verb.lemma == "make" and [w.lower for w in then][:1] == ["the"] and (
            then[-1].lemma in _SHIFTS
        )  # fmt: skip

    def _new_one(self, verb: Word, at: int) -> Value | None:
        """Return the new value Y: "left X for (a job at) Y", "to join Y", "and joined Y"."""
        links = _FOR if verb.lemma in _CHANGES["replacing"] else frozenset({"for"})
        at = self._past_beside(at, links | {"to", "and"})
        joins = self.sentence.words[at + 1 : at + 2]
        if self.word(at) in ("to", "and") and joins and joins[0].lemma in _CHANGES["joining"]:
            then = self._named(at + 2 + (self.word(at + 2) in ("for", "with")))
            beside = (
                then is None or self.word(then[1]) in ("for", "at") or is_given_name(then[0].text)
            )
            return None if then is None or beside else then[0]
        if self.word(at) not in links:
            return None
        then = self._at_whom(at + 1)
        then = self._whole(*then) if then is not None else None
        journey = then is not None and any(
            value.kind == "time" or not _VEHICLES.isdisjoint(kinds(value))
            for _, value in self.given(then[1])
        )  # "left Bonn for Cologne on the 8:15 train"
        return then[0] if then is not None and self._ends(then[1]) and not journey else None

    def _whole(self, value: Value, end: int) -> tuple[Value, int]:
        """Return a phrase with all its modifiers: "a parish in Galway", "St Anne's"."""
        words = self.sentence.words
        at = self.sentence.text.find(value.text)
        if value.kind == "thing" and self.word(end) in _PLACING and (
            (place := self._phrase(end + 1)) is not None and not is_time(place.value)
        ):  # fmt: skip
            end, last = place.end, words[place.end - 1]
        else:
            return value, end
        text = self.sentence.text[at : last.start + len(last.text)]
        return Value(text, frozenset(lexemes(text)), value.kind), end

    def _at_whom(self, at: int) -> tuple[Value, int] | None:
        """Return the phrase at a word and its end; of "her job at X" the X."""
        named = self._named(at)
        if named is None:
            return None
        post = named[0].text.split()[-1] in _CHANGES["posts"] | {"one"}
        if post and self.word(named[1]) in ("at", "with", "on", "in"):
            return self._named(named[1] + 1)
        return named

    def _past_beside(self, at: int, links: Set[str]) -> int:
        """Return the index of a link word after a word, past adjuncts of time or company."""
        words, start = self.sentence.words, at
        while at < len(words) and words[at].lower not in links:
            parted = words[at].text == "," and self.word(at + 1) in links - {"to", "and"}
            if parted or words[at].lower in _AWAY or words[at].label == "DATE":
                at += 1
            elif words[at].tag == "IN" and (beside := self._phrase(at + 1)) is not None:
                if words[at].lower not in _BESIDE_MOVE or beside.value.text.endswith("day"):
                    return start
                at = beside.end
            elif (when := self._phrase(at)) is not None and _says_when(when.value):
                at = when.end
            else:
                return start
        return at if at < len(words) else start

    def _targets_of(
        self, verb: Word, opening: tuple[Word, ...], at: int, theme: frozenset[str]
    ) -> Iterator[ClauseChange]:
        found: dict[str, Value] = {}
        while self.word(at) in {"from", *_TO}:
            slot = "from" if self.word(at) == "from" else "to"
            named = self._at_whom(at + 1)
            if named is None:
                break  # "moved to X to be near her"
            if slot in found:
                return
            whole = slot == "to" and verb.lemma not in _WORDS["switches"]
            found[slot], at = self._whole(*named) if whole else named
        purpose = self._phrase(at + 1) if self.word(at) == "for" else None
        whom = purpose is not None and purpose.value.text.split()[-1] in ACTING | _WORDS["reason"]
        if purpose is not None and not whom and not is_time(purpose.value):
            theme |= purpose.value.terms
        if "to" in found and self._ends(at):
            before = found.get("from") or self._compared(at)
            yield self._step("move", verb, opening, before, found["to"], theme)

    def _said_ended(self, at: int) -> Iterator[ClauseChange]:
        """Read an ending: "is no longer at X", "no longer uses X"."""
        words = self.sentence.words
        before = words[at - 2] if at > 1 else None
        is_so = before is not None and before.lemma == "be"
        start = at - 2 if is_so else at - 1
        opening, _ = self._opening(start)
        verb = before if is_so and before is not None else words[min(at + 1, len(words) - 1)]
        if opening is None or verb.tag not in _AS_PRESENT or self._adds(at):
            return
        if is_so and self._tag(at + 1) == "VBG":  # "is no longer speaking to X"
            verb, is_so = words[at + 1], False
        values = list(self.given(at + 1 if is_so else at + 2))
        values = [
            (s, v)
            for s, v in values
            if not is_one_off_time(s, v) and (s == "after" or not self._is_vague(s, v))
        ]
        if len(values) == 2 and values[0][1].text in _CHANGES["posts"] | _WORDS["accounts"]:
            verb, values = verb.read_as(lemma="be"), values[1:]
        if values and not self._limits_manner(at) and _has_distinct_slots(values):
            (slot, value), *others = values
            limits = terms_of(v for _, v in others)
            after = self._but(at, slot if not others else others[-1][0])
            last = others[-1] if others else (slot, value)
            if after is not None and others and after.kind == last[1].kind != value.kind:
                limits = limits - last[1].terms | value.terms
                yield self._step("end", verb, opening, last[1], after, slot=last[0], limits=limits)
                return
            whole = " ".join([value.text, *(f"{by} {v.text}" for by, v in others)])
            inner = last if others and last[1].kind == "name" else None
            value = Value(whole, value.terms, value.kind)
            change = self._step("end", verb, opening, value, after, slot=slot, limits=limits)
            yield replace(change, inner=inner)

    def _limits_manner(self, at: int) -> bool:
        """Return True if "no longer" limits only the manner: "runs the shop alone"."""
        rest = takewhile(lambda w: w.text not in STOPS, self.sentence.words[at + 2 :])
        return any(
            w.lower == "granted" or (w.tag == "RB" and w.lower not in _CHANGES["at_last"])
            for w in rest
        )

    def _is_where(self, verb: Word, start: int, given: tuple[str, Value]) -> bool:
        """Return True for a person's place: "is now at the X", "is now in Bremen"."""
        slot, value = given
        article = self.word(start + 1) in DETERMINERS and not kinds(value)
        if (
            self.word(0) in DETERMINERS
            and verb.index
            and self._tag(verb.index - 1) in ("NN", "NNS")
        ):
            return False  # "the fair is now at the racecourse"
        return verb.lemma == "be" and slot == "at" and (article or self._names_place(value))

    def _but(self, at: int, slot: str) -> Value | None:
        """Return the contrasted value Y: ", but (from) Y", ", I took Y instead"."""
        words = self.sentence.words
        for word in words[at:]:
            if word.lower == "but":
                start = word.index + 1
                given = "obj" if words[start].tag not in ("IN", "TO") else words[start].lower
                named = self._named(start + (given != "obj"))
                fits = given in (slot, "obj") or {given, slot} <= _MANNERS
                return named[0] if named is not None and fits else None
            if word.lower == "instead" and self.word(word.index + 1) != "of":
                found = (p for i in range(at, word.index) if (p := self._phrase(i)) is not None)
                return next((p.value for p in found if p.end == word.index), None)
        return None

    def _now(self, at: int) -> Iterator[ClauseChange]:
        """Read a current value: "is now at Y", "now uses Y", "now X uses Y", "uses Y now"."""
        words = self.sentence.words
        is_so = at > 0 and words[at - 1].lemma == "be"
        does = self._tag(at + 1) in _AS_PRESENT
        main = next((w.index for w in words if w.tag in _PRESENT), 0)
        main = at - 1 if is_so else at + 1 if does else main
        begins = main > 0 and (at == 0 or (at == 2 and self.word(0) in ("from", "as")))
        ends = main < at - 1 and self._ends(at + 1) and self.word(at + 2) != "then"
        if not (begins or ends or is_so or does) or self._adds(at):
            return
        opening, _ = self._opening(min(at, main) if not begins else main)
        if opening is None:
            return
        if begins:
            opening = tuple(w for w in opening[at + 1 :] if w.lower != "on")
        verb, start = words[main], max(main, 0 if begins or ends else at) + 1
        if verb.lemma == "be" and self._tag(start) in ("VBN", "VBG"):
            verb, start = words[start], start + 1
        values = [(s, v) for s, v in self.given(start) if v.text.casefold() != "now"]
        if not values or not _has_distinct_slots(values) or self._is_where(verb, start, values[0]):
            return
        opposed = self._compared(start)
        for at, (slot, value) in enumerate(values):
            rest = [one for i, one in enumerate(values) if i != at and not self._is_beside(*one)]
            if at and value.kind != "name":
                continue
            if at and values[0][1].kind == "role":
                rest = []  # "is now an engineer at Y"
            limits = terms_of(v for _, v in rest)
            yield self._step("now", verb, opening, opposed, value, slot=slot, limits=limits)

    def _is_beside(self, slot: str, value: Value) -> bool:
        """Return True for an adjunct of time or reason, or a value that is vague."""
        return is_one_off_time(slot, value) or self._is_vague(slot, value)

    def _is_vague(self, slot: str, value: Value) -> bool:
        """Return True for a phrase that identifies nothing: "for all her work"."""
        first = self.sentence.text.find(value.text)
        before = self.sentence.text[:first].split()[-1:]
        return (
            slot in _WORDS["reasons"] | {"after", "following", "despite"}
            or value.text.split()[-1].removesuffix("s") == "reason"
            or (
                slot == "for"
                and not _WORDS["any"].isdisjoint([*value.text.lower().split(), *before])
            )
        )

    def _compared(self, at: int) -> Value | None:
        """Return the compared value X after a word: "is quieter than X", "instead of X"."""
        for one, other in pairwise(self.sentence.words[at:]):
            opposed = (one.lower, other.lower) in (("instead", "of"), ("rather", "than"))
            if opposed or one.lower == "than":
                named = self._named(other.index + opposed)
                return named[0] if named is not None else None
        return None

    def then(self, at: int) -> Sentence | None:
        """Return the clause that follows a word after a comma or dash."""
        stop = next((w for w in self.sentence.words[at:] if w.text in STOPS), None)
        rest = self.sentence.text[stop.start + len(stop.text) :].strip() if stop else ""
        return parse(rest) if rest else None

    def _step(
        self,
        cue: Literal["move", "leave", "end", "now"],
        verb: Word,
        opening: tuple[Word, ...],
        before: Value | None = None,
        after: Value | None = None,
        theme: frozenset[str] = frozenset(),
        slot: str = "",
        limits: frozenset[str] = frozenset(),
    ) -> ClauseChange:
        told = tuple((word.lower, word.tag) for word in opening if word.text != ".")
        does = family(verb.lemma, verb.lemma)
        if does == "be" and slot == "in" and _tells_house(self.sentence.words):
            does = "residence"  # "is now in Y, in a flat by the river"
        place = after is not None and self._names_place(after)
        bare = after is not None and self._is_bare(after) and (not before or self._is_bare(before))
        is_organisation = after is not None and self._is_organisation(after)
        return ClauseChange(
            cue,
            self.speaker,
            told,
            does,
            before,
            after,
            theme,
            slot,
            limits,
            place,
            is_organisation,
            bare,
        )

    def _is_bare(self, value: Value) -> bool:
        """Return True for a value without an article or possessive."""
        at = self.sentence.text.find(value.text)
        before = [w for w in self.sentence.words if w.start < at]
        return not before or before[-1].tag not in ("DT", "PRP$")

    def _adds(self, at: int) -> bool:
        """Return True for an additive word ("also") in the clause of a cue."""
        words = self._own(at)
        if any((a.lower, b.lower) == ("as", "well") for a, b in pairwise(words)):
            return True
        main = takewhile(
            lambda w: w.index < at or w.lower not in ("after", "because", "when"), words
        )
        return any(
            w.lower in _CHANGES["additive"]
            and not self.is_degree(w)
            and self.word(w.index + 1) not in _WORDS["reasons"]
            for w in main
        )

    @property
    def is_limited_to(self) -> bool:
        """True if a word beside the first verb limits the time or degree of a state."""
        at = next((w.index for w in self.sentence.words if w.tag in FINITE), 0)
        own = takewhile(
            lambda w: w.lower != "never" or self._tag(w.index - 1) != "CC", self._own(at)
        )
        return any(w.lower in CLAUSE_LIMITS for w in own)

    def _own(self, at: int) -> tuple[Word, ...]:
        """Return the words up to the next clause that has its own subject."""
        words = self.sentence.words
        for word in words[at + 1 :]:
            if word.text in STOPS or word.tag in ("CC", "WDT", "WP"):
                rest = words[word.index + 1 :]
                verb = next((w.index for w in rest if w.tag in FINITE), 0)
                first = word.index + (word.text in STOPS or word.tag == "CC")
                subject = [w for w in words[first:verb] if w.tag not in ("RB", "CC")]
                if verb and subject and not any(w.text in STOPS for w in subject):
                    return words[: word.index]
        return words

    # Words

    def _tag(self, index: int) -> str:
        words = self.sentence.words
        return words[index].tag if 0 <= index < len(words) else ""

    def _is_denied(self, at: int) -> bool:
        around = self.sentence.words[max(0, at - 1) : at + 3]
        return any(word.lower in _WORDS["negations"] or word.lower == "longer" for word in around)

    def _opening(self, end: int) -> tuple[tuple[Word, ...] | None, bool]:
        """Return the words before a cue without auxiliaries, and True if it has any."""
        words, at, helped = self.sentence.words, end - 1, False
        while at >= 0 and (
            words[at].tag in ("RB", "VBZ", "VBP", "VBD", "VBN", "MD", "TO", "POS")
            or words[at].lower == "since"
        ):
            word = words[at]
            if word.tag in ("MD", "TO") or word.lower in _WORDS["negations"]:
                return None, False
            if word.tag == "RB" and word.lower not in _CHANGES["at_last"] | _WORDS["since"]:
                break
            if word.tag != "RB" and not {word.lemma, word.lower} & (
                _WORDS["helpers"] | _WORDS["since"]
            ):
                return None, False
            helped = helped or word.lemma in _WORDS["helpers"]
            at -= 1
        denied = any(word.lower in _WORDS["negations"] for word in words[: at + 1])
        return None if denied else words[: at + 1], helped

    def _named(self, at: int) -> tuple[Value, int] | None:
        """Return the phrase at a word with its "of" phrase, and where it ends."""
        phrase = self._phrase(at, after_to=True)
        if phrase is None:
            return None
        value, end = phrase.value, phrase.end
        if self._tag(end) == "POS":
            end += 1
            if self._tag(end) in ("", ".", ",", "IN", "CC"):  # "left St. Mary's for X"
                value = Value(
                    f"{value.text}{self.sentence.words[end - 1].text}", value.terms, value.kind
                )
        if self.word(end) == "of" and (inside := self._phrase(end + 1)) is not None:
            start = self.sentence.words[phrase.start].start
            last = self.sentence.words[inside.end - 1]
            value = plain_value(self.sentence.text[start : last.start + len(last.text)])
            value = Value(value.text, value.terms, phrase.value.kind)
            end = inside.end
        return value, end

    def _belongs(self, words: Sequence[Word], at: int, start: int, *, after_to: bool) -> bool:
        """Return True for a word that continues a phrase; in a name it may have any tag."""
        named = words[at].text[:1].isupper() and words[at].tag != "PRP"
        if at == start and after_to and words[at].tag == "RB":
            return words[at - 1].lower in {"from", *_TO}  # "from early to late"
        joins = words[at].text == "&" and at > start and words[at - 1].text[:1].isupper()
        return named or joins or EndingReader._belongs(self, words, at, start, after_to=after_to)

    def _ends(self, at: int) -> bool:
        """Return True if only adjuncts of time, reason or company follow a value."""
        after = next(iter(self.sentence.words[at:]), None)
        return after is None or (
            after.text in STOPS
            or after.tag in ("IN", "RB", "WRB", "CC", "TO", "CD")
            or after.lower in _WORDS["after_value"]
            or after.label == "DATE"
        )

    def given(self, at: int) -> Iterator[tuple[str, Value]]:
        """Yield the phrases of a clause from a word on, each with its preposition."""
        words, slot = self.sentence.words, "obj"
        while at < len(words) and words[at].text not in STOPS:
            word = words[at]
            praised = word.tag == "CC" and self._tag(at + 1) == "RB" and self._tag(at + 2) == "JJ"
            if word.lower in ("because", "due", "thanks", "but") or praised:
                return
            if word.tag == "RP" and self._tag(at + 1) in ("NN", "NNS", "NNP", "DT", "JJ", "PRP$"):
                at += 1  # "lends out jigsaws"
                continue
            if word.tag in ("IN", "TO", "RP") or word.lower in ("under", "per"):
                slot, at = word.lower, at + 1
                continue
            if word.tag in ("WRB", "WP", "WDT", "MD") or word.tag in FINITE:
                return
            named = self._named(at)
            if named is None:
                at += 1
                continue
            if self._tag(named[1]) in FINITE:
                return  # "now uses a X her grandson gave her"
            yield slot, named[0]
            at = named[1]


def repaired(sentence: Sentence) -> Sentence:
    """Return a sentence with tags corrected by word order.

    Small models take the verb of "I no longer volunteer" and "Wren runs" for a noun, and the noun
    of "plays squash" for a verb.
    """
    words = list(sentence.words)
    last = words[-1].text if words else ""
    if last.endswith(".") and last.count(".") == 1 != len(last):
        words[-1] = replace(words[-1], text=last[:-1])
    for at in range(1, len(words)):
        _repair(words, at)
    for names, tag, verb_tag in _UNREAD:
        if any(word.tag in FINITE for word in words):
            break
        for name, verb in pairwise(words):
            if name.tag in names and verb.tag == tag and verb.text.islower():
                words[verb.index] = replace(verb, tag=verb_tag)
                break
    return sentence if tuple(words) == sentence.words else Sentence(sentence.text, tuple(words))


def _repair(words: list[Word], at: int) -> None:
    word, before = words[at], words[at - 1]
    if word.text == "A" and word.tag == "DT" and before.tag == "DT":
        words[at] = replace(word, tag="NNP")  # "the A team"
        return
    if _is_clock(words, at):
        words[at - 1], words[at] = (replace(one, tag="CD") for one in (before, word))
        return
    if before.lower in ("longer", "now") and at > 1 and not _is_verb(words[at - 2]):
        if before.lower == "longer" and word.tag in ("NN", "NNS", "VB"):
            words[at] = replace(word, tag="VBP")
        subject = words[at - 2 - (before.lower == "longer")]
        if subject.tag in _PRESENT and subject.index and subject.lemma not in _WORDS["helpers"]:
            words[subject.index] = replace(subject, tag="NN")  # "the build no longer uses"
    elif word.tag in ("VB", "VBP") and (
        before.tag == "DT"
        or (before.tag == "NN" and plain_value(word.lower).kind == "role")  # "a team lead"
        or (before.lower == "to" and kinds(plain_value(word.text)))
        or (before.lower == "to" and at > 2 and words[at - 3].lower == "from")
        or (before.tag in FINITE - {"MD"} and before.lemma not in _LIGHT)
    ):
        words[at] = replace(word, tag="NN")
    elif word.tag == "VBZ" and at > 2 and before.tag == "NN" and words[at - 3].lower == "do":
        words[at] = replace(word, tag="NNS")  # "do the shop accounts"


def _is_clock(words: Sequence[Word], at: int) -> bool:
    """Return True for the words of a clock time: "half past" of "half past six"."""
    hour = words[at + 1 : at + 2]
    told = words[at].lower in _CHANGES["clock_links"] and words[at - 1].lower in _CHANGES["minutes"]
    return told and bool(hour) and hour[0].tag == "CD"


def _is_verb(word: Word) -> bool:
    return word.tag in FINITE or word.lemma == "be"


def _tells_house(words: Sequence[Word]) -> bool:
    return any(
        is_in.lower == "in" and "house" in kinds(plain_value(noun.text))
        for is_in, _, noun in zip(words, words[1:], words[2:], strict=False)
    )


def _has_distinct_slots(values: Sequence[tuple[str, Value]]) -> bool:
    """Return True if no slot has two values, as in "X and Y"."""
    slots = [slot for slot, value in values if not is_time(value)]
    return len({*slots}) == len(slots)


def _says_when(value: Value) -> bool:
    """Return True for a phrase of time, "last week"; not "bin day", which may be moved."""
    first = value.text.casefold().split()[0]
    timed = first in _CHANGES["time_words"] | _CHANGES["numbers"] | {"last", "this", "next"}
    return is_time(value) and (timed or value.kind in ("date", "time"))


def is_one_off_time(slot: str, value: Value) -> bool:
    """Return True for the time of a change; not for recurring hours or days."""
    again = value.text.endswith("s") or slot in ("after", "before", "at", "during")
    again = again or value.text.split()[0].casefold() in ("first", "second", "third")
    return is_time(value) and not again


def _without_article(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[1:] if words and words[0] in DETERMINERS else words)
