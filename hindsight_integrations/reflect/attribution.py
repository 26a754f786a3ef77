"""Whose words a sentence has, and whether they are meant: reports, jests, and what is taken back.

What somebody else is said to say, a simile that mocks, and a claim that the next sentence corrects
("I work at the bank. The river bank.") are no statements of the one who writes them. Nor are
passages that are quoted, pasted to be worked on, or said in a part that is played.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from functools import lru_cache

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.nlp.syntax import Sentence, Word, parse
from hindsight_integrations.nlp.word_classes import FINITE, OCCUPATIONS, PERSONS, SUBJECTS
from hindsight_integrations.reflect.retractions import retraction_in, retracts_itself

_WORDS = word_sets("attribution")
_PHRASES = ("compound", "nmod", "flat", "conj", "appos", "amod", "det", "poss", "prep", "pobj")
_POINTS_BACK = re.compile(r"\W*(?:it|they) ?(?:['’]s|['’]re|is|are|was|were)\b", re.IGNORECASE)
_DETERMINED = frozenset("the a an no my our".split())

Span = tuple[int, int]


def _any_of(*lists: str) -> str:
    """Return a regular expression of the words of these lists, longest first."""
    words = sorted({word for name in lists for word in _WORDS[name]}, key=lambda w: (-len(w), w))
    return rf"(?:{'|'.join(map(re.escape, words))})"


_FIRST_PERSON = re.compile(r"\b(?:I|we|my|our|me|us|mine|ours|myself|ourselves)\b", re.IGNORECASE)
_PEOPLE = PERSONS | OCCUPATIONS
_MARK = re.compile(
    r"[\"“”„«»‘]|’(?!\w)|(?<!\w)'(?=\w)(?!(?:cause|tis|twas|n|em|til|bout)\b)"
    r"|(?<=[\w.,!?…])'(?!\w)"
)
_CLOSING = {'"': '"', "“": '”"', "„": '“”"', "«": "»", "‘": "’", "'": "'"}
_APOSTROPHES = frozenset("‘’'")
_INNER_END = re.compile(r"[.!?…][\"”’')]*\s+\w")
_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINE_BREAK = re.compile(r"\n\s*")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_QUOTED_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)
_FENCE = re.compile(r"^[^\S\n]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_MAIL_BELOW = re.compile(
    r"^[^\S\n]*(?:-{2,} ?(?:original|forwarded) message|begin forwarded message:"
    r"|on [^\n]{5,120} wrote:[^\S\n]*$)",
    re.MULTILINE | re.IGNORECASE,
)
_NAMED_LINE = re.compile(
    r"^[^\S\n]*(?:[\[(]?\d[\d:/., -]{2,20}(?: ?[ap]m)?[\])]?[ ,-]{0,3})?"
    r"(?P<name>[A-Z][\w.'’-]{0,20}(?: [A-Za-z][\w.'’-]{0,20}){0,2}):(?:[^\S\n]+\S.*)?$",
    re.MULTILINE,
)
"""A line of a chat, which may begin with the time: "[10:32] Tom: I live in Ghent."."""
_POLITE = (
    r"(?:(?:hi|hello|hey|ok|okay|so|now|next|and|then|please|pls|kindly|just|also)\b[,!:]?\s+){0,4}"
    r"(?:(?:can|could|would|will) (?:you|we|i) |i(?:['’]d| would) (?:like|love) (?:you )?to "
    r"|i (?:need|want) you to |help me (?:to )?|let(?:['’]?s| us) )?"
    r"(?:(?:please|help me(?: to)?) )?"
)
_REST = r"[^.!?\n:]{0,100}"
_LABEL_END = r"[^.!?\n:]{0,60}:(?=\s)"
_REQUEST = re.compile(
    rf"{_POLITE}(?:{_any_of('requests')}\b{_REST}"
    rf"(?::(?=\s)|\b(?:{_any_of('texts')}|the following|below|(?:this|these|it|that)"
    r"(?= (?:in|into|to|for|please|as|so)\b|\s*[.!?:,\n]|\Z))\b)"
    rf"|{_any_of('text_requests')}\b{_REST}\b{_any_of('texts')}\b)",
    re.IGNORECASE,
)
"""A request for work on the text that follows it."""
_REQUEST_ON_ABOVE = re.compile(
    rf"{_POLITE}{_any_of('requests')}\b (?:this|that|it|the above)"
    r"(?: (?:in|into|to|for) [^.!?\n]{1,40})?(?: please)?[\s.!?]*\Z",
    re.IGNORECASE,
)
_TASK = re.compile(
    rf"{_POLITE}(?:(?:{_any_of('labelled_requests', 'text_requests')})\b{_REST}"
    rf"\b(?:{_any_of('texts')}|this|the following|in [a-z]+){_LABEL_END}"
    rf"|how (?:do|would|can) (?:you|i|we) (?:say|write|put)\b{_LABEL_END})",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    rf"(?!(?:for|as an?|i|we)\b)(?:[^.!?\n:]{{0,80}}?\b{_any_of('labels')}\b{_LABEL_END}"
    rf"|(?:(?:the|a|an|my|this) )?"
    rf"(?:{_any_of('bare_labels')}(?: (?:for|from|by|of|about)\b{_REST})?"
    rf"|(?:[\w’'-]+ )?{_any_of('letters')} (?:from|by)\b{_REST}):(?=\s)"
    r"|two truths and (?:a|one) lie\b)",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"(?!(?:I|[Ww]e)\b)(?:[A-Z][\w'’-]{0,20}(?: [A-Z][\w'’-]{0,20}){0,2}|[Hh]e|[Ss]he|[Tt]hey"
    r"|(?:[Mm]y|[Oo]ur|[Tt]he|[Hh]is|[Hh]er) [\w'’-]{1,20}(?: [\w'’-]{1,20})?)"
    r"(?: (?:just|then|also|once|has|had))?"
    r" (?:wrote|writes|written|said|says|texted|replied|answered|posted|messaged|emailed|told)"
    r"(?: back)?(?: to)?(?: me| us)?(?: back)?[:,](?=\s)"
)
_PLAYED = re.compile(
    rf"{_POLITE}(?:(?:do|try|start|have) (?:a |an |some )?)?(?:"
    r"role[- ]?play(?=\s(?:with|as|a|an|where|that|time|scenario|this)\b|ing\b|\s*[:.,!;–—])"
    r"|(?:imagine|pretend|suppose) (?:that )?"
    r"(?:i|i['’]m|you|you['’]re|we|we['’]re|he|she|they|my|a|an|there)\b(?! surprise)"
    r"|act (?:as|like) (?:if|though|an?|my|the)\b|play the (?:role|part) of\b"
    r"|(?:in|for) (?:this|the|our|my) (?:role[- ]?play|game|campaign|scenario|story|sketch|skit)\b"
    rf"|(?:as )?my (?:[\w&'’-]+ ){{0,3}}{_any_of('characters')}\b(?! (?:flaw|trait|limit|set)))",
    re.IGNORECASE,
)


class FollowUp(Enum):
    """Effect of the next sentence on a claim."""

    NONE = auto()
    EXPLAINS = auto()
    """It says of what kind the thing is: "I own a boat. It's four inches long."."""
    TAKES_BACK = auto()
    """It says that the claim is not meant, or of another thing than it seems to be."""


@lru_cache(maxsize=8192)
def spans_of_others(text: str, speaker: str | None = None) -> tuple[Span, ...]:
    """Return the passages of a text that are not its speaker's own words, in order, disjoint.

    That is what stands in quotation marks in the first person or in several sentences, a quoted
    line of a mail, a line of a chat that another one wrote, a text that is pasted to be worked
    on, an example, and a part that is played. Each passage is of whole sentences.

    Args:
        text: of one turn, or of a note.
        speaker: who said it; for a note without one, names before a line tell nothing.
    """
    return _joined(_Passages(text, speaker).of_others())


def own_parts(
    text: str, speaker: str | None = None, without: Iterable[Span] = ()
) -> tuple[Span, ...]:
    """Return the passages of a text that are its speaker's own words, in order.

    Args:
        text: of one turn, or of a note.
        speaker: who said it, if known.
        without: further passages to leave out.
    """
    left_out = _joined([*spans_of_others(text, speaker), *without])
    edges = [0, *(at for span in left_out for at in span), len(text)]
    return tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        elif start < end:
            joined.append((start, end))
    return tuple(joined)


class _Passages:
    """Finds the passages of a text that are others' words, in linear time."""

    def __init__(self, text: str, speaker: str | None) -> None:
        self._text = text
        self._speaker = speaker
        self._starts = [0, *sentence_ends(text)]
        self._blank_lines = [match.span() for match in _BLANK_LINE.finditer(text)]
        self._first_person = [match.start() for match in _FIRST_PERSON.finditer(text)]

    def of_others(self) -> Iterator[Span]:
        """Yield the passages, in any order."""
        yield from self._lines()
        yield from self._chat()
        yield from self._tasks()
        for start, end in self._quotations():
            yield self._as_sentences(start, end)

    def _is_personal(self, start: int, end: int) -> bool:
        """Return True if the span has a word of the first person."""
        return bisect_left(self._first_person, start) < bisect_left(self._first_person, end)

    def _end_of_paragraph(self, start: int) -> int:
        """Return the end of the paragraph at a position."""
        lines = self._blank_lines
        at = bisect_left(lines, (start, 0))
        if at < len(lines) and not self._text[start : lines[at][0]].strip():
            at += 1
        return lines[at][0] if at < len(lines) else len(self._text)

    def _as_sentences(self, start: int, end: int) -> Span:
        """Extend a passage to whole sentences, within its paragraph."""
        first = self._starts[bisect_right(self._starts, start) - 1]
        at = min(bisect_left(self._starts, end), len(self._starts) - 1)
        above = bisect_right(self._blank_lines, (start, start))
        if above:
            first = max(first, self._blank_lines[above - 1][1])
        return first, min(self._starts[at], self._end_of_paragraph(end - 1))

    def _quotations(self) -> Iterator[Span]:
        """Yield quotations that are somebody's speech; no titles and names."""
        text, opened, is_first = self._text, None, True
        for mark in _MARK.finditer(text):
            sign, at = mark.group(), mark.start()
            before = text[at - 1 : at] if at else " "
            opens = sign in _CLOSING and not (before.isalnum() or before in ".,!?…")
            opens = opens and not text[at + 1 : at + 2].isspace()
            if opened is None:
                if opens:
                    opened = mark
                elif is_first and sign in '"”»' and not before.isdigit() and self._is_speech(0, at):
                    yield 0, at + 1  # the mark that opens it was cut off
            elif sign in _CLOSING[opened.group()] and not (opens and sign == opened.group()):
                if self._is_speech(opened.end(), at):
                    yield opened.start(), at + 1
                opened = None
            is_first = False
        if opened is not None and opened.group() not in _APOSTROPHES:
            end = self._end_of_paragraph(opened.start())
            if self._is_speech(opened.end(), end):
                yield opened.start(), end

    def _is_speech(self, start: int, end: int) -> bool:
        """Return True for several sentences, or one in the first person that is no title."""
        if _INNER_END.search(self._text, start, end):
            return True
        words = _WORD.findall(self._text, start, end)
        titled = all(word[0].isupper() or word in _WORDS["small"] for word in words)
        return self._is_personal(start, end) and (not titled or self._text[end - 1] in ".!?")

    def _lines(self) -> Iterator[Span]:
        """Yield quoted lines, fenced code, and mails below a reply."""
        text = self._text
        yield from (match.span() for match in _QUOTED_LINE.finditer(text))
        below = _MAIL_BELOW.search(text)
        if below is not None:
            yield below.start(), len(text)
        fences = [match.span() for match in _FENCE.finditer(text)]
        closing = [end for _, end in fences[1::2]]
        opening = [start for start, _ in fences[::2]]
        yield from zip(opening, [*closing, len(text)], strict=False)

    def _chat(self) -> Iterator[Span]:
        """Yield the lines of a chat by other speakers."""
        if self._speaker is None:
            return
        lines = list(_NAMED_LINE.finditer(self._text))
        nexts = [*(line.start() for line in lines[1:]), len(self._text)]
        for line, next_line in zip(lines, nexts, strict=False):
            start, end = line.end("name"), line.end()
            if line.group().endswith(":"):
                end = min(next_line, self._end_of_paragraph(end))
            if self._is_another_voice(line["name"]):
                sentence = self._starts[bisect_right(self._starts, start) :][:1]
                named = is_given_name(line["name"].split()[0].casefold())
                if self._is_personal(start, end if named else min([end, *sentence])):
                    yield line.start(), end

    def _is_another_voice(self, name: str) -> bool:
        """Return True for a name or noun of another person than the speaker."""
        words = name.casefold().split()
        own = {*(self._speaker or "").casefold().split(), *_WORDS["own_voices"]}
        if not own.isdisjoint(words):
            return False
        person = words[-1] in _PEOPLE or words[0] in _PEOPLE
        return is_given_name(words[0]) or person or name.casefold() in _WORDS["voices"]

    def _tasks(self) -> Iterator[Span]:
        """Yield texts to work on or play, up to the end of the paragraph or the text."""
        text, past = self._text, 0
        lines = (match.end() for match in _LINE_BREAK.finditer(text))
        for start in sorted({*self._starts, *lines}):
            if start < past:
                continue
            if _REQUEST_ON_ABOVE.match(text, start):
                yield 0, len(text)
                return
            if _REQUEST.match(text, start) or _PLAYED.match(text, start):
                yield start, len(text)
                return
            task = _TASK.match(text, start) or _LABELLED.match(text, start)
            report = _REPORTED.match(text, start) if task is None else None
            if found := task or report:
                end = self._end_of_paragraph(found.end())
                if task or self._is_personal(found.end(), end):
                    yield start, end
                    past = end


