"""Decide the kind of a name by a vote over all its mentions, not by one model's label.

Evidence votes with different weights: the name's own words (a title, "GmbH"), gazetteers of given
names and places, the context in the sentence ("Lena's wife", "moved to Brno"), and, with the least
weight, the model's label. Statistical models label a name differently from sentence to sentence, so
one label decides nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.nlp.word_classes import AMBIGUOUS_NAMES, TITLES
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.retain.name_things import is_no_person, is_no_place

_WORDS = word_sets("names")

NAME_FORM_WEIGHT = 4
"""Weight of a word of the name that determines its kind; above `GAZETTEER_WEIGHT`, so that no
single context outweighs it."""
NO_PERSON = "no person"
NO_PLACE = "no place"
"""Votes under these names count against "person" and "place"."""
_LABELLED = " by its label"
"""Suffix of the keys of votes by labels, which models often get wrong: however many there are, they
count as one hint."""
GAZETTEER_WEIGHT = 3
_CONTEXT_WEIGHT = 2
_HINT_WEIGHT = 1
STATED_WEIGHT = 100
"""Weight of a sentence that states the kind, as that a name is an animal's: decides alone."""
MIN_CERTAIN_WEIGHT = 2
"""Total weight from which a kind counts as certain."""

_GREETING = re.compile(
    r"\b(?:hey|hi|hello|dear|thanks|thank you|thx|congrats|congratulations|morning|evening|bye|"
    r"welcome|sorry|hola|bonjour|hallo|happy birthday|get well soon|love you|good luck)[, ]+\Z",
    re.IGNORECASE,
)
_POSSESSED = re.compile(r"(?:['’]s?|(?<=s)['’]) (?:\w+ )??([\w-]+)")
_WORD_AFTER = re.compile(
    r" (?:(?:both|each|also|just|never|always|still|really|even|has|had) )?([\w’']+)"
)
_WORD_BEFORE = re.compile(r"([\w-]+) \Z")
_PREPOSITION = re.compile(r"((?:[\w-]+ ){1,3})(in|to|from|at|for|of|with|via|near|through) \Z")
_ARTICLE_BEFORE = re.compile(r"\b(?:[Tt]he|(dem|vom|beim|der|die|das|le|la|el)) \Z")
_AT_BEFORE = re.compile(r"(?:\bat|@) \Z")
_SCORE = r"\d{1,2}[-–:]\d{1,2}"
_PLAYS = re.compile(
    rf" (?:beat|beats|thrash(?:es|ed)|hammer(?:s|ed)|drew with|los(?:t|es) to|vs?|{_SCORE})\b"
)
_PLAYED = re.compile(
    r"(?:\b(?:beat|beats|thrash(?:es|ed)|hammer(?:s|ed)|drew with|los(?:t|es) to|vs?|away (?:at|to)"
    rf"|at home to)|{_SCORE}(?: (?:at|to|against|over|vs?))?) \Z"
)
"""Before a name, and the other after it, these make it a team's: "Oxford beat Cambridge"."""
_BEFORE_OBJECTS = frozenset("at by for from in near of to with".split())
"""After these a name is no subject: "Ravi from Contoso wants a call"."""
_OWNED = re.compile(r" (?!and |or |with |is |was )(?:[a-z’'-]+ ){1,3}(?:his|her) ([a-z-]+)")
_GIVEN_OWN = re.compile(r" (?:his|her) [a-z]")
_GOES_ON = re.compile(r" (?:[a-z’'-]+ ){1,8}?(?:[a-z’'-]+)(?:,|;)? (?:and |but |so |as )?s?he\b")
_SPEAKER_AND = re.compile(r"\b(?:me|myself|I),? and \Z")
_ENUMERATING = frozenset({", ", " and ", ", and ", " & ", " + ", "/"})
_CONTEXT_LENGTH = 48
_VOWELS = "aeiou"

