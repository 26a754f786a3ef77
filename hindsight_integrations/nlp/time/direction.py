"""Tell from the words around a time whether it is past or to come: a report, or a plan.

The verb that governs the time decides: the nearest one before it in its clause, else the next one
after it. Forms and tags tell its tense, and a few verbs set a time ("moved to Thursday"). Without
a verb the kind of note decides: a check box, what is announced ("Dentist on the 3rd") or reported
("Outage on Tuesday"), the heading above. Where all of them are silent the answer is None.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.spacy_pipeline import Token as Word
from hindsight_integrations.nlp.time.headings import BOX, is_ticked, tense_of_setting
from hindsight_integrations.nlp.time.lexer import WORDS, Language, Tense
from hindsight_integrations.nlp.time.sentences import sentence_bounds
from hindsight_integrations.nlp.time.stems import is_no_verb, verb_stems

_WORDS = word_sets("directions")

_LAST_WORD = re.compile(r"([^\W\d_]+)\W*(?:the\s+)?\Z", re.IGNORECASE)

_WORD_REACH = 60
"""Characters before a time in which the word that it follows is looked for."""
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)")
_LETTERS = re.compile(r"[^\W\d_][\w'’-]*")
_RANGE = re.compile(r"\b(?:to|until|till|through)\b|[-–—]")
"""Parts of a span of days: "from 9 to 13 February"."""
_CLOCK = re.compile(r"\d\s?[ap]\.?m\b|\d[:h]\d\d|\d\s?(?:uhr|h)\b|noon|midday", re.IGNORECASE)

_MOVED_REACH = 80
"""Characters before a time that are searched for the verb that moves something from it."""

_MOVED = re.compile(
    rf"\b(?:{'|'.join(sorted(WORDS['moves']))})"
    r"(?:\s+(?:it|them|(?:the|our|my|your|his|her|its|their)(?:\s+\w+){1,3}))?(?:\s+back)?"
    r"(?:\s+from(?:\s+the)?)?\s+\Z",
    re.IGNORECASE,
)

_OF_REACH = 40
"""Characters before a time that are searched for the noun it belongs to."""

_OF = re.compile(r"\w\s+of\s+(?:the\s+)?\Z")
"""Before a time: it belongs to a noun, "the values of 1 February", and the verb tells another."""

_COINED = re.compile(r"[A-Z]{2,20}[a-z]{1,20}")
"""A verb made of an abbreviation, which the tagger takes for a name: "OOMKilled", "SIGKILLed"."""

_MARKS = frozenset(",:()–—")
_LINKING = frozenset(
    "because although though while when where if that which who so unless whereas but".split()
)
_PREPOSITIONS = frozenset("by for from in on to until till at since before after".split())
_REPEATED = re.compile(
    r"\b(?:once|twice|times|nights|evenings) (?:a|per|each|every) (?:week|fortnight|month|year)\b"
)
"""Tells how often: "twice a week on Monday"."""

_EACH_WEEK = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?<!first )(?<!next )weekly)\b"
    r"|\bnow (?:on )?[a-z]{3,6}day and (?:on )?[a-z]{3,6}day\b|\bdays \((?:mon|tue|wed|thu)"
    r"|day from (?:next (?:month|term|season)|(?:(?:jan|febr)uary|march|april|may|june|july|august"
    r"|(?:septem|octo|novem|decem)ber)\b(?!['’]))"
)
"""Beside a weekday, these make it one of every week: "thursdays is bins", "Monday from May"."""

_HOUR = re.compile(
    r"\bat (?:\d|(?:half|quarter|noon|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b)"
)
_CLOSED = frozenset({"shut", "closed"})  # they tell a state to come too: "shut from 19 August"

_LEFT = re.compile(r"\b(?:left over|left|leftover|leftovers|remaining|dating|dates)\Z")
"""Words after which "from" gives an origin: "the orders left over from December"."""

_CALLED_OFF = frozenset({"called", "cancelled", "canceled", "postponed", "scrapped"})
"""After a time, these tell when they were said: "the gig on 20 March has been called off"."""
_INTENDED = frozenset({"going", "supposed", "meant", "planning", "hoping", "intending"})
_KNOWN = frozenset({"the", "this", "that", "these", "those"})
_BE = frozenset("am is are 'm ’m 're ’re 's ’s be ai".split())
_WAS = frozenset({"was", "were", "been", "originally", "once"})
_DO = frozenset({"do", "does", "did"})
_GET = frozenset({"get", "gets", "getting"})
_HAVE = frozenset("have has 've ’ve 's ’s".split())
_NOT_PAST = re.compile(
    r"(?:(?<!agr)(?<!fr)(?<!guarant)eed|\A(?:embed|shed|wed|bed|shred|sled|red))\Z"
)


class Evidence(IntEnum):
    """Kinds of evidence for past or future, weakest first."""

    ASIDE = 0  # another clause, or words that fit both directions
    DOUBTED = 1  # fits both: "seat added in May", "agreed to meet in May", "joined the race in May"
    NOUN = 2
    PRESENT = 3  # a verb in the present tense: "starts in May", or "it breaks in May and stays so"
    TENSE = 4  # a verb that is past or future, or a check box


class Direction(NamedTuple):
    """A tense, and what shows it."""

    tense: Tense
    evidence: Evidence


class _Chain(NamedTuple):
    """Verbs that follow each other ("has to be signed"), by the indexes of their words."""

    first: int
    end: int
    tense: Tense | Literal["present"]
    verb: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence without the words of the time in it.

    Attributes:
        words: its words.
        chains: its verbs.
        time: index of the first word after the time.
        start: index of the first word of the time's clause.
        end: index after its last.
    """

    words: Sequence[Word]
    chains: Sequence[_Chain]
    time: int
    start: int
    end: int

    def folded(self, start: int, end: int) -> list[str]:
        """Return the words between two indexes in lower case."""
        return [word.text.casefold() for word in self.words[start:end]]


