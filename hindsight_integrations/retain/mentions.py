"""Find the names in texts: marked by the model, capitalised, identifiers, and known ones.

Where a capital says nothing (a note begins with a verb as often as with a name), a word is part
of a name only if a table, the bank, the dictionary or the rest of the sentence says so. The kind
is decided over all mentions in the texts; see `name_kinds`. Texts in other languages than English
are read by `names_elsewhere`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.language import Capitals, capitals_elsewhere
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.spacy_pipeline import Annotation, NamedSpan
from hindsight_integrations.nlp.word_classes import OCCUPATIONS, TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain import name_kinds
from hindsight_integrations.retain.identifiers import NameSpan, identifiers, unspaced_names
from hindsight_integrations.retain.known_names import known_names, spellings
from hindsight_integrations.retain.name_kinds import is_first_name
from hindsight_integrations.retain.name_words import (
    AROUND_NAMES,
    CAN_BE_ORDINARY,
    FINITE_VERBS,
    NEVER_ALONE,
    Word,
    are_common,
    proper_nouns,
    prose_sentences,
    read_words,
)
from hindsight_integrations.retain.names_elsewhere import names_elsewhere
from hindsight_integrations.retain.no_names import in_menus, without_no_names

_WORDS = word_sets("names")


def find_all_names(
    annotations: Sequence[Annotation],
    known: Mapping[str, Entity],
    titles: Collection[str] = (),
) -> list[list[NameSpan]]:
    """Return the names in each text, in order; of two that overlap the longer.

    Args:
        annotations: texts with the model's tags and named spans.
        known: entities by the normal forms of their names and aliases. They are found in lower
            case too, unless that is an ordinary word.
        titles: those of the texts that are titles of running prose, which name their subject.
    """
    spelled = spellings(known)
    found = [_names_in(one, known, spelled, one.text in titles) for one in annotations]
    votes: defaultdict[str, list[Counter[str]]] = defaultdict(list)
    for span in (span for spans in found for span in spans):
        votes[entity_norm(span.name)].append(span.votes)
    for norm, counted in votes.items():
        if norm in known and known[norm].kind != "concept":
            counted.append(Counter({known[norm].kind: name_kinds.MIN_CERTAIN_WEIGHT}))
    kinds = {norm: name_kinds.decide(counted) for norm, counted in votes.items()}
    return [
        [
            replace(span, kind=kind, certain=weight >= name_kinds.MIN_CERTAIN_WEIGHT)
            for span in spans
            for kind, weight in [kinds[entity_norm(span.name)]]
        ]
        for spans in found
    ]


def is_prose(annotation: Annotation) -> bool:
    """Return True for a text that is mostly running prose, no note or chat."""
    return bool(prose_sentences(annotation.text, read_words(annotation.text, annotation)))


def _names_in(
    annotation: Annotation,
    known: Mapping[str, Entity],
    spelled: Mapping[str, tuple[str, Entity]],
    is_title: bool,
) -> list[NameSpan]:
    """Return the names in one text, each with its votes for a kind."""
    text = without_no_names(annotation.text)
    words = read_words(text, annotation)
    prose = {word.sentence for word in words} if is_title else prose_sentences(text, words)
    capitals = capitals_elsewhere(text)
    found = (
        _names_by_grammar(annotation, text, words, known, spelled, prose)
        if capitals is None
        else _names_by_capitals(text, capitals, words, spelled)
    )
    menus = in_menus(text, words)
    spans = [s for s in longest([*found, *unspaced_names(text)]) if s.start not in menus]
    beside = name_kinds.votes_of_neighbours(text, [(s.start, s.end, s.votes) for s in spans])
    nouns = {word.start for word in words if _is_noun(word)}
    return [
        replace(
            span,
            votes=span.votes
            + votes
            + name_kinds.votes_of_context(text, span.start, span.end)
            + _of_compound(text, span, nouns),
        )
        for span, votes in zip(spans, beside, strict=True)
    ]


def _names_by_grammar(
    annotation: Annotation,
    text: str,
    words: Sequence[Word],
    known: Mapping[str, Entity],
    spelled: Mapping[str, tuple[str, Entity]],
    prose: Set[int],
) -> Iterator[NameSpan]:
    labelled = {
        name.start: _KINDS[name.label]
        for name in annotation.names
        if name.label in _KINDS and "@" not in text[name.start : name.end]
    }
    proper = proper_nouns(words, labelled, spelled, prose)
    people = {norm for norm, (_, entity) in spelled.items() if entity.kind == "person"}
    cut = _Cutter(text, people, known, prose, labelled)
    yield from _known(text, words, proper, spelled)
    yield from identifiers(text)
    yield from _marked(cut, words, proper, annotation.names)
    yield from _capitalised(cut, words, proper)


def _names_by_capitals(
    text: str,
    capitals: Capitals,
    words: Sequence[Word],
    spelled: Mapping[str, tuple[str, Entity]],
) -> Iterator[NameSpan]:
    """Yield the names in a text that is not English, which the model does not read."""
    shown = list(names_elsewhere(text, capitals))
    starts = {span.start for span in shown}
    yield from _known(text, words, [word.start in starts for word in words], spelled)
    yield from identifiers(text)
    yield from shown


def _is_noun(word: Word) -> bool:
    """Return True for a common noun; "retires" after a name is a verb, whatever its tag."""
    is_noun = word.tag in ("NN", "NNS") and not word.is_capital
    return is_noun and word.lower not in name_kinds.PERSON_VERBS


def _of_compound(text: str, span: NameSpan, nouns: Container[int]) -> Counter[str]:
    """Return the vote of a noun after a name, which it tells more of: "Grafana dashboards".

    With an article before it the name is a part of what the noun names: "a John Deere mower".
    """
    if span.end + 1 not in nouns:
        return Counter()
    article = _INDEFINITE.search(text, max(0, span.start - 3), span.start)
    return Counter({name_kinds.NO_PERSON: name_kinds.NAME_FORM_WEIGHT if article else 2})


_INDEFINITE = re.compile(r"\b[Aa]n? \Z")


def longest(spans: Iterable[NameSpan]) -> list[NameSpan]:
    """Return the longest spans that do not overlap, in text order; of equals the first given."""
    chosen: dict[int, NameSpan] = {}  # by where they start
    starts: list[int] = []  # of those, ascending
    for span in sorted(spans, key=lambda span: span.start - span.end):
        place = bisect_left(starts, span.start)
        follows = place == len(starts) or span.end <= starts[place]
        if follows and (not place or chosen[starts[place - 1]].end <= span.start):
            starts.insert(place, span.start)
            chosen[span.start] = span
        elif (same := chosen.get(span.start)) is not None and same.end == span.end:
            chosen[span.start] = replace(same, votes=same.votes | span.votes)
    return [chosen[start] for start in starts]


_KINDS = {
    "PERSON": "person",
    "NORP": "group",
    "FAC": "place",
    "GPE": "place",
    "LOC": "place",
    "ORG": "organization",
    "PRODUCT": "product",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "LAW": "work",
    "LANGUAGE": "concept",
}
"""OntoNotes labels of names; the other labels mark dates and quantities."""

_NEVER_COMPOUND = frozenset({"person", "place", "group"})
"""Kinds whose names contain no "and", comma or possessive: these separate two names."""


_QUESTION = re.compile(r"[^.!?\n]{1,300}\?")
_TITLE_WORDS = frozenset("the all how what where when one no our my some every".split())
_AFTER_POSSESSIVE = _WORDS["organization_words"] | _WORDS["place_words"]
_BEFORE_INITIALS = frozenset({"mr", "mrs", "ms", "miss", "dr"})
"""Titles that one letter may follow: "Mrs O", not "Rev B"."""
_ABBREVIATED = TITLES | {"st", "mt", "ft"}
_AFTER_COMMA = frozenset({"inc", "ltd", "llc", "jr", "sr"})
_MOST_WORDS = 8
_NAME_SHAPE = re.compile(r"P(?:(?:ll?|lt)?P)*n?")
"""Proper nouns, joined by "of the" or "van der", with a number after them: "Apollo 11"."""

_NUMBER = re.compile(r"(?!(?:1[5-9]|20)\d\d\Z)\d{1,4}(?:\.\d+)*")
_SCORE = re.compile(r"\d{1,2}[-–]\d{1,2}")
_NOT_NUMBERING = re.compile(
    r"\s?(?:%|:\s?\d|/\d|,\d|,? [ap]\.?m\b|,(?: \S+){1,3} \d"
    r"|\)|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\b)"
)
_INITIAL = re.compile(r"[A-Z]\.?")
_PROPER = ("NNP", "NNPS")
_PAYS = re.compile(
    r"\b(?:pa(?:y|ys|id)|ow(?:e|es|ed)|g(?:ive|ives|ave)|sen[dt]|len[dt]|charged?|tip(?:ped)?|refund(?:ed)?"
    r"|wired?|transfer(?:red)?|reimbursed?) \Z",
    re.IGNORECASE,
)
_HAS_BEFORE = re.compile(r"\b([A-Z][\w'’-]*) \d+(?:[,;]| and) \Z")
_HAS_AFTER = re.compile(r"[A-Z][\w'’-]* \d+(?:[,;]| and) ([A-Z][\w'’-]*) \d")
_AMOUNT_REACH = 60
"""Characters before a name that are searched for a verb of paying, and another name's number."""

