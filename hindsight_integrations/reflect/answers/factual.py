"""Tell the verbs of a sentence that state a fact from those of a wish, a plan or a doubt.

"Ben wants to move to Oslo" and "I doubt that Ben moved to Oslo" do not tell that he moved. A verb
is told as a fact if it is the main verb, stands beside it, or depends on one of a few verbs under
which a thing is done ("managed to") or known ("says that").
"""

from __future__ import annotations

from collections.abc import Set

from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.sentences import Sentence

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


def is_told(sentence: Sentence, index: int, planned: bool = False, past: bool = False) -> bool:
    """Return True if a sentence states an event or state as a fact.

    Args:
        sentence: the sentence.
        index: a verb, or a noun that stands for one ("a job").
        planned: a plan will do.
        past: it is asked what was done, so that what must be done will not do.
    """
    words = sentence.words
    if not words[index].is_verb and words[index].dep != "acomp":
        return _is_noun_told(sentence, index, planned, past)
    seen: set[int] = set()
    while index not in seen:
        seen.add(index)
        if _is_nearly(sentence, index) or (past and _is_due(sentence, index)):
            return False
        governor = words[index].head
        if words[index].dep == "conj":
            index = governor
            continue
        if governor == index:
            return planned or not sentence.is_infinitive(index)
        told = _is_told_by(sentence, index, planned, past)
        if told is not None:
            return told
        if sentence.is_denied(governor):
            return False
        index = _verb_above(sentence, index)
    return True


def _is_noun_told(sentence: Sentence, index: int, planned: bool, past: bool) -> bool:
    """Return True unless a noun is only wished for, or modifies another noun."""
    if is_modifier(sentence, index):
        return False
    verb = _verb_above(sentence, index)
    above = sentence.words[verb]
    if verb == index or not above.is_verb:
        return True
    if above.lemma in _WORDS["unfulfilled"] and not (planned and above.lemma in _WORDS["planning"]):
        subject = index in sentence.children(verb, "nsubj", "nsubjpass")
        return subject and above.tag != "VBN"
    return is_told(sentence, verb, planned, past)


def is_modifier(sentence: Sentence, index: int) -> bool:
    """Return True for a noun that modifies another: "wedding" of "wedding invitations"."""
    word = sentence.words[index]
    common = word.dep == "compound" and word.is_noun and not word.is_proper
    return common and sentence.words[word.head].lemma not in _WORDS["general"]


def _is_told_by(sentence: Sentence, index: int, planned: bool, past: bool) -> bool | None:
    """Return if the governing word makes a verb a fact; None if that depends on a word above it."""
    word = sentence.words[index]
    governor = sentence.words[word.head]
    infinitive = sentence.is_infinitive(index)
    if word.dep == "relcl" and governor.lemma in _WORDS["claims"]:
        return False  # "the rumour that", whose "that" a parser takes for an object
    if word.dep == "relcl" and not infinitive:
        return not any(child.lemma == "no" for child in sentence.dependents(word.head, "det"))
    if word.dep in ("relcl", "acl"):
        claim = infinitive or bool(sentence.children(index, "mark"))
        return not claim or (not infinitive and governor.lemma in _WORDS["facts"])
    if infinitive or (word.tag == "VB" and word.dep in ("xcomp", "ccomp")):
        return None if _is_done_under(sentence, index, planned, past) else False
    if word.dep == "advcl":
        return True
    if word.dep == "pcomp":
        return None if _is_done_after(sentence, index) else False
    if word.dep in ("xcomp", "ccomp") and word.tag == "VBG" and not _has_auxiliary(sentence, index):
        return None if governor.lemma in _WORDS["doing"] | _WORDS["doing_it"] else False
    if word.dep == "ccomp" and is_beside(sentence, index):
        return True
    if word.dep == "ccomp":
        return None if _is_known(sentence, index) else False
    return None if word.dep != "csubj" else False


def _is_done_under(sentence: Sentence, index: int, planned: bool, past: bool) -> bool:
    """Return True if the verb above implies that it was done: "managed to fix"."""
    governor = sentence.head(index)
    going = governor.lemma == "go" and governor.tag == "VBG"
    if planned and (going or governor.lemma in _WORDS["planning"]):
        helpers = (word.tag for word in sentence.dependents(governor.index, "aux"))
        return not going or past or "VBD" not in helpers  # "was going to sing, but"
    if governor.lemma == "have":
        return not past or governor.tag == "VBD"
    if governor.lemma in _WORDS["settling"]:
        return not past
    arranged = governor.lemma in _WORDS["arranging"] - {"need"}
    seen = governor.lemma in _WORDS["seeing"] and not sentence.is_infinitive(index)
    return arranged or seen or governor.lemma in _WORDS["doing"]