def direction(
    text: str,
    start: int,
    end: int,
    *,
    language: Language,
    words: Sequence[Word] = (),
    setting: Sequence[str] = (),
) -> Direction | None:
    """Return if the text puts a time into the past or the future; None if nothing shows it.

    Args:
        text: the text that names it.
        start: offset of its first character.
        end: offset after its last.
        language: language in which it was read.
        words: the text's words with their English tags; without them word lists decide.
        setting: the title of the text and the question it answers, as far as known.
    """
    first, last = sentence_bounds(text, start, end)
    preposition = _preposition(text, first, start, end)
    done = is_ticked(text, start)
    by_verb = None
    if words and language.code == "en":
        sentence = _sentence(text, first, last, start, end, words)
        if done is None and preposition == "on" and _may_be_told(sentence):
            return _by_setting(text, start, language, setting)
        if done is None and _is_said_now(sentence):
            return Direction("future", Evidence.PRESENT)
        by_verb = _by_verb(sentence, preposition, text[start:end])
    elif tense := language.tense(_clause_around(text, first, last, start, end)):
        doubted = tense == "past" and language.code != "en"  # "für den 18. Juli zugesagt"
        by_verb = Direction(tense, Evidence.DOUBTED if doubted else Evidence.TENSE)
    if done is not None:
        return _by_box(done, by_verb, preposition)
    if by_verb is not None:
        owned = words and _OF.search(text, max(first, start - _OF_REACH), start)
        return by_verb._replace(evidence=Evidence.ASIDE) if owned else by_verb
    if words and language.code == "en":
        if preposition == "from" and _is_moved(sentence):
            return None  # "moved from Monday to Thursday": that Monday may be either
        by_nouns = _by_nouns(sentence, preposition, text[start:end])
    else:
        clause = _LETTERS.findall(text[first:last].casefold())
        by_nouns = _suggested(clause) or _announced(clause, preposition, text[start:end])
    return by_nouns or _by_setting(text, start, language, setting)


def _clause_around(text: str, first: int, last: int, start: int, end: int) -> str:
    """Return the part between commas around a time, or the sentence if nothing else is in it."""
    before, after = text[first:start].rsplit(",", 1)[-1], text[end:last].split(",", 1)[0]
    clause = before + text[start:end] + after
    return clause if len(_LETTERS.findall(before + after)) >= _CLAUSE_WORDS else text[first:last]


