"""`python -m benchmarks.quality.together FILES > all.json`: all their banks as one.

A bank that holds what is of one kind only is easily told from others' questions; this one holds
many kinds at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def together(datasets: Sequence[Json], name: str) -> Json:
    """Return datasets, as their files hold them, as one with a single bank.

    Ids and sessions get the names of their dataset and bank before them, so that none is another's.
    """
    items: list[Json] = []
    questions: list[Json] = []
    for dataset in datasets:
        for bank in dataset["banks"]:
            lead = f"{dataset['dataset']}/{bank['id']}/"
            items += [_led(item, lead, "id", "session") for item in bank["items"]]
            questions += [
                _led(question, lead, "id") | {"gold": [lead + id for id in question["gold"]]}
                for question in bank["questions"]
            ]
    bank = {"id": "all", "items": items, "questions": questions}
    return {"dataset": name, "banks": [bank]}


def _led(given: Json, lead: str, *fields: str) -> Json:
    return given | {field: lead + given[field] for field in fields if field in given}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the dataset that the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.together",
        description="Put the banks of several datasets together, as a dataset of one bank.",
    )
    parser.add_argument("files", type=Path, nargs="+", help="datasets, JSON")
    parser.add_argument("--name", default="together", help="name of the dataset")
    given = parser.parse_args(arguments)
    read = [json.loads(file.read_text(encoding="utf-8")) for file in given.files]
    json.dump(together(read, given.name), sys.stdout, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
