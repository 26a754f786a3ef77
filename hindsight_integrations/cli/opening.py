"""Opening the memory a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hindsight_integrations.errors import NotFoundError

if TYPE_CHECKING:
    from hindsight_integrations.engine import Hindsight


@contextmanager
def opened(path: Path, *, create: bool = False) -> Iterator[Hindsight]:
    """The memory in a folder, with what else the environment sets (`HINDSIGHT_*`).

    Args:
        path: the folder.
        create: make it if there is none; commands that only read leave no folder behind.

    Raises:
        NotFoundError: there is no such folder.
    """
    if not create and not path.exists():
        raise NotFoundError(
            f"there is no memory at {path}; retain something first, or name its folder with --path"
        )
    from hindsight_integrations.engine import Hindsight

    with Hindsight.from_env(path=path) as memory:
        yield memory
