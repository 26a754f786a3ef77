"""`memory.opinions`: beliefs of the bank's agent.

Opinions are formed only on request; afterwards each consolidation of the bank updates them.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.conclusions import Opinion
from hindsight_integrations.models import Memory, MemoryType, Page, utc_now
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.reflect import conclusions, opinions
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import HISTORY, MemoryFilter


class Opinions(Namespace):
    """The opinions of a bank."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(self, bank_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[Opinion]:
        """Return a page of opinions in the order they were first formed or retained."""
        runtime = self._runtime
        runtime.bank(bank_id)
        limit, cursor = validation.page_limit(limit), validation.page_cursor(cursor)
        filter = MemoryFilter(now=utc_now(), types=frozenset({MemoryType.OPINION}))
        page = runtime.graph.list_memories(bank_id, filter, limit=limit, cursor=cursor)
        return Page(_opinions(runtime, bank_id, page.items), page.total, page.next_cursor)

    def form(self, bank_id: str, topic: str, *, scope: str | None = None) -> tuple[Opinion, ...]:
        """Form or update an opinion on a topic from the memories about it.

        Statements that support a belief raise its confidence, and those that contradict it lower
        it; a more sceptical bank changes it less. Below 0.5 the opinion is replaced by its
        opposite; its earlier text is in its history. Without an `llm` the opinion is based on words
        of praise and criticism.

        Args:
            bank_id: which bank.
            topic: a thing, person or question, in a few words.
            scope: only use memories of this scope; if None, only memories without a scope.

        Returns:
            The opinion; several if a language model forms several; none if no memory judges the
            topic.

        Raises:
            ModelError: the language model failed; nothing was changed.
        """
        runtime = self._runtime
        bank = runtime.bank(bank_id)
        wanted = validation.label("topic", topic).strip()
        within = validation.label_or_none("scope", scope)
        formed = opinions.form(runtime.reflecting, runtime.recalling, bank, wanted, within)
        return tuple(_opinions(runtime, bank_id, formed))

    alist = async_variant(list)
    aform = async_variant(form)


def _opinions(runtime: Runtime, bank_id: str, memories: Sequence[Memory]) -> list[Opinion]:
    """Return memories as opinions, each with its history."""
    histories = runtime.graph.read(bank_id, HISTORY, [memory.id for memory in memories])
    now = utc_now()
    return [conclusions.opinion(memory, histories.get(memory.id, ()), now) for memory in memories]