def reported(sentence: Sentence) -> frozenset[int]:
    """Return the words that a sentence attributes to somebody else.

    "Ann says she rows" is of Ann herself, and "I said that X is late" of the speaker.
    """
    found: set[int] = set()
    for verb in sentence.words:
        said = verb.child("ccomp")
        if verb.lemma in _WORDS["reporting"] and said is not None and said.is_verb:
            by = verb.child(*SUBJECTS)
            told = verb.child("auxpass") is not None
            own = by is not None and by.lower in ("i", "we") and not told
            inner = said.child(*SUBJECTS)
            of_self = by is not None and inner is not None and inner.lower in ("he", "she")
            if by is not None and not own and not of_self:
                found |= {word.index for word in said.subtree()}
    return frozenset(found)


def speaks_another(sentence: Sentence) -> bool:
    """Return True for reported speech with a name: "and he says, I am a carpenter"."""
    return any(
        verb.lemma in _WORDS["saying"]
        and verb.is_verb
        and (by := verb.child(*SUBJECTS)) is not None
        and by.lower not in ("i", "we")
        for verb in sentence.words
    )


def is_inside_subject(sentence: Sentence, word: Word) -> bool:
    """Return True for a word inside a subject about something else: "rivals of the bank".

    "More time for the bank" may be no subject, whatever a parser makes of it.
    """
    inside, at = False, word
    while at.dep in _PHRASES and not at.is_root:
        led = at.dep == "pobj" and at.head.lower in _WORDS["where"]
        inside = inside or led or at.dep == "poss"
        at = at.head
        if at.is_verb:
            return False
    return inside and at.dep in SUBJECTS