def _is_done_after(sentence: Sentence, index: int) -> bool:
    """Return True for an event after a preposition: "left after signing it", not "without"."""
    way = sentence.head(index)
    if way.lemma == "to":
        heads = {
            sentence.words[way.head].lemma,
            sentence.head(way.head).lemma,
        }
        return "get" in heads
    return way.lemma in _WORDS["done_by"]


def is_beside(sentence: Sentence, index: int) -> bool:
    """Return True for a juxtaposed main clause: "I hate it, my eyes get tired"."""
    governor = sentence.words[index].head
    first = index < governor and not sentence.children(index, "mark")
    return first and sentence.words[governor].lemma not in _WORDS["doubting"]


def _is_known(sentence: Sentence, index: int) -> bool:
    """Return True for a clause after a verb of saying or knowing."""
    word = sentence.words[index]
    governor = sentence.words[word.head]
    if word.tag == "VBN" and governor.lemma in ("have", "get"):
        return True  # "had his hip replaced"
    if governor.lemma != "be":
        if is_rumoured(sentence, index):
            return False
        supposed = governor.lemma in _WORDS["thinking"] and governor.tag in ("VBD", "VBN")
        return governor.lemma in _WORDS["knowing"] | _WORDS["certain"] and not supposed
    if any(child.tag in ("WRB", "WP") for child in sentence.dependents(index)):
        return True  # "that's why Ana left"
    values = sentence.dependents(word.head, "acomp", "attr")
    if values:
        return all(value.lemma in _WORDS["certain"] | _WORDS["facts"] for value in values)
    subjects = sentence.children(word.head, "nsubj")
    return all(sentence.words[i].lemma in _WORDS["facts"] for i in subjects)


def is_rumoured(sentence: Sentence, index: int) -> bool:
    """Return True for the "fired" of "people say I was fired", "I dreamed that I was fired"."""
    word = sentence.words[index]
    if word.dep == "ccomp" and sentence.words[word.head].lemma in _WORDS["unreal"]:
        return True
    by = {child.lower for child in sentence.dependents(word.head, "nsubj")}
    says = sentence.words[word.head].lemma in _WORDS["saying"]
    if word.dep == "ccomp" and says and by == {"i"} and sentence.is_denied(word.head):
        return True  # "I'm not saying that he drinks"
    knows = sentence.words[word.head].lemma in _WORDS["knowing"]
    return word.dep == "ccomp" and knows and bool(by) and by <= _WORDS["nobody_known"]


def is_only_wished(sentence: Sentence, index: int) -> bool:
    """Return True for the "sell" of "wants to sell it" and "thought about selling it"."""
    above = sentence.words[sentence.words[index].head]
    if sentence.words[index].dep == "pcomp":
        above = sentence.words[above.head]
    under = sentence.words[index].dep in ("xcomp", "pcomp") and above.lemma in _WORDS["wished"]
    return under and not sentence.is_denied(above.index)


def _has_auxiliary(sentence: Sentence, index: int) -> bool:
    """Return True if a participle has an auxiliary: "that Ben is painting"."""
    return bool(sentence.children(index, "aux", "auxpass"))


def _is_nearly(sentence: Sentence, verb: int) -> bool:
    """Return True for an event that almost happened: "almost bought"."""
    return any(word.lower in _WORDS["nearly"] for word in sentence.dependents(verb, "advmod"))


def _is_due(sentence: Sentence, verb: int) -> bool:
    """Return True for an obligation: "must pay"."""
    return any(word.tag == "MD" for word in sentence.dependents(verb, "aux"))


def _verb_above(sentence: Sentence, index: int) -> int:
    """Return the verb or predicate that governs a word; the root if there is none."""
    above = sentence.words[index].head
    while sentence.words[above].head != above and not (
        sentence.words[above].is_verb or sentence.words[above].dep == "acomp"
    ):
        above = sentence.words[above].head
    return above


def tense_of(sentence: Sentence, verb: int) -> str:
    """Return "past", "perfect", "present" or "future" for the clause of a verb; "" if unclear.

    A verb without a tense of its own has that of the one that it depends on: "was able to".
    """
    for index in sentence.upward(verb):
        word = sentence.words[index]
        helpers = sentence.dependents(index, "aux", "auxpass")
        for helper in helpers:
            if told := _TENSES.get(helper.lower, ""):
                return told
            if helper.tag in ("VBD", "VBZ", "VBP"):
                past = "perfect" if helper.lemma == "have" else "present"
                return "past" if helper.tag == "VBD" else past
        if word.tag in ("VBD", "VBZ", "VBP"):
            return "past" if word.tag == "VBD" else "present"
        if word.head == index and word.tag == "VBN":
            return "past"
    return ""


