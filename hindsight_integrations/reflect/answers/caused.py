"""Causes that a sentence names of what a question speaks of: "because ...", "... led to ..."."""

from __future__ import annotations

from hindsight_integrations.reflect.answers.questions import WORDS
from hindsight_integrations.reflect.answers.roles import RoleMatch


class CauseMatch(RoleMatch):
    """Compares one sentence with one question that asks why."""

    def has_cause(self) -> bool:
        """Return True if the sentence names a cause of the effect asked about."""
        return self.cause_after() or self._cause_before() or self._led_to() or self._has_purpose()

    def _has_purpose(self) -> bool:
        """Return True for a purpose: "sold it to pay the rent", "needs it for her daughter"."""
        return any(
            self._words[way].dep == "advcl" and self._sentence.is_infinitive(way)
            for verb in self.verbs()
            for way in self._sentence.children(verb)
            if way > verb
        ) or any(
            word.lemma == "for"
            and word.dep == "prep"
            and any(not child.is_time for child in self._sentence.dependents(way, "pobj"))
            and any(self._words[v].lemma in ("want", "need") for v in self._governors(way))
            for way, word in enumerate(self._words)
        )

    def _governors(self, way: int) -> set[int]:
        """Return the verb of the question that next governs a word; empty if it is another."""
        verb = self._sentence.governing_verb(way)
        return {verb}.intersection(self.verbs())

    def cause_after(self) -> bool:
        """Return True if the effect precedes its cause: "... because ..."."""
        for index, word in enumerate(self._words):
            if word.text.casefold() in WORDS["because"] and not word.is_time:
                clause = word.head if word.dep == "mark" else index
                if self._is_denied(index):
                    return False
                cause = set(self._sentence.subtree(clause))
                if word.dep != "mark" or clause != self._sentence.roots()[0]:
                    return not cause & set(self.verbs()) and not cause & self._content()
        return False

    def _is_denied(self, index: int) -> bool:
        """Return True for a rejected cause: "not because ...", "not just because ..."."""
        before = index - 1
        if before > 0 and self._words[before].tag == "RB" and not self._is_no(before):
            before -= 1
        return before >= 0 and self._is_no(before)

    def _is_no(self, index: int) -> bool:
        return self._words[index].lower in ("not", "n't", "n’t", "never")

    def _led_to(self) -> bool:
        """Return True if the cause precedes its effect: "... which led to the delay of ..."."""
        wanted = [self._at[term.text] for term in self._query.terms if self._at[term.text]]
        wanted += [set(self.verbs())] if self._query.verb else []
        for index, word in enumerate(self._words):
            if word.lemma not in WORDS["leading"] or not word.is_verb:
                continue
            deps = ("prep", "dobj", "ccomp", "xcomp", "dative")
            reach = {
                j for i in self._sentence.children(index, *deps) for j in self._sentence.subtree(i)
            }
            denied = self._sentence.is_denied(index)
            if wanted and not denied and all(reach & each for each in wanted):
                causes = self._sentence.children(index, "nsubj")
                return any(self._words[i].tag not in ("DT", "PRP") for i in causes)
        return False

    def _cause_before(self) -> bool:
        first = min(self._content() | set(self.verbs()), default=0)
        return any(
            word.text.casefold() in WORDS["hence"] and 1 < index < max(first, *self.verbs(), 0)
            for index, word in enumerate(self._words)
        )

    def _content(self) -> set[int]:
        return set().union(
            *(self._at[t.text] for t in self._query.terms if not t.is_name and not t.is_self), set()
        )
