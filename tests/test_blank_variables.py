"""A variable that is set to nothing is unset, as compose files produce with `${X:-}`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.service.settings import ServiceSettings


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_setting_is_the_default(blank: str) -> None:
    names = [f"HINDSIGHT_{each.name.upper()}" for each in fields(Settings)]
    assert Settings.from_env(dict.fromkeys(names, blank)) == Settings()


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_setting_of_the_service_is_the_default(blank: str) -> None:
    names = [f"HINDSIGHT_SERVICE_{each.name.upper()}" for each in fields(ServiceSettings)]
    assert ServiceSettings.from_env(dict.fromkeys(names, blank)) == ServiceSettings()


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_part_is_the_default(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PATH", "GRAPH", "VECTORS", "EMBEDDER", "MAX_TOKENS", "CONSOLIDATE"):
        monkeypatch.setenv(f"HINDSIGHT_{name}", blank)
    with Hindsight.from_env():
        assert (tmp_path / "hindsight-memory").is_dir()
