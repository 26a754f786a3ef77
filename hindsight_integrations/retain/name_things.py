"""Tell from the words beside a name that it is an animal's, a vehicle's, a make's or a firm's.

"Juno is purring", "parked Gerald by the barn" and "Skoda are recalling it" are of no person,
whatever the name is like. What a person may do or have as well tells nothing here.
"""

from __future__ import annotations

import re

from hindsight_integrations.nlp.name_matching import is_given_name

_BEFORE = 40
"""Characters before a name that are read."""

_ANIMAL_AFTER = re.compile(
    r"""
    \s (?:(?:is|was|has\sbeen|just|always|keeps|kept|started)\s){0,2}
      (?: purr(?:s|ed|ing)? | bark(?:s|ed|ing) | mi?[ae]ow(?:s|ed|ing) | neigh(?:s|ed|ing)
        | moult(?:s|ed|ing) | whinn(?:ies|ied|ying) ) \b
  | \s (?:brought|caught|dragged)\s (?:in\s|me\s|us\s)? (?:an?|another|two|three)\s (?:\w+\s)?
      (?: mouse | mice | bird | rat | vole | frog | shrew )s? \b
  | \s (?:has|had|have|got|needs?|needed)\s (?:\w+\s)?
      (?: fleas | kittens | puppies | worming | shoeing | neutering | spaying ) \b
  | ['’]s?\s (?: paws? | claws | whiskers | kennel | leash | litter(?:\stray|\sbox)? | hooves
      | hoof | mane | udders? | fleece | cage | hutch | muzzle | snout )\b
  | \s and\s (?:cleaned|changed)\s (?:his|her|its|the)\s litter\b
    """,
    re.VERBOSE,
)
_ANIMAL_BEFORE = re.compile(
    r"""
    \b (?: (?i:vets?)\s (?:\w+\s)? (?:saw|checked|examined|treated)\s
      | (?i: wormed | spayed | neutered | deloused | saddled | shod | microchipped )\s
      | (?i: (?:mucking|mucked)\sout )\s ) \Z
    """,
    re.VERBOSE,
)
_TAKEN = re.compile(r"\b(?i:took|take|takes|taken|taking|rushed|drove)\s\Z")
_TO_THE_VET = re.compile(r"\s(?:in\s)?(?:back\s)?(?:to|from)\s(?:the\s|our\s)?vet(?:['’]?s)?\b")

_VEHICLE_AFTER = re.compile(
    r"""
    \s (?:failed|passed|flew\sthrough|needs|needed|got|had)\s (?:his|her|its|an|the)\sMOT\b
  | \s (?: misfire[sd] | conked\sout | won['’]?t\sstart | wouldn['’]?t\sstart
      | started\sfirst\stime )\b
    """,
    re.VERBOSE,
)
_VEHICLE_BEFORE = re.compile(
    r"\b(?i:parked|refuel(?:l?ed)?|filled up|jump-?started|towed|reversed|re-?insured"
    r"|resprayed|test-?drove|traded in)\s\Z"
)
_ROOM_BEFORE = re.compile(r"\b[Rr]oom \Z")
_ROOM_AFTER = re.compile(r" (?:meeting |conference )?room\b")
_HOUSE_BEFORE = re.compile(
    r"\b(?i:the|an?|our|this|that) (?:[\w’'-]+ ){0,2}"
    r"(?:place|restaurant|café|cafe|pub|bar|bakery|shop|hotel|hostel|salon|gym|nursery), \Z"
)
_HOUSE_ENDS = re.compile(r"(?:, (?:at|on|in|for|near|by)\b|[.?!)])")
"""After a name beside a house, these end what is said of it: "the Thai place, Basil, at 8"."""
_ONE_OF_MANY = re.compile(r"\b(?:[Aa]n?|[Aa]nother)\s\Z")
_TITLED = re.compile(r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Dame|Herr|Frau)\b")
"""Begins a name of a person, who may be "a Ms Van Wyk"."""
_SEVERAL = re.compile(r"\s(?:are|were|have|aren['’]?t|weren['’]?t|haven['’]?t)\b")
_MAKING = re.compile(
    r",? (?:and )?they (?:make|sell|build|produce|supply|repair|install|import|manufacture)\b"
)
_NO_SUBJECT = re.compile(
    r"(?:,|&|\b(?i:and|or|nor|about|around|at|by|for|from|in|near|of|on|to|via|with))\s\Z"
)
"""Before a name, the verb after it has another subject, or several: "the inn in Lindau asked"."""
_DEALT_WITH = re.compile(r"\b(?i:from|with)\s\Z")
_ACTS = re.compile(
    r"\s(?:(?:have|has|had|just|also|then|still|now)\s)?(?:rang|rung|phoned|called|said|say|says"
    r"|wants?|wanted|quoted|charged?|invoiced|emailed|e-mailed|replied|asked|offered|sent|signed"
    r"|ordered|paid|confirmed|promised|refused?s?|accepted|agreed|hired|refunded)\b"
)
_THEY = re.compile(
    r",? [^.!?;\n]{0,40}?\bthey(?:['’](?:re|ll|ve|d))? "
    r"(?:want|need|said|asked|agreed|will|offered)\b"
)
"""After a name these make it a firm's: "back from Brightwater, they want phase two"."""


def is_no_person(text: str, start: int, end: int) -> bool:
    """Return True if the name `text[start:end]` is an animal's, a vehicle's, a make's or a firm's.

    Args:
        text: the text.
        start: offset of the name.
        end: offset after it.
    """
    first = max(0, start - _BEFORE)
    if _ANIMAL_AFTER.match(text, end) or _ANIMAL_BEFORE.search(text, first, start):
        return True
    if _VEHICLE_AFTER.match(text, end) or _VEHICLE_BEFORE.search(text, first, start):
        return True
    if _MAKING.match(text, end) or _is_a_house(text, start, end):
        return True
    if _TO_THE_VET.match(text, end) and _TAKEN.search(text, first, start):
        return True
    if is_given_name(text[start:end]):
        return False  # "a Tom called", "Anna were there"
    if _ONE_OF_MANY.search(text, first, start) and not _TITLED.match(text, start):
        return True
    return _SEVERAL.match(text, end) is not None and not _NO_SUBJECT.search(text, first, start)


def _is_a_house(text: str, start: int, end: int) -> bool:
    """Return True for the name of a restaurant or the like in apposition to it."""
    if _HOUSE_ENDS.match(text, end) is None:
        return False
    return _HOUSE_BEFORE.search(text, max(0, start - _BEFORE), start) is not None


def is_no_place(text: str, start: int, end: int) -> bool:
    """Return True for a name that does what no place does ("Brightwater rang"), or is a room's.

    Args:
        text: the text.
        start: offset of the name.
        end: offset after it.
    """
    first = max(0, start - _BEFORE)
    if _ROOM_BEFORE.search(text, first, start) or _ROOM_AFTER.match(text, end):
        return True
    if _ACTS.match(text, end):
        return not _NO_SUBJECT.search(text, first, start)
    return _THEY.match(text, end) is not None and bool(_DEALT_WITH.search(text, first, start))
