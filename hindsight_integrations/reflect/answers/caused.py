"""Causes that a sentence names of what a question speaks of: "because ...", "... led to ..."."""

from __future__ import annotations

from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.reflect.answers.questions import WORDS
from hindsight_integrations.reflect.answers.roles import RoleMatch

_NO = ("not", "n't", "n’t", "never")


class CauseMatch(RoleMatch):
    """Compares one sentence with one question that asks why."""

    def has_cause(self) -> bool:
        """Return True if the sentence names a cause of the effect asked about."""
        return self.cause_after() or self._cause_before() or self._led_to() or self._has_purpose()

    def _has_purpose(self) -> bool:
        """Return True for a purpose: "sold it to pay the rent", "needs it for her daughter"."""
        return any(
            way.dep == "advcl" and way.is_infinitive
            for verb in self.verbs()
            for way in verb.children()
            if way > verb
        ) or any(
            word.lemma == "for"
            and word.dep == "prep"
            and any(not child.is_time for child in word.children("pobj"))
            and any(v.lemma in ("want", "need") for v in self._governors(word))
            for word in self._words
        )

    def _governors(self, way: Word) -> set[Word]:
        """Return the verb of the question that next governs a word; empty if it is another."""
        verb = way.governing_verb
        return {verb}.intersection(self.verbs())

    def cause_after(self) -> bool:
        """Return True if the effect precedes its cause: "... because ..."."""
        for word in self._words:
            if word.text.casefold() in WORDS["because"] and not word.is_time:
                clause = word.head if word.dep == "mark" else word
                if self._is_denied(word):
                    return False
                cause = set(clause.subtree())
                if word.dep != "mark" or clause is not self._sentence.roots[0]:
                    return not cause & set(self.verbs()) and not cause & self._content()
        return False

    def _is_denied(self, word: Word) -> bool:
        """Return True for a rejected cause: "not because ...", "not just because ..."."""
        before = word.before
        if before and before.before and before.tag == "RB" and before.lower not in _NO:
            before = before.before
        return before is not None and before.lower in _NO

    def _led_to(self) -> bool:
        """Return True if the cause precedes its effect: "... which led to the delay of ..."."""
        wanted = [self._at[term.text] for term in self._query.terms if self._at[term.text]]
        wanted += [set(self.verbs())] if self._query.verb else []
        for word in self._words:
            if word.lemma not in WORDS["leading"] or not word.is_verb:
                continue
            deps = ("prep", "dobj", "ccomp", "xcomp", "dative")
            reach = {below for child in word.children(*deps) for below in child.subtree()}
            if wanted and not word.is_denied and all(reach & each for each in wanted):
                return any(cause.tag not in ("DT", "PRP") for cause in word.children("nsubj"))
        return False

    def _cause_before(self) -> bool:
        told = self._content() | set(self.verbs())
        if not told:
            return False
        last = max([min(told), *self.verbs()])
        return any(word.text.casefold() in WORDS["hence"] for word in self._words[2 : last.index])

    def _content(self) -> set[Word]:
        return set().union(
            *(self._at[t.text] for t in self._query.terms if not t.is_name and not t.is_self), set()
        )
