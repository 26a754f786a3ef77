"""Read from the grammar of a sentence what it says is so, and what it says has changed.

A state claim gives a subject one value ("Alice lives in Berlin"). A change claim says that such a
value ended or was replaced ("Alice moved to Paris", "no longer uses React"). A question, a wish, a
plan, a condition, a report of what somebody else says, and what holds for a while only make none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word, has_clause, parse
from hindsight_integrations.reflect.changes.certainty import (
    CertaintyReader,
    bare_sentence,
    is_unsure,
)
from hindsight_integrations.reflect.changes.claim_model import (
    ChangeClaim,
    Claims,
    ClauseState,
    StateClaim,
    Value,
    family,
    groups_of,
    is_time,
    joined,
    timeless,
)
from hindsight_integrations.reflect.changes.clause_frames import frames
from hindsight_integrations.reflect.changes.clause_splitting import is_past, plain_clauses
from hindsight_integrations.reflect.changes.endings import EndingReader
from hindsight_integrations.reflect.changes.phrases import (
    SUBJECTS,
    is_alike,
    plain_value,
    state_of,
)

_TABLE = table("changes")

_WORDS = word_sets("changes")
_SINGLE = frozenset(_TABLE["single"]["verbs"].split())
_SLOTS = frozenset(_TABLE["single"]["slots"].split())
_POSTS = frozenset(lexemes(_TABLE["posts"]))

_WORD = re.compile(r"(?:[^\W\d_]|['’-])*")
_ENTRY = re.compile(r"^([A-Z][\w ]{1,40}):\s+(\S.*?)[.\s]*$")
_ARROW = re.compile(r"\s*(?:->|=>|→|⇒)\s*")
_PARTS = re.compile(r";\s+")
_CHAT = re.compile(_TABLE["chat"]["marks"], re.VERBOSE | re.IGNORECASE)
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
_PARTING = _WORDS["turning"] | _WORDS["parting"] | _WORDS["selling"] | _WORDS["resigning"]
_LASTING = frozenset({"residence", "employment", "study"})
_BESIDE = {
    ("residence", "in"): ("with", "on"),
    ("be", "at"): ("in",),
    ("be", "with"): ("in",),
    ("employment", "at"): ("in",),
    ("employment", "for"): ("in",),
}
"""Prepositions of what is said beside a place, by verb and preposition: "is with X in Y"."""
_REPLACED = frozenset({"use", "drive"})
"""Verbs whose object "now" replaces, though a subject may have several."""
_THIRD = frozenset({"he", "she", "it", "they"})


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
    parts = _PARTS.split(_CHAT.sub("", _unlabelled(line) if line else bare))
    read = [_Reader(parse(part), names, speaker) for part in parts]
    sure = not is_unsure(bare) and all(reader.is_sure for reader in read)
    claims = [one for reader in read for one in _by_clause(reader, sure=sure)]
    clauses = [(reader.sentence, reader.is_passing) for reader in read] if sure else []
    clause_states, clause_changes = frames(clauses, names, speaker)
    return replace(joined(claims), clause_states=clause_states, clause_changes=clause_changes)


def _by_clause(reader: _Reader, *, sure: bool) -> Iterator[Claims]:
    """Yield the claims of a sentence, and those of its clauses read alone.

    What the sentence doubts, limits in time or adds to something holds of its clauses too.
    """
    claims = reader.claims(sure=sure)
    yield claims
    names = [*reader.names, *reader.names.values()]
    texts = plain_clauses(reader.sentence.text, names) if sure else ()
    beside = [parse(text) for text in texts[1:] if not is_past(parse(text))]
    for whole in [parse(texts[0]), *beside] if len(texts) > 1 else [reader.sentence]:
        read = _Reader(whole, reader.names, reader.speaker)
        cues = EndingReader(whole, reader.names, reader.speaker)
        if read.adds or read.is_passing or cues.is_passing:
            return
    for text in texts:
        clause = _Reader(parse(text), reader.names, reader.speaker)
        yield replace(clause.claims(sure=clause.is_sure), is_clause=claims.is_clause)


@dataclass(frozen=True, slots=True)
class _Ended:
    """An end that the next clause may complete: "X is no longer Y, it is Z".

    Attributes:
        change_claim: the change that it claims.
        slot: of the value that ends.
        told: the change is told without the next clause too.
    """

    change_claim: ChangeClaim
    slot: str
    told: bool


@dataclass(slots=True)
class _Reader(CertaintyReader):
    """Reads the claims of one parsed sentence."""

    state_claims: list[StateClaim] = field(default_factory=list)
    change_claims: list[ChangeClaim] = field(default_factory=list)
    pending: _Ended | None = None

    @property
    def _is_conditional(self) -> bool:
        """True for a general condition: "no longer takes the bus if it snows"."""
        return any(word.lower in _WORDS["conditions"] for word in self.sentence.words)

    def claims(self, *, sure: bool) -> Claims:
        verbs = [word for word in self.sentence.words if self._asserts(word)]
        for verb in verbs if sure else ():
            self._read(verb)
            self._end(verb)
        adds, passing = self.adds, self.is_passing
        change_claims = () if adds or passing else tuple(self.change_claims)
        begun = (
            state_claim for change_claim in change_claims if (state_claim := change_claim.begun())
        )
        state_claims = () if passing else (*self.state_claims, *begun)
        ended = tuple(
            change_claim.before
            for change_claim in self.change_claims
            if change_claim.before is not None
        )
        with_subject = any(self._subject_word(verb) for verb in verbs)
        is_clause = sure and with_subject
        cues = EndingReader(self.sentence, self.names, self.speaker)
        endings = cues.endings() if sure and not (cues.adds or cues.is_passing) else ()
        is_plain = is_clause and not endings and self._is_plain()
        follow_up_claims = cues.follow_up_claims() if sure and not adds else ()
        current = () if passing or adds or not sure else cues.current(follow_up_claims)
        return Claims(
            state_claims,
            change_claims,
            is_clause,
            is_plain,
            ended,
            tuple(endings),
            follow_up_claims,
            current,
        )

    def _is_plain(self) -> bool:
        words = self.sentence.words
        return not self.change_claims and not any(
            word.dep == "neg"
            or word.lower in _WORDS["unreal"]
            or (word.lemma in _NOT_PLAIN and word.tag.startswith("VB"))
            for word in words
        )

    def _asserts(self, word: Word) -> bool:
        """Return True for a finite verb of the main clause, or one coordinated with it."""
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

    # Clauses

    def _end(self, verb: Word) -> None:
        """Complete the end told by the previous clause with the value of this clause."""
        pending, self.pending = self.pending, None
        if pending is None:
            self.pending = self._opened(verb)
            return
        subject = self.sentence.child(verb, *SUBJECTS)
        goes_on = subject is None or subject.lower in _THIRD
        goes_on = goes_on or self.subject_key(subject) == pending.change_claim.subject
        values = self._values(verb)
        after = values.get(pending.slot)
        name = family(verb.lemma, self._verb(verb))
        is_so = verb.tag in ("VBZ", "VBP") and not self.sentence.children(verb, "neg", "aux")
        if not (goes_on and is_so and after is not None and name == pending.change_claim.verb):
            return
        before = pending.change_claim.before
        if before and before.terms != after.terms and before.kind == after.kind:
            if pending.told:
                self.change_claims.remove(pending.change_claim)
            self.change_claims.append(replace(pending.change_claim, after=after))

    def _opened(self, verb: Word) -> _Ended | None:
        """Return the end that a clause tells with "no longer" or "used to"."""
        did = self.sentence.child(verb, "xcomp")
        used = verb.lemma == "use" and verb.tag == "VBD" and did is not None and did.tag == "VB"
        if used and did is not None and not self.sentence.children(verb, "neg"):
            key = self.subject_key(self._subject_word(verb))
            values = self._values(did)
            slot = next(
                (s for s in sorted(values, key="obj".__ne__) if not is_time(values[s])), None
            )
            if key is None or slot is None:
                return None
            before = values[slot]
            change_claim = ChangeClaim(
                key, family(did.lemma, self._verb(did)), before, terms=before.terms
            )
            return _Ended(change_claim, slot, told=False)
        open_claim = next(
            (t for t in self.change_claims if t.before and not t.after and t.verb), None
        )
        if open_claim is None or not self.says_ended(verb):
            return None
        slots = (s for s, v in self._values(verb).items() if v == open_claim.before)
        slot = next(slots, None)
        return None if slot is None else _Ended(open_claim, slot, told=True)

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
        modal = any(word.tag == "MD" for word in helpers)
        negative = bool(self.sentence.children(verb, "neg"))
        wants = self.sentence.child(verb, "xcomp")
        progressive = verb.tag == "VBG" and verb.dep in _CLAUSES
        ended = self.says_ended(verb)
        if ended and not modal and not self._is_conditional:
            self._add_ended(verb, key)
        elif not negative and not modal:
            if not progressive:
                self._add_turns(verb, key, subject)
            if wants is None or verb.lemma == "be":
                self._add_current(verb, key)
            if verb.tag in ("VBZ", "VBP"):
                self._add_instead(verb, key)
        lasting = (
            not negative
            and not modal
            and (verb.tag in ("VBZ", "VBP") or progressive or self._is_present(helpers))
        )
        if not negative and not ended:
            values = self._values(verb)
            passive = self._is_passive(verb)
            name = family(verb.lemma, self._verb(verb))
            called = self._called(subject)
            inner = self._inner(verb)
            self.state_claims.append(StateClaim(key, name, values, lasting, passive, called, inner))

    def _is_present(self, helpers: list[Word]) -> bool:
        return any(word.tag in ("VBZ", "VBP") for word in helpers)

    def _add_ended(self, verb: Word, key: str) -> None:
        phase = self.sentence.child(verb, "xcomp")
        verb = phase if phase is not None and verb.lemma in ("want",) else verb
        state_claim = StateClaim(key, family(verb.lemma, self._verb(verb)), self._values(verb))
        beside = {"since", "because", *self.detached(verb)}
        values = {s: v for s, v in state_claim.values.items() if s not in beside}
        named = [s for s in sorted(values, key="obj".__ne__) if not is_time(values[s])]
        if (values and not named) or self.is_limited(verb):
            return  # "no longer runs in the morning" may run at another time
        if "obj" in named and len(named) > 1:
            if state_claim.verb != "be":
                return  # "no longer buys bread at X" may buy it elsewhere, or something else there
            whole = f"{values['obj'].text} {named[1]} {values[named[1]].text}"
            values["obj"] = Value(whole, values["obj"].terms, values["obj"].kind)
        before = values[named[0]] if named else None
        terms = frozenset[str]().union(*(value.terms for value in values.values()))
        after = self._opposed(verb) if before is not None else None
        if after is not None and is_time(after):  # "on Thursdays but on Sundays"
            before = next((value for value in values.values() if is_time(value)), before)
        terms = terms or frozenset(lexemes(verb.text))
        self.change_claims.append(ChangeClaim(key, state_claim.verb, before, after, terms=terms))

    def _opposed(self, verb: Word) -> Value | None:
        """Return the new value Y of "no longer drinks X but Y"."""
        things = self.sentence.children(verb, "dobj", "attr", "acomp")
        things += [
            at
            for prep in self.sentence.children(verb, "prep")
            for at in (prep, *self.sentence.children(prep, "pobj"))
        ]
        if things and any(word.lower == "but" for word in self.sentence.children(verb, "cc")):
            for other in self.sentence.children(verb, "conj"):
                if other.tag[:2] == things[0].tag[:2] and other.tag[:2] in ("NN", "JJ"):
                    return self._value(other)
        for thing in things:
            if any(word.lower == "but" for word in self.sentence.children(thing, "cc")):
                for other in self.sentence.children(thing, "conj"):
                    inside = self.sentence.child(other, "pobj") if other.tag == "IN" else other
                    if inside is not None and inside.tag[:2] == thing.tag[:2] != "IN":
                        return self._value(inside)
                    if inside is not None and other.tag == thing.tag == "IN":
                        return self._value(inside) if other.lower == thing.lower else None
        return None

    def _add_current(self, verb: Word, key: str) -> None:
        """Add the change that "now" tells: "is now in Bremen"."""
        if not any(word.lower == "now" for word in self.sentence.children(verb, "advmod")):
            lowered = self.sentence.text.casefold().rstrip(". !")
            if not lowered.endswith(" now") or verb.dep != "ROOT":
                return
        values = self._values(verb)
        name = family(verb.lemma, self._verb(verb))
        passive = self._is_passive(verb)
        single = passive or name in _SINGLE | _LASTING | _REPLACED
        for slot, value in values.items():
            if slot in _SLOTS and (single or (slot != "obj" and value.kind == "name")):
                if name == "be" and key.startswith(("@", "i|", "we|")) and self._names_place(value):
                    continue
                beside = {slot, *self.detached(verb), *_BESIDE.get((name, slot), ())}
                others = timeless(v for s, v in values.items() if s not in beside)
                self.change_claims.append(
                    ChangeClaim(key, name, after=value, slot=slot, terms=others)
                )

    def _add_instead(self, verb: Word, key: str) -> None:
        """Add the change that "instead of" tells: "now uses Y instead of X"."""
        words = self.sentence.words
        after = self._values(verb).get("obj")
        if after is None or not any(word.lower == "now" for word in words):
            return
        for instead, of in pairwise(words):
            if (instead.lower, of.lower) == ("instead", "of"):
                host = self.sentence.head(of)
                host = self.sentence.head(host) if host.lower == "instead" else host
                ended = self.sentence.child(of, "pobj")
                before = self._value(ended) if ended is not None else None
                if before is not None and verb in (host, self.sentence.head(host)):
                    name = family(verb.lemma, self._verb(verb))
                    self.change_claims.append(
                        ChangeClaim(key, name, before, after, terms=before.terms)
                    )

    def _add_turns(self, verb: Word, key: str, subject: Word | None) -> None:
        name, values = self._verb(verb), self._values(verb)
        passive = self._is_passive(verb)
        moved = self.sentence.child(verb, "dobj", "nsubjpass")
        about = self.phrase_key(moved) if moved is not None else None
        owned = _WORDS["replacing"] | _WORDS["selling"] | _WORDS["dropping"]
        if moved is not None and about is None and name not in owned:
            return
        graded = name in _WORDS["grading"] and "from" in values
        if graded or name in _WORDS["moving"] | _WORDS["rescheduling"] | _WORDS["renaming"]:
            self._add_move(verb, key, about, values)
        elif name in _PARTING:
            self._add_parted(verb, name, key, values)
        elif name in _WORDS["replacing"]:
            self._add_replaced(key, values, self._value(moved) if moved and passive else None)
        elif name in _WORDS["becoming"] and (passive or name == "become"):
            self._add_role(key, values)
        elif passive and _is_marriage(verb, self.sentence.children(verb, "auxpass")):
            self.change_claims.append(
                ChangeClaim(key, "be", after=plain_value(verb.lower), slot="obj")
            )
        elif (stopped := self._activity(verb, name)) is not None:
            self._add_stopped(verb, stopped, key, values)
        elif name in _WORDS["dropping"] and not passive:
            self._add_dropped(verb, name, key, values)

    def _add_stopped(
        self, verb: Word, stopped: Word, key: str, values: Mapping[str, Value]
    ) -> None:
        """Add the change of an activity that stopped: "stopped eating meat"."""
        state_claim = StateClaim(
            key, family(stopped.lemma, self._verb(stopped)), self._values(stopped)
        )
        if (thing := self._thing_of(verb, stopped)) is not None:
            state_claim = replace(state_claim, values={"obj": thing})
        elif not state_claim.values:  # "quit swimming at X": a model hangs X on the first verb
            at = {s: v for s, v in values.items() if s != "obj" and v.kind == "name"}
            state_claim = replace(state_claim, values=at)
        named = (state_claim.values[s] for s in sorted(state_claim.values, key="obj".__ne__))
        before = next((value for value in named if not is_time(value)), None)
        terms = state_claim.terms or frozenset(lexemes(stopped.text))
        self.change_claims.append(
            ChangeClaim(key, state_claim.verb, before or self._value(stopped), terms=terms)
        )

    def _activity(self, verb: Word, name: str) -> Word | None:
        """Return the verb of an activity that stops: "smoking" of "gave up smoking"."""
        if name not in _WORDS["stopping"]:
            return None
        thing = self.sentence.child(verb, "dobj")
        inside = self.sentence.children(thing, "compound", "amod") if thing is not None else []
        if inside and inside[0].tag == "VBG" and inside[0].index <= verb.index + 2:
            return inside[0]  # a model's misreading of "stopped smoking cigars"
        return next(
            (
                word
                for word in self.sentence.children(verb, "xcomp", "dobj", "pcomp")
                if word.lower.endswith("ing")
                and word.tag in ("VBG", "NN")
                and (self._values(word) or self._ends_phrase(word))
            ),
            None,
        )

    def _thing_of(self, verb: Word, activity: Word) -> Value | None:
        """Return the object of an activity that the parser attaches to another object."""
        thing = self.sentence.child(verb, "dobj")
        if thing is None or self.sentence.head(activity) != thing:
            return None
        start = self.sentence.words[activity.index + 1].start
        return plain_value(self.sentence.text[start : thing.start + len(thing.text)])

    def _ends_phrase(self, word: Word) -> bool:
        """Return True if no possible object follows a word."""
        rest = self.sentence.words[word.index + 1 :]
        return not rest or rest[0].tag in ("IN", "RB", "CC", ".", ",", "RP")

    def _add_move(
        self, verb: Word, key: str, about: str | None, values: Mapping[str, Value]
    ) -> None:
        after, before = values.get("to"), values.get("from")
        kind = before is None and after and (" " in after.text or groups_of(after.text))
        if after is None or (after.kind == "thing" and not (kind or is_alike(before, after))):
            return
        if about is None and verb.tag in ("VBZ", "VBP", "VBG") and after.kind == "name":
            return  # "moves to Paris in June" is a plan
        others = frozenset().union(
            *(value.terms for slot, value in values.items() if slot in ("for", "at", "on")
              and slot not in self.detached(verb) and value.kind not in ("date", "time"))
        )  # fmt: skip
        proper = after.kind == "name" and not after.text.split()[-1].islower()
        relocates = about is None and verb.lemma in _WORDS["relocating"] and proper
        if verb.lemma == "move" and before is None and self._is_organisation(after):
            relocates = False
        self.change_claims.append(
            ChangeClaim(key, None, before, after, about=about, terms=others, relocates=relocates)
        )

    def _add_parted(self, verb: Word, name: str, key: str, values: Mapping[str, Value]) -> None:
        """Add the change of a relation that ended: "broke up with X", "sold his X"."""
        thing = self.sentence.child(verb, "dobj")
        before, after = values.get("with") or values.get("from"), values.get("to")
        role = values.get("as")
        if name in _WORDS["resigning"]:
            if role is not None and role.kind == "role":
                self.change_claims.append(ChangeClaim(key, "be", role, terms=role.terms))
                return
            if name not in _WORDS["parting"]:
                return
        if name in _WORDS["turning"]:
            if before and after and groups_of(before.text) & groups_of(after.text):
                self.change_claims.append(ChangeClaim(key, None, before, after))
        elif name in _WORDS["selling"]:
            owner = self.sentence.child(thing, "poss") if thing is not None else None
            if owner is not None and owner.tag == "PRP$" and "obj" in values:
                self.change_claims.append(ChangeClaim(key, name, values["obj"]))
        elif before is not None and before.kind == "name" and thing is None:
            self.change_claims.append(ChangeClaim(key, name, before))

    def _add_replaced(self, key: str, values: Mapping[str, Value], undergone: Value | None) -> None:
        before = undergone or values.get("obj")
        after = values.get("by") if undergone else None
        after = after or values.get("with") or values.get("for")
        if before is not None and after is not None:
            by = "we|" if undergone else key
            self.change_claims.append(ChangeClaim(by, None, before, after, about="*"))

    def _add_role(self, key: str, values: Mapping[str, Value]) -> None:
        """Add the change of a role or state: "became a manager", "became vegan"."""
        roles = (value for value in values.values() if value.kind == "role")
        role = next(roles, None) or state_of(values.get("obj"))
        if role is not None:
            self.change_claims.append(ChangeClaim(key, "be", after=role, slot="obj"))

    def _add_dropped(self, verb: Word, name: str, key: str, values: Mapping[str, Value]) -> None:
        before = values.get("obj") or (values.get("of") if name == "get_rid" else None)
        before = before or (values.get("with") if name == "do_away" else None)
        if before is not None and before.terms <= _POSTS and name in ("quit", "cancel"):
            before = next((values[s] for s in ("at", "with", "to") if s in values), before)
            name = name if name == "quit" else "unsubscribe"
        if before is None or before.kind in ("date", "time"):
            return
        after = values.get("for") or self._for_whom(verb)
        favour = self.sentence.text.casefold()
        if after is None and ("in favour of" in favour or "in favor of" in favour):
            after = values.get("of")
        if after is not None and (after.kind == "thing" and not after.same_kind(before)):
            after = None
        at = values.get("at")
        if name == "leave" and after is not None and at and at.text not in ("end", "start"):
            return  # "left Leeds at noon for Everton" is a journey
        if name in _WORDS["leaving"] and after is None and self._is_passing(verb, values):
            return
        self.change_claims.append(ChangeClaim(key, name, before, after))

    def _is_passing(self, verb: Word, values: Mapping[str, Value]) -> bool:
        """Return True if "left X" may mean a departure: "left X at five", "left X early"."""
        if verb.lemma != "leave":
            return False
        adverbs = self.sentence.children(verb, "advmod", "acomp", "oprd", "npadvmod", "dative")
        return (
            any(slot != "obj" and not (slot == "in" and is_time(v)) for slot, v in values.items())
            or any(
                word.lower not in _WORDS["at_last"] and word.lemma not in ("month", "year")
                for word in adverbs
            )
            or any(
                word.tag.startswith("VB") and word != verb and word.dep != "aux"
                for word in self.sentence.words
            )
        )


def _is_marriage(verb: Word, helpers: Sequence[Word]) -> bool:
    """Return True for a state with "got": "got married", "got divorced"."""
    return bool(groups_of(verb.lower)) and any(word.lemma == "get" for word in helpers)


# Lines of a form, which claim something without a verb


def _form_line(text: str) -> tuple[str, str] | None:
    """Return the field and the value of a line "field: value"; None for others."""
    entry = _ENTRY.match(text) or (_ENTRY.match(text.capitalize()) if _ARROW.search(text) else None)
    return (entry[1], entry[2]) if entry else None


def _form_claims(label: str, text: str, speaker: str | None) -> Claims:
    """Return what a line of a form claims: "Deadline: 5 May", "Server: Debian 11 -> Debian 12"."""
    subject = label.casefold()
    values = [plain_value(part) for part in _ARROW.split(text) if part]
    if len(values) != 2:
        value = plain_value(text)
        words, called = tuple(subject.split()), plain_value(label)
        given = (("obj", value),)
        state = ClauseState(
            words, speaker, "be", given, frozenset(lexemes(f"{label} {text}")), called, False, True
        )
        return Claims((StateClaim(subject, "be", {"obj": value}),), clause_states=(state,))
    before, after = values
    return Claims(
        (StateClaim(subject, "be", {"obj": after}),), (ChangeClaim(subject, None, before, after),)
    )


def _unlabelled(line: tuple[str, str]) -> str:
    """Return a line without its label, which is the subject: "Docs site: switched to Y"."""
    label, text = line
    first = next(iter(parse(text).words), None)
    told = first is not None and first.text.islower() and first.tag in ("VBD", "VBN")
    return f"{label} {text}" if told else text
