from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hindsight_integrations.models import MemoryType, TimeSpan
from hindsight_integrations.recall.cache import CandidateCache, Candidates, VersionedCache
from hindsight_integrations.stores.base import Candidate
from tests.recall.building import BANK, NOON, candidate

pytestmark = pytest.mark.ranking

DAY = TimeSpan.of_day(NOON)


def test_turns_that_end_in_a_question_ask() -> None:
    memories = Candidates(
        [
            candidate("0", text="Where? ", speaker="A"),
            candidate("1", text="Where? There.", speaker="A"),
            candidate("2", text="哪里？", speaker="A"),
            candidate("3", text="A heading?"),
        ]
    )
    assert memories.asking.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert memories.speaking.tolist() == [True, True, True, False]
    assert memories.speakers == ("a", "a", "a", "")


def test_memories_of_one_speaker_have_one_number_and_of_none_have_nobodys() -> None:
    named = ["Tom", None, "ana", "Ana", None]
    memories = Candidates([candidate(str(n), speaker=who) for n, who in enumerate(named)])
    assert memories.speaker_numbers.tolist() == [1, -1, 0, 0, -1]


def test_sessions_are_documents_of_one_bank() -> None:
    memories = Candidates(
        [
            candidate("0", document="one"),
            candidate("1", document="two"),
            candidate("2", document="one"),
            candidate("3", document="one", bank="other"),
        ]
    )
    assert memories.sessions.tolist() == [0, 1, 0, 2]


# The agent's own turns, and dialogue


def said(*turns: str, own: int = 0, people: str = "AB") -> Candidates:
    """Turns, each given by its session, by people in turn; the agent says the first `own`."""
    return Candidates(
        [
            candidate(
                str(n),
                speaker="agent" if n < own else people[n % len(people)],
                document=session,
                type=MemoryType.EXPERIENCE if n < own else MemoryType.WORLD,
            )
            for n, session in enumerate(turns)
        ]
    )


def test_own_words_are_what_the_agent_said_itself() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="agent", type=MemoryType.EXPERIENCE),
            candidate("1", speaker="Ana"),
            candidate("2", type=MemoryType.EXPERIENCE),
            candidate("3", speaker="Ana", type=MemoryType.OBSERVATION),
        ]
    )
    # What the agent did, as nobody says it, is no turn of a chat.
    assert memories.own_words.tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("turns", "own", "share"),
    [(4, 0, 0.0), (4, 1, 0.5), (8, 1, 0.25), (5, 2, 0.8), (4, 2, 1.0), (4, 3, 1.0)],
)
def test_own_share_is_twice_the_agents_share_of_the_turns(
    turns: int, own: int, share: float
) -> None:
    assert said(*"s" * turns, own=own).own_share == pytest.approx(share)


def test_own_share_is_of_turns_not_of_texts() -> None:
    notes = [candidate(f"note {n}", document="notes") for n in range(4)]
    assert Candidates([*said(*"ssss", own=1), *notes]).own_share == pytest.approx(0.5)
    # An experience that nobody says counts on neither side.
    done = [candidate(f"done {n}", type=MemoryType.EXPERIENCE) for n in range(4)]
    assert Candidates([*said(*"ssss", own=1), *done]).own_share == pytest.approx(0.5)
    assert Candidates(notes).own_share == 0.0
    assert Candidates(done).own_share == 0.0


def test_turns_beside_those_of_others_are_in_dialogue() -> None:
    assert said(*"ss").in_dialogue == 1.0
    assert said(*"aabb").in_dialogue == 1.0
    # Two in five stand alone.
    assert said(*"aabac").in_dialogue == pytest.approx(0.6)
    assert said(*"abc").in_dialogue == 0.0


def test_what_one_person_says_alone_is_no_dialogue() -> None:
    assert said(*"ssss", people="A").in_dialogue == 0.0
    assert said(*"ssss", people="Aa").in_dialogue == 0.0
    assert said(*"aabb", people="AAAB").in_dialogue == pytest.approx(0.5)


def test_texts_are_not_in_dialogue_nor_company_for_a_turn() -> None:
    notes = [candidate(f"note {n}", document=session) for n, session in enumerate("xyy")]
    assert Candidates(notes).in_dialogue == 0.0
    # Two turns of five memories, whichever of them come first.
    assert Candidates([*said(*"ss"), *notes]).in_dialogue == pytest.approx(0.4)
    assert Candidates([*notes, *said(*"ss")]).in_dialogue == pytest.approx(0.4)
    # One turn among notes of its own document.
    assert Candidates([*notes, *said("y")]).in_dialogue == 0.0


def test_sessions_of_one_name_in_two_banks_are_two() -> None:
    memories = [candidate(bank, speaker="A", bank=bank) for bank in ("one", "other")]
    assert Candidates(memories).in_dialogue == 0.0


def test_a_chat_with_the_agent_is_the_less_of_a_dialogue_the_more_it_says() -> None:
    assert said(*"ssss", own=1).in_dialogue == pytest.approx(0.5)
    assert said(*"s" * 8, own=1).in_dialogue == pytest.approx(0.75)
    assert said(*"ssss", own=2).in_dialogue == 0.0
    # Of six memories three are turns of a session, of which the agent says a quarter of all.
    mixed = [*said(*"sssb", own=1), *(candidate(f"note {n}") for n in range(2))]
    assert Candidates(mixed).in_dialogue == pytest.approx(0.5 * 0.5)


