"""all-MiniLM-L6-v2 in PyTorch, with thin changes of its matrices that can be trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor
from torch.nn import functional

from hindsight_integrations.nlp.adapter import Change
from hindsight_integrations.nlp.minilm import find_model_files

LAYERS, HEADS, WIDTH = 6, 12, 384
MATRICES = tuple(
    f"model.layers.{layer}.{name}.MatMul.weight"
    for layer in range(LAYERS)
    for name in ("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.o_proj", "mlp.fc1", "mlp.fc2")
)
DROPOUT = 0.1
_EPSILON = 1e-12
_MASKED = -1e4


def published_weights(device: str) -> dict[str, Tensor]:
    """Return the weights of the model as it was published, by their names in the graph."""
    graph = onnx.load(str(find_model_files().model)).graph
    return {
        held.name: torch.tensor(numpy_helper.to_array(held).astype(np.float32), device=device)
        for held in graph.initializer
        if held.data_type == onnx.TensorProto.FLOAT
    }


class Adapter:
    """Thin matrices A and B for each matrix of the model, of which B begins as 0."""

    def __init__(self, base: Mapping[str, Tensor], rank: int, seed: int) -> None:
        self.base = base
        draw = torch.Generator().manual_seed(seed)
        self.down: dict[str, Tensor] = {}
        self.up: dict[str, Tensor] = {}
        for name in MATRICES:
            inputs, outputs = base[name].shape
            drawn = torch.randn(inputs, rank, generator=draw) / math.sqrt(inputs)
            device = base[name].device
            self.down[name] = drawn.to(device).requires_grad_()
            self.up[name] = torch.zeros(rank, outputs, device=device, requires_grad=True)

    def parameters(self) -> list[Tensor]:
        """Return what is trained."""
        return [*self.down.values(), *self.up.values()]

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the adapted model."""
        changed = {n: self.base[n] + 2 * (self.down[n] @ self.up[n]) for n in MATRICES}
        return {**self.base, **changed}

    def changes(self, share: float) -> list[Change]:
        """Return a share of the changes, as the package holds them."""
        held = find_model_files().model.with_name("model.onnx_data").read_bytes()
        return [
            Change(
                name,
                held.index(self.base[name].cpu().numpy().tobytes()),
                self.down[name].detach().cpu().numpy(),
                2 * share * self.up[name].detach().cpu().numpy(),
            )
            for name in MATRICES
        ]


def padded(rows: Sequence[Sequence[int]], device: str) -> tuple[Tensor, Tensor]:
    """Return token ids as a matrix filled up with 0, and its mask."""
    longest = max(map(len, rows))
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def halved(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with all matrices and what is added behind them in bfloat16.

    Once a step: left to `torch.autocast`, each batch would convert all of them again.
    """
    linear = (".MatMul.weight", ".Add.bias")
    return {n: held.bfloat16() if n.endswith(linear) else held for n, held in weights.items()}


def hidden_states(weights: Mapping[str, Tensor], ids: Tensor, mask: Tensor, drop: float) -> Tensor:
    """Return the last states of the tokens, shape (texts, tokens, 384).

    Args:
        weights: of the model, as `halved` returns them.
        ids: token ids, shape (texts, tokens).
        mask: 1 for a token, 0 for what fills up.
        drop: share of the numbers that are dropped while training.
    """
    texts, length = ids.shape

    def linear(states: Tensor, name: str) -> Tensor:
        matrix, bias = weights[f"{name}.MatMul.weight"], weights[f"{name}.Add.bias"]
        return functional.linear(states.bfloat16(), matrix.T, bias)

    def norm(states: Tensor, name: str) -> Tensor:
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return functional.layer_norm(states, (WIDTH,), scale, shift, _EPSILON)

    def dropped(states: Tensor) -> Tensor:
        return functional.dropout(states, drop, drop > 0)

    states = functional.embedding(ids, weights[".model.embeddings.word_embeddings.weight"])
    states = states + weights[".model.embeddings.position_embeddings.weight"][:length]
    states = states + weights[".model.embeddings.token_type_embeddings.weight"][0]
    states = dropped(norm(states, "model.layers.-1.embeddings_norm_layernorm"))
    hidden = ((1 - mask[:, None, None, :].float()) * _MASKED).bfloat16()
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        query, key, value = (
            linear(states, f"{prefix}.attn.{name}_proj")
            .view(texts, length, HEADS, WIDTH // HEADS)
            .transpose(1, 2)
            for name in "qkv"
        )
        # By hand: of texts this short it is twice as quick on a CPU as PyTorch's own attention.
        weighed = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + hidden
        seen = torch.softmax(weighed, -1) @ value
        seen = linear(seen.transpose(1, 2).reshape(texts, length, WIDTH), f"{prefix}.attn.o_proj")
        states = norm(states + dropped(seen), f"{prefix}.attention_output_norm_layernorm")
        inner = functional.gelu(linear(states, f"{prefix}.mlp.fc1"))
        inner = linear(inner, f"{prefix}.mlp.fc2")
        states = norm(states + dropped(inner), f"{prefix}.mlp_output_norm_layernorm")
    return states


def pooled(states: Tensor, mask: Tensor) -> Tensor:
    """Return the unit vector of each text: the mean of its tokens'."""
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return functional.normalize(mean, dim=-1)
