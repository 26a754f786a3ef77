"""How well does recall find the evidence for your own questions? Figures, not impressions."""

from hindsight_integrations.evaluate.dataset import (
    DataBank,
    DataItem,
    DataQuestion,
    Dataset,
    load_dataset,
    parse_dataset,
)
from hindsight_integrations.evaluate.report import Evaluation, QuestionRow, comparison
from hindsight_integrations.evaluate.run import evaluate, evaluate_baseline, measure

__all__ = [
    "DataBank",
    "DataItem",
    "DataQuestion",
    "Dataset",
    "Evaluation",
    "QuestionRow",
    "comparison",
    "evaluate",
    "evaluate_baseline",
    "load_dataset",
    "measure",
    "parse_dataset",
]
