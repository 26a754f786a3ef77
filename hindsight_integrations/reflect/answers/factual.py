"""Tell the verbs of a sentence that state a fact from those of a wish, a plan or a doubt.

"Ben wants to move to Oslo" and "I doubt that Ben moved to Oslo" do not tell that he moved. A verb
is told as a fact if it is the main verb, stands beside it, or depends on one of a few verbs under
which a thing is done ("managed to") or known ("says that").
"""

from __future__ import annotations

from collections.abc import Set

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.syntax import Sentence, Word

_WORDS = word_sets("questions")
_ARRIVING = ("to", "into", "onto", "in")
_GONE = frozenset({"away", "out", "off"})
_OF_PLANS = frozenset({"move", "postpone", "reschedule", "delay"})
"""Verbs that give a plan another time."""
_MOVES = frozenset({"move", "relocate", "settle"})
_TURNS = frozenset(
    "turn turns turned turning bear bears bore veer veers veered keep keeps kept".split()
)
"""Verbs before the side "left"."""
_DONE_TO = frozenset("leave move return change turn start stop".split())
"""Verbs that tell another event with an object than without: "moved", "moved the desk"."""
_TENSES = {
    "will": "future", "wo": "future", "'ll": "future", "’ll": "future", "shall": "future",
    "can": "present", "ca": "present", "could": "past",
}  # fmt: skip


def is_told(word: Word, planned: bool = False, past: bool = False) -> bool:
    """Return True if a sentence states an event or state as a fact.

    Args:
        word: a verb, or a noun that stands for one ("a job").
        planned: a plan will do.
        past: it is asked what was done, so that what must be done will not do.
    """
    if not word.is_verb and word.dep != "acomp":
        return _is_noun_told(word, planned, past)
    seen: set[Word] = set()
    while word not in seen:
        seen.add(word)
        if _is_nearly(word) or (past and _is_due(word)):
            return False
        if word.dep == "conj":
            word = word.head
            continue
        if word.is_root:
            return planned or not word.is_infinitive
        told = _is_told_by(word, planned, past)
        if told is not None:
            return told
        if word.head.is_denied:
            return False
        word = _verb_above(word)
    return True


def _is_noun_told(word: Word, planned: bool, past: bool) -> bool:
    """Return True unless a noun is only wished for, or modifies another noun."""
    if is_modifier(word):
        return False
    verb = _verb_above(word)
    if verb is word or not verb.is_verb:
        return True
    if verb.lemma in _WORDS["unfulfilled"] and not (planned and verb.lemma in _WORDS["planning"]):
        return word in verb.children("nsubj", "nsubjpass") and verb.tag != "VBN"
    return is_told(verb, planned, past)


def is_modifier(word: Word) -> bool:
    """Return True for a noun that modifies another: "wedding" of "wedding invitations"."""
    common = word.dep == "compound" and word.is_noun and not word.is_proper
    return common and word.head.lemma not in _WORDS["general"]


def _is_told_by(word: Word, planned: bool, past: bool) -> bool | None:
    """Return if the governing word makes a verb a fact; None if that depends on a word above it."""
    governor = word.head
    infinitive = word.is_infinitive
    if word.dep == "relcl" and governor.lemma in _WORDS["claims"]:
        return False  # "the rumour that", whose "that" a parser takes for an object
    if word.dep == "relcl" and not infinitive:
        return not any(child.lemma == "no" for child in word.head.children("det"))
    if word.dep in ("relcl", "acl"):
        claim = infinitive or bool(word.children("mark"))
        return not claim or (not infinitive and governor.lemma in _WORDS["facts"])
    if infinitive or (word.tag == "VB" and word.dep in ("xcomp", "ccomp")):
        return None if _is_done_under(word, planned, past) else False
    if word.dep == "advcl":
        return True
    if word.dep == "pcomp":
        return None if _is_done_after(word) else False
    if word.dep in ("xcomp", "ccomp") and word.tag == "VBG" and not _has_auxiliary(word):
        return None if governor.lemma in _WORDS["doing"] | _WORDS["doing_it"] else False
    if word.dep == "ccomp" and is_beside(word):
        return True
    if word.dep == "ccomp":
        return None if _is_known(word) else False
    return None if word.dep != "csubj" else False


