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
        self._at: dict[str, set[Word]] = {}

    @property
    def _own(self) -> set[Word]:
        """Words for the question's subject; empty if it has none."""
        subject = self._query.subject
        return self._at.get(subject.text, set()) if subject is not None else set()

    def _words_for(self, term: Term) -> set[Word]:
        """Return the words that stand for a term."""
        if term.is_self:
            of_all = term.text.casefold() in PLURAL_SELF
            return {word for word in self._words if self._is_asker(word, of_all)}
        found = {word for word in self._words if self._is_named(term, word)}
        if term.is_name:
            entities = self._statement.memory.entities
            alike = [e for e in entities if may_share(term.titles, set(entity_norm(e).split()))]
            found |= aliases(term.name, self._words, alike)
            found |= {word for word in self._words if self._is_spoken_by(word, term)}
        if term.is_name or term.is_person:
            first = min(found, default=None)
            found |= {
                word
                for word in self._words
                if (first is None or word > first)
                and word.lower in THIRD
                and self._is_the_one_before(term, found, word)
            }
        if term.is_name:
            found -= {word for word in found if self._is_namesake(word, term)}
        return found

    def _is_named(self, term: Term, word: Word) -> bool:
        """Return True if a word is the term; a name or number must match whole."""
        if any(character.isdigit() for character in term.text):
            return word.text.casefold() == term.text.casefold()
        if term.is_name:
            told = whole_name(word)
            entities = self._statement.memory.entities
            return (
                entity_norm(word.text) == entity_norm(term.text)
                and may_share(term.titles, told | titles_of(word))
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
        while word.dep in ("compound", "flat") and word.head.is_proper:
            word = word.head
        below = word.children("det", "amod", "compound", "nmod", "flat")
        beside = (*below, word.after) if word.after else below
        apart = {each.lower.rstrip(".") for each in beside} & WORDS["namesakes"] - term.name
        return any(self._query.all_stems.isdisjoint(lexemes(each)) for each in apart)

    def _is_the_one_before(self, term: Term, found: set[Word], pronoun: Word) -> bool:
        """Return True if "he" or "she" can only refer to the person of this name or noun."""
        before, told = self._statement.before, pronoun.lower
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
        names = {entity_norm(word.text) for word in found}
        last = max(found, default=pronoun)
        return not any(
            is_another(word, names) and may_mean(told, [word.lower, word.lemma])
            for word in last.until(pronoun)[1:]
        ) and not any(
            is_person(word) and word not in found and (found or word < pronoun)
            for word in self._words
        )

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
        owned = word.children("poss", "compound", "prep")
        return named and not owned and self._query.asked in (Asked.WHEN, Asked.WHERE)

    def _is_owned(self, term: Term, word: Word) -> bool:
        """Return True if a noun has the owner that the question gives it, if any."""
        if term.owner is None:
            return True
        noun = word
        while noun.dep in ("compound", "amod", "nmod"):
            noun = noun.head
        owners = [owner for n in {word, noun} for owner in n.children("poss")]
        owners += [
            owner
            for n in {word, noun}
            for way in n.children("prep")
            if way.lemma == "of" or (way.lemma == "for" and is_person_noun(n))  # "vet for Rex"
            for owner in way.children("pobj")
        ]
        if owners:
            return any(self._is_owner(term.owner, owner) for owner in owners)
        if self._is_had(term.owner, noun) or self._is_speaker(term.owner):
            return True
        articles = (article.lower for article in noun.children("det"))
        return term.owner.is_self and self._is_own() and "the" in articles

    def _is_owner(self, owner: Term, word: Word) -> bool:
        if word in self._words_for(owner):
            if owner.owner is None:
                return bool(owner.article) or not self._is_of_another(word)
            return self._is_owned(owner, word)
        if word.text.casefold() not in THIRD:
            return False
        own = self._words_for(owner)
        others = (
            name
            for name in self._words[: word.index]
            if name.is_proper and name not in own
            if name.head not in own or entity_norm(name.text) not in TITLES
        )
        return next(others, None) is None and any(name < word for name in own)

    def _is_of_another(self, person: Word) -> bool:
        """Return True if a noun has another owner: "Ana's mother" is not "mum"."""
        return is_person_noun(person) and any(
            owner.lower not in SELF for owner in person.children("poss")
        )

    def _is_had(self, owner: Term, noun: Word) -> bool:
        """Return True if a clause says that the owner has the thing: "Alice has a dog"."""
        verb = noun.head
        if noun.dep not in ("dobj", "conj") or noun.is_root:
            return False
        if noun.dep == "conj":
            return self._is_had(owner, verb)
        had = verb.lemma in WORDS["having"]
        return had and bool(self.agents(verb) & self._words_for(owner))

    # Who does what

    def agents(self, verb: Word) -> set[Word]:
        """Return the agents of a verb."""
        return self._who(verb, "nsubj", "agent")

    def patients(self, verb: Word) -> set[Word]:
        """Return the patients of a verb: its objects, or the subject of a passive."""
        return self._who(verb, "nsubjpass", "dobj", "attr", "oprd")

    def _who(self, verb: Word, *deps: str) -> set[Word]:
        found: set[Word] = set()
        helpers = verb.children("aux", "auxpass")
        heads = (verb, *helpers)  # a parser may take "was" for the verb of "was closed"
        for word in (word for head in heads for word in head.children(*deps)):
            by = deps[-1] == "agent" and word.dep == "agent"
            for noun in word.children("pobj") if by else (word,):
                found |= same_thing(noun)
        if verb.dep == "relcl" and any(word.tag in ("WP", "WDT") for word in found):
            found |= same_thing(verb.head)
        found |= self._singled_out(verb, found)
        inherits = verb.dep in ("conj", "xcomp", "advcl", "acomp")
        has_own = any(head.children("nsubj", "nsubjpass") for head in heads)
        if not found and inherits and not has_own and not verb.is_root:
            if verb.dep == "xcomp" and self._is_arranged(verb):
                things = verb.head.children("dobj")
                return {word for thing in things for word in same_thing(thing)}
            subjects = {d for d in deps if d.startswith("nsubj")}
            if "nsubj" in subjects and verb.tag in ("VBD", "VBZ", "VBP"):
                subjects.add("nsubjpass")  # "was born in Ulm and died in Bonn"
            return self._who(verb.head, *sorted(subjects))
        if not found and verb.dep in ("relcl", "acl") and not has_own:
            done = verb.tag == "VBN"
            if done == ("nsubjpass" in deps):
                return same_thing(verb.head)
        return found

    def _singled_out(self, verb: Word, agents: set[Word]) -> set[Word]:
        """Return the "Hugo" of "it was Hugo who forgot", if a parser takes "who" for the agent."""
        be = verb.head
        by = any(word.tag == "WP" for word in agents)
        it = {word.lower for word in be.children("nsubj")} == {"it"}
        if not by or not it or verb.dep != "ccomp" or be.lemma != "be":
            return set()
        return {word for person in be.children("attr") for word in same_thing(person)}

    def _is_arranged(self, verb: Word) -> bool:
        """Return True for a verb under an arrangement: "run" of "set the backups to run"."""
        return verb.head.lemma in WORDS["arranging"] - {"use"}
