"""Decide the kind of a name from the evidence of all its mentions, not from one model's label.

Each mention votes: its own words (a title, "GmbH"), the tables of given names and places, its use
in the sentence ("Lena's wife", "moved to Brno"), and, with the least weight, the model's label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.normalization import entity_norm

_WORDS = word_sets("names")
_TITLES = _WORDS["honorifics"] | _WORDS["ranks"]

SURE = 4
"""Weight of what the name itself says: no use of it in a sentence outweighs that."""
NO_PERSON = "no person"
"""Votes under this name count against "person"."""
_LABELLED = " by its label"
"""Ends the names of the votes of labels: however many, they count as one hint."""
_LISTED = 3
_USED = 2
_HINT = 1
TOLD = 100
"""Weight of what a sentence says that the name is: an animal's is never a person's."""
CERTAIN = 2
"""Weight from which a kind is more than a guess."""

_GREETING = re.compile(
    r"\b(?:hey|hi|hello|dear|thanks|thank you|thx|congrats|congratulations|morning|evening|bye|"
    r"welcome|sorry|hola|bonjour|hallo|happy birthday|get well soon|love you|good luck)[, ]+\Z",
    re.IGNORECASE,
)
_POSSESSED = re.compile(r"(?:['’]s?|(?<=s)['’]) (?:\w+ )??([\w-]+)")
_NEXT = re.compile(r" (?:(?:also|just|never|always|still|really|even|has|had) )?([\w’']+)")
_LAST = re.compile(r"([\w-]+) \Z")
_PREPOSITION = re.compile(
    r"([\w-]+)(?: [\w-]+){0,2}? (in|to|from|at|for|of|with|via|near|through) \Z"
)
_THE = re.compile(r"\b(?:[Tt]he|(dem|vom|beim|der|die|das|le|la|el)) \Z")
_AT = re.compile(r"(?:\bat|@) \Z")
_AND = re.compile(r"\b(?:me|myself|I),? and \Z")
_ENUMERATING = frozenset({", ", " and ", ", and ", " & ", " + ", "/"})
_BEFORE = 48
_VOWELS = "aeiou"

_NOUN_BEFORE = re.compile(r"\b([^\W\d_]+),? (?:(?:is |was )?(?:named|called) )?\Z", re.IGNORECASE)
_OWNER = r"(?:my|our|your|his|her|their|[^\W\d_][\w-]*['’]s?)"
_ANIMAL_BEFORE = re.compile(
    rf"(?:\b{_OWNER} (?:[\w’'-]+ ){{0,2}}?([^\W\d_]+)(?:,? (?:named |called )?|, )"
    r"|\b([^\W\d_]+),? (?:(?:is |was )?(?:named|called) ))\Z",
    re.IGNORECASE,
)
"""What a sentence surely says of a name: "her dog, Oskar", "a parrot called Vincent"."""
_CALLED_AFTER = re.compile(
    r",? (?:(?:who|which|that) )?(?:is|was) (?=(?:a|an|my|our|the)\b)|, | \("
)
_NOUN_PHRASE = re.compile(
    rf"(?:(an?|this|that)|the|{_OWNER}) "
    r"((?:[\w'’-]+ ){0,4}?[\w’'-]+)"
    r"(?=\s*(?:[,.;:!?)–—]|\Z)"
    r"| (?:of|in|from|at|on|with|next|and|not|who|which|that|we|i|he|she|they)\b)",
    re.IGNORECASE,
)
"""What stands beside a name and tells what it is of: "the neighbour's dog"."""
_REACH = 60
"""Characters before a name that are searched for the noun it belongs to."""


def beside_an_animal(text: str, start: int, end: int) -> bool:
    """Return True if what stands beside `text[start:end]` may make it an animal's name.

    "Ben, the neighbour's dog, bit us", "my cat Bella".
    """
    before = _NOUN_BEFORE.search(text, max(0, start - _REACH), start)
    if before and before[1].casefold() in _WORDS["not_persons"]:
        return True
    return _is_animal(_noun_after(text, end))


def _noun_after(text: str, end: int) -> re.Match[str] | None:
    """Return the noun phrase after a name that tells what it is, if there is one."""
    joint = _CALLED_AFTER.match(text, end)
    return _NOUN_PHRASE.match(text, joint.end()) if joint else None


def _is_animal(noun: re.Match[str] | None) -> bool:
    return noun is not None and noun[2].split()[-1].casefold() in _WORDS["not_persons"]


def _is_said_to_be_an_animal(text: str, start: int, end: int) -> bool:
    """Return True if a sentence surely says so: not "the dog Anna found", nor "Ben is a lion"."""
    before = _ANIMAL_BEFORE.search(text, max(0, start - _REACH), start)
    if before and (before[1] or before[2]).casefold() in _WORDS["not_persons"]:
        return True
    after = _noun_after(text, end)
    return after is not None and not after[1] and _is_animal(after)


def _forms(verb: str) -> set[str]:
    """Return the third person and the regular past of a verb, spelled in either way."""
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return {verb[:-1] + "ies", verb[:-1] + "ied"}
    return {verb + "s", verb + "es", verb + "d", verb + "ed", verb + verb[-1] + "ed"}


_PERSON_VERBS = _WORDS["person_verbs"].union(*map(_forms, _WORDS["person_verbs"]))
_PERSON_OBJECT = _WORDS["person_object_verbs"]
_OF_PERSONS_TOO = frozenset({"big", "little", "old", "baby", "great"})
_PLACE_HEADS = _WORDS["name_heads"] & _WORDS["place_words"] - frozenset(("st", "park"))
_AMBIGUOUS = _WORDS["also_words"] | _WORDS["places"]


def is_first_name(word: str) -> bool:
    """Return True for a given name that is neither a word of the language nor a place."""
    return is_given_name(word) and word not in _AMBIGUOUS


def may_be_persons(name: str, kind: str) -> bool:
    """Return True for a person's name, and one that may be: "Amber Stone" alone is of any kind."""
    first, _, rest = name.casefold().partition(" ")
    of_person = bool(rest) and (is_given_name(first) or first in _WORDS["also_words"])
    return kind == "person" or (of_person and kind in ("concept", "organization", "group"))


