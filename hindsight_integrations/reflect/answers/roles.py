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
                i
                for i in self._positions(term)
                if (self._words[i].dep != "poss" or self._has_what_is_asked(i, term))
                and self._is_owned(term, i)
                and not (self._query.asked is Asked.WHO and self._is_replaced(i))
            }
            if not found and not self._is_speaker(term):
                return False
            self._at[term.text] = found
        told = bool(self._query.verb) or all(map(self._is_told_of, self._at.values()))
        return told and self._roles_fit() and self._is_of_its_time() and self._is_of_subject()

    def is_told(self, index: int) -> bool:
        """Return True if a verb states a fact; for a yes-or-no question also if it is denied."""
        query, word = self._query, self._words[index]
        if query.asked in _OF_ANY or (query.asked is Asked.HOW and word.dep == "advcl"):
            done = query.asked is Asked.WHETHER and query.tense in ("past", "perfect")
            rumoured = query.asked is Asked.WHETHER and is_rumoured(self._sentence, index)
            rumoured = rumoured or (done and is_only_wished(self._sentence, index))
            return not rumoured and not is_modifier(self._sentence, index)
        planned = query.future or (query.asked is Asked.WHEN and not query.past)
        return is_told(self._sentence, index, planned, query.past or query.tense == "perfect")

    def _is_asserted(self, verb: int) -> bool:
        """Return True if a verb states a fact and is not denied."""
        return self.is_told(verb) and not self._sentence.is_denied(verb)

    def _asserted(self, lemmas: Container[str]) -> Iterator[int]:
        """Yield the verbs with these lemmas that state a fact and are not denied."""
        for index, word in enumerate(self._words):
            if word.lemma in lemmas and self._is_asserted(index):
                yield index

    def _is_told_of(self, places: set[int]) -> bool:
        """Return True if one of the words, if any, is in a clause that states a fact."""
        verbs = set(map(self._sentence.governing_verb, places))
        return not verbs or any(not self._words[i].is_verb or self.is_told(i) for i in verbs)

    def matched(self) -> set[int]:
        """Return the indexes of the words that match the question."""
        return set().union(*self._at.values(), self.verbs())

    def verbs(self) -> list[int]:
        """Return the indexes of the words that match the question's verb."""
        wanted = self._query.verb
        return [
            i
            for i, word in enumerate(self._words)
            if wanted
            and word.tag != "IN"  # "like the last one"
            and (
                word.lemma in wanted
                or wanted & set(lexemes(word.lemma))
                or wanted & set(lexemes(word.text))
                or (word.lemma == "join" and _WORK & wanted and self._employer(i))
                or self.is_disliking(i)
            )
            if not self._is_other_move(i)
        ]

    def _is_other_move(self, verb: int) -> bool:
        """Return True for a move that does not say where somebody lives now, or is only a step."""
        query = self._query
        if not any(term is not query.subject for term in query.terms) and is_another_event(
            self._sentence, verb
        ):
            return True
        if query.action not in LIVING or query.past or query.asks_former:
            return False
        left = query.asked is Asked.WHETHER and has_left(self._sentence, verb)
        return not (left or has_arrived(self._sentence, verb))

    def is_disliking(self, verb: int) -> bool:
        """Return True for a verb of dislike, if the question is about not liking something."""
        word = self._words[verb]
        either = self._query.asked is Asked.WHETHER or self._query.is_negated
        if not either or not self._query.verb & LIKING:
            return False
        denied = word.lemma in WORDS["bearing"] and self._sentence.is_denied(verb)
        return word.is_verb and (denied or word.lemma in WORDS["disliking"])

    def _receivers(self) -> set[int]:
        """Return who receives the thing asked about: "Ana" of "lent it to Ana".

        Who bought is to whom one sold, who has or borrowed is to whom one lent.
        """
        has = self._query.light_verb == "have"
        if self._query.asked is not Asked.WHO or (self._query.subject is not None and not has):
            return set()
        asked = self._query.verb or frozenset(lexemes(self._query.light_verb))
        found: set[int] = set()
        for index in self._asserted(_CONVERSE):
            gets = _CONVERSE[self._words[index].lemma]
            if not (asked & gets or (has and "have" in gets)):
                continue
            things = {
                j for i in self._sentence.children(index, "dobj") for j in self._sentence.subtree(i)
            }
            whole = all(
                t.is_self or any(self.is_direct(i, index, t) for i in self._at[t.text] & things)
                for t in self._query.terms
            )
            if not whole:
                continue
            ways = self._sentence.children(index, "prep", "dative")
            tos = [i for i in ways if self._words[i].lemma == "to"]
            found.update(j for i in tos for j in self._sentence.children(i, "pobj"))
            found.update(i for i in ways if self._words[i].dep == "dative" and i not in tos)
        return found

    def _is_of_one_clause(self, verb: int) -> bool:
        """Return True if a verb's own clause contains all terms of the question.

        Of a stay, each also lies there: nobody who "works with a team in Berlin" is in Berlin.
        """
        stays, subject = self._query.asks_presence, self._query.subject
        for term in self._query.terms:
            if term is subject or not self._at[term.text]:
                continue
            places = {i for i in self._at[term.text] if not self._is_part(i)}
            paths = [self._path(place, verb) for place in places]
            ways = (path for path in paths if not any(word.is_verb for word in path))
            if not any(
                not stays or all(w.lemma in _LYING for w in path if w.dep == "prep")
                for path in ways
            ):
                return False
        return True

    def _is_part(self, index: int) -> bool:
        """Return True for a modifying noun, "jazz" of "jazz clubs", whose head is not asked for."""
        word = self._words[index]
        return word.dep == "compound" and not word.is_proper and word.head not in self.matched()

    def _path(self, place: int, verb: int) -> list[Word]:
        """Return the words above a place in the parse tree, below the verb if it is one of them."""
        above = [i for i in self._sentence.upward(place) if i != place]
        return [self._words[i] for i in (above[: above.index(verb)] if verb in above else ())]

    def is_direct(self, place: int, verb: int, term: Term) -> bool:
        """Return True if a thing is the direct participant of a verb, not only part of one.

        Of a phrase of a place, such as "in the yard", it is not clear which word it belongs to; it
        is enough if the question has a preposition as well.
        """
        if self._words[verb].dep in ("relcl", "acl") and self._words[verb].head == place:
            return True
        index = place
        while index != verb:
            word = self._words[index]
            above = self._words[word.head]
            if word.head == index or (above.is_verb and word.head != verb):
                return word.head != index and self._is_shared(index, word.head, verb)
            beside = word.dep in ("conj", "appos", "case", "poss") or word.head in self.matched()
            name = word.dep == "compound" and (
                (word.is_proper and above.is_proper) or above.lemma in WORDS["general"]
            )
            loose = term.preposition and above.dep != "prep" and word.lemma in _PLACING
            counts = above.is_noun or (word.lemma == "of" and above.lower not in _ALL)
            if counts and word.head != verb and not (beside or name or loose):
                return False
            index = word.head
        return True

    def _takes_all(self, verb: int) -> bool:
        """Return True if a verb governs all terms of the question.

        A pronoun may stand for it: "the crane broke, and Hamid repaired it".
        """
        pronouns = [
            i
            for i in self._sentence.subtree(verb)
            if self._words[i].lower in THIRD and self._words[i].dep in ("dobj", "dative", "pobj")
        ]
        return all(
            any(
                self._takes(place, verb, term) or any(place < pronoun for pronoun in pronouns)
                for place in self._at[term.text]
            )
            for term in self._query.terms
            if term is not self._query.subject and self._at[term.text]
        )

    def _takes(self, place: int, verb: int, term: Term) -> bool:
        if self._query.asked is Asked.WHO:
            return self.is_direct(place, verb, term) and self.has_matching_preposition(place, term)
        return not any(word.is_verb for word in self._path(place, verb))

    def _is_of_its_clause(self, verb: int) -> bool:
        """Return False if the terms belong to another verb than the one asked about."""
        asked = self._query.asked
        if asked is Asked.WHETHER:
            return self._is_of_one_clause(verb)
        who = asked in (Asked.WHO, Asked.WHAT) and self._words[verb].is_verb
        return not who or self._takes_all(verb)

    def _is_replaced(self, verb: int) -> bool:
        """Return True for what is done no more or left out: "cooks instead of washing up".

        Not if the question has the same word: "who left without paying".
        """
        way = verb - 1
        while way > 0 and self._words[way].tag in ("DT", "PRP$", "RB"):
            way -= 1
        last = self._words[way].lower if way >= 0 else ""
        pair = (self._words[way - 1].lower if way > 0 else "", last)
        cue = pair[0] if pair in _REPLACING else last
        return cue in ("instead", "rather", "without") and cue not in self._query.all_stems

    def _is_not_done(self, verb: int) -> bool:
        """Return True if a verb is denied or has ended: "no longer plays", "stopped playing"."""
        if self._is_replaced(verb):
            return True
        word, above = self._words[verb], self._sentence.head(verb)
        heads = (verb, word.head) if word.dep == "acomp" else (verb,)
        denied = any(map(self._sentence.is_denied, heads))
        if self._query.is_negated and self.is_disliking(verb):
            return not denied or word.lemma in WORDS["bearing"]
        if denied:
            return True
        if self._query.past or self._query.asked not in (Asked.WHO, Asked.WHAT):
            return False
        ended = word.dep in ("xcomp", "dobj", "pcomp") and above.lemma in WORDS["stopping"]
        return ended or bool(self._no_longer(verb))

    def _no_longer(self, verb: int) -> tuple[int, ...]:
        """Return the indexes of "no longer" before a verb; () if it is not there."""
        longer = (
            i for i in self._sentence.children(verb, "advmod") if self._words[i].text == "longer"
        )
        return tuple(i for end in longer for i in (*self._sentence.children(end, "neg"), end))

    def has_matching_preposition(self, place: int, term: Term) -> bool:
        """Return False if a thing's preposition contradicts the question's: "to", "from"."""
        while self._words[place].dep == "compound":
            place = self._words[place].head
        above = self._sentence.head(place)
        told = above.lemma if self._words[place].dep == "pobj" else ""
        if told == term.preposition:
            return True
        if told and term.preposition:
            return are_interchangeable(told, term.preposition)
        return (told or term.preposition) not in WORDS["own_ways"]

    def _is_shared(self, index: int, above: int, verb: int) -> bool:
        """Return True if an object belongs to two verbs: "washed and dried the cups"."""
        below, governors = verb, {verb}
        while self._words[below].dep in ("xcomp", "acomp"):
            below = self._words[below].head
            governors.add(below)
        if index in self._who(verb, "nsubjpass"):
            return True  # "was drafted by Ana and signed by Ben"
        return above in governors or (
            self._words[above].dep == "conj"
            and self._words[above].head == verb
            and self._words[index].dep == "dobj"
            and not self._sentence.children(verb, "dobj")
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
            for i, word in enumerate(self._words)
            if word.lemma == "be" and not self._sentence.is_denied(i)
            for noun in self._sentence.children(i, "nsubj")
        )

    def _is_our_kind(self, noun: int, kind: frozenset[str]) -> bool:
        """Return True if a noun phrase is of the asker and of the kind asked for."""
        phrase = self._sentence.phrase(self._sentence.subtree(noun)).casefold()
        owners = self._sentence.dependents(noun, "poss")
        named = bool(kind & set(lexemes(self._words[noun].lemma)))
        return named and phrase.endswith(self._query.focus) and any(map(self._is_asker, owners))

    def _takes_place(self) -> bool:
        """Return True if a form of "be" gives an event its time: "the flight is on 3 May"."""
        subject = self._query.subject
        if self._query.asked is not Asked.WHEN or subject is None:
            return False
        return bool(self._query.verb & _EVENTS) and any(
            word.lemma == "be"
            and bool(self.agents(i) & self._own)
            and not self._sentence.is_denied(i)
            and any(
                child.is_time
                for on in self._sentence.children(i, "prep")
                for child in self._sentence.dependents(on, "pobj")
            )
            for i, word in enumerate(self._words)
        )

    def _asked_for(self, verb: int) -> set[int]:
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
            return any(self.agents(i) & self._own for i in range(len(self._words)))
        if self._query.is_negated:
            return False
        if self._receivers() or self._holders() or self.of_kind() or self._takers():
            return True
        if exact and subject is not None:
            own = self._own
            is_so = (i for i, w in enumerate(self._words) if w.lemma == "be" or self._turns(i))
            return any(
                (self.agents(i) | self._existing(i)) & own and self._says_of(i, own) for i in is_so
            )
        if asked is Asked.WHETHER and self._query.light_verb != "have":
            return False
        if self._query.light_verb == "have" and subject is not None:
            own = self._own
            return any(
                self.agents(i) & own and self.is_told(i)
                for i, word in enumerate(self._words)
                if word.lemma in WORDS["having"] | {"need", "include", "contain"}
            ) or any(self._words[i].dep == "acomp" and self.agents(i) & own for i in self.matched())
        return True

    def _existing(self, verb: int) -> set[int]:
        """Return the subject of an existential clause: "shop" of "there is a shop"."""
        there = self._sentence.children(verb, "expl")
        return set(self._sentence.children(verb, "attr")) if there else set()

    def _says_of(self, verb: int, own: set[int]) -> bool:
        """Return False if a clause is about another subject: "Ana knows Otto, who is a nurse"."""
        subjects = ("nsubj", "nsubjpass")
        of_others = {
            i
            for clause in self._sentence.subtree(verb)
            if clause != verb and self._sentence.children(clause, *subjects)
            if not self._who(clause, *subjects) & own
            for i in self._sentence.subtree(clause)
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

    def _of_others(self, own: set[int]) -> set[int]:
        """Return the words after another name that begins a clause: "and Otto (lives) in Bergen".

        By the order of the words, since a parser often takes that name for an object.
        """
        ours = own.union(*(self._sentence.children(i, "conj", "compound", "flat") for i in own))
        of_others: set[int] = set()
        other = False
        for index, word in enumerate(self._words[:-1]):
            before, after = self._words[index - 1], self._words[index + 1]
            if index in ours:
                other = False
            elif word.is_proper and index and not after.is_proper:
                begins = before.tag in ("CC", ",", ":") or before.text in _CONTRASTS
                acts = after.tag in ("VBZ", "VBD", "VBP", "MD", "IN")
                other = other or (begins and acts and index > min(own))
            if other:
                of_others |= {index, index + 1}
        return of_others

    def _is_denied_here(self) -> bool:
        """Return True if a negation is at or above a matching word."""
        denied = {word.head for word in self._words if word.dep == "neg" or word.lemma == "no"}
        return any(
            places and all(denied.intersection(self._within_clause(place)) for place in places)
            for places in self._at.values()
        )

    def _within_clause(self, index: int) -> list[int]:
        """Return a word and those above it; of "it is so, and I can't go" up to the first "is"."""
        above = self._sentence.upward(index)
        if self._query.asked in (Asked.WHO, Asked.NAME) and self._sentence.children(index, "appos"):
            return above[:1]  # "our landlord, Mr Prior, is not here"
        ends = (
            at
            for at, i in enumerate(above)
            if self._words[i].dep == "ccomp" and is_beside(self._sentence, i)
        )
        return above[: next(ends, len(above)) + 1]

    def _holders(self) -> set[int]:
        """Return who has the thing asked about: "Ana has the keys"."""
        if self._query.asked is not Asked.WHO or self._query.light_verb != "have":
            return set()
        found: set[int] = set()
        for index, word in enumerate(self._words):
            if word.lemma in WORDS["having"] and word.is_verb and self.is_told(index):
                found |= self._agents_on_all(index)
        return found

    def _takers(self) -> set[int]:
        """Return who took over what the question is about: "Ines took over the garden"."""
        if self._query.asked is not Asked.WHO or self._query.subject is not None:
            return set()
        found: set[int] = set()
        for index in self._asserted({"take"}):
            if any(word.text == "over" for word in self._sentence.dependents(index, "prt")):
                found |= self._agents_on_all(index)
        return found

    def _agents_on_all(self, verb: int) -> set[int]:
        """Return the agents of a verb whose objects are all terms of the question."""
        objects = self._sentence.children(verb, "dobj")
        things = {index for each in objects for index in self._sentence.subtree(each)}
        terms = self._query.terms
        named = bool(terms) and all(self._at[term.text] & things for term in terms)
        return self.agents(verb) if named else set()

    def _turns(self, verb: int) -> bool:
        """Return True for a verb that gives an age, if that is asked for: "turned 31"."""
        return (
            self._query.measure == "old"
            and self._words[verb].lemma == "turn"
            and any(word.tag == "CD" for word in self._sentence.dependents(verb, "dobj", "attr"))
        )

    def _verb_fits(self, verb: int) -> bool:
        query, word = self._query, self._words[verb]
        if not self.is_told(verb):
            return False
        if not self._is_of_its_clause(verb):
            return False
        ordered = word.tag == "VB" and not self._sentence.children(verb, "aux", "nsubj")
        if ordered and word.dep == "ROOT" and (query.past or query.asked is Asked.WHETHER):
            return False  # "book the gym"
        if query.asked is not Asked.WHETHER and self._is_not_done(verb) != query.is_negated:
            return False
        if not (word.is_verb or word.tag == "JJ"):
            if query.asked in _DONE_BY_ONE and not is_done_by_noun(self._sentence, verb):
                return False
            return query.asked is not Asked.WHO or query.subject is not None
        if query.subject is None:
            objects = {i for term in query.terms for i in self._at[term.text]}
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

    def _is_present(self, verb: int) -> bool:
        """Return True for "visits", "enjoy visiting" and "are visiting", perhaps tomorrow."""
        word = self._words[verb]
        if word.tag != "VBG":
            return word.tag in ("VBZ", "VBP")
        helpers = self._sentence.dependents(verb, "aux")
        above = [self._words[word.head]] if word.dep in ("xcomp", "ccomp") and not helpers else []
        return any(each.tag in ("VBZ", "VBP") for each in (*helpers, *above))

    def _is_former(self, verb: int) -> bool:
        """Return True for a former residence, if a present one is asked for: "used to live in"."""
        word = self._words[verb]
        used = word.dep == "xcomp" and self._words[word.head].text.casefold() == "used"
        return used or (word.tag == "VBD" and word.lemma in ("live", "work", "reside"))

    def _has_what_is_asked(self, index: int, term: Term) -> bool:
        """Return True for an owner of the thing asked for: "wife" of "my wife's name".

        Asked of "the budget of the project", it is the "project" of "the project's budget".
        """
        noun, asked = self._words[index].head, self._query.asked
        owned = term.preposition == "of" and not is_person(self._words[index])
        if owned and any(noun in self._positions(one) for one in self._query.terms):
            return True
        if asked is Asked.WHEN and self._query.light_verb == "have":
            return any(noun in self._positions(term) for term in self._query.terms)
        lemma = self._words[noun].lemma
        return lemma == "name" if asked is Asked.NAME else lemma in WORDS["general"]

    # Other roles than those of the question

    def _is_said(self) -> bool:
        """Return True if the person asked about says something about the topic."""
        teller = self._query.subject
        topics = [term for term in self._query.terms if term is not teller]
        if teller is None or not topics:
            return False
        self._at = {term.text: self._positions(term) for term in topics}
        for index, word in enumerate(self._words):
            if word.lemma in WORDS["saying"] and self.agents(index) & self._positions(teller):
                clauses = self._sentence.children(index, "ccomp", "xcomp")
                told = {i for clause in clauses for i in self._sentence.subtree(clause)}
                if not is_guess(self._sentence, told) and all(
                    places & told for places in self._at.values()
                ):
                    return not self._sentence.is_denied(index)
        spoken = not teller.is_self and is_part_of(teller, speaker_of(self._statement.memory))
        return spoken and all(self._at.values())

    def of_kind(self) -> set[int]:
        """Return the values, of the kind asked for, that the subject uses: "runs on Postgres".

        Of "switched from MySQL to Postgres" it is the second; asked what was before, the first.
        """
        query = self._query
        kind = query.focus.split()[-1] if query.focus else ""
        verbs = query.verb & _RELATIONS or query.light_verb == "have"
        if query.asked is not Asked.WHAT or kind not in KINDS or query.subject is None or not verbs:
            return set()
        own = self._own
        found: set[int] = set()
        for index, word in enumerate(self._words):
            changes = word.lemma in WORDS["changing"]
            if not (changes or stems(word.lemma) & _RELATIONS) or not self._is_asserted(index):
                continue
            done = changes or word.tag == "VBN" or query.passive
            if not own & (self.agents(index) | (self.patients(index) if done else set())):
                continue
            ways = ("from" if query.asks_former else "to",) if changes else WORDS["places"]
            found.update(() if changes else self._sentence.children(index, "dobj"))
            for way in self._sentence.children(index, "prep"):
                if self._words[way].lemma in ways:
                    found.update(self._sentence.children(way, "pobj"))
        return {i for noun in found for i in same_thing(self._sentence, noun) if self._is(i, kind)}

    def _is(self, index: int, kind: str) -> bool:
        names = self._sentence.children(index, "compound")
        name = self._sentence.phrase((*names, index)).casefold().replace(" ", "_")
        return name in KINDS[kind]

    def _employer(self, verb: int) -> set[int]:
        """Return the employer: "the city council", not "two years" or "fun"."""
        if self._words[verb].lemma == "join":  # "joined Northwind as a designer"
            post = any(word.lemma == "as" for word in self._sentence.dependents(verb, "prep"))
            joined = self._sentence.children(verb, "dobj")
            return {
                i
                for i in joined
                if self._words[i].is_proper and (post or self._words[i].label == "ORG")
            }
        if self._words[verb].lemma != "work":
            return set()
        ways = self._sentence.children(verb, "prep")
        posts = [i for on in ways for i in self._sentence.children(on, "pobj")]
        ways += tuple(on for post in posts for on in self._sentence.children(post, "prep"))
        return {
            i
            for on in ways
            if self._words[on].lemma == "for"
            for i in self._sentence.children(on, "pobj")
            if not (self._words[i].is_time or self._words[i].is_amount)
            and self._words[i].lemma not in WORDS["purposes"]
            and (self._words[i].is_proper or self._sentence.children(i, "det", "poss"))
        }
