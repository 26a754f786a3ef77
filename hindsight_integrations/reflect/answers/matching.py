"""Sentences compared with questions: which state what is asked for.

A sentence answers a question if it speaks of all that the question speaks of, in the same roles
(who does what to whom, what is whose), as a fact, and has what is asked for: a person, a place, a
time, a number, a cause. Whatever is less plain answers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.spacy_pipeline import Token
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.nlp.time import (
    TimeExpression,
    TimeSpan,
    find_times,
)
from hindsight_integrations.reflect.answers.caused import CauseMatch
from hindsight_integrations.reflect.answers.dating import date_of, events_of
from hindsight_integrations.reflect.answers.factual import is_beside, tense_of
from hindsight_integrations.reflect.answers.people import PersonMatch
from hindsight_integrations.reflect.answers.questions import (
    CATEGORIES,
    KINDS,
    WORDS,
    Asked,
    stems,
)
from hindsight_integrations.reflect.answers.roles import are_interchangeable
from hindsight_integrations.reflect.answers.values import (
    DATES,
    has_length,
    has_occupation_beside,
    is_age,
    is_measured,
    is_occupied,
    is_of_sort,
)
from hindsight_integrations.reflect.answers.verdicts import VerdictMatch
from hindsight_integrations.reflect.changes.doubts import is_lasting_change, is_of_past_year
from hindsight_integrations.reflect.ending_hints import may_have_ended
from hindsight_integrations.timespan import where_said

_SIZES = frozenset("tall high long wide deep big heavy".split())
_HOURS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve".split()
    + [str(hour) for hour in range(25)]
)
_BESIDE = frozenset({"from", "about", "before", "after", "since", "until", "despite"})
"""Prepositions of an event beside which the time of another thing stands."""
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_PLACES = ("GPE", "LOC", "FAC", "ORG")
_SHOWN_BY = word_sets("questions", "shown_by")
"""Verbs that show of what kind the name is that they have beside them: what is read is a book."""


class Match(VerdictMatch, CauseMatch, PersonMatch):
    """One sentence compared with one question."""

    def answers(self) -> bool:
        """Return True if the sentence has the kind of answer that the question asks for."""
        return _HAS[self._query.asked](self)

    def has_place(self) -> bool:
        """Return True if the sentence names a place, by its label or with a preposition."""
        if self._query.preposition == "from" and self._is_of_no_origin():
            return False
        others = set(self._others())
        if any(self._employer(verb) & others for verb in self.verbs()) or self._is_with_somebody():
            return True
        return any(
            self._is_place(place) and self._is_where(place, way)
            for way in self._words
            if way.lemma in WORDS["places"] and way.dep in ("prep", "pcomp", "dative")
            if way.lemma != "from" or self._is_origin(way)
            for place in others.intersection(way.children("pobj"))
            if not place.is_time and not self._is_excepted(place)
        ) or any(
            place.label in _PLACES[:3] and self._is_where(place, place)
            for place in others
            if place.dep != "pobj"
        )

    def _is_of_no_origin(self) -> bool:
        """Return True for "with Ana at the lake", asked where she is from."""
        return WORDS["origins"].isdisjoint(word.lower for word in self._words)

    def _is_excepted(self, word: Word) -> bool:
        """Return True for the "Oslo" of "except for ten years in Oslo"."""
        return any(each.lower in ("except", "apart", "besides") for each in word.upward())

    def _is_origin(self, way: Word) -> bool:
        """Return True if a preposition means an origin ("is from Ulm"), or is the question's."""
        return self._query.light_verb != "be" or way.head.lemma == "be"

    def _is_where(self, place: Word, way: Word) -> bool:
        """Return True if a place says where the subject is or acts, by way of a verb.

        It may belong to what the verb is done to, but to no other noun: nobody who "is our contact
        at the desk", or "asked Bosch in Ulm", is at the desk or in Ulm.
        """
        above = [word for word in way.upward() if word is not place]
        verb = next((word for word in above if word.is_verb), None)
        if self._query.light_verb != "be" or self._query.subject is None:
            verbs = set(self.verbs())
            verbs |= {each.governing_verb for each in verbs}
            company = any(word.lemma == "with" for word in above if word is not way)
            return not verbs or verb is None or (bool({verb, *above} & verbs) and not company)
        own = self._own
        if verb is None or not own:
            return not own or bool(own & set(above))
        between = {word for word in above[: above.index(verb)] if word.is_noun}
        acts = (self.agents(verb) | self.patients(verb)) & own
        if verb.dep == "relcl" and not verb.child("dobj"):
            acts |= {verb.head} & own  # "the tin I put in the larder"
        lies = verb.lemma in WORDS["lying"] and self.is_told(verb)
        return lies and bool(acts) and between <= self.patients(verb) & own

    def _is_place(self, word: Word) -> bool:
        """Return False for a bare noun that names no place: "holiday" of "is on holiday"."""
        alone = word.tag == "NN" and not word.child("det", "poss", "compound")
        return self._query.light_verb != "be" or not alone or word.lemma in WORDS["bare_places"]

    def _is_with_somebody(self) -> bool:
        """Return True if the thing is with a person: "the key is with Ana"."""
        return self._query.light_verb == "be" and any(
            on.lemma == "with"
            and on.head.lemma == "be"
            and any(map(self._is_person, on.children("pobj")))
            for on in self._words
        )

    def has_means(self) -> bool:
        """Return True if the sentence names a means or an instrument: "by bike", "with Stripe"."""
        return any(
            verb.lemma not in WORDS["states"]
            and (self._is_purpose(verb) or any(map(self._is_means, verb.children())))
            for verb in self.verbs()
        )

    def _is_purpose(self, verb: Word) -> bool:
        """Return True if a verb states a purpose: "we use Helm to deploy"."""
        told = verb < verb.head and verb.head.tag == "VB"
        if verb.dep == "advcl" and verb.is_infinitive and told:
            return True
        return verb.dep in ("xcomp", "advcl") and verb.head.lemma == "use"

    def _is_means(self, way: Word) -> bool:
        if way.text.casefold() not in WORDS["means"]:
            return way.phrase.casefold() == "on foot"
        if way.text.casefold() == "using" or way.child("pcomp"):
            return True
        things = way.children("pobj") if way.dep != "agent" else ()
        return any(self._is_instrument(thing) for thing in things if thing not in self.matched())

    def _is_instrument(self, word: Word) -> bool:
        """Return True if a noun may be an instrument: no person, time or place."""
        placed = word.head.lemma == "by" and word.child("det") is not None
        company = WORDS["company"] | CATEGORIES["relative"] | CATEGORIES["sibling"]
        person = word.label == "PERSON" or word.lemma in company or is_given_name(word.text)
        return word.is_noun and not placed and not person and not word.is_time

    def has_time(self) -> bool:
        """Return True if the sentence names a time, or tells what was done when it was said."""
        if self._is_only_beside():
            return False
        if self._has_occasion() or (self._query.past and self._is_news()):
            return True
        return bool(self._named()) or any(
            (word.is_time and not self._is_time_of_another(word))
            or word.text.casefold() in WORDS["recurring"]
            or _CLOCK.fullmatch(word.text)
            or self._is_hour(word)
            for word in self._words
        )

    def _is_only_beside(self) -> bool:
        """Return True if the event only tells of what something else is: "notes from the talk"."""
        subject = self._query.subject
        if self._query.light_verb != "be" or subject is None:
            return False
        places = self._at.get(subject.text, set())
        ways = {word.head.lemma for word in places if word.dep == "pobj"}
        return bool(ways) and ways <= _BESIDE and all(word.dep == "pobj" for word in places)

    def _is_time_of_another(self, time: Word) -> bool:
        """Return True for the time of a thing that was not asked of: "a new year's resolution"."""
        while time.dep != "poss" and time.head.is_time and not time.is_root:
            time = time.head
        return time.dep == "poss" and time.head not in self.matched()

    def _is_news(self) -> bool:
        """Return True for what a dated note tells as just done: "sofa arrived", "it has come"."""
        return any(self.is_past(verb) for verb in self.verbs() if verb.is_root or is_beside(verb))

    def _is_hour(self, word: Word) -> bool:
        """Return True if a number is an hour of the day: "closes at six"."""
        at = word.head
        return (
            word.dep == "pobj"
            and at.lemma == "at"
            and (at.head in self.verbs() or self._is_state(at.head))
            and word.text.casefold() in _HOURS
        )

    def _is_state(self, verb: Word) -> bool:
        """Return True if a form of "be" gives an event its time: "dinner is at eight"."""
        is_so = self._query.light_verb == "be" and verb.lemma == "be"
        return is_so and bool(self.agents(verb) & self._own)

    def _has_occasion(self) -> bool:
        """Return True if an occasion gives the time: "when Ella was born", "before work"."""
        for verb in self.verbs():
            for clause in verb.children("advcl"):
                marks = clause.children("mark", "advmod")
                own = clause.children("nsubj", "nsubjpass")
                when = any(word.lower in WORDS["at_times"] for word in marks)
                if when and own and clause > verb:
                    return True
            for way in verb.children("prep"):
                things = set(way.children("pobj")) - self.matched()
                if way.lower in WORDS["at_times"] and things:
                    return True
        return False

    def time(self) -> TimeSpan | None:
        """Return the time of the event asked about; None if it is unclear, or has been moved."""
        asked = self.verbs()
        moved = any(w.lemma in WORDS["moving"] and w not in asked for w in self._words)
        cue = may_have_ended(self._words)  # "the launch was cancelled on 1 June"
        ended = cue is not None and not asked and cue not in self.matched()
        return None if moved or ended else self._time_of(asked)

    def _asked_nouns(self) -> frozenset[Word]:
        terms = (term for term in self._query.terms if not term.is_self)
        return frozenset(word for term in terms for word in self._at.get(term.text, ()))

    def _time_of(self, verbs: Sequence[Word]) -> TimeSpan | None:
        event = events_of(verbs, self._asked_nouns())
        return date_of(self._sentence, event, self._times())

    def _times(self) -> tuple[TimeExpression, ...]:
        """Return the times that the sentence names, as stored with its memory.

        The extractor read the whole memory, with its surroundings, and a caller may have given the
        times: of two readings the stored one counts, and one that cannot be assigned is left out.
        """
        memory, named = self._statement.memory, self._named()
        stored = tuple(time for time in named if time.span in memory.occurred)
        if stored or not named or not memory.occurred:
            return stored or named
        if memory.text.strip() != self._sentence.text or len(named) != len(memory.occurred):
            return ()
        return tuple(
            replace(time, span=span) for time, span in zip(named, memory.occurred, strict=True)
        )

    def _named(self) -> tuple[TimeExpression, ...]:
        """Return the times that the sentence names when it is read alone."""
        memory = self._statement.memory
        return find_times(
            self._sentence.text,
            where_said(memory.mentioned_at, memory.occurred),
            words=[Token(word.text, word.start, word.tag) for word in self._words],
            setting=[memory.context] if memory.context else [],
        )

    def lies_in(self, windows: Sequence[TimeSpan]) -> bool:
        """Return True if the sentence's times, or else the time it was said, overlap a window."""
        memory = self._statement.memory
        own = self._time_of(self._sentence.roots)
        spans = (own,) if own else tuple(time.span for time in self._times())
        if not spans:
            return any(w.start <= memory.mentioned_at < w.end for w in windows)
        return any(t.start < w.end and w.start < t.end for t in spans for w in windows)

    def event_time(self) -> TimeSpan | None:
        """Return the time of the event told, or else the day on which it was said.

        None if it names times, of which it is not clear that one is that of it.
        """
        if self._named():
            return self._time_of(self._sentence.roots)
        return TimeSpan.of_day(self._statement.memory.mentioned_at)

    def has_event(self) -> bool:
        """Return True if the sentence tells an event, by its main verb or by the subject's verb."""
        anybody = self._query.subject is None
        return any(
            self.is_past(root) and (anybody or self.agents(root) & self._own)
            for root in self._sentence.roots
        )

    def is_past(self, verb: Word) -> bool:
        """Return True for the past of an event verb ("launched", "has hired"), not of a state."""
        helpers = verb.children("aux", "auxpass")
        if verb.is_denied or verb.lemma in WORDS["states"]:
            return False
        if verb.tag == "VBD":
            return not helpers
        return verb.tag == "VBN" and any(h.tag == "VBD" or h.lemma == "have" for h in helpers)

    def replaces(self) -> bool:
        """Return True if the sentence certainly replaces an older statement."""
        memory = self._statement.memory
        if not is_lasting_change(self._sentence.text, memory.speaker):
            return False
        if is_of_past_year(self._sentence.text, memory.mentioned_at):
            return False
        moving = {Asked.WHEN: WORDS["moving"], Asked.WHAT: WORDS["changing"]}.get(
            self._query.asked, ("move", "relocate")
        )
        said = any(w.lemma in moving or w.lemma in WORDS["replacing"] for w in self._words)
        said = said or self._begins() or (self._query.asked is Asked.WHEN and self._is_put_off())
        single = self._query.is_single_valued and (said or self.is_appointed())
        return single or bool(self._takers())

    def _is_put_off(self) -> bool:
        """Return True for "surgery put off to Monday", "put back to June"."""
        return any(
            word.lemma == "put" and after.lower in ("off", "back", "forward")
            for word, after in pairwise(self._words)
        )

    def _begins(self) -> bool:
        """Return True for what is so since a day: "From May the club meets in the hall"."""
        first = self._words[0]
        dates = any(word.label == "DATE" for word in first.children("pobj"))
        if self._query.asked is Asked.WHEN:
            return False  # it says since when
        if first.lower == "since" and first.head.tag == "VBD":
            return True  # "Since the mill closed, our flour comes from Ulm"
        return first.lower in ("from", "since", "starting", "beginning") and dates

    def ends(self) -> bool:
        """Return True if the sentence says that an unnamed state has ended ("no longer")."""
        named = any(word.child("compound", "amod", "poss") for word in self._own)
        return not named and any(map(self._no_longer, self.verbs()))

    def is_former(self) -> bool:
        """Return True if the sentence states a former state: "used to live", "moved from"."""
        if self._query.light_verb == "be":
            later = self._query.followed_by
            return any(
                root.text.casefold() == "was"
                and not any(later & set(lexemes(agent.text)) for agent in self.agents(root))
                for root in self._sentence.roots
            )
        gone = ("move", "relocate", *WORDS["changing"])
        if any(
            verb.tag == "VBD" or (verb.dep == "xcomp" and verb.head.text == "used")
            for verb in self.verbs()
            if verb.lemma not in gone
        ):
            return True
        return any(
            word.lemma == "from"
            and word.head.lemma in gone
            and bool(set(word.children("pobj")) - self.matched())
            for word in self._words
        )

    def has_number(self) -> bool:
        """Return True if the counted noun has a number of its own, if only "about" so many."""
        return self._number() is not None

    def number(self) -> str | None:
        """Return the number of the counted noun; None unless it is plainly stated."""
        number = self._number()
        if number is None or self._is_about(number):
            return None
        clause = number.governing_verb
        if self._query.verb and clause not in self.verbs():
            return None  # "ordered two and ate one"
        return number.text if self._is_plain(clause, ()) else None

    def _number(self) -> Word | None:
        """Return the number of the counted noun; of "two of the ten lamps" the first."""
        asked = stems(self._query.focus.split()[-1] if self._query.focus else "")
        counted = [word for word in self._words if asked & set(lexemes(word.lemma))]
        parts = set(map(self._part_of, counted))
        if parts - {None}:
            part = parts.pop() if len(parts) == 1 else None
            return part if part is not None and part.tag == "CD" else None
        numbers = [
            number
            for noun in counted
            for number in noun.children("nummod", "nmod", "compound")
            if number.dep == "nummod" or number.lemma in WORDS["numbers"]
        ]
        if len(numbers) != 1 or (numbers[0].children() and not self._is_about(numbers[0])):
            return None
        return numbers[0]

    def _is_about(self, number: Word) -> bool:
        """Return True for the "180" of "about 180", with nothing else beside it."""
        beside = [word.lower for word in number.children()]
        return bool(beside) and WORDS["about"].issuperset(beside)

    def _part_of(self, noun: Word) -> Word | None:
        """Return the quantity before "of": "two" of "two of the ten lamps"."""
        of = noun.head
        if noun.dep != "pobj" or of.lemma != "of":
            return None
        part = of.head
        counts = not part.is_noun or part.lemma in WORDS["parts"]
        return part if counts and not part.is_verb else None

    def has_extent(self) -> bool:
        """Return True if the sentence gives the measure: an age, a length, a frequency."""
        measure = self._query.measure
        if measure == "old":
            own = set[Word]().union(*self._at.values())
            return any(self.agents(verb) & own and is_age(verb) for verb in self._words)
        if any(word.lemma in _SIZES - {measure} for word in self._words):
            return False
        if named := [word for word in self._words if word.lemma == measure]:
            return any(map(is_measured, named))
        if measure == "long":
            return has_length(self._sentence)
        if measure == "often":
            return any(word.is_time or word.label == "CARDINAL" for word in self._words)
        return any(word.label == "QUANTITY" for word in self._words)

    def has_amount(self) -> bool:
        """Return True if the sentence names an amount, not only one of a part: "120 of the sum"."""
        parts = {self._part_of(word) for word in self.matched() if word.head.lemma == "of"}
        return any(
            word.is_amount or word.tag == "CD"
            for word in self._words
            if not word.is_time and word not in parts
        )

    def has_thing(self) -> bool:
        """Return True if the sentence names a thing of the kind asked for, not in the question."""
        kind = self._query.focus.split()[-1] if self._query.focus else ""
        kind = {"color": "colour", "cities": "city", "countries": "country"}.get(
            kind, kind if kind in CATEGORIES else kind.removesuffix("s")
        )
        if kind in CATEGORIES:
            members = CATEGORIES[kind]
            return any(w.lemma in members or w.text.casefold() in members for w in self._words)
        others = set(self._others()) | {
            word
            for word in self._words
            if (word.tag in ("CD", "JJ", "FW", "VBG") or word.is_noun)
            and word not in self.matched()
        }
        has = self._query.light_verb == "have" and self._has_one(kind, others)
        if has or self._is_ours() or self.of_kind():
            return True
        if self._query.light_verb == "do" or self._query.general_noun in WORDS["jobs"]:
            return self._has_role()
        if self._query.general_noun:
            return self._is_of_sort(others)
        if kind in ("language", "nationality") and any(
            word.label in ("LANGUAGE", "NORP") for word in others
        ):
            return True
        if kind in ("city", "country", "town"):
            return any(word.label == "GPE" for word in others)
        if not self._query.verb:
            return self._is_so(kind, others)
        if kind:
            return self._is_one_of(kind, self._objects(others))
        if self._query.subject is None:
            return any(self._asked_for(verb) & others for verb in self.verbs())
        return bool(self._objects(others))

    def _is_so(self, kind: str, others: set[Word]) -> bool:
        """Return True if the sentence says of the thing what a question with "be" asks for."""
        if self._query.light_verb == "have":
            return False
        if kind and self._query.subject is None:  # "which door is locked"
            states = (word for word in self._words if word.lemma == "be")
            agents = set[Word]().union(*map(self.agents, states))
            return self._is_one_of(kind, others & agents)
        return self._is_valued(others) or self._is_on_one(kind)

    def _is_one_of(self, kind: str, objects: Set[Word]) -> bool:
        """Return True if the sentence has the word for a kind of thing, or a value of it."""
        if kind in WORDS["measured"]:
            return any(word.label == "QUANTITY" for word in objects)
        named = any(stems(kind) & set(lexemes(w.lemma)) for w in self._words)
        return named or any(
            word.is_proper
            and word.dep != "poss"  # "off Tony's neighbour"
            and self._is_name_of(word, kind)
            for word in objects
        )

    def _is_name_of(self, word: Word, kind: str) -> bool:
        """Return True for a name that is known to be of a kind, or that the verb shows to be."""
        if word.text.casefold() in KINDS.get(kind, ()):
            return True
        if kind in WORDS["general_kinds"]:
            return self._tells_use()
        shown = self._query.action in _SHOWN_BY.get(kind, ())
        if not shown or is_given_name(word.text):  # the label of a rare name is a guess
            return False
        ways = {way for verb in self.verbs() for way in verb.children("prep")}
        told = [above.lemma for above in word.upward() if above in ways]
        return told == ([self._query.preposition] if self._query.preposition else [])

    def _tells_use(self) -> bool:
        """Return True if the sentence has the words that narrow a general kind: "cloud provider".

        What "we use" need be no provider of clouds; "for payments" tells of a "payment provider".
        """
        told = {stem for word in self._words for stem in lexemes(word.text)}
        narrowing = map(stems, self._query.focus.split()[:-1])
        return all(not told.isdisjoint(wanted) for wanted in narrowing if wanted)

    def _has_role(self) -> bool:
        """Return True if the sentence gives the subject's occupation: "is a nurse"."""
        own = set[Word]().union(*self._at.values())
        if any(map(has_occupation_beside, own)):
            return True
        return any(
            self.agents(verb) & own and self.is_told(verb) and is_occupied(verb)
            for verb in self._words
            if verb.is_verb and verb.lemma != "marry"
        )

    def _has_one(self, kind: str, others: Set[Word]) -> bool:
        """Return True if the subject has a thing; for a kind of thing, a distinguished one."""
        own = self._own
        apart = ("compound", "amod", "nmod", "nummod", "appos", "acl")
        return any(
            not any(child.lower == "no" for child in thing.children("det"))
            and (
                not kind or bool(stems(kind) & set(lexemes(thing.lemma)) and thing.children(*apart))
            )
            for verb in self._words
            if verb.lemma in WORDS["having"] and self.agents(verb) & own and self.is_told(verb)
            if self._query.past or tense_of(verb) != "past" or verb.lemma not in WORDS["states"]
            for thing in others & set(verb.children("dobj"))
            if not thing.is_time
        )

    def _is_of_sort(self, others: set[Word]) -> bool:
        """Return True if the sentence has the general noun asked for, or a value of that sort.

        "The lead is Ana" has no "lead time".
        """
        sort = self._query.general_noun
        nouns = {word for word in self._words if word.lemma == sort and word.is_noun}
        if sort == "reason" and self.has_cause():
            return True
        if nouns and any(map(self._is_of, nouns)):
            return self._is_valued(others - nouns, nouns)
        if self._query.compound and sort not in DATES | {"number"}:
            return False
        values = {word for word in others if is_of_sort(word, sort)}
        return bool(values) and self._is_valued(values)

    def _is_of(self, noun: Word) -> bool:
        """Return True if a noun is connected in the parse tree to a term of the question."""
        own = set(noun.subtree()) | set(noun.upward())
        things = (self._at[t.text] for t in self._query.terms if not (t.is_self or t.is_name))
        return all(not places or own & places for places in things)

    def _is_valued(self, others: set[Word], asked: Set[Word] = frozenset()) -> bool:
        """Return True if the thing is given a value: "the code is 7731", "code: 7731"."""
        own = {word for term in self._query.terms for word in self._at[term.text]} | asked
        if self._is_put(own, others):
            return True
        for word in self._words:
            if word.lemma in ("be", "read", "equal"):
                deps = ("attr", "acomp", "oprd", *(() if self._query.preposition else ("prep",)))
                reach = {part for value in word.children(*deps) for part in value.subtree()}
                if self.agents(word) & own and reach & others:
                    return True
            if word.lemma in WORDS["changing"] and own & (self.agents(word) | self.patients(word)):
                ways = (way for way in word.children("prep") if way.lemma == "to")
                if any(others.intersection(way.children("pobj")) for way in ways):
                    return True
        return any(map(self._identifies, others))

    def _is_put(self, own: set[Word], others: set[Word]) -> bool:
        """Return True if something is put on the thing: "put soap on the list"."""
        for way in self._words:
            if way.lemma != self._query.preposition:
                continue
            deps = ("dobj", "attr", *(("nsubj",) if way.head.lemma == "be" else ()))
            things = {way.head, *way.head.children(*deps)}
            if own.intersection(way.children("pobj")) and others & things:
                return True
        return False

    def _is_on_one(self, kind: str) -> bool:
        """Return True for "is on the Team plan", asked which plan somebody is on."""
        way = self._query.preposition
        return bool(kind and way) and any(
            stems(kind) & set(lexemes(thing.lemma))
            and thing.children("compound", "amod", "nmod", "nummod", "poss")
            for verb in self._words
            if verb.lemma == "be" and self.agents(verb) & self._own and self.is_told(verb)
            for on in verb.children("prep")
            if are_interchangeable(way, on.lemma)
            for thing in on.children("pobj")
        )

    def _objects(self, others: set[Word]) -> set[Word]:
        """Return those of the words that are in the object of a verb."""
        reach: set[Word] = set()
        apart = {"nsubj", "advcl", "punct"}
        if self._query.passive or self._query.subject is None:
            apart.add("nsubjpass")  # else it is what was done: "the floor was tiled by Ana"
        for verb in self.verbs():
            agents = self.agents(verb)
            for child in verb.children():
                if child.dep not in apart:
                    reach |= set(child.subtree())
            reach -= agents
        return {word for word in others & reach if not word.is_time}


_HAS: Mapping[Asked, Callable[[Match], bool]] = {
    Asked.WHO: Match.has_person,
    Asked.WHOSE: Match.has_owner,
    Asked.WHERE: Match.has_place,
    Asked.WHEN: Match.has_time,
    Asked.WHY: Match.has_cause,
    Asked.NUMBER: Match.has_number,
    Asked.EXTENT: Match.has_extent,
    Asked.OTHER: lambda match: False,
    Asked.HOW: Match.has_means,
    Asked.SAID: lambda match: True,
    Asked.AMOUNT: Match.has_amount,
    Asked.NAME: Match.has_name,
    Asked.WHAT: Match.has_thing,
    Asked.EVENTS: Match.has_event,
    Asked.WHETHER: lambda match: True,
}
