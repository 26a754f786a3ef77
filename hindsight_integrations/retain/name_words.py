"""Cut texts into words, and tell which of them look like parts of names.

How strict that is depends on the register: in running prose a tagger knows a name from a noun; in
notes, chats and lists, where capitals and missing articles mislead it, more must agree.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.spacy_pipeline import Annotation, sentence_ends
from hindsight_integrations.nlp.word_classes import FINITE, TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.name_kinds import is_first_name

_WORDS = word_sets("names")
_BEFORE_NAMES = TITLES | _WORDS["before_names"]
_ORDINARY = _WORDS["function_words"] | _WORDS["openers"]
AROUND_NAMES = _ORDINARY | _WORDS["determiners"]
"""Words that neither begin nor end a name."""
NEVER_ALONE = AROUND_NAMES | _WORDS["calendar"] | TITLES
"""Words that are no name by themselves."""
CAN_BE_ORDINARY = NEVER_ALONE | _WORDS["also_words"]
"""Words that in lower case are taken for no name."""
_HEADS = TITLES | _WORDS["organization_words"] | _WORDS["place_words"] | _WORDS["name_heads"]

_TOKEN = re.compile(r"[^\W_]+[+#]*(?:(?:['’&-]|(?<=\b[^\W\d_])\.|\.(?=\d))[^\W_]+[+#]*)*")
_ENDING = re.compile(r"(?:['’](?:s|m|ve|ll|d|re)|(?<=s)['’])\Z", re.IGNORECASE)
_STRETCHED = re.compile(r"(?!iii)([^\W\d_])\1\1")
"""An exclamation: "Nooo", "AAAA"."""
_OPENING = re.compile(r"(?:[\n:;|>•*\"“«(\[–—]|\s-)\s*\Z")
FINITE_VERBS = frozenset({"VBZ", "VBD", "MD"})
"""Penn tags of the verbs that stand right after a single name."""
_ORDINARY_OR_ACRONYM = frozenset({"us", "who", "pc"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        text: as spelled.
        lower: in lower case, without a possessive or contracted ending.
        start: offset of its first character.
        stem_end: offset after it, that ending left out.
        end: offset after it.
        tag: Penn tag; "" without a model.
        sentence: number of its sentence.
        opens: True if it begins a sentence, an item or a quotation, where a capital says nothing.
        listed: False if the model's dictionary does not know it.
        inflected: True if it is an inflected form of a verb in that dictionary.
        verb: True if it is the base form of one.
    """

    text: str
    lower: str
    start: int
    stem_end: int
    end: int
    tag: str
    sentence: int
    opens: bool
    listed: bool
    inflected: bool
    verb: bool

    @property
    def is_capital(self) -> bool:
        """True if it has a capital letter: "Bob", "iPhone", "NASA"."""
        return self.text[0].isalpha() and self.text != self.text.lower()

    @property
    def is_tagged_proper(self) -> bool:
        """True if the model tags it as a proper noun."""
        return self.tag in ("NNP", "NNPS")


def read_words(text: str, annotation: Annotation) -> list[Word]:
    """Cut a text into words, with the tags that its annotation gives them."""
    ends = sentence_ends(text)
    token_starts = [token.start for token in annotation.tokens]
    words: list[Word] = []
    lines = 0
    for match in _TOKEN.finditer(text):
        start = match.start()
        token = bisect_right(token_starts, start) - 1
        if words and "\n" in text[words[-1].end : start]:
            lines += 1
        sentence = bisect_right(ends, start) + lines
        opens = (
            not words
            or words[-1].sentence != sentence
            or _OPENING.search(text, words[-1].end, start) is not None
            or (words[-1].opens and _ITEM.fullmatch(text, words[-1].start, start) is not None)
        )
        stem = _ENDING.sub("", match.group())
        tagged = annotation.tokens[token] if token >= 0 else None
        words.append(
            Word(
                text=match.group(),
                lower=unicodedata.normalize("NFC", stem.casefold()),
                start=start,
                stem_end=start + len(stem),
                end=match.end(),
                tag=tagged.tag if tagged else "",
                sentence=sentence,
                opens=opens,
                listed=tagged.listed if tagged else True,
                inflected=tagged.inflected if tagged else False,
                verb=tagged.verb if tagged else False,
            )
        )
    return words


_ITEM = re.compile(r"\W*(?:\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+\.?|[A-Z]\))[ \t]+[\"'“‘*_]*")
"""Matches the number of an item or a section, after which a capital says nothing: "3. Hens"."""


def prose_sentences(text: str, words: Sequence[Word]) -> set[int]:
    """Return the numbers of the sentences of running prose.

    That is most of the text in full sentences (a subject before a finite verb, a full stop), two
    of them or a long one, which speak of nobody as "I" or "you" and leave no article out.
    """
    full = {
        number: len(sentence)
        for number, group in groupby(words, key=lambda word: word.sentence)
        if _is_full_sentence(text, sentence := list(group))
    }
    length = sum(full.values())
    several = len(full) > 1 or length >= _LONG_SENTENCE
    if not several or 2 * length <= len(words) or not any(word.tag == "DT" for word in words):
        return set()
    personal = any(word.lower in _PERSONAL and word.tag in _PRONOUNS for word in words)
    return set() if personal else set(full)


