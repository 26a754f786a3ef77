"""`python -m benchmarks.embedder`: train the default embedder again, and write its adapter."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

NEEDED = ("torch", "onnx")
EPOCHS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Train on all worlds and write the adapter; return the exit code, 2 without the packages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedder")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over all worlds")
    given = parser.parse_args(arguments)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"training needs {' and '.join(NEEDED)}: pip install {' '.join(missing)}\n"
        )
        return 2
    from benchmarks.embedder.train import train

    train(given.epochs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
