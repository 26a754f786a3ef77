"""Detect requests for advice, and the memories that any advice to a person depends on.

"Where should I stay in Lisbon?" shares its words with memories of Lisbon and of hotels, but a good
answer depends on lasting facts about the person who asks: what they cannot eat, avoid or prefer.
The times in such a request are those of a plan, not of memories.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache

import regex

from hindsight_integrations.nlp.time.query import TimeWindow

LONGEST_APPOINTMENT = timedelta(days=31)
"""Longest time named in a request at which appointments are looked up; longer ones are seasons and
years."""

_REQUEST = regex.compile(
    r"""
    \b(?: (?:can|could|would|will) \s you \s (?:please \s | maybe \s)?
          (?: recommend | suggest | advise | propose | draft | help \s (?:me|us)
            | think \s of | give \s (?:me|us) \s (?:some \s | a \s few \s)? (?:\w+ \s)?
              (?:idea|tip|suggestion|recommendation|option|pointer)s? )
      | (?:would|do|can|could) \s you \s (?:\w+ly \s)? (?:recommend|suggest|advise)
      | (?<! \b(?:did|had) \s) you (?:['’]d | \s would | \s could | \s can)? \s
          (?:recommend|suggest|advise)
      | (?:what|which|where|how) \b [^.?!]{0,60}? \b would \s you \s
          (?:choose|pick|take|buy|get|go|see|stay|eat|try|use|do|start|spend|visit|order|cook|plant)
      | (?:what (?! \s (?:time|day|date)) | which | how (?! \s (?:much|many|often|long|soon|far)) )
          \b [^.?!]{0,60}? \b (?:should|might|could) \s (?:i|we|(?:my|our) \s \w+) \b
      | where \b [^.?!]{0,60}? \b (?:should|might|could) \s (?:i|we) \s
          (?:stay|go|eat|sit|look|take|book|buy|order|shop|travel|start|visit|live|move|spend|hold)
      | (?:what|which|how (?! \s (?:much|many|often|long|soon|far|fast))) \b [^.?!]{0,60}? \b
          can \s (?:i|we) \s (?! remember | recall | find \s (?:my|our) )
      | how \s (?:do|would) \s (?:i|we) \s
          (?: (?:best|go \s about|get|find|move|start|learn|plan|choose|make|improve|keep) \b )
      | (?<= ^ \s* | [.!?,] \s | \b(?:so|and|but|or) \s) should \s (?:i|we) \b (?= [^?]{0,200} \? )
      | (?:any|some|a \s few|got|give \s (?:me|us)) \s (?:\w+ \s){0,2}?
          (?:idea|tip|suggestion|recommendation|advice) s? \b (?! \s (?:what|when|who|where|why) )
      | (?:please \s | ^ \s*) (?:recommend|suggest|help \s (?:me|us)|plan|find \s (?:me|us))
      | what (?:['’]s | \s is | \s would \s be | \s are) \s (?:a|an|some|the \s best) \b
          [^.?!]{0,80}? \b (?:way|place|gift|present|recipe|spot|idea|option) s? \b
          [^.?!]{0,80}? \b (?:for|to) \b
      | what \s (?:are|would \s be) \s some \b [^.?!]{0,80}? \b
          (?:for \s (?:me|us|my|our) | i \s should | (?:i|we) \s (?:can|could|might|would) )
      | where \b [^.?!]{0,40}? \b (?:do|would) \s (?:i|we) \s (?:look|start) \b
    ) \b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words of a request for advice, in English."""

_OF_THE_PAST = regex.compile(
    r"\b(?:last|past|previous|ago|yesterday|earlier|recent(?:ly)?|so \s far)\b",
    regex.VERBOSE | regex.IGNORECASE,
)

_STANDING = regex.compile(
    r"""\b(?: prefers? | likes | loves | enjoys | hates | dislikes | avoids? | refuses? | needs
        | wants | always | never | cannot | can['’]?t | do(?:es)?n['’]?t | do(?:es)? \s not
        | won['’]t | favou?rite | allerg(?:y|ies|ic) | intoleran(?:t|ce) | aversion | phobia
        | (?:not \s a | no | big | huge) \s fan | off \s (?:limits | the \s (?:menu|table)) )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words that state a lasting fact about a person, in English, whoever speaks."""

_OWN = regex.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", regex.IGNORECASE)

_HAPPENED = regex.compile(
    r"""(?: ^ | \b(?:i|we|you|he|she|it|they|who|and|then|(?:my|our) \s \w+) \s )
        (?:\w+ly \s)? (?!need|feed|speed|indeed|used \s to \b) [a-z]{2,}ed \b
      | \b(?:was | were | had | did(?:n['’]t)? | went | came | took | got | bought | made | said
        | told
        | gave | found | left | met | saw | ate | drank | ran | sat | stood | fell | broke | lost
        | won | sold | paid | spent | sent | wrote | heard | felt | kept | knew | thought | brought
        | began | caught | chose | drew | drove | flew | grew | held | led | lent | rang | rode
        | rose | sang | slept | spoke | stole | swam | taught | threw | understood | woke | wore
        | built | became | forgot | hid | laid | lay | meant | shot | shook | sank | stuck | swept
        | tore | could(?:n['’]t)? | yesterday | ago
        | last \s (?:week|month|year|night|\w+day|spring|summer|autumn|winter)
    )\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Verbs in the past and adverbs of time, which tell of a single event."""

_SENTENCE_END = regex.compile(r"(?<=[.!?;])\s+")


@lru_cache(maxsize=32)  # several steps of a recall ask it of one question
def asks_for_advice(question: str) -> bool:
    """Return True if the question asks what to do, take or buy, not for something remembered.

    A dialogue of several lines is no request: its last line refers to the lines before.
    """
    question = question.strip()
    return "\n" not in question and _REQUEST.search(question) is not None


def times_to_look_up(question: str, windows: Iterable[TimeWindow]) -> tuple[TimeWindow, ...]:
    """Return the times of a request for advice at which memories are worth looking up.

    "On Friday" there may be an appointment. "In May" and "this winter" are times of the plan:
    memories of last May do not help. "After what we ate last week" refers to memories.
    """
    of_the_past = _OF_THE_PAST.search(question) is not None
    return tuple(
        window
        for window in windows
        if of_the_past
        or not (window.yearly or window.span.end - window.span.start > LONGEST_APPOINTMENT)
    )


def states_lasting_fact(text: str) -> bool:
    """Return True if the text states a lasting fact about a person: a need, preference or habit.

    That is a sentence with one of the words in `_STANDING`, or a statement in the first person that
    tells of no past event.
    """
    return _STANDING.search(text) is not None or any(
        _OWN.search(sentence) and not _HAPPENED.search(sentence) and not sentence.endswith("?")
        for sentence in _SENTENCE_END.split(text)
    )
