"""A workspace of a few notes, on a real memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, Workspace
from hindsight_integrations.workspace import SyncResult

BANK = "alice"

CURATED = """\
---
title: Curated
tags: [home, work]
draft: false
---
# Memory

Alice prefers trains to planes.

Decisions:

- Northwind pays for the website project.
  - The budget is 9,000 euros.
- [ ] Ask Ana for the lease.

## 2026-01-05

The lease was signed yesterday.
"""

DAILY = """\
# Tuesday

The dentist is tomorrow.

## Garden

1. Met Bob about the bees.
2. Planted a pear tree behind the shed.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "notes é"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(CURATED, encoding="utf-8")
    (root / "memory" / "2026-02-03.md").write_text(DAILY, encoding="utf-8")
    (root / "SOUL.md").write_text("The agent loves thunderstorms.", encoding="utf-8")
    (root / "memory" / "Agents.MD").write_text("The agent loves thunderstorms.", encoding="utf-8")
    return root


@pytest.fixture
def workspace(memory: Hindsight, root: Path) -> Iterator[Workspace]:
    with Workspace(memory, BANK, root) as workspace:
        yield workspace


def synced(memory: Hindsight, root: Path, **options: Any) -> SyncResult:
    with Workspace(memory, BANK, root, **options) as workspace:
        return workspace.sync()