_CLAUSE_WORDS = 3
"""Words beside a time from which the part between commas is taken for a clause."""


def is_habit(text: str, start: int, end: int) -> bool:
    """Return True if the sentence tells a habit: "usually trains on Monday"."""
    first, last = sentence_bounds(text, start, end)
    sentence = text[first:last].casefold()
    if _REPEATED.search(sentence) or _EACH_WEEK.search(sentence):
        return True
    return not (_WORDS["habits"] | _WORDS["collected"]).isdisjoint(_LETTERS.findall(sentence))


def is_moved_from(text: str, start: int) -> bool:
    """Return True if a time is the old date of something moved: "slips from 2 to 9 May"."""
    return _MOVED.search(text, max(0, start - _MOVED_REACH), start) is not None


def is_regular(text: str, start: int, end: int, words: Sequence[Word]) -> bool:
    """Return True for a recurring event: "the bins are collected on Friday"."""
    first, last = sentence_bounds(text, start, end)
    if not words or _preposition(text, first, start, end) != "on":
        return False
    sentence = _sentence(text, first, last, start, end, words)
    before = [c for c in sentence.chains if sentence.start <= c.first < sentence.time]
    if not before or before[-1].tense != "present":
        return False
    chain = before[-1]
    verb, stems = sentence.words[chain.first], verb_stems(chain.verb)
    if verb.text.casefold() in _BE:
        return sentence.words[chain.end - 1].tag == "VBN" and _is_serviced(sentence, chain)
    hour = _HOUR.search(" ".join(sentence.folded(chain.end, sentence.time)))
    opens = hour is not None and not _WORDS["opening"].isdisjoint(stems)
    return chain.end - chain.first == 1 and (opens or not _WORDS["habitual"].isdisjoint(stems))


def _is_serviced(sentence: _Sentence, chain: _Chain) -> bool:
    """Return True for a verb of a recurring service, or with several objects."""
    stems = verb_stems(chain.verb)
    if not _WORDS["serviced"].isdisjoint(stems):
        return True
    set_once = not (_WORDS["setting"] | _WORDS["expecting"]).isdisjoint(stems)
    subject = sentence.words[chain.first - 1].tag if chain.first else ""
    return sentence.words[chain.first].tag == "VBP" and subject == "NNS" and not set_once


def _preposition(text: str, first: int, start: int, end: int) -> str:
    """Return the preposition that the time begins with or follows; "" if there is none."""
    own = _FIRST_WORD.match(text, start, end)
    if own and own[1].casefold() in _PREPOSITIONS:
        if own[1].casefold() == "from" and _RANGE.search(text, own.end(), end):
            return "to" if is_moved_from(text, start) else ""
        return own[1].casefold()
    before = _LAST_WORD.search(text, max(first, start - _WORD_REACH), start)
    return before[1].casefold() if before and before[1].casefold() in _PREPOSITIONS else ""


def _sentence(
    text: str, first: int, last: int, start: int, end: int, words: Sequence[Word]
) -> _Sentence:
    """Return the clause-cut sentence: its words, without the time itself."""
    box = BOX.match(text, first, last)
    nearby = words[
        bisect_left(words, box.end() if box else first, key=_start) : bisect_left(
            words, last, key=_start
        )
    ]
    inside = [word for word in nearby if not start <= word.start < end]
    before = sum(word.start < start for word in inside)
    chains = tuple(_chains(inside, before))
    left, right = _clause(inside, chains, before)
    return _Sentence(inside, chains, before, left, right)


def _start(word: Word) -> int:
    return word.start


def _clause(words: Sequence[Word], chains: Sequence[_Chain], time: int) -> tuple[int, int]:
    """Return the first and the end index of the clause around the time.

    A conjunction parts two clauses only if each has a verb: "the dentist and the bank" is one. A
    clause of no word beside the time takes the one before it, or else the one after it.
    """
    cuts = [i for i, word in enumerate(words) if _cuts(words, chains, i)]
    left = max((cut + 1 for cut in cuts if cut < time), default=0)
    right = min((cut for cut in cuts if cut >= time), default=len(words))
    if _is_bare(words[left:right]) and left:
        left = max((cut + 1 for cut in cuts if cut < left - 1), default=0)
    if _is_bare(words[left:right]):
        right = min((cut for cut in cuts if cut > right), default=len(words))
    return left, right


