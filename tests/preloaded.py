"""Import this to have loaded what a memory on servers or in a folder needs, models included."""

from __future__ import annotations

import importlib

from .bundled import load_before_forks

for _library in (
    "chromadb.api.fastapi",
    "chromadb.api.rust",
    "hindsight_integrations.opening",
    "hindsight_integrations.stores.neo4j",
    "pytest",
):
    importlib.import_module(_library)
load_before_forks()