_COUNTED = frozenset({"NN", "NNS", "JJ", "JJR", "NNPS", "CD", "VBN"})
"""Penn tags of the words after a number that counts something: "Ana 20 minutes"."""


@dataclass(frozen=True, slots=True)
class _Cutter:
    """Cuts names out of runs of words.

    Attributes:
        text: the text.
        people: normal forms of the names of the bank's persons, and of parts of them.
        known: entities by the normal forms of their names.
        prose: numbers of the sentences of running prose.
        labelled: kinds of the names that the model marks, by the offset of their first letter.
    """

    text: str
    people: Container[str]
    known: Container[str]
    prose: Container[int]
    labelled: Mapping[int, str]

    def is_person(self, word: Word) -> bool:
        """Return True if the word begins a person's name: a given name, a known one, a title."""
        norm = entity_norm(word.lower)
        return is_first_name(word.lower) or norm in self.people or word.lower in TITLES

    def cut(self, words: Sequence[Word], kind: str, after: Word | None) -> Iterator[NameSpan]:
        """Yield the name in the words, if any, without what only stands around it.

        Args:
            words: the words.
            kind: the kind of the model's label; "concept" without one.
            after: the word that follows.
        """
        if of := _of_a_firm(words):
            yield from self.cut(words[of + 1 :], "concept", after)
            after, words = words[of], words[:of]
        start, end = 0, len(words)
        while start < end and (_merely_precedes(words[start]) or self._asks(words[start])):
            if end - start > 1 and self.begins_title(words[start]):
                break
            start += 1
        words, end = words[start:], end - start
        start = self._leading(words, after)
        words, end, start = words[start:], end - start, 0
        while end and not _is_acronym(words[end - 1]) and self._trails(words, end, after):
            end -= 1
        titled = end - start > 1 and words[start].lower in _WORDS["honorifics"]
        titled = titled and not name_kinds.is_ship(self._spelled(words[start:end]))
        titled = titled and (len(words[end - 1].text) > 1 or words[start].lower in _BEFORE_INITIALS)
        if titled and sum(w.lower not in _WORDS["name_links"] for w in words[start:end]) > 2:
            start += 1
        name = words[start:end]
        if name and _is_name(name) and not self._is_common(name):
            spelled = self._spelled(name)
            labelled = start == 0 and not (kind == "place" and _is_common_word(name))
            yield NameSpan(
                name[0].start,
                name[-1].stem_end,
                spelled,
                kind,
                votes=_own_votes(name, spelled, titled)
                | name_kinds.vote_of_label(
                    kind if labelled else "concept", full_name=_is_full_name(name)
                ),
            )

    def _asks(self, word: Word) -> bool:
        """Return True for a verb that begins a question: "Will Grace be there?"."""
        return word.opens and word.tag == "MD" and _QUESTION.match(self.text, word.end) is not None

    def _leading(self, words: Sequence[Word], after: Word | None) -> int:
        """Return how many first words of a sentence are no part of the name after them."""
        if len(words) < 2 or not words[0].opens or words[0].sentence in self.prose:
            return 0
        first, rest = words[0], words[1:]
        if self.is_person(first) or first.lower in _WORDS["name_heads"] or self._is_known(words):
            return 0
        is_subject = after is not None and after.tag in FINITE_VERBS and not after.opens
        is_subject = is_subject and not self.text.startswith(",", words[-1].end)
        verb = self._is_verb(first, rest) and not (is_subject and not self.is_person(rest[0]))
        if not (verb or self._is_role(first, rest) or _is_before_preposition(first, rest[0])):
            return 0
        leading = 1
        while leading < len(words) and not words[leading].is_capital:
            leading += 1
        return leading

    def _is_verb(self, first: Word, rest: Sequence[Word]) -> bool:
        """Return True for the verb of a note, whose object follows: "Email", "Skim"."""
        if first.lower in _WORDS["participles_in_names"] or rest[-1].lower in _AFTER_POSSESSIVE:
            return first.inflected and self.is_person(rest[0])
        if first.inflected or first.lower in _WORDS["note_verbs"]:
            return True
        is_object = self.is_person(rest[0]) or not any(word.listed for word in rest)
        return first.verb and is_object and not is_given_name(first.lower)

    def _is_role(self, first: Word, rest: Sequence[Word]) -> bool:
        """Return True for a common noun before a person's name: "Customer Hadiza Bello"."""
        if not first.listed or rest[0].text.isdigit() or is_given_name(first.lower):
            return False
        full_name = len(rest) > 1 and not any(word.listed for word in rest)
        return full_name or (self.is_person(rest[0]) and first.tag not in ("NNPS", "JJ"))

    def begins_title(self, word: Word) -> bool:
        """Return True for a function word with a capital inside a sentence, as in "The Crown"."""
        if word.opens or word.sentence in self.prose or word.lower not in _TITLE_WORDS:
            return False
        return len(word.text) > 1 and word.text.istitle()

    def _is_common(self, words: Sequence[Word]) -> bool:
        """Return True for one common noun, which a note writes with a capital: "Legal"."""
        if len(words) > 1 or self._is_known(words):
            return False
        word = words[0]
        head = word.lower in _WORDS["name_heads"] | _WORDS["organization_words"]
        if self.text.startswith(":", word.end) and (word.inflected or word.tag == "NNS"):
            return word.listed and not is_given_name(word.lower)  # "Created: ...", "Children: ..."
        is_office = word.opens and (head or word.lower in OCCUPATIONS)
        return is_office or word.lower in _WORDS["common_nouns"]

    def _is_known(self, words: Sequence[Word]) -> bool:
        return entity_norm(self._spelled(words)) in self.known

    def _spelled(self, words: Sequence[Word]) -> str:
        return " ".join(self.text[words[0].start : words[-1].stem_end].split())

    def _trails(self, words: Sequence[Word], end: int, after: Word | None) -> bool:
        """Return True if the last word is ordinary, or a number that counts or scores."""
        last = words[end - 1]
        if not last.text[0].isdigit():
            is_suffix = last.text.isupper() and last.lower in _WORDS["organization_words"]
            is_surname = end > 1 and last.is_capital and is_first_name(words[0].lower)
            is_surname = is_surname and last.lower not in _WORDS["pronouns"]
            if end > 1 and _INITIAL.fullmatch(words[end - 2].text) and last.tag not in _PROPER:
                return True  # "page Anna K. Please call"
            return last.lower in AROUND_NAMES and not (is_suffix or is_surname)
        if end > 1 and self._is_known(words[:end]):
            return False
        scores = _SCORE.fullmatch(last.text) or self.text[last.start - 1] == ":"  # "2:1"
        if scores or _NOT_NUMBERING.match(self.text, last.end):
            return True
        follows = after if end == len(words) else words[end]
        counts = follows is not None and not follows.opens and follows.tag in _COUNTED
        gap = self.text[last.end : follows.start] if follows else ""
        return (counts and not gap.strip()) or self.is_person(words[0]) or self._is_amount(words)

    def _is_amount(self, words: Sequence[Word]) -> bool:
        """Return True for a number that somebody pays or has: "Paid Anneke 20", "Ines 3, Bo 4"."""
        start = words[0].start
        first = max(0, start - _AMOUNT_REACH)
        if _PAYS.search(self.text, first, start):
            return True
        before = _HAS_BEFORE.search(self.text, first, start)
        after = _HAS_AFTER.match(self.text, start)
        others = [one[1].casefold() for one in (before, after) if one]
        return any(other != words[0].lower for other in others)


