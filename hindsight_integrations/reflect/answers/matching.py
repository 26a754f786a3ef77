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
from hindsight_integrations.reflect.answers.dating import date_of, events_at
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
            self._is_place(i) and self._is_where(i, way)
            for way, word in enumerate(self._words)
            if word.lemma in WORDS["places"] and word.dep in ("prep", "pcomp", "dative")
            if word.lemma != "from" or self._is_origin(word)
            for i in others.intersection(self._sentence.children(way, "pobj"))
            if not self._words[i].is_time and not self._is_excepted(i)
        ) or any(
            self._words[i].label in _PLACES[:3] and self._is_where(i, i)
            for i in others
            if self._words[i].dep != "pobj"
        )

    def _is_of_no_origin(self) -> bool:
        """Return True for "with Ana at the lake", asked where she is from."""
        return WORDS["origins"].isdisjoint(word.lower for word in self._words)

    def _is_excepted(self, index: int) -> bool:
        """Return True for the "Oslo" of "except for ten years in Oslo"."""
        return any(
            self._words[i].lower in ("except", "apart", "besides")
            for i in self._sentence.upward(index)
        )

    def _is_origin(self, way: Word) -> bool:
        """Return True if a preposition means an origin ("is from Ulm"), or is the question's."""
        return self._query.light_verb != "be" or self._words[way.head].lemma == "be"

    def _is_where(self, place: int, way: int) -> bool:
        """Return True if a place says where the subject is or acts, by way of a verb.

        It may belong to what the verb is done to, but to no other noun: nobody who "is our contact
        at the desk", or "asked Bosch in Ulm", is at the desk or in Ulm.
        """
        above = [i for i in self._sentence.upward(way) if i != place]
        verb = next((i for i in above if self._words[i].is_verb), None)
        if self._query.light_verb != "be" or self._query.subject is None:
            verbs = set(self.verbs())
            verbs |= set(map(self._sentence.governing_verb, verbs))
            company = any(self._words[i].lemma == "with" for i in above if i != way)
            return not verbs or verb is None or (bool({verb, *above} & verbs) and not company)
        own = self._own
        if verb is None or not own:
            return not own or bool(own & set(above))
        between = {i for i in above[: above.index(verb)] if self._words[i].is_noun}
        acts = (self.agents(verb) | self.patients(verb)) & own
        if self._words[verb].dep == "relcl" and not self._sentence.children(verb, "dobj"):
            acts |= {self._words[verb].head} & own  # "the tin I put in the larder"
        lies = self._words[verb].lemma in WORDS["lying"] and self.is_told(verb)
        return lies and bool(acts) and between <= self.patients(verb) & own

    def _is_place(self, noun: int) -> bool:
        """Return False for a bare noun that names no place: "holiday" of "is on holiday"."""
        word = self._words[noun]
        alone = word.tag == "NN" and not self._sentence.children(noun, "det", "poss", "compound")
        return self._query.light_verb != "be" or not alone or word.lemma in WORDS["bare_places"]

    def _is_with_somebody(self) -> bool:
        """Return True if the thing is with a person: "the key is with Ana"."""
        return self._query.light_verb == "be" and any(
            self._words[on].lemma == "with"
            and self._sentence.head(on).lemma == "be"
            and any(map(self._is_person, self._sentence.children(on, "pobj")))
            for on in range(len(self._words))
        )

    def has_means(self) -> bool:
        """Return True if the sentence names a means or an instrument: "by bike", "with Stripe"."""
        verbs = self.verbs()
        return any(
            self._words[verb].lemma not in WORDS["states"]
            and (self._is_purpose(verb) or any(map(self._is_means, self._sentence.children(verb))))
            for verb in verbs
        )

    def _is_purpose(self, verb: int) -> bool:
        """Return True if a verb states a purpose: "we use Helm to deploy"."""
        word = self._words[verb]
        told = verb < word.head and self._words[word.head].tag == "VB"
        purpose = self._sentence.is_infinitive(verb)
        if word.dep == "advcl" and purpose and told:
            return True
        return word.dep in ("xcomp", "advcl") and self._words[word.head].lemma == "use"

    def _is_means(self, way: int) -> bool:
        word = self._words[way]
        if word.text.casefold() not in WORDS["means"]:
            return self._sentence.phrase(self._sentence.subtree(way)).casefold() == "on foot"
        if word.text.casefold() == "using" or self._sentence.children(way, "pcomp"):
            return True
        things = self._sentence.children(way, "pobj") if word.dep != "agent" else ()
        return any(self._is_instrument(i) for i in things if i not in self.matched())

    def _is_instrument(self, index: int) -> bool:
        """Return True if a noun may be an instrument: no person, time or place."""
        word, way = self._words[index], self._sentence.head(index)
        placed = way.lemma == "by" and bool(self._sentence.children(index, "det"))
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
        ways = {
            self._sentence.head(i).lemma
            for i in self._at.get(subject.text, ())
            if self._words[i].dep == "pobj"
        }
        places = self._at.get(subject.text, set())
        return bool(ways) and ways <= _BESIDE and all(self._words[i].dep == "pobj" for i in places)

    def _is_time_of_another(self, time: Word) -> bool:
        """Return True for the time of a thing that was not asked of: "a new year's resolution"."""
        while time.dep != "poss" and self._words[time.head].is_time and time.head != time.index:
            time = self._words[time.head]
        return time.dep == "poss" and time.head not in self.matched()

    def _is_news(self) -> bool:
        """Return True for what a dated note tells as just done: "sofa arrived", "it has come"."""
        return any(
            self.is_past(verb)
            for verb in self.verbs()
            if self._words[verb].head == verb or is_beside(self._sentence, verb)
        )

    def _is_hour(self, word: Word) -> bool:
        """Return True if a number is an hour of the day: "closes at six"."""
        at = self._words[word.head]
        return (
            word.dep == "pobj"
            and at.lemma == "at"
            and (at.head in self.verbs() or self._is_state(at.head))
            and word.text.casefold() in _HOURS
        )

    def _is_state(self, verb: int) -> bool:
        """Return True if a form of "be" gives an event its time: "dinner is at eight"."""
        is_so = self._query.light_verb == "be" and self._words[verb].lemma == "be"
        return is_so and bool(self.agents(verb) & self._own)

    def _has_occasion(self) -> bool:
        """Return True if an occasion gives the time: "when Ella was born", "before work"."""
        for verb in self.verbs():
            for clause in self._sentence.children(verb, "advcl"):
                marks = self._sentence.children(clause, "mark", "advmod")
                own = self._sentence.children(clause, "nsubj", "nsubjpass")
                when = any(self._words[i].lower in WORDS["at_times"] for i in marks)
                if when and own and clause > verb:
                    return True
            for way in self._sentence.children(verb, "prep"):
                things = set(self._sentence.children(way, "pobj")) - self.matched()
                if self._words[way].lower in WORDS["at_times"] and things:
                    return True
        return False

    def time(self) -> TimeSpan | None:
        """Return the time of the event asked about; None if it is unclear, or has been moved."""
        asked = self.verbs()
        moved = any(
            w.lemma in WORDS["moving"] and i not in asked for i, w in enumerate(self._words)
        )
        cue = may_have_ended(self._words)  # "the launch was cancelled on 1 June"
        ended = cue is not None and not asked and cue not in self.matched()
        return None if moved or ended else self._time_of(asked)

    def _asked_nouns(self) -> frozenset[int]:
        terms = (term for term in self._query.terms if not term.is_self)
        return frozenset(i for term in terms for i in self._at.get(term.text, ()))

    def _time_of(self, verbs: Sequence[int]) -> TimeSpan | None:
        event = events_at(self._sentence, verbs, self._asked_nouns())
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
        own = self._time_of(self._sentence.roots())
        spans = (own,) if own else tuple(time.span for time in self._times())
        if not spans:
            return any(w.start <= memory.mentioned_at < w.end for w in windows)
        return any(t.start < w.end and w.start < t.end for t in spans for w in windows)

    def event_time(self) -> TimeSpan | None:
        """Return the time of the event told, or else the day on which it was said.

        None if it names times, of which it is not clear that one is that of it.
        """
        if self._named():
            return self._time_of(self._sentence.roots())
        return TimeSpan.of_day(self._statement.memory.mentioned_at)

    def has_event(self) -> bool:
        """Return True if the sentence tells an event, by its main verb or by the subject's verb."""
        anybody = self._query.subject is None
        return any(
            self.is_past(root) and (anybody or self.agents(root) & self._own)
            for root in self._sentence.roots()
        )

    def is_past(self, verb: int) -> bool:
        """Return True for the past of an event verb ("launched", "has hired"), not of a state."""
        word = self._words[verb]
        helpers = self._sentence.dependents(verb, "aux", "auxpass")
        if self._sentence.is_denied(verb) or word.lemma in WORDS["states"]:
            return False
        if word.tag == "VBD":
            return not helpers
        return word.tag == "VBN" and any(h.tag == "VBD" or h.lemma == "have" for h in helpers)

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
        dates = any(word.label == "DATE" for word in self._sentence.dependents(0, "pobj"))
        if self._query.asked is Asked.WHEN:
            return False  # it says since when
        if first.lower == "since" and self._words[first.head].tag == "VBD":
            return True  # "Since the mill closed, our flour comes from Ulm"
        return first.lower in ("from", "since", "starting", "beginning") and dates

    def ends(self) -> bool:
        """Return True if the sentence says that an unnamed state has ended ("no longer")."""
        named = any(self._sentence.children(i, "compound", "amod", "poss") for i in self._own)
        return not named and any(map(self._no_longer, self.verbs()))

    def is_former(self) -> bool:
        """Return True if the sentence states a former state: "used to live", "moved from"."""
        if self._query.light_verb == "be":
            later = self._query.followed_by
            return any(
                self._words[i].text.casefold() == "was"
                and not any(later & set(lexemes(self._words[j].text)) for j in self.agents(i))
                for i in self._sentence.roots()
            )
        gone = ("move", "relocate", *WORDS["changing"])
        verbs = [i for i in self.verbs() if self._words[i].lemma not in gone]
        if any(
            self._words[i].tag == "VBD"
            or (self._words[i].dep == "xcomp" and self._sentence.head(i).text == "used")
            for i in verbs
        ):
            return True
        return any(
            word.lemma == "from"
            and self._words[word.head].lemma in gone
            and bool(set(self._sentence.children(i, "pobj")) - self.matched())
            for i, word in enumerate(self._words)
        )

    def has_number(self) -> bool:
        """Return True if the counted noun has a number of its own, if only "about" so many."""
        return self._number() is not None

    def number(self) -> str | None:
        """Return the number of the counted noun; None unless it is plainly stated."""
        index = self._number()
        if index is None or self._is_about(index):
            return None
        clause = self._sentence.governing_verb(index)
        if self._query.verb and clause not in self.verbs():
            return None  # "ordered two and ate one"
        return self._words[index].text if self._is_plain(clause, ()) else None

    def _number(self) -> int | None:
        """Return the number of the counted noun; of "two of the ten lamps" the first."""
        counted = {
            i
            for i, w in enumerate(self._words)
            if stems(self._query.focus.split()[-1] if self._query.focus else "")
            & set(lexemes(w.lemma))
        }
        parts = {i: self._part_of(i) for i in counted}
        if any(part is not None for part in parts.values()):
            found = set(parts.values())
            part = found.pop() if len(found) == 1 else None
            return part if part is not None and self._words[part].tag == "CD" else None
        numbers = [
            n
            for i in counted
            for n in self._sentence.children(i, "nummod", "nmod", "compound")
            if self._words[n].dep == "nummod" or self._words[n].lemma in WORDS["numbers"]
        ]
        exact = len(numbers) == 1 and not self._sentence.children(numbers[0])
        about = len(numbers) == 1 and self._is_about(numbers[0])
        return numbers[0] if exact or about else None

    def _is_about(self, number: int) -> bool:
        """Return True for the "180" of "about 180", with nothing else beside it."""
        beside = [word.lower for word in self._sentence.dependents(number)]
        return bool(beside) and WORDS["about"].issuperset(beside)

    def _part_of(self, noun: int) -> int | None:
        """Return the quantity before "of": "two" of "two of the ten lamps"."""
        of = self._words[noun].head
        if self._words[noun].dep != "pobj" or self._words[of].lemma != "of":
            return None
        part = self._words[of].head
        counts = not self._words[part].is_noun or self._words[part].lemma in WORDS["parts"]
        return part if counts and not self._words[part].is_verb else None

    def has_extent(self) -> bool:
        """Return True if the sentence gives the measure: an age, a length, a frequency."""
        measure = self._query.measure
        if measure == "old":
            own = set().union(*self._at.values())
            verbs = range(len(self._words))
            return any(self.agents(i) & own and is_age(self._sentence, i) for i in verbs)
        if any(word.lemma in _SIZES - {measure} for word in self._words):
            return False
        named = [i for i, word in enumerate(self._words) if word.lemma == measure]
        if named:
            return any(is_measured(self._sentence, i) for i in named)
        if measure == "long":
            return has_length(self._sentence)
        if measure == "often":
            return any(word.is_time or word.label == "CARDINAL" for word in self._words)
        return any(word.label == "QUANTITY" for word in self._words)

    def has_amount(self) -> bool:
        """Return True if the sentence names an amount, not only one of a part: "120 of the sum"."""
        asked = {i for i in self.matched() if self._sentence.head(i).lemma == "of"}
        parts = {self._part_of(i) for i in asked}
        return any(
            w.is_amount or w.tag == "CD"
            for i, w in enumerate(self._words)
            if not w.is_time and i not in parts
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
            i
            for i, w in enumerate(self._words)
            if (w.tag in ("CD", "JJ", "FW", "VBG") or w.tag.startswith("NN"))
            and i not in self.matched()
        }
        has = self._query.light_verb == "have" and self._has_one(kind, others)
        if has or self._is_ours() or self.of_kind():
            return True
        if self._query.light_verb == "do" or self._query.general_noun in WORDS["jobs"]:
            return self._has_role()
        if self._query.general_noun:
            return self._is_of_sort(others)
        if kind in ("language", "nationality") and any(
            self._words[i].label in ("LANGUAGE", "NORP") for i in others
        ):
            return True
        if kind in ("city", "country", "town"):
            return any(self._words[i].label == "GPE" for i in others)
        if not self._query.verb:
            return self._is_so(kind, others)
        if kind:
            return self._is_one_of(kind, self._objects(others))
        if self._query.subject is None:
            return any(self._asked_for(verb) & others for verb in self.verbs())
        return bool(self._objects(others))

    def _is_so(self, kind: str, others: set[int]) -> bool:
        """Return True if the sentence says of the thing what a question with "be" asks for."""
        if self._query.light_verb == "have":
            return False
        if kind and self._query.subject is None:  # "which door is locked"
            states = (i for i, word in enumerate(self._words) if word.lemma == "be")
            agents = set[int]().union(*map(self.agents, states))
            return self._is_one_of(kind, others & agents)
        return self._is_valued(others) or self._is_on_one(kind)

    def _is_one_of(self, kind: str, objects: Set[int]) -> bool:
        """Return True if the sentence has the word for a kind of thing, or a value of it."""
        if kind in WORDS["measured"]:
            return any(self._words[i].label == "QUANTITY" for i in objects)
        named = any(stems(kind) & set(lexemes(w.lemma)) for w in self._words)
        return named or any(
            self._words[i].is_proper
            and self._words[i].dep != "poss"  # "off Tony's neighbour"
            and self._is_name_of(i, kind)
            for i in objects
        )

    def _is_name_of(self, name: int, kind: str) -> bool:
        """Return True for a name that is known to be of a kind, or that the verb shows to be."""
        word = self._words[name]
        if word.text.casefold() in KINDS.get(kind, ()):
            return True
        if kind in WORDS["general_kinds"]:
            return self._tells_use()
        shown = self._query.action in _SHOWN_BY.get(kind, ())
        if not shown or is_given_name(word.text):  # the label of a rare name is a guess
            return False
        ways = {i for verb in self.verbs() for i in self._sentence.children(verb, "prep")}
        told = [self._words[i].lemma for i in self._sentence.upward(name) if i in ways]
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
        own = set[int]().union(*self._at.values())
        if any(has_occupation_beside(self._sentence, i) for i in own):
            return True
        return any(
            self.agents(i) & own and self.is_told(i) and is_occupied(self._sentence, i)
            for i, word in enumerate(self._words)
            if word.is_verb and word.lemma != "marry"
        )

    def _has_one(self, kind: str, others: Set[int]) -> bool:
        """Return True if the subject has a thing; for a kind of thing, a distinguished one."""
        own = self._own
        apart = ("compound", "amod", "nmod", "nummod", "appos", "acl")
        return any(
            not any(child.lower == "no" for child in self._sentence.dependents(thing, "det"))
            and (
                not kind
                or bool(
                    stems(kind) & set(lexemes(self._words[thing].lemma))
                    and self._sentence.children(thing, *apart)
                )
            )
            for verb, word in enumerate(self._words)
            if word.lemma in WORDS["having"] and self.agents(verb) & own and self.is_told(verb)
            if self._query.past
            or tense_of(self._sentence, verb) != "past"
            or word.lemma not in WORDS["states"]
            for thing in others & set(self._sentence.children(verb, "dobj"))
            if not self._words[thing].is_time
        )

    def _is_of_sort(self, others: set[int]) -> bool:
        """Return True if the sentence has the general noun asked for, or a value of that sort.

        "The lead is Ana" has no "lead time".
        """
        sort = self._query.general_noun
        nouns = {i for i, w in enumerate(self._words) if w.lemma == sort and w.is_noun}
        if sort == "reason" and self.has_cause():
            return True
        if nouns and any(self._is_of(i) for i in nouns):
            return self._is_valued(others - nouns, nouns)
        if self._query.compound and sort not in DATES | {"number"}:
            return False
        values = {i for i in others if is_of_sort(self._words[i], sort)}
        return bool(values) and self._is_valued(values)

    def _is_of(self, noun: int) -> bool:
        """Return True if a noun is connected in the parse tree to a term of the question."""
        own = set(self._sentence.subtree(noun)) | set(self._sentence.upward(noun))
        things = (self._at[t.text] for t in self._query.terms if not (t.is_self or t.is_name))
        return all(not places or own & places for places in things)

    def _is_valued(self, others: set[int], asked: Set[int] = frozenset()) -> bool:
        """Return True if the thing is given a value: "the code is 7731", "code: 7731"."""
        own = {i for term in self._query.terms for i in self._at[term.text]} | asked
        if self._is_put(own, others):
            return True
        for index, word in enumerate(self._words):
            if word.lemma in ("be", "read", "equal"):
                deps = ("attr", "acomp", "oprd", *(() if self._query.preposition else ("prep",)))
                values = self._sentence.children(index, *deps)
                reach = {j for v in values for j in self._sentence.subtree(v)}
                if self.agents(index) & own and reach & others:
                    return True
            if word.lemma in WORDS["changing"] and own & (
                self.agents(index) | self.patients(index)
            ):
                ways = [
                    i
                    for i in self._sentence.children(index, "prep")
                    if self._words[i].lemma == "to"
                ]
                if any(others.intersection(self._sentence.children(way, "pobj")) for way in ways):
                    return True
        return any(self._identifies(i) for i in others)

    def _is_put(self, own: set[int], others: set[int]) -> bool:
        """Return True if something is put on the thing: "put soap on the list"."""
        for on, way in enumerate(self._words):
            if way.lemma != self._query.preposition:
                continue
            deps = ("dobj", "attr", *(("nsubj",) if self._words[way.head].lemma == "be" else ()))
            things = {way.head, *self._sentence.children(way.head, *deps)}
            if own.intersection(self._sentence.children(on, "pobj")) and others & things:
                return True
        return False

    def _is_on_one(self, kind: str) -> bool:
        """Return True for "is on the Team plan", asked which plan somebody is on."""
        way = self._query.preposition
        return bool(kind and way) and any(
            stems(kind) & set(lexemes(self._words[thing].lemma))
            and self._sentence.children(thing, "compound", "amod", "nmod", "nummod", "poss")
            for verb, word in enumerate(self._words)
            if word.lemma == "be" and self.agents(verb) & self._own and self.is_told(verb)
            for on in self._sentence.children(verb, "prep")
            if are_interchangeable(way, self._words[on].lemma)
            for thing in self._sentence.children(on, "pobj")
        )

    def _objects(self, others: set[int]) -> set[int]:
        """Return those of the words that are in the object of a verb."""
        reach: set[int] = set()
        apart = {"nsubj", "advcl", "punct"}
        if self._query.passive or self._query.subject is None:
            apart.add("nsubjpass")  # else it is what was done: "the floor was tiled by Ana"
        for verb in self.verbs():
            agents = self.agents(verb)
            for child in self._sentence.children(verb):
                if self._words[child].dep not in apart:
                    reach |= set(self._sentence.subtree(child))
            reach -= agents
        return {i for i in others & reach if not self._words[i].is_time}


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
