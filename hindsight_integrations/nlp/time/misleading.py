"""Tell the times that a statement names and does not mean.

Denied ones, those of what is only imagined, clock times of another zone, and parts of names.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import tzinfo

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.grammar import Context
from hindsight_integrations.nlp.time.idioms import MOST
from hindsight_integrations.timespan import Precision, TimeSpan

_WORDS = word_sets("names")
_REACH = 40
"""Characters before a time that are read."""

_DENIED = re.compile(
    r"""
    (?: (?<!if\s) (?<!why\s) \bnot | \bnever | n['’]t | \bnicht | \bkein(?:e|en|em|er)?
      | \b(?:non\s)?pas
      | \b(?:neither|nor|weder) | \bas
      | \b(?:except(?:ing)?(?:\s for)? | excluding | instead\s of | rather\s than | other\s than
           | apart\s from | but\s not | außer | statt | anstatt | excepto | salvo | sauf )
      | \b(?:feel(?:s|ing)? | felt | seem(?:s|ed)? | sound(?:s|ed)? | is | was | ['’]s)
        \s (?:just\s|only\s)? like (?:\s (?:just|only))? )
    \s (?: (?:on|in|at|for|am|im|el|le|en) \s )? (?: (?:this|the|la|los) \s )? \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DENIED_IN_SPANISH = re.compile(r"\bno\s(?:(?:el|en)\s)?(?:(?:la|los)\s)?\Z", re.IGNORECASE)
_NEVER = re.compile(
    r"\s(?:(?:never|nunca|nie|ne\s\w+\sjamais)\b"
    r"|(?:is|are)\s(?:no\s(?:good|better|use)|not\s(?:good|possible|any\sbetter)|impossible|out)\b"
    r"|(?:does|do|will|wo)(?:n['’]t|\snot)\s(?:do|work|suit)\b)"
    r"|(?<=:\d\d:\d\d)\s(?:19|20)\d\d\b"  # the year behind the clock, as openssl writes it
    r"|\safter\snext\b|\sof\sthe\s(?:month|week)\s(?:before|after|following)\b"
    r"|,?\s[-–—]?\s?(?:no\swait,?|(?:no(?:,?\s(?:wait|sorry))?|sorry|i\smeant?),)\s(?:on\s|in\s)?(?:the\s)?"
    r"(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
"""After a time, these deny it: "tomorrow never came", "Friday is out", "the 9th, no, the 10th"."""
_ALSO = re.compile(r"\s(?:and|or|und|oder|y|et)\s(?:on\s)?", re.IGNORECASE)

_DOUBTED = re.compile(
    r"""
    (?: \b(?:maybe|perhaps|possibly|might|whether|vielleicht|womöglich|ob|peut-être|quizás?
        |tal\svez|acaso)
      | (?:n['’]t|\bnot|\bnever)\s (?:think|believe|suppose|imagine|claim|know|say|sure|certain) )
    \s [^,;:.!?\n]* \Z
  | \b(?:years?|months|weeks|days)\son\s (?:from\s)? \Z
  | \b(?:claim(?:s|ed)?|sw(?:ears?|ore)|insist(?:s|ed)?|alleg(?:es?|ed)|pretend(?:s|ed)?)
    \s (?:that\s | (?:[\w’'-]+\s){1,4}? (?:had|has|was|were|is|are|would|will|did|came|went)\s )
    [^,;:.!?\n]* \Z
  | \b(?:supposedly|allegedly|reportedly|rumou?red)\s [^,;:.!?\n]* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CLAIMED = re.compile(
    r"\b(?:says?|thinks?|reckons?|claims?|guess(?:es)?|(?:it|today)(?:\sis|['’]s)|today\swas)\s\Z",
    re.IGNORECASE,
)
"""Before the name of a day alone, these tell what somebody takes for it, or what day it is."""
_DISBELIEVED = re.compile(
    r"""
    \b(?:but|though|although|except)\b [^.;!?\n]*? (?:
      \b(?: wrong | mistaken | lying | lied | lies | untrue | nonsense | a\slie | not\strue
        | made\s (?:it|that|this)\sup
        | (?:don|doesn|didn)['’]t\sbelieve | i\sdoubt )\b )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""After a time in its sentence, these take it back: "retired in 2020, but he gets that wrong"."""
_OR = re.compile(
    r"[,?.!]?\s(?:or|oder|ou|o)\s(?:(?:was|is)\sit\s)?"
    r"(?:(?:maybe|perhaps|else|even|on|in|at|by|the|this|next|am|im|el|en|le)\s){0,3}",
    re.IGNORECASE,
)

_OR_A_DAY = re.compile(
    r",? or (?:on |this |next )?(?:mon|tues?|weds?|thurs?|thu|fri|sat|sun)\b", re.IGNORECASE
)
"""After a time, a short weekday, which is read as a time in few places: "tuesday or weds"."""
_SINCE = re.compile(r"\bsince\s[^,;:.!?\n]*\Z", re.IGNORECASE)
"""Before a time, beside a superlative: "the best since the final in 2005"."""

_SENTENCE_REACH = 200
"""Characters on each side of a time that may belong to its sentence."""
_SENTENCE_END = re.compile(r"[.!?;]\s|\n")
_WISHED = re.compile(
    r"""
    \bwish(?:es|ed)?\s (?:that\s)? (?:\w+\s){1,3}? (?:were|was|had|could|would)\b
    | \bif\sonly\b | \bas\s(?:if|though)\b
    | (?:\b(?:would|could|might)(?:n['’]t)?|['’]d) (?:\s(?:not|never|just|also))?
      (?:\shave\b|['’]ve\b)
    | \bshould(?:n['’]t)?(?:\s(?:not|never|just|also))?(?:\shave|['’]ve)\s
      (?!(?:an?|the|it|them|this|that|some|any|all|more|my|your|his|her|its|our|their)\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Before a time, these make it one of what is not so: "I wish it were", "as if", "would have"."""
_SAME_CLAUSE = r"(?:(?!\b(?:but|so|and|then)\b)[^,;:.!?\n])*\Z"
_RULED_OUT = re.compile(rf"\blet['’]s not (?!forget){_SAME_CLAUSE}", re.IGNORECASE)
"""Before a time: "let's not leave on Thursday"."""
_INVENTED = re.compile(
    rf"""
    \bin \s (?:a|the|my|your|his|her|our|their|that|this) \s (?:\w+\s)? dreams?\b {_SAME_CLAUSE}
  | \b(?:dreamt|dreamed) \s (?:that\s)? {_SAME_CLAUSE}
  | \b(?:scene|chapter|novel|stor(?:y|ies)|film|movie|plot|episode|sequel|prequel|saga|thriller
        |legend|fairy\stale|sitcom|musical|opera) s?\b [^.!?;\n]*
    \b (?:set|takes?\splace|took\splace) \s (?:(?:in|on|between|around|during) \s (?:the\s)?)? \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Before a time, these make it one of fiction: "in the dream it was 1985", "a film set in 1985"."""
_UNREAL_CONDITION = re.compile(
    r"""
    \bif\s (?:[\w’'-]+\s){1,4}? (?:had|were|could(?!\s\w)|hadn['’]t|weren['’]t|knew|didn['’]t)\b
    | \bif\s \w+['’]d\s (?!like|love|prefer|rather|mind)
    | \A\W* (?:were|had)\s (?:i|it|he|she|we|they|you|there|(?-i:[A-Z]\w+))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNREAL_RESULT = re.compile(
    r"(?:\b(?:would|could|might)(?:n['’]t)?|['’]d)\s(?!like|love|prefer|be\s(?:\w+\s)?(?:great|good"
    r"|nice|lovely|fine|best|better|happy|glad|ideal|perfect|helpful))",
    re.IGNORECASE,
)
"""With a condition of the past, what would be if it were so; "it would be great" asks."""

_ZONE_AFTER = re.compile(
    r"""
    \s? \(? ( (?:UTC|GMT)(?:[+-]\d{1,2})?
      | [ECMP](?:S|D)?T | (?:CE|EE|WE|BS|IS|JS|KS|MS|SG|HK|PK|AK[SD]|AE[SD]|AC[SD]|AW[SD]|NZ[SD])S?T
      | AE[SD]?T | MSK | SAST | WAT | CAT | EAT | GST | HST | BRT | WIB ) \b
    | \s? \(? ((?:local | server | Eastern | Central | Mountain | Pacific
        | (?:(?!Christmas|Dinner|Lunch)[A-Z][a-z]+\s?){1,2}) \s?time) \b
    """,
    re.VERBOSE,
)

_TITLED = re.compile(rf"\b(?:{'|'.join(sorted(_WORDS['honorifics']))})\.? \Z", re.IGNORECASE)
"""Before a word that may be a day, these make it a person: "Mr. Sunday"."""
_WORDS_BEFORE = re.compile(r"((?:[A-ZÀ-Ý][\w’'-]* ){1,4})\Z")
_ADJECTIVAL = re.compile(r"\w{2}(?:y|ful|ic|ing|ed|less|ous|ish|ive|al)\Z")
_WORD_AFTER = re.compile(r" ([A-ZÀ-Ý][\w’'-]*)")
_OPENS = re.compile(r"(?:\A|[.!?:;\n\"“«(\[*•–—-])\s*\Z")
_STREETS = frozenset(
    "Street St Road Rd Avenue Ave Lane Drive Close Terrace Crescent Boulevard Blvd Way".split()
)
_TITLED_PARTS = frozenset({"Morning", "Afternoon", "Evening", "Night"})
_NAMED_BY = re.compile(
    r"\b(?:on|in|at|by|since|until|till|for|from|to|last|this|next|every|the)\s\Z"
)
"""Before a time, these make it one; what follows is another name: "on Friday Legal called"."""
_NO_PART_OF_NAMES = _WORDS["function_words"].union(
    *(_WORDS[key] for key in ("calendar", "places", "peoples", "common_nouns"))
)


def is_denied(context: Context, start: int, end: int, denied_until: int) -> bool:
    """Return True for a time that the statement excludes: "not on Monday", "except Thursday".

    Args:
        context: the text.
        start: offset of the time.
        end: offset after it.
        denied_until: offset after the last time that was denied; -1 if none was.
    """
    if context.statement is None:
        return False
    if denied_until >= 0 and _ALSO.fullmatch(context.text, denied_until, start):
        return True
    if _NEVER.match(context.text, end):
        return True
    first = max(0, start - _REACH)
    if context.language.code == "es" and _DENIED_IN_SPANISH.search(context.text, first, start):
        return True
    return _DENIED.search(context.text, first, start) is not None


def is_doubted(context: Context, start: int, end: int) -> bool:
    """Return True for a time that the statement doubts: "might come on Friday", "whether in May".

    Args:
        context: the text.
        start: offset of the time.
        end: offset after it.
    """
    if context.statement is None:
        return False
    first = max(0, start - _REACH)
    if _OR_A_DAY.match(context.text, end):
        return True
    if " " not in context.text[start:end] and _CLAIMED.search(context.text, first, start):
        return True
    if _DOUBTED.search(context.text, first, start):
        return True
    stop = _SENTENCE_END.search(context.text, end, end + _SENTENCE_REACH)
    last = stop.start() if stop else end + _SENTENCE_REACH
    if _DISBELIEVED.search(context.text, end, last):
        return True
    since = _SINCE.search(context.text, first, start)
    return since is not None and MOST.search(context.sentence(start, start)) is not None


def are_alternatives(context: Context, end: int, start: int) -> bool:
    """Return True for two times of which only one is meant: "on the 15th, or in January".

    Args:
        context: the text.
        end: offset after the first.
        start: offset of the second.
    """
    if context.statement is None or start - end > _REACH:
        return False
    return _OR.fullmatch(context.text, end, start) is not None


def is_unreal(context: Context, start: int, end: int) -> bool:
    """Return True for a time of what is wished or imagined: "I'd switch tomorrow if it had ...".

    Args:
        context: the text.
        start: offset of the time.
        end: offset after it.
    """
    if context.statement is None:
        return False
    text, first = context.text, max(0, start - _SENTENCE_REACH)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, first, start)]
    begins = ends[-1] if ends else first
    told = text[begins:start]
    if any(frame.search(told) for frame in (_WISHED, _RULED_OUT, _INVENTED)):
        return True
    stop = _SENTENCE_END.search(text, end, end + _SENTENCE_REACH)
    sentence = text[begins : stop.start() if stop else end + _SENTENCE_REACH]
    unreal = _UNREAL_CONDITION.search(sentence)
    return unreal is not None and _UNREAL_RESULT.search(sentence) is not None


def of_this_zone(context: Context, end: int, span: TimeSpan, zone: tzinfo) -> TimeSpan:
    """Return a time, or its day if the text gives it in another zone: "9:00 IST".

    Args:
        context: the text.
        end: offset after the time.
        span: the time, on a clock of the text's own zone.
        zone: that zone.
    """
    clock = span.precision in (Precision.HOUR, Precision.MINUTE)
    named = _ZONE_AFTER.match(context.text, end) if clock and context.statement else None
    if named is None:
        return span
    local = span.start.replace(tzinfo=zone)
    own = {local.tzname(), *(("UTC", "GMT") if not local.utcoffset() else ())}
    return span if named[1] in own else calendar.period(Precision.DAY, span.start)


def is_in_a_name(context: Context, start: int, end: int) -> bool:
    """Return True for a time that is part of a name: "March Road", "Tomorrow Never Dies".

    A word that is as well a person's ("saw Ben Friday") makes no name of it.
    """
    text = context.text
    if _TITLED.search(text, max(0, start - _REACH), start):
        return True
    after = _WORD_AFTER.match(text, end)
    if after and after[1] in _STREETS and text[start:end].split()[-1].istitle():
        return True
    spelled = text[start:end]
    if context.statement is None:
        return False
    if text.startswith(("'s ", "’s "), end) and is_given_name(spelled.split()[-1].casefold()):
        return True  # "poster by Jan's daughter"
    if not spelled[0].isupper():
        return False
    first = max(0, start - _REACH)
    before = _WORDS_BEFORE.search(text, first, start)
    if before and _makes_a_name(context, before.start(), before[1]):
        return True
    if after is None or after[1] in ("I", "I'm", "I’m", "I'll", "I’ll", "I've", "I’ve"):
        return False
    lower = after[1].casefold()
    if lower in _WORDS["function_words"] and len(lower) > 1 and not after[1].isupper():
        return True
    if spelled.split()[-1] in _TITLED_PARTS:
        return True  # "Friday Night Dinner", which is on no Friday
    opens = _OPENS.search(text, first, start) is not None
    named_by = _NAMED_BY.search(text, first, start) is not None
    return not opens and not named_by and _is_common(context, after.start(1), after[1])


def _makes_a_name(context: Context, start: int, words: str) -> bool:
    """Return True if an adjective with a capital before a day makes a name of it: "Freaky Friday".

    "Saw Ben Orr Monday" names somebody beside the day.
    """
    *others, last = words.split()
    opens = not others and _OPENS.search(context.text, max(0, start - _REACH), start)
    if opens or any(is_given_name(word.casefold()) for word in others):
        return False
    common = _is_common(context, start + words.rindex(last), last)
    return common and _ADJECTIVAL.search(last) is not None


def _is_common(context: Context, start: int, word: str) -> bool:
    """Return True for a common word of the dictionary, which only a name writes with a capital."""
    lower = word.casefold()
    if is_given_name(lower) or lower in _NO_PART_OF_NAMES:
        return False
    words = context.statement.words if context.statement else ()
    index = bisect_left(words, start, key=lambda one: one.start)
    found = index < len(words) and words[index].start == start
    return found and words[index].listed and not word.isupper()
