"""Train the default embedder on the worlds.

It needs `torch` and `onnx`, which nothing else here does; a GPU takes minutes, a CPU an hour or
more, even one that multiplies in bfloat16. Afterwards fit the projection
(`python -m benchmarks.fit_projection`) and the weights of ranking again. Vectors of one adapter
cannot be compared with those of another: give the model a new name
in `nlp/model_registry.py`.

Each step takes some worlds. A query is to be nearer to each memory that bears on it than to all
that do not (InfoNCE: van den Oord et al., "Representation Learning with Contrastive Predictive
Coding", 2018), by the cosine of the texts and by late interaction of their tokens, and no vector is
to leave that of the published model further than it must. Memories of other worlds count less, and
those that the published model finds nearer than every right one not at all: they may be right, too.
Of passages that answer together only the nearest is to come nearer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

import torch
from rich.console import Console
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from benchmarks.embedder.network import (
    DROPOUT,
    Adapter,
    halved,
    hidden_states,
    padded,
    pooled,
    published_weights,
)
from benchmarks.embedder.worlds import World, worlds
from hindsight_integrations.nlp.adapter import save_changes
from hindsight_integrations.nlp.minilm import find_model_files

RANK, RATE, SEED = 32, 3e-4, 1
SHARE = 0.55
"""Share of the change that is kept: with more of it chats gain, and encyclopaedia passages lose."""
WORLDS = 12
"""Worlds of a step."""
SCALE = 20.0
"""Factor of a cosine in the loss, as the published model was trained with."""
TOKENS = 0.5
"""Weight of late interaction in the loss, where the cosine of texts has 1."""
ANCHOR = 0.5
"""Weight of the distance to the published model's vectors."""
OTHER_WORLDS = 0.5
"""Weight of a memory of another world as a wrong answer."""
REPEATED = {
    "passages": 6,
    **dict.fromkeys(("passages_b", "passages_c", "passages_d", "assistant", "assistant_b"), 2),
}
"""Kinds of which few were written, and how often an epoch goes through them."""
ONE_OF_SEVERAL = "passages"
"""Beginning of the kinds of which a query has one right memory, the nearest by the published model:
where several answer together, the others are about what the query does not name."""
UNDATED = ("passages", "preferences", "diary")
"""Beginnings of the kinds whose memories are never shown with a date before them."""
DATED = 0.6
"""Share of the other worlds whose memories are shown as the engine indexes them, with a date."""
LONGEST = 160
"""Tokens read of a text."""
BATCH = 64
PAGE = 4096
_NO = -1e4
_VOCABULARY = 30_522


@dataclass(frozen=True, slots=True)
class Texts:
    """Vectors of some texts.

    Attributes:
        vectors: of the texts, shape (texts, 384).
        tokens: unit vectors of their tokens, text after text, shape (tokens, 384).
        lengths: tokens of each text.
        ids: of the tokens.
    """

    vectors: Tensor
    tokens: Tensor
    lengths: Tensor
    ids: Tensor

    @property
    def holders(self) -> Tensor:
        """Number of the text of each token."""
        texts = torch.arange(len(self.lengths), device=self.lengths.device)
        return torch.repeat_interleave(texts, self.lengths)