def _of_a_firm(words: Sequence[Word]) -> int:
    """Return the index of the "of" before two words: "Ms Calloway of Fernley Heat"; or 0."""
    if not words or words[0].lower not in _BEFORE_INITIALS:
        return 0
    index = next((i for i, word in enumerate(words) if word.lower == "of"), 0)
    return index if index > 1 and len(words) - index > 2 else 0


def _is_common_word(words: Sequence[Word]) -> bool:
    """Return True for a word of the dictionary, as names of programs are: "in Vault".

    A verb's form is none: "Hove" only looks like that of "heave".
    """
    return len(words) == 1 and words[0].listed and not words[0].inflected


def _is_full_name(words: Sequence[Word]) -> bool:
    """Return True for words that are no common ones: "Sung-min Park", not "Tower 7", "Lee O2"."""
    plain = (w.is_capital and not w.listed and w.text[-1].isalpha() for w in words)
    return len(words) > 1 and all(plain)


def _own_votes(words: Sequence[Word], spelled: str, titled: bool) -> Counter[str]:
    """Return the votes of a name's own words."""
    if name_kinds.is_ship(spelled):
        return Counter(product=name_kinds.NAME_FORM_WEIGHT)
    lower = [word.lower for word in words]
    if "_".join(lower) in _WORDS["trade_names"]:
        return Counter({name_kinds.NO_PERSON: name_kinds.STATED_WEIGHT})
    votes = name_kinds.votes_of_words(lower, titled)
    if len(words) > 1 and lower[0] in name_kinds.PLACE_HEADS and words[-1].inflected:
        votes["place"] = 0  # "Castle Heating", beside "Castle Howard"
    if len(words) == 1 and spelled.isupper():
        votes["person"] = 0  # "on PIP"; a Pip is told by his other mentions
    if len(words) == 1 and words[0].opens and words[0].lower in _WORDS["also_words"]:
        votes["person"] -= votes["person"] < 2  # "Bill of lading": the capital says nothing here
    if " & " in spelled:  # "Petals & Thorn" is a firm rather than "Kev & Shaz"
        votes[name_kinds.NO_PERSON] += name_kinds.STATED_WEIGHT
        votes["organization"] += all(word.listed for word in words)
    return votes


