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
from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.nlp.syntax import Sentence, Word
from hindsight_integrations.nlp.time import find_times
from hindsight_integrations.nlp.word_classes import UNSURE
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
    words: frozenset[Word] = frozenset()


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
    for word in sentence.words:
        if word.text in (":", ";", "–", "—"):
            return word.start
    for word in sentence.words:
        second = word.head
        if word.dep != "ccomp" or not second.is_root or second < word or word.child("mark"):
            continue
        opens = min([*second.children("nsubj", "nsubjpass"), second])
        opens = opens.subtree()[0] if opens is not second else second
        comma = opens > word and opens.before is not None and opens.before.text in (",", "-")
        if comma and second.lemma not in _SAYS:
            return opens.start
    return 0


def _judged(sentence: Sentence, topic: str) -> Stance | None:
    for noun in _topics(sentence, frozenset(lexemes(topic))):
        read = _read(noun)
        if read.sign and not _opposed(noun, read):
            return Stance(read.sign, noun.tag in _PLURAL)
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
    if not words or not (UNSURE | _WORDS["others"]).isdisjoint(
        {*spoken, *(word.lemma for word in words if word.tag != "NNS")}  # "did wonders"
    ):
        return True
    compares = spoken.count("as") > 1 or any(
        word.tag in ("JJR", "RBR") and not _is_of_next_clause(word) for word in sentence.words
    )
    denies = (
        [word.dep for word in words[:2]] == ["aux", "neg"] and words[2:3] and words[2].tag == "VB"
    )
    asks = words[0].tag in ("WP", "WDT", "WRB", "MD") or words[0].lemma in ("be", "do", "have")
    return compares or (asks and not denies) or ("used", "to") in pairwise(spoken)


def _is_of_next_clause(word: Word) -> bool:
    """Return True in a clause that is joined to the first, with a subject of its own."""
    return any(each.dep == "conj" and each.children("nsubj", "nsubjpass") for each in word.upward())


def _topics(sentence: Sentence, wanted: frozenset[str]) -> Iterator[Word]:
    """Yield the nouns that stand for the topic, with all its words and no distinguishing others."""
    for word in sentence.words:
        if word.dep in ("compound", "nmod", "amod", "poss") or not lexemes(word.text):
            continue
        phrase = [part for part in word.subtree() if part.index <= word.index]
        terms = set(lexemes(sentence.phrase(phrase)))
        others = (part for part in phrase if not wanted >= set(lexemes(part.text)))
        if any(map(_tells_apart, others)) or _is_one_of_several(word, wanted):
            continue
        if wanted <= terms and wanted & set(lexemes(word.text)):
            yield word


def _is_one_of_several(noun: Word, wanted: frozenset[str]) -> bool:
    """Return True for a special case: "hotel" of "the hotel in Nice", "cold coffee"."""
    for word in noun.children("amod", "prep", "relcl", "acl"):
        if wanted >= set(lexemes(word.phrase)):
            continue
        if word.dep == "amod":
            if not (_sign_of_word(word) or word.lower in _WORDS["describes"]):
                return True
        elif word > noun and not (word.dep == "prep" and _dates(word)):
            if len(wanted) > 1 and word.subtree()[-1].lemma in _STREETS:
                continue  # "the Thai place on King Street" is hardly one of several
            return True
    return False


def _tells_apart(word: Word) -> bool:
    """Return True if a modifier makes the noun another thing."""
    names = word.dep in ("compound", "nmod", "poss", "nummod", "pobj", "appos", "relcl", "acl")
    return names or word.text.casefold() in _WORDS["another"]


def _read(noun: Word) -> _Read:
    """Read the judgement along the path from the topic to the root."""
    if any(
        child.text.casefold() in ("his", "her", "their", "your", "no", "any")
        for child in noun.children()
    ):
        return _NONE
    word = noun
    if word.dep == "appos" and word.head is word.before:  # "our midwife Consolata"
        word = word.head
    if _is_use(noun):  # "configuring Webpack"
        verb = word.head.head
        return _of_subject(verb) if _is_own(verb) and verb.child("attr") else _NONE
    head = word.head
    if word.dep in ("nsubj", "nsubjpass") and _is_own(head):
        return _of_subjects_verbs(head)
    if word.dep == "dobj" and _is_own(head):
        return _of_object(head)
    if word.dep == "pobj" and head.lemma in _WORDS["about"]:
        return _of_mood(head)
    if word.dep == "appos" and head.is_root:
        return _of_superlative(head)
    return _NONE


