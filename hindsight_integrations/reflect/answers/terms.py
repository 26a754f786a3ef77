"""Words of a sentence that stand for what a question speaks of: a name, a thing, its owner."""

from __future__ import annotations

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.nlp.word_classes import TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.answers.named import (
    aliases,
    is_anothers,
    is_person,
    is_person_noun,
    may_be,
    may_share,
    titles_of,
    whole_name,
    words_of,
)
from hindsight_integrations.reflect.answers.questions import (
    PLURAL_SELF,
    SELF,
    WORDS,
    Asked,
    Query,
    Term,
)
from hindsight_integrations.reflect.answers.stated import (
    THIRD,
    Statement,
    is_another,
    may_mean,
    same_thing,
)

_ROLES = frozenset({"user", "human"})
_ONE_PERSON = frozenset("he she him her his hers".split())
_ASSISTANTS = frozenset({"assistant", "ai", "system"})


def is_part_of(term: Term, name: str | None) -> bool:
    """Return True if a term is part of a name that may be the one asked about."""
    words = words_of(name or "")
    named = entity_norm(term.text) in words and may_be(term.name or words, words)
    return named and may_share(term.titles, set(entity_norm(name or "").split()))


class TermMatch:
    """Compares one sentence with the terms of one question."""

    def __init__(self, statement: Statement, query: Query) -> None:
        self._statement = statement
        self._sentence = statement.sentence
        self._words = statement.sentence.words
        self._query = query
        self._at: dict[str, set[int]] = {}

    @property
    def _own(self) -> set[int]:
        """Positions of the question's subject; empty if it has none."""
        subject = self._query.subject
        return self._at.get(subject.text, set()) if subject is not None else set()

    def _positions(self, term: Term) -> set[int]:
        if term.is_self:
            of_all = term.text.casefold() in PLURAL_SELF
            return {i for i, word in enumerate(self._words) if self._is_asker(word, of_all)}
        found = {i for i, word in enumerate(self._words) if self._is_named(term, word)}
        if term.is_name:
            entities = self._statement.memory.entities
            alike = [e for e in entities if may_share(term.titles, set(entity_norm(e).split()))]
            found |= aliases(term.name, self._words, alike)
            found |= {i for i, word in enumerate(self._words) if self._is_spoken_by(word, term)}
        if term.is_name or term.is_person:
            start = min(found, default=-1)
            found |= {
                i
                for i, word in enumerate(self._words)
                if i > start and word.lower in THIRD and self._is_the_one_before(term, found, i)
            }
        if term.is_name:
            found -= {i for i in found if self._is_namesake(self._words[i], term)}
        return found

    def _is_named(self, term: Term, word: Word) -> bool:
        """Return True if a word is the term; a name or number must match whole."""
        if any(character.isdigit() for character in term.text):
            return word.text.casefold() == term.text.casefold()
        if term.is_name:
            told = whole_name(self._words, word.index)
            entities = self._statement.memory.entities
            return (
                entity_norm(word.text) == entity_norm(term.text)
                and may_share(term.titles, told | titles_of(self._words, word.index))
                and may_be(term.name, told | {entity_norm(word.text)})
                and not is_anothers(term.name, told, entities)
            )
        if is_person(word) and word.is_proper:  # "where does simon live"
            return entity_norm(word.text) == entity_norm(term.text)
        if word.is_noun and word.text[-2:] != (end := term.text[-2:]) and end in ("er", "or"):
            return word.lemma == term.text.casefold()  # an "insurance" is no "insurer"
        own = set(lexemes(word.text))
        return bool(term.stems & own or term.stems & set(lexemes(word.lemma)))

    def _is_namesake(self, word: Word, term: Term) -> bool:
        """Return True for the name of "another Anna Kruse" or "Young Anna", if not asked of her."""
        while word.dep in ("compound", "flat") and self._words[word.head].is_proper:
            word = self._words[word.head]
        below = self._sentence.children(word.index, "det", "amod", "compound", "nmod", "flat")
        beside = {self._words[i] for i in below} | {*self._words[word.index + 1 : word.index + 2]}
        apart = {each.lower.rstrip(".") for each in beside} & WORDS["namesakes"] - term.name
        return any(self._query.all_stems.isdisjoint(lexemes(each)) for each in apart)

    def _is_the_one_before(self, term: Term, found: set[int], pronoun: int) -> bool:
        """Return True if "he" or "she" can only refer to the person of this name or noun."""
        before, told = self._statement.before, self._words[pronoun].lower
        if not may_mean(told, term.name | term.titles | {entity_norm(term.text)}):
            return False
        if term.is_person and told not in _ONE_PERSON:
            return False
        if not found and not (
            may_be(term.name, before - TITLES) and may_share(term.titles, before)
        ):
            return False
        if not found and entity_norm(term.text) not in self._statement.before:
            return False
        others = (
            i
            for i, word in enumerate(self._words)
            if is_person(word) and i not in found and (found or i < pronoun)
        )
        names = {entity_norm(self._words[i].text) for i in found}
        if any(
            is_another(self._sentence, i, names)
            and may_mean(told, [self._words[i].lower, self._words[i].lemma])
            for i in range(max(found, default=pronoun) + 1, pronoun)
        ):
            return False
        return next(others, None) is None

    def _is_asker(self, word: Word, of_all: bool = False) -> bool:
        """Return True for a first-person pronoun of the asker; of all, for anybody's "we"."""
        spoken = word.text.casefold()
        return spoken in SELF and (self._is_own() or (of_all and self._is_ones_we(spoken)))

    def _is_own(self) -> bool:
        """Return True if the asker is the speaker."""
        speaker = (self._statement.memory.speaker or "user").casefold()
        return speaker in (*_ROLES, self._query.asker)

    def _is_ones_we(self, pronoun: str) -> bool:
        """Return True for a plural pronoun of one of several people, whose bank it is together."""
        speaker = (self._statement.memory.speaker or "").casefold()
        return pronoun in PLURAL_SELF and speaker not in _ASSISTANTS

    def _is_spoken_by(self, word: Word, term: Term) -> bool:
        return word.lower in SELF and is_part_of(term, self._statement.memory.speaker)

    def _is_speaker(self, term: Term) -> bool:
        """Return True for the asker's own note without "I": "Dentist on Friday".

        Asked what "we" do, it may be told as done: "Images are compressed with Squoosh".
        """
        subjects = {
            word.dep
            for word in self._words
            if word.dep in ("nsubj", "nsubjpass", "agent") and not self._is_the_action(word)
        }
        if self._query.asked in (Asked.HOW, Asked.WHAT) and subjects <= {"nsubjpass"}:
            is_we = term.text.casefold() == "we"
            return term.is_self and self._is_own() and (not subjects or is_we)
        return term.is_self and self._is_own() and not subjects

    def _is_the_action(self, word: Word) -> bool:
        """Return True for "Rehearsals are on Fridays", asked when or where "we" rehearse."""
        named = word.is_noun and not self._query.verb.isdisjoint(lexemes(word.text))
        owned = self._sentence.children(word.index, "poss", "compound", "prep")
        return named and not owned and self._query.asked in (Asked.WHEN, Asked.WHERE)

    def _is_owned(self, term: Term, index: int) -> bool:
        """Return True if a noun has the owner that the question gives it, if any."""
        if term.owner is None:
            return True
        noun = index
        while self._words[noun].dep in ("compound", "amod", "nmod"):
            noun = self._words[noun].head
        owners = [i for n in {index, noun} for i in self._sentence.children(n, "poss")] + [
            i
            for n in {index, noun}
            for of in self._sentence.children(n, "prep")
            if self._words[of].lemma == "of"
            or (
                self._words[of].lemma == "for" and is_person_noun(self._words[n])  # "vet for Rex"
            )
            for i in self._sentence.children(of, "pobj")
        ]
        if owners:
            return any(self._is_owner(term.owner, i) for i in owners)
        if self._is_had(term.owner, noun) or self._is_speaker(term.owner):
            return True
        articles = (word.lower for word in self._sentence.dependents(noun, "det"))
        return term.owner.is_self and self._is_own() and "the" in articles

    def _is_owner(self, owner: Term, index: int) -> bool:
        if index in self._positions(owner):
            if owner.owner is None:
                return bool(owner.article) or not self._is_of_another(index)
            return self._is_owned(owner, index)
        if self._words[index].text.casefold() not in THIRD:
            return False
        people = [
            w
            for i, w in enumerate(self._words)
            if w.is_proper and i < index and i not in self._positions(owner)
            if w.head not in self._positions(owner) or entity_norm(w.text) not in TITLES
        ]
        return not people and any(i < index for i in self._positions(owner))

    def _is_of_another(self, person: int) -> bool:
        """Return True if a noun has another owner: "Ana's mother" is not "mum"."""
        owners = self._sentence.children(person, "poss")
        return is_person_noun(self._words[person]) and any(
            self._words[i].lower not in SELF for i in owners
        )

    def _is_had(self, owner: Term, noun: int) -> bool:
        """Return True if a clause says that the owner has the thing: "Alice has a dog"."""
        verb = self._words[noun].head
        if self._words[noun].dep not in ("dobj", "conj") or verb == noun:
            return False
        if self._words[noun].dep == "conj":
            return self._is_had(owner, verb)
        had = self._words[verb].lemma in WORDS["having"]
        return had and bool(self.agents(verb) & self._positions(owner))

    # Who does what

    def agents(self, verb: int) -> set[int]:
        """Return the agents of a verb."""
        return self._who(verb, "nsubj", "agent")

    def patients(self, verb: int) -> set[int]:
        """Return the patients of a verb: its objects, or the subject of a passive."""
        return self._who(verb, "nsubjpass", "dobj", "attr", "oprd")

    def _who(self, verb: int, *deps: str) -> set[int]:
        found: set[int] = set()
        helpers = self._sentence.children(verb, "aux", "auxpass")
        heads = (verb, *helpers)  # a parser may take "was" for the verb of "was closed"
        for child in (i for head in heads for i in self._sentence.children(head, *deps)):
            nouns = (
                self._sentence.children(child, "pobj")
                if deps[-1] == "agent" and self._words[child].dep == "agent"
                else (child,)
            )
            for noun in nouns:
                found |= same_thing(self._sentence, noun)
        relative = self._words[verb].dep == "relcl"
        if relative and any(self._words[i].tag in ("WP", "WDT") for i in found):
            found |= same_thing(self._sentence, self._words[verb].head)
        found |= self._singled_out(verb, found)
        inherits = self._words[verb].dep in ("conj", "xcomp", "advcl", "acomp")
        has_own = any(self._sentence.children(head, "nsubj", "nsubjpass") for head in heads)
        if not found and inherits and not has_own and self._words[verb].head != verb:
            if self._words[verb].dep == "xcomp" and self._is_arranged(verb):
                things = self._sentence.children(self._words[verb].head, "dobj")
                return {j for i in things for j in same_thing(self._sentence, i)}
            subjects = {d for d in deps if d.startswith("nsubj")}
            if "nsubj" in subjects and self._words[verb].tag in ("VBD", "VBZ", "VBP"):
                subjects.add("nsubjpass")  # "was born in Ulm and died in Bonn"
            return self._who(self._words[verb].head, *sorted(subjects))
        if not found and self._words[verb].dep in ("relcl", "acl") and not has_own:
            done = self._words[verb].tag == "VBN"
            if done == ("nsubjpass" in deps):
                return same_thing(self._sentence, self._words[verb].head)
        return found

    def _singled_out(self, verb: int, agents: set[int]) -> set[int]:
        """Return the "Hugo" of "it was Hugo who forgot", if a parser takes "who" for the agent."""
        word, be = self._words[verb], self._sentence.head(verb)
        by = any(self._words[i].tag == "WP" for i in agents)
        it = {child.lower for child in self._sentence.dependents(be.index, "nsubj")} == {"it"}
        if not by or not it or word.dep != "ccomp" or be.lemma != "be":
            return set()
        persons = self._sentence.children(be.index, "attr")
        return {j for i in persons for j in same_thing(self._sentence, i)}

    def _is_arranged(self, verb: int) -> bool:
        """Return True for a verb under an arrangement: "run" of "set the backups to run"."""
        return self._sentence.head(verb).lemma in WORDS["arranging"] - {"use"}
