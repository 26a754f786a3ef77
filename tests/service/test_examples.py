"""The sessions in `examples/` with a service that asks for a token."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from tests.service.served import served

EXAMPLES = Path(__file__).parents[2] / "examples"
TOKEN = "the-token-of-the-service"


def run(memory: Hindsight, *command: str) -> list[str]:
    """Run an example; return the lines it wrote."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} on this machine")
    with served(memory, token=TOKEN) as url:
        ran = subprocess.run(
            command,
            env=os.environ | {"HINDSIGHT_URL": url, "HINDSIGHT_SERVICE_TOKEN": TOKEN},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.slow
def test_a_session_with_curl(memory: Hindsight) -> None:
    first, again, recalled, entities, dry, missing, told = run(
        memory, "sh", str(EXAMPLES / "service.sh")
    )
    assert first == again
    assert json.loads(first)["stored"][0]["mentioned_at"] == "2024-05-07T13:56:00Z"
    assert json.loads(recalled)["memories"][0]["memory"]["speaker"] is None
    assert {each["name"] for each in json.loads(entities)["items"]} >= {"Alice", "Northwind"}
    assert json.loads(dry)["dry_run"] is True
    assert json.loads(missing)["error"]["type"] == "BankNotFoundError"
    assert told == "an error has a type and a message"
    assert memory.banks.stats("shell").memories == 1


@pytest.mark.slow
def test_a_session_in_javascript(memory: Hindsight) -> None:
    best, *_, told = run(memory, "node", str(EXAMPLES / "service.mjs"))
    assert best.endswith("I moved to Lisbon in May 2023.")
    assert told.startswith("BankNotFoundError: there is no bank 'javascript'")
