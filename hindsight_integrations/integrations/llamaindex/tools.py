"""Memory as tools that an agent calls: retain, recall, reflect, corrections, history, forget."""

from __future__ import annotations

from typing import ClassVar, Unpack

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations import common
from hindsight_integrations.integrations.llamaindex.chats import chat_options
from hindsight_integrations.integrations.llamaindex.conversions import (
    BankId,
    ChatOptions,
    ReflectOptions,
    bank_of,
    checked_bank,
)
from hindsight_integrations.workspace import Workspace
from hindsight_integrations.workspace import workspace_tools as tools_of


class HindsightToolSpec(BaseToolSpec):  # type: ignore[misc]
    """Tools for one bank. The model chooses the content and the question, never the bank.

    Recalled text is fenced (marked), so that it is not retained again as if somebody had said it.
    Errors are raised, and agents pass them to the model as the tool's answer.

    Args:
        memory: the open memory.
        bank_id: the bank's id, or a function without arguments that returns it for each call; the
            bank is created by the first `retain` if it does not exist.
        forget: True to give the model the tool that deletes memories permanently. Corrections and
            memories marked as wrong can be undone; forgotten memories cannot be restored.
        llm: the model of `reflect`, for example a LlamaIndex LLM; the memory's own if None.
            Without any, `reflect` returns the memories themselves.
        **options: options of recall: `max_tokens` (1024), `budget`, `types`, `tags`, `tags_match`,
            `where`, `entities`, `min_score`. The tags are also put on what is retained.

    Raises:
        InvalidInputError: an option has no such name, or a value that cannot be used.

    Examples:
        >>> with Hindsight.in_memory() as memory:
        ...     retain, recall, reflect = HindsightToolSpec(memory, "alice").to_tool_list()[:3]
        ...     _ = retain(content="Alice moved to Lisbon in March 2021.")
        ...     print("Lisbon" in recall(query="Where does Alice live?").content)
        True
    """

    spec_functions: ClassVar[list[tuple[str, str]]] = [
        ("retain", "aretain"),
        ("recall", "arecall"),
        ("reflect", "areflect"),
        ("correct", "acorrect"),
        ("invalidate", "ainvalidate"),
    ]

    def __init__(
        self,
        memory: Hindsight,
        bank_id: BankId,
        *,
        forget: bool = False,
        llm: object | None = None,
        **options: Unpack[ChatOptions],
    ) -> None:
        self._memory = common.checked_memory(memory)
        self._bank_id = checked_bank(bank_id)
        if validation.flag("forget", forget):
            self.spec_functions = [*self.spec_functions, ("forget", "aforget")]  # type: ignore[misc]
        common.check_options({"llm": llm}, ReflectOptions)
        self._llm = llm
        self._options = chat_options(options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._memory!r}, {common.shown_bank(self._bank_id)})"

    def retain(self, content: str) -> str:
        """Remember something for later conversations: a fact, a preference, a decision, an event.

        Args:
            content (str): Whole sentences that can be understood alone, with names and dates.
        """
        tags = self._options.get("tags", ())
        return common.answer_retain(self._memory, bank_of(self._bank_id), content, tags=tags)[0]

    def recall(self, query: str) -> str:
        """Look up what is remembered from earlier conversations.

        Args:
            query (str): The question, with names and times if known.
        """
        return common.answer_recall(self._memory, bank_of(self._bank_id), query, **self._options)[0]

    def reflect(self, query: str) -> str:
        """Answer a question from all relevant memories. Slower than recall, but deeper.

        Args:
            query (str): The question.
        """
        options = {"llm": self._llm, **self._options}
        return common.answer_reflect(self._memory, bank_of(self._bank_id), query, **options)[0]

    def correct(
        self,
        memory_id: str,
        content: str | None = None,
        speaker: str | None = None,
        entities: list[str] | None = None,
        said: str | None = None,
        happened: str | None = None,
        reason: str | None = None,
    ) -> str:
        """Correct a memory that is wrong or no longer true; omitted fields stay unchanged.

        Args:
            memory_id (str): Id of the memory, as recall gives it.
            content (str): The whole corrected statement, with names and dates.
            speaker (str): Who said it; '' for nobody.
            entities (list): All names it mentions; empty for none.
            said (str): When it was said, in ISO 8601.
            happened (str): When it happened: a day, or START/END, in ISO 8601.
            reason (str): Why it was wrong.
        """
        return common.answer_correct(
            self._memory,
            bank_of(self._bank_id),
            memory_id,
            content,
            speaker=speaker,
            entities=entities,
            said=said,
            happened=happened,
            reason=reason,
        )[0]

    def invalidate(self, memory_id: str, reason: str) -> str:
        """Mark a memory as wrong if there is no correct statement to replace it.

        Args:
            memory_id (str): Id of the memory, as recall gives it.
            reason (str): Why it is wrong, and who said so.
        """
        bank = bank_of(self._bank_id)
        return common.answer_invalidate(self._memory, bank, memory_id, reason)[0]

    def forget(self, memory_ids: list[str]) -> str:
        """Delete memories permanently, if the user asks for it.

        Args:
            memory_ids (list): Ids of the memories, as recall gives them.
        """
        return common.answer_forget(self._memory, bank_of(self._bank_id), memory_ids)[0]

    def history(self, memory_id: str) -> str:
        """Show the changes of a memory, when and why. Call recall first to get its id.

        Args:
            memory_id (str): Id of the memory, as recall gives it.
        """
        return common.answer_history(self._memory, bank_of(self._bank_id), memory_id)[0]

    aretain = async_variant(retain)
    arecall = async_variant(recall)
    areflect = async_variant(reflect)
    acorrect = async_variant(correct)
    ainvalidate = async_variant(invalidate)
    aforget = async_variant(forget)
    ahistory = async_variant(history)


def workspace_tools(workspace: Workspace, *, reflect: bool = True) -> list[FunctionTool]:
    """Return the tools `memory_search`, `memory_get` and `reflect` of a workspace.

    Args:
        workspace: the folder of notes and its bank.
        reflect: False to leave the last one out.
    """
    return [
        FunctionTool.from_defaults(
            fn=tool.__call__,
            async_fn=tool.acall,
            name=tool.name,
            description=tool.description,
            fn_schema=tool.arguments,
        )
        for tool in tools_of(workspace, reflect=reflect)
    ]
