"""Whether a later statement changes what an earlier one said: pure functions, by rule.

Known are: a word of change with another value of the same matter ("the checkout in React",
"moving the checkout to Vue"), a withdrawal ("no longer drinks tea"), and two values of what there
is one of at a time (where somebody lives, what a code is). Whatever is less plain is no change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.language.time import Precision, find_times
from hindsight_integrations.model import Memory
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.reflect import vocabulary
from hindsight_integrations.reflect.topics import Grade, Statement, is_name, statements


@dataclass(frozen=True, slots=True)
class Told:
    """A statement, and the memory it stands in."""

    memory: Memory
    statement: Statement
    may_change: bool = False
    """Whether it is worth asking what of earlier statements it changes."""

    @property
    def at(self) -> datetime:
        """When it was said."""
        return self.memory.mentioned_at

    @property
    def text(self) -> str:
        """The statement's words."""
        return self.statement.text


class Shift(NamedTuple):
    """What was changed: its values before and after, as they stand in the text, if both do."""

    before: str | None = None
    after: str | None = None


_TELLS_CHANGE = re.compile(
    r"""
    \b(?: no \s longer | not \s .{0,40}? any \s? more | switch(?:ed|es|ing)? | mov(?:ed|es|ing)
      | migrat(?:ed|es|ing) | chang(?:ed|es|ing) | replac(?:ed|es|ing) | instead | used \s to
      | gave \s up | giv(?:es|ing) \s up | quit | stopped | from \s now \s on | nowadays | now
      | these \s days | went \s from | postponed | rescheduled | delayed | pushed \s (?:back|to)
      | brought \s forward | renamed | (?:is|are|was) \s (?:off|dead|cancell?ed) | turned \s into
      | bec(?:ame|ome|omes) | converted | any \s more
      | nicht \s mehr | gewechselt | wechsel(?:t|n) | umgezogen | stattdessen | jetzt
      | ne \s .{0,30}? \s plus | changé | déménagé | au \s lieu | désormais | remplacé
      | ya \s no | cambi(?:ó|amos|aron|ado) | mud(?:ó|ado) | en \s (?:lugar|vez) | ahora
    )\b | 不再 | 改(?:成|用|为) | 换成 | 搬到 | もう.{0,12}ない | 変更 | 引っ越し
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WITHDRAWS = re.compile(
    r"\b(?:no longer|not .{0,40}?any ?more|n['’]t .{0,40}?any ?more|stopped|quit|gave up|given up"
    r"|nicht mehr|ne .{0,30}? plus|ya no)\b|不再",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|i['’]\w+|my|me|mine|myself)\b", re.IGNORECASE)

_NAME = r"([A-Z][\w#&’'-]*(?:[ .](?:[A-Z]|of )[\w#&’'-]*)*)"
_FROM_TO = re.compile(
    r"\bfrom ([\w#+.-]+(?: [A-Z0-9][\w#+-]*)*) (?:over )?to ([\w#+-]+(?: [A-Z0-9][\w#+-]*)*)"
)
_SWITCHED_TO = re.compile(
    r"\b(?:switch(?:ed|es|ing)?|migrat(?:ed|es|ing)|convert(?:ed|ing)|"
    r"(?:chang(?:ed|ing)|mov(?:ed|ing)|gone|went) over) to "
)
_CHOSEN = re.compile(
    r"\b(?:lov(?:es?|ed)|lik(?:es?|ed)|prefer(?:s|red)?|us(?:es?|ed|ing)|enjoy(?:s|ed)?|"
    r"buil(?:ds?|t|ding)|writ(?:es?|ing|ten)|wrote|work(?:s|ed|ing)? (?:with|in)|cod(?:es?|ing)|"
    r"driv(?:es?|ing)|drinks?|eats?|prais(?:es?|ed)|adopt(?:s|ed)?|chose|chosen|favou?rs?)\b",
    re.IGNORECASE,
)
_ONE_AT_A_TIME = (
    (
        re.compile(
            rf"\b(?:(?:lives?|living|lived|resides?|based|settled) (?:now )?in|wohnt? in|lebe?t? in"
            rf"|habite à|vive? en|vivo en|moro em|abito a) {_NAME}"
        ),
        re.compile(
            rf"\b(?:(?:mov(?:ed|es|ing)|relocated) (?:from \S+ )?(?:back )?to|umgezogen nach|nach"
            rf"|déménagé à|mudado a|mudó a|mudei para) {_NAME}"
        ),
    ),
    (
        re.compile(rf"\b(?:works?|working|worked|employed|a job|job) (?:now )?(?:at|for) {_NAME}"),
        re.compile(rf"\b(?:joined|joins|hired by|now (?:at|with)|moved to) {_NAME}"),
    ),
)
"""What a person has one of at a time, and how another one begins: home, employer."""

_IS = re.compile(
    r"^(?:(?:the|my|our|his|her|their|\S+['’]s) .+ (?:is|are)\b"
    r"|.+ (?:is|are) (?:led|run|managed|owned|called|hosted|located|based|due|scheduled)\b)",
    re.IGNORECASE,
)
"""The beginning of a sentence that gives a thing its one value."""
_FEWEST_COMMON = 3
_LONGEST_VALUE = 4
_NOWADAYS = re.compile(r"[\s,]*(?:now|nowadays|these days|instead|again)?[.!\s]*$", re.IGNORECASE)

_CAPITALISED = re.compile(r"[^\W\d_][\w.+#-]*[\w+#]|[A-Z]")
_NUMBERED = re.compile(r"(?:\b[A-Z][a-z]+ )?(?<![\w.,:-])\d{2,}(?![\w:]|[.,]\d)")
_EXACT = (Precision.DAY, Precision.HOUR, Precision.MINUTE)
_OPENS_A_SENTENCE = re.compile(r"(?:^|[.:!?])[\s\"'“‘«(]*$")
_NO_NAMES = frozenset("i i'm i'll i've i'd ok".split())


def told(memory: Memory, speakers: Set[str] = frozenset()) -> tuple[Told, ...]:
    """What a memory states, sentence by sentence; about its own speakers it states nothing."""
    names = tuple(name for name in memory.entities if name not in speakers)
    return tuple(
        Told(memory, each, _may_change(memory.text, each.text))
        for each in statements(memory.text, names)
    )


@lru_cache(maxsize=8192)
def _may_change(text: str, statement: str) -> bool:
    return bool(
        _TELLS_CHANGE.search(text)
        or _IS.search(statement)
        or any(frame.search(statement) for frames in _ONE_AT_A_TIME for frame in frames)
    )


def change(older: Told, newer: Told) -> Shift | None:
    """How `newer` changes what `older` said; None if it does not, or none can be sure."""
    if older.at >= newer.at or not _one_subject(older, newer):
        return None
    found = _another_of_one(older, newer) or _same_frame(older.text, newer.text)
    if found is not None or not _TELLS_CHANGE.search(newer.memory.text):
        return found
    matter = _matter(older, newer)
    told_here = bool(_TELLS_CHANGE.search(newer.text))
    if told_here and (found := _from_to(older, newer)):
        return found
    if matter and (found := next(_values(older, newer, with_names=told_here), None)):
        return found
    if matter and _WITHDRAWS.search(newer.text) and not _WITHDRAWS.search(older.text):
        return Shift()
    return _switched(older, newer)


def states(told: Sequence[Told]) -> list[list[Told]]:
    """The statements, in order of time, parted where one changes what those before it said."""
    found: list[list[Told]] = []
    for each in sorted(told, key=lambda t: (t.at, t.memory.id)):
        if not found or any(change(before, each) for before in found[-1]):
            found.append([each])
        else:
            found[-1].append(each)
    return found


def _one_subject(older: Told, newer: Told) -> bool:
    """The same speaker; or nobody speaks of himself, and both are about one thing."""
    if older.memory.speaker is not None and older.memory.speaker == newer.memory.speaker:
        return True
    if _FIRST_PERSON.search(older.text) or _FIRST_PERSON.search(newer.text):
        return older.memory.speaker is None and newer.memory.speaker is None
    return bool(subjects(older).keys() & subjects(newer).keys()) or bool(_matter(older, newer))


def subjects(told: Told) -> Mapping[str, str]:
    """Whom a statement may be about, by normal form: the memory's names, and its first word."""
    names = [name for name in told.memory.entities if is_name(name)]
    first = opening_name(told.text)
    return {entity_norm(name): name for name in ([*names, first] if first else names)}


@lru_cache(maxsize=8192)
def opening_name(sentence: str) -> str | None:
    """The word a sentence begins with, if it may be a name or the beginning of one."""
    word = sentence.split(maxsplit=1)[0].strip("\"'“‘(,.:;")
    word = word.removesuffix("'s").removesuffix("’s")
    general = word.casefold() in vocabulary.PLAIN | vocabulary.LEADS | _NO_NAMES
    return word if word[:1].isupper() and not general and lexemes(word) else None


def _matter(older: Told, newer: Told) -> set[str]:
    """Topics of the one that the other speaks of too, other than whom both are about."""
    found: set[str] = set()
    for one, other in ((older.statement, newer.statement), (newer.statement, older.statement)):
        found |= {
            key
            for key, topic in one.topics.items()
            if other.speaks_of(key) and not both_open_with(topic.surface, one, other)
        }
    return found


def both_open_with(name: str, one: Statement, other: Statement) -> bool:
    """Whether the name is whom both sentences are about, rather than what they say of him."""
    start = name.casefold()
    return one.text.casefold().startswith(start) and other.text.casefold().startswith(start)


def _another_of_one(older: Told, newer: Told) -> Shift | None:
    of_themselves = all(_FIRST_PERSON.search(told.text) for told in (older, newer))
    if not of_themselves and not subjects(older).keys() & subjects(newer).keys():
        return None
    for held, begun in _ONE_AT_A_TIME:
        before = held.search(older.text) or begun.search(older.text)
        after = held.search(newer.text) or begun.search(newer.text)
        if before and after and not _alike(before[1], after[1]):
            return Shift(before[1], after[1])
    return None


def _same_frame(older: str, newer: str) -> Shift | None:
    """Sentences that give one thing two values ("The code is 4711", "The code is 4712 now")."""
    old, new = _NOWADAYS.sub("", older).split(), _NOWADAYS.sub("", newer).split()
    common = 0
    while common < min(len(old), len(new)) and old[common].lower() == new[common].lower():
        common += 1
    before, after = " ".join(old[common:]), " ".join(new[common:])
    if (
        common >= _FEWEST_COMMON
        and 0 < len(old) - common <= _LONGEST_VALUE
        and 0 < len(new) - common <= _LONGEST_VALUE
        and _IS.search(" ".join(old[:common]))
        and not _alike(before, after)
    ):
        return Shift(before, after)
    return None


def _from_to(older: Told, newer: Told) -> Shift | None:
    match = _FROM_TO.search(newer.text)
    if match and re.search(rf"(?<!\w){re.escape(match[1])}(?!\w)", older.text, re.IGNORECASE):
        return Shift(match[1], match[2])
    return None


def _switched(older: Told, newer: Told) -> Shift | None:
    """A switch to another of what was used or liked, where no matter is named."""
    match = _SWITCHED_TO.search(newer.text)
    if match is None or not _CHOSEN.search(older.text):
        return None
    values = next(_named_pairs(older, newer), None)
    if values and values.after and newer.text.startswith(values.after, match.end()):
        return values
    return None


def _values(older: Told, newer: Told, *, with_names: bool) -> Iterator[Shift]:
    """The one date, number or name that only the older has, with the one only the newer has."""
    yield from _pairs(_days(older.text, older.at), _days(newer.text, newer.at))
    yield from _pairs(_numbers(older.text, older.at), _numbers(newer.text, newer.at))
    if with_names:
        yield from _named_pairs(older, newer)


def _named_pairs(older: Told, newer: Told) -> Iterator[Shift]:
    """Names, other than the one that both sentences begin with."""
    first = {entity_norm(opening_name(told.text) or "") for told in (older, newer)}
    about = first if len(first) == 1 else set()
    old, new = (
        {norm: name for norm, name in _names(told).items() if norm not in about}
        for told in (older, newer)
    )
    yield from _pairs(old, new)


def _pairs(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Shift]:
    gone = [value for norm, value in old.items() if norm not in new]
    come = [value for norm, value in new.items() if norm not in old]
    if len(gone) == len(come) == 1 and not _alike(gone[0], come[0]):
        yield Shift(gone[0], come[0])


def _alike(one: str, other: str) -> bool:
    """Whether two values share a word, and may be one thing: "LGBTQ", "LGBTQ+ group"."""
    letters = [{re.sub(r"\W", "", w) for w in entity_norm(v).split()} for v in (one, other)]
    return bool((letters[0] & letters[1]) - {"room", "tuesday", "monday", "version", "number"})


@lru_cache(maxsize=1024)
def _days(text: str, said: datetime) -> Mapping[str, str]:
    """Days that a sentence gives in figures: normal form to how they are written."""
    return {
        time.span.start.date().isoformat(): time.text
        for time in find_times(text, said)
        if time.span.precision in _EXACT and any(map(str.isdigit, time.text))
    }


@lru_cache(maxsize=1024)
def _numbers(text: str, said: datetime) -> Mapping[str, str]:
    """Numbers of two figures and more, with the capitalised word before them, but for times."""
    dated = [(time.start_char, time.end_char) for time in find_times(text, said)]
    return {
        match.group().rpartition(" ")[2]: match.group()
        for match in _NUMBERED.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in dated)
    }


def _names(told: Told) -> Mapping[str, str]:
    """Names in a statement, but for the speaker's, days, months and the word it begins with."""
    found = {
        entity_norm(topic.surface): topic.surface
        for topic in told.statement.topics.values()
        if topic.grade == Grade.NAME and not topic.surface.islower()
    }
    for match in _CAPITALISED.finditer(told.text):
        word = match.group()
        general = word.casefold() in vocabulary.PLAIN or word.casefold() in _NO_NAMES
        if word[0].isupper() and not general:
            norm = entity_norm(word)
            known = any(norm in name.split() for name in found)
            if not known and not _OPENS_A_SENTENCE.search(told.text[: match.start()]):
                found[norm] = word
    found.pop(entity_norm(told.memory.speaker or ""), None)
    return found
