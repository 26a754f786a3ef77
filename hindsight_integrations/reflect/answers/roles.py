"""Roles in a sentence (agent, action, patient), compared with those in a question.

A sentence fits a question if it speaks of all that the question speaks of, in the same roles (who
does what to whom, what is whose), as a fact.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.reflect.answers.factual import (
    has_arrived,
    has_left,
    is_another_event,
    is_beside,
    is_done_by_noun,
    is_modifier,
    is_only_wished,
    is_rumoured,
    is_told,
)
from hindsight_integrations.reflect.answers.named import is_person
from hindsight_integrations.reflect.answers.questions import (
    KINDS,
    WORDS,
    Asked,
    Term,
    stems,
)
from hindsight_integrations.reflect.answers.stated import (
    THIRD,
    is_guess,
    same_thing,
    speaker_of,
)
from hindsight_integrations.reflect.answers.terms import TermMatch, is_part_of

_USES = lexemes_of(("use", "have", "own", "work"))
_WORK = frozenset(lexemes("work"))
_CONVERSE = {
    verb: frozenset(
        stem
        for word in (*gets.split(), *(("have",) if lasts else ()))
        for stem in lexemes(word) or (word,)  # "get" is no term of the index
    )
    for verb, gets, lasts in (
        ("sell", "buy purchase get acquire", False),
        ("lend", "borrow get", True),
        ("loan", "borrow get", True),
        ("give", "get receive", True),
        ("hand", "get receive", True),
        ("send", "get receive", False),
    )
}
"""Verbs by which a thing goes to somebody, with the stems of what that person then does."""
_RELATIONS = frozenset(
    stem for verb in word_sets("kinds", "relations")["uses"] for stem in (*lexemes(verb), verb)
)
_LYING = ("in", "at", "to", "from", "for", "of")
"""Prepositions of the place where somebody lives or works, or did."""
_CONTRASTS = frozenset({"while", "whereas", "though", "although", "because", "since"})
_EVENTS = lexemes_of(WORDS["events"])
_OF_ANY = frozenset({Asked.WHETHER, Asked.SAID, Asked.EVENTS})
"""Questions to which what is not so may be quoted, without a yes."""
_DONE_BY_ONE = frozenset({Asked.WHO, Asked.WHAT, Asked.WHERE, Asked.WHETHER})
"""Questions of what somebody does, which a noun of the matter alone does not tell."""
_PLACING = frozenset({"in", "at", "on", "inside", "near"})
_REPLACING = frozenset({("instead", "of"), ("rather", "than")})
_ALL = frozenset({"all", "both"})
_SAME_WAYS = tuple(
    frozenset(line.split()) for line in table("questions")["ways"]["same"].split("\n")
)
LIKING = lexemes_of(WORDS["liking"])
LIVING = frozenset({"live", "reside", "dwell", "base"})


def are_interchangeable(one: str, other: str) -> bool:
    """Return True if two prepositions may replace one another: "to" and "with"."""
    return one == other or any({one, other} <= ways for ways in _SAME_WAYS)


class RoleMatch(TermMatch):
    """Compares one sentence with one question by the grammatical roles of the question's terms."""

    def fits(self) -> bool:
        """Return True if the sentence states all terms of the question, in their roles."""
        if self._query.asked is Asked.SAID:
            return not self._query.is_negated and self._is_said()
        if is_guess(self._sentence):
            return False
        if not self._query.comparatives <= {word.lower for word in self._words}:
            return False  # "earns more" is not "earns less"
        if self._is_ours() and not self._query.is_negated:
            return True
        for term in self._query.terms:
            found = {
                word
                for word in self._words_for(term)
                if (word.dep != "poss" or self._has_what_is_asked(word, term))
                and self._is_owned(term, word)
                and not (self._query.asked is Asked.WHO and self._is_replaced(word))
            }
            if not found and not self._is_speaker(term):
                return False
            self._at[term.text] = found
        told = bool(self._query.verb) or all(map(self._is_told_of, self._at.values()))
        return told and self._roles_fit() and self._is_of_its_time() and self._is_of_subject()

    def is_told(self, word: Word) -> bool:
        """Return True if a verb states a fact; for a yes-or-no question also if it is denied."""
        query = self._query
        if query.asked in _OF_ANY or (query.asked is Asked.HOW and word.dep == "advcl"):
            done = query.asked is Asked.WHETHER and query.tense in ("past", "perfect")
            rumoured = query.asked is Asked.WHETHER and is_rumoured(word)
            rumoured = rumoured or (done and is_only_wished(word))
            return not rumoured and not is_modifier(word)
        planned = query.future or (query.asked is Asked.WHEN and not query.past)
        return is_told(word, planned, query.past or query.tense == "perfect")

    def _is_asserted(self, verb: Word) -> bool:
        """Return True if a verb states a fact and is not denied."""
        return self.is_told(verb) and not verb.is_denied

    def _asserted(self, lemmas: Container[str]) -> Iterator[Word]:
        """Yield the verbs with these lemmas that state a fact and are not denied."""
        for word in self._words:
            if word.lemma in lemmas and self._is_asserted(word):
                yield word

    def _is_told_of(self, words: set[Word]) -> bool:
        """Return True if one of the words, if any, is in a clause that states a fact."""
        verbs = {word.governing_verb for word in words}
        return not verbs or any(not verb.is_verb or self.is_told(verb) for verb in verbs)

    def matched(self) -> set[Word]:
        """Return the words that match the question."""
        return set().union(*self._at.values(), self.verbs())

    def verbs(self) -> list[Word]:
        """Return the words that match the question's verb."""
        wanted = self._query.verb
        return [
            word
            for word in self._words
            if wanted
            and word.tag != "IN"  # "like the last one"
            and (
                word.lemma in wanted
                or wanted & set(lexemes(word.lemma))
                or wanted & set(lexemes(word.text))
                or (word.lemma == "join" and _WORK & wanted and self._employer(word))
                or self.is_disliking(word)
            )
            if not self._is_other_move(word)
        ]

    def _is_other_move(self, verb: Word) -> bool:
        """Return True for a move that does not say where somebody lives now, or is only a step."""
        query = self._query
        others = any(term is not query.subject for term in query.terms)
        if not others and is_another_event(verb):
            return True
        if query.action not in LIVING or query.past or query.asks_former:
            return False
        left = query.asked is Asked.WHETHER and has_left(verb)
        return not (left or has_arrived(verb))

    def is_disliking(self, word: Word) -> bool:
        """Return True for a verb of dislike, if the question is about not liking something."""
        either = self._query.asked is Asked.WHETHER or self._query.is_negated
        if not either or not self._query.verb & LIKING:
            return False
        denied = word.lemma in WORDS["bearing"] and word.is_denied
        return word.is_verb and (denied or word.lemma in WORDS["disliking"])

    def _receivers(self) -> set[Word]:
        """Return who receives the thing asked about: "Ana" of "lent it to Ana".

        Who bought is to whom one sold, who has or borrowed is to whom one lent.
        """
        has = self._query.light_verb == "have"
        if self._query.asked is not Asked.WHO or (self._query.subject is not None and not has):
            return set()
        asked = self._query.verb or frozenset(lexemes(self._query.light_verb))
        found: set[Word] = set()
        for verb in self._asserted(_CONVERSE):
            gets = _CONVERSE[verb.lemma]
            if not (asked & gets or (has and "have" in gets)):
                continue
            things = {word for thing in verb.children("dobj") for word in thing.subtree()}
            whole = all(
                t.is_self
                or any(self.is_direct(word, verb, t) for word in self._at[t.text] & things)
                for t in self._query.terms
            )
            if not whole:
                continue
            for way in verb.children("prep", "dative"):
                if way.lemma == "to":
                    found.update(way.children("pobj"))
                elif way.dep == "dative":
                    found.add(way)
        return found

    def _is_of_one_clause(self, verb: Word) -> bool:
        """Return True if a verb's own clause contains all terms of the question.

        Of a stay, each also lies there: nobody who "works with a team in Berlin" is in Berlin.
        """
        stays, subject = self._query.asks_presence, self._query.subject
        for term in self._query.terms:
            if term is subject or not self._at[term.text]:
                continue
            places = (word for word in self._at[term.text] if not self._is_part(word))
            paths = (self._path(place, verb) for place in places)
            ways = (path for path in paths if not any(word.is_verb for word in path))
            if not any(
                not stays or all(w.lemma in _LYING for w in path if w.dep == "prep")
                for path in ways
            ):
                return False
        return True

    def _is_part(self, word: Word) -> bool:
        """Return True for a modifying noun, "jazz" of "jazz clubs", whose head is not asked for."""
        return word.dep == "compound" and not word.is_proper and word.head not in self.matched()

    def _path(self, place: Word, verb: Word) -> list[Word]:
        """Return the words above a place in the parse tree, below the verb if it is one of them."""
        above = place.upward()[1:]
        return above[: above.index(verb)] if verb in above else []

    def is_direct(self, place: Word, verb: Word, term: Term) -> bool:
        """Return True if a thing is the direct participant of a verb, not only part of one.

        Of a phrase of a place, such as "in the yard", it is not clear which word it belongs to; it
        is enough if the question has a preposition as well.
        """
        if verb.dep in ("relcl", "acl") and verb.head is place:
            return True
        word = place
        while word is not verb:
            above = word.head
            if word.is_root or (above.is_verb and above is not verb):
                return not word.is_root and self._is_shared(word, above, verb)
            beside = word.dep in ("conj", "appos", "case", "poss") or above in self.matched()
            name = word.dep == "compound" and (
                (word.is_proper and above.is_proper) or above.lemma in WORDS["general"]
            )
            loose = term.preposition and above.dep != "prep" and word.lemma in _PLACING
            counts = above.is_noun or (word.lemma == "of" and above.lower not in _ALL)
            if counts and above is not verb and not (beside or name or loose):
                return False
            word = above
        return True

    def _takes_all(self, verb: Word) -> bool:
        """Return True if a verb governs all terms of the question.

        A pronoun may stand for it: "the crane broke, and Hamid repaired it".
        """
        pronouns = [
            word
            for word in verb.subtree()
            if word.lower in THIRD and word.dep in ("dobj", "dative", "pobj")
        ]
        return all(
            any(
                self._takes(place, verb, term) or any(place < pronoun for pronoun in pronouns)
                for place in self._at[term.text]
            )
            for term in self._query.terms
            if term is not self._query.subject and self._at[term.text]
        )

    def _takes(self, place: Word, verb: Word, term: Term) -> bool:
        if self._query.asked is Asked.WHO:
            return self.is_direct(place, verb, term) and self.has_matching_preposition(place, term)
        return not any(word.is_verb for word in self._path(place, verb))

    def _is_of_its_clause(self, verb: Word) -> bool:
        """Return False if the terms belong to another verb than the one asked about."""
        asked = self._query.asked
        if asked is Asked.WHETHER:
            return self._is_of_one_clause(verb)
        who = asked in (Asked.WHO, Asked.WHAT) and verb.is_verb
        return not who or self._takes_all(verb)

    def _is_replaced(self, verb: Word) -> bool:
        """Return True for what is done no more or left out: "cooks instead of washing up".

        Not if the question has the same word: "who left without paying".
        """
        way = verb.before
        while way and way.before and way.tag in ("DT", "PRP$", "RB"):
            way = way.before
        if way is None:
            return False
        pair = (way.before.lower if way.before else "", way.lower)
        cue = pair[0] if pair in _REPLACING else way.lower
        return cue in ("instead", "rather", "without") and cue not in self._query.all_stems

    def _is_not_done(self, verb: Word) -> bool:
        """Return True if a verb is denied or has ended: "no longer plays", "stopped playing"."""
        if self._is_replaced(verb):
            return True
        above = verb.head
        denied = verb.is_denied or (verb.dep == "acomp" and above.is_denied)
        if self._query.is_negated and self.is_disliking(verb):
            return not denied or verb.lemma in WORDS["bearing"]
        if denied:
            return True
        if self._query.past or self._query.asked not in (Asked.WHO, Asked.WHAT):
            return False
        ended = verb.dep in ("xcomp", "dobj", "pcomp") and above.lemma in WORDS["stopping"]
        return ended or bool(self._no_longer(verb))

    def _no_longer(self, verb: Word) -> tuple[Word, ...]:
        """Return the words "no longer" before a verb; () if it is not there."""
        longer = (word for word in verb.children("advmod") if word.text == "longer")
        return tuple(part for word in longer for part in (*word.children("neg"), word))

    def has_matching_preposition(self, place: Word, term: Term) -> bool:
        """Return False if a thing's preposition contradicts the question's: "to", "from"."""
        while place.dep == "compound":
            place = place.head
        told = place.head.lemma if place.dep == "pobj" else ""
        if told == term.preposition:
            return True
        if told and term.preposition:
            return are_interchangeable(told, term.preposition)
        return (told or term.preposition) not in WORDS["own_ways"]

    def _is_shared(self, word: Word, above: Word, verb: Word) -> bool:
        """Return True if an object belongs to two verbs: "washed and dried the cups"."""
        below, governors = verb, {verb}
        while below.dep in ("xcomp", "acomp"):
            below = below.head
            governors.add(below)
        if word in self._who(verb, "nsubjpass"):
            return True  # "was drafted by Ana and signed by Ben"
        return above in governors or (
            above.dep == "conj"
            and above.head is verb
            and word.dep == "dobj"
            and not verb.child("dobj")
        )

    def _roles_fit(self) -> bool:
        query = self._query
        if not query.verb:
            return self._light_fits()
        verbs = self.verbs()
        if not verbs and query.is_negated:
            return False
        if not verbs:
            receives = self._receivers() or self.of_kind() or self._takers()
            return self._takes_place() or bool(receives) or self._is_ours()
        return any(self._verb_fits(verb) for verb in verbs)

    def _is_ours(self) -> bool:
        """Return True for a list of our own: "our providers are X and Y"."""
        query = self._query
        kind = stems(query.focus.split()[-1]) if query.focus else frozenset[str]()
        own = query.subject is not None and query.subject.is_self
        if query.asked is not Asked.WHAT or not own or not kind or not query.verb & _USES:
            return False
        return any(
            self._is_our_kind(noun, kind)
            for word in self._words
            if word.lemma == "be" and not word.is_denied
            for noun in word.children("nsubj")
        )

    def _is_our_kind(self, noun: Word, kind: frozenset[str]) -> bool:
        """Return True if a noun phrase is of the asker and of the kind asked for."""
        named = not kind.isdisjoint(lexemes(noun.lemma))
        named = named and noun.phrase.casefold().endswith(self._query.focus)
        return named and any(map(self._is_asker, noun.children("poss")))

    def _takes_place(self) -> bool:
        """Return True if a form of "be" gives an event its time: "the flight is on 3 May"."""
        subject = self._query.subject
        if self._query.asked is not Asked.WHEN or subject is None:
            return False
        return bool(self._query.verb & _EVENTS) and any(
            word.lemma == "be"
            and bool(self.agents(word) & self._own)
            and not word.is_denied
            and any(child.is_time for on in word.children("prep") for child in on.children("pobj"))
            for word in self._words
        )

    def _asked_for(self, verb: Word) -> set[Word]:
        """Return the words in the role of the question word."""
        return self.patients(verb) if self._query.passive else self.agents(verb)

    def _light_fits(self) -> bool:
        """Return True if the sentence answers a question with a light verb."""
        subject, asked = self._query.subject, self._query.asked
        exact = asked in (Asked.WHETHER, Asked.EXTENT) and self._query.light_verb == "be"
        if self._is_denied_here():
            if asked is not Asked.WHETHER or not exact or subject is None:
                return asked is Asked.WHETHER or self._query.is_negated
            # not the "him" of "his wife cannot lift him"
            return any(self.agents(word) & self._own for word in self._words)
        if self._query.is_negated:
            return False
        if self._receivers() or self._holders() or self.of_kind() or self._takers():
            return True
        if exact and subject is not None:
            own = self._own
            return any(
                (self.agents(word) | self._existing(word)) & own and self._says_of(word, own)
                for word in self._words
                if word.lemma == "be" or self._turns(word)
            )
        if asked is Asked.WHETHER and self._query.light_verb != "have":
            return False
        if self._query.light_verb == "have" and subject is not None:
            own = self._own
            return any(
                self.agents(word) & own and self.is_told(word)
                for word in self._words
                if word.lemma in WORDS["having"] | {"need", "include", "contain"}
            ) or any(word.dep == "acomp" and self.agents(word) & own for word in self.matched())
        return True

    def _existing(self, verb: Word) -> set[Word]:
        """Return the subject of an existential clause: "shop" of "there is a shop"."""
        return set(verb.children("attr")) if verb.child("expl") else set()

    def _says_of(self, verb: Word, own: set[Word]) -> bool:
        """Return False if a clause is about another subject: "Ana knows Otto, who is a nurse"."""
        subjects = ("nsubj", "nsubjpass")
        of_others = {
            word
            for clause in verb.subtree()
            if clause is not verb and clause.children(*subjects)
            if not self._who(clause, *subjects) & own
            for word in clause.subtree()
        }
        found = [self._at[term.text] for term in self._query.terms if self._at.get(term.text)]
        return all(places - of_others for places in found)

    def _is_of_subject(self) -> bool:
        """Return False if the terms of a yes-or-no question are in another person's clause."""
        query = self._query
        own = self._own
        if query.asked is not Asked.WHETHER or not own:
            return True
        asked = [self._at[term.text] for term in query.terms if term is not query.subject]
        asked += [set(self.verbs())] if query.verb else []
        of_others = self._of_others(own)
        return all(not places or places - of_others for places in asked)

    def _of_others(self, own: set[Word]) -> set[Word]:
        """Return the words after another name that begins a clause: "and Otto (lives) in Bergen".

        By the order of the words, since a parser often takes that name for an object.
        """
        ours = own.union(*(child.children("conj", "compound", "flat") for child in own))
        of_others: set[Word] = set()
        other = False
        for word in self._words[:-1]:
            before, after = word.before, self._words[word.index + 1]
            if word in ours:
                other = False
            elif word.is_proper and before and not after.is_proper:
                begins = before.tag in ("CC", ",", ":") or before.text in _CONTRASTS
                acts = after.tag in ("VBZ", "VBD", "VBP", "MD", "IN")
                other = other or (begins and acts and word > min(own))
            if other:
                of_others |= {word, after}
        return of_others

    def _is_denied_here(self) -> bool:
        """Return True if a negation is at or above a matching word."""
        denied = {word.head for word in self._words if word.dep == "neg" or word.lemma == "no"}
        return any(
            places and all(denied.intersection(self._within_clause(place)) for place in places)
            for places in self._at.values()
        )

    def _within_clause(self, word: Word) -> list[Word]:
        """Return a word and those above it; of "it is so, and I can't go" up to the first "is"."""
        above = word.upward()
        if self._query.asked in (Asked.WHO, Asked.NAME) and word.children("appos"):
            return above[:1]  # "our landlord, Mr Prior, is not here"
        ends = (at for at, each in enumerate(above) if each.dep == "ccomp" and is_beside(each))
        return above[: next(ends, len(above)) + 1]

    def _holders(self) -> set[Word]:
        """Return who has the thing asked about: "Ana has the keys"."""
        if self._query.asked is not Asked.WHO or self._query.light_verb != "have":
            return set()
        found: set[Word] = set()
        for word in self._words:
            if word.lemma in WORDS["having"] and word.is_verb and self.is_told(word):
                found |= self._agents_on_all(word)
        return found

    def _takers(self) -> set[Word]:
        """Return who took over what the question is about: "Ines took over the garden"."""
        if self._query.asked is not Asked.WHO or self._query.subject is not None:
            return set()
        found: set[Word] = set()
        for verb in self._asserted({"take"}):
            if any(word.text == "over" for word in verb.children("prt")):
                found |= self._agents_on_all(verb)
        return found

    def _agents_on_all(self, verb: Word) -> set[Word]:
        """Return the agents of a verb whose objects are all terms of the question."""
        things = {word for thing in verb.children("dobj") for word in thing.subtree()}
        terms = self._query.terms
        named = bool(terms) and all(self._at[term.text] & things for term in terms)
        return self.agents(verb) if named else set()

    def _turns(self, verb: Word) -> bool:
        """Return True for a verb that gives an age, if that is asked for: "turned 31"."""
        return (
            self._query.measure == "old"
            and verb.lemma == "turn"
            and any(word.tag == "CD" for word in verb.children("dobj", "attr"))
        )

    def _verb_fits(self, verb: Word) -> bool:
        query = self._query
        if not self.is_told(verb):
            return False
        if not self._is_of_its_clause(verb):
            return False
        ordered = verb.tag == "VB" and not verb.child("aux", "nsubj")
        if ordered and verb.dep == "ROOT" and (query.past or query.asked is Asked.WHETHER):
            return False  # "book the gym"
        if query.asked is not Asked.WHETHER and self._is_not_done(verb) != query.is_negated:
            return False
        if not (verb.is_verb or verb.tag == "JJ"):
            if query.asked in _DONE_BY_ONE and not is_done_by_noun(verb):
                return False
            return query.asked is not Asked.WHO or query.subject is not None
        if query.subject is None:
            objects = {word for term in query.terms for word in self._at[term.text]}
            agent = query.asked in (Asked.WHO, Asked.WHAT)
            return not agent or not objects & self._asked_for(verb)
        own = self._own
        if not own:
            return query.subject.is_self
        if query.passive:
            return bool(own & (self.patients(verb) | self._who(verb, "nsubj", "dative")))
        return bool(own & self.agents(verb))

    def _is_of_its_time(self) -> bool:
        """Return True unless the sentence is about the future and the question is not."""
        if self._query.future or self._query.asked in (Asked.WHEN, Asked.WHY, Asked.WHETHER):
            return True
        if self._query.asks_former:
            return True
        will = any(word.tag == "MD" and word.lemma in ("will", "shall") for word in self._words)
        verbs = self.verbs()
        past = not self._query.past and all(map(self._is_former, verbs))
        present = self._query.past and all(map(self._is_present, verbs))
        return not (will or (verbs and (past or present)))

    def _is_present(self, word: Word) -> bool:
        """Return True for "visits", "enjoy visiting" and "are visiting", perhaps tomorrow."""
        if word.tag != "VBG":
            return word.tag in ("VBZ", "VBP")
        helpers = word.children("aux")
        if word.dep in ("xcomp", "ccomp") and not helpers:
            helpers = (word.head,)
        return any(helper.tag in ("VBZ", "VBP") for helper in helpers)

    def _is_former(self, word: Word) -> bool:
        """Return True for a former residence, if a present one is asked for: "used to live in"."""
        used = word.dep == "xcomp" and word.head.text.casefold() == "used"
        return used or (word.tag == "VBD" and word.lemma in ("live", "work", "reside"))

    def _has_what_is_asked(self, word: Word, term: Term) -> bool:
        """Return True for an owner of the thing asked for: "wife" of "my wife's name".

        Asked of "the budget of the project", it is the "project" of "the project's budget".
        """
        noun, asked = word.head, self._query.asked
        owned = term.preposition == "of" and not is_person(word)
        if owned and any(noun in self._words_for(one) for one in self._query.terms):
            return True
        if asked is Asked.WHEN and self._query.light_verb == "have":
            return any(noun in self._words_for(term) for term in self._query.terms)
        lemma = noun.lemma
        return lemma == "name" if asked is Asked.NAME else lemma in WORDS["general"]

    # Other roles than those of the question

    def _is_said(self) -> bool:
        """Return True if the person asked about says something about the topic."""
        teller = self._query.subject
        topics = [term for term in self._query.terms if term is not teller]
        if teller is None or not topics:
            return False
        self._at = {term.text: self._words_for(term) for term in topics}
        for word in self._words:
            if word.lemma in WORDS["saying"] and self.agents(word) & self._words_for(teller):
                clauses = word.children("ccomp", "xcomp")
                told = {part for clause in clauses for part in clause.subtree()}
                if not is_guess(self._sentence, told) and all(
                    places & told for places in self._at.values()
                ):
                    return not word.is_denied
        spoken = not teller.is_self and is_part_of(teller, speaker_of(self._statement.memory))
        return spoken and all(self._at.values())

    def of_kind(self) -> set[Word]:
        """Return the values, of the kind asked for, that the subject uses: "runs on Postgres".

        Of "switched from MySQL to Postgres" it is the second; asked what was before, the first.
        """
        query = self._query
        kind = query.focus.split()[-1] if query.focus else ""
        verbs = query.verb & _RELATIONS or query.light_verb == "have"
        if query.asked is not Asked.WHAT or kind not in KINDS or query.subject is None or not verbs:
            return set()
        own = self._own
        found: set[Word] = set()
        for word in self._words:
            changes = word.lemma in WORDS["changing"]
            if not (changes or stems(word.lemma) & _RELATIONS) or not self._is_asserted(word):
                continue
            done = changes or word.tag == "VBN" or query.passive
            if not own & (self.agents(word) | (self.patients(word) if done else set())):
                continue
            ways = ("from" if query.asks_former else "to",) if changes else WORDS["places"]
            found.update(() if changes else word.children("dobj"))
            for way in word.children("prep"):
                if way.lemma in ways:
                    found.update(way.children("pobj"))
        return {word for noun in found for word in same_thing(noun) if self._is(word, kind)}

    def _is(self, word: Word, kind: str) -> bool:
        names = word.children("compound")
        name = self._sentence.phrase((*names, word)).casefold().replace(" ", "_")
        return name in KINDS[kind]

    def _employer(self, verb: Word) -> set[Word]:
        """Return the employer: "the city council", not "two years" or "fun"."""
        if verb.lemma == "join":  # "joined Northwind as a designer"
            post = any(word.lemma == "as" for word in verb.children("prep"))
            joined = verb.children("dobj")
            return {word for word in joined if word.is_proper and (post or word.label == "ORG")}
        if verb.lemma != "work":
            return set()
        ways = verb.children("prep")
        ways += tuple(
            on for way in ways for post in way.children("pobj") for on in post.children("prep")
        )
        return {
            word
            for way in ways
            if way.lemma == "for"
            for word in way.children("pobj")
            if not (word.is_time or word.is_amount)
            and word.lemma not in WORDS["purposes"]
            and (word.is_proper or word.child("det", "poss"))
        }
