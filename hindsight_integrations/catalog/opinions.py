"""`memory.opinions`: what the bank's agent believes.

None is formed unless it is asked for; one that was formed moves whenever the bank is reflected on.
"""

from __future__ import annotations

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.conclusions import Opinion
from hindsight_integrations.core import Core
from hindsight_integrations.model import MemoryType, Page, utc_now
from hindsight_integrations.reflect import forming, view
from hindsight_integrations.storage.requests import MemoryFilter


class Opinions:
    """The opinions of a bank."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(self, bank_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[Opinion]:
        """Opinions in the order they were first formed or retained, a page at a time."""
        core = self._core
        core.bank(checks.bank_id(bank_id))
        limit = checks.page_limit(limit)
        filter = MemoryFilter(now=utc_now(), types=frozenset({MemoryType.OPINION}))
        page = core.graph.list_memories(bank_id, filter, limit=limit, cursor=cursor)
        now = utc_now()
        found = [
            view.opinion(memory, core.graph.history(bank_id, memory.id), now)
            for memory in page.items
        ]
        return Page(found, page.total, page.next_cursor)

    def form(self, bank_id: str, topic: str, *, scope: str | None = None) -> tuple[Opinion, ...]:
        """Form, or form anew, an opinion on a topic from what the bank remembers of it.

        Statements that support a belief raise its confidence, those that contradict it lower it,
        the less so the more sceptical the bank is. Below one half the opinion is turned round;
        what it said before is in its history. Without an `llm` it goes by the words that praise
        and blame.

        Args:
            bank_id: which bank.
            topic: a thing, person or question, in a few words.
            scope: only from memories of this scope; those that have one are not looked at else.

        Returns:
            The opinion; more of them if a language model holds several; none if nothing that is
            remembered judges of the topic.

        Raises:
            ModelError: the language model failed; nothing was changed.
        """
        core = self._core
        bank = core.bank(checks.bank_id(bank_id))
        wanted = checks.label("topic", topic).strip()
        within = None if scope is None else checks.label("scope", scope)
        formed = forming.form(core.reflecting, core.recalling, bank, wanted, within)
        now = utc_now()
        return tuple(
            view.opinion(memory, core.graph.history(bank_id, memory.id), now) for memory in formed
        )

    alist = twin(list)
    aform = twin(form)