def _is_use(thing: Word) -> bool:
    """Return True for the object of a subject that says how it is used: "wearing the boots"."""
    verb = thing.head
    used = thing.dep == "dobj" and verb.lemma in _WORDS["using"]
    return used and verb.tag == "VBG" and verb.dep in ("csubj", "nsubj")


def _of_superlative(noun: Word) -> _Read:
    """Read a superlative without verb: "Best purchase of the year, those headphones"."""
    bests = [word for word in noun.children("amod") if word.lemma in _BESTS]
    if len(bests) != 1 or noun.lemma not in _WORDS["bought"]:
        return _NONE
    ill = bests[0].lemma in ("bad", "worst", "dumb", "dumbest")
    return _Read(-1 if ill else 1, frozenset(bests))


def _is_own(verb: Word) -> bool:
    """Return True for a clause that the speaker asserts, no reported one."""
    while verb.dep == "conj" and not verb.is_root:
        verb = verb.head
    if verb.dep in ("ccomp", "xcomp") and not verb.is_root:
        return _holds(verb.head)
    return verb.is_root


def _holds(verb: Word) -> bool:
    """Return True for a present belief, "I think"; not if denied or past ("I thought")."""
    present = verb.tag in ("VBP", "VB") or verb.lemma == "find"
    modal = any(helper.tag == "MD" for helper in verb.children())
    return (
        verb.lemma in _WORDS["holds"]
        and present
        and not modal
        and not verb.is_denied
        and _by_speaker(verb)
        and _is_own(verb)
    )


def _by_speaker(verb: Word) -> bool:
    """Return True if the subject is "I" or "we"."""
    while not (subjects := verb.children("nsubj", "nsubjpass")):
        if verb.dep != "conj" or verb.is_root:
            return False
        verb = verb.head
    return all(subject.lemma in _FIRST for subject in subjects)


def _plain(word: Word, *further: str, sign: int = 0) -> bool:
    """Return True if only intensifiers and dates depend on a word, or adverbs of its own sign."""
    return all(
        (child.dep in (*_TENSE, *further) and child.tag != "MD")
        or (child.dep in ("advmod", "npadvmod", "prt") and _strengthens(child))
        or (child.dep == "advmod" and sign and sign_of_adverb(child.lower) == sign)
        or (child.dep == "prep" and (_dates(child) or _is_for_speaker(child)))
        for child in word.children()
    )


def _is_for_speaker(preposition: Word) -> bool:
    """Return True for the "for us" of "is a disaster for us"."""
    things = preposition.children("pobj")
    own = all(word.lemma in _FIRST for word in things)
    return preposition.lemma == "for" and bool(things) and own


def _strengthens(word: Word) -> bool:
    return (
        word.text.casefold() in _WORDS["strengthens"]
        or word.lemma == "never"
        or word.sentence.phrase((word, *word.following(1))) == "at all"
        or word.sentence.phrase((word.before or word, word)) == "at all"
        or word.is_time
    )


def _dates(preposition: Word) -> bool:
    """Return True for a phrase that dates a state: "in 2020"; not for recurring "on Mondays"."""
    nouns = preposition.children("pobj")
    now = preposition.head.tag in ("VBZ", "VBP")
    repeats = any(
        noun.lower.removesuffix("s") in _WORDS["repeated"] and (now or noun.lower.endswith("s"))
        for noun in nouns
    )
    return (
        bool(nouns)
        and not repeats
        and all(noun.is_time or find_times(noun.phrase, _ANY_DAY) for noun in nouns)
    )


def _of_subjects_verbs(verb: Word) -> _Read:
    """Read a predicate; for one that fails, the next: "fails every other day and drives us mad"."""
    first = _of_subject(verb)
    if first.sign or verb.lemma not in _WORDS["fails"] | _WORDS["fails_again"]:
        return first
    others = (word for word in verb.children("conj") if not word.children("nsubj", "aux"))
    return next((read for word in others if (read := _of_subject(word)).sign < 0), _NONE)


def _of_subject(word: Word) -> _Read:
    """Read a predicate: "the topic is great", "works well", "keeps crashing"."""
    if (foul := _is_foul(word)) is not None:
        return _Read(-1, frozenset({word, foul, *word.children("prep")}))
    if word.tag == "VBG" and word.text in _WORDS["blame"] | _WORDS["beside_blame"]:
        return _all_signed(word, [word])  # "is freezing and shabby"
    if word.lemma in _WORDS["is"] or (word.lemma, _particle(word)) == _TURNS_OUT:
        return _of_complements(word)
    if word.text in _WORDS["made"] and (manner := _manner(word)):
        return _Read(manner, frozenset({word})) if word.child("auxpass") else _NONE
    if word.tag == "JJ":  # "we find the topic useless"
        return _all_signed(word, [word])
    return _of_deed(word)


