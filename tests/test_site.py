"""The site of the documentation: what is made from the code is current, and every link resolves."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from . import documentation, site

NAVIGATED = re.findall(r"[\w/-]+\.md", site.CONFIG.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", documentation.PAGES)
def test_a_page_made_from_the_code_is_current(name: str) -> None:
    stored = (documentation.DOCS / name).read_text(encoding="utf-8")
    assert stored == documentation.PAGES[name](), "run: python -m tests.documentation"


def test_the_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    stored = documentation.README.read_text(encoding="utf-8")
    assert stored == documentation.readme_with_figures(stored), "run: python -m tests.documentation"


def test_each_variable_that_the_code_reads_is_on_the_page_of_settings() -> None:
    assert documentation.variables_read() == documentation.VARIABLES.keys()


def test_each_page_notebook_and_reference_is_in_the_navigation_once(tmp_path: Path) -> None:
    site.stage(tmp_path / "site")
    docs = tmp_path / "site" / "docs"
    pages = [page.relative_to(docs).as_posix() for page in docs.rglob("*.md")]
    assert sorted(NAVIGATED) == sorted(pages)


@pytest.mark.parametrize(
    "task",
    [
        "settings.md",
        "pictures.md",
        "migration.md",
        "models.md#an-embedder-of-your-own",
        "conversations.md#resume-a-chat",
        "recall.md#filter-operators",
        "control.md#correcting",
        "users.md",
        "language-models.md#ollama",
    ],
)
def test_the_first_page_leads_to_what_people_look_for(task: str) -> None:
    assert f"]({task})" in (documentation.DOCS / "index.md").read_text(encoding="utf-8")


def test_the_reference_documents_every_public_name() -> None:
    import hindsight_integrations

    documented = {name.rpartition(".")[2] for name in site.public_names("hindsight_integrations")}
    missing = {*hindsight_integrations.__all__} - documented
    assert {name for name in missing if not name.endswith("Error")} == {"__version__"}


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    built = site.build(tmp_path / "site")
    assert "Alice joined Northwind" in (built / "index.html").read_text(encoding="utf-8")
    reference = (built / "api" / "hindsight.html").read_text(encoding="utf-8")
    assert 'id="hindsight_integrations.client.Hindsight.recall"' in reference


@pytest.mark.slow
@pytest.mark.parametrize("target", ["other.md#no-such-heading", "no-such-page.md"])
def test_a_broken_link_fails_the_build(target: str, tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: broken\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# Other\n", encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n[gone]({target})\n", encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError):
        site.generate(tmp_path)


def test_the_configuration_asks_no_other_server_for_fonts() -> None:
    configuration = yaml.load(site.CONFIG.read_text(encoding="utf-8"), yaml.BaseLoader)
    assert configuration["theme"]["font"] == "false"
