"""A variable whose name is nearly one that is read is named in the log; others are passed over."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.service.settings import ServiceSettings


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.message for one in caplog.records if one.levelno >= logging.WARNING]


def test_a_misspelled_variable_is_named_once_with_the_one_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HINDSIGHT_GRPAH", "neo4j://localhost:7687")
    monkeypatch.setenv("HINDSIGHT_PATH", str(tmp_path / "memories"))
    for _ in range(2):
        with Hindsight.from_env():
            pass
    expected = "the variable HINDSIGHT_GRPAH is not read; did you mean HINDSIGHT_GRAPH?"
    assert [one for one in warnings(caplog) if "variable" in one] == [expected]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HINDSIGHT_VECTOR", "HINDSIGHT_VECTORS"),
        ("HINDSIGHT_GRAPH_URL", "HINDSIGHT_GRAPH"),
        ("HINDSIGHT_TOKENS", "HINDSIGHT_MAX_TOKENS"),
        ("HINDSIGHT_CONSOLDATE", "HINDSIGHT_CONSOLIDATE"),
        ("HINDSIGHT_CONFG", "HINDSIGHT_CONFIG"),
    ],
)
def test_slips_in_the_settings_of_a_memory(
    name: str, meant: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert Settings.from_env({name: "1"}) == Settings()
    assert warnings(caplog) == [f"the variable {name} is not read; did you mean {meant}?"]


def test_slips_in_the_settings_of_the_service(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("HINDSIGHT_SERVICE_TOKENS", "HINDSIGHT_SERVCE_PORT"):
        assert ServiceSettings.from_env({name: "1"}) == ServiceSettings()
    assert [one.rpartition(" ")[2] for one in warnings(caplog)] == [
        "HINDSIGHT_SERVICE_TOKEN?",
        "HINDSIGHT_SERVICE_PORT?",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "HINDSIGHT_API_LLM_PROVIDER",
        "HINDSIGHT_API_LOG_LEVEL",
        "HINDSIGHT_CP_DATAPLANE_API_URL",
        "HINDSIGHT_EMBED_BANK_ID",
        "HINDSIGHT_BANK_ID",
        "HINDSIGHT_IDLE_TIMEOUT",
        "HINDSIGHT_URL",
        "HINDSIGHT_ORG",
        "SHORTSIGHT_GRPAH",
    ],
)
def test_variables_of_other_programs_are_passed_over(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    Settings.from_env({name: "1"})
    ServiceSettings.from_env({name: "1"})
    assert warnings(caplog) == []


def test_variables_that_are_read_elsewhere_are_no_slips(caplog: pytest.LogCaptureFixture) -> None:
    def blank(prefix: str, kind: type) -> Mapping[str, str]:
        return {f"{prefix}{each.name.upper()}": "" for each in fields(kind)}

    Settings.from_env(blank("HINDSIGHT_SERVICE_", ServiceSettings))
    ServiceSettings.from_env(blank("HINDSIGHT_", Settings))
    assert warnings(caplog) == []
