"""What is measured: something that remembers a bank's items and answers its questions."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from hindsight_integrations._version import __version__
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.evaluate.dataset import DataBank, DataQuestion
from hindsight_integrations.evaluate.metrics import Hit
from hindsight_integrations.model import Memory, Message
from hindsight_integrations.results import Recalled
from hindsight_integrations.retain.request import Item


@dataclass(frozen=True, slots=True)
class Remembered:
    """How many memories a bank's items made, and in what time; None if they were kept."""

    memories: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system found, best first, and the parts of it that failed on the way."""

    hits: tuple[Hit, ...]
    failures: tuple[str, ...] = ()


class System(Protocol):
    """One way to remember and to answer.

    Attributes:
        name: as it stands in a table.
        packs: whether an answer is made for the token budget asked for. One that is not is a
            ranking, and counts up to where its tokens reach the budget.
    """

    name: str
    packs: bool

    def remember(self, bank: DataBank, report: Callable[[int], None]) -> Remembered:
        """Take in the items of a bank; what went before it may be forgotten.

        `report` is called with the number of items done.
        """
        ...

    def answer(self, bank: DataBank, question: DataQuestion, max_tokens: int) -> Answer:
        """Answer a question about the bank remembered last."""
        ...


class HindsightSystem:
    """This package, through its public methods alone.

    Each bank of the data becomes a bank of its own; one that holds the same items already is
    taken as it is.
    """

    name = "hindsight"
    packs = True

    def __init__(self, memory: Hindsight, dataset: str, budget: str) -> None:
        self._memory = memory
        self._dataset = dataset
        self._budget = budget

    def remember(self, bank: DataBank, report: Callable[[int], None]) -> Remembered:
        """Retain conversations by session, and the other items as single texts."""
        bank_id = self.bank_id(bank)
        banks = self._memory.banks
        content = f"items {_fingerprint(bank)}"
        try:
            kept = banks.get(bank_id).background
        except BankNotFoundError:
            kept = None
        if kept == content:
            return Remembered(banks.stats(bank_id).memories, None)
        if kept is not None:
            banks.delete(bank_id)
        banks.create(bank_id, name=f"{self._dataset}: {bank.id}")
        started = time.perf_counter()
        self._retain(bank_id, bank, report)
        seconds = time.perf_counter() - started
        self._memory.wait_idle()  # observations are drawn before anything is asked
        banks.update(bank_id, background=content)
        return Remembered(banks.stats(bank_id).memories, seconds)

    def answer(self, bank: DataBank, question: DataQuestion, max_tokens: int) -> Answer:
        """Recall with the question's own moment and the budget given."""
        result = self._memory.recall(
            self.bank_id(bank),
            question.question,
            max_tokens=max_tokens,
            budget=self._budget,
            query_time=question.time,
        )
        return Answer(tuple(map(_hit, result)), tuple(map(str, result.failures)))

    def bank_id(self, bank: DataBank) -> str:
        """The bank that holds a bank of the data."""
        return f"evaluate/{self._dataset}/{bank.id}"

    def _retain(self, bank_id: str, bank: DataBank, report: Callable[[int], None]) -> None:
        conversations: dict[tuple[str | None, str | None], list[Message]] = {}
        texts: list[Item] = []
        for item in bank.items:
            if item.speaker:
                conversation = conversations.setdefault((item.session, item.title), [])
                conversation.append(Message(item.speaker, item.text, item.ts, item.id))
            else:
                texts.append(Item(item.text, item.ts, item.title, document_id=item.id, id=item.id))
        said = 0
        for (session, title), messages in conversations.items():
            self._memory.retain_messages(bank_id, messages, session=session, context=title)
            said += len(messages)
            report(said)
        result = self._memory.retain_many(
            bank_id, texts, progress=lambda done, total: report(said + done)
        )
        for failed in result.failed:
            raise failed.error


def references(memory: Hindsight, found: Memory) -> Iterator[str]:
    """Ids of the items a memory was stated in; of an observation, of those it quotes."""
    for source in found.sources:
        if source.memory_id is not None:
            quoted = memory.memories.get(found.bank_id, source.memory_id)
            yield from references(memory, quoted)
        elif source.reference is not None:
            yield source.reference


def _hit(recalled: Recalled) -> Hit:
    references = (source.reference for source in recalled.memory.sources)
    ids = tuple(dict.fromkeys(reference for reference in references if reference))
    return Hit(ids, recalled.text, recalled.tokens)


def _fingerprint(bank: DataBank) -> str:
    """Hash of all that a bank's memories are made of, this package's version included."""
    content = f"{__version__} {bank.items!r}".encode(errors="replace")
    return hashlib.blake2b(content, digest_size=16).hexdigest()
