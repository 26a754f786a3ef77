"""Type hints: mypy accepts what works at runtime, and refuses what does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
from datetime import date, datetime
from hindsight_integrations import Hindsight, Memory, Settings
from hindsight_integrations.results import Recalled

m = Hindsight.in_memory(settings=Settings())
first: Recalled = m.recall("a", "q", budget="low", query_time="2024-05-07")[0]
day = date(2024, 5, 7)
some: list[Recalled] = list(m.recall("a", "q", window=(day, None), as_of=day)[0:1])
page: list[Memory] = list(m.memories.list("a", state="any", tags_match="all")[0:2])
one: Memory = m.memories.list("a", changed_since=datetime(2024, 5, 7))[0]
reason: str | None = m.memories.history("a", "m")[0].reason
reason = m.mental_models.history("a", "m")[0].reason
Hindsight.from_env(path="p", settings=Settings())
Hindsight.restore("b", "p", reranker=None)
"""
WRONG = (
    "Hindsight.in_memory(setings=3)",
    "Hindsight.from_env(foo=3)",
    "Hindsight.restore('b', 'p', foo=3)",
    "m.recall('a', 'q', budget='lo')",
    "m.recall('a', 'q', tags_match='some')",
    "m.memories.list('a', state='gone')",
)


@pytest.mark.slow
def test_mypy_accepts_what_works_and_refuses_what_does_not(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + "\n".join(WRONG) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    first = PROGRAM.count("\n") + 1
    assert lines == set(range(first, first + len(WRONG))), done.stdout + done.stderr


AGENTS = """
from dataclasses import dataclass
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from hindsight_integrations import Hindsight
from hindsight_integrations.langchain import HindsightMiddleware

@dataclass
class Context:
    user_id: str

model = FakeListChatModel(responses=["Noted."])
remembering = HindsightMiddleware(Hindsight.in_memory(), lambda runtime: runtime.context.user_id)
create_agent(model, middleware=[remembering], context_schema=Context)
create_agent(model, middleware=[SummarizationMiddleware(model), remembering])
create_agent(model, middleware=[remembering, HumanInTheLoopMiddleware({"retain": True})])
"""


@pytest.mark.slow
def test_mypy_accepts_the_middleware_with_a_context_and_beside_others(tmp_path: Path) -> None:
    file = tmp_path / "agents.py"
    file.write_text(AGENTS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as opened:
        opened.retain_many("a", ["Anna met Otto.", "Anna met Bert."])
        yield opened


def test_page_and_result_can_be_sliced(memory: Hindsight) -> None:
    page = memory.memories.list("a")
    assert list(page[0:2]) == list(page.items)
    result = memory.recall("a", "Whom did Anna meet?")
    assert result[0:1] == result.memories[:1]