def _is_foul(verb: Word) -> Word | None:
    """Return the noun of a comparison of taste or smell: "tastes like dishwater"."""
    if verb.lemma not in ("taste", "smell", "look", "feel", "reek", "stink"):
        return None
    if not _plain(verb, "prep") or verb.is_denied:
        return None
    return next(
        (
            noun
            for prep in verb.children("prep")
            if prep.lemma in ("like", "of")
            for noun in prep.children("pobj")
            if noun.lemma in _WORDS["foul"]
        ),
        None,
    )


def _manner(made: Word) -> int:
    """Return the sign of the only adverb of a participle, "beautifully furnished"; 0 for none."""
    adverbs = [word.text.casefold() for word in made.children("advmod")]
    signs = {polarity(word, "well", "badly") for word in adverbs}
    return signs.pop() if len(signs) == 1 and not made.child("neg", "prt") else 0


def _of_complements(verb: Word) -> _Read:
    complements = verb.children("acomp", "attr", "oprd")
    turns = ("prt",) if verb.lemma == "turn" else ()
    if not 0 < len(complements) < 3 or not _plain(verb, "acomp", "attr", "oprd", *turns):
        return _NONE
    return _all_signed(verb, complements)


def _all_signed(verb: Word, complements: Sequence[Word]) -> _Read:
    """Return the sign that all coordinated complements share."""
    every, denied = [*complements], verb.is_denied
    for word in every:
        every += word.children("conj")
        every += word.children("amod") if word.tag == "JJ" else ()
    first = every[0]
    if first.text.casefold() == "anything":
        sign = _sign_of_complement(first, denied=denied)
        return _Read(sign, frozenset((first, *first.following(2))))  # "anything but reliable"
    every = [
        word
        for word in every
        if not word.is_verb or word in complements or word.text in _WORDS["made"]
    ]
    signs = {_sign_of_complement(word, denied=denied) for word in every}
    if len(signs) == 2 and 0 in signs and not denied:
        signs.remove(0)
        sign = 1 if 1 in signs else -1
        neutral = [word for word in every if not _sign_of_complement(word, denied=False)]
        if _speaks_against(sign, neutral) or any(_is_beside(-sign, word) for word in neutral):
            return _NONE
    return _Read(signs.pop(), frozenset(every)) if len(signs) == 1 else _NONE


def _is_beside(sign: int, word: Word) -> bool:
    """Return True for a word that may accompany praise, or blame: "expensive"."""
    return word.text.casefold() in _WORDS["beside_praise" if sign > 0 else "beside_blame"]


def _sign_of_complement(word: Word, *, denied: bool) -> int:
    text = word.text.casefold()
    if text == "anything":
        return 0 if denied else _sign_of_opposite(word)
    if text in _WORDS["made"] and not denied:
        return _manner(word)
    if text == "worth":
        return _sign_of_worth(word) * (-1 if denied else 1)
    bare = polarity(text, "praise", "blame") and not word.child("det", "poss")
    if word.is_noun and not bare:  # a parser may take "turned out tasty" for one
        return 0 if denied else _sign_of_noun(word)
    if word.tag == "JJS" and not denied:
        return _sign_of_best(word)
    sign = polarity(text, "praise", "blame")
    to_do = word.children("xcomp")
    towards = ("prep",) if _is_towards(word) else ()
    if (
        not sign
        or not _plain(word, "xcomp", "amod", *towards, sign=sign)
        or (to_do and text in ("good", "great"))
    ):
        return 0
    degrees = [each.text.casefold() for each in word.children("advmod")]
    if sign > 0 and "too" in degrees:
        return 0
    if not denied:
        return sign
    if sign < 0:  # "not bad at all"
        after = [each.text.casefold() for each in word.following(2)]
        return 1 if after == ["at", "all"] else 0
    return -1 if text in _WORDS["denied_praise"] and not degrees else 0


def _is_towards(adjective: Word) -> bool:
    """Return True for an adjective with a target: "gentle with beginners", "rude to guests"."""
    preps = adjective.children("prep")
    to = {word.lemma for word in preps}
    broad = adjective.text.casefold() in ("good", "great", "bad", "nice")
    return bool(preps) and to <= {"with", "to", "towards", "toward"} and not broad


def _sign_of_worth(word: Word) -> int:
    """Return 1 for praise by worth: "worth every penny", "worth the money"."""
    nouns = word.children("npadvmod", "dobj", "pobj", "xcomp", "prep")
    return int(any(child.lemma in _WORDS["worth"] for child in nouns))