def _is_before_preposition(first: Word, second: Word) -> bool:
    """Return True for "Flowers by Petals", not for "Bank of America"."""
    is_link = second.lower in _WORDS["name_links"] or second.is_capital
    return first.listed and second.tag == "IN" and not is_link


def _marked(
    cut: _Cutter, words: Sequence[Word], proper: Sequence[bool], names: Sequence[NamedSpan]
) -> Iterator[NameSpan]:
    """Yield the names that the model marks."""
    is_proper = {word.start for word, is_one in zip(words, proper, strict=True) if is_one}
    index = 0
    for name in names:
        if (kind := _KINDS.get(name.label)) is None:
            continue
        while index < len(words) and words[index].end <= name.start:
            index += 1
        last = index
        while last < len(words) and words[last].start < name.end:
            last += 1
        marked = words[index:last]
        if not marked or "\n" in cut.text[name.start : name.end]:
            continue
        lead = words[index - 1].lower if index else ""
        first, *others = _around_verbs(marked, kind, lead)
        pieces = [(part, kind) for part in _parts(cut, first, kind)]
        pieces += [(other, "concept") for other in others]
        for part, kind in pieces:
            all_small = not is_proper and _is_lower_name(part, kind)
            if all_small or any(word.start in is_proper for word in part):
                ends = part[-1] is marked[-1] and last < len(words)
                yield from cut.cut(part, kind, words[last] if ends else None)


