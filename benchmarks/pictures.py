"""The pictures of docs/pictures.md, drawn from the story of the demo.

python -m benchmarks.pictures       write them into docs/images/
"""

from __future__ import annotations

from pathlib import Path

from hindsight_integrations import Hindsight
from hindsight_integrations.demo.compare import BANK, remember
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.pictures.picture import Picture

FOLDER = Path(__file__).parents[1] / "docs" / "images"
QUESTION = "Which ferry company does Daniel Reyes of the harbour office work with?"


def draw(memory: Hindsight) -> dict[str, Picture]:
    """Return the pictures by the name of their file."""
    result = memory.recall(BANK, QUESTION, max_tokens=300)
    longest = max(result, key=lambda item: max((len(arm.path) for arm in item.arms), default=0))
    return {
        "graph": memory.graph(BANK, limit=40),
        "timeline": memory.timeline(BANK, entities=["Alice"]),
        "recall": result.plot(),
        "memory": result.plot(longest),
    }


def main() -> None:
    """Retain the story, and write each picture as SVG."""
    FOLDER.mkdir(exist_ok=True)
    with Hindsight.in_memory() as memory:
        remember(memory, load_story(), lambda done, total: None)
        for name, picture in draw(memory).items():
            picture.save(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
