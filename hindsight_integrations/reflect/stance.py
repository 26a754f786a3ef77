"""Judgements in sentences: which plainly praise or blame a thing, read from their grammar.

A sentence judges a topic if the topic is what its predicate praises or blames, the predicate is
the speaker's own, and nothing makes it doubtful: no question, condition, comparison, quotation,
contrast, or word of the opposite sign. Whatever is less plain judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.sentences import Sentence, parse
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.nlp.time import find_times
from hindsight_integrations.reflect.other_languages import other_language_sign
from hindsight_integrations.reflect.plain_wording import plain_wording
from hindsight_integrations.reflect.stance_phrases import (
    AGAINST,
    BLAME,
    PRAISE,
    polarity,
    sign_of_adverb,
    sign_of_idiom,
    sign_of_phrase,
)

_WORDS = word_sets("stance")
_NO_STATEMENT = re.compile(
    r"[?\"“”«»„<>…🙄🙃]|(?:^|\s)['‘]|\.\.|\s/s\b|\bnot[.!]*$|^(?:yeah|oh|wow|sure)\b", re.IGNORECASE
)
_NO_TOPIC = frozenset(
    "any anybody anyone anything every everybody everyone everything nobody nothing none one "
    "some somebody someone something thing things stuff it this that these those".split()
)
"""Words that name nothing which could be judged."""
_TURNED = re.compile(
    r"\b(?:never|nothing|nobody|hardly|rarely|seldom|scarcely)\b.*\b(?:so|such|more|as|less)\b",
    re.IGNORECASE,
)
"""Praise or blame that its form turns round: "I've never been so pleased"."""
_FIRST = frozenset({"i", "we"})
_SAYS = word_sets("changes")["reporting"] | frozenset("say tell think believe hear".split())
_BESTS = _WORDS["bests"] | frozenset({"good", "bad", "dumb"})
_EVERYBODY = frozenset({"everybody", "everyone"})
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_PLURAL = frozenset({"NNS", "NNPS"})
_TURNS_OUT = ("turn", "out")
_KEEPS = frozenset({"keep", "continue"})
_STREETS = word_sets("kinds", "nouns")["street"]
_ABSOLUTE = frozenset("absolute complete proper real total true utter".split())
_AGAIN = frozenset("again always constantly often regularly repeatedly".split())
_WOULD = frozenset({"would", "'d", "can", "ca"})
_DENIABLE = frozenset({"enjoy", "like", "recommend"})
_BEARS = frozenset({"abide", "bear", "stand"})
_LIKED_WITHOUT_SUBJECT = frozenset({"adore", "hate", "loathe", "love"})
_TENSE = (
    "aux",
    "auxpass",
    "punct",
    "cc",
    "conj",
    "nsubj",
    "nsubjpass",
    "csubj",
    "neg",
    "det",
    "amod",
)


class Stance(NamedTuple):
    """A judgement of a topic: 1 for praise, -1 for blame; and whether the topic is plural."""

    sign: int
    plural: bool


class _Read(NamedTuple):
    """A sign (1 or -1), and the words that it was read from."""

    sign: int
    words: frozenset[int] = frozenset()


_NONE = _Read(0)


def judgement(text: str, topic: str) -> Stance | None:
    """Return how a sentence judges the topic; None if it does not, or if it is uncertain."""
    text = plain_wording(text)
    if _NO_STATEMENT.search(text) or _TURNED.search(text):
        return None
    if _NO_TOPIC.issuperset(re.findall(r"\w+", topic.casefold())):
        return None
    if phrased := sign_of_phrase(text, topic):
        return Stance(phrased, parse(topic).words[-1].tag in _PLURAL)
    if (foreign := other_language_sign(text, topic)) is not None:
        return Stance(foreign, plural=False)
    sentence = parse(text)
    if _is_doubtful(sentence):
        return None
    judged = _judged(sentence, topic)
    if judged is None and (cut := _first_clause(sentence)):
        judged = _judged(parse(plain_wording(text[:cut].rstrip(" ,;:-–—"))), topic)
        rest = [word for word in sentence.words if word.start >= cut]
        if judged is not None and _speaks_against(judged.sign, rest):
            return None
    return judged


def _first_clause(sentence: Sentence) -> int:
    """Return the offset after the first of two juxtaposed main clauses; 0 if there is one.

    A parser makes it the complement of the second: "The app crashes, I hate it".
    """
    words = sentence.words
    marks = [i for i, word in enumerate(words) if word.text in (":", ";", "–", "—")]
    if marks:
        return words[marks[0]].start
    for index, word in enumerate(words):
        second = word.head
        later = words[second].head == second and second > index
        if word.dep != "ccomp" or not later or sentence.children(index, "mark"):
            continue
        opens = min([*sentence.children(second, "nsubj", "nsubjpass"), second])
        opens = min(sentence.subtree(opens)) if opens != second else second
        says = words[second].lemma in _SAYS
        if opens > index and words[opens - 1].text in (",", "-") and not says:
            return words[opens].start
    return 0


def _judged(sentence: Sentence, topic: str) -> Stance | None:
    for noun in _topics(sentence, frozenset(lexemes(topic))):
        read = _read(sentence, noun)
        if read.sign and not _opposed(sentence, noun, read):
            return Stance(read.sign, sentence.words[noun].tag in _PLURAL)
    return None


def _is_doubtful(sentence: Sentence) -> bool:
    """Return True for a question, a comparison, a hedge, or reported speech."""
    words = sentence.words
    spoken = [word.text.casefold() for word in words]
    for index in range(1, len(spoken)):
        if spoken[index - 1 : index + 1] == ["anything", "but"]:
            spoken[index] = ""
            words = (*words[:index], *words[index + 1 :])
            break
    if not words or not (_WORDS["unsure"] | _WORDS["others"]).isdisjoint(
        {*spoken, *(word.lemma for word in words if word.tag != "NNS")}  # "did wonders"
    ):
        return True
    compares = spoken.count("as") > 1 or any(
        word.tag in ("JJR", "RBR") and not _is_of_next_clause(sentence, index)
        for index, word in enumerate(sentence.words)
    )
    denies = (
        [word.dep for word in words[:2]] == ["aux", "neg"] and words[2:3] and words[2].tag == "VB"
    )
    asks = words[0].tag in ("WP", "WDT", "WRB", "MD") or words[0].lemma in ("be", "do", "have")
    return compares or (asks and not denies) or ("used", "to") in pairwise(spoken)


def _is_of_next_clause(sentence: Sentence, index: int) -> bool:
    """Return True in a clause that is joined to the first, with a subject of its own."""
    return any(
        sentence.words[i].dep == "conj" and sentence.children(i, "nsubj", "nsubjpass")
        for i in sentence.upward(index)
    )


def _topics(sentence: Sentence, wanted: frozenset[str]) -> Iterator[int]:
    """Yield the nouns that stand for the topic, with all its words and no distinguishing others."""
    for index, word in enumerate(sentence.words):
        if word.dep in ("compound", "nmod", "amod", "poss") or not lexemes(word.text):
            continue
        phrase = [i for i in sentence.subtree(index) if i <= index]
        terms = set(lexemes(sentence.phrase(phrase)))
        others = (sentence.words[i] for i in phrase if not wanted >= set(_terms(sentence.words[i])))
        if any(map(_tells_apart, others)) or _is_one_of_several(sentence, index, wanted):
            continue
        if wanted <= terms and wanted & set(_terms(word)):
            yield index


def _is_one_of_several(sentence: Sentence, noun: int, wanted: frozenset[str]) -> bool:
    """Return True for a special case: "hotel" of "the hotel in Nice", "cold coffee"."""
    for child in sentence.children(noun, "amod", "prep", "relcl", "acl"):
        word, below = sentence.words[child], sentence.subtree(child)
        if wanted >= set(lexemes(sentence.phrase(below))):
            continue
        if word.dep == "amod":
            if not (_sign_of_word(word) or word.lower in _WORDS["describes"]):
                return True
        elif child > noun and not (word.dep == "prep" and _dates(sentence, child)):
            if len(wanted) > 1 and sentence.words[below[-1]].lemma in _STREETS:
                continue  # "the Thai place on King Street" is hardly one of several
            return True
    return False


def _terms(word: Word) -> list[str]:
    return lexemes(word.text)


def _tells_apart(word: Word) -> bool:
    """Return True if a modifier makes the noun another thing."""
    names = word.dep in ("compound", "nmod", "poss", "nummod", "pobj", "appos", "relcl", "acl")
    return names or word.text.casefold() in _WORDS["another"]


def _read(sentence: Sentence, noun: int) -> _Read:
    """Read the judgement along the path from the topic to the root."""
    word, head = sentence.words[noun], sentence.words[noun].head
    if any(
        child.text.casefold() in ("his", "her", "their", "your", "no", "any")
        for child in sentence.dependents(noun)
    ):
        return _NONE
    if word.dep == "appos" and head == noun - 1:  # "our midwife Consolata"
        word, head = sentence.words[head], sentence.words[head].head
    if _is_use(sentence, noun):  # "configuring Webpack"
        word, head = sentence.words[head], sentence.words[head].head
        judged = _is_own(sentence, head) and sentence.children(head, "attr")
        return _of_subject(sentence, head) if judged else _NONE
    if word.dep in ("nsubj", "nsubjpass") and _is_own(sentence, head):
        return _of_subjects_verbs(sentence, head)
    if word.dep == "dobj" and _is_own(sentence, head):
        return _of_object(sentence, head)
    if word.dep == "pobj" and sentence.words[head].lemma in _WORDS["about"]:
        return _of_mood(sentence, head)
    if word.dep == "appos" and sentence.words[head].head == head:
        return _of_superlative(sentence, head)
    return _NONE


def _is_use(sentence: Sentence, thing: int) -> bool:
    """Return True for the object of a subject that says how it is used: "wearing the boots"."""
    verb = sentence.head(thing)
    used = sentence.words[thing].dep == "dobj" and verb.lemma in _WORDS["using"]
    return used and verb.tag == "VBG" and verb.dep in ("csubj", "nsubj")


def _of_superlative(sentence: Sentence, noun: int) -> _Read:
    """Read a superlative without verb: "Best purchase of the year, those headphones"."""
    bests = [i for i in sentence.children(noun, "amod") if sentence.words[i].lemma in _BESTS]
    if len(bests) != 1 or sentence.words[noun].lemma not in _WORDS["bought"]:
        return _NONE
    ill = sentence.words[bests[0]].lemma in ("bad", "worst", "dumb", "dumbest")
    return _Read(-1 if ill else 1, frozenset(bests))


def _is_own(sentence: Sentence, verb: int) -> bool:
    """Return True for a clause that the speaker asserts, no reported one."""
    while True:
        word = sentence.words[verb]
        if word.head == verb:
            return True
        if word.dep in ("ccomp", "xcomp"):
            return _holds(sentence, word.head)
        if word.dep != "conj":
            return False
        verb = word.head


def _holds(sentence: Sentence, verb: int) -> bool:
    """Return True for a present belief, "I think"; not if denied or past ("I thought")."""
    word = sentence.words[verb]
    present = word.tag in ("VBP", "VB") or word.lemma == "find"
    modal = any(child.tag == "MD" for child in sentence.dependents(verb))
    return (
        word.lemma in _WORDS["holds"]
        and present
        and not modal
        and not sentence.is_denied(verb)
        and _by_speaker(sentence, verb)
        and _is_own(sentence, verb)
    )


def _by_speaker(sentence: Sentence, verb: int) -> bool:
    """Return True if the subject is "I" or "we"."""
    while not (subjects := sentence.children(verb, "nsubj", "nsubjpass")):
        word = sentence.words[verb]
        if word.dep != "conj" or word.head == verb:
            return False
        verb = word.head
    return all(sentence.words[i].lemma in _FIRST for i in subjects)


def _plain(sentence: Sentence, index: int, *further: str, sign: int = 0) -> bool:
    """Return True if only intensifiers and dates depend on a word, or adverbs of its own sign."""
    return all(
        (word.dep in (*_TENSE, *further) and word.tag != "MD")
        or (word.dep in ("advmod", "npadvmod", "prt") and _strengthens(sentence, child))
        or (word.dep == "advmod" and sign and sign_of_adverb(word.lower) == sign)
        or (word.dep == "prep" and (_dates(sentence, child) or _is_for_speaker(sentence, child)))
        for child in sentence.children(index)
        for word in (sentence.words[child],)
    )


def _is_for_speaker(sentence: Sentence, preposition: int) -> bool:
    """Return True for the "for us" of "is a disaster for us"."""
    things = sentence.children(preposition, "pobj")
    own = all(sentence.words[i].lemma in _FIRST for i in things)
    return sentence.words[preposition].lemma == "for" and bool(things) and own


def _strengthens(sentence: Sentence, index: int) -> bool:
    word = sentence.words[index]
    return (
        word.text.casefold() in _WORDS["strengthens"]
        or word.lemma == "never"
        or sentence.phrase((index, min(index + 1, len(sentence.words) - 1))) == "at all"
        or sentence.phrase((max(index - 1, 0), index)) == "at all"
        or word.is_time
    )


def _dates(sentence: Sentence, preposition: int) -> bool:
    """Return True for a phrase that dates a state: "in 2020"; not for recurring "on Mondays"."""
    nouns = sentence.children(preposition, "pobj")
    now = sentence.head(preposition).tag in ("VBZ", "VBP")
    times = [sentence.words[i].lower for i in nouns]
    repeats = any(
        time.removesuffix("s") in _WORDS["repeated"] and (now or time.endswith("s"))
        for time in times
    )
    return (
        bool(nouns)
        and not repeats
        and all(
            sentence.words[i].is_time or find_times(sentence.phrase(sentence.subtree(i)), _ANY_DAY)
            for i in nouns
        )
    )


def _of_subjects_verbs(sentence: Sentence, verb: int) -> _Read:
    """Read a predicate; for one that fails, the next: "fails every other day and drives us mad"."""
    first = _of_subject(sentence, verb)
    if first.sign or sentence.words[verb].lemma not in _WORDS["fails"] | _WORDS["fails_again"]:
        return first
    others = (
        i for i in sentence.children(verb, "conj") if not sentence.children(i, "nsubj", "aux")
    )
    return next((read for i in others if (read := _of_subject(sentence, i)).sign < 0), _NONE)


def _of_subject(sentence: Sentence, predicate: int) -> _Read:
    """Read a predicate: "the topic is great", "works well", "keeps crashing"."""
    word = sentence.words[predicate]
    if (foul := _is_foul(sentence, predicate)) is not None:
        return _Read(-1, frozenset({predicate, foul, *sentence.children(predicate, "prep")}))
    if word.tag == "VBG" and word.text in _WORDS["blame"] | _WORDS["beside_blame"]:
        return _all_signed(sentence, predicate, [predicate])  # "is freezing and shabby"
    if word.lemma in _WORDS["is"] or (word.lemma, _particle(sentence, predicate)) == _TURNS_OUT:
        return _of_complements(sentence, predicate)
    if word.text in _WORDS["made"] and (manner := _manner(sentence, predicate)):
        passive = sentence.children(predicate, "auxpass")
        return _Read(manner, frozenset({predicate})) if passive else _NONE
    if word.tag == "JJ":  # "we find the topic useless"
        return _all_signed(sentence, predicate, [predicate])
    return _of_deed(sentence, predicate)


def _is_foul(sentence: Sentence, verb: int) -> int | None:
    """Return the noun of a comparison of taste or smell: "tastes like dishwater"."""
    if sentence.words[verb].lemma not in ("taste", "smell", "look", "feel", "reek", "stink"):
        return None
    if not _plain(sentence, verb, "prep") or sentence.children(verb, "neg"):
        return None
    return next(
        (
            noun
            for prep in sentence.children(verb, "prep")
            if sentence.words[prep].lemma in ("like", "of")
            for noun in sentence.children(prep, "pobj")
            if sentence.words[noun].lemma in _WORDS["foul"]
        ),
        None,
    )


def _manner(sentence: Sentence, made: int) -> int:
    """Return the sign of the only adverb of a participle, "beautifully furnished"; 0 for none."""
    adverbs = [word.text.casefold() for word in sentence.dependents(made, "advmod")]
    signs = {polarity(word, "well", "badly") for word in adverbs}
    other = sentence.children(made, "neg", "prt")
    return signs.pop() if len(signs) == 1 and not other else 0


def _of_complements(sentence: Sentence, verb: int) -> _Read:
    complements = sentence.children(verb, "acomp", "attr", "oprd")
    turns = ("prt",) if sentence.words[verb].lemma == "turn" else ()
    if not 0 < len(complements) < 3 or not _plain(sentence, verb, "acomp", "attr", "oprd", *turns):
        return _NONE
    return _all_signed(sentence, verb, complements)


def _all_signed(sentence: Sentence, verb: int, complements: Sequence[int]) -> _Read:
    """Return the sign that all coordinated complements share."""
    every = list(complements)
    for index in every:
        every += sentence.children(index, "conj")
        every += sentence.children(index, "amod") if sentence.words[index].tag == "JJ" else []
    words = sentence.words
    if words[every[0]].text.casefold() == "anything":
        sign = _sign_of_complement(sentence, every[0], denied=sentence.is_denied(verb))
        return _Read(sign, frozenset(range(every[0], every[0] + 3)))  # "anything but reliable"
    every = [
        i
        for i in every
        if not words[i].is_verb or i in complements or words[i].text in _WORDS["made"]
    ]
    denied = sentence.is_denied(verb)
    signs = {_sign_of_complement(sentence, index, denied=denied) for index in every}
    if len(signs) == 2 and 0 in signs and not denied:
        signs.remove(0)
        sign = 1 if 1 in signs else -1
        neutral = [words[i] for i in every if not _sign_of_complement(sentence, i, denied=False)]
        if _speaks_against(sign, neutral) or any(_is_beside(-sign, word) for word in neutral):
            return _NONE
    return _Read(signs.pop(), frozenset(every)) if len(signs) == 1 else _NONE


def _is_beside(sign: int, word: Word) -> bool:
    """Return True for a word that may accompany praise, or blame: "expensive"."""
    return word.text.casefold() in _WORDS["beside_praise" if sign > 0 else "beside_blame"]


def _sign_of_complement(sentence: Sentence, index: int, *, denied: bool) -> int:
    text = sentence.words[index].text.casefold()
    if text == "anything":
        return 0 if denied else _sign_of_opposite(sentence, index)
    if text in _WORDS["made"] and not denied:
        return _manner(sentence, index)
    if text == "worth":
        return _sign_of_worth(sentence, index) * (-1 if denied else 1)
    bare = polarity(text, "praise", "blame") and not sentence.children(index, "det", "poss")
    if sentence.words[index].is_noun and not bare:  # a parser may take "turned out tasty" for one
        return 0 if denied else _sign_of_noun(sentence, index)
    if sentence.words[index].tag == "JJS" and not denied:
        return _sign_of_best(sentence, index)
    sign = polarity(text, "praise", "blame")
    to_do = sentence.children(index, "xcomp")
    towards = ("prep",) if _is_towards(sentence, index) else ()
    if (
        not sign
        or not _plain(sentence, index, "xcomp", "amod", *towards, sign=sign)
        or (to_do and text in ("good", "great"))
    ):
        return 0
    degrees = [word.text.casefold() for word in sentence.dependents(index, "advmod")]
    if sign > 0 and "too" in degrees:
        return 0
    if not denied:
        return sign
    if sign < 0:  # "not bad at all"
        after = " ".join(word.text.casefold() for word in sentence.words[index + 1 : index + 3])
        return 1 if after == "at all" else 0
    return -1 if text in _WORDS["denied_praise"] and not degrees else 0


def _is_towards(sentence: Sentence, adjective: int) -> bool:
    """Return True for an adjective with a target: "gentle with beginners", "rude to guests"."""
    preps = sentence.children(adjective, "prep")
    to = {sentence.words[i].lemma for i in preps}
    broad = sentence.words[adjective].text.casefold() in ("good", "great", "bad", "nice")
    return bool(preps) and to <= {"with", "to", "towards", "toward"} and not broad


def _sign_of_worth(sentence: Sentence, index: int) -> int:
    """Return 1 for praise by worth: "worth every penny", "worth the money"."""
    nouns = sentence.children(index, "npadvmod", "dobj", "pobj", "xcomp", "prep")
    return int(any(sentence.words[i].lemma in _WORDS["worth"] for i in nouns))


def _sign_of_best(sentence: Sentence, index: int) -> int:
    """Return the sign of a superlative with a clause: "the best I have ever owned"."""
    word = sentence.words[index]
    ever = any(each.lemma == "ever" for each in sentence.words[index:])
    ends = {word.lemma, word.text.casefold()}
    return polarity("worst" if ends & {"bad", "worst"} else "best", "bests", "blame") if ever else 0


def _sign_of_opposite(sentence: Sentence, index: int) -> int:
    """Return the sign of a negated adjective: "anything but reliable"."""
    words = [word.text.casefold() for word in sentence.words[index + 1 : index + 3]]
    if len(words) < 2 or words[0] != "but":
        return 0
    return -polarity(words[1], "praise", "blame")


def _sign_of_noun(sentence: Sentence, index: int) -> int:
    """Return the sign of a predicate noun: "a joy", "a great tool"; 0 for "a tool for spies"."""
    word = sentence.words[index]
    own = polarity(word.lemma, "praise_nouns", "blame_nouns") or polarity(
        word.lower, "praise_nouns", "blame_nouns"
    )
    if word.lemma in _WORDS["stars"]:
        own = int(any(child.lower in _ABSOLUTE for child in sentence.dependents(index, "amod")))
    further = ("relcl", "acl", "compound") if own else ("compound",)
    wasted = word.lemma in ("waste", "heap", "pile", "load", "piece", "masterpiece", "marvel")
    preps = sentence.children(index, "prep")
    inside = [i for prep in preps for i in sentence.children(prep, "pobj")]
    amods = sentence.children(index, "amod")
    superlative = any(sentence.words[i].tag == "JJS" for i in amods)
    if wasted and not own:
        own = max((_sign_of_noun(sentence, i) for i in inside), key=abs, default=0)
        wasted = own < 0
    signs = {own} | {_sign_of_word(sentence.words[i]) for i in amods}
    if {sentence.words[i].lemma for i in preps} == {"with"}:
        given = {_sign_of_word(child) for i in inside for child in sentence.dependents(i, "amod")}
        wasted = wasted or bool(given - {0})
        signs |= given
    if superlative and {sentence.words[i].lemma for i in preps} <= {"of", "in"}:
        further, wasted = (*further, "relcl"), True
    signs.discard(0)
    plain = _plain(sentence, index, *further, *(("prep",) if wasted else ()))
    denied = any(child.lemma == "no" for child in sentence.dependents(index, "det"))
    return signs.pop() if len(signs) == 1 and plain and not denied else 0


def _sign_of_word(word: Word) -> int:
    """Return the sign of an adjective in any degree: "kind", "kindest"."""
    sign = polarity(word.text.casefold(), "praise", "blame")
    return sign or (polarity(word.lemma, "praise", "blame") if word.tag == "JJS" else 0)


def _of_deed(sentence: Sentence, verb: int) -> _Read:
    """Read the verb of a subject: it fails, works well, lets us down."""
    word = sentence.words[verb]
    denied = sentence.is_denied(verb)
    never = any(child.lemma == "never" for child in sentence.dependents(verb, "neg", "advmod"))
    ends = [child.text.casefold() for child in sentence.dependents(verb, "advmod", "acomp")]
    harmed = all(child.lemma in _FIRST for child in sentence.dependents(verb, "dobj"))
    used = frozenset({verb})
    if not denied and (sign := _of_service(sentence, verb)):
        return _Read(sign, used)
    works = word.lemma in _WORDS["works"]
    if not denied and (sign := sign_of_idiom(sentence.text[word.start :], works=works)):
        return _Read(sign, frozenset(sentence.subtree(verb)))
    if word.lemma in _KEEPS and (doing := sentence.children(verb, "xcomp")) and not denied:
        failing = sentence.words[doing[0]].lemma in _WORDS["fails"] | _WORDS["fails_again"]
        return _Read(-1, frozenset(doing)) if failing and _plain(sentence, doing[0]) else _NONE
    if works and not sentence.children(verb, "dobj"):
        return _of_working(sentence, verb, ends, denied=denied)
    if not harmed or not _plain(sentence, verb, "dobj"):
        return _NONE
    sign = polarity(word.lemma, "succeeds", "fails")
    if word.lemma in _WORDS["fails_again"] and (never or _AGAIN.intersection(ends)):
        sign = -1
    if word.lemma == "let" and _particle(sentence, verb) == "down":
        sign = -1
    if denied:
        sign = 1 if never and sign < 0 else 0
    return _Read(sign, used)


def _of_service(sentence: Sentence, verb: int) -> int:
    """Return the sign of a service or harm: "saves me hours", "messed up our booking"."""
    word, things = sentence.words[verb], sentence.children(verb, "dobj")
    if len(things) != 1 or sentence.words[verb].tag == "VB":
        return 0
    thing = sentence.words[things[0]]
    if thing.lemma in _WORDS["benefit_objects"]:
        return polarity(word.lemma, "benefits", "wastes")
    owners = [child.text.casefold() for child in sentence.dependents(things[0], "poss")]
    ours = thing.lemma in _FIRST or "my" in owners or "our" in owners
    deed = f"{word.lemma}_{_particle(sentence, verb)}".rstrip("_")
    return -1 if ours and deed in _WORDS["misdeeds"] else 0


def _of_working(sentence: Sentence, verb: int, ends: Sequence[str], *, denied: bool) -> _Read:
    manners = [polarity(end, "well", "badly") for end in ends if polarity(end, "well", "badly")]
    manner_only = all(
        (word.dep in (*_TENSE, "acomp") and word.tag != "MD")
        or word.text.casefold() in _WORDS["well"] | _WORDS["badly"]
        or _strengthens(sentence, child)
        for child in sentence.children(verb)
        for word in (sentence.words[child],)
    )
    if not manner_only or len(manners) > 1:
        return _NONE
    if denied:
        does = any(word.lemma == "do" for word in sentence.dependents(verb, "aux"))
        return _Read(-1, frozenset({verb})) if does and not ends else _NONE
    return _Read(manners[0], frozenset({verb})) if manners else _NONE


def _particle(sentence: Sentence, verb: int) -> str:
    return "".join(word.lemma for word in sentence.dependents(verb, "prt"))


def _of_object(sentence: Sentence, verb: int) -> _Read:
    """Read a verb of liking: "I love the topic", "I can't stand the topic"."""
    word = sentence.words[verb]
    modals = {child.text.casefold() for child in sentence.dependents(verb, "aux")}
    modals &= _WOULD | {"will", "must", "shall"}
    denied = sentence.is_denied(verb)
    everybody = {child.text.casefold() for child in sentence.dependents(verb, "nsubj")}
    subject = (_by_speaker(sentence, verb) or (everybody and everybody <= _EVERYBODY)) or (
        not sentence.children(verb, "nsubj")
        and word.head == verb
        and (word.lemma in _LIKED_WITHOUT_SUBJECT | _BEARS or word.tag == "VBD")
    )
    if not subject or (not _plain(sentence, verb, "dobj", "aux") and not modals):
        return _NONE
    used = frozenset({verb})
    if word.lemma in _BEARS and modals & {"can", "ca"} and denied:
        return _Read(-1, used)
    sign = polarity(word.lemma, "likes", "dislikes")
    allowed = _WOULD if word.lemma == "recommend" else frozenset[str]()
    enough = any(each.lemma == "enough" for each in sentence.words)
    deniable = sign > 0 and word.lemma in _DENIABLE and not modals & {"can", "ca"}
    if modals - allowed or enough or (denied and not deniable):
        return _NONE
    return _Read(-sign if denied else sign, used)


def _of_mood(sentence: Sentence, preposition: int) -> _Read:
    """Read a mood: "I am disappointed with the topic", "we are big fans of the topic"."""
    mood = sentence.words[preposition].head
    word, text = sentence.words[mood], sentence.words[mood].text.casefold()
    verb = mood if sentence.children(mood, "nsubj", "nsubjpass") else word.head
    denied = sentence.is_denied(verb) or sentence.is_denied(mood)
    modal = any(child.tag == "MD" for child in sentence.dependents(verb))
    if word.lemma == "complaint" and not modal and _by_speaker(sentence, verb):
        none = any(child.lemma == "no" for child in sentence.dependents(mood, "det"))
        return _Read(1, frozenset({mood})) if none and not denied else _NONE
    if modal or not _by_speaker(sentence, verb) or not _is_own(sentence, verb):
        return _NONE
    about = sentence.words[preposition].lemma
    sign = 1 if word.lemma == "fan" and about == "of" else polarity(text, "pleased", "displeased")
    if text in ("sick", "tired") and about != "of":
        return _NONE
    if text == "fed" and _particle(sentence, mood) != "up":
        return _NONE
    if denied:
        sign = -1 if sign > 0 else 0
    return _Read(sign, frozenset({mood}))


def _opposed(sentence: Sentence, noun: int, read: _Read) -> bool:
    """Return True if another word contradicts the judgement: it is mixed, or ironic."""
    phrase = set(sentence.subtree(noun))
    further = (
        w
        for i, w in enumerate(sentence.words)
        if i not in read.words
        and i not in phrase
        and not _is_refused(sentence, i)
        and not _is_denied(sentence, i)
    )
    return _speaks_against(read.sign, further)


def _is_refused(sentence: Sentence, index: int) -> bool:
    """Return True for amends that were refused: "refused to apologise", "never fixes"."""
    word = sentence.words[index]
    denied = sentence.is_denied(index)
    above = sentence.words[word.head].lemma in _WORDS["refusing"]
    return word.lemma in _WORDS["amends"] and (denied or above)


def _is_denied(sentence: Sentence, index: int) -> bool:
    """Return True for a quality that is denied: "never gets boring"."""
    word = sentence.words[index]
    completes = word.dep in ("acomp", "attr", "oprd") and sentence.is_denied(word.head)
    return completes or sentence.is_denied(index)


def speaks_against(sign: int, text: str, topic: str) -> bool:
    """Return True if a sentence on the topic has a word against praise (1) or blame (-1) of it."""
    sentence = parse(text)
    words = {word.lower for word in sentence.words}
    opposed = not words.isdisjoint(BLAME if sign > 0 else PRAISE)
    return opposed and any(True for _ in _topics(sentence, frozenset(lexemes(topic))))


def _speaks_against(sign: int, words: Iterable[Word]) -> bool:
    against = AGAINST[sign]
    return any(word.lemma in against or word.text.casefold() in against for word in words)
