"""compose.yaml: the servers that a user starts are those that the tests know."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.service.settings import ServiceSettings

from .service.served import served
from .stores import neo4j_server
from .stores.chroma_server import free_port, serve

FILE = Path(__file__).parents[1] / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
CONTAINER = (FILE.parent / "Containerfile").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_passwords_come_from_the_environment_alone() -> None:
    text = FILE.read_text()
    # `?` makes compose refuse to start without one; there is no default.
    assert re.findall(r"\$\{NEO4J_PASSWORD\b(..)", text) == [":?"]
    given = [
        str(value)
        for service in SERVICES.values()
        for name, value in service.get("environment", {}).items()
        if re.search("auth|pass|token|secret", name, re.IGNORECASE)
    ]
    assert given
    assert all("${" in value for value in given)


@pytest.mark.parametrize("name", SERVICES)
def test_each_server_keeps_its_data_is_watched_and_is_open_to_this_machine_alone(name: str) -> None:
    service = SERVICES[name]
    volumes = dict(volume.split(":") for volume in service["volumes"])
    assert volumes.keys() <= COMPOSE["volumes"].keys()
    assert "/data" in volumes.values()
    assert service["healthcheck"]["test"][0] == "CMD"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_servers_are_of_releases_that_the_memory_works_with() -> None:
    needed = (FILE.parent / "pyproject.toml").read_text()
    assert f'"chromadb>={SERVICES["chroma"]["image"].split(":")[1]},' in needed
    release, edition = SERVICES["neo4j"]["image"].split(":")[1].split("-")
    assert edition == "community"
    assert neo4j_server.VERSION.startswith(f"{release}.")


@pytest.mark.parametrize("name", SERVICES)
def test_each_server_has_time_to_end_in_good_order(name: str) -> None:
    amount, unit = re.fullmatch(r"(\d+)(s|m)", SERVICES[name]["stop_grace_period"]).groups()
    assert int(amount) * {"s": 1, "m": 60}[unit] >= 30  # 10 seconds are compose's default


def test_neo4j_reports_to_nobody_and_is_healthy_once_the_database_answers() -> None:
    neo4j = SERVICES["neo4j"]
    assert neo4j["environment"]["NEO4J_dbms_usage__report_enabled"] == "false"
    assert neo4j["environment"]["NEO4J_PLUGINS"] == "${NEO4J_PLUGINS:-}"
    *shell, check = neo4j["healthcheck"]["test"]
    assert shell == ["CMD", "/bin/bash", "-c"]
    assert "cypher-shell" in check
    assert "MATCH (n) RETURN n" in check
    assert '"$${NEO4J_AUTH#neo4j/}"' in check  # compose makes one dollar of two


@pytest.mark.slow
def test_the_check_of_chroma_tells_a_server_that_answers_from_one_that_does_not(
    tmp_path: Path,
) -> None:
    port = free_port()
    check_at_8000 = SERVICES["chroma"]["healthcheck"]["test"][1:]
    command = [part.replace("8000", str(port)) for part in check_at_8000]

    def check() -> int:
        return subprocess.run(command, capture_output=True, timeout=5, check=False).returncode

    assert check() != 0
    server = serve(tmp_path, port)
    try:
        assert check() == 0
    finally:
        server.kill()
        server.wait()
    assert check() != 0


@pytest.mark.slow
def test_the_check_of_the_service_tells_one_that_answers_from_one_that_does_not(
    memory: Hindsight,
) -> None:
    check = SERVICES["memory"]["healthcheck"]["test"][1:]
    assert check[-1] in CONTAINER.replace("'", '"')

    def status(url: str) -> int:
        command = [part.replace("http://127.0.0.1:8888", url) for part in check]
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode

    with served(memory) as url:
        assert any(status(url) == 0 for _ in range(5))  # one gives up after 4 s
    assert status(url) != 0


def test_the_image_has_what_the_service_needs() -> None:
    project = tomllib.loads((FILE.parent / "pyproject.toml").read_text())["project"]
    installed = re.search(r"/source\[(.+)\]", CONTAINER)
    assert installed
    extras = set(installed[1].split(","))
    assert (
        {"mcp", "neo4j", "service", "telemetry"} <= extras <= set(project["optional-dependencies"])
    )
    copied = {
        name
        for names in re.findall(r"^COPY ([^-].+) /source", CONTAINER, re.M)
        for name in names.split()
    }
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "hindsight_integrations"}
    settings = {f"HINDSIGHT_SERVICE_{each.name.upper()}" for each in fields(ServiceSettings)}
    for text in (CONTAINER, FILE.read_text()):
        assert set(re.findall(r"HINDSIGHT_SERVICE_\w+", text)) <= settings
    # A process that is not told who may come does not listen to others.
    with pytest.raises(InvalidInputError, match="HINDSIGHT_SERVICE_TOKEN"):
        ServiceSettings.from_env(
            {"HINDSIGHT_SERVICE_HOST": "0.0.0.0", "HINDSIGHT_SERVICE_TOKEN": ""}
        )


@pytest.mark.slow
def test_the_steps_of_the_image_make_a_service_of_what_is_copied(tmp_path: Path) -> None:
    """They run outside a container; packages that this project needs come from its tests."""
    copied = re.search(r"^COPY ([^-].+) /source/$", CONTAINER, re.M)
    step = re.search(r"^RUN (python -m venv .+)$", CONTAINER, re.M)
    entry = re.search(r"^ENTRYPOINT (.+)$", CONTAINER, re.M)
    assert copied is not None
    assert step is not None
    assert entry is not None
    source = tmp_path / "source"
    source.mkdir()
    for name in (*copied[1].split(), "hindsight_integrations"):
        found = FILE.parent / name
        if found.is_dir():
            shutil.copytree(found, source / name)
        else:
            shutil.copy(found, source)
    command = step[1].replace("/venv", f"{tmp_path}/venv").replace("/source", str(source))
    command = command.replace("pip install", "pip install --no-deps")
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{plain['PATH']}"
    made = subprocess.run(
        command, shell=True, env=plain | {"PATH": path}, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    # The folder of packages comes last: what was installed here is found before it.
    packages = Path(yaml.__file__).parents[1]
    (installed,) = tmp_path.glob("venv/lib/python*/site-packages")
    (installed / "packages.pth").write_text(f"{packages}\n", encoding="utf-8")
    environment = plain | {
        "PATH": f"{tmp_path}/venv/bin{os.pathsep}{plain['PATH']}",
        "HINDSIGHT_PATH": str(tmp_path / "memory"),
        "HINDSIGHT_SERVICE_HOST": "0.0.0.0",
        "HINDSIGHT_SERVICE_PORT": "0",
    }
    program = [*json.loads(entry[1]), "--json"]
    refused = subprocess.run(
        program, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "HINDSIGHT_SERVICE_TOKEN" in refused.stdout + refused.stderr
    environment["HINDSIGHT_SERVICE_TOKEN"] = "the-token-of-the-service"
    with subprocess.Popen(
        program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            url = json.loads(process.stdout.readline())["url"]
            assert httpx.get(f"{url}/health", timeout=60).json()["status"] == "healthy"
            assert httpx.get(f"{url}/v1/default/banks", timeout=60).status_code == 401
        finally:
            process.terminate()
        assert process.wait(60) == 0
