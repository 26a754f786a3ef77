"""Read from the grammar of a sentence what it says of a person: a fact, a preference or a matter.

Only the main clauses of plain statements are read, and only verbs that tables name. A question, a
condition, a report of what somebody else says, a story and a reaction ("I love it") tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import gender_of, is_given_name
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.nlp.word_classes import HEDGES, PERSONS, UNSTATED
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.attribution import speaks_another
from hindsight_integrations.reflect.changes.claim_model import Value, family, groups_of, timeless
from hindsight_integrations.reflect.changes.doubts import is_lasting_change
from hindsight_integrations.reflect.changes.phrases import PhraseReader, plain_value

_WORDS = word_sets("profile")
_CHANGES = word_sets("changes")
_QUOTED = re.compile(r'["“”„«»]')
_NAME = r"(?P<name>[^\W\d_][\w'’-]{0,40}\w(?: [A-Z][\w'’-]{0,40}\w)?)"
_RELATIVES = "|".join(sorted(_WORDS["relatives"], key=len, reverse=True))
_RELATIVE_BEFORE = re.compile(
    rf"\b(?:[Mm]y|[A-Z][\w-]{{0,40}}['’]s) (?:(?:big|little|older|younger|elder|twin|late) )?"
    rf"(?P<relation>{_RELATIVES}) (?=[A-Z]){_NAME}(?!['’]?\w)"
)
_RELATIVE_AFTER = re.compile(
    rf"\A(?=[A-Z]){_NAME}, my (?:(?:big|little|older|younger|elder|twin) )?"
    rf"(?P<relation>{_RELATIVES}), (?!and\b|or\b)"
)
_IS_RELATIVE = re.compile(
    rf"\A(?=[A-Z]){_NAME} is (?:my|our|[A-Z][\w-]{{0,40}}['’]s) "
    rf"(?:(?:big|little|older|younger|elder|twin) )?(?P<relation>{_RELATIVES})(?=[.,;!]|\Z)"
)
_COMMANDED = re.compile(
    r"\A\W*(?:imagine|pretend|suppose|assume)\b|\b(?:ignore|say|write|claim) (?:that|as|all)\b",
    re.IGNORECASE,
)
_ROLE = re.compile(r"\A\W*as (?:an?|if)\b|\bnot\W*\Z", re.IGNORECASE)
"""A role that is played, and "not!" after a joke."""
_PERIOD = re.compile(
    r"\b(?:this|next|last) (?:week|month|weekend|summer|winter|spring|autumn|fall|term|semester)\b"
    r"|\bfor (?:now|the|a|an|two|three|\d+)\b(?! living)|\bat the moment\b",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"\b(?:episodes?|series|seasons? (?:finale|\d+)|sequel|novel|soap opera|plot twist|spoilers?"
    r"|in the (?:film|movie|book|game|play|show|dream|documentary|story|musical|opera|sketch))\b"
    r"|\bin (?:an?|my|his|her|another|the) ?(?:last|past|previous|former|other|next)? "
    r"(?:life|lifetime)\b",
    re.IGNORECASE,
)
"""A story, or a life that is not led: "in my last life"."""
_AGED = re.compile(r"\byears? old\b|\byear-old\b", re.IGNORECASE)
_WE = frozenset({"residence", "have", "marry", "own"})
_FAVOURITE = ("favourite ", "favorite ", "preferred ")
_PLACES = frozenset("in at near since".split())
_TRAVELLING = (
    _WORDS["travelling"] | _CHANGES["relocating"] | {"go", "come", "fly", "travel", "return"}
)
_NO_PERSONS = frozenset("GPE LOC FAC ORG NORP LANGUAGE DATE TIME EVENT".split())
_NO_VALUE = Value("", frozenset(), "")
_DEFINITE = frozenset("the this that these those your his her their its".split())
_AT_WORK = ("obj", "at", "for")
_CALLING = frozenset({"call", "name"})


RELATION = "relation"
"""Slot of whose relative somebody is."""


class ProfileSection(StrEnum):
    """Part of a profile that a statement belongs to."""

    FACT = "fact"
    """A lasting fact: home, work, family, languages, health."""
    PREFERENCE = "preference"
    """A thing that the person likes or dislikes."""
    CURRENT = "current"
    """A matter of the weeks around the time it was said: a plan, a project, a state."""


class Reading(NamedTuple):
    """A claim of a clause about a person.

    Attributes:
        section: where it belongs.
        slot: names what a person has one value of at a time; equal for statements of which the
            later one replaces the earlier.
        terms: lexemes of the value.
        holds: False if it says that this is not so.
    """

    section: ProfileSection
    slot: str
    terms: frozenset[str]
    holds: bool = True


@dataclass(slots=True)
class ProfileReader(PhraseReader):
    """Reads one parsed sentence as claims about one person.

    Attributes:
        keys: keys of the person, as `subject_key` makes them.
    """

    keys: Set[str]

    def readings(self) -> list[Reading]:
        """Return the claims of the main clauses about the person; none if in doubt."""
        if self._is_doubtful():
            return []
        found = [self._read(verb) for verb in self.sentence.words if self._is_main(verb)]
        found.append(self._relation())
        return [reading for reading in found if reading is not None]

    def _relation(self) -> Reading | None:
        """Read whose relative somebody is: "my sister Ruth", "Rosie, my granddaughter, ..."."""
        text = self.sentence.text
        patterns = (_RELATIVE_BEFORE, _RELATIVE_AFTER, _IS_RELATIVE)
        for match in chain.from_iterable(pattern.finditer(text) for pattern in patterns):
            called = entity_norm(match["name"])
            key = f"@{called}"  # of whom a surname is known, a relative may be a namesake
            known = key in self.keys and not any(k.startswith(f"{key} ") for k in self.keys)
            before = text[: match.start()].casefold().split()
            if known and not {"not", "no", "if", "than", "like"} & {*before[-2:]}:
                terms = frozenset(lexemes(f"{match['relation']} {called}"))
                return Reading(ProfileSection.FACT, RELATION, terms)
        return None

    def is_meant_by(self, pronoun: str) -> bool:
        """Return True if "she" or "he" in the next sentence can only mean the person.

        The person is the subject, or is named where nobody else is: "Saw Priya at the market."
        Everybody else whom the sentence has, by name or by a noun ("her mother", "the mayor"),
        may be meant, unless the name is never given to such a person.
        """
        named = [word for word in self.sentence.words if word.tag in ("NNP", "NNPS")]
        heads = [self.subject_of(word) for word in self.sentence.words if self._is_main(word)]
        keys = {self.subject_key(word) or "" for word in heads}
        subjects = [word for word in heads if word is not None]
        if len(keys) != 1 or not keys <= self.keys:
            subjects = [word for word in named if self.subject_key(word) in self.keys]
            if not subjects or not all(key.startswith("i|") for key in keys - {""}):
                return False
        gender = "woman" if pronoun.casefold() in ("she", "her") else "man"
        if any(self._is_of_another(word, gender) for word in named if word in subjects):
            return False
        others = (word for word in self.sentence.words if not self._is_within(word, subjects))
        return not any(self._is_rival(word, gender) for word in others)

    def _is_of_another(self, word: Word, gender: str) -> bool:
        """Return True for a given name that excludes a gender."""
        return gender_of(entity_norm(word.text)) not in ("", gender)

    def _is_rival(self, word: Word, gender: str) -> bool:
        """Return True for a word that may name another person of the gender."""
        if word.tag in ("NNP", "NNPS"):
            return not (self._is_place(word) or self._is_of_another(word, gender))
        if word.lower in ("him", "her", "someone", "somebody"):
            return word.tag != "PRP$"
        if word.tag != "NN":
            return False
        person = word.lemma in PERSONS or plain_value(word.lower).kind == "role"
        return person and not self._is_what_one_is(word)

    def _is_what_one_is(self, word: Word) -> bool:
        """Return True for a role: "is a nurse", "works as a nurse"."""
        while word.dep in ("compound", "conj", "nmod"):
            word = word.head
        head = word.head
        return (word.dep == "pobj" and head.lower == "as") or word.dep in ("attr", "oprd", "acomp")

    def _is_within(self, word: Word, heads: Sequence[Word | None]) -> bool:
        while word.dep in ("compound", "poss", "flat"):
            word = word.head
        return word in heads

    def _is_place(self, word: Word) -> bool:
        """Return True for the name of a place, group, language or time: "in Bonn"."""
        labels, personal = {word.label}, is_given_name(word.text.casefold())
        while word.dep in ("compound", "conj", "flat", "nmod"):
            word = word.head
            labels.add(word.label)
        way = word.head
        if word.dep == "npadvmod" or (word.dep == "pobj" and way.lower in _PLACES):
            return True
        travels = way.lower in ("to", "from") and way.head.lemma in _TRAVELLING
        return not personal and (travels or not labels.isdisjoint(_NO_PERSONS))

    def _is_doubtful(self) -> bool:
        text = self.sentence.text
        doubts = HEDGES | _CHANGES["conditions"] | UNSTATED | _WORDS["jests"]
        if any(marks.search(text) for marks in (_QUOTED, _COMMANDED, _ROLE, _FICTION)):
            return True
        if speaks_another(self.sentence):
            return True
        return any(word.lower in doubts and word.text != "May" for word in self.sentence.words)

    def _is_main(self, word: Word) -> bool:
        """Return True for the root, a finite verb coordinated with it, or one before a comma."""
        return word.tag.startswith("VB") and self.is_main(word)

    def _read(self, verb: Word) -> Reading | None:
        subject = self.subject_of(verb)
        key = self.subject_key(subject)
        if subject is None or key is None:
            return None
        whose, _, base = key.partition("/")
        if whose in self.keys and base:
            return self._attribute(verb, base)
        name = family(verb.lemma, self._verb(verb))
        together = whose.startswith("we|") and f"i|{whose[3:]}" in self.keys and name in _WE
        if base or not (whose in self.keys or together):
            return None
        return self._clause(verb, name)

    def _clause(self, verb: Word, name: str) -> Reading | None:
        helpers = verb.children("aux", "auxpass")
        values = self._values(verb)
        if any(word.tag == "MD" for word in helpers):
            return self._endured(verb, helpers, values) or self._announced(verb, helpers, values)
        if verb.lemma == "have" and verb.tag != "VBD" and self._is_appointment(verb):
            slot = f"has {sorted(timeless(values.values()))}"
            return Reading(ProfileSection.CURRENT, slot, timeless(values.values()))
        passing = self._is_passing()
        if verb.tag == "VBG":
            return self._matter(verb, name, values)
        if verb.lemma == "be" and verb.tag != "VBD":
            return None if passing else self._state(verb, values)
        if verb.tag in ("VBD", "VBN"):
            return self._event(verb, name, helpers, values)
        denied = bool(verb.children("neg")) or self.says_ended(verb)
        preferred = self._preference(verb, values)
        if preferred is not None or passing:
            return preferred
        return self._habit(verb, name, values, denied=denied)

    # Facts

    def _habit(
        self, verb: Word, name: str, values: dict[str, Value], *, denied: bool
    ) -> Reading | None:
        terms = timeless(values.values())
        thing = verb.child("dobj")
        begins = values.get("from", _NO_VALUE).kind == "date"
        if begins or (thing is not None and self._reacts(thing.subtree())):
            return None
        if denied and verb.lemma in _WORDS["abstaining"]:
            bare = self._verb(verb) == verb.lemma and not self._led_by(thing)
            bare = bare and verb.dep != "conj" and not verb.children("conj")
            if not bare or (thing is None and values):
                return None
            return Reading(ProfileSection.FACT, f"{name} {sorted(terms)}", terms)
        if verb.lemma == "have":
            slot = f"has {self._held(thing)}" if thing is not None and "in" not in values else ""
            return Reading(ProfileSection.FACT, slot, terms, not denied) if slot[4:] else None
        if verb.lemma == "come" and values.get("from", _NO_VALUE).kind == "name":
            return Reading(ProfileSection.FACT, "origin", terms, not denied)
        at_home = values.get("from", _NO_VALUE).text == "home"
        if name == "employment" and thing is None and at_home:
            return Reading(ProfileSection.FACT, "works from home", terms, not denied)
        if name == "residence" and thing is None and self._is_household(verb, values):
            household = terms or frozenset({"alone"})
            return Reading(ProfileSection.FACT, "household", household, not denied)
        if not self._is_habit(verb, name, thing, values):
            if not self._recurs(verb):
                return None
            name = verb.lemma  # what one does at work on Mondays is not where one works
        single = name in ("residence", "employment", "study")
        slot = name if single else f"{name} {sorted(terms)}"
        return Reading(ProfileSection.FACT, slot, terms, not denied)

    def _is_household(self, verb: Word, values: Mapping[str, Value]) -> bool:
        """Return True for whom somebody lives with: "lives alone", "with her mother"."""
        alone = any(word.lower == "alone" for word in verb.children("advmod", "acomp"))
        company = {*values} == {"with"} and values["with"].text.split()[-1].casefold() in PERSONS
        return (alone and not values) or company

    def _held(self, thing: Word) -> str:
        """Return the possession among the objects of "have"; "" if there is none."""
        things = [thing, *thing.children("conj")]
        if any(word.children("relcl") for word in things):
            return ""
        return min({word.lemma for word in things} & _WORDS["possessions"], default="")

    def _is_habit(
        self, verb: Word, name: str, thing: Word | None, values: Mapping[str, Value]
    ) -> bool:
        """Return True if a present-tense verb with these complements tells a habit."""
        if name == "residence":
            return thing is None and _is_at(values, ("in", "near", "at", "outside"), "homes")
        if name == "employment":
            role = values.get("as", _NO_VALUE).kind == "role" or self._is_trade(verb)
            return thing is None and (role or _is_at(values, ("at", "for", "in"), "workplaces"))
        if thing is None:
            travels = verb.lemma in _WORDS["travelling"] and {"to", "by"} & {*values}
            return bool(travels) or (name == "study" and _is_at(values, ("at",), "workplaces"))
        led, lemma = self._led_by(thing), verb.lemma
        introduced = led in ("a", "an") or (not led and thing.tag in ("NNS", "NNP", "NNPS"))
        return (
            (lemma in _WORDS["subjects"] and not led and thing.tag in ("NN", "NNS"))
            or (lemma in _WORDS["playing"] and self._is_played(thing, led))
            or (lemma in _WORDS["speaking"] and not led and thing.text[:1].isupper())
            or (lemma in _WORDS["owning"] and introduced)
            or (lemma in _WORDS["running"] and thing.lemma in _WORDS["workplaces"])
        )

    def _is_trade(self, verb: Word) -> bool:
        """Return True for any trade that "work as" names: "as a freelance illustrator"."""
        ways = [way for way in verb.children("prep") if way.lower == "as"]
        trades = [way.child("pobj") for way in ways]
        return any(
            trade is not None
            and trade.tag == "NN"
            and self._led_by(trade) in ("a", "an")
            and trade.lemma not in _WORDS["no_trades"]
            for trade in trades
        )

    def _recurs(self, verb: Word) -> bool:
        """Return True for a deed that comes again at a time: "every morning", "on Mondays"."""
        subject = self.subject_of(verb)
        if subject is None or verb.lemma in _WORDS["no_habits"]:
            return False
        for word in self.sentence.words:
            over = word.head
            on = word.dep == "pobj" and over.lower == "on"
            on = on and over.head in (verb, verb.child("dobj"))
            several = word.lower.endswith("s") and word.lower[:-1] in _WORDS["weekdays"]
            if on and several:
                return True
            timed = word.lower.removesuffix("s") in _WORDS["weekdays"] | _WORDS["recurring"]
            if timed and self._led_by(word) == "every" and word.dep == "npadvmod":
                return over in (verb, verb.child("advcl"))
        return False

    def _is_played(self, thing: Word, led: str) -> bool:
        """Return True for a game or instrument: "chess", "the cello"; not "the fool"."""
        if thing.children("conj"):
            return False
        instrument = {thing.lemma, thing.lower} & _WORDS["instruments"]
        acted = thing.label == "PERSON" or bool(thing.children("appos"))
        bare = not led and thing.is_noun and thing.lower not in _WORDS["roles_played"]
        bare = bare and not acted  # "I play Thistle, a halfling rogue"
        return (bool(instrument) and led == "the") or bare

    def _led_by(self, thing: Word | None) -> str:
        """Return the article, possessive or numeral of a phrase; "" if it has none."""
        led = thing and thing.child("det", "poss", "nummod")
        return led.lower if led else ""

    def _state(self, verb: Word, values: dict[str, Value]) -> Reading | None:
        reading = None if self._is_undecided(verb) else self._stated(verb, values)
        denied = bool(verb.children("neg")) or self.says_ended(verb)
        return reading._replace(holds=False) if reading and denied else reading

    def _stated(self, verb: Word, values: dict[str, Value]) -> Reading | None:
        terms = timeless(values.values())
        words = [word for word in self.sentence.words if self._depends(word, verb)]
        lemmas = {part for word in words for part in (word.lemma, word.lower)}
        heads = {word.lemma for word in verb.children("attr", "acomp")}
        if heads & _WORDS["inclined"] and {"of", "on", "to"} & {*values}:
            nothing = any(self._reacts(word.subtree()) for word in words)
            told = Reading(ProfileSection.PREFERENCE, f"likes {sorted(terms)}", terms)
            return None if nothing else told
        if lemmas & _WORDS["passing"] or ("on" in values and lemmas & _WORDS["leaves"]):
            return Reading(ProfileSection.CURRENT, f"is {sorted(terms)}", terms)
        complement = values.get("obj")
        vague = any(v.kind == "thing" for s, v in values.items() if s not in _AT_WORK)
        if complement is not None and complement.kind == "role":
            return None if vague else Reading(ProfileSection.FACT, "role", terms)
        if _AGED.search(self.sentence.text):
            return None if "in" in values else Reading(ProfileSection.FACT, "age", terms)
        if vague and lemmas & _WORDS["bonds"]:
            return None
        national = any(word.label == "NORP" for word in words)
        if (lemmas & _WORDS["conditions"] or national) and self._is_known_intolerance(
            lemmas, values
        ):
            group = min(groups_of(complement.text), default="") if complement else ""
            return Reading(ProfileSection.FACT, f"is {group or sorted(terms)}", terms)
        comes = {"from"} == {*values} and not verb.children("advmod")
        if comes and values["from"].kind == "name":  # not "is back from X"
            return Reading(ProfileSection.FACT, "origin", terms)
        return None

    def _is_undecided(self, verb: Word) -> bool:
        """Return True for a choice left open: "vegetarian, or pescatarian"."""
        of = (verb, *verb.children("attr", "acomp"))
        joined = [word.lower for one in of for word in one.children("cc")]
        return "or" in joined and not verb.children("neg")

    def _is_known_intolerance(self, lemmas: Set[str], values: Mapping[str, Value]) -> bool:
        """Return False for a joke such as "allergic to Mondays"."""
        value = values.get("to")
        if value is None or lemmas.isdisjoint(_WORDS["intolerances"]):
            return True
        words = {part.strip(",.").casefold() for part in value.text.split()}
        words |= {word.removesuffix("s") for word in words} | {w.removesuffix("es") for w in words}
        medicine = any(word.endswith(("cillin", "mycin", "caine", "profen")) for word in words)
        return medicine or bool(words & _WORDS["allergens"])

    def _depends(self, word: Word, verb: Word) -> bool:
        """Return True for a complement of the verb, its parts, and coordinated ones."""
        while word.dep in ("amod", "conj", "compound", "npadvmod", "pobj", "prep", "nmod", "punct"):
            word = word.head
        return word.dep in ("attr", "acomp") and word.head == verb

    def _event(
        self, verb: Word, name: str, helpers: Sequence[Word], values: dict[str, Value]
    ) -> Reading | None:
        """Read an event: "moved to Oslo", "was promoted to manager", "has lived in Oslo"."""
        if verb.children("neg"):
            return None
        terms = timeless(values.values())
        perfect = any(word.lemma == "have" and word.tag != "VBD" for word in helpers)
        base = self._verb(verb)
        if perfect and name in ("residence", "employment") and "since" in values:
            return Reading(ProfileSection.FACT, name, terms)
        target = values.get("to", _NO_VALUE)
        if not is_lasting_change(self.sentence.text, self.speaker):
            return None
        moved = base in _CHANGES["relocating"] and "obj" not in values and not self._is_brief()
        if moved and target.kind == "name" and not groups_of(target.text):
            return Reading(ProfileSection.FACT, "residence", terms)
        if self._is_hired(verb, base, values):
            return Reading(ProfileSection.FACT, "employment", terms)
        if base in _CHANGES["becoming"] and any(v.kind == "role" for v in values.values()):
            return Reading(ProfileSection.FACT, "role", terms)
        if base == "marry" and values.get("obj", values.get("to", _NO_VALUE)).kind != "name":
            return None
        told = values and not self._reacts(verb.subtree())  # "born in that queue"
        if base in _WORDS["biography"] and (told or base == "retire"):
            return Reading(ProfileSection.FACT, f"{base} {sorted(terms)}", terms)
        return None

    def _is_hired(self, verb: Word, base: str, values: Mapping[str, Value]) -> bool:
        """Return True for a new post: "got a job at the aquarium", "started at Monzo as a ..."."""
        thing = verb.child("dobj")
        named = _is_at(values, ("at", "with"), "workplaces")
        if not named or any(word.text.isdigit() for word in self.sentence.words):
            return False  # "in 2010 I started at ..." may be over
        if base in ("start", "begin"):
            trade = values.get("as", _NO_VALUE).kind == "role" or self._is_trade(verb)
            return thing is None and trade
        got = base in ("get", "land", "find") and thing is not None and thing.lemma == "job"
        return got and self._led_by(thing) in ("a", "an", "the")

    def _attribute(self, verb: Word, base: str) -> Reading | None:
        """Read an attribute: "my name is Karl", "her mother tongue is Hakka"."""
        if verb.children("neg") or self._is_passing():
            return None
        values = self._values(verb)
        terms = timeless(values.values()) or frozenset(v.text for v in values.values())
        head = base.split()[-1]
        value = values.get("obj", values.get("on", _NO_VALUE))
        is_called = verb.lemma in _CALLING and bool(verb.children("auxpass"))
        if is_called and value.kind == "name" and head in _WORDS["possessions"]:
            return Reading(ProfileSection.FACT, f"{base} is called", terms)
        if verb.lemma != "be" or verb.tag not in ("VBZ", "VBP"):
            return None
        if base.startswith(_FAVOURITE):
            told = "obj" in values and head not in _WORDS["parts"]
            return Reading(ProfileSection.PREFERENCE, base, terms) if told else None
        named = head in _WORDS["attributes"] and value.kind in ("name", "date", "number", "role")
        return Reading(ProfileSection.FACT, base, terms) if named else None

    # Preferences and matters

    def _preference(self, verb: Word, values: dict[str, Value]) -> Reading | None:
        if verb.lemma not in _WORDS["liking"] or self.says_ended(verb):
            return None
        things = verb.children("dobj", "xcomp", "ccomp")
        if not things or any(word.dep == "ccomp" and word.tag != "VBG" for word in things):
            return None
        thing = things[0]
        below = thing.subtree()
        described = any(word.dep == "amod" and word.tag == "JJ" for word in below)
        kind = described and thing.tag == "NNS" and below[0].dep != "det"  # "short answers"
        if (thing.lemma in _WORDS["choices"] and not kind) or self._reacts(below):
            return None
        if thing.label == "DATE" and verb.lemma != "prefer":
            return None  # "I hate Mondays" is said by everybody
        definite = any(word.lower == "the" and word.head == thing for word in below)
        if definite and verb.lemma != "prefer":
            return None
        if thing.dep == "xcomp" and not self._is_liked(verb, thing):
            return None
        terms = timeless(values.values()) or frozenset({thing.lemma})
        return Reading(ProfileSection.PREFERENCE, f"likes {sorted(terms)}", terms)

    def _is_liked(self, verb: Word, deed: Word) -> bool:
        """Return True for an activity liked: "loves swimming"; not courtesies, irony.

        "I hate to interrupt" and "I'd prefer not to" like nothing, "loves waiting for X" does not.
        """
        if not deed.tag.startswith("VB") or deed.lemma in _WORDS["chores"]:
            return False
        to = any(word.lower == "to" for word in deed.children("aux"))
        polite = any(word.lemma in _WORDS["courtesies"] for word in deed.subtree())
        return not polite and not (to and verb.lemma in ("hate", "dislike", "detest", "loathe"))

    def _endured(
        self, verb: Word, helpers: Sequence[Word], values: dict[str, Value]
    ) -> Reading | None:
        """Read a dislike: "can't stand loud music"."""
        cannot = any(word.lower in ("can", "ca") for word in helpers)
        denied = bool(verb.children("neg"))
        thing = verb.child("dobj", "xcomp")
        if not (cannot and denied and thing and verb.lemma in _WORDS["enduring"]):
            return None
        if self._led_by(thing) == "the":
            return None
        if self._reacts(thing.subtree()):
            return None
        terms = timeless(values.values())
        return Reading(ProfileSection.PREFERENCE, f"likes {sorted(terms)}", terms)

    def _reacts(self, words: Sequence[Word]) -> bool:
        """Return True for a reaction to what was just said: "that idea", "it"."""
        return any(word.lower in _WORDS["reactions"] for word in words)

    def _is_appointment(self, verb: Word) -> bool:
        """Return True for a dated appointment: "have a dentist appointment"."""
        thing = verb.child("dobj")
        return (
            thing is not None
            and thing.lemma in _WORDS["appointments"]
            and self._led_by(thing) in ("a", "an", "my", "our")
            and not verb.children("neg")
            and any(word.is_time for word in self.sentence.words)
        )

    def _announced(
        self, verb: Word, helpers: Sequence[Word], values: dict[str, Value]
    ) -> Reading | None:
        """Read a plan with its aim and time: "will fly to Rome next week"."""
        will = any(word.lower in ("will", "'ll", "’ll") for word in helpers)
        timed = any(word.label == "DATE" for word in self.sentence.words)
        aimed = any(value.kind == "name" for value in values.values())
        denied = bool(verb.children("neg"))
        if not (will and timed and aimed and verb.lemma in _WORDS["announced"]) or denied:
            return None
        terms = timeless(values.values())
        return Reading(ProfileSection.CURRENT, f"{verb.lemma} {sorted(terms)}", terms)

    def _matter(self, verb: Word, name: str, values: dict[str, Value]) -> Reading | None:
        """Read a current activity or plan: "is training for a marathon"."""
        helpers = verb.children("aux")
        present = any(word.lemma == "be" and word.tag in ("VBZ", "VBP") for word in helpers)
        over = bool(verb.children("neg")) or self.says_ended(verb)
        if not present:
            return None
        done = verb.child("xcomp") if verb.lemma in _WORDS["planning"] else None
        deed = done or verb
        values = values | self._values(deed)
        thing = deed.child("dobj")
        planned = deed.lemma == "plan" and thing is not None and thing.lemma in _WORDS["plans"]
        if not (planned or deed.lemma in _WORDS["matters"]) or not values:
            return None
        named = deed.lemma in _WORDS["known"] or self._led_by(thing) not in _DEFINITE
        if not named or self._reacts(deed.subtree()):
            return None
        if deed.lemma in ("look", "search"):
            sought = [w for p in deed.children("prep") if p.lower == "for"
                      for w in p.children("pobj")]  # fmt: skip
            if not sought or self._led_by(sought[0]) not in ("a", "an", ""):
                return None
        if thing is not None and thing.lemma in _WORDS["everyday"]:
            return None
        if deed.lemma == "move" and values.get("to", _NO_VALUE).kind != "name":
            return None
        terms = timeless(values.values())
        return Reading(ProfileSection.CURRENT, f"{deed.lemma} {sorted(terms)}", terms, not over)

    def _is_brief(self) -> bool:
        """Return True for a move of limited time."""
        return any(word.lower in _WORDS["brief"] for word in self.sentence.words)

    def _is_passing(self) -> bool:
        """Return True if a claim holds only for a time that is named."""
        lowered = {word.lower for word in self.sentence.words}
        return bool(lowered & _WORDS["passing_times"] or _PERIOD.search(self.sentence.text))


def _is_at(values: Mapping[str, Value], slots: Sequence[str], kinds: str) -> bool:
    """Return True if one of the places has a name, or is of a kind that the table lists."""
    found = [values[slot] for slot in slots if slot in values]
    return any(v.kind == "name" or v.text.split()[-1].casefold() in _WORDS[kinds] for v in found)