def _sign_of_best(word: Word) -> int:
    """Return the sign of a superlative with a clause: "the best I have ever owned"."""
    ever = any(each.lemma == "ever" for each in word.following())
    ends = {word.lemma, word.text.casefold()}
    return polarity("worst" if ends & {"bad", "worst"} else "best", "bests", "blame") if ever else 0


def _sign_of_opposite(word: Word) -> int:
    """Return the sign of a negated adjective: "anything but reliable"."""
    after = [each.text.casefold() for each in word.following(2)]
    if len(after) < 2 or after[0] != "but":
        return 0
    return -polarity(after[1], "praise", "blame")


def _sign_of_noun(word: Word) -> int:
    """Return the sign of a predicate noun: "a joy", "a great tool"; 0 for "a tool for spies"."""
    own = polarity(word.lemma, "praise_nouns", "blame_nouns") or polarity(
        word.lower, "praise_nouns", "blame_nouns"
    )
    if word.lemma in _WORDS["stars"]:
        own = int(any(child.lower in _ABSOLUTE for child in word.children("amod")))
    further = ("relcl", "acl", "compound") if own else ("compound",)
    wasted = word.lemma in ("waste", "heap", "pile", "load", "piece", "masterpiece", "marvel")
    preps = word.children("prep")
    inside = [each for prep in preps for each in prep.children("pobj")]
    amods = word.children("amod")
    superlative = any(each.tag == "JJS" for each in amods)
    if wasted and not own:
        own = max((_sign_of_noun(each) for each in inside), key=abs, default=0)
        wasted = own < 0
    signs = {own} | {_sign_of_word(each) for each in amods}
    if {each.lemma for each in preps} == {"with"}:
        given = {_sign_of_word(child) for each in inside for child in each.children("amod")}
        wasted = wasted or bool(given - {0})
        signs |= given
    if superlative and {each.lemma for each in preps} <= {"of", "in"}:
        further, wasted = (*further, "relcl"), True
    signs.discard(0)
    plain = _plain(word, *further, *(("prep",) if wasted else ()))
    denied = any(child.lemma == "no" for child in word.children("det"))
    return signs.pop() if len(signs) == 1 and plain and not denied else 0


def _sign_of_word(word: Word) -> int:
    """Return the sign of an adjective in any degree: "kind", "kindest"."""
    sign = polarity(word.text.casefold(), "praise", "blame")
    return sign or (polarity(word.lemma, "praise", "blame") if word.tag == "JJS" else 0)


def _of_deed(verb: Word) -> _Read:
    """Read the verb of a subject: it fails, works well, lets us down."""
    denied = verb.is_denied
    never = any(child.lemma == "never" for child in verb.children("neg", "advmod"))
    ends = [child.text.casefold() for child in verb.children("advmod", "acomp")]
    harmed = all(child.lemma in _FIRST for child in verb.children("dobj"))
    used = frozenset({verb})
    if not denied and (sign := _of_service(verb)):
        return _Read(sign, used)
    works = verb.lemma in _WORDS["works"]
    if not denied and (sign := sign_of_idiom(verb.sentence.text[verb.start :], works=works)):
        return _Read(sign, frozenset(verb.subtree()))
    if verb.lemma in _KEEPS and (doing := verb.children("xcomp")) and not denied:
        failing = doing[0].lemma in _WORDS["fails"] | _WORDS["fails_again"]
        return _Read(-1, frozenset(doing)) if failing and _plain(doing[0]) else _NONE
    if works and not verb.child("dobj"):
        return _of_working(verb, ends, denied=denied)
    if not harmed or not _plain(verb, "dobj"):
        return _NONE
    sign = polarity(verb.lemma, "succeeds", "fails")
    if verb.lemma in _WORDS["fails_again"] and (never or _AGAIN.intersection(ends)):
        sign = -1
    if verb.lemma == "let" and _particle(verb) == "down":
        sign = -1
    if denied:
        sign = 1 if never and sign < 0 else 0
    return _Read(sign, used)


def _of_service(verb: Word) -> int:
    """Return the sign of a service or harm: "saves me hours", "messed up our booking"."""
    things = verb.children("dobj")
    if len(things) != 1 or verb.tag == "VB":
        return 0
    thing = things[0]
    if thing.lemma in _WORDS["benefit_objects"]:
        return polarity(verb.lemma, "benefits", "wastes")
    owners = [owner.text.casefold() for owner in thing.children("poss")]
    ours = thing.lemma in _FIRST or "my" in owners or "our" in owners
    deed = f"{verb.lemma}_{_particle(verb)}".rstrip("_")
    return -1 if ours and deed in _WORDS["misdeeds"] else 0


