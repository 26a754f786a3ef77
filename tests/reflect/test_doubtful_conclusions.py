"""What is not certain is not said: hints, corrections, namesakes and rumours in conclusions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message

START = datetime(2025, 1, 6, 9, tzinfo=UTC)
ASKED = START + timedelta(days=60)


def _tell(memory: Hindsight, *texts: str) -> None:
    first = memory.banks.stats("b").memories if memory.banks.list() else 0
    for day, text in enumerate(texts):
        memory.retain("b", text, timestamp=START + timedelta(days=first + day))


def _say(memory: Hindsight, *turns: tuple[str, str]) -> None:
    for minute, (speaker, text) in enumerate(turns):
        said = START + timedelta(minutes=minute)
        memory.retain_messages("b", [Message(speaker, text, said)], session="chat")


def _answer(memory: Hindsight, question: str) -> str:
    return memory.reflect("b", question, query_time=ASKED).text


def _profile(memory: Hindsight, person: str) -> list[str]:
    return [line.text for line in memory.profile("b", person, query_time=ASKED).lines]


def _observations(memory: Hindsight) -> list[str]:
    memory.consolidate("b")
    return [observation.text for observation in memory.observations.list("b").items]


@pytest.mark.parametrize(
    ("told", "later", "question"),
    [
        ("Kofi drives a tram.", "Kofi stopped smoking in March.", "What does Kofi drive?"),
        ("Carla lives in Quebec.", "Carla cannot come in May after all.", "Where does Carla live?"),
        ("Finchley is not a charity.", "Petra leaves Finchley in June.", "Is Finchley a charity?"),
        ("Yuko does not have a car.", "Yuko withdrew her application.", "Does Yuko have a car?"),
        ("Locker rent is 52 pounds.", "Dev gave up locker 14.", "How much is the locker rent?"),
        ("Ida proposed to ban kites.", "Ida resigned as treasurer.", "Are kites banned?"),
        ("The chart shows Bone Island.", "Tolly stole the chart.", "What does the chart show?"),
        ("Freya lives in Lund.", "Freya dropped out.", "Where does Freya live?"),
        ("Ana teaches at Kade School.", "People say Ana was fired.", "Where does Ana teach?"),
    ],
)
def test_an_end_of_something_else_is_no_hint(
    memory: Hindsight, told: str, later: str, question: str
) -> None:
    _tell(memory, told, later)
    assert told in _answer(memory, question)
    assert later not in _answer(memory, question)


@pytest.mark.parametrize(
    ("told", "later", "question"),
    [
        ("Ole takes digoxin.", "Ole switched from digoxin to bisoprolol.", "What does Ole take?"),
        ("Mr Abel is in hospital.", "Mr Abel is home again.", "Is Mr Abel in hospital?"),
        ("The pump is down.", "The pump has been stable since Friday.", "Is the pump down?"),
        ("The sauna is out of order.", "The sauna was repaired.", "Is the sauna out of order?"),
        ("Hugo is in the clinic.", "Hugo is back from the clinic.", "Is Hugo in the clinic?"),
        ("The track is closed.", "The track has reopened.", "Is the track closed?"),
        ("Brill has 60 desks.", "Brill cut the desks from 60 to 50.", "How many desks has Brill?"),
        ("Marta teaches at Kade School.", "Marta was fired.", "Where does Marta teach?"),
    ],
)
def test_what_may_have_ended_it_is_quoted_beside_an_answer(
    memory: Hindsight, told: str, later: str, question: str
) -> None:
    _tell(memory, told, later)
    answer = _answer(memory, question)
    assert later in answer
    assert "Yes" not in answer


def test_a_hint_is_quoted_once(memory: Hindsight) -> None:
    later = "Ines leaves Korda at the end of June; her successor will be Owen Tate."
    _tell(memory, "Ines is the finance lead at Korda.", later)
    assert _answer(memory, "Who is the finance lead at Korda?").count(later) == 1


def test_an_answer_is_quoted_with_the_next_message_that_corrects_it(memory: Hindsight) -> None:
    _say(memory, ("Jo", "The exam is on Monday 12 May."), ("Jo", "No wait, Tuesday the 13th."))
    answer = _answer(memory, "When is the exam?")
    assert "The exam is on Monday 12 May. No wait, Tuesday the 13th." in answer
    assert "12 May 2025:" not in answer


@pytest.mark.parametrize(("session", "scope"), [("other", "ann"), ("other", "bob")])
def test_another_conversation_or_scope_corrects_nothing_and_is_not_quoted(
    memory: Hindsight, session: str, scope: str
) -> None:
    told = Message("user", "The exam is on Monday 12 May.", START)
    private = Message("user", "No wait, the code is 4711.", START + timedelta(minutes=5))
    memory.retain_messages("b", [told], session="own", scope="ann")
    memory.retain_messages("b", [private], session=session, scope=scope)
    answer = memory.reflect("b", "When is the exam?", scope="ann", query_time=ASKED).text
    assert "12 May 2025:" in answer
    assert "4711" not in answer


def test_a_correction_that_was_invalidated_is_not_quoted(memory: Hindsight) -> None:
    _say(memory, ("Jo", "The exam is on Monday 12 May."), ("Jo", "No wait, Tuesday the 13th."))
    (correction,) = memory.memories.list("b", text="No wait").items
    memory.memories.invalidate("b", correction.id)
    assert "No wait" not in _answer(memory, "When is the exam?")


def test_another_speaker_corrects_nothing(memory: Hindsight) -> None:
    _say(memory, ("Jo", "The exam is on Monday 12 May."), ("Al", "Sorry, Tuesday is better."))
    assert "12 May 2025:" in _answer(memory, "When is the exam?")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("People say Vera was fired.", "Was Vera fired?"),
        ("Ilse dreamed that the boat sank.", "Did the boat sink?"),
        ("Another Emil Kruse was born in Kiel.", "Where was Emil Kruse born?"),
        ("A different Emil Kruse was a whaler.", "Was Emil Kruse a whaler?"),
        ("Mr Abel's wife is diabetic and cannot lift him.", "Is Mr Abel diabetic?"),
        ("Young Desmond moved to Chester.", "Where did Desmond move?"),
        ("Rosa has lived here for ever, except for ten years in Oslo.", "Where does Rosa live?"),
        ("We use Postgres.", "Which package manager do we use?"),
    ],
)
def test_what_is_told_of_another_or_of_nothing_real_answers_nothing(
    memory: Hindsight, text: str, question: str
) -> None:
    _tell(memory, text)
    assert not memory.reflect("b", question, query_time=ASKED)


@pytest.mark.parametrize(
    ("told", "later", "question"),
    [
        ("Lord Vane rules Ashford.", "Lady Vane rules Ashford now.", "Who rules Ashford?"),
        ("The club meets at the inn.", "From May the club meets at the hall.", None),
        ("Hilde is the chair.", "Kwame was elected chair.", "Who is the chair?"),
    ],
)
def test_who_or_what_takes_the_place_stands_alone(
    memory: Hindsight, told: str, later: str, question: str | None
) -> None:
    _tell(memory, told, later)
    answer = _answer(memory, question or "Where does the club meet?")
    assert later in answer
    assert told not in answer


def test_of_the_kind_asked_for_only_what_is_known_to_be_of_it(memory: Hindsight) -> None:
    _say(memory, ("user", "We use Postgres."), ("user", "We use pnpm in this repo."))
    assert "pnpm" not in _answer(memory, "Which database do we use?")


class TestProfiles:
    def test_who_moved_in_with_somebody_no_longer_lives_alone(self, memory: Hindsight) -> None:
        _tell(memory, "Mr Novak lives alone in a small flat.")
        assert _profile(memory, "Mr Novak")
        _tell(memory, "Mr Novak moved in with his daughter.")
        assert not _profile(memory, "Mr Novak")

    def test_a_message_that_the_next_one_corrects_is_left_out(self, memory: Hindsight) -> None:
        _say(memory, ("Jo", "I'm allergic to nuts."), ("Jo", "Sorry, I meant dust."))
        assert not _profile(memory, "Jo")

    def test_a_dislike_that_is_taken_back_is_left_out(self, memory: Hindsight) -> None:
        _say(memory, ("Jo", "I hate optics."), ("Jo", "Optics is great, I take it all back."))
        assert not _profile(memory, "Jo")

    def test_who_quit_no_longer_has_the_job(self, memory: Hindsight) -> None:
        _say(memory, ("Jo", "I'm a courier."), ("Jo", "I quit."))
        assert not _profile(memory, "Jo")

    @pytest.mark.parametrize("text", ["I love its exercises.", "I can't stand the new carer."])
    def test_a_liking_of_what_was_just_shown_is_left_out(
        self, memory: Hindsight, text: str
    ) -> None:
        _say(memory, ("Jo", text))
        assert not _profile(memory, "Jo")


class TestObservations:
    def test_what_is_so_again_is_not_told_as_ended(self, memory: Hindsight) -> None:
        _tell(memory, "Mr Boyd smokes ten cigarettes a day.", "Mr Boyd stopped smoking in March.")
        assert len(_observations(memory)) == 1
        _tell(memory, "Mr Boyd started smoking again.")
        assert not _observations(memory)

    def test_whom_something_is_given_is_no_topic(self, memory: Hindsight) -> None:
        _tell(memory, "Sera gave the map to Borin.", "Sera hates dwarves, except Borin.")
        assert not _observations(memory)

    def test_whom_something_happens_to_is_no_topic(self, memory: Hindsight) -> None:
        _tell(memory, "Mags was chosen captain.", "Joss, who plays Mags, is a vegetarian.")
        assert not _observations(memory)

    def test_a_relative_is_no_topic(self, memory: Hindsight) -> None:
        _tell(memory, "The bible is with my aunt in Ripon.", "My aunt gave a speech at the museum.")
        assert not _observations(memory)


class TestOpinions:
    def test_one_for_and_one_against_make_none(self, memory: Hindsight) -> None:
        _tell(memory, "The tram line is a disaster for us.")
        _say(memory, ("Vera", "The tram line is wonderful."))
        assert not memory.opinions.form("b", "the tram line")

    def test_what_was_thought_of_a_thing_since_replaced_is_out_of_date(
        self, memory: Hindsight
    ) -> None:
        _tell(memory, "The water pump is terrible.", "The water pump was replaced on Friday.")
        assert not memory.opinions.form("b", "the water pump")
        _tell(memory, "The water pump is excellent.")
        (formed,) = memory.opinions.form("b", "the water pump")
        assert "well spoken of (1 for, 0 against)" in formed.text

    def test_a_judgement_that_was_taken_back_counts_no_more(self, memory: Hindsight) -> None:
        _say(memory, ("Jo", "The festival is awful."), ("Jo", "I was wrong about the festival."))
        assert not memory.opinions.form("b", "the festival")
