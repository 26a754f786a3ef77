"""Yes or no: what a sentence proves of what a yes-or-no question asks, if it proves anything.

It proves something if its main clause says it or denies it plainly, in the tense that is asked of,
of the very thing, and on no occasion or condition that the question does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from hindsight_integrations.nlp import syntax
from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.sentences import Sentence
from hindsight_integrations.nlp.syntax import Word
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
        retractions = self._sentence.children(verb, "neg")
        if self._query.still:
            retractions = (*retractions, *self._no_longer(verb))
        if self._words[verb].dep == "acomp":
            retractions = (*retractions, *self._sentence.children(self._words[verb].head, "neg"))
        disliked = self.is_disliking(verb)
        if disliked and retractions:
            if self._words[verb].lemma in WORDS["disliking"]:
                return None  # "I don't hate it"
            retractions = (*retractions, *self._sentence.children(verb, "aux"))
        if self._query.still and self._is_quit(verb):
            return False
        unsure = (self._query.asks_presence and not self._query.still) or self._is_arranged_for(
            verb
        )
        if unsure or not self._is_plain(verb, retractions):
            return None
        left = self._is_left()
        gone = left or (self._query.action in LIVING and has_left(self._sentence, verb))
        if self._query.still and self._words[verb].tag == "VBD" and not gone:
            return None  # "the pump broke" long ago
        denied = bool(retractions or disliked)
        proven = self._is_of_that_tense(verb) and self._is_of_all(verb, retractions, denied)
        if not (gone or proven):
            return None
        return not (denied or gone)

    def _is_left(self) -> bool:
        """Return True for a place that was left: "Porto" of "moved from Porto to Lisbon"."""
        return any(
            self._words[i].dep == "pobj"
            and term.preposition != "from"
            and self._sentence.head(i).lemma == "from"
            and self._is_leaving(self._sentence.head(i).head)
            for term in self._query.terms
            for i in self._at.get(term.text, ())
        )

    def _is_leaving(self, verb: int) -> bool:
        word = self._words[verb]
        return word.is_verb and word.lemma in WORDS["parting"] | WORDS["changing"]

    # What may have ended

    def is_pending(self) -> bool:
        """Return True if what is asked about was not done so far: "has not paid yet"."""
        return any(
            self._sentence.is_denied(verb)
            and any(
                word.lower in ("yet", "still") for word in self._sentence.dependents(verb, "advmod")
            )
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
        verb = self._sentence.governing_verb(cue)
        near = self._near(verb) | self._near(cue)
        people = {i for i in near if self._is_somebody(i)}
        asked = {
            i
            for term in self._query.terms
            if not (term.is_self or term.is_name)
            for i in self._positions(term)
        }
        asked = {i for i in asked if not self._is_only_part(self._words[i], told)}
        asked.update(
            i for i in near if self._query.verb & set(lexemes(self._words[i].text))
        )  # "broke off the engagement", asked who Ana is engaged to
        named = lexemes_of(
            word.text for word in told.words if self._is_thing(word) and not _is_part(word, told)
        )
        things = {i for i in near - people if self._is_thing(self._words[i])}
        if near & asked or any(named & set(lexemes(self._words[i].text)) for i in things):
            return True
        names = {entity_norm(word.text) for word in told.words if is_person(word)}
        own = {i for term in self._query.terms for i in self._positions(term)}
        own -= {i for i in own if self._is_only_part(self._words[i], told)}
        own |= {i for i in people if entity_norm(self._words[i].text) in names}
        kinds = kind_nouns(self._query.action)
        if not people - own and any(self._words[i].lemma in kinds for i in things):
            return True  # "the car was written off"
        kinds |= kind_nouns("work")
        if self._words[cue].lemma in _HINTS["leaving_work"] and self._is_private(told):
            return False
        if people - own and all(self._words[i].dep == "poss" for i in near & own):
            return False  # "after his father died"
        return bool(near & own) and all(self._words[i].lemma in kinds for i in things - own)

    def _is_over(self, told: Sentence) -> bool:
        """Return True for "the diet is over", if the other sentence or the question has a diet."""
        known = self._known(told)
        return any(
            self._words[over].lower in _HINTS["over"]
            and not self._sentence.children(over, "pobj")
            and not self._sentence.is_denied(verb)
            and any(
                known.intersection(lexemes(self._words[j].text))
                for i in self.agents(verb)
                for j in self._sentence.subtree(i)
            )
            for verb, word in enumerate(self._words)
            if word.lemma == "be"
            for over in self._sentence.children(verb, "advmod", "acomp", "prt", "prep", "attr")
        )

    def _leaves_what_is_told(self, told: Sentence) -> bool:
        """Return True for "quit Greggs", if the other sentence puts the same person there."""
        subject = self._query.subject
        own = self._positions(subject) if subject is not None else set()
        of_subject = subject.stems if subject is not None else frozenset[str]()
        places = lexemes_of(word.text for word in told.words if word.is_proper) - of_subject
        return any(
            bool(self.agents(verb) & own)
            and (word.tag in ("VBD", "VBN") or word.tag + word.text == "VBPquit")
            and not self._sentence.is_denied(verb)
            and any(
                places.intersection(lexemes(self._words[i].text)) for i in self._near(verb) - own
            )
            for verb, word in enumerate(self._words)
            if word.lemma in _HINTS["parting_from"]
        )

    def _is_only_part(self, word: Word, told: Sentence) -> bool:
        """Return True for the "plot" of "gave up plot 14", where the other has "plot rent"."""
        same = [other for other in told.words if set(lexemes(other.text)) & set(lexemes(word.text))]
        return bool(same) and all(_is_part(o, told) for o in same) and word.dep != "compound"

    def _is_end_of(self, cue: int, told: Sentence) -> bool:
        """Return False for an end of another thing than the other sentence or the question has.

        That is what somebody else is said to say, who "stopped smoking" if it is asked what they
        drive, who "cannot come after all" of one who lives somewhere, and who left a company of
        which it is told what it is.
        """
        word, known = self._words[cue], self._known(told)
        if cue in reported(syntax.parse(self._sentence.text)):
            return False
        does = self._words[cue + 1 : cue + 2]
        if does and does[0].tag == "VBG" and known.isdisjoint(lexemes(does[0].text)):
            return False
        verb = self._sentence.governing_verb(cue)
        if word.lemma in _HINTS["denying"] and self._words[verb].lemma not in _HINTS["light"]:
            things = {i for i in self._near(verb) if self._is_thing(self._words[i])}
            named = any(known & set(lexemes(self._words[i].text)) for i in things)
            return named or not known.isdisjoint(lexemes(self._words[verb].lemma))
        if word.lemma in _HINTS["repaying"] and known.isdisjoint(_DEBTS):
            return False
        if word.lemma in _HINTS["passing_on"] and self._is_of_its_own(cue, told):
            return False
        if word.lemma in _HINTS["parting_from"]:
            agents = [
                i
                for i in self.agents(cue)
                if self._is_thing(self._words[i]) or is_person(self._words[i])
            ]
            return not agents or any(known & set(lexemes(self._words[i].text)) for i in agents)
        return True

    def _is_of_its_own(self, cue: int, told: Sentence) -> bool:
        """Return True for "the map shows an island" if somebody stole the map."""
        things = lexemes_of(self._words[i].text for i in self.patients(cue))
        return any(
            told.words[root].lemma not in _HINTS["light"]
            and told.words[root].lemma not in WORDS["lying"]
            and things
            & lexemes_of(w.text for w in told.dependents(root, "nsubj") if not is_person(w))
            for root in told.roots()
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
            and self._shifts(way)
            and any(
                named & set(lexemes(child.text)) for child in self._sentence.dependents(way, "pobj")
            )
            for way, word in enumerate(self._words)
        )

    def _shifts(self, way: int) -> bool:
        """Return True for the "from" of "switched from" and "was put off from X to Y"."""
        verb = self._sentence.governing_verb(way)
        if not self._words[verb].is_verb or not self.is_told(verb):
            return False
        to = any(word.lower in ("to", "into") for word in self._words[way + 1 : way + 6])
        past = self._words[verb].tag in ("VBD", "VBN")
        changes = self._words[verb].lemma in WORDS["changing"]
        numbers = any(word.tag == "CD" for word in self._sentence.dependents(way, "pobj"))
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
            (word.lower == "not" and not self._words[word.head].is_verb)
            or self._sentence.phrase(range(i, i + 2)).casefold() == "instead of"
            for i, word in enumerate(self._words[:-1])
            if any(
                _is_value(after) and values.intersection(lexemes(after.text))
                for after in self._words[i + 1 : i + 4]
            )
        )

    def _is_otherwise(self, told: Sentence) -> bool:
        """Return True for "is home again" and "has been stable", of what was "in hospital", "down".

        Only of where or how something is for a while, not of what it is.
        """
        subject = self._query.subject
        own = self._positions(subject) if subject is not None else set()
        query = self._query
        state = query.light_verb == "be" or query.passive or query.asks_presence
        if state and self._is_as_before(told):
            return True
        if not state or not any(
            _is_passing(told, i) or word.lemma in _HINTS["failing"]
            for i, word in enumerate(told.words)
            if word.is_verb
        ):
            return False
        return any(
            self._is_in_new_state(i, own, told) or self._is_restored(i, own)
            for i in self._sentence.roots()
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
            self._positions(term)
            for term in self._query.terms
            if not term.is_self and entity_norm(term.text) not in bad
        )
        failed = _HINTS["failing"]
        return named and any(word.lower in bad or word.lemma in failed for word in told.words)

    def _is_in_new_state(self, verb: int, own: Set[int], told: Sentence) -> bool:
        """Return True for "is home", if the other sentence has no such word."""
        if self._words[verb].lemma != "be" or not self.agents(verb) & own:
            return False
        stated = [self._words[i] for i in _states(self._sentence, verb)]
        if tense_of(self._sentence, verb) not in ("present", "perfect") or not stated:
            return False
        known = self._known(told)
        where = [word for word in stated if _tells_where(word)] or stated
        return known.isdisjoint(lexemes(" ".join(word.text for word in where)))

    def _is_restored(self, verb: int, own: Set[int]) -> bool:
        """Return True for "was repaired", "has reopened"."""
        done = self._words[verb].tag in ("VBD", "VBN") and not self._sentence.is_denied(verb)
        of_it = (self.agents(verb) | self.patients(verb)) & own
        return self._words[verb].lemma in _HINTS["restoring"] and done and bool(of_it)

    def _known(self, told: Sentence) -> frozenset[str]:
        """Return the lexemes of another sentence and of the question."""
        return self._query.all_stems.union(
            *(lexemes(word.lemma) for word in told.words), lexemes(told.text)
        )

    def _is_private(self, told: Sentence) -> bool:
        """Return True for what somebody did, has, likes or can, whatever they work as."""
        if all(told.words[i].tag == "VBD" for i in told.roots()):
            return True
        verbs = {told.words[i].lemma for i in told.roots()} | {self._query.action}
        return not verbs.isdisjoint(_HINTS["private"])

    def _is_with_another(self, told: Sentence) -> bool:
        """Return True for "no longer plays with Ira", if Ira was not mentioned before."""
        known = self._query.all_stems.union(lexemes(told.text))
        return any(
            word.is_proper
            and not word.is_time
            and word.dep == "pobj"
            and self._words[word.head].lemma in ("with", "at", "in", "for")
            and known.isdisjoint(lexemes(word.text))
            for word in self._words
        )

    def _near(self, verb: int) -> set[int]:
        """Return the nouns of a verb: its subject, its object, and those after "off"."""
        deps = ("nsubj", "nsubjpass", "dobj", "attr", "oprd", "dative")
        found = set(self._sentence.children(verb, *deps))
        ways = self._sentence.children(verb, "prep", "agent", "prt")
        found.update(i for way in ways for i in self._sentence.children(way, "pobj"))
        waiting = [*found]
        for noun in waiting:
            waiting += self._sentence.children(noun, "compound", "poss", "appos", "conj", "nmod")
        return set(waiting)

    def _is_somebody(self, index: int) -> bool:
        word = self._words[index]
        if word.is_proper and titles_of(self._words, index) | titles_of(self._words, word.head):
            return True  # "Dr Hale"
        return is_person(word) or word.tag in ("PRP", "PRP$") or is_person_noun(word)

    def _is_thing(self, word: Word) -> bool:
        return word.is_noun and not is_person(word) and not word.is_time

    # Tense

    def _is_of_that_tense(self, verb: int) -> bool:
        """Return True if a verb's tense proves what is asked: "has paid" proves "did pay"."""
        asked, told = self._query.tense, tense_of(self._sentence, verb)
        if self._query.still:
            return True
        if asked in ("past", "perfect"):
            return told in ("past", "perfect")
        if asked == "future":
            return told in ("future", "present")
        return told == "present" or (told in ("past", "perfect") and self._lasts(verb, told))

    def _lasts(self, verb: int, told: str) -> bool:
        """Return True for an event whose result lasts: "moved to"."""
        query, word = self._query, self._words[verb]
        if word.lemma in WORDS["lasting"] and word.lemma != query.action:
            return True
        since = any(child.lower in _EVER_SINCE for child in self._sentence.dependents(verb))
        return told == "perfect" and (query.passive or since)

    # What limits it

    def _is_of_all(self, verb: int, retractions: Sequence[int], denied: bool) -> bool:
        """Return True if a sentence is about exactly what is asked, without limits."""
        terms = [term for term in self._query.terms if not term.is_self]
        denials = {*retractions, *self._at_all(retractions)}
        return not self._is_on_occasion(verb, denials, denied) and all(
            any(
                (
                    term is self._query.subject
                    or (self.is_direct(i, verb, term) and self.has_matching_preposition(i, term))
                )
                and (term.is_name or not self._is_one_of_a_kind(i, term, verb, denied))
                for i in self._at[term.text]
            )
            for term in terms
            if self._at.get(term.text)
        )

    def _is_on_occasion(self, verb: int, denials: Set[int], denied: bool) -> bool:
        """Return True if a limit that was not asked for is with a verb: "at night".

        Args:
            verb: the verb.
            denials: words that deny it, or strengthen that: "no longer", "at all".
            denied: it is denied.
        """
        predicate = self._words[verb].dep == "acomp"
        heads = {verb, self._words[verb].head} if predicate else {verb}
        below = {i for head in heads for i in self._sentence.children(head)} - heads
        tense = tense_of(self._sentence, verb)
        state = predicate or self._words[verb].tag in ("VBN", "JJ")
        return any(
            self._is_limiting(i, tense, denied=denied, state=state)
            for i in below
            if i not in self.matched() and denials.isdisjoint(self._sentence.subtree(i))
        )

    def _is_limiting(self, index: int, tense: str, *, denied: bool, state: bool) -> bool:
        word = self._words[index]
        if word.dep in ("advmod", "npadvmod") and word.lower in WORDS["no_limits"]:
            return False
        if word.dep == "advmod" and not denied and not word.label:
            return word.tag == "WRB"
        adjunct = word.dep in ("prep", "npadvmod", "advmod", "advcl", "pcomp")
        if not adjunct or self._is_spoken_of(index):
            return False
        if any(self._words[i].is_time for i in self._sentence.subtree(index)):
            return denied or (tense == "present" and not self._is_of_now(index))
        if denied:
            return True
        if tense != "present" or word.dep not in ("prep", "advcl"):
            return False
        if word.dep == "advcl":
            return any(
                child.lemma in WORDS["conditions"] for child in self._sentence.dependents(index)
            )
        things = self._sentence.children(index, "pobj")
        proper = bool(things) and all(self._words[i].is_proper for i in things)
        return word.lemma in WORDS["occasions"] and (state or not proper)

    def _is_spoken_of(self, index: int) -> bool:
        """Return True if the question has a word and all that depends on it."""
        below = self._sentence.subtree(index)
        if self.matched().intersection(below):
            return True
        words = lexemes(self._sentence.phrase(below))
        return self._query.all_stems.issuperset(words) and bool(words)

    def _is_of_now(self, index: int) -> bool:
        below = [self._words[i].lower for i in self._sentence.subtree(index)]
        return bool(WORDS["nowadays"].intersection(below)) or below[0] == "since"

    def _is_one_of_a_kind(self, noun: int, term: Term, verb: int, denied: bool) -> bool:
        """Return True for a special case of the kind asked about: "hates cold coffee"."""
        if not self._words[noun].is_noun:
            return False
        apart = [i for i in self._sentence.children(noun) if self._tells_apart(i)]
        likes = bool(_FEELING & (self._query.verb | set(lexemes(self._words[verb].lemma))))
        some = term.article in ("a", "an", "any", "some") or (
            self._words[noun].tag == "NNS"
            and not term.article
            and tense_of(self._sentence, verb) != "present"
        )
        return bool(apart) and (denied or likes or not some)

    def _tells_apart(self, index: int) -> bool:
        """Return True if a dependent word makes a noun another thing than the one asked about."""
        word = self._words[index]
        if word.dep not in ("amod", "poss", "compound", "nmod", "prep", "relcl", "acl", "nummod"):
            return False
        if word.dep == "poss" and word.tag == "PRP$":
            return False
        if word.lower in WORDS["whole"] or word.is_time:
            return False
        times = any(self._words[i].is_time for i in self._sentence.subtree(index))
        loose = word.dep == "prep" and (times or word.lemma in ("with", "to", "by", "as"))
        return not loose and not self._is_spoken_of(index)

    def _is_arranged_for(self, verb: int) -> bool:
        """Return True for an arranged future that may be over when asked: "is moving in May"."""
        helpers = (word.tag for word in self._sentence.dependents(verb, "aux"))
        times = (self._words[i].is_time for i in self._sentence.subtree(verb))
        plan = self._words[verb].tag == "VBG" and self._words[verb].lemma in WORDS["coming"]
        return plan and not {"VBZ", "VBP"}.isdisjoint(helpers) and any(times)

    def _is_quit(self, verb: int) -> bool:
        """Return True for an activity that somebody gave up: "quit smoking"."""
        word = self._words[verb]
        quits = self._words[word.head].lemma in ("quit", "stop")
        return quits and word.dep in ("xcomp", "dobj") and bool(self.agents(word.head) & self._own)

    def _is_plain(self, verb: int, retractions: Sequence[int]) -> bool:
        """Return True if the main clause has this verb and no limits."""
        while self._words[verb].dep in ("acomp", "conj") and self._words[verb].head != verb:
            verb = self._words[verb].head
        able = self._query.asks_ability
        retractions = (*retractions, *self._at_all(retractions))
        limits = (
            word.dep == "neg"
            or word.text.casefold() in WORDS["limits"]
            or (word.tag == "MD" and not (able and word.lemma in ("can", "ca", "could")))
            for i, word in enumerate(self._words)
            if i not in retractions
        )
        return self._is_main(verb) and not any(limits)

    def _at_all(self, retractions: Sequence[int]) -> Iterator[int]:
        """Yield words that strengthen a denial: "at all", and "any more" for "still"."""
        for index, word in enumerate(self._words):
            before = self._words[index - 1].text if index else ""
            more = self._query.still and (before, word.text) == ("any", "more")
            more = more or (self._query.still and word.text == "anymore")
            if retractions and (more or (before, word.text) == ("at", "all")):
                yield index

    def _is_main(self, verb: int) -> bool:
        """Return True for the verb of a main clause, juxtaposed ones included."""
        word, head = self._words[verb], self._sentence.head(verb)
        beside = (
            word.dep == "ccomp" and verb < word.head and not self._sentence.children(verb, "mark")
        )
        told = head.lemma in WORDS["saying"] | WORDS["states"]
        return verb in self._sentence.roots() or (beside and not told)