def _cuts(words: Sequence[Word], chains: Sequence[_Chain], index: int) -> bool:
    word = words[index]
    if word.text in _MARKS:
        return True
    if word.tag != "CC" and word.text.casefold() not in _LINKING:
        return False
    following = next((i for i in range(index + 1, len(words)) if words[i].text in _MARKS), None)
    stop = len(words) if following is None else following
    return any(chain.first < index for chain in chains) and any(
        index < chain.first < stop for chain in chains
    )


def _is_bare(words: Sequence[Word]) -> bool:
    return not any(word.tag[:1] in "NVJ" and word.text.isalnum() for word in words)


def _chains(words: Sequence[Word], time: int) -> Iterator[_Chain]:
    """Yield the verbs of a sentence, those that follow each other as one."""
    index = 0
    previous: _Chain | None = None
    while index < len(words):
        if not _is_verb(words, index):
            index += 1
            continue
        end = index + 1
        while end < len(words) and end != time and _goes_on(words, end):
            end += 1
        while words[end - 1].tag[:2] == "RB" or words[end - 1].tag == "TO":
            end -= 1
        tense = _tense(words, index, end, previous)
        verbs = [i for i in range(index, end) if words[i].tag[:2] in ("VB", "NN", "JJ")]
        previous = _Chain(index, end, tense, words[verbs[-1] if verbs else index].text.casefold())
        yield previous
        index = end


def _is_verb(words: Sequence[Word], index: int) -> bool:
    """Return True for a verb, and where the tagger errs, for a past form that begins a clause."""
    word = words[index]
    if word.tag == "VBG" and index and words[index - 1].text.casefold() in _WORDS["participial"]:
        return words[index - 1].text.casefold() == "since"  # "while printing" has another's tense
    if is_no_verb(word.text, words[index - 1].text if index else ""):
        return False
    if word.tag[:2] in ("VB", "MD"):
        return True
    if word.tag == "TO":
        return index + 1 < len(words) and words[index + 1].tag == "VB"
    begins = index == 0 or words[index - 1].text in _MARKS or _COINED.fullmatch(word.text)
    return bool(begins) and word.tag[:2] in ("NN", "JJ") and _is_past_form(word.text)


def _goes_on(words: Sequence[Word], index: int) -> bool:
    tag = words[index].tag
    if tag[:2] in ("VB", "RB"):
        return tag != "VB" or not _is_speech(words[index - 1].text.casefold())
    told = words[index - 1].text.casefold() == "said"  # "said to bring it on Monday"
    return tag == "TO" and not told and index + 1 < len(words) and words[index + 1].tag == "VB"


def _is_past_form(word: str) -> bool:
    folded = word.casefold()
    regular = len(folded) > 3 and folded.endswith("ed") and not _NOT_PAST.search(folded)
    return regular or folded in _WORDS["irregular_past"]


def _tense(
    words: Sequence[Word], first: int, end: int, previous: _Chain | None
) -> Tense | Literal["present"]:
    """Return the tense of a chain; a form that depends on another verb takes that one's."""
    head, tag = words[first].text.casefold(), words[first].tag
    rest = words[first + 1 : end]
    following = [word.text.casefold() for word in rest]
    verbs = [word.tag for word in rest if word.tag[:2] != "RB"]
    if tag == "TO":
        return _tense_of_infinitive(words, first, previous)
    if tag == "VBG" and first and words[first - 1].text.casefold() == "since":
        return "past"
    if tag == "MD":
        had = head in ("'d", "’d") and bool(verbs)  # "they'd been writing"
        done = "to" not in following and not {"have", "'ve", "’ve"}.isdisjoint(following[:-1])
        done = (done and bool({"VBN", "VBD"}.intersection(verbs))) or (had and verbs[0] == "VBN")
        return "past" if done and head not in ("will", "'ll", "’ll") else "future"
    perfect = verbs[:1] in (["VBN"], ["VBD"])  # "she's getting married" is none
    if head in _HAVE and perfect and not {"got", "to"}.intersection(following[:1]):
        return "past"
    if tag in ("VB", "VBP", "VBG", "VBN", "VBD") and previous is not None:
        depends = _depends(words, tag, previous)
        if depends and not _parted(words, previous.end, first):
            return previous.tense
    if tag in ("VBD", "VBN") or (head not in _BE and _is_past_form(head)):
        return "past"
    return "present" if tag in ("VBZ", "VBP") else "future"


