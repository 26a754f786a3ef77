"""Who somebody is, whose a thing is, and what it is called, compared with what a question asks."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.reflect.answers.factual import tense_of
from hindsight_integrations.reflect.answers.named import is_person, is_person_noun, titles_of
from hindsight_integrations.reflect.answers.questions import SELF, WORDS, Asked, Term
from hindsight_integrations.reflect.answers.roles import RoleMatch, are_interchangeable
from hindsight_integrations.reflect.answers.stated import THIRD, same_thing
from hindsight_integrations.reflect.answers.values import describes, is_described


class PersonMatch(RoleMatch):
    """Compares one sentence with one question for a person, an owner or a name."""

    def _others(self) -> list[Word]:
        """Return the nouns that match no term of the question."""
        known = self.matched()
        return [w for w in self._words if w not in known and (w.is_noun or self._is_entity(w))]

    def _is_entity(self, word: Word) -> bool:
        """Return True for a name that the bank knows, whatever its tag is."""
        names = self._statement.memory.entities if word.text[0].isupper() else ()
        return any(set(lexemes(word.text)) & set(lexemes(name)) for name in names)

    def _is_person(self, word: Word) -> bool:
        if word.is_proper and titles_of(word):
            return True  # "Mr Sato", whom a tagger may take for a place
        located = word.head.lemma in ("in", "at", "from", "near")
        named = word.is_proper or self._is_entity(word)
        return named and not located and not (word.is_time or word.label in ("LOC", "LANGUAGE"))

    def has_person(self) -> bool:
        """Return True if the sentence names the person asked for, as agent, object or predicate."""
        query = self._query
        others = {word for word in self._others() if word.lemma not in ("someone", "somebody")}
        named = (self._receivers() | self._holders() | self._takers()) & others
        if any(map(self._is_person, named)):
            return True
        if query.preposition and (self._has_companion() or (query.verb and query.subject)):
            return self._has_companion()
        if not query.verb:
            if self._is_predicated() or any(word.dep == "acomp" for word in self.matched()):
                return self._is_predicated()
            if query.terms and all(term.is_name for term in query.terms):
                return all(map(self._describes, query.terms))
            identified = any(self._is_person(word) and self._identifies(word) for word in others)
            return identified or self.is_appointed()
        return any(self._is_done_by_one(verb, others) for verb in self.verbs())

    def is_appointed(self) -> bool:
        """Return True for "Ana was elected chair", asked who the chair is."""
        query = self._query
        if query.asked is not Asked.WHO or query.light_verb != "be" or query.verb:
            return False
        roles = (term for term in query.terms if not term.is_name)
        own = {word for term in roles for word in self._at.get(term.text, ())}
        return self._has_post(own) or any(
            own.intersection(verb.children("oprd", "attr", "xcomp"))
            and any(map(self._is_person, self.patients(verb) - own))
            for verb in self._asserted(WORDS["appointing"])
        )

    def _has_post(self, role: set[Word]) -> bool:
        """Return True for "Ana joins as second screener"."""
        return any(
            way.lemma == "as"
            and bool(role.intersection(way.children("pobj")))
            and any(map(self._is_person, self.agents(verb)))
            for verb in self._asserted(WORDS["taking_posts"])
            for way in verb.children("prep")
        )

    def _is_done_by_one(self, verb: Word, others: set[Word]) -> bool:
        """Return True if a verb has a person as its agent, object or companion."""
        if self._query.subject is not None:
            return any(self._is_person(word) for word in others if word not in self.agents(verb))
        agents, speaker = self._asked_for(verb), self._statement.memory.speaker
        spoken = speaker and any(word.lower in SELF for word in agents)
        before = self._statement.before and any(word.lower in THIRD for word in agents)
        acting = agents & others
        if not self._query.terms:  # "who left?" asks for no train
            acting = {word for word in acting if self._is_one(word)}
        return bool(acting or spoken or before)

    def _describes(self, name: Term) -> bool:
        """Return True if the sentence describes the person: "is a nurse", "Ana, the nurse"."""
        own = self._at[name.text]
        return any(map(is_described, own)) or any(
            self.agents(verb) & own and self.is_told(verb) and describes(verb)
            for verb in self._words
            if verb.is_verb
        )

    def _identifies(self, name: Word) -> bool:
        """Return True if a name is that of the thing or person asked about."""
        owned = {term.text: term.owner is not None for term in self._query.terms}
        heads = {
            word: owned[term.text]
            for term in self._query.terms
            if not term.is_name
            for word in self._at[term.text]
        }
        heads |= {word.head: True for word in heads if word.dep == "poss"}
        return any(
            self._same(name, head) and not self._is_beside_any(name, head, its)
            for head, its in heads.items()
        )

    def _is_beside_any(self, name: Word, noun: Word, owned: bool) -> bool:
        """Return True for the name after "a mule (Marit ...)", which need not be its name.

        That of "a dog, Rex" is, asked for somebody's dog.
        """
        if name not in noun.children("appos"):
            return False
        bracketed = any(word.tag == "-LRB-" for word in noun.until(name))
        some = any(article.lower in ("a", "an") for article in noun.children("det"))
        return some and (bracketed or not owned)

    def _same(self, name: Word, noun: Word) -> bool:
        if name in same_thing(noun) or noun in same_thing(name):
            return True
        word = name
        while word.dep in ("compound", "appos"):  # "my friend Salome will be my bridesmaid"
            word = word.head
        verb = word.head
        calls = verb.lemma in ("call", "name")
        if calls and word.dep in ("oprd", "dobj", "attr", "ccomp", "nsubj"):
            return (
                noun in self.patients(verb)
                or noun in self.agents(verb)
                or (verb.dep in ("acl", "relcl") and self._is_that(verb.head, noun))
            )
        if verb.lemma != "be":
            return False
        sides = [same_thing(side) for side in verb.children("nsubj", "attr", "acomp")]
        return any(name in side for side in sides) and any(noun in side for side in sides)

    def _is_that(self, kind: Word, noun: Word) -> bool:
        """Return True if a noun is equated with another one: "my pup is a beagle"."""
        said = kind.dep == "attr" and kind.head.lemma == "be"
        return kind is noun or (said and noun in self.agents(kind.head))

    def has_name(self) -> bool:
        """Return True if the sentence gives the name asked for."""
        return any(
            (word.text[0].isupper() or self._is_given(word)) and self._identifies(word)
            for word in {*self._others(), *filter(self._is_given, self._words)}
        )

    def _is_given(self, word: Word) -> bool:
        """Return True for a name in "is called ui_dark", with or without a capital."""
        called = word.head.lemma in ("call", "name") and word.dep in ("oprd", "dobj")
        plain = word.is_noun or not word.text.isalpha()
        return called and plain and not word.child("det", "poss", "prep")

    def _is_one(self, word: Word) -> bool:
        """Return True if a word means a person: a name, a noun such as "son", or the speaker."""
        if word.lower in SELF:
            return bool(self._statement.memory.speaker)
        return is_person(word) or is_person_noun(word) or self._is_person(word)

    def _is_predicated(self) -> bool:
        """Return True for a predicate about a person: "Ana is on leave"."""
        query = self._query
        if query.light_verb != "be" or query.subject is not None or not query.terms:
            return False
        for verb in self._words:
            if verb.lemma != "be" or not self.is_told(verb) or tense_of(verb) != query.tense:
                continue
            parts = verb.children("acomp", "prep")
            said = {word for part in parts for word in part.subtree()}
            whole = all(
                any(self._is_just(word, verb, term) for word in self._at[term.text] & said)
                for term in query.terms
            )
            agreed = verb.is_denied is query.is_negated
            if whole and agreed and any(map(self._is_one, self.agents(verb))):
                return True
        return False

    def _is_just(self, place: Word, verb: Word, term: Term) -> bool:
        return self.is_direct(place, verb, term) and self.has_matching_preposition(place, term)

    def _has_companion(self) -> bool:
        """Return True if the sentence names a companion: "plays with Ole"."""
        query = self._query
        verbs = self.verbs() or [
            word
            for word in self._words
            if word.lemma == query.light_verb
            and self.agents(word) & self._own
            and self.is_told(word)
        ]
        things = {thing for verb in verbs for thing in verb.children("dobj", "dative")}
        if query.preposition in ("to", "for") and any(map(is_person, things - self.matched())):
            return True  # "gave Ana the key"
        if query.preposition == "for" and any(map(self._employer, verbs)):
            return True
        return any(
            are_interchangeable(query.preposition, way.lemma)
            and not noun.is_time
            and (query.preposition != "from" or noun.label not in ("GPE", "LOC"))
            and (noun.is_proper or is_person_noun(noun) or noun.lemma in WORDS["groups"])
            for head in {*verbs, *things}
            for way in head.children("prep", "dative", "agent")
            for noun in set(way.children("pobj")) - self.matched()
        )

    def has_owner(self) -> bool:
        """Return True if the sentence names an owner: "Ana's desk is here", "belongs to Ana"."""
        query = self._query
        noun = query.focus.split()[-1] if query.focus else query.subject and query.subject.text
        return any(
            self._is_owned_here(thing, self.verbs() if query.verb else ())
            for term in query.terms
            if term.text.casefold() == (noun or "").casefold()
            for thing in self._at[term.text]
        )

    def _is_owned_here(self, thing: Word, verbs: Sequence[Word]) -> bool:
        """Return True if a clause names a thing's owner and has the question's other terms."""
        for verb in verbs or [w for w in self._words if w.lemma in ("be", "have", "belong")]:
            acts = thing in self.agents(verb) | self.patients(verb)
            if not acts or not self._is_asserted(verb):
                continue
            told = set(verb.subtree())
            owners = set(thing.children("poss"))
            if verb.lemma == "belong":
                tos = (way for way in verb.children("prep") if way.lemma == "to")
                owners = {owner for to in tos for owner in to.children("pobj")}
            whole = all(self._at[term.text] & told for term in self._query.terms)
            if whole and any(map(self._is_one, owners - self.matched())):
                return True
        return False
