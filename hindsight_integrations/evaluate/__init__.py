"""Measure how well recall finds the evidence for your own questions."""

from hindsight_integrations.evaluate.dataset import (
    DataBank,
    DataItem,
    DataQuestion,
    Dataset,
    Passage,
    by_paragraph,
    parse_dataset,
)
from hindsight_integrations.evaluate.formats import (
    FORMATS,
    load_dataset,
    parse_locomo,
    parse_longmemeval,
)
from hindsight_integrations.evaluate.report import Evaluation, QuestionRow, comparison
from hindsight_integrations.evaluate.run import evaluate, evaluate_baseline, measure

__all__ = [
    "FORMATS",
    "DataBank",
    "DataItem",
    "DataQuestion",
    "Dataset",
    "Evaluation",
    "Passage",
    "QuestionRow",
    "by_paragraph",
    "comparison",
    "evaluate",
    "evaluate_baseline",
    "load_dataset",
    "measure",
    "parse_dataset",
    "parse_locomo",
    "parse_longmemeval",
]