def _is_attribute(words: Sequence[Word], chain: _Chain) -> bool:
    """Return True for a participle that describes the noun before it: "a guy called Bash"."""
    described = chain.first > 0 and words[chain.first - 1].tag[:2] == "NN"
    return described and chain.end - chain.first == 1 and words[chain.first].tag == "VBN"


def _tense_of_infinitive(words: Sequence[Word], first: int, previous: _Chain | None) -> Tense:
    """Return "past" for an infinitive after "forgot to" and the like, else "future"."""
    if previous is None or previous.tense != "past":
        return "future"
    intended = words[first - 1].text.casefold() in _WORDS["intentions"]
    return "future" if intended or _is_speech(previous.verb) else "past"


def _is_speech(verb: str) -> bool:
    """Return True for a verb of speech or resolve, which an order or plan follows."""
    return not _WORDS["committing"].isdisjoint(verb_stems(verb))


def _depends(words: Sequence[Word], tag: str, previous: _Chain) -> bool:
    """Return True for a form with the tense of the verb before: "did Ana come", "is it shut".

    The tagger often takes the verb of such a question for another form.
    """
    if tag in ("VB", "VBG"):
        return tag == "VBG" or not _is_speech(previous.verb)  # "said bring it on Monday"
    if tag in ("VBN", "VBD") and previous.verb in _GET:
        return True  # "getting a suit made"
    if tag == "VBN" and previous.verb == "have" and previous.tense == "future":
        return True  # "we'll have it done"
    alone = words[previous.first].text.casefold() if previous.end - previous.first == 1 else ""
    return alone in _DO or (tag == "VBN" and alone in _BE)


def _parted(words: Sequence[Word], first: int, end: int) -> bool:
    return any(word.text in _MARKS or word.tag == "CC" for word in words[first:end])


def _by_verb(sentence: _Sentence, preposition: str, time: str) -> Direction | None:
    """Return the direction given by the verb of the time's clause."""
    inside = [c for c in sentence.chains if sentence.start <= c.first < sentence.end]
    before = [chain for chain in inside if chain.first < sentence.time]
    if not inside:
        return None
    if "since" in sentence.folded(before[-1].end if before else sentence.start, sentence.time):
        return Direction("past", Evidence.TENSE)  # "I cannot print since the update on Friday"
    last = -2 if before[1:] and _is_entered_for(sentence.words, before[-1]) else -1
    chain = before[last] if before else inside[0]
    if before and _sets(chain.verb, preposition):
        told = chain.tense == "past"  # "promised for 4 January", which may be over
        return Direction("future", Evidence.PRESENT if told else Evidence.TENSE)
    if before and (_expects(sentence, chain, preposition) or _is_entered(sentence, preposition)):
        return Direction("future", Evidence.TENSE)
    if _is_refused(sentence, chain) or (preposition == "from" and _is_moved(sentence)):
        return None
    if not before and chain.verb in _CALLED_OFF:
        ahead = sentence.words[chain.first].text.casefold() in _HAVE
        return Direction("future", Evidence.PRESENT) if ahead else Direction("past", Evidence.ASIDE)
    if chain.tense == "past":
        return _told_in_past(sentence, chain, preposition)
    verbs = {i for one in inside for i in range(one.first, one.end)}
    nouns = [
        sentence.words[i].text.casefold()
        for i in range(sentence.start, sentence.time)
        if i not in verbs
    ]
    after = chain.tense == "present" and not _WORDS["aftermath"].isdisjoint(nouns)
    if after or _is_reported(nouns):
        return Direction("past", Evidence.NOUN)
    if preposition == "from" and (origin := _origin(sentence, nouns, time)):
        return origin
    plain = chain.tense == "present" and chain.verb not in _BE  # a birthday "is" on 2 June
    return Direction("future", Evidence.PRESENT if plain else Evidence.TENSE)