def _is_value(word: Word) -> bool:
    return word.is_proper or word.tag == "CD"


def _is_part(word: Word, sentence: Sentence) -> bool:
    """Return True for a noun that only tells what kind another one is: "plot rent"."""
    head = sentence.words[word.head]
    return word.dep == "compound" and not word.is_proper and not head.is_proper


def _states(sentence: Sentence, verb: int) -> list[int]:
    """Return the words of where or how something is: "in hospital", "home", "stable"."""
    nouns = sentence.dependents(verb, "attr")
    if sentence.is_denied(verb) or not all(map(_tells_where, nouns)):
        return []
    below = (*sentence.children(verb, "acomp"), *_places(sentence, verb))
    return [j for i in below for j in sentence.subtree(i)]


def _places(sentence: Sentence, verb: int) -> list[int]:
    ways = [i for i in sentence.children(verb, "prep") if sentence.words[i].lower in _PLACING]
    others = sentence.children(verb, "advmod", "prt", "attr")
    return [*ways, *(i for i in others if _tells_where(sentence.words[i]))]


def _tells_where(word: Word) -> bool:
    return word.lower in _HINTS["whereabouts"]


def _is_passing(sentence: Sentence, verb: int) -> bool:
    """Return True for "is in hospital", "is down": so for a while."""
    adjectives = sentence.dependents(verb, "acomp")
    participle = _tells_where(sentence.words[verb])  # "is closed"
    placed = bool(_places(sentence, verb)) or any(map(_tells_where, adjectives))
    return participle or (sentence.words[verb].lemma == "be" and placed)
