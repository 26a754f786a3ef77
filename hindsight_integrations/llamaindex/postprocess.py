"""Node postprocessors: any nodes by late interaction or another reranker, and by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.language.time import parse_query
from hindsight_integrations.llamaindex.nodes import moment
from hindsight_integrations.model import Memory, TimeSpan, utc_now
from hindsight_integrations.recall.ports import Reranker
from hindsight_integrations.recall.rerankers import LateInteraction, as_reranker, best_first


class HindsightRerank(BaseNodePostprocessor):  # type: ignore[misc]
    """Puts nodes of any retriever in order of how well they answer the question.

    Args:
        reranker: None for late interaction, `memory.reranker` for that of an open `Hindsight`, or
            whatever it takes as one: a function of (query, texts) to scores, a LangChain document
            compressor, a CrossEncoder, a postprocessor.
        top_n: nodes to keep, at most.

    Example:
        >>> from llama_index.core.schema import TextNode
        >>> nodes = [NodeWithScore(node=TextNode(text=t)) for t in ("Tea is hot.", "Bo is tall.")]
        >>> rerank = HindsightRerank(top_n=1)
        >>> print(rerank.postprocess_nodes(nodes, query_str="How tall is Bo?")[0].text)
        Bo is tall.
    """

    top_n: int | None
    _reranker: Reranker = PrivateAttr()

    def __init__(self, reranker: object | None = None, *, top_n: int | None = None) -> None:
        super().__init__(top_n=None if top_n is None else checks.positive("top_n", top_n))
        self._reranker = LateInteraction() if reranker is None else as_reranker(reranker)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InvalidInputError("nodes are reranked by a question; give query_str")
        texts = [_memory(each.node) for each in nodes]
        best = best_first(self._reranker, query_bundle.query_str, texts, self.top_n)
        return [NodeWithScore(node=nodes[place].node, score=score) for place, score in best]


class HindsightTimeFilter(BaseNodePostprocessor):  # type: ignore[misc]
    """Keeps the nodes of a time: of one given, or of the times that the question names.

    "Where did she work in spring 2021?" keeps what happened then. A question that names no time
    keeps all. What counts is when the matter of a node happened (`occurred_start` and
    `occurred_end`), or else when it was said (`mentioned_at`, or `time_key`).

    Args:
        window: the time; by default that of the question.
        time_key: metadata field with a node's date in ISO 8601, for nodes from elsewhere.
        keep_undated: whether nodes without any time stay.

    Example:
        >>> from llama_index.core.schema import TextNode
        >>> nodes = [
        ...     NodeWithScore(node=TextNode(text=day, metadata={"date": day}))
        ...     for day in ("2020-05-01", "2021-05-01")
        ... ]
        >>> of_the_time = HindsightTimeFilter(time_key="date")
        >>> print([n.text for n in of_the_time.postprocess_nodes(nodes, query_str="in May 2021?")])
        ['2021-05-01']
    """

    time_key: str
    keep_undated: bool
    _window: TimeSpan | None = PrivateAttr(default=None)

    def __init__(
        self,
        window: TimeSpan | tuple[datetime, datetime] | None = None,
        *,
        time_key: str = "mentioned_at",
        keep_undated: bool = False,
    ) -> None:
        super().__init__(time_key=time_key, keep_undated=keep_undated)
        self._window = TimeSpan(*window) if isinstance(window, tuple) else window

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightTimeFilter"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if self._window is not None:
            wanted = [self._window]
        else:
            question = query_bundle.query_str if query_bundle else ""
            wanted = [window.span for window in parse_query(question, utc_now()).windows]
        return [each for each in nodes if not wanted or self._fits(each.node.metadata, wanted)]

    def _fits(self, metadata: Mapping[str, object], wanted: Sequence[TimeSpan]) -> bool:
        span = _span(metadata, self.time_key)
        return self.keep_undated if span is None else any(map(span.overlaps, wanted))


def _memory(node: BaseNode) -> Memory:
    """A node as rerankers read memories: its text, led by its speaker."""
    speaker = node.metadata.get("speaker")
    text = node.get_content(MetadataMode.NONE)
    return Memory(node.node_id, "", text, speaker=str(speaker) if speaker else None)


def _span(metadata: Mapping[str, object], time_key: str) -> TimeSpan | None:
    start, end = metadata.get("occurred_start"), metadata.get("occurred_end")
    if start and end:
        return TimeSpan(moment("occurred_start", start), moment("occurred_end", end))
    said = metadata.get(time_key)
    return TimeSpan.of_day(moment(time_key, said)) if said else None
