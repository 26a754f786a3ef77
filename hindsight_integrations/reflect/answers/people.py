"""Who somebody is, whose a thing is, and what it is called, compared with what a question asks."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.reflect.answers.factual import tense_of
from hindsight_integrations.reflect.answers.named import is_person, is_person_noun, titles_of
from hindsight_integrations.reflect.answers.questions import SELF, WORDS, Asked, Term
from hindsight_integrations.reflect.answers.roles import RoleMatch, are_interchangeable
from hindsight_integrations.reflect.answers.stated import THIRD, same_thing
from hindsight_integrations.reflect.answers.values import describes, is_described


class PersonMatch(RoleMatch):
    """Compares one sentence with one question for a person, an owner or a name."""

    def _others(self) -> list[int]:
        """Return the nouns that match no term of the question."""
        known = self.matched()
        return [
            i
            for i, w in enumerate(self._words)
            if i not in known and (w.is_noun or self._is_entity(i))
        ]

    def _is_entity(self, index: int) -> bool:
        """Return True for a name that the bank knows, whatever its tag is."""
        word = self._words[index]
        names = self._statement.memory.entities if word.text[0].isupper() else ()
        return any(set(lexemes(word.text)) & set(lexemes(name)) for name in names)

    def _is_person(self, index: int) -> bool:
        word = self._words[index]
        if word.is_proper and titles_of(self._words, index):
            return True  # "Mr Sato", whom a tagger may take for a place
        located = self._words[word.head].lemma in ("in", "at", "from", "near")
        named = word.is_proper or self._is_entity(index)
        return named and not located and not (word.is_time or word.label in ("LOC", "LANGUAGE"))

    def has_person(self) -> bool:
        """Return True if the sentence names the person asked for, as agent, object or predicate."""
        query = self._query
        others = {i for i in self._others() if self._words[i].lemma not in ("someone", "somebody")}
        named = (self._receivers() | self._holders() | self._takers()) & others
        if any(map(self._is_person, named)):
            return True
        if query.preposition and (self._has_companion() or (query.verb and query.subject)):
            return self._has_companion()
        if not query.verb:
            if self._is_predicated() or any(self._words[i].dep == "acomp" for i in self.matched()):
                return self._is_predicated()
            if query.terms and all(term.is_name for term in query.terms):
                return all(map(self._describes, query.terms))
            identified = any(self._is_person(i) and self._identifies(i) for i in others)
            return identified or self.is_appointed()
        return any(self._is_done_by_one(verb, others) for verb in self.verbs())

    def is_appointed(self) -> bool:
        """Return True for "Ana was elected chair", asked who the chair is."""
        query = self._query
        if query.asked is not Asked.WHO or query.light_verb != "be" or query.verb:
            return False
        own = {i for term in query.terms if not term.is_name for i in self._at.get(term.text, ())}
        return self._has_post(own) or any(
            own.intersection(self._sentence.children(verb, "oprd", "attr", "xcomp"))
            and any(map(self._is_person, self.patients(verb) - own))
            for verb in self._asserted(WORDS["appointing"])
        )

    def _has_post(self, role: set[int]) -> bool:
        """Return True for "Ana joins as second screener"."""
        return any(
            self._words[way].lemma == "as"
            and bool(role.intersection(self._sentence.children(way, "pobj")))
            and any(map(self._is_person, self.agents(verb)))
            for verb in self._asserted(WORDS["taking_posts"])
            for way in self._sentence.children(verb, "prep")
        )

    def _is_done_by_one(self, verb: int, others: set[int]) -> bool:
        """Return True if a verb has a person as its agent, object or companion."""
        if self._query.subject is not None:
            return any(self._is_person(i) for i in others if i not in self.agents(verb))
        agents, speaker = self._asked_for(verb), self._statement.memory.speaker
        spoken = speaker and any(self._words[i].lower in SELF for i in agents)
        before = self._statement.before and any(self._words[i].lower in THIRD for i in agents)
        acting = agents & others
        if not self._query.terms:  # "who left?" asks for no train
            acting = {i for i in acting if self._is_one(i)}
        return bool(acting or spoken or before)

    def _describes(self, name: Term) -> bool:
        """Return True if the sentence describes the person: "is a nurse", "Ana, the nurse"."""
        own = self._at[name.text]
        return any(is_described(self._sentence, i) for i in own) or any(
            self.agents(i) & own and self.is_told(i) and describes(self._sentence, i)
            for i, word in enumerate(self._words)
            if word.is_verb
        )

    def _identifies(self, index: int) -> bool:
        """Return True if a name is that of the thing or person asked about."""
        owned = {term.text: term.owner is not None for term in self._query.terms}
        heads = {
            i: owned[term.text]
            for term in self._query.terms
            if not term.is_name
            for i in self._at[term.text]
        }
        heads |= {self._words[i].head: True for i in heads if self._words[i].dep == "poss"}
        return any(
            self._same(index, head) and not self._is_beside_any(index, head, its)
            for head, its in heads.items()
        )

    def _is_beside_any(self, name: int, noun: int, owned: bool) -> bool:
        """Return True for the name after "a mule (Marit ...)", which need not be its name.

        That of "a dog, Rex" is, asked for somebody's dog.
        """
        if name not in self._sentence.children(noun, "appos"):
            return False
        dets = self._sentence.children(noun, "det")
        bracketed = any(word.tag == "-LRB-" for word in self._words[noun:name])
        return any(self._words[i].lower in ("a", "an") for i in dets) and (bracketed or not owned)

    def _same(self, name: int, noun: int) -> bool:
        if name in same_thing(self._sentence, noun):
            return True
        if noun in same_thing(self._sentence, name):
            return True
        word = self._words[name]
        verb = word.head
        calls = self._words[verb].lemma in ("call", "name")
        while word.dep in ("compound", "appos"):  # "my friend Salome will be my bridesmaid"
            word, verb = self._words[word.head], self._words[word.head].head
            calls = self._words[verb].lemma in ("call", "name")
        if calls and word.dep in ("oprd", "dobj", "attr", "ccomp", "nsubj"):
            head = self._words[verb]
            return (
                noun in self.patients(verb)
                or noun in self.agents(verb)
                or (head.dep in ("acl", "relcl") and self._is_that(head.head, noun))
            )
        if self._words[verb].lemma != "be":
            return False
        sides = [
            same_thing(self._sentence, i)
            for i in self._sentence.children(verb, "nsubj", "attr", "acomp")
        ]
        return any(name in side for side in sides) and any(noun in side for side in sides)

    def _is_that(self, kind: int, noun: int) -> bool:
        """Return True if a noun is equated with another one: "my pup is a beagle"."""
        verb = self._sentence.head(kind)
        said = self._words[kind].dep == "attr" and verb.lemma == "be"
        return kind == noun or (said and noun in self.agents(verb.index))

    def has_name(self) -> bool:
        """Return True if the sentence gives the name asked for."""
        return any(
            (self._words[i].text[0].isupper() or self._is_given(i)) and self._identifies(i)
            for i in {*self._others(), *filter(self._is_given, range(len(self._words)))}
        )

    def _is_given(self, index: int) -> bool:
        """Return True for a name in "is called ui_dark", with or without a capital."""
        word = self._words[index]
        called = self._words[word.head].lemma in ("call", "name") and word.dep in ("oprd", "dobj")
        plain = word.is_noun or not word.text.isalpha()
        return called and plain and not self._sentence.children(index, "det", "poss", "prep")

    def _is_one(self, index: int) -> bool:
        """Return True if a word means a person: a name, a noun such as "son", or the speaker."""
        word = self._words[index]
        if word.lower in SELF:
            return bool(self._statement.memory.speaker)
        return is_person(word) or is_person_noun(word) or self._is_person(index)

    def _is_predicated(self) -> bool:
        """Return True for a predicate about a person: "Ana is on leave"."""
        query = self._query
        if query.light_verb != "be" or query.subject is not None or not query.terms:
            return False
        for verb, word in enumerate(self._words):
            if (
                word.lemma != "be"
                or not self.is_told(verb)
                or tense_of(self._sentence, verb) != query.tense
            ):
                continue
            denied = self._sentence.is_denied(verb)
            parts = self._sentence.children(verb, "acomp", "prep")
            said = {j for i in parts for j in self._sentence.subtree(i)}
            whole = all(
                any(self._is_just(i, verb, term) for i in self._at[term.text] & said)
                for term in query.terms
            )
            if whole and denied is query.is_negated and any(map(self._is_one, self.agents(verb))):
                return True
        return False

    def _is_just(self, place: int, verb: int, term: Term) -> bool:
        return self.is_direct(place, verb, term) and self.has_matching_preposition(place, term)

    def _has_companion(self) -> bool:
        """Return True if the sentence names a companion: "plays with Ole"."""
        query = self._query
        verbs = self.verbs() or [
            i
            for i, word in enumerate(self._words)
            if word.lemma == query.light_verb and self.agents(i) & self._own and self.is_told(i)
        ]
        things = {i for verb in verbs for i in self._sentence.children(verb, "dobj", "dative")}
        if query.preposition in ("to", "for") and any(
            is_person(self._words[i]) for i in things - self.matched()
        ):
            return True  # "gave Ana the key"
        if query.preposition == "for" and any(map(self._employer, verbs)):
            return True
        return any(
            are_interchangeable(query.preposition, self._words[way].lemma)
            and not self._words[noun].is_time
            and (query.preposition != "from" or self._words[noun].label not in ("GPE", "LOC"))
            and (
                self._words[noun].is_proper
                or is_person_noun(self._words[noun])
                or self._words[noun].lemma in WORDS["groups"]
            )
            for head in {*verbs, *things}
            for way in self._sentence.children(head, "prep", "dative", "agent")
            for noun in set(self._sentence.children(way, "pobj")) - self.matched()
        )

    def has_owner(self) -> bool:
        """Return True if the sentence names an owner: "Ana's desk is here", "belongs to Ana"."""
        query = self._query
        noun = query.focus.split()[-1] if query.focus else query.subject and query.subject.text
        return any(
            self._is_owned_here(thing, query.verb and self.verbs())
            for term in query.terms
            if term.text.casefold() == (noun or "").casefold()
            for thing in self._at[term.text]
        )

    def _is_owned_here(self, thing: int, verbs: Sequence[int] | frozenset[str]) -> bool:
        """Return True if a clause names a thing's owner and has the question's other terms."""
        clauses = verbs or [
            i for i, w in enumerate(self._words) if w.lemma in ("be", "have", "belong")
        ]
        for verb in map(int, clauses):
            acts = thing in self.agents(verb) | self.patients(verb)
            if not acts or not self._is_asserted(verb):
                continue
            told = set(self._sentence.subtree(verb))
            owners = set(self._sentence.children(thing, "poss"))
            if self._words[verb].lemma == "belong":
                ways = (i for i in self._sentence.children(verb, "prep"))
                tos = (i for i in ways if self._words[i].lemma == "to")
                owners = {j for i in tos for j in self._sentence.children(i, "pobj")}
            whole = all(self._at[term.text] & told for term in self._query.terms)
            if whole and any(map(self._is_one, owners - self.matched())):
                return True
        return False
