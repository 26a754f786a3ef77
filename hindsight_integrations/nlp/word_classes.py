"""Classes of English words and of tags that more than one reader asks for."""

from __future__ import annotations

from hindsight_integrations.nlp.data import word_sets

_NAMES, _CHANGES, _DOUBTS = word_sets("names"), word_sets("changes"), word_sets("doubts")

TITLES = _NAMES["honorifics"] | _NAMES["ranks"]
"""Words that stand before a person's name: "mrs", "captain"."""
AMBIGUOUS_NAMES = _NAMES["also_words"] | _NAMES["places"]
"""Words and places that are given names as well: "rose", "florence"."""
PEOPLE = word_sets("changes", "people")
"""Nouns for people, by what the table says of them."""
PERSONS, GROUPS = PEOPLE["persons"], PEOPLE["groups"]
"""Nouns for one person, and for those who act or are acted for, as "team"."""
OCCUPATIONS = word_sets("changes", "roles")["words"]
"""Nouns for what somebody is: "nurse", "chair"."""
ATTRIBUTES = word_sets("endings", "attributes")["be"]
"""Nouns for what a thing or person has one of: "address", "budget"."""
TIME_WORDS = _CHANGES["time_words"]
NUMBERS = _CHANGES["numbers"]
UNSTATED = word_sets("questions")["unstated"] | _DOUBTS["perhaps"] | _DOUBTS["conditional"]
"""Words under which a sentence states no fact that answers a question."""
HEDGES = _CHANGES["hedges"] | _DOUBTS["perhaps"] | _DOUBTS["hearsay"]
"""Words under which a sentence tells no certain change."""
UNSURE = word_sets("stance")["unsure"].union(*_DOUBTS.values())
"""Words under which a sentence gives no plain judgement."""
FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
"""Penn tags of finite verbs and auxiliaries."""
SUBJECTS = ("nsubj", "nsubjpass")
"""Relations of the subject of a verb."""
