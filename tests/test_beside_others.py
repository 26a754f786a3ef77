"""Every extra resolves together with packages that people use beside it, from the registry.

Parts: `pytest tests/test_beside_others.py -k langmem`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

OTHERS = {
    "langchain-openai": ("langchain-openai",),
    "langchain-neo4j": ("langchain-neo4j",),
    "langmem": ("langmem",),
    "llama-index-neo4j": (
        "llama-index-graph-stores-neo4j",
        "llama-index-vector-stores-neo4jvector",
    ),
    "llama-index-bm25": ("llama-index-retrievers-bm25",),
}
OTHERS["all"] = tuple(name for names in OTHERS.values() for name in names)

OFFLINE = ("Failed to fetch", "error sending request", "dns error", "timed out")
"""What the resolver says of a registry that it cannot reach."""


VERSIONS = ("3.11", "3.12", "3.13")
SETTINGS = {"UV_DEFAULT_INDEX": "PIP_INDEX_URL", "SSL_CERT_FILE": "PIP_CERT"}
"""Settings of the resolver, and pip's that they are taken from."""


@pytest.mark.slow
@pytest.mark.parametrize("part", OTHERS)
def test_no_requirement_of_ours_conflicts(part: str, tmp_path: Path) -> None:
    asked = tmp_path / "others.in"
    asked.write_text("\n".join(OTHERS[part]), encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [f"--extra={name}" for name in project["optional-dependencies"] if name != "dev"]
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    environ = {**os.environ}
    environ |= {uv: environ[pip] for uv, pip in SETTINGS.items() if pip in environ}
    for python in VERSIONS if part == "all" else (ours,):
        resolved = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-annotate",
             f"--python-version={python}", *extras, "pyproject.toml", str(asked)],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        if any(sign in resolved.stderr for sign in OFFLINE):
            pytest.skip("the package registry cannot be reached")
        assert resolved.returncode == 0, resolved.stderr
        assert {*OTHERS[part]} <= {*re.findall(r"^[\w.-]+", resolved.stdout, re.MULTILINE)}