_LONG_SENTENCE = 12
_PERSONAL = frozenset({"i", "me", "my", "we", "us", "our", "you", "your"})
_PRONOUNS = frozenset({"PRP", "PRP$"})
"""Penn tags, which tell "I" from the numeral of "Leopold I"."""
_SUBJECTS = frozenset({"NN", "NNS", "NNP", "NNPS", "PRP", "EX", "DT", "WP"})


def _is_full_sentence(text: str, words: Sequence[Word]) -> bool:
    """Return True for a subject before a finite verb, with a full stop at the end."""
    if len(words) < _SHORTEST_SENTENCE or not _FULL_STOP.match(text, words[-1].end):
        return False
    verb = next((i for i, word in enumerate(words) if word.tag in FINITE), 0)
    return any(word.tag in _SUBJECTS for word in words[:verb])


_SHORTEST_SENTENCE = 5
_FULL_STOP = re.compile(r"[^\w\n]*[.!?]")


def proper_nouns(
    words: Sequence[Word],
    labelled: Mapping[int, str] | None = None,
    known: Container[str] = (),
    prose: Collection[int] = (),
) -> list[bool]:
    """Return for each word True if it looks like (part of) a name.

    Inside a sentence a capital is enough. Where one is expected anyway (at the beginning, in a
    headline, for a German noun), the tables, the bank or another occurrence in the text must
    agree. At the beginning a tag is enough in prose; elsewhere the rest of the sentence decides,
    see `_is_confirmed`.

    Args:
        words: the words of a text.
        labelled: kinds of the names that the model marks, by the offset of their first letter.
        known: normal forms of the bank's names.
        prose: numbers of the sentences of running prose.
    """
    if not any(word.is_capital for word in words):
        return [False] * len(words)
    labelled = {} if labelled is None else labelled
    shouted = _sentences_of(words, 3, 0.5, lambda word: _is_in_capitals(word.text))
    headlines = _headlines(words, prose)
    capital_nouns = _is_german(words)
    inside = {word.lower for word in words if word.is_capital and not word.opens}

    def is_proper(word: Word, before: Word | None, after: Word | None) -> bool:
        if not _may_be_name(word) or (_is_in_capitals(word.text) and word.sentence in shouted):
            return False
        if before is not None and before.text.isdigit() and _is_unit(word.text):
            return False
        if word.lower in _ORDINARY:
            return word.text.isupper() and word.lower in _ORDINARY_OR_ACRONYM
        if _is_name_anywhere(word, known):
            return True
        if word.sentence in headlines or capital_nouns:
            return before is not None and before.lower in _BEFORE_NAMES
        if _is_in_title_case(word, before) and word.start not in labelled:
            return False
        if not word.opens or word.lower in inside:
            return True
        kind = labelled.get(word.start)
        is_tagged = word.is_tagged_proper and not (kind is None and _is_alone(word, after))
        return (word.sentence in prose and is_tagged) or _is_confirmed(word, after, kind)

    around = zip([None, *words], words, [*words[1:], None], strict=False)
    return [is_proper(word, before, after) for before, word, after in around]


def _is_in_title_case(word: Word, before: Word | None) -> bool:
    """Return True for an ordinary word after a function word with a capital: "Do Not Promise"."""
    if before is None or before.opens or word.opens or not word.listed:
        return False
    is_function_word = before.lower in _WORDS["function_words"] - _WORDS["determiners"]
    return is_function_word and len(before.text) > 1 and before.text.istitle()


def _is_name_anywhere(word: Word, known: Container[str]) -> bool:
    """Return True for a first name, a name of the bank, and a word such as "PostgreSQL"."""
    if is_first_name(word.lower) or _has_inner_capital(word.text):
        return True
    return entity_norm(word.lower) in known and word.lower not in CAN_BE_ORDINARY


def _may_be_name(word: Word) -> bool:
    """Return False for words that are no names wherever they stand."""
    if not word.is_capital or word.lower in _WORDS["calendar"] or _STRETCHED.search(word.lower):
        return False
    if _is_in_capitals(word.text) and _is_stressed(word):
        return False  # "liability DENIED"
    persons = word.text.istitle() and is_given_name(word.lower)  # "Dom", not "DOM"
    return persons or word.lower not in _WORDS["abbreviations"]


def _is_stressed(word: Word) -> bool:
    """Return True for an ordinary word in capitals, for stress or in a log: "COLD", "WARN"."""
    is_verb = word.inflected or (word.verb and len(word.text) > _LONGEST_ACRONYM)
    return not is_given_name(word.lower) and (is_verb or word.tag in _QUALIFIERS)


_LONGEST_ACRONYM = 3
_QUALIFIERS = frozenset({"JJ", "JJR", "JJS", "RB", "RBR", "RBS"})
"""Penn tags of adjectives and adverbs."""