def is_placed(sentence: Sentence, word: Word, holder: str, *, own: bool = True) -> bool:
    """Return True for a name that only gives a place, or another person's.

    "My sister works at the Kade" says nothing of the speaker and the Kade.

    Args:
        sentence: the parsed sentence.
        word: head of the name.
        holder: normalised name of whom the statement is of; "" for its speaker.
        own: True if the holder's own place counts as more than a place: "I work at the Kade".
    """
    while word.dep in ("compound", "nmod", "flat", "conj", "appos"):
        word = word.head
    way = word.head
    if word.dep != "pobj" or way.lower not in _WORDS["where"] | (set() if own else {"from"}):
        return False
    if not own:
        return True
    while not (by := word.child(*SUBJECTS)) and not word.is_root:
        word = word.head
    mine = by is not None and by.lower in ("i", "we")
    named = by is not None and by.is_noun and by.text.casefold() in holder.split()
    return not (named if holder else mine)


def follow_up(sentence: Sentence, rest: str) -> FollowUp:
    """Return the effect of the text after a sentence on it."""
    after = rest.strip()
    if retracts_itself(sentence.text) or retraction_in(after):
        return FollowUp.TAKES_BACK
    following = after[: next(iter(sentence_ends(after)), len(after))].strip(" ()")
    if not following:
        return FollowUp.NONE
    things = [word for word in sentence.words if word.tag in ("NN", "NNS")]
    introduced = any(word.lower in ("a", "an") and word.head in things for word in sentence.words)
    if _POINTS_BACK.match(following):
        return FollowUp.EXPLAINS if introduced else FollowUp.NONE
    words = parse(following).words
    bare = bool(words) and words[0].lower in _DETERMINED and not any(w.tag in FINITE for w in words)
    heads = {word.lemma for word in things}
    return FollowUp.TAKES_BACK if bare and heads & {w.lemma for w in words} else FollowUp.NONE