_NOUN_BEFORE = re.compile(r"\b([^\W\d_]+),? (?:(?:is |was )?(?:named|called) )?\Z", re.IGNORECASE)
_OWNER = r"(?:my|our|your|his|her|their|[^\W\d_][\w-]*['’]s?)"
_ANIMAL_BEFORE = re.compile(
    rf"(?:\b{_OWNER} (?:[\w’'-]+ ){{0,2}}?(?!(?:is|was|named|called)\b)([^\W\d_]+)"
    r"(?:,? (?:(?:is |was )?(?:named |called ))?|, )"
    r"|\b([^\W\d_]+),? (?:(?:is |was )?(?:named|called) )"
    rf"|\b(?:calls?|called|names?|named|christened) (?:the|{_OWNER}) (?:[\w’'-]+ )?([^\W\d_]+) )\Z",
    re.IGNORECASE,
)
"""Matches only unambiguous statements: "her dog, Oskar", "a parrot called Vincent", "named the
boat Lucy"."""
_APPOSITION_AFTER = re.compile(
    r",? (?:(?:who|which|that) )?(?:is|was) (?=(?:a|an|my|our|the)\b)|, | \("
)
_NOUN_PHRASE = re.compile(
    rf"(?:(an?|this|that)|the|{_OWNER}) "
    r"((?:[\w'’-]+ ){0,4}?[\w’'-]+)"
    r"(?=\s*(?:[,.;:!?)–—]|\Z)"
    r"| (?:of|in|from|at|on|with|next|and|not|who|which|that|we|i|he|she|they)\b)",
    re.IGNORECASE,
)
"""Ends at a boundary, so that its last word is the head noun: "the neighbour's dog"."""
_NOUN_SEARCH_LENGTH = 60
"""Characters before a name that are searched for its noun; more would cost time on long texts."""


def is_beside_animal(text: str, start: int, end: int) -> bool:
    """Return True if a noun beside the name `text[start:end]` may say that it is an animal's.

    "Ben, the neighbour's dog, bit us", "my cat Bella".
    """
    before = _NOUN_BEFORE.search(text, max(0, start - _NOUN_SEARCH_LENGTH), start)
    if before and before[1].casefold() in _WORDS["not_persons"]:
        return True
    return _is_animal(_noun_after(text, end))


def _noun_after(text: str, end: int) -> re.Match[str] | None:
    """Match a noun phrase in apposition after a name: "Ben, the neighbour's dog"."""
    joint = _APPOSITION_AFTER.match(text, end)
    return _NOUN_PHRASE.match(text, joint.end()) if joint else None


def _is_animal(noun: re.Match[str] | None) -> bool:
    return noun is not None and noun[2].split()[-1].casefold() in _WORDS["not_persons"]


def _is_stated_animal(text: str, start: int, end: int) -> bool:
    """Return True if the text states unambiguously that a name is an animal's.

    "The dog Anna found" and "Ben is a lion" may be about a person.
    """
    before = _ANIMAL_BEFORE.search(text, max(0, start - _NOUN_SEARCH_LENGTH), start)
    if before and (before[1] or before[2] or before[3]).casefold() in _WORDS["not_persons"]:
        return True
    after = _noun_after(text, end)
    return after is not None and not after[1] and _is_animal(after)


def _inflected_forms(verb: str) -> set[str]:
    """Return possible spellings of the third person and the regular past of a verb."""
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return {verb[:-1] + "ies", verb[:-1] + "ied"}
    return {verb + "s", verb + "es", verb + "d", verb + "ed", verb + verb[-1] + "ed"}


PERSON_VERBS = _WORDS["person_verbs"].union(*map(_inflected_forms, _WORDS["person_verbs"]))
_PERSON_OBJECT_VERBS = _WORDS["person_object_verbs"]
_DEALING_VERBS = _WORDS["dealing_verbs"].union(*map(_inflected_forms, _WORDS["dealing_verbs"]))
_AMBIGUOUS_HEADS = frozenset({"big", "little", "old", "baby", "great"})
PLACE_HEADS = _WORDS["name_heads"] & _WORDS["place_words"] - frozenset(("st", "park"))


def is_first_name(word: str) -> bool:
    """Return True for a given name that is neither an ordinary word nor a place."""
    return is_given_name(word) and word not in AMBIGUOUS_NAMES


def may_be_persons(name: str, kind: str) -> bool:
    """Return True if a name of this kind may be a person's: "Amber Stone" may be of any kind."""
    first, _, rest = name.casefold().partition(" ")
    of_person = bool(rest) and (is_given_name(first) or first in _WORDS["also_words"])
    return kind == "person" or (of_person and kind in ("concept", "organization", "group"))