def _has_inner_capital(text: str) -> bool:
    """Return True for "PostgreSQL" and "iPhone", not for "NASA"."""
    return not text.isupper() and any(letter.isupper() for letter in text[1:])


def _is_unit(text: str) -> bool:
    """Return True for what may be a unit after a number: "80 mV"."""
    return len(text) <= _LONGEST_UNIT and text[0].islower() and _has_inner_capital(text)


_LONGEST_UNIT = 4


def _is_in_capitals(text: str) -> bool:
    return len(text) > 1 and text.isupper()


def _is_confirmed(word: Word, after: Word | None, kind: str | None) -> bool:
    """Return True if the rest of the sentence makes its first word (the beginning of) a name.

    Another capital follows, or the dictionary lacks it and it does something: "Ferrybell won",
    "Contoso's".
    """
    goes_on = after is not None and not after.opens
    if not word.tag:
        return goes_on and after is not None and after.is_capital
    if word.lower in _WORDS["places"] or word.lower in TITLES:
        return True
    if word.lower in _WORDS["name_heads"]:
        return word.is_tagged_proper
    if goes_on and after is not None and after.text in _WORDS["name_links"]:
        return kind is not None or (word.is_tagged_proper and _begins_with_link(word))
    if goes_on and after is not None and _continues(after):
        return word.is_tagged_proper or kind is not None
    return _is_agent(word, after, kind)


def _is_alone(word: Word, after: Word | None) -> bool:
    """Return True for a common noun with nothing after it that may be a part of the same name."""
    return word.listed and not (
        after is not None and (after.is_capital or after.text in _WORDS["name_links"])
    )


def _begins_with_link(word: Word) -> bool:
    """Return True for "Bank" of "Bank of America" and "Vasco" of "Vasco da Gama"."""
    return not word.listed or word.lower in _HEADS or is_given_name(word.lower)


def _continues(word: Word) -> bool:
    """Return True if the word is no day, abbreviation or function word."""
    return _may_be_name(word) and word.lower not in AROUND_NAMES


def _is_agent(word: Word, after: Word | None, kind: str | None) -> bool:
    """Return True for a first word that owns or does something, or that the model marks.

    Of those that the dictionary has, only a person or an acronym: in notes, a model takes the
    password of "Password had a space" for an organisation as well as Apple, which the bank knows
    if it matters.
    """
    verb = after.tag if after is not None else ""
    listed = verb == "MD" or (after is not None and after.listed)  # no dictionary has "could"
    acts = word.end > word.stem_end or (verb in FINITE_VERBS and listed)
    named = kind is not None and word.is_tagged_proper
    if word.listed:
        may_be_name = kind == "person" or word.text.isupper()
        return may_be_name and named and acts and not word.inflected
    return (acts or named) and not _PARTICLE.search(word.lower)


_PARTICLE = re.compile(
    r"\w{3}(?:up|down|out|off|over|back|away|ish|ing|ed|ly)\Z|(?:log|plug|sign|check)(?:in|on)\Z"
)
"""Ending of an English compound or derivation that the dictionary lacks: "Standup"."""


def _headlines(words: Sequence[Word], prose: Collection[int]) -> set[int]:
    """Return the sentences in title case: at least five words, or two to four common ones.

    Of the words of a headline, most are common ones: "Present: Oskar Lindqvist, Mei Chou" is none.
    """
    long = _sentences_of(words, 5, 0.8, lambda word: word.text[0].isupper())
    common = _sentences_of(words, 5, 0.3, _is_common)
    short = _sentences_of(words, 2, 0.99, lambda word: _is_common(word) and word.text[0].isupper())
    return (long & common) | (short - set(prose))


def _is_common(word: Word) -> bool:
    return word.listed and not is_given_name(word.lower)


def _sentences_of(
    words: Sequence[Word], least: int, share: float, test: Callable[[Word], bool]
) -> set[int]:
    """Return the sentences of at least so many words, of which more than a share passes."""
    lengths = Counter(word.sentence for word in words)
    passed = Counter(word.sentence for word in words if test(word))
    return {
        number
        for number, count in passed.items()
        if lengths[number] >= least and count > share * lengths[number]
    }


def _is_german(words: Sequence[Word]) -> bool:
    """Return True for a text in German, which writes all nouns with a capital."""
    german = sum(word.lower in _WORDS["german_words"] for word in words)
    return german > 1 and german > sum(word.lower in _WORDS["english_words"] for word in words)


def are_common(words: Sequence[Word], index: int, end: int, *, in_small: bool) -> bool:
    """Return True if the words from `index` up to an offset are no name, but common words.

    In a text without capitals only an article shows that: "the amber stone".
    """
    if in_small and not (index and words[index - 1].lower in ("the", "a", "an")):
        return False
    for word in words[index:]:
        if word.start >= end:
            break
        if word.is_capital or not word.listed or is_first_name(word.lower):
            return False
    return True