# Substance: 0.6 of rarity, 0.25 of names, 0.45 of a date, -0.25 of the length, standardised.


def test_rare_words_have_substance() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="A", lexemes=["the", "the", "heron"]),
            candidate("1", speaker="A", lexemes=["the"]),
        ]
    )
    # Means of -ln 2 and -ln 1, and -ln 2 alone: above and below one another.
    assert memories.information == pytest.approx([0.6, -0.6])


def test_rarity_is_the_mean_over_the_distinct_words() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="A", lexemes=["a", "a", "b"]),
            candidate("1", speaker="A", lexemes=["a", "b"]),
            candidate("2", speaker="A", lexemes=["a"]),
            candidate("3", speaker="A", lexemes=["c"]),
        ]
    )
    # a is on three, b on two, c on one.
    rarity = np.array([-math.log(6) / 2, -math.log(6) / 2, -math.log(3), 0.0])
    standardised = (rarity - rarity.mean()) / rarity.std()
    assert memories.information == pytest.approx(0.6 * standardised)


def test_a_turn_of_no_words_is_as_poor_as_the_commonest() -> None:
    memories = Candidates(
        [candidate("0", speaker="A", lexemes=["a"]), candidate("1", speaker="A", lexemes=[])]
    )
    # -ln 1 against -ln 2, of which all memories would hold the word.
    assert memories.information == pytest.approx([0.6, -0.6])


def test_names_have_substance_but_not_the_speakers() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="Ana", entities=["Oslo", "Tom"]),
            candidate("1", speaker="Tom", entities=["Ana"]),
        ]
    )
    assert memories.information == pytest.approx([0.25, -0.25])


def test_each_further_name_adds_less() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="A", entities=["W", "X", "Y"]),
            candidate("1", speaker="A", entities=["Z"]),
            candidate("2", speaker="A"),
        ]
    )
    # ln 4, ln 2 and ln 1 lie evenly: one deviation is the root of 2/3 of a step.
    step = (3 / 2) ** 0.5
    assert memories.information == pytest.approx([0.25 * step, 0.0, -0.25 * step])


def test_a_date_has_substance() -> None:
    memories = Candidates(
        [candidate("0", speaker="A", occurred=[DAY, DAY]), candidate("1", speaker="A")]
    )
    assert memories.information == pytest.approx([0.45, -0.45])


def test_length_takes_substance_away() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="A", text="x" * 30),
            candidate("1", speaker="A", text="x" * 10),
            candidate("2", speaker="A", text=""),
        ]
    )
    # ln 40, ln 20 and ln 10 lie evenly.
    step = (3 / 2) ** 0.5
    assert memories.information == pytest.approx([-0.25 * step, 0.0, 0.25 * step])


def test_what_makes_substance_adds_up() -> None:
    memories = Candidates(
        [
            candidate("0", speaker="A", lexemes=["a", "b"], entities=["X"], occurred=[DAY]),
            candidate("1", speaker="A", lexemes=["a"]),
        ]
    )
    assert memories.information == pytest.approx([0.6 + 0.25 + 0.45, -0.6 - 0.25 - 0.45])


def test_only_turns_have_substance() -> None:
    rare = [candidate("0", lexemes=["a", "b"]), candidate("1", lexemes=["a"])]
    assert Candidates(rare).information.tolist() == [0.0, 0.0]
    mixed = [rare[0], candidate("1", lexemes=["a"], speaker="A")]
    assert Candidates(mixed).information == pytest.approx([0.0, -0.6])


# Caches: what was read of a version of a bank is not read again


class Reads:
    """Loads memories by id, and remembers which it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, ids: list[str]) -> dict[str, Candidate]:
        self.asked.append(ids)
        return {id: candidate(id) for id in ids if id != "gone"}


def test_a_memory_is_read_once_in_each_version_of_its_bank() -> None:
    cache, load = CandidateCache().single, Reads()
    assert [*cache.read(BANK, ["0", "gone", "1"], load)] == ["0", "1"]
    assert [*cache.read(BANK, ["2", "1"], load)] == ["2", "1"]
    assert load.asked == [["0", "gone", "1"], ["2"]]
    assert [*cache.read(replace(BANK, version=BANK.version + 1), ["1"], load)] == ["1"]
    assert [*cache.read(replace(BANK, key="made again"), ["1"], load)] == ["1"]
    assert load.asked[2:] == [["1"], ["1"]]


def test_a_full_cache_loses_what_was_not_read_for_longest() -> None:
    cache, load = VersionedCache[Candidate](2), Reads()
    for id in ("0", "1", "0", "2", "0", "1"):
        cache.read(BANK, [id], load)
    assert load.asked == [["0"], ["1"], ["2"], ["1"]]


def test_the_arrays_of_a_small_bank_are_computed_once_in_each_version() -> None:
    cache, load = CandidateCache(), Reads()
    found = cache.all_of(BANK, ["0", "1"], load)
    assert cache.all_of(BANK, ["0", "1"], load) is found
    assert [memory.id for memory in cache.all_of(BANK, ["1"], load)] == ["1"]
    changed = cache.all_of(replace(BANK, version=BANK.version + 1), ["0", "1"], load)
    assert changed is not found
    assert load.asked == [["0", "1"], ["0", "1"]]
