"""The last remarks of a conversation, and the insights a language model draws from them.

Every so many remarks the model looks back on them. What it learns is kept, what mattered little
is let go, and `context` puts the rest before the next prompt. The model is asked with no lock
held, and one that fails changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import Closing, twin
from hindsight_integrations.conversation.background import Tasks
from hindsight_integrations.conversation.insights import (
    Insight,
    InsightsReply,
    merge,
    read_insights,
)
from hindsight_integrations.conversation.keeping import InBank, InProcess, Keeping
from hindsight_integrations.conversation.remarks import Remark
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import ClosedError, InvalidInputError, ModelError
from hindsight_integrations.language.llm import ModelUsage, as_model
from hindsight_integrations.model import as_moment, utc_now
from hindsight_integrations.naming import new_id
from hindsight_integrations.prompts import DRAW_INSIGHTS, LEARNT, Rendered, as_data
from hindsight_integrations.retain.fence import fence

RECENT = 20
"""Remarks that a prompt is preceded by."""
INSIGHTS = 10
"""Insights kept."""
EVERY = 15
"""Remarks from one reflection to the next."""
THRESHOLD = 0.5
"""Weight below which a remark is let go once it was reflected on."""

_READ_CHARS = 4_000
"""Characters of a remark that the model reads: one long paste must not drown the rest."""

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


class ReflectionMemory(Closing):
    """Short-term memory that learns. Threads may share it.

    It needs nothing but a language model, and then lasts as long as this object. With `memory`
    and `bank_id` it survives the process, and its insights are observations of the bank, which
    recall finds, and which may be corrected or forgotten there.

    Args:
        llm: a LangChain chat model, a LlamaIndex LLM, or a function (system, user) -> reply.
        memory: an open `Hindsight`, which stays its owner's.
        bank_id: which bank; made if there is none.
        session_id: tells apart the reflection memories of one bank.
        recent: how many remarks `context` shows.
        insights: how many insights are kept, the best.
        every: after how many remarks to reflect; 0 leaves it to calls of `reflect`.
        threshold: remarks that weigh less are let go once they were reflected on; see
            `Remark.weight`.
        background: reflect in a thread, so that `add_message` need not wait for the model.

    Raises:
        InvalidInputError: an argument cannot be used.
        StoreError: the bank cannot be read or written.

    Example:
        >>> learning = ReflectionMemory(lambda system, user: "Alice prefers trains.", every=2)
        >>> _ = learning.add_message("Alice", "I took the train to Porto.")
        >>> _ = learning.add_message("Alice", "I never fly if I can help it.")
        >>> [insight.text for insight in learning.insights]
        ['Alice prefers trains.']
    """

    def __init__(
        self,
        llm: object,
        *,
        memory: Hindsight | None = None,
        bank_id: str | None = None,
        session_id: str = "reflection",
        recent: int = RECENT,
        insights: int = INSIGHTS,
        every: int = EVERY,
        threshold: float = THRESHOLD,
        background: bool = False,
    ) -> None:
        if (memory is None) != (bank_id is None):
            raise InvalidInputError("give both memory and bank_id to keep it in a bank, or neither")
        self._model = as_model(llm)
        self._most_recent = checks.positive("recent", recent)
        self._most_insights = checks.positive("insights", insights)
        self._every = checks.not_negative("every", every)
        self._threshold = checks.share("threshold", threshold)
        self._background = background
        self._keeping: Keeping = InProcess()
        if memory is not None:
            self._keeping = InBank(memory, checks.bank_id(bank_id), session_id, self._model.id)
        self._learning = Lock()  # guards the insights, which take time to be embedded
        self._turn = Lock()  # guards everything below, and the remarks
        self._since = sum(not remark.reflected for remark in self._keeping.remarks())
        self._usage = ModelUsage()
        self._closed = False
        self._tasks = Tasks("hindsight-reflection")

    @property
    def recent(self) -> tuple[Remark, ...]:
        """The last remarks, as far as they were not let go, oldest first."""
        return tuple(self._keeping.remarks()[-self._most_recent :])

    @property
    def insights(self) -> tuple[Insight, ...]:
        """What was learnt, the most important first."""
        return merge(self._keeping.insights(), (), self._most_insights)

    @property
    def usage(self) -> ModelUsage:
        """What the reflections so far took of the model, as far as it says."""
        return self._usage

    @property
    def failures(self) -> int:
        """Reflections that failed without anyone waiting for them."""
        return self._tasks.failures

    @property
    def last_error(self) -> Exception | None:
        """Why the last of them failed."""
        return self._tasks.last_error

    def add_message(
        self,
        speaker: str,
        text: str,
        timestamp: datetime | None = None,
        *,
        importance: float | None = None,
    ) -> Remark:
        """Keep a remark, and reflect if it is time to; a reflection that fails is logged.

        Args:
            speaker: a name, or a role such as "user" or "assistant".
            text: what was said.
            timestamp: when; now if not given, and UTC if it carries no timezone.
            importance: 0 (let it go) to 1; by age and length if not given.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was kept.
            StoreError: it could not be stored.
        """
        if checks.is_blank(checks.text(text, "text")):
            raise InvalidInputError("text is blank; give at least one visible character")
        remark = Remark(
            id=uuid.uuid4().hex,
            speaker=checks.label("speaker", speaker),
            text=checks.text(text, "text"),
            timestamp=as_moment(checks.moment("timestamp", timestamp)),
            importance=None if importance is None else checks.share("importance", importance),
        )
        with self._turn:
            if self._closed:
                raise ClosedError("this reflection memory is closed; make a new one")
            self._keeping.add(remark)
            # What waits for its first reflection stays, even if fewer are shown.
            longest = max(self._most_recent, self._every)
            self._keeping.settle((), self._keeping.remarks()[:-longest])
            self._since += 1
            due = 0 < self._every <= self._since
            if due:
                self._since = 0  # claimed: no other thread reflects on the same
                if self._background:
                    self._tasks.submit(self.reflect)
        if due and not self._background:
            self._tasks.run(self.reflect)
        return remark

    def reflect(self) -> tuple[Insight, ...]:
        """Draw insights from the remarks there are, now; returns those kept from then on.

        Raises:
            ModelError: the model failed, or gave nothing usable; all is as it was.
            StoreError: the bank could not be read or written.
        """
        with self._turn:
            self._since = 0
            remarks, known = self._keeping.remarks(), self._keeping.insights()
        if not remarks:
            return self.insights
        now = utc_now()
        drawn = self._ask(self._prompt(remarks, known, now), now)
        low = [each for each in remarks if each.weight(now) < self._threshold]
        rest = [replace(each, reflected=True) for each in remarks if each not in low]
        with self._learning:
            before = self._keeping.insights()
            self._keeping.exchange(before, merge(before, drawn, self._most_insights))
        with self._turn:
            self._keeping.settle(rest, low)
        return self.insights

    def context(
        self, prompt: str | None = None, *, system: str | None = None
    ) -> list[dict[str, str]]:
        """Messages for a chat model: system, insights, recent remarks, prompt.

        Each has a "role" and a "content", which LangChain's chat models take as they are, and
        LlamaIndex's as `ChatMessage(**message)`. The insights are fenced, so that they are not
        remembered as if they had been said. A speaker who is neither user nor assistant is named.
        """
        messages = [] if system is None else [_message("system", system)]
        if insights := self.insights:
            lines = "\n".join(f"- {insight.text}" for insight in insights)
            messages.append(_message("system", fence(f"{LEARNT}\n{lines}")))
        messages += map(_as_message, self.recent)
        return messages if prompt is None else [*messages, _message("user", prompt)]

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait until reflections in the background have ended; whether `timeout` sufficed."""
        return self._tasks.wait(timeout)

    def close(self) -> None:
        """Wait until nothing is left to do in the background. Twice is harmless."""
        with self._turn:
            self._closed = True
        self._tasks.close()

    def __repr__(self) -> str:
        return f"ReflectionMemory({self._model.id}, failures={self.failures})"

    def _prompt(
        self, remarks: Sequence[Remark], known: Sequence[Insight], now: datetime
    ) -> Rendered:
        said = [
            f"{each.timestamp:%Y-%m-%d %H:%M} [{each.weight(now):.2f}] {each.speaker}: "
            f"{each.text[:_READ_CHARS]}"
            for each in remarks
        ]
        return DRAW_INSIGHTS.render(
            most=self._most_insights,
            before=as_data("before", "\n".join(f"- {each.text}" for each in known)),
            passage=as_data("passage", "\n".join(said)),
        )

    def _ask(self, prompt: Rendered, now: datetime) -> list[Insight]:
        try:
            reply = self._model.send(prompt.system, prompt.user, InsightsReply)
        except Exception as error:
            raise ModelError(
                f"{self._model.id} raised {type(error).__name__} when asked for insights; its "
                "cause tells more"
            ) from error
        with self._turn:
            self._usage += reply.usage
        return [
            Insight(new_id("insight-"), each.text, each.importance, now)
            for each in read_insights(reply)
        ]

    aadd_message = twin(add_message)
    areflect = twin(reflect)
    acontext = twin(context)
    await_idle = twin(wait_idle)
    aclose = twin(close)


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _as_message(remark: Remark) -> dict[str, str]:
    role = _ROLES.get(remark.speaker.casefold())
    if role is None:
        return _message("user", f"{remark.speaker}: {remark.text}")
    return _message(role, remark.text)