def _around_verbs(words: Sequence[Word], kind: str, lead: str) -> list[list[Word]]:
    """Return the words that a model marks as one name, cut at a verb: "Alice loves React".

    After "from", as the word before (`lead`), they are cut at "to": "from Trello to Asana".
    """
    pieces: list[list[Word]] = [[]]
    for before, word in zip([None, *words], words, strict=False):
        inside = before is not None and before.is_capital
        inside = inside and (word is not words[-1] or word.tag in FINITE_VERBS)
        inside = inside or (before is not None and before.is_capital and _is_end(word, kind))
        small = word.text.islower() and word.lower not in _WORDS["name_links"]
        parts = kind == "person" or word.tag in FINITE_VERBS or _is_way(words, word, kind)
        parts = parts or word.lower in ("v", "vs") or (lead, word.lower) == ("from", "to")
        if inside and small and parts:
            pieces.append([])
        else:
            pieces[-1].append(word)
    return pieces


def _is_end(word: Word, kind: str) -> bool:
    """Return True for a last word in small letters that is no part: "Mrs Pereira rang"."""
    return kind == "person" and word.listed and word.lower not in _WORDS["name_links"]


def _is_way(words: Sequence[Word], word: Word, kind: str) -> bool:
    """Return True for a preposition between two names: "Ghent to Delft", "Odile on New Year"."""
    if word.lower not in _BETWEEN_NAMES:
        return False
    first, following = words[0].lower, words[words.index(word) + 1 :]
    is_known = is_first_name(first) or first in _WORDS["places"]
    return kind == "place" or is_known or any(is_first_name(one.lower) for one in following[:1])