def _is_refused(sentence: _Sentence, chain: _Chain) -> bool:
    """Return True for what is told or foreseen: "he wouldn't get up"; not "said he wouldn't"."""
    told, subject = sentence.folded(chain.first, chain.first + 2), sentence.words[chain.first - 1]
    if told not in (["would", "n't"], ["would", "n’t"], ["would", "not"]) or not chain.first:
        return False
    third = subject.tag[:2] == "NN" or subject.text.casefold() in ("he", "she", "it", "they")
    foreseen = any(one.tense == "past" for one in sentence.chains if one.first < chain.first)
    return third and not foreseen


def _may_be_told(sentence: _Sentence) -> bool:
    """Return True for a note that begins with a verb whose past is the same: "Read it Sunday"."""
    inside = sentence.folded(sentence.start, sentence.time)
    return inside[:1] != [] and inside[0] in _WORDS["same_in_past"]


def _is_said_now(sentence: _Sentence) -> bool:
    """Return True for a new date, or one set: "now 12 October", "October 12th now", "due 3 May"."""
    before = sentence.folded(max(sentence.start, sentence.time - 4), sentence.time)
    if sentence.folded(sentence.time, sentence.end) == ["now"]:
        return True
    while before[-1:] in (["the"], ["on"], ["in"]):
        del before[-1]
    set_now = before[-1:] == ["due"] and _WAS.isdisjoint(before)
    return before[-1:] == ["now"] or set_now


def _told_in_past(sentence: _Sentence, chain: _Chain, preposition: str) -> Direction:
    """Return the direction of a time beside a past form; what was arranged may be to come."""
    evidence = _evidence_of_past(sentence, chain, preposition)
    told = sentence.folded(chain.first, chain.end)
    agreed = "to" in told[1:] and _is_speech(told[told.index("to") - 1])
    if chain.first >= sentence.time and preposition == "from":
        evidence = min(evidence, Evidence.DOUBTED)  # "From May, visitors housed here swim free"
    elif agreed and evidence is Evidence.ASIDE:
        return Direction("future", Evidence.DOUBTED)  # "have agreed to start late, on Friday"
    if chain.first >= sentence.time or evidence < Evidence.DOUBTED:
        return Direction("past", evidence)
    between, stems = sentence.folded(chain.end, sentence.time), verb_stems(chain.verb)
    settled = not _WORDS["settling"].isdisjoint(stems)
    naming = not preposition and not _WORDS["naming"].isdisjoint(stems)
    named = naming and all(
        word.tag[:2] in ("NN", "PR", "DT") for word in sentence.words[chain.end : sentence.time]
    )
    named = named or (preposition == "by" and "to" in told and _is_speech(told[0]))
    if named or (settled and preposition == "from") or _is_of_an_event(sentence, chain, between):
        return Direction("future", Evidence.DOUBTED)
    got = not _WORDS["entering"].isdisjoint(stems) and not _WORDS["seats"].isdisjoint(between)
    doubted = got or (settled and between[:1] == ["on"])
    return Direction("past", Evidence.DOUBTED if doubted else evidence)


def _is_of_an_event(sentence: _Sentence, chain: _Chain, between: Sequence[str]) -> bool:
    """Return True for an event that was entered for: "signed up for the half marathon in May"."""
    stems = verb_stems(chain.verb)
    settled = between[:1] == ["on"] and not _WORDS["settling"].isdisjoint(stems)
    entered = "for" in between or not _WORDS["seats"].isdisjoint(between)
    if not settled and not (entered and not _WORDS["entering"].isdisjoint(stems)):
        return False
    nouns = [
        word
        for word in sentence.words[chain.end : sentence.time]
        if word.tag[:2] == "NN" or word.tag == "VBG" or word.text.casefold() in _WORDS["races"]
    ]
    events = (_WORDS["plan_nouns"] | _WORDS["races"]) - _WORDS["seats"]
    return bool(nouns) and (nouns[-1].tag == "VBG" or nouns[-1].text.casefold() in events)