class Trainer:
    """The worlds, their vectors by the published model, and the adapter in training."""

    def __init__(self, data: Sequence[World], device: str) -> None:
        self.worlds = data
        self.device = device
        self.base = published_weights(device)
        self.adapter = Adapter(self.base, RANK, seed=7)
        self.tokenizer = Tokenizer.from_file(str(find_model_files().tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)
        self.dice = random.Random(SEED)
        self.importance = self._importance()
        self.before = self._published()

    def _importance(self) -> Tensor:
        """Return the inverse document frequency of each token among all memories."""
        texts = [memory for world in self.worlds for memory in world.memories]
        count = torch.zeros(_VOCABULARY)
        for row in self._ids(texts):
            count[sorted({*row[1:-1]})] += 1
        return torch.log1p((len(texts) - count + 0.5) / (count + 0.5)).to(self.device)

    def _published(self) -> dict[str, Tensor]:
        """Return the vectors of all texts by the published model."""
        texts = [memory for world in self.worlds for memory in world.memories]
        texts += [query.text for world in self.worlds for query in world.queries]
        known: dict[str, Tensor] = {}
        with torch.no_grad():
            for start in range(0, len(texts), PAGE):  # whose tokens are held meanwhile
                page = texts[start : start + PAGE]
                known |= zip(page, self.encode(self.base, page, 0.0).vectors, strict=True)
        return known

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [each.ids for each in self.tokenizer.encode_batch_fast(texts)]

    def encode(self, weights: Mapping[str, Tensor], texts: Sequence[str], drop: float) -> Texts:
        """Return the vectors of some texts."""
        rows, half = self._ids(texts), halved(weights)
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        vectors, tokens, holders = [], [], []
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            batch, mask = padded([rows[number] for number in chosen], self.device)
            states = hidden_states(half, batch, mask, drop)
            vectors.append(pooled(states, mask))
            place = torch.arange(batch.shape[1], device=self.device)[None]
            inner = (place > 0) & (place < mask.sum(1, keepdim=True) - 1)  # no [CLS], no [SEP]
            tokens.append(states[inner])
            holders.append(
                torch.tensor(chosen, device=self.device)[:, None].expand_as(batch)[inner]
            )
        back = torch.argsort(torch.tensor(order, device=self.device))
        held = torch.cat(holders)
        unit = functional.normalize(torch.cat(tokens)[torch.argsort(held, stable=True)], dim=-1)
        return Texts(
            torch.cat(vectors)[back],
            unit,
            torch.bincount(held, minlength=len(rows)),
            torch.tensor([each for row in rows for each in row[1:-1]], device=self.device),
        )

    def late_interaction(self, queries: Texts, memories: Texts) -> Tensor:
        """Return the weighted mean of each query token's best cosine, shape (queries, memories)."""
        cosines = memories.tokens.bfloat16() @ queries.tokens.bfloat16().T
        with torch.no_grad():  # which token of each memory is nearest
            ends = memories.lengths.cumsum(0).tolist()
            nearest = torch.stack(
                [cosines[start:end].argmax(0) + start for start, end in pairwise([0, *ends])]
            )
        best = torch.gather(cosines, 0, nearest).float()
        weight = self.importance[queries.ids]
        total = torch.zeros(len(queries.vectors), device=self.device)
        weight = weight / total.index_add(0, queries.holders, weight)[queries.holders]
        summed = torch.zeros(len(queries.vectors), len(best), device=self.device)
        return summed.index_add(0, queries.holders, (best * weight).T)

    def shown(self, world: World) -> list[str]:
        """Return the memories of a world, perhaps with dates as the engine puts them before."""
        if world.file.startswith(UNDATED) or self.dice.random() >= DATED:
            return list(world.memories)
        day = date(2012, 1, 1) + timedelta(days=self.dice.randrange(5000))
        shown = []
        for memory in world.memories:
            day += timedelta(days=self.dice.randrange(9))
            shown.append(f"[{day.day} {day:%B} {day.year}] {memory}")
        return shown

    def loss(self, chosen: Sequence[World]) -> Tensor:
        """Return the loss of one step."""
        queries = [query.text for world in chosen for query in world.queries]
        home = torch.tensor([n for n, w in enumerate(chosen) for _ in w.queries])
        owner = torch.tensor([n for n, w in enumerate(chosen) for _ in w.memories])
        same = (home[:, None] == owner[None]).to(self.device)
        right = torch.zeros_like(same)
        row, first = 0, 0
        for world in chosen:
            for query in world.queries:
                right[row, [first + place for place in query.relevant]] = True
                row += 1
            first += len(world.memories)
        asked_before = torch.stack([self.before[text] for text in queries])
        plain = [memory for world in chosen for memory in world.memories]
        held_before = torch.stack([self.before[text] for text in plain])
        before = asked_before @ held_before.T
        unsure = ~same & (before > before.masked_fill(~right, -9).max(1, keepdim=True).values)
        single = torch.tensor(
            [w.file.startswith(ONE_OF_SEVERAL) for w in chosen for _ in w.queries],
            device=self.device,
        )
        nearest = torch.zeros_like(right)
        nearest.scatter_(1, before.masked_fill(~right, -9).argmax(1, keepdim=True), True)
        unsure |= single[:, None] & right & ~nearest
        right = torch.where(single[:, None], nearest, right)

        def contrast(likeness: Tensor) -> Tensor:
            logits = (SCALE * likeness).masked_fill(unsure, _NO)
            logits = logits + torch.where(same, 0.0, math.log(OTHER_WORLDS))
            wrong = torch.logsumexp(logits.masked_fill(right, _NO), 1, keepdim=True)
            each = torch.logaddexp(logits, wrong) - logits
            return ((each * right).sum(1) / right.sum(1)).mean()

        weights = self.adapter.weights()
        asked = self.encode(weights, queries, DROPOUT)
        memories = [memory for world in chosen for memory in self.shown(world)]
        held = self.encode(weights, memories, DROPOUT)
        moved = (1 - (asked.vectors * asked_before).sum(1)).mean()
        moved = moved + (1 - (held.vectors * held_before).sum(1)).mean()
        by_text = contrast(asked.vectors @ held.vectors.T)
        by_token = contrast(self.late_interaction(asked, held))
        return by_text + TOKENS * by_token + ANCHOR * moved

    def run(self, epochs: int) -> None:
        """Train, with a rate that rises over a tenth of the steps and falls over the rest."""
        pool = [world for world in self.worlds for _ in range(REPEATED.get(world.file, 1))]
        steps = epochs * math.ceil(len(pool) / WORLDS)
        optimizer = torch.optim.AdamW(self.adapter.parameters(), lr=RATE, weight_decay=0.01)
        console, done = Console(), 0
        for _ in range(epochs):
            self.dice.shuffle(pool)
            for start in range(0, len(pool), WORLDS):
                rise, fall = min(1, (done + 1) / (0.1 * steps)), max(0.02, 1 - done / steps)
                for group in optimizer.param_groups:
                    group["lr"] = RATE * rise * fall
                loss = self.loss(list(dict.fromkeys(pool[start : start + WORLDS])))
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.adapter.parameters(), 1.0)
                optimizer.step()
                done += 1
                console.print(f"step {done} of {steps}: loss {loss.item():.3f}")


def train(epochs: int) -> None:
    """Train on all worlds, and write the adapter of the package."""
    torch.manual_seed(SEED)
    trainer = Trainer(list(worlds()), "cuda" if torch.cuda.is_available() else "cpu")
    trainer.run(epochs)
    save_changes(trainer.adapter.changes(SHARE))
