"""Conclusions drawn by a language model: a `Consolidator` that asks one.

The model sees memories and earlier conclusions under short labels, and proposes conclusions to
write and to remove. Its reply is checked against its input: if it has an unknown label, a quote
that is not in the memory, or a statement without a word of its evidence, none of it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError, ModelError
from hindsight_integrations.models import Memory, MemoryType, ObservationKind
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.nlp.tokens import as_tokenizer
from hindsight_integrations.prompts import CONSOLIDATE, FORM_OPINIONS, Rendered, as_data, as_rules
from hindsight_integrations.reflect.conclusions import validated
from hindsight_integrations.reflect.context import after_blank, purpose, traits
from hindsight_integrations.reflect.dependencies import (
    MAX_TEXT,
    Cluster,
    Draft,
    Evidence,
    Proposals,
    Removal,
)
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.timespan import day_text

PROMPT_TOKENS = 8_000
"""Token budget of the memories and conclusions of one cluster in a prompt."""

MIN_MEMORIES = 2
"""Minimum memories of a cluster without earlier conclusions for which the model is asked."""


class EvidenceReply(BaseModel):
    """A memory that a statement rests on, by label, and some words of it to the letter."""

    memory: str
    quote: str
    supports: bool = Field(default_factory=lambda: True)


class ConclusionReply(BaseModel):
    """A statement to write.

    `rewrites` is the label of the listed one whose place it takes; `earlier`, of a new one that
    tells a change, how it would have read before.
    """

    model_config = ConfigDict(json_schema_extra={"required": ["text", "evidence", "reasoning"]})

    text: str
    kind: Literal["pattern", "causal", "generalization", "preference", "risk", "strategy"] = Field(
        default_factory=lambda: "generalization"
    )
    evidence: list[EvidenceReply]
    reasoning: str
    rewrites: str | None = None
    earlier: str | None = None


class RemovalReply(BaseModel):
    """A listed conclusion to take away, by label, and the memory or conclusion that shows why."""

    conclusion: str
    because: str
    reasoning: str


class ConclusionsReply(BaseModel):
    """Conclusions to write and to take away; both lists are empty if there is nothing to add."""

    conclusions: list[ConclusionReply]
    removals: list[RemovalReply] = Field(default_factory=list)


class LLMConsolidator:
    """A consolidator that asks a language model; see `Consolidator`.

    Args:
        model: accepted by `as_model`.
        concluding: type of its conclusions, observations or opinions.
        prompt_tokens: most tokens of memories and conclusions of one cluster it is shown;
            memories that were consolidated before are left out first, the oldest of them first.
        tokenizer: counts the tokens; accepted by `as_tokenizer`.

    Raises:
        InvalidInputError: the model cannot be asked, or another argument cannot be used.
    """

    def __init__(
        self,
        model: object,
        *,
        concluding: MemoryType = MemoryType.OBSERVATION,
        prompt_tokens: int = PROMPT_TOKENS,
        tokenizer: object = None,
    ) -> None:
        if concluding not in _PROMPTS:
            raise InvalidInputError(
                f"concluding is {concluding!r}; give MemoryType.OBSERVATION or MemoryType.OPINION"
            )
        self._model = as_model(model)
        self._concluding = concluding
        self._prompt_tokens = validation.positive("prompt_tokens", prompt_tokens)
        self._tokenizer = as_tokenizer(tokenizer)

    @property
    def id(self) -> str:
        """Name of the model, and version of the prompt."""
        return f"llm:{self._model.id}:{_PROMPTS[self._concluding].version}"

    def propose(self, cluster: Cluster) -> Proposals:
        """Ask the model for conclusions from the cluster.

        Raises:
            ModelError: the model failed, or its reply could not be used, twice.
        """
        nothing_new = self._concluding is MemoryType.OBSERVATION and not cluster.new
        if nothing_new or (len(cluster.memories) < MIN_MEMORIES and not cluster.conclusions):
            return Proposals()
        labelled = _LabelledInput(cluster, self._prompt_tokens, self._tokenizer.count)
        prompt = self._prompt(cluster, labelled)

        def parse(reply: ConclusionsReply) -> Proposals:
            return validated(cluster, labelled.proposals(reply, self._concluding))

        answer = self._model.ask(prompt.system, prompt.user, ConclusionsReply, parse)
        return replace(parse(answer.value), usage=answer.usage)

    def _prompt(self, cluster: Cluster, labelled: _LabelledInput) -> Rendered:
        rules = as_rules(cluster.bank.directives)
        return _PROMPTS[self._concluding].render(
            rules=rules,
            reminder=rules,
            purpose=after_blank(purpose(cluster.bank)),
            traits=after_blank(traits(cluster.bank.disposition)),
            memories=as_data("memories", f"About {cluster.subject}:\n{labelled.memory_lines}"),
            conclusions=as_data("conclusions", labelled.conclusion_lines),
        )


_PROMPTS = {MemoryType.OBSERVATION: CONSOLIDATE, MemoryType.OPINION: FORM_OPINIONS}


class _LabelledInput:
    """A cluster as the model sees it, under the labels m1, m2, ... and c1, c2, ..."""

    def __init__(self, cluster: Cluster, max_tokens: int, count: Callable[[str], int]) -> None:
        memories = {f"m{number}": memory for number, memory in enumerate(cluster.memories, start=1)}
        lines = {
            label: f"{label}{' (new)' if memory.id in cluster.new else ''}: {_line(memory)}"
            for label, memory in memories.items()
        }
        label_of = {memory.id: label for label, memory in memories.items()}
        self._conclusions = {
            f"c{number}": memory for number, memory in enumerate(cluster.conclusions, start=1)
        }
        self.conclusion_lines = "\n".join(
            f"{label}{' (evidence changed)' if memory.id in cluster.new else ''}: "
            f"{_conclusion_line(memory, label_of)}"
            for label, memory in self._conclusions.items()
        )
        tokens_left = max_tokens - count(self.conclusion_lines)
        self._memories = {}
        # The budget goes to new memories first, and to the latest among new and among old ones.
        for label in sorted(memories, key=lambda label: memories[label].id in cluster.new)[::-1]:
            if (cost := count(lines[label]) + 1) <= tokens_left:
                tokens_left -= cost
                self._memories[label] = memories[label]
        self.memory_lines = "\n".join(
            line for label, line in lines.items() if label in self._memories
        )

    def proposals(self, reply: ConclusionsReply, concluding: MemoryType) -> Proposals:
        """Convert a reply: labels become ids, and drafts that add nothing are dropped.

        Raises:
            ModelError: it has an unknown label, or a quote that is not in the memory.
        """
        drafts = [self._draft(item, concluding) for item in reply.conclusions]
        removals = [self._removal(item) for item in reply.removals]
        stored = {memory.id: memory for memory in self._conclusions.values()}
        new_drafts = (draft for draft in drafts if not _adds_nothing(draft, stored))
        return Proposals(tuple(new_drafts), tuple(removals))

    def _draft(self, reply: ConclusionReply, concluding: MemoryType) -> Draft:
        evidence = {e.memory_id: e for e in map(self._evidence, reply.evidence)}
        text = " ".join(reply.text.split())
        observes = concluding is MemoryType.OBSERVATION
        if observes and not all(piece.supports for piece in evidence.values()):
            raise ModelError(
                f"this evidence against an observation does not belong to it: {text!r:.80}"
            )
        texts = " ".join(m.text for m in self._memories.values() if m.id in evidence)
        if evidence and not set(lexemes(text)).intersection(lexemes(texts)):
            raise ModelError(f"the statement shares no word with its evidence: {text!r:.80}")
        rewrites = reply.rewrites or None
        return Draft(
            text=text,
            evidence=tuple(evidence.values()),
            reasoning=" ".join(reply.reasoning.split()),
            kind=ObservationKind(reply.kind) if observes else None,
            rewrites=None if rewrites is None else _by_label(rewrites, self._conclusions).id,
            earlier=" ".join((reply.earlier or "").split())[:MAX_TEXT] or None,
        )

    def _evidence(self, reply: EvidenceReply) -> Evidence:
        memory = _by_label(reply.memory, self._memories)
        words = r"\s+".join(map(re.escape, reply.quote.split()))
        match = re.search(words, memory.text) if words else None
        if match is None:
            raise ModelError(f"{reply.quote!r:.80} is not in {reply.memory}; quote it verbatim")
        return Evidence(memory.id, match[0], reply.supports)

    def _removal(self, reply: RemovalReply) -> Removal:
        conclusion = _by_label(reply.conclusion, self._conclusions)
        because = _by_label(reply.because, {**self._memories, **self._conclusions})
        supporting = {source.memory_id for source in conclusion.sources if source.supports}
        if because is conclusion or because.id in supporting:
            raise ModelError(f"{reply.because} is not a reason to remove {reply.conclusion}")
        reasoning = " ".join(reply.reasoning.split())
        if not 0 < len(reasoning) <= MAX_TEXT:
            raise ModelError(f"say in a sentence why {reply.conclusion} is removed")
        return Removal(conclusion.id, reasoning)


def _by_label(label: str, memories: Mapping[str, Memory]) -> Memory:
    memory = memories.get(label.strip(" []"))
    if memory is None:
        raise ModelError(
            f"there is no {label!r:.40}; the labels are {', '.join(memories) or 'none'}"
        )
    return memory


def _adds_nothing(draft: Draft, stored: Mapping[str, Memory]) -> bool:
    """Return True if a stored conclusion has the draft's text and all its evidence."""
    evidence = {(piece.memory_id, piece.supports) for piece in draft.evidence}
    return any(
        memory.text == draft.text
        and evidence <= {(source.memory_id, source.supports) for source in memory.sources}
        for memory in stored.values()
    )


def _line(memory: Memory) -> str:
    lead = filter(None, [day_text(memory.mentioned_at), as_line(memory.speaker or "")])
    return as_item(f"{', '.join(lead)}: {memory.text}")


def _conclusion_line(conclusion: Memory, label_of: Mapping[str, str]) -> str:
    evidence = (
        f"{label_of.get(source.memory_id or '', 'another memory')}"
        f"{'' if source.supports else ' (against it)'} “{source.quote}”"
        for source in conclusion.sources
    )
    return as_item(f"{conclusion.text} It rests on {'; '.join(evidence)}.")
