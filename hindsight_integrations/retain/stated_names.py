"""Read what a text says of names: that two are one thing's, or that they are not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import acronym, parse
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.word_classes import TITLES
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.name_kinds import is_first_name

_WORDS = word_sets("names")
_NEW_THEN_OLD = re.compile(
    r"""
    \W* (?: (?:which|who) \s )?
    (?: (?:(?:was|were) \s)? (?:formerly|previously|originally|once)
        (?:\s (?:known \s as|called|named))?
      | used \s to \s be (?:\s (?:known \s as|called|named))?
      | is \s the \s new \s name \s (?:of|for)
      | (?:is \s|was \s)? short \s for
      | née | né | born | f/?k/?a | früher | ehemals | anciennement | antes )
    \s (?:the \s)? \W*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OLD_THEN_NEW = re.compile(
    r"""
    \W* (?: (?:which|who|that) \s )?
    (?: (?:is|are) \s (?:now|nowadays|currently) (?:\s (?:called|named|known \s as))?
      | (?:(?:is|was|has \s been|had \s been|got|have|has|had) \s)?
        (?:(?:now|since|just|recently) \s)? (?:renamed|rebranded)
        (?:\s (?:itself|themselves|himself|herself))? (?:\s (?:to|as))?
      | (?:(?:has|have|had) \s)? changed \s (?:its|their|his|her) \s name \s to
      | (?:(?:is|was) \s)? (?:(?:also|better) \s)? known \s as
      | goes \s by | a\.?k\.?a\.? | alias | nicknamed
      | (?:(?:but|and) \s)? (?:everyone|everybody|we|they|people|friends|i)
        \s calls? \s (?:him|her|them|it)
      | heißt \s (?:jetzt|nun) | s['’]appelle \s désormais | ahora \s se \s llama )
    \s (?:the \s)? \W*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RENAMING = re.compile(r"\b(?:re-?nam|rebrand)(?:ed|es|ing|e)?\s(?:the\s)?\W*\Z", re.IGNORECASE)
_RENAMED_TO = re.compile(r"\W* (?:to|as|into) (?:the )?\W*")
_BRACKET = re.compile(r" \(\W?")
_NAME_GOES_ON = re.compile(r" [^\W\d_]*[A-Z]|['’-]\w")
_NAME_CAME_BEFORE = re.compile(r"[A-Z]\w* \Z")

_SPEAKS_OF_NAMES = re.compile(
    r"\b(?:nam\w+|nicknamed|known|call(?:s|ed)|renamed|rebranded|goes \s by|short \s for|née|né"
    r"|born|f/?k/?a|a\.?k\.?a|alias|heißt|s['’]appelle|llama)\b",
    re.VERBOSE | re.IGNORECASE,
)
"""Without one of these, "formerly" may speak of an employer, and "is now" of who took a place."""
_OF_FORMER_TIMES = re.compile(
    r"\b(?:formerly|previously|originally|once|früher|ehemals|anciennement|antes)\b", re.IGNORECASE
)
_PREDICATE = re.compile(
    r"\s (?:is|are|was|were|has|have|had|got|goes|used|changed|heißt|s['’]appelle|ahora)\b"
    r"|, \s (?:is|are|was|were|has|have|had|got|goes|changed)\b",
    re.VERBOSE | re.IGNORECASE,
)
"""Begins the predicate of a clause, whose subject the first name has to be."""
_PLURAL_PREDICATE = re.compile(r"\W*(?:are|were|have)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:[;:!?()\[\]\n\"“”—–]|,\s|\s-\s|\b(?:that|but|so|because|since|as|when|while|whereas|though"
    r"|although)\s|\b(?-i:[a-z])\w*,?\s(?:and|or)\s)",
    re.IGNORECASE,
)
"""Stands before the beginning of a clause."""
_REPORTED = re.compile(
    r"(?:\A|.*\b)(?:i|you|we|they|he|she)\s(?:(?:just|also|only|have|had)\s)?"
    r"(?:said|says?|heard?|kn[eo]w|learn(?:ed|t)|read|think|thought|guess|believe|saw|noticed"
    r"|remember|told\s(?:me|us|him|her|them|you))\s\Z",
    re.IGNORECASE,
)
_NOUN_AND_PREPOSITION = re.compile(
    rf"\b(?:{'|'.join(sorted(_WORDS['determiners']))}|\w+['’]s?)\s(?:\w+\s){{0,2}}?\w+\s"
    rf"(?:{'|'.join(sorted(_WORDS['prepositions']))})\s(?:\w+\.?\s){{0,2}}\Z",
    re.IGNORECASE,
)
"""Before a name, these make what follows it as likely a statement of the noun."""
_PLAIN_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NO_MODIFIERS = _WORDS["function_words"] | _WORDS["name_links"] | _WORDS["prepositions"]
_VERBAL = ("ed", "ing")
_MOST_MODIFIERS = 4
_CONTEXT = 200
"""Characters before a name that are searched for the beginning of its clause."""


def aliases_stated(text: str, mentions: Sequence[Mention]) -> list[tuple[str, str]]:
    """Return pairs of a new and an old name that the text states to be the same thing's.

    The first of the two must be what the statement is of: "the wife of Karl goes by Ines" names
    the wife. Names of different kinds are never paired.

    Args:
        text: a statement.
        mentions: the names in it; only neighbouring ones are paired.
    """
    by_name = {mention.name: mention for mention in mentions}
    spans = sorted(
        {(start, start + len(name)) for name in by_name if (start := find_name(text, name)) >= 0}
    )
    pairs: list[tuple[str, str]] = []
    for (start, end), (next_start, next_end) in pairwise(spans):
        first, second, gap = text[start:end], text[next_start:next_end], text[end:next_start]
        if _NAME_GOES_ON.match(text, next_end) or _NAME_CAME_BEFORE.search(text, 0, start):
            continue  # parts of longer names
        first_mention, second_mention = by_name[first], by_name[second]
        preceding = text[max(0, start - _CONTEXT) : start]
        if _NEW_THEN_OLD.fullmatch(gap):
            pair = (first, second)
        elif _OLD_THEN_NEW.fullmatch(gap):
            pair = (second, first)
        else:
            if (_RENAMED_TO.fullmatch(gap) and _RENAMING.search(text, 0, start)) or (
                _BRACKET.fullmatch(gap) and acronym(parse(first).norm) == parse(second).norm
            ):
                pairs.append((second, first))
            continue
        if _applies_to_first(preceding, gap, first_mention) and _kinds_allow_alias(
            first_mention, second_mention, gap
        ):
            pairs.append(pair)
    return pairs


def _applies_to_first(preceding: str, gap: str, mention: Mention) -> bool:
    """Return True if the statement in the gap between two names is about the first one.

    Args:
        preceding: the text before the name.
        gap: the text after it, up to the other name.
        mention: the name.
    """
    if _PREDICATE.match(gap):
        return _is_subject(preceding, gap)
    if gap.startswith(" (") or not _NOUN_AND_PREPOSITION.search(preceding):
        return True
    return not _is_person(mention) and _OF_FORMER_TIMES.search(gap) is not None


def _is_subject(preceding: str, gap: str) -> bool:
    """Return True if a name after this text is the head of its clause's subject."""
    preceding = preceding[max(sentence_ends(preceding)[:-1], default=0) :]
    if gap.startswith(","):
        preceding = (
            preceding.rstrip().removesuffix(",") + " "
        )  # "the CEO of our client, Acme, is now"
    clause_starts = [match.end() for match in _CLAUSE.finditer(preceding)]
    words = preceding[clause_starts[-1] if clause_starts else 0 :].lstrip()
    if _PLURAL_PREDICATE.match(gap) and preceding.endswith((" and ", " & ", ", ")):
        return False
    if _REPORTED.match(words):
        return True
    modifiers = [word.casefold() for word in _PLAIN_WORD.findall(words)]
    modifiers = [word for word in modifiers if word not in TITLES]
    if not modifiers:
        return True
    owner, *others = modifiers
    has_owner = owner in _WORDS["determiners"] or (others and owner.endswith(("'s", "’s")))
    if not has_owner or len(modifiers) > _MOST_MODIFIERS:
        return False
    return not any(word in _NO_MODIFIERS or word.endswith(_VERBAL) for word in others)


def _kinds_allow_alias(first: Mention, second: Mention, gap: str) -> bool:
    """Return True unless the kinds of two names contradict an alias.

    Where it does not speak of names, two persons must share a word: "Ana Ruiz, formerly Acme",
    "Ben is now Ana".
    """
    kinds = {first.kind, second.kind} - {"concept"}
    persons = [_is_person(mention) for mention in (first, second)]
    if any(persons):
        first_words, second_words = parse(first.name).words, parse(second.name).words
        if any(map(_is_organization, (first, second))):
            return False
        if min(len(first_words), len(second_words)) > 1 and first_words[0] == second_words[0]:
            return True  # a label of one may be wrong: "Ana Ruiz is now Ana Berg"
        supports = _SPEAKS_OF_NAMES.search(gap) is not None or not set(first_words).isdisjoint(
            second_words
        )
        return supports and not kinds - {"person"}
    return _SPEAKS_OF_NAMES.search(gap) is not None or not kinds >= {"place", "organization"}


def _is_person(mention: Mention) -> bool:
    """Return True for a person's name, by its kind, its title or its given name."""
    name = parse(mention.name)
    by_name = mention.kind == "concept" and (name.title or is_first_name(name.words[0]))
    return mention.kind == "person" or (bool(by_name) and not _is_organization(mention))


def _is_organization(mention: Mention) -> bool:
    """Return True for a name with a final word of organisations: "Bell Logistics"."""
    words = parse(mention.name).norm.split()
    return len(words) > 1 and words[-1] in _WORDS["organization_words"]


def find_name(text: str, name: str) -> int:
    """Return the offset of a name as a whole word or words; -1 if it does not occur.

    Without a regular expression: for hundreds of names a second, each would be compiled.
    """
    return next(name_offsets(text, name), -1)


def name_offsets(text: str, name: str) -> Iterator[int]:
    """Yield all offsets of a name as a whole word or words."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if not (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])):
            yield start
        start = text.find(name, start + 1)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_IS_NOT = re.compile(
    r"""
    (?: \b(?:is|was|are|were) \s (?:not|no) | \b(?:is|was|are|were)n['’]t
      | \bnot \s to \s be \s (?:confused|mistaken) \s (?:with|for) | \bno \s relation \s (?:of|to)
      | \bnot \s related \s to | \bnot \s the \s same \s (?:\w+\s)? (?:as|person \s as)
      | (?:\w,|[(–—-]) \s? not )
    \s (?:(?:my|our|the|his|her|their|your|that|this) \s)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KIN_OR_ROLE = re.compile(r"(?:[a-z]+ )?")


def names_denied(text: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the names that the text says are not another person's in it.

    "He is not my uncle Bob" and "Robert (not Bob)" deny Bob; "He is not Bob's uncle" does not.
    """
    longest = sorted(names, key=len, reverse=True)
    for denial in _IS_NOT.finditer(text):
        role = _KIN_OR_ROLE.match(text, denial.end())
        starts = {denial.end(), role.end() if role else denial.end()}
        denied = (n for n in longest if n and any(_has_name_at(text, start, n) for start in starts))
        yield from islice(denied, 1)


def _has_name_at(text: str, start: int, name: str) -> bool:
    """Return True if the text has this name at an offset, and not its possessive."""
    after = text[start + len(name) : start + len(name) + 1]
    return text.startswith(name, start) and not (_in_word(after) or after in ("'", "’"))
