"""The figures as a section of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.speed.prepared import SEMANTIC_LINKS, STOCK
from benchmarks.speed.recalling import FUSED, PLAIN_LIMIT, RERANKED, RecallFigures
from benchmarks.speed.retaining import REAL, FilledBank, RetainFigures
from hindsight_integrations.evaluate.report import markdown_table

_MEGABYTE = 1_000_000


def markdown(
    machine: str,
    command: str,
    where: str,
    imports: Mapping[str, float],
    retain: RetainFigures,
    banks: Mapping[FilledBank, RecallFigures],
) -> str:
    """Return tables for retaining and recalling, with the machine and the stores."""
    plain = next(iter(banks.values())).plain
    imported = "; ".join(f"`{name}`: {1000 * spent:.0f} ms" for name, spent in imports.items())
    parts = [
        f"`{command}` on {machine}",
        *([f"{imported}."] if imported else []),
        f"**Retaining**, {where}, models loaded:",
        markdown_table(
            ["", "turns/s"], [[name, f"{rate:.0f}"] for name, rate in retain.rates.items()]
        ),
        f"A single message takes {retain.single} ms (p50 / p95).",
        "**Recalling** from one bank of generated conversation, 4,096 tokens, milliseconds "
        "(p50 / p95), the embedding of the question included:",
        markdown_table(["memories", *(f"{f.memories:,}" for f in banks.values())], _recall(banks)),
        *([_ratios(banks)] if plain else []),
        *_notes(banks, beside_plain=bool(plain)),
    ]
    return "\n\n".join(parts)


def _recall(banks: Mapping[FilledBank, RecallFigures]) -> Sequence[Sequence[str]]:
    figures = list(banks.values())
    rows = [
        [name, *(str(found.latencies[name]) for found in figures)] for name in figures[0].latencies
    ]
    rows += [[name, *(str(found.plain[name]) for found in figures)] for name in figures[0].plain]
    rows += [
        ["first answer of a new process, s", *(f"{f.first_answer:.1f}" for f in figures)],
        ["peak memory of the process, MB", *(_megabytes(f.memory) for f in figures)],
    ]
    disks = [f.disk for f in figures if f.disk is not None]
    if disks:
        rows.append(["disk, MB", *map(_megabytes, disks)])
    rows.append(["made, memories/s", *(f"{bank.turns / bank.seconds:,.0f}" for bank in banks)])
    return rows


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:,.0f}"


def _ratios(banks: Mapping[FilledBank, RecallFigures]) -> str:
    """Return the ratio of the time of a recall to that of each plain search."""
    figures = list(banks.values())
    rows = [
        [
            f"{recall} : {plain}",
            *(_ratio(f.latencies[recall].p50 / f.plain[plain].p50) for f in figures),
        ]
        for recall in (RERANKED, FUSED)
        for plain in figures[0].plain
    ]
    head = ["ratio of the p50s", *(f"{found.memories:,}" for found in figures)]
    return markdown_table(head, rows)


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _notes(banks: Mapping[FilledBank, RecallFigures], *, beside_plain: bool) -> list[str]:
    notes = ["The temporal arm is timed on questions that name a time, the others on a mix."]
    if beside_plain:
        notes.append(
            "Plain Chroma is a collection of the same texts with the same embedder and Chroma's "
            f"own settings, asked for {PLAIN_LIMIT} texts; BM25 keeps its index in memory."
        )
    if any(bank.prepared for bank in banks):
        notes.append(
            f"Banks of more than {REAL:,} memories are not retained but written straight to the "
            "stores: the same conversation with its names, every third memory with a day, "
            f"{SEMANTIC_LINKS} semantic and up to 4 temporal links each, and vectors mixed from "
            f"those of {STOCK} real turns. Only their number and spread matter to the time."
        )
    return notes
