"""Recent exchanges of a conversation, and the insights a language model draws from them.

After a number of exchanges the model reflects on them. Its insights are stored, exchanges of low
weight are dropped, and `context` puts the others before the next prompt. No lock is held while the
model is called, and a failure changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from threading import Lock
from typing import TypeAlias, TypeVar

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import ClosedError, InvalidInputError, ModelError
from hindsight_integrations.models import Message, ModelUsage, utc_now
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.normalization import new_id
from hindsight_integrations.prompts import DRAW_INSIGHTS, LEARNT, Prompt, Rendered, as_data
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.retain.fence import fence
from hindsight_integrations.retain.request import as_messages
from hindsight_integrations.sessions.conversation import Conversation
from hindsight_integrations.sessions.exchanges import (
    ROLES,
    Exchange,
    MemoryEntry,
    exchange_of,
    exchanges_of,
    is_reply,
    overflowing,
)
from hindsight_integrations.sessions.insights import (
    MOST_EVIDENCE,
    Drawn,
    Evidence,
    Insight,
    InsightsReply,
    merge,
    read_insights,
    revise,
)
from hindsight_integrations.sessions.reflection_store import BankStore, ReflectionStore

Item = TypeVar("Item")

RECENT = 20
"""Exchanges shown before a prompt."""
INSIGHTS = 10
"""Insights kept, at most."""
EVERY = 15
"""Exchanges from one reflection to the next."""
THRESHOLD = 0.5
"""Weight below which an exchange is dropped once it was reflected on."""

_BACKLOG = 4
"""Times `every`: exchanges that wait for a reflection while the model is slow or fails."""
_READ_CHARS = 4_000
"""Characters of an entry that the model reads, so that one long paste leaves room for the rest."""
_EVIDENCE_CHARS = 1_000
"""Characters of an exchange that are kept as evidence."""

PromptFunction: TypeAlias = Callable[
    [Sequence[Exchange], Sequence[Insight]], "str | tuple[str, str]"
]
"""Returns the user text, or system and user text, for exchanges and the insights so far."""

ScoreFunction: TypeAlias = Callable[[Exchange, datetime], float]
"""Returns the weight of an exchange at a time, 0 to 1."""


class ReflectionMemory(Conversation):
    """Short-term memory that learns. Threads may share it.

    With a language model alone, it lasts as long as this object. With `memory` and `bank_id` it
    survives the process, and its insights are observations of the bank, which recall finds, and
    which may be corrected or forgotten there.

    A query and the replies to it are one exchange: they are shown, weighed and dropped together.
    `commit` adds both at once; of single messages (`add_message`), those of an assistant join the
    exchange that the last other speaker began.

    Args:
        llm: a LangChain chat model, a LlamaIndex LLM, or a function (system, user) -> reply.
        memory: an open `Hindsight`, which its owner closes.
        bank_id: the bank; created if there is none.
        session_id: distinguishes the reflection memories of one bank.
        recent: number of exchanges that `context` shows.
        insights: number of insights kept, the best.
        every: exchanges from one reflection to the next; 0 leaves it to calls of `reflect`.
        threshold: exchanges of less weight are dropped once they were reflected on.
        prompt: instructions that replace ours, in which `$most` stands for `insights`; or a
            function (exchanges, insights) -> user text, or (system text, user text).
        score: a function (exchange, time) -> weight from 0 to 1, instead of
            `Exchange.weight`.
        background: reflect in a thread, so that adding does not wait for the model; `wait_idle`
            and `close` wait for it. False reflects in the call that adds.

    Raises:
        InvalidInputError: an argument cannot be used.
        StoreError: the bank cannot be read or written.

    Examples:
        >>> learning = ReflectionMemory(lambda system, user: "Alice prefers trains.", every=2)
        >>> _ = learning.commit("I took the train to Porto.", "How was it?")
        >>> _ = learning.commit("Lovely. I never fly if I can help it.", "Noted!")
        >>> learning.wait_idle()
        True
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
        prompt: str | PromptFunction | None = None,
        score: ScoreFunction | None = None,
        background: bool = True,
    ) -> None:
        super().__init__("hindsight-reflection")
        if (memory is None) != (bank_id is None):
            raise InvalidInputError(
                "give both memory and bank_id to store it in a bank, or neither"
            )
        self._model = as_model(llm)
        self._most_recent = validation.positive("recent", recent)
        self._most_insights = validation.positive("insights", insights)
        self._every = validation.not_negative("every", every)
        self._threshold = validation.share("threshold", threshold)
        self._prompt = _prompt(prompt)
        self._score = _score(score)
        self._background = validation.flag("background", background)
        self._zone: tzinfo = UTC
        self._store = ReflectionStore()
        if memory is not None:
            self._zone = validation.memory("memory", memory).settings.zone
            self._store = BankStore(memory, validation.bank_id(bank_id), session_id, self._model.id)
        self._learning = Lock()  # guards the insights, which take time to be embedded
        self._purges = 0
        self._since = sum(not exchange.entries[0].reflected for exchange in self.exchanges)
        self._usage = ModelUsage()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The last exchanges that were not dropped, oldest first."""
        return tuple(exchanges_of(self._store.entries())[-self._most_recent :])

    @property
    def recent(self) -> tuple[MemoryEntry, ...]:
        """The entries of `exchanges`, in order."""
        return tuple(entry for exchange in self.exchanges for entry in exchange.entries)

    @property
    def insights(self) -> tuple[Insight, ...]:
        """The insights kept, the most important first."""
        return merge(self._store.insights(), (), self._most_insights)

    @property
    def usage(self) -> ModelUsage:
        """Tokens the reflections used so far, if the model reports them."""
        return self._usage

    def commit(
        self,
        query: str,
        reply: str,
        timestamp: datetime | None = None,
        *,
        importance: float | None = None,
        speaker: str = "user",
        replier: str = "assistant",
    ) -> Exchange:
        """Store a query with the reply to it, and reflect if it is time to.

        Args:
            query: what was asked or said.
            reply: the answer.
            timestamp: when; now if not given, and in `settings.timezone` if it carries no
                timezone.
            importance: 0 (drop it) to 1; by age and length if not given.
            speaker: who said the query.
            replier: who replied; "assistant" or another name that chat models know.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was stored.
            StoreError: it could not be stored.
        """
        if not is_reply(validation.label("replier", replier)):
            raise InvalidInputError(
                f"replier is {replier!r}; give one of "
                f"{', '.join(name for name in ROLES if is_reply(name))}"
            )
        asked = self._entry(speaker, query, timestamp, importance)
        if is_reply(asked.speaker):
            raise InvalidInputError(
                f"speaker is {speaker!r}, the role that replies; give the one who asked"
            )
        return Exchange(self._add([asked, self._entry(replier, reply, asked.timestamp)]))

    def add_message(
        self,
        speaker: str,
        text: str,
        timestamp: datetime | None = None,
        *,
        importance: float | None = None,
    ) -> MemoryEntry:
        """Store an entry, and reflect if it is time to; a reflection that fails is logged.

        An assistant's message joins the exchange before it; any other begins one.

        Args:
            speaker: a name, or a role such as "user" or "assistant".
            text: what was said.
            timestamp: when; now if not given, and in `settings.timezone` if it carries no
                timezone.
            importance: 0 (drop it) to 1; by age and length if not given.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was stored.
            StoreError: it could not be stored.
        """
        return self._add([self._entry(speaker, text, timestamp, importance)])[0]

    def add_messages(self, messages: Iterable[Message]) -> tuple[MemoryEntry, ...]:
        """Store messages of a conversation in order, as `add_message` does, all or none of them.

        No message of another thread comes between them. Ids and metadata are not stored.

        Raises:
            InvalidInputError: a message cannot be used; nothing was stored.
            StoreError: they could not be stored.
        """
        given = as_messages(validation.items("messages", messages, "a list of messages"))
        return self._add([self._entry(m.speaker, m.text, m.timestamp) for m in given])

    def reflect(self) -> tuple[Insight, ...]:
        """Draw insights from the exchanges now; returns those kept from then on.

        Raises:
            InvalidInputError: the prompt or score function failed; nothing was changed.
            ModelError: the model failed, or gave nothing usable; nothing was changed.
            StoreError: the bank could not be read or written.
        """
        with self._turn:
            self._since = 0
        return self._reflect()

    def flush(self) -> tuple[Insight, ...]:
        """Wait for background reflections, and reflect on what none has read; returns the insights.

        Raises:
            ModelError, StoreError: as `reflect`.
        """
        self.wait_idle()
        unread = any(not exchange.reflected for exchange in exchanges_of(self._store.entries()))
        return self.reflect() if unread else self.insights

    def purge(self, *, insights: bool = True) -> None:
        """Delete all exchanges and insights, in the bank too.

        A reflection that runs meanwhile adds nothing.

        Args:
            insights: False leaves the insights, and deletes the exchanges only.

        Raises:
            StoreError: the bank could not be written.
        """
        with self._learning, self._turn:
            self._purges += 1
            self._since = 0
            if insights:
                self._store.clear()
            else:
                self._store.update((), self._store.entries())

    def context(
        self, prompt: str | None = None, *, system: str | None = None
    ) -> list[dict[str, str]]:
        """Return messages for a chat model: system, insights, recent exchanges, prompt.

        Each has a "role" and a "content", which LangChain's chat models take as they are, and
        LlamaIndex's as `ChatMessage(**message)`. The insights show their importance, and are
        fenced, so that they are not retained as if they had been said. A speaker who is neither
        user nor assistant is named.
        """
        messages = [] if system is None else [_message("system", system)]
        if learnt := self.learnt:
            messages.append(_message("system", learnt))
        messages += map(_as_message, self.recent)
        return messages if prompt is None else [*messages, _message("user", prompt)]

    @property
    def learnt(self) -> str:
        """The insights as text for a prompt, fenced, with their importance; "" without any."""
        lines = [f"- [{i.importance:.2f}] {as_item(i.text)}" for i in self.insights]
        return fence("\n".join([LEARNT, *lines])) if lines else ""

    def __repr__(self) -> str:
        return f"ReflectionMemory({self._model.id}, failures={self.failures})"

    def _add(self, entries: Sequence[MemoryEntry]) -> tuple[MemoryEntry, ...]:
        """Store entries, each in its exchange, and reflect if it is time to."""
        with self._turn:
            if self._closed:
                raise ClosedError("this reflection memory is closed; create a new one")
            stored = self._store.entries()
            added: list[MemoryEntry] = []
            for entry in entries:
                before = added or stored
                if is_reply(entry.speaker) and before:
                    added.append(replace(entry, exchange=exchange_of(before[-1])))
                else:
                    added.append(entry)
                    self._since += 1
                self._store.add(added[-1])
            self._drop_overflow()
            due = 0 < self._every <= self._since
            if due:
                self._since = 0  # claimed: no other thread reflects on these
                if self._background:
                    self._tasks.submit(self._reflect)
        if due and not self._background:
            self._tasks.run(self._reflect)
        return tuple(added)

    def _reflect(self) -> tuple[Insight, ...]:
        with self._turn:
            purges = self._purges
            exchanges, known = exchanges_of(self._store.entries()), self._store.insights()
        if not exchanges:
            return self.insights
        now = utc_now()
        weights = [self._score(exchange, now) for exchange in exchanges]
        drawn = self._ask(self._rendered(exchanges, weights, known), exchanges, known, now)
        dropped, kept = self._weighed(exchanges, weights)
        with self._learning:
            if self._purges != purges:
                return self.insights
            before = self._store.insights()
            self._store.replace_insights(before, revise(before, drawn, self._most_insights))
            with self._turn:
                self._store.update(kept, dropped)
        return self.insights

    def _drop_overflow(self) -> None:
        """Drop the oldest exchanges beyond the limits, which are higher for unreflected ones."""
        longest = max(self._most_recent, self._every)
        waiting = max(self._most_recent, _BACKLOG * self._every)
        dropped = overflowing(exchanges_of(self._store.entries()), longest, waiting)
        self._store.update((), [entry for exchange in dropped for entry in exchange.entries])

    def _weighed(
        self, exchanges: Sequence[Exchange], weights: Sequence[float]
    ) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
        """Return the entries to drop, and those that stay, marked as reflected on.

        The last exchange stays while it has no reply: one may be on its way.
        """
        dropped: list[MemoryEntry] = []
        kept: list[MemoryEntry] = []
        for exchange, weight in zip(exchanges, weights, strict=True):
            is_open = exchange is exchanges[-1] and not exchange.reply
            if weight < self._threshold and not is_open:
                dropped += exchange.entries
            else:
                kept += (replace(entry, reflected=True) for entry in exchange.entries)
        return dropped, kept

    def _rendered(
        self, exchanges: Sequence[Exchange], weights: Sequence[float], known: Sequence[Insight]
    ) -> Rendered:
        if not isinstance(self._prompt, Prompt):
            return self._prompt(exchanges, known)
        insights = _listed(as_item(insight.text) for insight in known)
        passage = _listed(
            f"{exchange.timestamp:%Y-%m-%d %H:%M} [{weight:.2f}] {_spoken(exchange, _READ_CHARS)}"
            for exchange, weight in zip(exchanges, weights, strict=True)
        )
        return self._prompt.render(
            most=self._most_insights,
            before=as_data("before", insights),
            passage=as_data("passage", passage),
        )

    def _ask(
        self,
        prompt: Rendered,
        exchanges: Sequence[Exchange],
        known: Sequence[Insight],
        now: datetime,
    ) -> list[tuple[Insight, list[str]]]:
        """Return the insights drawn, each with the ids of those that it replaces."""
        try:
            reply = self._model.send(prompt.system, prompt.user, InsightsReply)
        except Exception as error:
            raise ModelError(
                f"{self._model.id} raised {type(error).__name__} when asked for insights; see "
                "the cause of this error"
            ) from error
        with self._turn:
            self._usage += reply.usage
        drawn: list[tuple[Insight, list[str]]] = []
        for draft in read_insights(reply):
            evidence = _evidence(draft, exchanges)
            id = new_id("insight-")
            insight = Insight(id, draft.text, draft.importance, now, evidence)
            drawn.append((insight, [old.id for old in _numbered(draft.replaces, known)]))
        return drawn

    def _entry(
        self,
        speaker: str,
        text: str,
        timestamp: datetime | None,
        importance: float | None = None,
    ) -> MemoryEntry:
        if validation.is_blank(validation.text(text, "text")):
            raise InvalidInputError("text is blank; give at least one visible character")
        return MemoryEntry(
            id=new_id("entry-"),
            speaker=validation.label("speaker", speaker),
            text=validation.text(text, "text"),
            timestamp=validation.time_or_now("timestamp", timestamp, self._zone),
            importance=None if importance is None else validation.share("importance", importance),
        )

    acommit = async_variant(commit)
    aadd_message = async_variant(add_message)
    aadd_messages = async_variant(add_messages)
    areflect = async_variant(reflect)
    aflush = async_variant(flush)
    apurge = async_variant(purge)
    acontext = async_variant(context)


def _prompt(
    given: str | PromptFunction | None,
) -> Prompt | Callable[[Sequence[Exchange], Sequence[Insight]], Rendered]:
    """Return the prompt to render, or a function that calls the caller's."""
    if given is None:
        return DRAW_INSIGHTS
    if isinstance(given, str):
        # Only $most is ours; any other sign is the caller's own.
        text = validation.text(given, "prompt").replace("$", "$$").replace("$$most", "$most")
        return replace(DRAW_INSIGHTS, version="custom", system=text)
    if not callable(given):
        raise InvalidInputError(
            f"prompt is {validation.shown(given)}; give a text, or a function "
            "(exchanges, insights) -> text"
        )

    def rendered(exchanges: Sequence[Exchange], known: Sequence[Insight]) -> Rendered:
        texts = _called("prompt", given, exchanges, known)
        system, user = ("", texts) if isinstance(texts, str) else _pair(texts)
        return Rendered(system, user)

    return rendered