def _is_entered_for(words: Sequence[Word], chain: _Chain) -> bool:
    """Return True for what somebody enters for, as "swimming" in "signed up for swimming"."""
    return words[chain.first].tag == "VBG" and words[chain.first - 1].text.casefold() == "for"


def _evidence_of_past(sentence: _Sentence, chain: _Chain, preposition: str) -> Evidence:
    """Return how strongly a past form is evidence of a past time after it."""
    if any(word.text in _MARKS for word in sentence.words[chain.end : sentence.time]):
        return Evidence.ASIDE  # "trains booked, 14 to 25 October", "gave notice, out 2 April"
    subject = sentence.words[chain.first - 1].tag if chain.first else ""
    state = chain.verb in _CLOSED and subject[:2] == "NN"
    participle = chain.verb.endswith("ed") and subject in ("NN", "NNS")
    alone = chain.end - chain.first == 1 and chain.first < sentence.time
    headline = alone and (state or participle)
    if headline and preposition == "from":
        return Evidence.ASIDE  # "surcharge removed from 1 April"
    told = sentence.folded(chain.first, chain.end)
    destined = told[:2] in (["was", "to"], ["were", "to"])
    if destined or ("to" in told and not _INTENDED.isdisjoint(told)):
        return Evidence.ASIDE  # "were (going) to fly on 21 April", which may be to come
    arranged = not _WORDS["arranging"].isdisjoint(verb_stems(chain.verb))
    arranged |= "to" in told[1:] and _is_speech(told[0])  # "promised to be done by April"
    return Evidence.DOUBTED if headline or arranged else Evidence.TENSE


def _origin(sentence: _Sentence, nouns: Sequence[str], time: str) -> Direction | None:
    """Return "past" for "the notes from Friday", None for "closed from Friday to Sunday".

    An origin belongs to the noun before "from": one that is made of an event, the subject of the
    verb, or a thing known already ("the bug"). The last two may begin at that time as well ("the
    room from January is free"). After any other word "from" gives a start.
    """
    head = sentence.time - 1
    while head >= sentence.start and (
        sentence.words[head].text.casefold() in ("from", "the")
        or sentence.words[head].text.strip("-")[:1].isdecimal()
        or sentence.words[head].text == "-"
    ):
        head -= 1  # "invoice 2025-003 from 28 January"
    if head < sentence.start:
        return None
    if _LEFT.search(" ".join(sentence.folded(max(sentence.start, head - 1), head + 1))):
        return Direction("past", Evidence.NOUN)
    if sentence.words[head].tag[:2] != "NN":
        return None
    if _RANGE.search(time) or not _WORDS["starting"].isdisjoint(nouns):
        return None
    if sentence.words[head].text.casefold() in _WORDS["made_of"]:
        return Direction("past", Evidence.NOUN)
    first = head
    while first > sentence.start and sentence.words[first - 1].tag[:1] in "NJ":
        first -= 1
    known = first > sentence.start and sentence.words[first - 1].text.casefold() in _KNOWN
    subject = not any(sentence.start <= chain.first < head for chain in sentence.chains)
    return Direction("past", Evidence.ASIDE) if known or subject else None


def _is_entered(sentence: _Sentence, preposition: str) -> bool:
    """Return True for an entry into a calendar: "noted in the diary for 5 May"."""
    written = sentence.folded(sentence.start, sentence.time)
    return preposition == "for" and not _WORDS["calendars"].isdisjoint(written)


def _is_moved(sentence: _Sentence) -> bool:
    """Return True if the verb before the time sets a new date."""
    before = [chain for chain in sentence.chains if chain.first < sentence.time]
    return bool(before) and not _WORDS["setting"].isdisjoint(verb_stems(before[-1].verb))


def is_dated(text: str, start: int, end: int, words: Sequence[Word]) -> bool:
    """Return True for a month that something is moved to or booked for: "deferred to January"."""
    first, last = sentence_bounds(text, start, end)
    preposition = _preposition(text, first, start, end)
    sentence = _sentence(text, first, last, start, end, words)
    before = [chain for chain in sentence.chains if sentence.start <= chain.first < sentence.time]
    verbs = _WORDS["moving" if preposition == "to" else "dating"]
    return bool(before) and not verbs.isdisjoint(verb_stems(before[-1].verb))


