"""`context` and `reflect` as a user calls them."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import BankNotFoundError, ClosedError, Hindsight, Settings
from hindsight_integrations.namespaces.mental_models import MentalModels
from hindsight_integrations.reflect.answer import ITERATIONS, SECONDS
from hindsight_integrations.results import NOTHING_CERTAIN, NOTHING_KNOWN
from tests.reflect.models import Script, answer

DOCS = Path(__file__).parent.parent / "docs" / "reflect.md"
QUESTION = "Where does Ana sail?"


@pytest.fixture
def told() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("b", "Ana sails on the Baltic in summer.", tags=["sea"])
        memory.retain("b", "Ana keeps her boat in Kiel.")
        yield memory


@pytest.fixture(scope="module")
def diary() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for day, text in DIARY.items():
            memory.retain("b", text, timestamp=datetime.fromisoformat(day))
        yield memory


def test_without_a_language_model_the_answer_is_quoted_from_what_states_it(
    told: Hindsight,
) -> None:
    reflection = told.reflect("b", QUESTION)
    [item] = [item for item in reflection.context if "Baltic" in item.text]
    assert reflection.text == f"“Ana sails on the Baltic in summer.” [{item.label}]"
    assert reflection.sources == (item.id,)
    assert reflection.extractive
    assert reflection.usage.calls == 0
    assert reflection.structured is None


@pytest.mark.parametrize(
    ("before", "now", "questions"),
    [
        ("Our carrier is Vodafone.", "We switched to Telekom.", ("Which carrier do we use?",)),
        ("I live in Porto.", "I moved to Lisbon.", ("Where do I live?", "Do I live in Porto?")),
        ("Bob works at Acme.", "Bob left Acme for Globex.", ("Does Bob work at Acme?",)),
        ("We use Postgres.", "We no longer use Postgres.", ("Do we use Postgres?",)),
        ("We use Postgres.", "We no longer use Postgres.", ("Which database do we use?",)),
        ("The key is in the drawer.", "The key is now with Ana.", ("Where is the key?",)),
        ("Mia works as a nurse.", "Mia is now a teacher.", ("Does Mia work as a nurse?",)),
        ("The code is 1234.", "The code was reset to 9876.", ("What is the code?",)),
        ("Tom tends the bar.", "Mia took over the bar from Tom.", ("Who tends the bar?",)),
        (
            "The chess club meets in the library.",
            "The club no longer meets in the library; it meets in the inn.",
            ("Where does the chess club meet?",),
        ),
    ],
)
def test_what_was_overtaken_is_no_answer_and_what_became_of_it_is_quoted(
    memory: Hindsight, before: str, now: str, questions: tuple[str, ...]
) -> None:
    memory.retain("b", before, timestamp=datetime(2025, 1, 6, tzinfo=UTC))
    memory.retain("b", now, timestamp=datetime(2025, 3, 9, tzinfo=UTC))
    for question in questions:
        reflection = memory.reflect("b", question)
        assert reflection.text.startswith(f"“{now}” (said 9 Mar 2025) ["), question
        assert before not in reflection.text


def test_what_no_memory_states_is_not_known(told: Hindsight) -> None:
    for question in ("What is the capital of Peru?", "What is Ana's dog called?", "Who is Bo?"):
        reflection = told.reflect("b", question)
        assert not reflection
        nothing = NOTHING_CERTAIN if reflection.nearest else NOTHING_KNOWN
        assert reflection.text.splitlines()[0] == nothing
        assert reflection.sources == ()


def test_a_text_that_asks_nothing_gets_what_is_known_of_it(told: Hindsight) -> None:
    assert len(told.reflect("b", "Tell me about Ana.").sources) == 2
    assert not told.reflect("b", "Tell me about Peru.")


def test_when_is_answered_with_a_dated_list_and_how_many_with_the_number(told: Hindsight) -> None:
    told.retain("b", "The regatta starts on 4 May 2025 and ends on 6 May 2025.")
    told.retain("b", "The club has seven dinghies.")
    assert told.reflect("b", "When does the regatta start?").text.startswith("- 4 May 2025: “")
    assert told.reflect("b", "How many dinghies does the club have?").text.startswith("seven: “")
    assert not told.reflect("b", "How many members does the club have?")


@pytest.mark.parametrize(
    ("said", "question", "lead"),
    [
        ("I can't swim.", "Can I swim?", "No: "),
        ("I eat fish.", "Do I eat fish?", "Yes: "),
        ("I do not eat fish.", "Do I eat fish?", "No: "),
        ("I used to smoke but not any more.", "Do I smoke?", ""),
        ("I almost bought a boat.", "Did I buy a boat?", ""),
        ("Anna said that Peter likes jazz.", "Does Peter like jazz?", ""),
        ("I don't think Mia eats meat.", "Does Mia eat meat?", ""),
        ("I prefer tabs over spaces.", "Do I prefer tabs or spaces?", ""),
        ("My car isn't red, it's blue.", "Is my car red?", ""),
        ("Alice likes tea.", "Does Alice like tea?", "Yes: "),
        ("I can't stand tea.", "Do I like tea?", "No: "),
        ("Ben likes that Mia plays chess.", "Does Mia play chess?", ""),
        ("Mia moved from Porto to Rome.", "Does Mia live in Porto?", "No: "),
        ("Mia lives in Porto.", "Is Mia still in Porto?", "Yes: "),
        ("Mia lives in Porto.", "Is Mia in Porto?", ""),
        ("We no longer eat fish.", "Do we still eat fish?", "No: "),
        ("We don't eat fish any more.", "Do we still eat fish?", "No: "),
        ("I don't own a car.", "Do I own a car?", "No: "),
        ("Mia quit smoking.", "Does Mia still smoke?", "No: "),
        ("I don't like fish at all.", "Do I like fish?", "No: "),
        ("We have three kids.", "How many kids do we have?", "three: "),
        ("I heard that Mia has three kids.", "How many kids does Mia have?", ""),
        ("The release slipped from 3 May to 10 May.", "When is the release?", "- "),
    ],
)
def test_a_lead_is_given_only_by_a_plain_statement(said: str, question: str, lead: str) -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain_messages("b", [{"role": "user", "content": said}])
        assert memory.reflect("b", question).text.startswith(f"{lead}user: “{said}”")


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("My wife's name is Clara.", "What's my wife's name?"),
        ("Only Jana has access to prod.", "Who has access to prod?"),
        ("I am allergic to peanuts, so no satay for me.", "What am I allergic to?"),
        ("The budget for Q3 is 45k, not 54k.", "What is the budget for Q3?"),
        ("We meet every Tuesday at 10.", "When do we meet?"),
        ("We deploy with make ship.", "How do we deploy?"),
        ("Mia goes to work by bike.", "Do you know how Mia goes to work?"),
        ("Ben said the printer might be broken.", "Did Ben say anything about the printer?"),
        ("Tom lives in Rome.", "Can you tell me where Tom lives?"),
        ("The team uses Linear.", "List the tools the team uses."),
        ("Put soap on the shopping list.", "What's on the shopping list?"),
        ("The key is with Ana.", "Where is the key?"),
        ("Tom has two sons, Emil and Jo.", "What are the names of Tom's sons?"),
        ("I set up the jobs to run at 2 am each night.", "When do the jobs run?"),
        ("Tom used to work at Acme.", "Where did Tom work before?"),
        ("We switched from MySQL to Postgres.", "Which database do we use?"),
        ("Standup is at 9:15.", "When is standup?"),
        ("To open the gate, lift the latch.", "How do I open the gate?"),
        ("Images are compressed with Squoosh.", "How do we compress images?"),
    ],
)
def test_everyday_statements_answer(said: str, question: str) -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain_messages("b", [{"role": "user", "content": said}])
        assert said in memory.reflect("b", question).text


@pytest.mark.parametrize(
    ("note", "question", "sentence"),
    [
        (
            "# Bluebird & Co\n\nMarta Lind signed the contract with Bluebird.",
            "Who signed the contract with Bluebird?",
            "Marta Lind signed the contract with Bluebird.",
        ),
        (
            "# Harbour office\nOtto manages the harbour office.",
            "Who manages the harbour office?",
            "Otto manages the harbour office.",
        ),
        (
            "Project notes\n\nTess leads the harbour project.",
            "Who leads the harbour project?",
            "Tess leads the harbour project.",
        ),
        (
            "## Kitchen\n\nBea painted it green.\n\n## Hall\n\nTom painted the hall white.",
            "Who painted the hall?",
            "Tom painted the hall white.",
        ),
    ],
)
def test_a_note_is_quoted_without_its_headings(note: str, question: str, sentence: str) -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("b", note)
        reflection = memory.reflect("b", question)
    assert reflection.text.startswith(f"“{sentence}” [")


@pytest.mark.parametrize(
    ("note", "question"),
    [
        ("# Does Otto like tea?\n\nNobody knows.", "Does Otto like tea?"),
        ("# Who leads the project?\n\nTo be decided.", "Who leads the project?"),
    ],
)
def test_a_heading_that_asks_answers_nothing(note: str, question: str) -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("b", note)
        assert not memory.reflect("b", question)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Mia deploys with Ben on Fridays.", "How does Mia deploy?"),
        ("Mia asked Ben to fix the printer.", "Did Ben fix the printer?"),
        ("Mia asked what Ben said about the printer.", "What did Ben say about the printer?"),
        ("Ben was told that the printer is new.", "What did Ben say about the printer?"),
        ("Tom hates that Mia likes jazz.", "Does Tom like jazz?"),
        ("Tom likes jazz clubs.", "Does Tom like jazz?"),
        ("I live in Porto.", "Where did I live before?"),
        ("Mia works with a team in Berlin.", "Is Mia still in Berlin?"),
        ("Mia's dog died in May.", "When does Mia have a dog?"),
        ("The list is on the fridge.", "What is on the list?"),
        ("Mia is in Rome.", "Do you know if Mia likes Rome?"),
        ("Mia is on leave.", "Where is Mia?"),
        ("Bread is sold at the market.", "Do we sell bread?"),
        ("Book the gym for Friday.", "What did we book?"),
    ],
)
def test_what_only_sounds_alike_does_not_answer(said: str, question: str) -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain("b", said)
        assert not memory.reflect("b", question)


def test_what_was_before_is_what_a_newer_memory_overtook(memory: Hindsight) -> None:
    told = {
        "2025-01-06": ("Ana", "I live in Porto."),
        "2025-02-06": (None, "Sven is the treasurer of the club."),
        "2025-03-09": ("Ana", "I moved to Lisbon."),
        "2025-04-09": (None, "Sven stepped down; Keiko is now the treasurer."),
    }
    for day, (speaker, text) in told.items():
        memory.retain("b", text, speaker=speaker, timestamp=datetime.fromisoformat(day))
    answers = {
        question: memory.reflect("b", question).text
        for question in (
            "Where did I live before?",
            "Where did Ana live before Lisbon?",
            "Who was the treasurer before Keiko?",
            "Who was the treasurer before Bo?",
            "Is Ana still in Porto?",
        )
    }
    before, of_ana, treasurer, nobody, still = answers.values()
    assert before.startswith("Ana: “I live in Porto.” (said 6 Jan 2025, changed since) [")
    assert of_ana == before
    assert treasurer.startswith("“Sven is the treasurer of the club.” (said 6 Feb 2025) [")
    assert nobody.startswith("Nothing known")
    assert still.startswith("No: Ana: “I moved to Lisbon.” (said 9 Mar 2025) [")


DIARY = {
    "2024-09-07": "I repaired the fence with Omar.",
    "2024-09-12": "We launched the Larkspur beta. Alice likes green tea.",
    "2024-09-14": "Maybe Carla broke the build. If it breaks, Bruno fixed it last time.",
    "2024-09-16": "Bruno did not come to the meeting. We should move it to ten.",
    "2024-09-18": "In October Alice will open an office in Lyon. The weather was awful.",
    "2024-09-20": "The Larkspur team hired Dana as a designer. She starts in October.",
    "2024-09-25": "Alice has presented the plan to the board.",
    "2024-10-02": "On 3 September the database went down.",
    "2024-11-20": "The printer on the third floor was replaced.",
}


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What happened in September 2024?", [3, 7, 12, 20, 25]),
        ("What happened on 3 September 2024?", [3]),
        ("What did Alice do in September 2024?", [25]),
        ("What did we do in September 2024?", [7, 12]),
        ("What happened to the printer in November 2024?", [20]),
        ("What happened to the printer in September 2024?", []),
        ("What did Bruno do in September 2024?", []),
        ("What did Carla do in September 2024?", []),
        ("What happened in October 2024?", []),
    ],
)
def test_what_happened_in_a_time_is_answered_with_the_events_of_it(
    diary: Hindsight, question: str, days: list[int]
) -> None:
    found = diary.reflect("b", question, query_time=datetime(2024, 12, 1, tzinfo=UTC))
    assert [int(day) for day in re.findall(r"^- (\d+) \w{3} 2024: ", found.text, re.M)] == days
    assert len(found.sources) == len(days)
    assert found.text.startswith("- ") == bool(days)


def test_the_engines_own_language_model_is_asked_unless_another_is_given() -> None:
    def reply(system: str, user: str) -> dict[str, Any]:
        if "draw facts" in system:
            return {"facts": [{"text": "Ana sails.", "type": "world"}]}
        return answer("Somewhere.")

    own, other = Script(reply), Script(answer("Elsewhere."))
    with Hindsight.in_memory(llm=own, settings=Settings(consolidate=False)) as memory:
        memory.retain("b", "Ana sails.")
        own.asked.clear()
        assert memory.reflect("b", QUESTION).text == "Somewhere."
        assert memory.mental_models.create("b", "Ana", source_query="Ana?").text == "Somewhere."
        assert len(own.asked) == 2
        assert memory.reflect("b", QUESTION, llm=other).text == "Elsewhere."
        assert len(own.asked) == 2


def test_filters_reach_what_the_model_sees(told: Hindsight) -> None:
    script = Script(answer("On the Baltic."))
    told.reflect("b", QUESTION, llm=script, tags=["sea"])
    [(_, user)] = script.asked
    assert "Baltic" in user
    assert "Kiel" not in user


def test_beliefs_alone_can_be_reflected_on(told: Hindsight) -> None:
    told.retain("b", "Ana finds the Baltic cold.", type="opinion")
    script = Script(answer("It is cold."))
    reflection = told.reflect("b", QUESTION, llm=script, types=["opinion"])
    assert "Baltic cold" in script.asked[0][1]
    assert "Kiel" not in script.asked[0][1]
    assert [len(lookup.found) for lookup in reflection.lookups] == [0, 0, 1]


@pytest.mark.parametrize("verb", ["context", "reflect"])
def test_a_bank_that_is_not_there_is_an_error(told: Hindsight, verb: str) -> None:
    with pytest.raises(BankNotFoundError):
        getattr(told, verb)("nowhere", QUESTION)
    told.close()
    with pytest.raises(ClosedError):
        getattr(told, verb)("b", QUESTION)


def test_a_reflection_reads_well(told: Hindsight) -> None:
    def citing(system: str, user: str) -> dict[str, Any]:
        return answer(f"In Kiel [{re.findall(r'Kiel. .(m-[0-9a-f]+)', user)[0]}].")

    reflection = told.reflect("b", QUESTION, llm=Script(citing))
    assert reflection
    assert str(reflection) == reflection.text
    assert repr(reflection) == f"Reflection({reflection.text!r}, 1 source, 1 model call)"
    shown = reflection._repr_markdown_()
    assert shown.startswith(reflection.text)
    assert "**Sources**" in shown
    assert "Ana keeps her boat in Kiel." in shown
    assert "Baltic" not in shown
    plain = told.reflect("b", QUESTION)
    assert plain._repr_markdown_().startswith(plain.text)
    assert "1 source, extractive" in repr(plain)


@pytest.mark.parametrize("kind", [Hindsight, MentalModels])
def test_every_verb_has_a_twin_of_the_same_signature(kind: type) -> None:
    names = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    plain = {name for name in names if not inspect.iscoroutinefunction(getattr(kind, name))}
    assert {f"a{name}" for name in plain} == names - plain
    for name in plain:
        async_variant = getattr(kind, f"a{name}")
        assert inspect.signature(async_variant) == inspect.signature(getattr(kind, name))


async def test_twins_do_the_same_inside_a_running_loop(told: Hindsight) -> None:
    script = Script(answer("On the Baltic."))
    context, reflection, model = await asyncio.gather(
        told.acontext("b", QUESTION),
        told.areflect("b", QUESTION, llm=script),
        told.mental_models.acreate("b", "Payroll", text="Salaries go out on the first."),
    )
    assert context == told.context("b", QUESTION)
    assert reflection == told.reflect("b", QUESTION, llm=script)
    assert await told.mental_models.aget("b", model.id) == told.mental_models.get("b", model.id)


def test_the_documentation_runs_and_shows_what_it_gives(capsys: pytest.CaptureFixture[str]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), names)
    printed = capsys.readouterr().out
    names["memory"].close()
    shown = re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(shown) == 6
    for each in shown:
        assert _comparable(each) in _comparable(printed)
    assert json.dumps(ITERATIONS) in text
    assert f"({SECONDS:g} s)" in text


def _comparable(text: str) -> str:
    """Without what differs from run to run: labels and the day."""
    return re.sub(r"\d+ \w{3} \d{4}", "DAY", re.sub(r"m-[0-9a-f]{6,}", "LABEL", text)).strip()