def _is_done_under(word: Word, planned: bool, past: bool) -> bool:
    """Return True if the verb above implies that it was done: "managed to fix"."""
    governor = word.head
    going = governor.lemma == "go" and governor.tag == "VBG"
    if planned and (going or governor.lemma in _WORDS["planning"]):
        helpers = (helper.tag for helper in governor.children("aux"))
        return not going or past or "VBD" not in helpers  # "was going to sing, but"
    if governor.lemma == "have":
        return not past or governor.tag == "VBD"
    if governor.lemma in _WORDS["settling"]:
        return not past
    arranged = governor.lemma in _WORDS["arranging"] - {"need"}
    seen = governor.lemma in _WORDS["seeing"] and not word.is_infinitive
    return arranged or seen or governor.lemma in _WORDS["doing"]


def _is_done_after(word: Word) -> bool:
    """Return True for an event after a preposition: "left after signing it", not "without"."""
    way = word.head
    if way.lemma == "to":
        return "get" in (way.head.lemma, way.head.head.lemma)
    return way.lemma in _WORDS["done_by"]


def is_beside(word: Word) -> bool:
    """Return True for a juxtaposed main clause: "I hate it, my eyes get tired"."""
    governor = word.head
    first = word < governor and not word.children("mark")
    return first and governor.lemma not in _WORDS["doubting"]


def _is_known(word: Word) -> bool:
    """Return True for a clause after a verb of saying or knowing."""
    governor = word.head
    if word.tag == "VBN" and governor.lemma in ("have", "get"):
        return True  # "had his hip replaced"
    if governor.lemma != "be":
        if is_rumoured(word):
            return False
        supposed = governor.lemma in _WORDS["thinking"] and governor.tag in ("VBD", "VBN")
        return governor.lemma in _WORDS["knowing"] | _WORDS["certain"] and not supposed
    if any(child.tag in ("WRB", "WP") for child in word.children()):
        return True  # "that's why Ana left"
    values = word.head.children("acomp", "attr")
    if values:
        return all(value.lemma in _WORDS["certain"] | _WORDS["facts"] for value in values)
    subjects = word.head.children("nsubj")
    return all(each.lemma in _WORDS["facts"] for each in subjects)


def is_rumoured(word: Word) -> bool:
    """Return True for the "fired" of "people say I was fired", "I dreamed that I was fired"."""
    if word.dep == "ccomp" and word.head.lemma in _WORDS["unreal"]:
        return True
    by = {child.lower for child in word.head.children("nsubj")}
    says = word.head.lemma in _WORDS["saying"]
    if word.dep == "ccomp" and says and by == {"i"} and word.head.is_denied:
        return True  # "I'm not saying that he drinks"
    knows = word.head.lemma in _WORDS["knowing"]
    return word.dep == "ccomp" and knows and bool(by) and by <= _WORDS["nobody_known"]


def is_only_wished(word: Word) -> bool:
    """Return True for the "sell" of "wants to sell it" and "thought about selling it"."""
    above = word.head
    if word.dep == "pcomp":
        above = above.head
    under = word.dep in ("xcomp", "pcomp") and above.lemma in _WORDS["wished"]
    return under and not above.is_denied


def _has_auxiliary(word: Word) -> bool:
    """Return True if a participle has an auxiliary: "that Ben is painting"."""
    return bool(word.children("aux", "auxpass"))


def _is_nearly(verb: Word) -> bool:
    """Return True for an event that almost happened: "almost bought"."""
    return any(word.lower in _WORDS["nearly"] for word in verb.children("advmod"))


def _is_due(verb: Word) -> bool:
    """Return True for an obligation: "must pay"."""
    return any(word.tag == "MD" for word in verb.children("aux"))


def _verb_above(word: Word) -> Word:
    """Return the verb or predicate that governs a word; the root if there is none."""
    above = word.head
    while above.head != above and not (above.is_verb or above.dep == "acomp"):
        above = above.head
    return above