def _sets(verb: str, preposition: str) -> bool:
    """Return True for a verb that sets a future date: "moved to Thursday", "booked for Friday"."""
    sets = preposition in ("to", "for", "until", "till")
    return sets and not _WORDS["setting"].isdisjoint(verb_stems(verb))


def _expects(sentence: _Sentence, chain: _Chain, preposition: str) -> bool:
    """Return True for a participle that sets a future date: "Payment expected Friday"."""
    if chain.end - chain.first > 1 or _WORDS["expecting"].isdisjoint(verb_stems(chain.verb)):
        return False
    lead = sentence.folded(max(sentence.start, chain.first - 1), chain.first)
    awaited = chain.verb in ("expected", "forecast", "anticipated") and preposition == "on"
    beside = chain.end + bool(preposition) >= sentence.time
    return (awaited or not preposition) and beside and lead not in (["as"], ["than"])


def _by_box(done: bool, by_verb: Direction | None, preposition: str) -> Direction:
    """Return the direction of a time in an entry of a to-do list."""
    if done:
        return Direction("future" if preposition in ("to", "for") else "past", Evidence.TENSE)
    return by_verb if by_verb and by_verb.tense == "past" else Direction("future", Evidence.TENSE)


def _by_nouns(sentence: _Sentence, preposition: str, time: str) -> Direction | None:
    """Return the direction that nouns of the clause, or else the sentence, suggest."""
    clause = sentence.folded(sentence.start, sentence.end)
    suggested = _suggested(clause)
    after = [
        chain
        for chain in sentence.chains
        if chain.first >= sentence.end and not _is_attribute(sentence.words, chain)
    ]
    if suggested is not None and suggested.tense == "past":
        return suggested
    if preposition == "by" and _begins_with_task(clause):
        return Direction("future", Evidence.NOUN)  # "book by January: it was full"
    if after and all(chain.tense == "past" for chain in after):
        return Direction("past", Evidence.ASIDE)
    if preposition == "from" and (origin := _origin(sentence, clause, time)):
        return origin
    if ahead := suggested or _announced(clause, preposition, time):
        return ahead
    if preposition == "from":
        return Direction("future", Evidence.NOUN)
    before = [chain for chain in sentence.chains if chain.end <= sentence.start]
    if nearest := [*before[-1:], *after[:1]]:
        return Direction("past" if nearest[0].tense == "past" else "future", Evidence.ASIDE)
    return _suggested(sentence.folded(0, sentence.start))


def _suggested(words: Sequence[str]) -> Direction | None:
    """Return the direction that nouns suggest; a report is told by its own word or a judgement."""
    if _is_reported(words):
        return Direction("past", Evidence.NOUN)
    if not _WORDS["plan_nouns"].isdisjoint(words):
        judged = not _WORDS["evaluations"].isdisjoint(words)
        return Direction("past" if judged else "future", Evidence.NOUN)
    return None


def _announced(clause: Sequence[str], preposition: str, time: str) -> Direction | None:
    """Return "future" for a clause that begins with a task, or sets a date."""
    task = _begins_with_task(clause)
    if task or preposition in ("by", "for", "until", "till") or _CLOCK.search(time):
        return Direction("future", Evidence.NOUN)
    return None


def _begins_with_task(clause: Sequence[str]) -> bool:
    begins = next((word for word in clause if word[0].isalnum()), "")
    return begins in _WORDS["tasks"]


def _is_reported(words: Sequence[str]) -> bool:
    """Return True if the words name a result that exists only after an event."""
    if not _WORDS["report_nouns"].isdisjoint(words):
        return True
    made = next((i for i, word in enumerate(words) if word in _WORDS["made_of"]), None)
    return made is not None and not {"from", "of"}.isdisjoint(words[made:])


def _by_setting(
    text: str, start: int, language: Language, setting: Sequence[str]
) -> Direction | None:
    """Return the direction given by the heading, the title, or the question answered."""
    tense = tense_of_setting(text, start, language, setting)
    return Direction(tense, Evidence.NOUN) if tense else None