def of_words(words: Sequence[str], titled: bool) -> Counter[str]:
    """Return the votes of a name's own words, in lower case."""
    first, last, several = words[0], words[-1], len(words) > 1
    if titled or (several and first in _WORDS["kin_titles"]):
        return Counter(person=SURE)
    if several and (kind := _kind_of_noun(first, last)):
        return Counter({kind: SURE})
    if several and last in _WORDS["place_words"]:
        is_surname = last in _WORDS["place_surnames"] and is_first_name(first)
        return Counter(person=_LISTED, place=_LISTED) if is_surname else Counter(place=SURE)
    if any(map(_is_body, words)):
        return Counter(organization=SURE)
    if first in _WORDS["name_heads"] and several and first not in _OF_PERSONS_TOO:
        if first in _PLACE_HEADS:
            return Counter(place=SURE)
        return Counter({NO_PERSON: _USED, "place": int(first in _WORDS["compass_words"])})
    if first in _TITLES and several and is_first_name(last):
        return Counter(person=SURE)
    if is_first_name(first):
        return Counter(person=_LISTED)
    is_place = entity_norm(" ".join(words)) in _WORDS["places"]
    if is_given_name(first):  # "Austin" may be either, and "Paris Hilton" is no place
        is_day = several and first in _WORDS["calendar"]  # "April Fools"
        return Counter(person=0 if is_day else _HINT, place=_HINT if is_place else 0)
    return Counter(place=_USED if is_place else 0)


def _kind_of_noun(first: str, last: str) -> str | None:
    """Return the kind that the common noun in a name of several words tells."""
    if {first, last} & _WORDS["family_words"]:
        return "group"
    if last in _WORDS["event_words"] or first in _WORDS["event_heads"]:
        return "event"
    if last in _WORDS["organization_words"] or first in _WORDS["organization_heads"]:
        return "organization"
    return None


_SHIPS = frozenset({"MS", "MV", "SS", "RMS", "HMS", "USS"})