def _pair(texts: object) -> tuple[str, str]:
    match texts:
        case (str(system), str(user)):
            return system, user
    raise InvalidInputError(
        f"the prompt function returned {validation.shown(texts)}; return the user text, or "
        "(system text, user text)"
    )


def _score(given: ScoreFunction | None) -> ScoreFunction:
    if given is None:
        return Exchange.weight
    if not callable(given):
        raise InvalidInputError(
            f"score is {validation.shown(given)}; give a function (exchange, time) -> 0 to 1"
        )
    return lambda exchange, now: validation.share(
        "the result of the score function", _called("score", given, exchange, now)
    )


def _called(name: str, function: Callable[..., object], *arguments: object) -> object:
    try:
        return function(*arguments)
    except Exception as error:
        raise InvalidInputError(
            f"the {name} function raised {type(error).__name__}; see the cause of this error"
        ) from error


def _evidence(drawn: Drawn, exchanges: Sequence[Exchange]) -> tuple[Evidence, ...]:
    """Return the exchanges an insight came from.

    Those that the model named; else those that share a content word with it; else all that no
    earlier reflection had read.
    """
    words = set(lexemes(drawn.text))
    cited = (
        _numbered(drawn.evidence, exchanges)
        or [e for e in exchanges if words & set(lexemes(f"{e.query} {e.reply}"))]
        or [e for e in exchanges if not e.reflected]
        or exchanges
    )
    return tuple(
        Evidence(exchange.id, _spoken(exchange, _EVIDENCE_CHARS), exchange.timestamp)
        for exchange in cited[-MOST_EVIDENCE:]
    )


def _listed(texts: Iterable[str]) -> str:
    """Return texts as a numbered list, from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _numbered(numbers: Iterable[int], items: Sequence[Item]) -> list[Item]:
    """Return the items of these numbers, from 1, in order; a number that none has is ignored."""
    return [items[number - 1] for number in sorted(set(numbers)) if 0 < number <= len(items)]


def _spoken(exchange: Exchange, most: int) -> str:
    """Return what was said, a speaker a line, each text at most `most` characters."""
    return "\n".join(
        as_item(f"{as_line(entry.speaker)}: {entry.text[:most]}") for entry in exchange.entries
    )


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _as_message(entry: MemoryEntry) -> dict[str, str]:
    role = ROLES.get(entry.speaker.casefold())
    if role is None:
        return _message("user", f"{entry.speaker}: {entry.text}")
    return _message(role, entry.text)