def has_arrived(sentence: Sentence, verb: int) -> bool:
    """Return True if a verb of moving says where somebody lives now."""
    word = sentence.words[verb]
    if word.lemma not in _MOVES:
        return True
    done = word.tag == "VBD" or (
        word.tag == "VBN"
        and any(child.lemma == "have" for child in sentence.dependents(verb, "aux"))
    )
    ways = _ways(sentence, verb)
    arrives = bool(ways & {*_ARRIVING, "here"})
    return done and arrives and not sentence.children(verb, "dobj") and not _only_leaves(ways)


def has_left(sentence: Sentence, verb: int) -> bool:
    """Return True if a verb of moving has "out" or "away", and no destination."""
    return sentence.words[verb].lemma in _MOVES and _only_leaves(_ways(sentence, verb))


def _ways(sentence: Sentence, verb: int) -> set[str]:
    """Return the prepositions and particles of a move: "from" and "to" of "from Jena to Bonn"."""
    return {sentence.words[i].lower for i in _all_ways(sentence, verb)}


def _all_ways(sentence: Sentence, verb: int) -> tuple[int, ...]:
    ways = sentence.children(verb, "prep", "advmod", "prt")
    return ways + tuple(to for way in ways for to in sentence.children(way, "prep"))


def _only_leaves(ways: set[str]) -> bool:
    return bool(ways & {*_GONE, "from"}) and not ways & {"to", "into", "onto"}


def is_another_event(sentence: Sentence, verb: int) -> bool:
    """Return True for "left her keys", "moved the desk" and "moved closer to the screen".

    They are not meant by "who left?" and "when did Ana move?". What somebody leaves for good has a
    name, or is a company, a team or a home.
    """
    word = sentence.words[verb]
    if word.lemma not in _DONE_TO:
        return False
    if verb and sentence.words[verb - 1].lower in _TURNS and word.lower == "left":
        return True
    things = sentence.dependents(verb, "dobj")
    if any(not (thing.is_proper or thing.is_time) for thing in things):
        return word.lemma != "leave" or not any(t.lemma in _WORDS["left_for_good"] for t in things)
    return word.lemma == "move" and _is_a_step(sentence, verb)


def _is_a_step(sentence: Sentence, verb: int) -> bool:
    """Return True for a move within a room or a list: "closer", "over", "to the window"."""
    below = sentence.dependents(verb, "advmod", "prt", "acomp")
    if any(word.tag in ("RBR", "JJR", "RP") or word.lower in _WORDS["steps"] for word in below):
        return True
    ways = _all_ways(sentence, verb)
    goals = [word for way in ways for word in sentence.dependents(way, "pobj")]
    homes = _WORDS["left_for_good"] | _WORDS["homes"]
    return any(
        not (goal.is_proper or goal.is_time or goal.lemma in homes)
        for goal in goals
        if sentence.words[goal.head].lower in ("to", "into", "onto", "towards", "toward")
    )


def is_done_by_noun(sentence: Sentence, noun: int) -> bool:
    """Return True for a noun that tells the event itself: "has a job", "the meeting is at 3".

    "Turned down the job", "applied for a job" and "new designs from Ana arrived" do not tell that
    somebody works, or what Ana designs.
    """
    word, verb = sentence.words[noun], sentence.head(noun)
    if any(other.lemma in _WORDS["applying"] for other in sentence.words):
        return False
    if word.dep in ("dobj", "attr", "oprd"):
        return verb.lemma in _WORDS["done_as_noun"] | _WORDS["stopping"]
    if verb.lower in ("for", "on") and sentence.words[verb.head].lemma == "go":
        return True  # "went on a run"
    by_one = word.tag == "NNS" and any(
        child.lower in ("from", "by") for child in sentence.dependents(noun, "prep")
    )
    return word.dep not in ("pobj", "compound", "conj", "appos") and not by_one


def tells_move_of(sentence: Sentence, stems: Set[str]) -> bool:
    """Return True if a sentence says that a plan with one of these stems was moved or put off."""
    words = sentence.words
    return any(
        word.lemma in _OF_PLANS
        and word.is_verb
        and not sentence.is_denied(index)
        and any(
            not stems.isdisjoint(lexemes(words[i].text))
            for i in sentence.children(index, "nsubj", "nsubjpass", "dobj")
        )
        for index, word in enumerate(words)
    )