def is_ship(name: str) -> bool:
    """Return True for "MS Lindach" and "HMS Rodney", not for "Ms Lindach" or "MS LINDACH"."""
    first, _, rest = name.partition(" ")
    return first in _SHIPS and bool(rest) and not name.isupper()


def _is_body(word: str) -> bool:
    """Return True for a compound such as "Mieterverein"."""
    return any(word.endswith(end) and word != end for end in _WORDS["organization_endings"])


def of_use(text: str, start: int, end: int) -> Counter[str]:
    """Return the votes of what stands around `text[start:end]`."""
    before, votes = text[max(0, start - _BEFORE) : start], Counter[str]()
    possessed, following = _POSSESSED.match(text, end), _NEXT.match(text, end)
    last, phrase = _LAST.search(before), _PREPOSITION.search(before)
    if _is_said_to_be_an_animal(text, start, end):
        votes[NO_PERSON] += TOLD
    if possessed and possessed.group(1).casefold() in _WORDS["personal_nouns"]:
        votes["person"] += _USED
    if following and following.group(1) in _PERSON_VERBS:
        votes["person"] += _USED
    if last and last.group(1).casefold() in _PERSON_OBJECT:
        votes["person"] += _USED
    if _GREETING.search(before) or _AND.search(before):
        votes["person"] += _USED
    if article := _THE.search(before):
        votes[NO_PERSON] += _USED if article[1] else SURE  # "the Aurora", but "die Anna"
    if _AT.search(before) and not possessed:
        votes[NO_PERSON] += _USED
    if phrase:
        votes += _of_phrase(phrase.group(1).casefold(), phrase.group(2))
    return votes


def _of_phrase(word: str, preposition: str) -> Counter[str]:
    """Return the votes of a preposition, and of the word it depends on."""
    if word in _WORDS["work_words"] and preposition in ("at", "for", "of", "with"):
        return Counter(organization=_USED)
    if word in _WORDS["motion_words"] and preposition not in ("for", "of", "with"):
        return Counter(place=_USED)
    eaten = preposition == "at" and word in _WORDS["meal_words"]
    return Counter(place=_HINT) if eaten or preposition in ("in", "near") else Counter()


def of_label(kind: str, *, full_name: bool) -> Counter[str]:
    """Return the vote of a model's label: a hint, which decides nothing alone.

    Of the kinds that nothing but a label tells, more are wrong than right, apart from those of
    persons.

    Args:
        kind: the kind that it names; "concept" for no label.
        full_name: True if the name's words are as those of a person's first and last name.
    """
    if kind == "person" and full_name:
        return Counter(person=_USED)
    return Counter() if kind == "concept" else Counter({kind + _LABELLED: _HINT})


def decide(votes: Iterable[Counter[str]]) -> tuple[str, int]:
    """Return the kind with the most votes, and their weight.

    "concept" on a tie and near one, and if nothing but labels or one preposition speaks for a kind:
    models take every second unknown name for a place, and a language or town for a person.
    """
    total: Counter[str] = Counter()
    for vote in votes:
        total.update(vote)
    for labelled in [key for key in total if key.endswith(_LABELLED)]:
        total[labelled.removesuffix(_LABELLED)] += min(total.pop(labelled), _HINT)
    total["person"] -= total.pop(NO_PERSON, 0)
    ranked = [*(+total).most_common(2), ("concept", 0), ("concept", 0)][:2]
    kind, weight = ranked[0]
    against = ranked[1][1]
    doubted = weight == against or (weight - against < _USED <= against)
    return ("concept", 0) if doubted or weight == _HINT else (kind, weight)


def of_neighbours(text: str, names: Sequence[tuple[int, int, Counter[str]]]) -> list[Counter[str]]:
    """Return for each of successive names the votes of those it is enumerated with."""
    votes: list[Counter[str]] = [Counter() for _ in names]
    for index, ((_, end, one), (start, _, other)) in enumerate(pairwise(names)):
        if text[end:start] in _ENUMERATING:
            votes[index]["person"] += _HINT * (other["person"] >= _LISTED)
            votes[index + 1]["person"] += _HINT * (one["person"] >= _LISTED)
    return votes