def votes_of_words(words: Sequence[str], titled: bool) -> Counter[str]:
    """Return the votes of the words of a name, given in lower case."""
    first, last, several = words[0], words[-1], len(words) > 1
    if titled or (several and first in _WORDS["kin_titles"]):
        return Counter(person=NAME_FORM_WEIGHT)
    if several and (kind := _kind_of_noun(first, last)):
        return Counter({kind: NAME_FORM_WEIGHT})
    if several and last in _WORDS["place_words"]:
        is_surname = last in _WORDS["place_surnames"] and is_first_name(first)
        return (
            Counter(person=GAZETTEER_WEIGHT, place=GAZETTEER_WEIGHT)
            if is_surname
            else Counter(place=NAME_FORM_WEIGHT)
        )
    if any(map(_is_organization_compound, words)):
        return Counter(organization=NAME_FORM_WEIGHT)
    if first in _WORDS["name_heads"] and several and first not in _AMBIGUOUS_HEADS:
        if first in PLACE_HEADS:
            return Counter(place=NAME_FORM_WEIGHT)
        in_compass = int(first in _WORDS["compass_words"])
        return Counter({NO_PERSON: _CONTEXT_WEIGHT, "place": in_compass})
    if first in TITLES and several and is_first_name(last):
        return Counter(person=NAME_FORM_WEIGHT)
    if is_first_name(first):
        return Counter(person=GAZETTEER_WEIGHT)
    is_place = entity_norm(" ".join(words)) in _WORDS["places"]
    if is_given_name(first):  # "Austin" may be either, and "Paris Hilton" is no place
        is_day = several and first in _WORDS["calendar"]  # "April Fools"
        person, place = 0 if is_day else _HINT_WEIGHT, _HINT_WEIGHT if is_place else 0
        return Counter(person=person, place=place)
    return Counter(place=_CONTEXT_WEIGHT if is_place else 0)


def _kind_of_noun(first: str, last: str) -> str | None:
    """Return the kind that a common noun in a name of several words tells."""
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


def _is_organization_compound(word: str) -> bool:
    """Return True for a German compound with the ending of an organisation: "Mieterverein"."""
    return any(word.endswith(end) and word != end for end in _WORDS["organization_endings"])


def votes_of_context(text: str, start: int, end: int) -> Counter[str]:
    """Return the votes of the words around the name `text[start:end]`."""
    before, votes = text[max(0, start - _CONTEXT_LENGTH) : start], Counter[str]()
    possessed, after = _POSSESSED.match(text, end), _WORD_AFTER.match(text, end)
    word_before, phrase = _WORD_BEFORE.search(before), _PREPOSITION.search(before)
    if _is_stated_animal(text, start, end):
        votes[NO_PERSON] += STATED_WEIGHT
    if possessed and possessed.group(1).casefold() in _WORDS["personal_nouns"]:
        votes["person"] += _CONTEXT_WEIGHT
    votes["person"] += _weight_of_verbs(
        text, end, word_before[1].casefold() if word_before else "", after[1] if after else ""
    )
    if _GREETING.search(before) or _SPEAKER_AND.search(before):
        votes["person"] += _CONTEXT_WEIGHT
    if article := _ARTICLE_BEFORE.search(before):
        # "the Aurora" is no person, but "die Anna" may be one.
        votes[NO_PERSON] += _CONTEXT_WEIGHT if article[1] else NAME_FORM_WEIGHT
    if _PLAYS.match(text, end) or _PLAYED.search(before):
        votes[NO_PLACE] += NAME_FORM_WEIGHT
    if _AT_BEFORE.search(before) and not possessed:
        votes[NO_PERSON] += _CONTEXT_WEIGHT
    votes += _votes_of_things(text, start, end)
    if phrase:
        votes += _votes_of_phrase(phrase.group(1).split(), phrase.group(2))
    return votes


def _votes_of_things(text: str, start: int, end: int) -> Counter[str]:
    """Return the votes against a person and a place of what the name does or undergoes."""
    return Counter(
        {
            NO_PERSON: GAZETTEER_WEIGHT * is_no_person(text, start, end),
            NO_PLACE: _CONTEXT_WEIGHT * is_no_place(text, start, end),
        }
    )


def _weight_of_verbs(text: str, end: int, before: str, after: str) -> int:
    """Return the weight for a person of the verbs around a name, and of the pronouns after it.

    Args:
        text: the text.
        end: the end of the name in it.
        before: the word before the name, in lower case.
        after: the word after it.
    """
    weight = 0
    if before in _PERSON_OBJECT_VERBS:
        weight += _weight_of_verb(before)
        weight += _HINT_WEIGHT * (_GIVEN_OWN.match(text, end) is not None)
    if before not in _BEFORE_OBJECTS:
        weight += _weight_of_verb(after) if after in PERSON_VERBS else 0
        weight += _weight_of_pronouns(text, end)
    return weight


def _weight_of_verb(verb: str) -> int:
    return _HINT_WEIGHT if verb in _DEALING_VERBS else _CONTEXT_WEIGHT


def _weight_of_pronouns(text: str, end: int) -> int:
    """Return the weight of pronouns after a name that may be the subject: "called his sister".

    Each is a hint only: "Barclays closed her account, she was furious". Kin is a person's.
    """
    weight = 0
    if owned := _OWNED.match(text, end):
        weight += _CONTEXT_WEIGHT if owned[1] in _WORDS["kin"] else _HINT_WEIGHT
    return weight + _HINT_WEIGHT * (_GOES_ON.match(text, end) is not None)


