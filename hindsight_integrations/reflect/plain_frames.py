"""Frames of plain clauses: subject, relation and values, in the order of their words.

"S moved from X to Y", "S left X for Y", "S no longer does X", "S switched to Y" and "S is now at Y"
are read from the tags of the words, which small models get right where they misread dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile, zip_longest
from typing import Literal

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.reflect.claim_model import (
    PlainState,
    PlainStep,
    Value,
    family,
    is_time,
)
from hindsight_integrations.reflect.endings import EndingReader
from hindsight_integrations.reflect.phrases import plain_value
from hindsight_integrations.reflect.plain_subjects import (
    ACTING,
    CALLED,
    DETERMINERS,
    STOPS,
    subjects,
)
from hindsight_integrations.reflect.value_kinds import kinds, same_verb

_CHANGES = word_sets("changes")
_WORDS = word_sets("frames")
_SHIFTS = _CHANGES["moving"] | _WORDS["shifts"]
_FOR = frozenset({"for", "with"})
_TO = frozenset({"to", "into", "onto"})
_PRESENT = frozenset({"VBZ", "VBP"})
_AS_PRESENT = _PRESENT | {"NNS", "VB"}
"""Tags that small models give the present tense: "the build no longer uses", "I no longer use"."""
_FINITE = _PRESENT | {"VBD", "MD"}
_COMPLEMENT = frozenset({"IN", "DT", "PRP$", "NN", "NNS", "NNP", "RB", "JJ"})
_DOUBTS = (_CHANGES["stories"] - {"play"}) | _CHANGES["hedges"] | _CHANGES["doubts"]
_SAYING = _CHANGES["reporting"] - _CHANGES["asserting"] | _CHANGES["saying"]
_NOW_TERMS = frozenset({"now", "instead"})


def frames(
    clauses: Sequence[tuple[Sentence, bool]], names: Mapping[str, str], speaker: str | None
) -> tuple[tuple[PlainState, ...], tuple[PlainStep, ...]]:
    """Return the states and steps of clauses, each given with True if it holds for a while only.

    One that casts doubt on what it says has none; one that adds to what was has no steps.
    """
    states: list[PlainState] = []
    steps: list[PlainStep] = []
    for (clause, is_passing), then in zip_longest(clauses, (one for one, _ in clauses[1:])):
        if not is_plain(clause.words):
            continue
        reader = PlainReader(clause, names, speaker)
        state = reader.state()
        states += [state] if state is not None else []
        if not (is_passing or reader.is_passing):
            steps += (_completed(step, reader, then) for step in reader.steps())
    return tuple(states), tuple(steps)


class PlainReader(EndingReader):
    """Reads the frames of one parsed clause."""

    __slots__ = ()

    def state(self) -> PlainState | None:
        """Return what a clause in the present tense gives its subject."""
        words = self.sentence.words
        at = next((w.index for w in words if w.tag in _FINITE), None) or self._misread(words)
        if not at or words[at].tag not in (*_PRESENT, "NNS") or self._is_denied(at):
            return None
        verb = at
        while verb + 1 < len(words) and words[verb].lemma in _WORDS["helpers"] and (
            words[verb + 1].tag in ("VBN", "VBG", "RB")
        ):  # fmt: skip
            verb += 1
        if words[verb].tag == "RB":
            verb = at
        opening = [w for w in words[:at] if w.tag != "RB" and w.text != "."]
        if opening and opening[-1].text == ",":  # "Ana, our designer, is"
            opening = list(takewhile(lambda w: w.text != ",", opening))
        subject = _without_article([w.lower for w in opening])
        values = tuple(self._given(verb + 1))
        lemma = words[verb].lemma
        does = family(lemma, lemma) if lemma not in ("'s", "'re", "'m") else "be"
        terms = frozenset(lexemes(self.sentence.text))
        if not subject:
            return None
        first, last = opening[-len(subject)], opening[-1]
        called = plain_value(self.sentence.text[first.start : last.start + len(last.text)])
        passive = words[verb].tag == "VBN" and words[at].lemma == "be"
        common = last.tag in ("NN", "NNS") and last.lemma not in ACTING
        is_thing = (common and plain_value(last.text).kind != "role") or not CALLED.isdisjoint(
            subject
        )
        return PlainState(subject, self.speaker, does, values, terms, called, passive, is_thing)

    def steps(self) -> Iterator[PlainStep]:
        """Yield what a clause says has changed."""
        words = self.sentence.words
        for word in words:
            if word.lower == "longer" and word.index and words[word.index - 1].lower == "no":
                yield from self._said_ended(word.index)
            elif word.lower == "now":
                yield from self._now(word.index)
            elif word.tag in ("VBD", "VBN") and word.lemma in _SHIFTS | _WORDS["leaves"]:
                yield from self._moved(word)

    def _misread(self, words: Sequence[Word]) -> int:
        """Return where a verb stands after a name that a model takes for a noun; 0 if nowhere."""
        return next(
            (
                verb.index
                for name, verb in pairwise(words)
                if name.tag in ("NNP", "NN") and verb.tag == "NNS" and verb.text.islower()
            ),
            0,
        )

    # Cues

    def _moved(self, verb: Word) -> Iterator[PlainStep]:
        """Read "moved (the blog) (from X) to Y" and "left X for Y"."""
        opening, helped = self._opening(verb.index)
        if opening is None or (verb.tag == "VBN" and not helped) or self._adds(verb.index):
            return
        at = verb.index + 1
        at += self._word(at) in ("over", "across", "fully", "completely", "back")
        links = _FOR if verb.lemma in ("swap", "trade", "exchange", "replace") else {"for"}
        if self._word(at) in {"from", *_TO}:
            yield from self._targets_of(verb, opening, at, frozenset())
            return
        thing = self._phrase(at)
        if thing is None:
            return
        after = thing.end + (self._tag(thing.end) == "POS")
        if verb.lemma in _WORDS["leaves"] and self._word(after) in links:
            then = self._named(after + 1)
            if then is not None and self._ends(then[1]):
                yield self._step("leave", verb, opening, before=thing.value, after=then[0])
        elif self._word(after) in {"from", *_TO}:
            yield from self._targets_of(verb, opening, after, thing.value.terms)

    def _targets_of(
        self, verb: Word, opening: tuple[Word, ...], at: int, theme: frozenset[str]
    ) -> Iterator[PlainStep]:
        found: dict[str, Value] = {}
        while self._word(at) in {"from", *_TO}:
            slot = "from" if self._word(at) == "from" else "to"
            named = self._named(at + 1)
            if named is None:
                break  # "moved to X to be near her"
            if slot in found:
                return
            found[slot], at = named
        purpose = self._phrase(at + 1) if self._word(at) == "for" else None
        whom = purpose is not None and purpose.value.text.split()[-1] in ACTING
        if purpose is not None and not whom and not is_time(purpose.value):
            theme |= purpose.value.terms
        if "to" in found and self._ends(at):
            before = found.get("from") or self._compared(at)
            yield self._step("move", verb, opening, before, found["to"], theme)

    def _said_ended(self, at: int) -> Iterator[PlainStep]:
        """Read "is no longer at X", "no longer uses X"."""
        words = self.sentence.words
        before = words[at - 2] if at > 1 else None
        is_so = before is not None and before.lemma == "be"
        start = at - 2 if is_so else at - 1
        opening, _ = self._opening(start)
        verb = before if is_so and before is not None else words[min(at + 1, len(words) - 1)]
        if opening is None or verb.tag not in _AS_PRESENT or self._adds(at, ended=True):
            return
        values = list(self._given(at + 1 if is_so else at + 2))
        values = [
            (s, v) for s, v in values if s not in _WORDS["reasons"] and not is_of_one_time(s, v)
        ]
        if values and not self._limits_manner(at) and _is_of_each_one(values):
            (slot, value), *others = values
            limits = frozenset[str]().union(*(v.terms for _, v in others))
            after = self._but(at, slot if not others else others[-1][0])
            last = others[-1] if others else (slot, value)
            if after is not None and others and after.kind == last[1].kind != value.kind:
                limits = limits - last[1].terms | value.terms
                yield self._step("end", verb, opening, last[1], after, slot=last[0], limits=limits)
                return
            whole = " ".join([value.text, *(f"{by} {v.text}" for by, v in others)])
            inner = last if others and last[1].kind == "name" else None
            value = Value(whole, value.terms, value.kind)
            step = self._step("end", verb, opening, value, after, slot=slot, limits=limits)
            yield replace(step, inner=inner)

    def _limits_manner(self, at: int) -> bool:
        """Return True for an adverb after what has ended: "no longer runs the shop alone"."""
        rest = takewhile(lambda w: w.text not in STOPS, self.sentence.words[at + 2 :])
        return any(w.tag == "RB" and w.lower not in _CHANGES["at_last"] for w in rest)

    def _is_where(self, verb: Word, start: int, given: tuple[str, Value]) -> bool:
        """Return True for "is now at the X", "is now in Bremen": where somebody is."""
        slot, value = given
        article = self._word(start + 1) in DETERMINERS and not kinds(value)
        if (
            self._word(0) in DETERMINERS
            and verb.index
            and self._tag(verb.index - 1) in ("NN", "NNS")
        ):
            return False  # "the fair is now at the racecourse"
        return verb.lemma == "be" and slot == "at" and (article or self._names_place(value))

    def _but(self, at: int, slot: str) -> Value | None:
        """Return the Y of ", but (from) Y", and of ", I took Y instead"."""
        words = self.sentence.words
        for word in words[at:]:
            if word.lower == "but":
                start = word.index + 1
                given = "obj" if words[start].tag not in ("IN", "TO") else words[start].lower
                named = self._named(start + (given != "obj"))
                return named[0] if named is not None and given in (slot, "obj") else None
            if word.lower == "instead" and self._word(word.index + 1) != "of":
                found = (p for i in range(at, word.index) if (p := self._phrase(i)) is not None)
                return next((p.value for p in found if p.end == word.index), None)
        return None

    def _now(self, at: int) -> Iterator[PlainStep]:
        """Read "is now at Y", "now uses Y"."""
        words = self.sentence.words
        before = words[at - 1] if at else None
        is_so = before is not None and before.lemma == "be"
        opening, _ = self._opening(at - 1 if is_so else at)
        verb = before if is_so and before is not None else words[min(at + 1, len(words) - 1)]
        if opening is None or verb.tag not in _AS_PRESENT or self._adds(at):
            return
        start = at + 1 if is_so else at + 2
        if is_so and start < len(words) and words[start].tag == "VBN":
            verb, start = words[start], start + 1
        values = list(self._given(start))
        if values and _is_of_each_one(values) and not self._is_where(verb, start, values[0]):
            (slot, value), *others = values
            limits = frozenset[str]().union(
                *(v.terms for s, v in others if not is_of_one_time(s, v))
            )
            opposed = self._compared(start)
            yield self._step("now", verb, opening, opposed, value, slot=slot, limits=limits)

    def _compared(self, at: int) -> Value | None:
        """Return the X of "is quieter than X" and "instead of X" after a word."""
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
    ) -> PlainStep:
        told = tuple((word.lower, word.tag) for word in opening if word.text != ".")
        does = family(verb.lemma, verb.lemma)
        place = after is not None and self._names_place(after)
        bare = after is not None and self._is_bare(after) and (not before or self._is_bare(before))
        firm = after is not None and self._is_organisation(after)
        return PlainStep(
            cue, self.speaker, told, does, before, after, theme, slot, limits, place, firm, bare
        )

    def _is_bare(self, value: Value) -> bool:
        """Return True for a value without an article or possessive before it."""
        at = self.sentence.text.find(value.text)
        before = [w for w in self.sentence.words if w.start < at]
        return not before or before[-1].tag not in ("DT", "PRP$")

    def _adds(self, at: int, *, ended: bool = False) -> bool:
        """Return True for "also" and the like beside a cue; not in a clause that says why or when.

        Of what has ended only its own words count: "is no longer X, both Y and Z are fine".
        """
        words = self.sentence.words
        if ended:
            words = tuple(takewhile(lambda w: w.index <= at or w.text not in STOPS, words))
        if any((a.lower, b.lower) == ("as", "well") for a, b in pairwise(words)):
            return True
        main = list(takewhile(lambda w: w.lower not in ("after", "because", "when"), words))
        return any(
            w.lower in _CHANGES["additive"]
            and not self.is_degree(w)
            and self._word(w.index + 1) not in _WORDS["reasons"]
            for w in main
        )

    # Words

    def _tag(self, index: int) -> str:
        words = self.sentence.words
        return words[index].tag if 0 <= index < len(words) else ""

    def _is_denied(self, at: int) -> bool:
        around = self.sentence.words[max(0, at - 1) : at + 3]
        return any(word.lower in _WORDS["negations"] or word.lower == "longer" for word in around)

    def _opening(self, end: int) -> tuple[tuple[Word, ...] | None, bool]:
        """Return the words before a cue, without its helpers, and True if it has any."""
        words, at, helped = self.sentence.words, end - 1, False
        if at > 0 and words[at].tag == "VBP" and words[at - 1].tag in ("NNP", "NN"):
            return (*words[:at], replace(words[at], tag="NN")), False  # "the build no longer uses"
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
        return words[: at + 1], helped

    def _named(self, at: int) -> tuple[Value, int] | None:
        """Return the phrase at a word with what it is of, and where it ends."""
        phrase = self._phrase(at, after_to=True)
        if phrase is None:
            return None
        value, end = phrase.value, phrase.end
        end += self._tag(end) == "POS"  # "left St. Mary's for X"
        if self._word(end) == "of" and (inside := self._phrase(end + 1)) is not None:
            start = self.sentence.words[phrase.start].start
            last = self.sentence.words[inside.end - 1]
            value = plain_value(self.sentence.text[start : last.start + len(last.text)])
            value = Value(value.text, value.terms, phrase.value.kind)
            end = inside.end
        return value, end

    def _belongs(self, words: Sequence[Word], at: int, start: int, *, after_to: bool) -> bool:
        """Return True for what belongs to a phrase; a name may have any tag."""
        after = words[at + 1].lemma if at + 1 < len(words) else ""
        if at > start and words[at].tag == "CD" and after in _CHANGES["time_words"]:
            return False  # "the saxophone two years in"
        named = words[at].text[:1].isupper() and words[at].tag != "PRP"
        if at == start and after_to and words[at].tag == "RB":
            return words[at - 1].lower in {"from", *_TO}  # "from early to late"
        joins = words[at].text == "&" and at > start and words[at - 1].text[:1].isupper()
        return named or joins or EndingReader._belongs(self, words, at, start, after_to=after_to)

    def _ends(self, at: int) -> bool:
        """Return True if what follows a value only says when, why or with what."""
        after = next(iter(self.sentence.words[at:]), None)
        return after is None or (
            after.text in STOPS
            or after.tag in ("IN", "RB", "WRB", "CC", "TO", "CD")
            or after.lower in _WORDS["after_value"]
            or after.label == "DATE"
        )

    def _given(self, at: int) -> Iterator[tuple[str, Value]]:
        """Yield the phrases of a clause from a word on, each with the preposition before it."""
        words, slot = self.sentence.words, "obj"
        while at < len(words) and words[at].text not in STOPS:
            word = words[at]
            if word.tag in ("IN", "TO", "RP") or word.lower in ("under", "per"):
                slot, at = word.lower, at + 1
                continue
            if word.tag in ("WRB", "WP", "WDT", "MD") or word.tag in _FINITE:
                return
            if word.lower in ("because", "due", "thanks", "but"):
                return
            named = self._named(at)
            if named is None:
                at += 1
                continue
            if self._tag(named[1]) in _FINITE:
                return  # "now uses a X her grandson gave her"
            yield slot, named[0]
            at = named[1]


def _is_of_each_one(values: Sequence[tuple[str, Value]]) -> bool:
    """Return True if no two values have one slot: not for "X and Y"."""
    slots = [slot for slot, value in values if not is_time(value)]
    return len({*slots}) == len(slots)


def is_of_one_time(slot: str, value: Value) -> bool:
    """Return True for when a change was, not for hours or days that come again."""
    again = value.text.endswith("s") or slot in ("after", "before", "at", "during")
    return is_time(value) and not again


def _completed(step: PlainStep, reader: PlainReader, then: Sentence | None) -> PlainStep:
    """Return an end with what the next clause says came instead: "it goes via Y"."""
    if step.cue != "end" or step.after is not None or step.before is None:
        return step
    told = reader.then(len(step.opening))
    for clause in (told, then):
        if clause is not None and is_plain(clause.words):
            state = PlainReader(clause, reader.names, reader.speaker).state()
            if state is not None and state.verb == "do" and not state.values:
                return replace(step, heir=state.called)  # "Sunniva does"
            after = _sequel(step, state) if state is not None else None
            if after is not None:
                return replace(step, after=after)
            if state is not None and step.inner is not None:
                slot, before = step.inner
                limits = step.limits - before.terms | step.before.terms
                inner = replace(step, slot=slot, before=before, limits=limits)
                if (after := _sequel(inner, state)) is not None:
                    return replace(inner, after=after)
    return step


def _sequel(step: PlainStep, state: PlainState) -> Value | None:
    """Return what a clause after an end gives its subject in place of what ended."""
    before = step.before
    if before is None:
        return None
    timeless = [(slot, value) for slot, value in state.values if not is_time(value)]
    since = step.slot in _WORDS["supplier"] and not state.terms.isdisjoint(_NOW_TERMS)
    if not timeless and state.called.kind == "name" and since:
        return state.called  # "Doves Farm delivers now"
    goes_on = (
        state.subject[0] in _WORDS["goes_on"]
        or _is_agent(state)
        or state.subject in set(subjects(step.opening))
    )
    found = [
        value
        for slot, value in timeless
        if (value.kind == before.kind != "thing" or kinds(value) & kinds(before))
        and value.terms != before.terms
        and (
            (
                (slot == step.slot or {slot, step.slot} <= _WORDS["bond"] - {"in", "on"})
                and (state.verb in _WORDS["light"] or same_verb(state.verb, step.verb))
            )
            or (
                {slot, step.slot} <= _WORDS["way"]
                and state.subject[0] in _WORDS["impersonal"]
                and state.verb in _WORDS["light"]
            )
            or kinds(value) & kinds(before)
            or (slot == "obj" and _is_agent(state))
        )
    ]
    return found[0] if goes_on and len(found) == 1 else None


def _is_agent(state: PlainState) -> bool:
    """Return True for "their insurer is Y", "his manager these days is Y"; not for his brother."""
    noun = next((word for word in state.subject[1:2]), "")
    return (
        state.subject[0] in _WORDS["owning"]
        and state.verb == "be"
        and noun.endswith(("er", "or"))
        and noun not in ACTING
    )


def _without_article(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[1:] if words and words[0] in DETERMINERS else words)


def is_plain(words: Sequence[Word]) -> bool:
    """Return True for a sentence without a word that casts doubt on it."""
    return not any(
        word.lemma in _DOUBTS
        or word.lower in _DOUBTS
        or (word.lemma in _SAYING and word.tag.startswith("VB") and not _is_made(words, word))
        for word in words
    )


def _is_made(words: Sequence[Word], verb: Word) -> bool:
    """Return True for "is written in X", "writes her reports in X": no clause is told."""
    after = words[verb.index + 1 : verb.index + 2]
    if verb.lemma == "seem" and after:  # "and he seems happier"
        own = verb.index and words[verb.index - 1].lower in ("he", "she", "they", "we")
        return bool(own) and after[0].tag.startswith("JJ")
    told = any(word.dep == "ccomp" and word.head == verb.index for word in words)
    return verb.lemma == "write" and not told and bool(after) and after[0].tag in _COMPLEMENT