def tense_of(verb: Word) -> str:
    """Return "past", "perfect", "present" or "future" for the clause of a verb; "" if unclear.

    A verb without a tense of its own has that of the one that it depends on: "was able to".
    """
    for word in verb.upward():
        helpers = word.children("aux", "auxpass")
        for helper in helpers:
            if told := _TENSES.get(helper.lower, ""):
                return told
            if helper.tag in ("VBD", "VBZ", "VBP"):
                past = "perfect" if helper.lemma == "have" else "present"
                return "past" if helper.tag == "VBD" else past
        if word.tag in ("VBD", "VBZ", "VBP"):
            return "past" if word.tag == "VBD" else "present"
        if word.is_root and word.tag == "VBN":
            return "past"
    return ""


def has_arrived(word: Word) -> bool:
    """Return True if a verb of moving says where somebody lives now."""
    if word.lemma not in _MOVES:
        return True
    done = word.tag == "VBD" or (
        word.tag == "VBN" and any(child.lemma == "have" for child in word.children("aux"))
    )
    ways = _ways(word)
    arrives = bool(ways & {*_ARRIVING, "here"})
    return done and arrives and not word.children("dobj") and not _only_leaves(ways)


def has_left(verb: Word) -> bool:
    """Return True if a verb of moving has "out" or "away", and no destination."""
    return verb.lemma in _MOVES and _only_leaves(_ways(verb))


def _ways(verb: Word) -> set[str]:
    """Return the prepositions and particles of a move: "from" and "to" of "from Jena to Bonn"."""
    return {word.lower for word in _all_ways(verb)}


def _all_ways(verb: Word) -> tuple[Word, ...]:
    ways = verb.children("prep", "advmod", "prt")
    return ways + tuple(to for way in ways for to in way.children("prep"))


def _only_leaves(ways: set[str]) -> bool:
    return bool(ways & {*_GONE, "from"}) and not ways & {"to", "into", "onto"}


def is_another_event(word: Word) -> bool:
    """Return True for "left her keys", "moved the desk" and "moved closer to the screen".

    They are not meant by "who left?" and "when did Ana move?". What somebody leaves for good has a
    name, or is a company, a team or a home.
    """
    if word.lemma not in _DONE_TO:
        return False
    if word.before and word.before.lower in _TURNS and word.lower == "left":
        return True
    things = word.children("dobj")
    if any(not (thing.is_proper or thing.is_time) for thing in things):
        return word.lemma != "leave" or not any(t.lemma in _WORDS["left_for_good"] for t in things)
    return word.lemma == "move" and _is_a_step(word)


def _is_a_step(verb: Word) -> bool:
    """Return True for a move within a room or a list: "closer", "over", "to the window"."""
    below = verb.children("advmod", "prt", "acomp")
    if any(word.tag in ("RBR", "JJR", "RP") or word.lower in _WORDS["steps"] for word in below):
        return True
    ways = _all_ways(verb)
    goals = [word for way in ways for word in way.children("pobj")]
    homes = _WORDS["left_for_good"] | _WORDS["homes"]
    return any(
        not (goal.is_proper or goal.is_time or goal.lemma in homes)
        for goal in goals
        if goal.head.lower in ("to", "into", "onto", "towards", "toward")
    )


def is_done_by_noun(noun: Word) -> bool:
    """Return True for a noun that tells the event itself: "has a job", "the meeting is at 3".

    "Turned down the job", "applied for a job" and "new designs from Ana arrived" do not tell that
    somebody works, or what Ana designs.
    """
    verb = noun.head
    if any(word.lemma in _WORDS["applying"] for word in noun.sentence.words):
        return False
    if noun.dep in ("dobj", "attr", "oprd"):
        return verb.lemma in _WORDS["done_as_noun"] | _WORDS["stopping"]
    if verb.lower in ("for", "on") and verb.head.lemma == "go":
        return True  # "went on a run"
    by_one = noun.tag == "NNS" and any(
        child.lower in ("from", "by") for child in noun.children("prep")
    )
    return noun.dep not in ("pobj", "compound", "conj", "appos") and not by_one


def tells_move_of(sentence: Sentence, stems: Set[str]) -> bool:
    """Return True if a sentence says that a plan with one of these stems was moved or put off."""
    return any(
        word.lemma in _OF_PLANS
        and word.is_verb
        and not word.is_denied
        and any(
            not stems.isdisjoint(lexemes(thing.text))
            for thing in word.children("nsubj", "nsubjpass", "dobj")
        )
        for word in sentence.words
    )
