"""`hindsight-memory demo`: recall beside plain vector search, on a story that ships with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hindsight_integrations.cli.options import JsonOption
from hindsight_integrations.cli.screen import Screen


def demo(
    question: Annotated[
        list[str] | None,
        typer.Option("--question", "-q", help="Ask this instead of the story's; repeatable."),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep the memory in, to go on with.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Retain nine months of conversation, and compare recall with plain vector search."""
    started = time.perf_counter()
    from hindsight_integrations.demo import compare, screen
    from hindsight_integrations.demo.story import load_story
    from hindsight_integrations.engine import Hindsight

    output = Screen(as_json)
    story = load_story()
    output.draw(screen.opening(story))
    with _folder(keep) as folder, Hindsight(folder) as memory:
        with output.progress("Retaining") as report:
            retained = compare.remember(memory, story, report)
        output.draw(screen.retained(retained, len(story.messages)))
        plain = compare.PlainSearch(story, memory.embedder)
        asked = [story.ask(text) for text in question] if question else story.questions
        found: list[compare.Comparison] = []
        for number, each in enumerate(asked, start=1):
            found.append(compare.compare(memory, plain, story, each))
            output.draw(screen.comparison(found[-1], story, number))
    seconds = time.perf_counter() - started
    output.draw(screen.tally(found, seconds))
    answers = [{"question": c.question, "plain": c.plain, "recall": c.recall} for c in found]
    output.data({"retained": retained, "questions": answers, "seconds": seconds})


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder to keep, or one that goes when the demo is over."""
    if keep is not None:
        yield keep
    else:
        with TemporaryDirectory(prefix="hindsight-demo-") as folder:
            yield Path(folder)