_BETWEEN_NAMES = frozenset({"for", "to", "on", "from", "at", "with", "via", "than", "about"})


def _parts(cut: _Cutter, words: Sequence[Word], kind: str) -> Iterator[list[Word]]:
    """Yield the words that a model marks as one name, cut where they are several persons."""
    persons = words[0].sentence not in cut.prose and any(map(cut.is_person, words))
    persons = persons or all(w.lower == "and" or is_first_name(w.lower) for w in words)
    if kind not in _NEVER_COMPOUND and not persons and not _are_two_places(cut.text, words):
        yield from _around_signs(cut.text, words)
        return
    for segment in _segments(cut.text, words):
        for is_and, part in groupby(segment, lambda word: word.lower == "and"):
            if not is_and:
                yield list(part)


def _are_two_places(text: str, words: Sequence[Word]) -> bool:
    """Return True for a name, a comma and a place or firm: "Rossio, Pena Palace"."""
    listed = any(", " in text[a.end : b.start] for a, b in pairwise(words))
    joined = any(word.lower == "and" or not word.is_capital for word in words)
    return listed and not joined and words[-1].lower in _AFTER_POSSESSIVE - _AFTER_COMMA


_BETWEEN = frozenset("@(=$€£")
"""Signs that stand in no name: "Interview @ Spotify", "ordered Xpelair £44"."""


