"""Plain changes, read as frames: subject, relation and values, in the order of their words.

"S moved from X to Y", "S left X for Y", "S no longer does X", "S switched to Y" and "S is now at Y"
are read from the tags of the words, which small models get right where they misread dependencies.
A change is told if an earlier statement gives that subject X, or just one value of the kind of Y.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile
from typing import Literal

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.reflect.claim_model import (
    PlainState,
    PlainStep,
    Value,
    family,
    groups_of,
    is_attitude,
    is_time,
)
from hindsight_integrations.reflect.ended_values import HABITS
from hindsight_integrations.reflect.endings import EndingReader
from hindsight_integrations.reflect.phrases import plain_value

_CHANGES = word_sets("changes")
_ENDINGS = table("endings")
_KINDS = table("kinds")
_CALLED = frozenset(_KINDS["called"]["roles"].split())
_USES = frozenset(_KINDS["bonds"]["uses"].split())
_ACTING = frozenset(table("changes")["people"]["groups"].split()) | {"share", "shares", "stake"}
_SLOTS = frozenset("obj at in on with for from through under by via to as".split())
_EVENTS = frozenset(_KINDS["events"]["once"].split())
_ATTRIBUTES = frozenset(_ENDINGS["attributes"]["be"].split())
_SHIFTS = _CHANGES["moving"] | {"swap", "graduate"}
_LEAVES = frozenset(
    "leave quit ditch drop dump abandon swap trade exchange replace forsake".split()
)
_FOR = frozenset({"for", "with"})
_TO = frozenset({"to", "into", "onto"})
_HELPERS = frozenset({"have", "be", "'ve", "'s", "get"})
_PRESENT = frozenset({"VBZ", "VBP"})
_FINITE = _PRESENT | {"VBD", "MD"}
_STOPS = frozenset({",", ";", ".", "!", ":", "-", "–", "—", "(", ")"})
_DETERMINERS = frozenset({"the", "a", "an"})
_MINE = {"my": "i", "our": "we"}
_FIRST = frozenset({"i", "we"})
_SMALL = frozenset({"of", "for", "at", "in", "the", "a", "an"})
_OPENS = frozenset({"IN", "TO", "RB", "RBR", "VBG", "VBN", "UH"})
_ENDS_OPENING = frozenset({"NN", "NNS", "NNP", "NNPS", "CD", "RB", "RP"})
_DOUBTS = (
    _CHANGES["reporting"]
    | _CHANGES["stories"]
    | _CHANGES["hedges"]
    | frozenset(
        "say think tell believe hear if unless whether once only wrong true kid opinion".split()
    )
    | frozenset("rumour rumor want hope wish until while false correct".split())
) - frozenset(
    {"add", "mean", "feel", "look", "announce", "explain", "show", "play", "report", "object"}
)
_NEGATIONS = frozenset({"not", "n't", "never", "nearly", "almost", "hardly"})
_OF_THINGS = {"be": ("obj",), "come": ("from",), "run": ("on",), "go": ("through",)}
"""Slots of what a thing of ours is or rests on, by verb: "our CI runs on Jenkins"."""
_AT = frozenset({"at", "with", "for", "in", "on", "under"})
_SINCE = frozenset({"now", "since", "then"})
_REASONS = frozenset({"since", "as", "because", "due"})
_GOES_ON = frozenset(
    "in on at since after last this because during over as before due following".split()
)


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
        while verb + 1 < len(words) and words[verb].lemma in ("be", "have") and (
            words[verb + 1].tag in ("VBN", "VBG", "RB")
        ):  # fmt: skip
            verb += 1
        if words[verb].tag == "RB":
            verb = at
        subject = _without_article([w.lower for w in words[:at] if w.tag != "RB"])
        values = tuple(self._given(verb + 1))
        does = family(words[verb].lemma, words[verb].lemma)
        terms = frozenset(lexemes(self.sentence.text))
        return PlainState(subject, self.speaker, does, values, terms) if subject else None

    def steps(self) -> Iterator[PlainStep]:
        """Yield what a clause says has changed."""
        words = self.sentence.words
        for word in words:
            if word.lower == "longer" and word.index and words[word.index - 1].lower == "no":
                yield from self._said_ended(word.index)
            elif word.lower == "now":
                yield from self._now(word.index)
            elif word.tag in ("VBD", "VBN") and word.lemma in _SHIFTS | _LEAVES:
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
        if opening is None or (verb.tag == "VBN" and not helped):
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
        after = thing.end
        if verb.lemma in _LEAVES and self._word(after) in links:
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
            if named is None or slot in found:
                return
            found[slot], at = named
        purpose = self._phrase(at + 1) if self._word(at) == "for" else None
        if purpose is not None and not is_time(purpose.value):
            theme |= purpose.value.terms
        if "to" in found and self._ends(at):
            yield self._step("move", verb, opening, found.get("from"), found["to"], theme)

    def _said_ended(self, at: int) -> Iterator[PlainStep]:
        """Read "is no longer at X", "no longer uses X"."""
        words = self.sentence.words
        before = words[at - 2] if at > 1 else None
        is_so = before is not None and before.lemma == "be"
        start = at - 2 if is_so else at - 1
        opening, _ = self._opening(start)
        verb = before if is_so and before is not None else words[min(at + 1, len(words) - 1)]
        if opening is None or verb.tag not in _PRESENT:
            return
        values = list(self._given(at + 1 if is_so else at + 2))
        values = [(s, v) for s, v in values if s not in _REASONS and not _is_of_one_time(s, v)]
        if values and not self._limits_manner(at) and _is_of_each_one(values):
            (slot, value), *others = values
            limits = frozenset[str]().union(*(v.terms for _, v in others))
            after = self._but(at, slot if not others else others[-1][0])
            whole = " ".join([value.text, *(f"{by} {v.text}" for by, v in others)])
            value = Value(whole, value.terms, value.kind)
            yield self._step("end", verb, opening, value, after, slot=slot, limits=limits)

    def _limits_manner(self, at: int) -> bool:
        """Return True for an adverb after what has ended: "no longer runs the shop alone"."""
        rest = takewhile(lambda w: w.text not in _STOPS, self.sentence.words[at + 2 :])
        return any(w.tag == "RB" and w.lower not in _CHANGES["at_last"] for w in rest)

    def _is_where(self, verb: Word, start: int, given: tuple[str, Value]) -> bool:
        """Return True for "is now at the X", "is now in Bremen": where somebody is."""
        slot, value = given
        article = self._word(start + 1) in _DETERMINERS and not kinds(value)
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
        if opening is None or verb.tag not in (*_PRESENT, "NNS"):
            return
        start = at + 1 if is_so else at + 2
        if is_so and start < len(words) and words[start].tag == "VBN":
            verb, start = words[start], start + 1
        values = list(self._given(start))
        if values and _is_of_each_one(values) and not self._is_where(verb, start, values[0]):
            (slot, value), *others = values
            limits = frozenset[str]().union(
                *(v.terms for s, v in others if not _is_of_one_time(s, v))
            )
            yield self._step("now", verb, opening, after=value, slot=slot, limits=limits)

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
        told = tuple((word.lower, word.tag) for word in opening)
        does = family(verb.lemma, verb.lemma)
        return PlainStep(cue, self.speaker, told, does, before, after, theme, slot, limits)

    @property
    def adds_here(self) -> bool:
        """True for "also" and the like; not in a clause that says why or when."""
        words = self.sentence.words
        if any((a.lower, b.lower) == ("as", "well") for a, b in pairwise(words)):
            return True
        main = takewhile(lambda w: w.lower not in ("after", "because", "when"), words)
        return any(w.lower in _CHANGES["additive"] and not self.is_degree(w) for w in main)

    # Words

    def _is_denied(self, at: int) -> bool:
        around = self.sentence.words[max(0, at - 1) : at + 3]
        return any(word.lower in _NEGATIONS or word.lower == "longer" for word in around)

    def _opening(self, end: int) -> tuple[tuple[Word, ...] | None, bool]:
        """Return the words before a cue, without its helpers, and True if it has any."""
        words, at, helped = self.sentence.words, end - 1, False
        while at >= 0 and (
            words[at].tag in ("RB", "VBZ", "VBP", "VBD", "VBN", "MD", "TO", "POS")
            or words[at].lower == "since"
        ):
            word = words[at]
            if word.tag in ("MD", "TO") or word.lower in _NEGATIONS:
                return None, False
            if word.tag == "RB" and word.lower not in _CHANGES["at_last"] | _SINCE:
                break
            if word.tag != "RB" and not {word.lemma, word.lower} & (_HELPERS | _SINCE):
                return None, False
            helped = helped or word.lemma in _HELPERS
            at -= 1
        return words[: at + 1], helped

    def _named(self, at: int) -> tuple[Value, int] | None:
        """Return the phrase at a word with what it is of, and where it ends."""
        phrase = self._phrase(at, after_to=True)
        if phrase is None:
            return None
        value, end = phrase.value, phrase.end
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
        return named or EndingReader._belongs(self, words, at, start, after_to=after_to)

    def _ends(self, at: int) -> bool:
        """Return True if what follows a value only says when, why or with what."""
        after = next(iter(self.sentence.words[at:]), None)
        return after is None or (
            after.text in _STOPS
            or after.tag in ("IN", "RB", "WRB", "CC", "TO", "CD")
            or after.lower in _GOES_ON
            or after.label == "DATE"
        )

    def _given(self, at: int) -> Iterator[tuple[str, Value]]:
        """Yield the phrases of a clause from a word on, each with the preposition before it."""
        words, slot = self.sentence.words, "obj"
        while at < len(words) and words[at].text not in _STOPS:
            word = words[at]
            if word.tag in ("IN", "TO", "RP") or word.lower in ("under", "per"):
                slot, at = word.lower, at + 1
                continue
            if word.tag in ("WRB", "WP", "WDT", "MD") or word.tag in _FINITE:
                return
            named = self._named(at)
            if named is None:
                at += 1
                continue
            yield slot, named[0]
            at = named[1]


def _is_of_each_one(values: Sequence[tuple[str, Value]]) -> bool:
    """Return True if no two values have one slot: not for "X and Y"."""
    slots = [slot for slot, value in values if not is_time(value)]
    return len({*slots}) == len(slots)


def _is_of_one_time(slot: str, value: Value) -> bool:
    """Return True for when a change was, not for hours or days that come again."""
    again = value.text.endswith("s") or slot in ("after", "before", "at", "during")
    return is_time(value) and not again


def plain_step(
    step: PlainStep, state: PlainState, *, same_speaker: bool
) -> tuple[str, str | None] | None:
    """Return the values before and after, if a step changes what an earlier statement gave."""
    feels = is_attitude(state.verb) and state.verb not in HABITS | {"see"}
    if (feels and any(slot == "obj" for slot, _ in state.values)) or _is_of_once(state):
        return None
    role = _role(step, state, same_speaker=same_speaker)
    if role is None:
        return None
    before = _before(step, state, role)
    if before is None or (step.after is not None and before.terms == step.after.terms):
        return None
    return before.text, step.after.text if step.after else None


def _before(step: PlainStep, state: PlainState, role: str) -> Value | None:
    if step.cue == "end":
        return _ended_value(step, state) if role == "same" else None
    if role == "attribute" and step.cue != "now":
        return None
    if step.before is not None:
        return _left_value(step, state, role)
    if step.after is None or (is_time(step.after) and role == "own"):
        return None
    return _now_value(step, state, role) if step.cue == "now" else _replaced(step, state, role)


def _ended_value(step: PlainStep, state: PlainState) -> Value | None:
    if (
        not _same_verb(step.verb, state.verb)
        or not step.limits <= state.terms
        or step.before is None
    ):
        return None
    values = [v for slot, v in state.values if slot == step.slot]
    return step.before if any(_equal(step.before, v) for v in values) else None


def _same_verb(one: str, other: str) -> bool:
    """Return True for one verb, or two that say the same."""
    return one == other or any({one, other} <= verbs for verbs in _verbs())


@cache
def _verbs() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(verbs.split()) for verbs in _KINDS["verbs"].values())


def _left_value(step: PlainStep, state: PlainState, role: str) -> Value | None:
    before, after = step.before, step.after
    if before is None or after is None or not step.theme <= state.terms:
        return None
    value = next((v for v in _held(state) if _equal(before, v)), None)
    if value is None or (role == "own" and value not in _its_own(state)):
        return None
    hired = state.verb == "employment" and "company" in kinds(after)
    alike = kinds(before) & kinds(after) or before.text.split()[-1] == after.text.split()[-1]
    if after.kind == "thing" and not (alike or hired):
        return None  # "from the train to the platform"
    named = (
        alike
        or hired
        or before.kind == after.kind == "name"
        or "number" in (before.kind, after.kind)
    )
    if step.cue == "leave" and not named:
        return None
    return value


def _replaced(step: PlainStep, state: PlainState, role: str) -> Value | None:
    """Return the only value of the kind of the one that "moved (the blog) to Y" names."""
    after = step.after
    if after is None or not step.theme <= state.terms:
        return None
    given = _its_own(state) if role == "own" else _used(state)
    shared = _KINDS["bonds"].get(state.verb, "").split()
    alike = [
        v for v in given
        if (both := kinds(v) & kinds(after)) and (not shared or both & {*shared})
    ]  # fmt: skip
    if not alike and step.theme:
        alike = [
            v for slot, v in state.values
            if v.kind == after.kind == "name" and slot in _AT and not v.terms & step.theme
        ]  # fmt: skip
    return alike[0] if len(alike) == 1 else None


def _held(state: PlainState) -> list[Value]:
    """Return the values, less where or with whom something else is: "has a son at Elm School"."""
    things = [v.text.casefold().split()[-1] for slot, v in state.values if slot == "obj"]
    bound = state.verb not in ("have", "own") or not things or things[0] not in _ACTING
    return [v for slot, v in state.values if (bound or slot == "obj") and slot in _SLOTS]


def _used(state: PlainState) -> list[Value]:
    """Return the values if the verb tells what somebody uses, does or belongs to."""
    return _held(state) if state.verb in _USES else []


def _its_own(state: PlainState) -> list[Value]:
    """Return what a thing is or comes from: "our bank is X", "our power comes from X"."""
    slots = _OF_THINGS.get(state.verb, ())
    return [value for slot, value in state.values if slot in slots]


def _now_value(step: PlainStep, state: PlainState, role: str) -> Value | None:
    """Return the only value of the kind of the one that "is now Y" names."""
    after = step.after
    if after is None or not step.limits <= state.terms:
        return None
    if role == "attribute" and after.kind not in ("number", "time", "date"):
        return None
    counted = after.kind in ("number", "time", "date") and not kinds(after)
    employed = state.verb == "employment" and step.slot in ("at", "for", "with")
    employed = employed and after.kind == "name"
    alike = []
    for slot, value in state.values:
        places = employed and value.kind == "name" and slot in ("at", "for", "with")
        fits = value.same_kind(after) if counted else bool(kinds(value) & kinds(after))
        fits = fits and (after.kind != "number" or slot in (step.slot, "obj", "for", "at"))
        if places or (fits and (slot in (step.slot, "obj") or step.verb == "be")):
            alike.append(value)
    if step.verb != "be" and not _same_verb(step.verb, state.verb):
        return None
    return alike[0] if len(alike) == 1 else None


def _equal(one: Value, other: Value) -> bool:
    if one.terms == other.terms:
        return True
    head = frozenset(lexemes(one.text.split()[-1]))
    return (
        bool(one.terms)
        and one.terms < other.terms
        and (one.kind == "name" or head <= frozenset(lexemes(other.text.split()[-1])))
    )


@cache
def kinds(value: Value) -> frozenset[str]:
    """Return the kinds that a value is of: by its name, its last word, and the nouns in it."""
    words = value.text.casefold().replace("’", "'").split()
    found = {f"name {kind}" for kind, names in _names() if _is_any(words, names)}
    found |= groups_of(value.text)
    found |= {
        kind
        for kind, nouns in _nouns()
        if words[-1] in nouns or words[-1].removesuffix("s") in nouns
    }
    if value.kind == "name":
        found |= {kind for kind, nouns in _nouns() if nouns.intersection(words)}
    if value.kind == "role":
        found.add("role")
    return frozenset(found)


def _is_any(words: Sequence[str], names: frozenset[str]) -> bool:
    text = " ".join(words)
    return text in names or words[-1] in names or words[0] in names


@cache
def _names() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple(
        (kind, frozenset(name.replace("_", " ") for name in names.split()))
        for kind, names in _KINDS["names"].items()
    )


@cache
def _nouns() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((kind, frozenset(names.split())) for kind, names in _KINDS["nouns"].items())


def _is_of_once(state: PlainState) -> bool:
    """Return True for what is planned or takes place once: "has an interview at Bosch"."""
    return any(value.text.casefold().split()[-1] in _EVENTS for _, value in state.values)


# Subjects


def _role(step: PlainStep, state: PlainState, *, same_speaker: bool) -> str | None:
    """Return how the subjects of two clauses are one: "same", "own" (thing) or "attribute"."""
    if not same_speaker and any(word in _FIRST or word in _MINE for word in state.subject):
        return None
    if not step.opening:
        return "same" if step.speaker and state.subject in (("i",), ("we",)) else None
    called = list(_subjects(step.opening))
    if state.subject in called:
        return "same"
    owner = _owner(state.subject)
    if owner:
        return "own" if any(each in called for each in owner) else None
    read = (_attribute(each, step, state) for each in called if "'s" not in each)
    return next(filter(None, read), None)


def _owner(subject: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return how the owner of "our bank", "Grace's bank" is called; () for other subjects."""
    if "'s" in subject:
        at = subject.index("'s")
        own = subject[:at]
        return (own,) if "'s" not in subject[at + 1 :] and not _MINE.keys() & {*own} else ()
    was = {"old", "former", "previous", "first", "second", "other"} & {*subject}
    return (("i",), ("we",)) if subject[0] in _MINE and not was else ()