def _of_working(verb: Word, ends: Sequence[str], *, denied: bool) -> _Read:
    manners = [polarity(end, "well", "badly") for end in ends if polarity(end, "well", "badly")]
    manner_only = all(
        (word.dep in (*_TENSE, "acomp") and word.tag != "MD")
        or word.text.casefold() in _WORDS["well"] | _WORDS["badly"]
        or _strengthens(word)
        for word in verb.children()
    )
    if not manner_only or len(manners) > 1:
        return _NONE
    if denied:
        does = any(word.lemma == "do" for word in verb.children("aux"))
        return _Read(-1, frozenset({verb})) if does and not ends else _NONE
    return _Read(manners[0], frozenset({verb})) if manners else _NONE


def _particle(verb: Word) -> str:
    return "".join(word.lemma for word in verb.children("prt"))


def _of_object(verb: Word) -> _Read:
    """Read a verb of liking: "I love the topic", "I can't stand the topic"."""
    modals = {child.text.casefold() for child in verb.children("aux")}
    modals &= _WOULD | {"will", "must", "shall"}
    denied = verb.is_denied
    everybody = {child.text.casefold() for child in verb.children("nsubj")}
    subject = (_by_speaker(verb) or (everybody and everybody <= _EVERYBODY)) or (
        not verb.child("nsubj")
        and verb.is_root
        and (verb.lemma in _LIKED_WITHOUT_SUBJECT | _BEARS or verb.tag == "VBD")
    )
    if not subject or (not _plain(verb, "dobj", "aux") and not modals):
        return _NONE
    used = frozenset({verb})
    if verb.lemma in _BEARS and modals & {"can", "ca"} and denied:
        return _Read(-1, used)
    sign = polarity(verb.lemma, "likes", "dislikes")
    allowed = _WOULD if verb.lemma == "recommend" else frozenset[str]()
    enough = any(each.lemma == "enough" for each in verb.sentence.words)
    deniable = sign > 0 and verb.lemma in _DENIABLE and not modals & {"can", "ca"}
    if modals - allowed or enough or (denied and not deniable):
        return _NONE
    return _Read(-sign if denied else sign, used)


def _of_mood(preposition: Word) -> _Read:
    """Read a mood: "I am disappointed with the topic", "we are big fans of the topic"."""
    mood = preposition.head
    text = mood.text.casefold()
    verb = mood if mood.child("nsubj", "nsubjpass") else mood.head
    denied = verb.is_denied or mood.is_denied
    modal = any(child.tag == "MD" for child in verb.children())
    if mood.lemma == "complaint" and not modal and _by_speaker(verb):
        none = any(child.lemma == "no" for child in mood.children("det"))
        return _Read(1, frozenset({mood})) if none and not denied else _NONE
    if modal or not _by_speaker(verb) or not _is_own(verb):
        return _NONE
    about = preposition.lemma
    sign = 1 if mood.lemma == "fan" and about == "of" else polarity(text, "pleased", "displeased")
    if text in ("sick", "tired") and about != "of":
        return _NONE
    if text == "fed" and _particle(mood) != "up":
        return _NONE
    if denied:
        sign = -1 if sign > 0 else 0
    return _Read(sign, frozenset({mood}))


def _opposed(noun: Word, read: _Read) -> bool:
    """Return True if another word contradicts the judgement: it is mixed, or ironic."""
    phrase = set(noun.subtree())
    further = (
        w
        for w in noun.sentence.words
        if w not in read.words and w not in phrase and not _is_refused(w) and not _is_denied(w)
    )
    return _speaks_against(read.sign, further)


def _is_refused(word: Word) -> bool:
    """Return True for amends that were refused: "refused to apologise", "never fixes"."""
    refused = word.is_denied or word.head.lemma in _WORDS["refusing"]
    return word.lemma in _WORDS["amends"] and refused


def _is_denied(word: Word) -> bool:
    """Return True for a quality that is denied: "never gets boring"."""
    completes = word.dep in ("acomp", "attr", "oprd") and word.head.is_denied
    return completes or word.is_denied


def speaks_against(sign: int, text: str, topic: str) -> bool:
    """Return True if a sentence on the topic has a word against praise (1) or blame (-1) of it."""
    sentence = parse(text)
    words = {word.lower for word in sentence.words}
    opposed = not words.isdisjoint(BLAME if sign > 0 else PRAISE)
    return opposed and any(True for _ in _topics(sentence, frozenset(lexemes(topic))))


def _speaks_against(sign: int, words: Iterable[Word]) -> bool:
    against = AGAINST[sign]
    return any(word.lemma in against or word.text.casefold() in against for word in words)
