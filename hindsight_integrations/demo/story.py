"""The story of the demo: a conversation of eight months, and questions about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import groupby

from hindsight_integrations.models import Message


@dataclass(frozen=True, slots=True)
class StoryMessage:
    """One message of the conversation."""

    id: str
    session: str
    time: datetime
    speaker: str
    text: str

    @property
    def line(self) -> str:
        """Speaker and text."""
        return f"{self.speaker}: {self.text}"

    @property
    def said(self) -> Message:
        """The message as it is retained."""
        return Message(self.speaker, self.text, self.time, self.id)


@dataclass(frozen=True, slots=True)
class StoryQuestion:
    """A question on the story.

    Attributes:
        kind: its difficulty, in a word.
        asked_at: the time that "last spring" is counted from.
        evidence: ids of the messages that answer it together.
        why: why plain vector search fails on it, if it does.
    """

    question: str
    asked_at: datetime
    kind: str = "your own"
    evidence: tuple[str, ...] = ()
    answer: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """Messages in order of time, and questions."""

    messages: tuple[StoryMessage, ...]
    questions: tuple[StoryQuestion, ...]

    @property
    def sessions(self) -> Mapping[str, Sequence[StoryMessage]]:
        """The messages of each session, in order of time."""
        grouped = groupby(self.messages, key=lambda message: message.session)
        return {session: tuple(messages) for session, messages in grouped}

    @property
    def speakers(self) -> Sequence[str]:
        """Names of the speakers, in order of appearance."""
        return tuple(dict.fromkeys(message.speaker for message in self.messages))

    def message(self, message_id: str) -> StoryMessage:
        """Return the message of this id."""
        return next(message for message in self.messages if message.id == message_id)

    def ask(self, question: str) -> StoryQuestion:
        """Return a question of the user, asked at the time of the story's last one."""
        return StoryQuestion(question, max(known.asked_at for known in self.questions))


def load_story() -> Story:
    """Read the story from the package's files."""
    folder = files(__package__)
    lines = (folder / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    return Story(
        messages=tuple(_message(json.loads(line)) for line in lines),
        questions=tuple(map(_question, questions)),
    )


def _message(fields: Mapping[str, str]) -> StoryMessage:
    return StoryMessage(
        id=fields["id"],
        session=fields["session"],
        time=datetime.fromisoformat(fields["time"]),
        speaker=fields["speaker"],
        text=fields["text"],
    )


def _question(fields: Mapping[str, str]) -> StoryQuestion:
    return StoryQuestion(
        question=fields["question"],
        asked_at=datetime.fromisoformat(fields["query_time"]),
        kind=fields["kind"],
        evidence=tuple(fields["evidence"]),
        answer=fields["answer"],
        why=fields["why"],
    )
