"""Turns of a chat that state nothing: questions, courtesies and answers that give none.

A case is one message, labelled "question", "courtesy", "non-answer" or "statement", and retained as
a session of its own. In `chatter` a statement taken for any of the others counts as wrong; in
`kinds` one of these taken for another.
"""

from __future__ import annotations

from benchmarks.understanding import Score, load
from hindsight_integrations import Hindsight, Message, Settings

STATEMENT = "statement"


def measure(half: str) -> list[Score]:
    """Return a score of what is recognised as chatter, and one of its kinds."""
    title = half.replace("_", " ")
    chatter, kinds = Score(f"chatter, {title}"), Score(f"chatter: kinds, {title}")
    cases = load("chatter", half)
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for number, case in enumerate(cases):
            text, label = case["text"], case["label"]
            memory.retain_messages(str(number), [Message("user", text)], session="s")
            stored = memory.memories.list(str(number)).items
            found = (stored[0].kind if stored else None) or STATEMENT
            line = f"{text} | {label}, found {found}"
            _count(chatter, found != STATEMENT, label != STATEMENT, line)
            if found == label != STATEMENT:
                kinds.right += 1
            elif STATEMENT not in (found, label):
                kinds.wrong.append(line)
    return [chatter, kinds]


def _count(score: Score, found: bool, labelled: bool, line: str) -> None:
    if found and labelled:
        score.right += 1
    elif found:
        score.wrong.append(line)
    elif labelled:
        score.missed.append(line)