def _around_signs(text: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield words cut at a sign between them."""
    part: list[Word] = []
    for word in words:
        if part and not _BETWEEN.isdisjoint(text[part[-1].end : word.start]):
            yield part
            part = []
        part.append(word)
    yield part


def _capitalised(cut: _Cutter, words: Sequence[Word], proper: Sequence[bool]) -> Iterator[NameSpan]:
    """Yield runs of words that look like names."""
    index_of = {word.start: index for index, word in enumerate(words)}
    for segment in _segments(cut.text, words):
        shape = "".join(_shape(cut.text, word, proper[index_of[word.start]]) for word in segment)
        for match in _NAME_SHAPE.finditer(shape):
            run = segment[match.start() : match.end()]
            index = index_of[run[-1].start] + 1
            after = words[index] if index < len(words) else None
            of = _of_another(cut, run)
            if of:
                yield from cut.cut(run[:of], "concept", run[of])
            first = index_of[run[0].start]
            lead = words[first - 1] if first and not of else None
            for span in cut.cut(run[of + 1 if of else 0 :], "concept", after):
                yield _with_article(cut, span, lead)


def _with_article(cut: _Cutter, span: NameSpan, lead: Word | None) -> NameSpan:
    """Return the name with the word before it, if its capital makes that a part: "The Crown"."""
    if lead is None or lead.end + 1 != span.start or not cut.begins_title(lead):
        return span
    votes = span.votes + Counter({name_kinds.NO_PERSON: 2})
    return replace(span, start=lead.start, name=f"{lead.text} {span.name}", votes=votes)


def _of_another(cut: _Cutter, run: Sequence[Word]) -> int:
    """Return the index of the "of" between two names, as in "Oyelaran of Brightwater"; or 0.

    The model marks the second as an organisation, and the first is no common noun.
    """
    if run[0].sentence in cut.prose:
        return 0
    return next(
        (
            index
            for index in range(1, len(run) - 1)
            if run[index].lower == "of"
            and cut.labelled.get(run[index + 1].start) == "organization"
            and run[0].start not in cut.labelled
            and (not run[0].listed or cut.is_person(run[0]))
        ),
        0,
    )


def _shape(text: str, word: Word, proper: bool) -> str:
    """Return the letter that stands for a word in `_NAME_SHAPE`."""
    if proper:
        return "P"
    if word.text in _WORDS["name_links"]:
        return "l"
    if word.text == "the":
        return "t"
    counts = _NUMBER.fullmatch(word.text) and not _NOT_NUMBERING.match(text, word.end)
    return "n" if counts else "x"


def _segments(text: str, words: Iterable[Word]) -> Iterator[list[Word]]:
    """Yield runs of words that may be one name: no break, comma or possessive between them."""
    segment: list[Word] = []
    for word in words:
        if segment and not _joined(segment[-1], text[segment[-1].end : word.start], word):
            yield segment
            segment = []
        segment.append(word)
    if segment:
        yield segment


def _joined(before: Word, gap: str, word: Word) -> bool:
    if word.opens:
        return False
    if gap == " & " and is_first_name(before.lower) and is_first_name(word.lower):
        return word.stem_end < word.end  # "Ann & Ben" are two, "Ben & Jerry's" may be a firm
    if gap in (" ", "\u00a0", "  ", " & ", "-"):
        return before.stem_end == before.end or word.lower in _AFTER_POSSESSIVE
    if gap in (". ", "."):
        return len(before.text) == 1 or before.lower in _ABBREVIATED
    return gap == ", " and word.lower in _AFTER_COMMA


def _merely_precedes(word: Word) -> bool:
    if not word.is_capital and word.lower in _WORDS["name_links"]:
        return False
    if word.lower in AROUND_NAMES:
        return not _is_acronym(word)
    return not word.is_capital and (word.lower in _WORDS["numbered"] or not word.is_tagged_proper)


def _is_name(words: Sequence[Word]) -> bool:
    if len(words) > _MOST_WORDS or len(words[0].text) + len(words) < 3:
        return False
    return any(
        _is_acronym(word) or not (word.lower in NEVER_ALONE or word.text.isdigit())
        for word in words
    )


def _is_lower_name(words: Sequence[Word], kind: str) -> bool:
    """Return True for a person or place in a text that capitalises nothing."""
    return kind in ("person", "place") and all(
        word.is_tagged_proper and not word.is_capital and word.lower not in CAN_BE_ORDINARY
        for word in words
    )


def _is_acronym(word: Word) -> bool:
    return word.text in ("US", "WHO")


def _known(
    text: str,
    words: Sequence[Word],
    proper: Sequence[bool],
    spelled: Mapping[str, tuple[str, Entity]],
) -> Iterator[NameSpan]:
    """Yield known names, unless they are ordinary words: "will", "in May", "the amber stone"."""
    index_at = {word.start: index for index, word in enumerate(words)}
    in_small = not any(word.is_capital for word in words)
    for span in known_names(text, spelled):
        index = index_at.get(span.start)
        persons = index is not None and name_kinds.may_be_persons(span.name, span.kind)
        if persons and are_common(words, index or 0, span.end, in_small=in_small):
            continue
        if index is None or words[index].end < span.end:
            yield span
            continue
        word = words[index]
        if word.lower not in CAN_BE_ORDINARY or proper[index]:
            yield span
        elif word.lower in _WORDS["calendar"] and word.is_capital and not word.opens:
            word_before = words[index - 1].lower if index else ""
            if (
                word_before not in _WORDS["before_times"]
                and not text[word.end : word.end + 2].strip().isdigit()
            ):
                yield span