def _attribute(called: tuple[str, ...], step: PlainStep, state: PlainState) -> str | None:
    """Return "same" for the words of one subject, "attribute" for "the fee at S" and "S"."""
    own, others = {*called} - _SMALL, {*state.subject} - _SMALL
    if own == others:
        return "same"
    more = own ^ others
    if not own or not others or not (own < others or others < own):
        return None
    further = frozenset(lexemes(" ".join(more)))
    if more <= _CALLED or (further and further <= step.theme):
        return "same"
    does = lexemes(state.verb)
    attribute = _ATTRIBUTES | {w for w in more if does and w.startswith(does[0])}
    return "attribute" if more & attribute else None


def _subjects(opening: Sequence[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield how the subject of a cue may be called: its words, with an opening at most before."""
    for start in range(len(opening)):
        words = tuple(word for word, _ in opening[start:])
        is_phrase = not any(w in _STOPS or tag in _FINITE for w, tag in opening[start:])
        is_phrase = is_phrase and opening[start][1] not in ("IN", "TO", "CC", "POS", ",")
        if is_phrase and words[0] not in _DETERMINERS and _opens(opening[:start]):
            yield words


def _opens(before: Sequence[tuple[str, str]]) -> bool:
    """Return True for words before a subject that are no part of it: "in May the"."""
    rest = list(before)
    while rest and rest[-1][0] in _DETERMINERS:
        rest.pop()
    if not rest or rest[-1][0] in _STOPS:
        return True
    held = any(tag in _FINITE for _, tag in rest)
    timed = rest[-1][0] in _CHANGES["time_words"]
    opens = rest[0][1] in _OPENS or (timed and rest[0][1] in ("JJ", "DT", "NN"))
    return not held and opens and rest[-1][1] in _ENDS_OPENING


def _without_article(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[1:] if words and words[0] in _DETERMINERS else words)


def frames(
    clauses: Sequence[tuple[Sentence, bool]], names: Mapping[str, str], speaker: str | None
) -> tuple[tuple[PlainState, ...], tuple[PlainStep, ...]]:
    """Return the states and steps of clauses, each given with True if it holds for a while only.

    One that casts doubt on what it says has none; one that adds to what was has no steps.
    """
    states: list[PlainState] = []
    steps: list[PlainStep] = []
    for clause, is_passing in clauses:
        if not is_plain(clause.words):
            continue
        reader = PlainReader(clause, names, speaker)
        state = reader.state()
        states += [state] if state is not None else []
        if not (is_passing or reader.is_passing or reader.adds_here):
            steps += reader.steps()
    return tuple(states), tuple(steps)


def is_plain(words: Sequence[Word]) -> bool:
    """Return True for a sentence without a word that casts doubt on it."""
    return not any(
        word.lemma in _DOUBTS
        or word.lower in _DOUBTS
        or (word.lemma in ("plan", "ask") and word.tag.startswith("VB"))
        for word in words
    )