def _votes_of_phrase(spelled: Sequence[str], preposition: str) -> Counter[str]:
    """Return the votes of a preposition before the name and the words before it: "moved to"."""
    words = [word.casefold() for word in spelled]
    if preposition == "in" and not _WORDS["written"].isdisjoint(words):
        return Counter({NO_PLACE: _CONTEXT_WEIGHT})  # "write the notes in Notion"
    for index in reversed(range(len(words))):
        word = words[index]
        if word in _WORDS["work_words"] and preposition in ("at", "for", "of", "with"):
            return Counter(organization=_CONTEXT_WEIGHT)
        moves = word in _WORDS["motion_words"] and preposition not in ("for", "of", "with")
        if moves and (word not in _GOING or _goes_itself(spelled, index)):
            return Counter(place=_CONTEXT_WEIGHT)
    eaten = preposition == "at" and words[0] in _WORDS["meal_words"]
    is_hint = eaten or preposition in ("in", "near")
    return Counter(place=_HINT_WEIGHT) if is_hint else Counter()


_GOING = _WORDS["going_words"]
_BACK = frozenset({"back", "home"})
_CHANGING = frozenset({"back", "move", "moved", "moving"})
"""Words of movement that are also used of a change of software: "we moved to Grafana"."""


def _goes_itself(spelled: Sequence[str], index: int) -> bool:
    """Return True if somebody goes: not "the deposit went to" and "moved the agents to".

    Whoever is not named ("Back to Grafana"), and a team ("we moved to"), may go over to a program.
    """
    begins = index
    while begins and spelled[begins] in _BACK and spelled[begins - 1] in _GOING:
        begins -= 1
    before = spelled[begins - 1] if begins else "we"
    from_place = any(word.casefold() in _WORDS["places"] for word in spelled[index + 1 :])
    if before.casefold() == "we" and spelled[index].casefold() in _CHANGING and not from_place:
        return False
    after = spelled[index + 1 :]
    goes_to = _BACK.issuperset(after) or after[:1] == ["from"]
    return goes_to and (
        before[0].isupper() or before in _WORDS["pronouns"] or before in ("and", "then")
    )


def vote_of_label(kind: str, *, full_name: bool) -> Counter[str]:
    """Return the vote of a model's label: a hint, which decides nothing alone.

    Kinds that nothing but a label supports are wrong more often than right, except for persons
    with a full name.

    Args:
        kind: the kind that the label names; "concept" for no label.
        full_name: True if the words have the form of a first and a last name.
    """
    if kind == "person" and full_name:
        return Counter(person=_CONTEXT_WEIGHT)
    return Counter() if kind == "concept" else Counter({kind + _LABELLED: _HINT_WEIGHT})


def decide(votes: Iterable[Counter[str]]) -> tuple[str, int]:
    """Return the kind with the highest total weight, and that weight.

    The kind is "concept", which stands for unknown, on a tie, near one, and if the only evidence is
    one hint (labels, or a preposition): models label every second unknown name as a place, and
    languages and towns as persons.
    """
    total: Counter[str] = Counter()
    for vote in votes:
        total.update(vote)
    for labelled in [key for key in total if key.endswith(_LABELLED)]:
        total[labelled.removesuffix(_LABELLED)] += min(total.pop(labelled), _HINT_WEIGHT)
    total["person"] -= total.pop(NO_PERSON, 0)
    total["place"] -= total.pop(NO_PLACE, 0)
    ranked = [*(+total).most_common(2), ("concept", 0), ("concept", 0)][:2]
    kind, weight = ranked[0]
    against = ranked[1][1]
    doubted = weight == against or (weight - against < _CONTEXT_WEIGHT <= against)
    return ("concept", 0) if doubted or weight == _HINT_WEIGHT else (kind, weight)


def votes_of_neighbours(
    text: str, names: Sequence[tuple[int, int, Counter[str]]]
) -> list[Counter[str]]:
    """Return for each of successive names the votes of neighbours in an enumeration.

    In "Ana, Bo and Cy" a name that is a person's is a hint that the next one is too.
    """
    votes: list[Counter[str]] = [Counter() for _ in names]
    for index, ((_, end, left_votes), (start, _, right_votes)) in enumerate(pairwise(names)):
        if text[end:start] in _ENUMERATING:
            votes[index]["person"] += _HINT_WEIGHT * (right_votes["person"] >= GAZETTEER_WEIGHT)
            votes[index + 1]["person"] += _HINT_WEIGHT * (left_votes["person"] >= GAZETTEER_WEIGHT)
    return votes
