"""Yes or no: what a sentence proves of what a yes-or-no question asks, if it proves anything.

It proves something if its main clause says it or denies it plainly, in the tense that is asked of,
of the very thing, and on no occasion or condition that the question does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from hindsight_integrations.nlp import syntax
from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.answers.factual import has_left, tense_of
from hindsight_integrations.reflect.answers.named import (
    is_person,
    is_person_noun,
    titles_of,
)
from hindsight_integrations.reflect.answers.questions import WORDS, Term
from hindsight_integrations.reflect.answers.roles import LIKING, LIVING, RoleMatch
from hindsight_integrations.reflect.attribution import reported
from hindsight_integrations.reflect.ending_hints import kind_nouns, may_have_ended

_FEELING = LIKING | lexemes_of(WORDS["disliking"])
_HINTS = word_sets("endings_hinted")
_DEBTS = lexemes_of(_HINTS["debts"])
_PLACING = frozenset({"in", "on", "at", "out"})
_EVER_SINCE = frozenset({"since", "always", "for"})


class VerdictMatch(RoleMatch):
    """Compares one sentence with one yes-or-no question."""

    def verdict(self) -> bool | None:
        """Return True if the sentence says yes, False if it says no, None if it is unclear."""
        verbs = self.verbs() if self._query.verb and not self._query.alternative else []
        if len(verbs) != 1:
            return None
        verb = verbs[0]
        retractions = verb.children("neg")
        if self._query.still:
            retractions = (*retractions, *self._no_longer(verb))
        if verb.dep == "acomp":
            retractions = (*retractions, *verb.head.children("neg"))
        disliked = self.is_disliking(verb)
        if disliked and retractions:
            if verb.lemma in WORDS["disliking"]:
                return None  # "I don't hate it"
            retractions = (*retractions, *verb.children("aux"))
        if self._query.still and self._is_quit(verb):
            return False
        unsure = self._query.asks_presence and not self._query.still
        if unsure or self._is_arranged_for(verb) or not self._is_plain(verb, retractions):
            return None
        gone = self._is_left() or (self._query.action in LIVING and has_left(verb))
        if self._query.still and verb.tag == "VBD" and not gone:
            return None  # "the pump broke" long ago
        denied = bool(retractions or disliked)
        proven = self._is_of_that_tense(verb) and self._is_of_all(verb, retractions, denied)
        if not (gone or proven):
            return None
        return not (denied or gone)

    def _is_left(self) -> bool:
        """Return True for a place that was left: "Porto" of "moved from Porto to Lisbon"."""
        return any(
            word.dep == "pobj"
            and term.preposition != "from"
            and word.head.lemma == "from"
            and self._is_leaving(word.head.head)
            for term in self._query.terms
            for word in self._at.get(term.text, ())
        )

    def _is_leaving(self, word: Word) -> bool:
        return word.is_verb and word.lemma in WORDS["parting"] | WORDS["changing"]

    # What may have ended

    def is_pending(self) -> bool:
        """Return True if what is asked about was not done so far: "has not paid yet"."""
        return any(
            verb.is_denied
            and any(word.lower in ("yet", "still") for word in verb.children("advmod"))
            for verb in self.verbs()
        )

    def names_a_thing(self) -> bool:
        """Return True if the sentence has a common noun of a thing, people and times aside."""
        return any(self._is_thing(word) and not word.is_proper for word in self._words)

    def may_end(self, told: Sentence) -> bool:
        """Return True if the sentence hints that another statement no longer holds.

        It speaks of an end ("died", "was sold") of what the question or the other sentence speaks
        of; or of the one that was asked of, and of no further thing ("I got fired").
        """
        if self._parts_from(told) or self._is_otherwise(told) or self._denies_value(told):
            return True
        if self._is_over(told) or self._leaves_what_is_told(told):
            return True
        cue = may_have_ended(self._words)
        if cue is None or self._is_with_another(told) or not self._is_end_of(cue, told):
            return False
        verb = cue.governing_verb
        near = self._near(verb) | self._near(cue)
        people = {word for word in near if self._is_somebody(word)}
        asked = {
            word
            for term in self._query.terms
            if not (term.is_self or term.is_name)
            for word in self._words_for(term)
            if not self._is_only_part(word, told)
        }
        asked.update(
            word for word in near if self._query.verb & set(lexemes(word.text))
        )  # "broke off the engagement", asked who Ana is engaged to
        named = lexemes_of(
            word.text for word in told.words if self._is_thing(word) and not _is_part(word)
        )
        things = {word for word in near - people if self._is_thing(word)}
        if near & asked or any(named & set(lexemes(word.text)) for word in things):
            return True
        names = {entity_norm(word.text) for word in told.words if is_person(word)}
        own = {word for term in self._query.terms for word in self._words_for(term)}
        own = {word for word in own if not self._is_only_part(word, told)}
        own |= {word for word in people if entity_norm(word.text) in names}
        kinds = kind_nouns(self._query.action)
        if not people - own and any(word.lemma in kinds for word in things):
            return True  # "the car was written off"
        kinds |= kind_nouns("work")
        if cue.lemma in _HINTS["leaving_work"] and self._is_private(told):
            return False
        if people - own and all(word.dep == "poss" for word in near & own):
            return False  # "after his father died"
        return bool(near & own) and all(word.lemma in kinds for word in things - own)

    def _is_over(self, told: Sentence) -> bool:
        """Return True for "the diet is over", if the other sentence or the question has a diet."""
        known = self._known(told)
        return any(
            over.lower in _HINTS["over"]
            and not over.child("pobj")
            and not verb.is_denied
            and any(
                known.intersection(lexemes(word.text))
                for agent in self.agents(verb)
                for word in agent.subtree()
            )
            for verb in self._words
            if verb.lemma == "be"
            for over in verb.children("advmod", "acomp", "prt", "prep", "attr")
        )

    def _leaves_what_is_told(self, told: Sentence) -> bool:
        """Return True for "quit Greggs", if the other sentence puts the same person there."""
        subject = self._query.subject
        own = self._words_for(subject) if subject is not None else set()
        of_subject = subject.stems if subject is not None else frozenset[str]()
        places = lexemes_of(word.text for word in told.words if word.is_proper) - of_subject
        return any(
            bool(self.agents(verb) & own)
            and (verb.tag in ("VBD", "VBN") or verb.tag + verb.text == "VBPquit")
            and not verb.is_denied
            and any(places.intersection(lexemes(word.text)) for word in self._near(verb) - own)
            for verb in self._words
            if verb.lemma in _HINTS["parting_from"]
        )

    def _is_only_part(self, word: Word, told: Sentence) -> bool:
        """Return True for the "plot" of "gave up plot 14", where the other has "plot rent"."""
        same = [other for other in told.words if set(lexemes(other.text)) & set(lexemes(word.text))]
        return bool(same) and all(map(_is_part, same)) and word.dep != "compound"

    def _is_end_of(self, cue: Word, told: Sentence) -> bool:
        """Return False for an end of another thing than the other sentence or the question has.

        That is what somebody else is said to say, who "stopped smoking" if it is asked what they
        drive, who "cannot come after all" of one who lives somewhere, and who left a company of
        which it is told what it is.
        """
        known = self._known(told)
        if cue.index in reported(syntax.parse(self._sentence.text)):
            return False
        does = cue.after
        if does and does.tag == "VBG" and known.isdisjoint(lexemes(does.text)):
            return False
        verb = cue.governing_verb
        if cue.lemma in _HINTS["denying"] and verb.lemma not in _HINTS["light"]:
            things = filter(self._is_thing, self._near(verb))
            named = any(known & set(lexemes(thing.text)) for thing in things)
            return named or not known.isdisjoint(lexemes(verb.lemma))
        if cue.lemma in _HINTS["repaying"] and known.isdisjoint(_DEBTS):
            return False
        if cue.lemma in _HINTS["passing_on"] and self._is_of_its_own(cue, told):
            return False
        if cue.lemma in _HINTS["parting_from"]:
            agents = [by for by in self.agents(cue) if self._is_thing(by) or is_person(by)]
            return not agents or any(known & set(lexemes(by.text)) for by in agents)
        return True

    def _is_of_its_own(self, cue: Word, told: Sentence) -> bool:
        """Return True for "the map shows an island" if somebody stole the map."""
        things = lexemes_of(word.text for word in self.patients(cue))
        return any(
            root.lemma not in _HINTS["light"]
            and root.lemma not in WORDS["lying"]
            and things & lexemes_of(w.text for w in root.children("nsubj") if not is_person(w))
            for root in told.roots
        )

    def _parts_from(self, told: Sentence) -> bool:
        """Return True for "switched from X to Y", where the other sentence tells of X."""
        named = lexemes_of(
            word.text
            for word in told.words
            if (word.is_noun or word.tag == "CD") and not is_person(word)
        )
        return any(
            word.lemma == "from"
            and self._shifts(word)
            and any(named & set(lexemes(child.text)) for child in word.children("pobj"))
            for word in self._words
        )

    def _shifts(self, way: Word) -> bool:
        """Return True for the "from" of "switched from" and "was put off from X to Y"."""
        verb = way.governing_verb
        if not verb.is_verb or not self.is_told(verb):
            return False
        to = any(word.lower in ("to", "into") for word in way.following(5))
        past = verb.tag in ("VBD", "VBN")
        changes = verb.lemma in WORDS["changing"]
        numbers = any(word.tag == "CD" for word in way.children("pobj"))
        return changes or (to and past and numbers)

    def _denies_value(self, told: Sentence) -> bool:
        """Return True for "the flight is from Luton, not Gatwick", if the other is of Gatwick.

        Not if it speaks of somebody of whom neither the other nor the question does.
        """
        known = self._known(told)
        if any(is_person(word) and known.isdisjoint(lexemes(word.text)) for word in self._words):
            return False
        values = lexemes_of(word.text for word in told.words if _is_value(word))
        values -= self._query.all_stems
        return any(
            (word.lower == "not" and not word.head.is_verb)
            or self._sentence.phrase((word, *word.following(1))).casefold() == "instead of"
            for word in self._words[:-1]
            if any(
                _is_value(after) and values.intersection(lexemes(after.text))
                for after in word.following(3)
            )
        )

    def _is_otherwise(self, told: Sentence) -> bool:
        """Return True for "is home again" and "has been stable", of what was "in hospital", "down".

        Only of where or how something is for a while, not of what it is.
        """
        subject = self._query.subject
        own = self._words_for(subject) if subject is not None else set()
        query = self._query
        state = query.light_verb == "be" or query.passive or query.asks_presence
        if state and self._is_as_before(told):
            return True
        if not state or not any(
            _is_passing(verb) or verb.lemma in _HINTS["failing"]
            for verb in told.words
            if verb.is_verb
        ):
            return False
        return any(
            self._is_in_new_state(root, own, told) or self._is_restored(root, own)
            for root in self._sentence.roots
        )

    def _is_as_before(self, told: Sentence) -> bool:
        """Return True for "env up again" and "the lift works again", of what is "down"."""
        spoken = {word.lower for word in self._words}
        bad = _HINTS["out_of_order"]
        if spoken.isdisjoint(("again", "back")) or not spoken.isdisjoint(bad):
            return False
        if any(word.lemma in _HINTS["failing"] for word in self._words):
            return False
        named = any(
            self._words_for(term)
            for term in self._query.terms
            if not term.is_self and entity_norm(term.text) not in bad
        )
        failed = _HINTS["failing"]
        return named and any(word.lower in bad or word.lemma in failed for word in told.words)

    def _is_in_new_state(self, verb: Word, own: Set[Word], told: Sentence) -> bool:
        """Return True for "is home", if the other sentence has no such word."""
        if verb.lemma != "be" or not self.agents(verb) & own:
            return False
        stated = _states(verb)
        if tense_of(verb) not in ("present", "perfect") or not stated:
            return False
        known = self._known(told)
        where = [word for word in stated if _tells_where(word)] or stated
        return known.isdisjoint(lexemes(" ".join(word.text for word in where)))

    def _is_restored(self, verb: Word, own: Set[Word]) -> bool:
        """Return True for "was repaired", "has reopened"."""
        done = verb.tag in ("VBD", "VBN") and not verb.is_denied
        of_it = (self.agents(verb) | self.patients(verb)) & own
        return verb.lemma in _HINTS["restoring"] and done and bool(of_it)

    def _known(self, told: Sentence) -> frozenset[str]:
        """Return the lexemes of another sentence and of the question."""
        return self._query.all_stems.union(
            *(lexemes(word.lemma) for word in told.words), lexemes(told.text)
        )

    def _is_private(self, told: Sentence) -> bool:
        """Return True for what somebody did, has, likes or can, whatever they work as."""
        if all(word.tag == "VBD" for word in told.roots):
            return True
        verbs = {word.lemma for word in told.roots} | {self._query.action}
        return not verbs.isdisjoint(_HINTS["private"])

    def _is_with_another(self, told: Sentence) -> bool:
        """Return True for "no longer plays with Ira", if Ira was not mentioned before."""
        known = self._query.all_stems.union(lexemes(told.text))
        return any(
            word.is_proper
            and not word.is_time
            and word.dep == "pobj"
            and word.head.lemma in ("with", "at", "in", "for")
            and known.isdisjoint(lexemes(word.text))
            for word in self._words
        )

    def _near(self, verb: Word) -> set[Word]:
        """Return the nouns of a verb: its subject, its object, and those after "off"."""
        deps = ("nsubj", "nsubjpass", "dobj", "attr", "oprd", "dative")
        found = set(verb.children(*deps))
        ways = verb.children("prep", "agent", "prt")
        found.update(word for way in ways for word in way.children("pobj"))
        waiting = [*found]
        for noun in waiting:
            waiting += noun.children("compound", "poss", "appos", "conj", "nmod")
        return set(waiting)

    def _is_somebody(self, word: Word) -> bool:
        if word.is_proper and titles_of(word) | titles_of(word.head):
            return True  # "Dr Hale"
        return is_person(word) or word.tag in ("PRP", "PRP$") or is_person_noun(word)

    def _is_thing(self, word: Word) -> bool:
        return word.is_noun and not is_person(word) and not word.is_time

    # Tense

    def _is_of_that_tense(self, verb: Word) -> bool:
        """Return True if a verb's tense proves what is asked: "has paid" proves "did pay"."""
        asked, told = self._query.tense, tense_of(verb)
        if self._query.still:
            return True
        if asked in ("past", "perfect"):
            return told in ("past", "perfect")
        if asked == "future":
            return told in ("future", "present")
        return told == "present" or (told in ("past", "perfect") and self._lasts(verb, told))

    def _lasts(self, verb: Word, told: str) -> bool:
        """Return True for an event whose result lasts: "moved to"."""
        if verb.lemma in WORDS["lasting"] and verb.lemma != self._query.action:
            return True
        since = any(child.lower in _EVER_SINCE for child in verb.children())
        return told == "perfect" and (self._query.passive or since)

    # What limits it

    def _is_of_all(self, verb: Word, retractions: Sequence[Word], denied: bool) -> bool:
        """Return True if a sentence is about exactly what is asked, without limits."""
        terms = [term for term in self._query.terms if not term.is_self]
        denials = {*retractions, *self._at_all(retractions)}
        return not self._is_on_occasion(verb, denials, denied) and all(
            any(
                (
                    term is self._query.subject
                    or (
                        self.is_direct(word, verb, term)
                        and self.has_matching_preposition(word, term)
                    )
                )
                and (term.is_name or not self._is_one_of_a_kind(word, term, verb, denied))
                for word in self._at[term.text]
            )
            for term in terms
            if self._at.get(term.text)
        )

    def _is_on_occasion(self, verb: Word, denials: Set[Word], denied: bool) -> bool:
        """Return True if a limit that was not asked for is with a verb: "at night".

        Args:
            verb: the verb.
            denials: words that deny it, or strengthen that: "no longer", "at all".
            denied: it is denied.
        """
        predicate = verb.dep == "acomp"
        heads = {verb, verb.head} if predicate else {verb}
        below = {word for head in heads for word in head.children()} - heads
        tense = tense_of(verb)
        state = predicate or verb.tag in ("VBN", "JJ")
        return any(
            self._is_limiting(word, tense, denied=denied, state=state)
            for word in below
            if word not in self.matched() and denials.isdisjoint(word.subtree())
        )

    def _is_limiting(self, word: Word, tense: str, *, denied: bool, state: bool) -> bool:
        if word.dep in ("advmod", "npadvmod") and word.lower in WORDS["no_limits"]:
            return False
        if word.dep == "advmod" and not denied and not word.label:
            return word.tag == "WRB"
        adjunct = word.dep in ("prep", "npadvmod", "advmod", "advcl", "pcomp")
        if not adjunct or self._is_spoken_of(word):
            return False
        if any(below.is_time for below in word.subtree()):
            return denied or (tense == "present" and not self._is_of_now(word))
        if denied:
            return True
        if tense != "present" or word.dep not in ("prep", "advcl"):
            return False
        if word.dep == "advcl":
            return any(child.lemma in WORDS["conditions"] for child in word.children())
        things = word.children("pobj")
        proper = bool(things) and all(thing.is_proper for thing in things)
        return word.lemma in WORDS["occasions"] and (state or not proper)

    def _is_spoken_of(self, word: Word) -> bool:
        """Return True if the question has a word and all that depends on it."""
        if self.matched().intersection(word.subtree()):
            return True
        words = lexemes(word.phrase)
        return self._query.all_stems.issuperset(words) and bool(words)

    def _is_of_now(self, word: Word) -> bool:
        below = [child.lower for child in word.subtree()]
        return bool(WORDS["nowadays"].intersection(below)) or below[0] == "since"

    def _is_one_of_a_kind(self, noun: Word, term: Term, verb: Word, denied: bool) -> bool:
        """Return True for a special case of the kind asked about: "hates cold coffee"."""
        if not noun.is_noun:
            return False
        apart = [word for word in noun.children() if self._tells_apart(word)]
        likes = bool(_FEELING & (self._query.verb | set(lexemes(verb.lemma))))
        some = term.article in ("a", "an", "any", "some") or (
            noun.tag == "NNS" and not term.article and tense_of(verb) != "present"
        )
        return bool(apart) and (denied or likes or not some)

    def _tells_apart(self, word: Word) -> bool:
        """Return True if a dependent word makes a noun another thing than the one asked about."""
        if word.dep not in ("amod", "poss", "compound", "nmod", "prep", "relcl", "acl", "nummod"):
            return False
        if word.dep == "poss" and word.tag == "PRP$":
            return False
        if word.lower in WORDS["whole"] or word.is_time:
            return False
        times = any(child.is_time for child in word.subtree())
        loose = word.dep == "prep" and (times or word.lemma in ("with", "to", "by", "as"))
        return not loose and not self._is_spoken_of(word)

    def _is_arranged_for(self, verb: Word) -> bool:
        """Return True for an arranged future that may be over when asked: "is moving in May"."""
        helpers = (word.tag for word in verb.children("aux"))
        times = (child.is_time for child in verb.subtree())
        plan = verb.tag == "VBG" and verb.lemma in WORDS["coming"]
        return plan and not {"VBZ", "VBP"}.isdisjoint(helpers) and any(times)

    def _is_quit(self, word: Word) -> bool:
        """Return True for an activity that somebody gave up: "quit smoking"."""
        quits = word.head.lemma in ("quit", "stop")
        return quits and word.dep in ("xcomp", "dobj") and bool(self.agents(word.head) & self._own)

    def _is_plain(self, verb: Word, retractions: Sequence[Word]) -> bool:
        """Return True if the main clause has this verb and no limits."""
        while verb.dep in ("acomp", "conj") and not verb.is_root:
            verb = verb.head
        able = self._query.asks_ability
        retractions = (*retractions, *self._at_all(retractions))
        limits = (
            word.dep == "neg"
            or word.text.casefold() in WORDS["limits"]
            or (word.tag == "MD" and not (able and word.lemma in ("can", "ca", "could")))
            for word in self._words
            if word not in retractions
        )
        return self._is_main(verb) and not any(limits)

    def _at_all(self, retractions: Sequence[Word]) -> Iterator[Word]:
        """Yield words that strengthen a denial: "at all", and "any more" for "still"."""
        for word in self._words:
            before = word.before.text if word.before else ""
            more = self._query.still and (before, word.text) == ("any", "more")
            more = more or (self._query.still and word.text == "anymore")
            if retractions and (more or (before, word.text) == ("at", "all")):
                yield word

    def _is_main(self, verb: Word) -> bool:
        """Return True for the verb of a main clause, juxtaposed ones included."""
        beside = verb.dep == "ccomp" and verb < verb.head and not verb.child("mark")
        told = verb.head.lemma in WORDS["saying"] | WORDS["states"]
        return verb.is_root or (beside and not told)


def _is_value(word: Word) -> bool:
    return word.is_proper or word.tag == "CD"


def _is_part(word: Word) -> bool:
    """Return True for a noun that only tells what kind another one is: "plot rent"."""
    return word.dep == "compound" and not word.is_proper and not word.head.is_proper


def _states(verb: Word) -> list[Word]:
    """Return the words of where or how something is: "in hospital", "home", "stable"."""
    if verb.is_denied or not all(map(_tells_where, verb.children("attr"))):
        return []
    below = (*verb.children("acomp"), *_places(verb))
    return [word for state in below for word in state.subtree()]


def _places(verb: Word) -> list[Word]:
    ways = [word for word in verb.children("prep") if word.lower in _PLACING]
    return [*ways, *filter(_tells_where, verb.children("advmod", "prt", "attr"))]


def _tells_where(word: Word) -> bool:
    return word.lower in _HINTS["whereabouts"]


def _is_passing(verb: Word) -> bool:
    """Return True for "is in hospital", "is down": so for a while."""
    if _tells_where(verb):  # "is closed"
        return True
    placed = bool(_places(verb)) or any(map(_tells_where, verb.children("acomp")))
    return verb.lemma == "be" and placed
