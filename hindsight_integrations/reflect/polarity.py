"""Whether a sentence speaks well or ill of what it is about: a word list and negation, no more."""

from __future__ import annotations

import re

_GOOD = """
    adore adored advantage advantages agree amazing approve awesome beautiful benefit benefits best
    better bless brilliant bug-free calm cheap clean clear comfortable cool convenient cure cured
    dependable delighted easy easier efficient elegant enjoy enjoyed enjoys excellent fantastic
    fast faster favorite favourite fine flawless fun glad glorious good great happy helpful helps
    ideal impressed improve improved improves improvement kind like liked likes love loved lovely
    loves neat nice outperforms perfect pleasant prefer preferred prefers proud quick recommend
    recommended recommends reliable robust safe satisfied save saves secure simple simpler smooth
    solid splendid stable strong superb support supports supported terrific thrilled trust trusted
    useful valuable win wins wonderful worked works worth
    gut gute guter gutes liebe mag schön super toll zuverlässig aime bien bon bonne génial excelente
    bueno buena encanta gusta mejor
"""
_BAD = """
    afraid angry annoy annoyed annoying annoys avoid awful awkward bad badly boring broke broken
    buggy bugs clumsy complain complained complicated confusing costly crash crashed crashes
    dangerous difficult dirty disagree disappointed disappointing disappoints dislike disliked
    dislikes down dreadful dull error errors expensive fail failed failing fails failure flaky
    frustrated frustrating hard hate hated hates horrible inferior insecure irritating lacking late
    lost mess messy nasty nightmare painful pathetic poor poorly problem problems regret reject
    risky sad slow slower sluggish struggle struggled stupid terrible tiresome tough trouble ugly
    unhappy unreliable unsafe unstable unusable upset useless waste wasted weak worried worry worse
    worst wrong
    schlecht schlechte hasse furchtbar langsam kaputt déteste mauvais mauvaise nul odio malo mala
    peor lento terrible
"""
_SIGN = dict.fromkeys(_GOOD.split(), 1) | dict.fromkeys(_BAD.split(), -1)
_NEGATION = re.compile(
    r"(?:not|no|never|hardly|without|nor|neither|cannot|nicht|kein\w*|nie|pas|jamais|nunca"
    r"|\w+n['’]t)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_REACH = 3
"""Words back that a negation reaches."""


def polarity(sentence: str) -> int:
    """1 if more of its words speak well than ill, -1 if the other way round, else 0."""
    words = [match.group().casefold() for match in _WORD.finditer(sentence)]
    total = 0
    for place, word in enumerate(words):
        sign = _SIGN.get(word, 0)
        if sign:
            before = words[max(0, place - _REACH) : place]
            total += -sign if any(_NEGATION.fullmatch(each) for each in before) else sign
    return (total > 0) - (total < 0)
