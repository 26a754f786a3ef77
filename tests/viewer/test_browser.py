"""The viewer in headless Chromium: a walk by keyboard, and axe-core on its pages.

Skipped where no Chromium is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from hindsight_integrations import Hindsight

from .browser import BANK, CHROMIUM, QUESTION, SHOTS, chromium, screenshots, served, story

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed"),
    pytest.mark.xdist_group("viewer"),
]

ADDRESSES = (
    "",
    "bank?bank={bank}",
    "memories?bank={bank}",
    "memory?bank={bank}&id={memory}",
    "memory?bank={bank}&id={observation}",
    "memory/edit?bank={bank}&id={memory}",
    "memory/forget?bank={bank}&id={memory}",
    "entities?bank={bank}",
    "entity?bank={bank}&id=Jonas",
    "entity/merge?bank={bank}&id=Jonas",
    "entity/split?bank={bank}&id=Jonas",
    "suggestions?bank={bank}&compared=1",
    "graph?bank={bank}",
    "timeline?bank={bank}",
    "observations?bank={bank}",
    "opinions?bank={bank}",
    "models?bank={bank}",
    "model?bank={bank}&id={model}",
    "recall?bank={bank}&query=checkout&compare=1&b_tokens=200",
    "bank?bank=none",
)

AXE = Axe()


@pytest.fixture(scope="module")
def memory() -> Iterator[Hindsight]:
    with story(whole=False) as memory:
        yield memory


@pytest.fixture(scope="module")
def viewer(memory: Hindsight) -> Iterator[str]:
    with served(memory) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which a violation of the content security policy is a failure."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    refused: list[str] = []
    page.on("console", lambda told: refused.append(told.text) if _is_refusal(told.text) else None)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert (refused, errors) == ([], [])


def _is_refusal(text: str) -> bool:
    return "Content Security Policy" in text or "sandbox" in text


def faults(page: Page) -> list[str]:
    """What axe-core finds, in short."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found = AXE.run(page).response["violations"]
    return [f"{v['id']} ({v['impact']}): {v['nodes'][0]['html'][:200]}" for v in found]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(
    memory: Hindsight, viewer: str, page: Page, colours: str
) -> None:
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    ids = {
        "bank": BANK,
        "memory": memory.memories.list(BANK, limit=1).items[0].id,
        "observation": memory.observations.list(BANK, limit=1).items[0].id,
        "model": memory.mental_models.list(BANK)[0].id,
    }
    found = {}
    for address in ADDRESSES if colours == "light" else ADDRESSES[:5]:
        page.goto(viewer + address.format(**ids))
        found[address] = faults(page)
    assert {address: each for address, each in found.items() if each} == {}


def test_a_memory_is_found_corrected_and_undone_by_keyboard_alone(
    memory: Hindsight, viewer: str, page: Page
) -> None:
    page.goto(f"{viewer}memories?bank={BANK}")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("moving the checkout")  # the list follows what is typed
    expect(page.locator("#count")).to_contain_text("2 memories")  # and one that quotes it
    expect(page.locator("#text")).to_be_focused()
    expect(page).to_have_url(re.compile("text=moving"))
    page.locator("#results a").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("moving the checkout to Vue")
    page.get_by_role("link", name="Invalidate").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Invalidate this memory?")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_label("Why")).to_be_focused()
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Invalidate")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Why")).to_be_focused()
    page.keyboard.type("It was the seat map.")
    page.keyboard.press("Enter")
    notice = page.locator(".notice")
    expect(notice).to_contain_text("no longer recalled")
    expect(page.locator("main")).to_contain_text("because It was the seat map.")
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(notice).to_contain_text("valid again")
    (found,) = memory.memories.list(BANK, text="moving the checkout").items
    assert [change.action for change in memory.memories.history(BANK, found.id)][-1] == "restore"


def test_nothing_is_wider_than_a_narrow_screen(memory: Hindsight, viewer: str, page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    for address in ("", f"bank?bank={BANK}", f"memories?bank={BANK}", f"entities?bank={BANK}",
                    f"recall?bank={BANK}&query={QUESTION}&compare=1"):  # fmt: skip
        page.goto(viewer + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address


def test_the_graph_is_drawn_in_its_sandbox(viewer: str, page: Page) -> None:
    page.goto(f"{viewer}graph?bank={BANK}", wait_until="networkidle")
    frame = page.frame_locator("iframe.picture")
    expect(frame.get_by_text("Jonas").first).to_be_attached()


def test_the_screenshots_of_the_documentation_can_be_made(
    browser: Browser, viewer: str, tmp_path: Path
) -> None:
    screenshots(browser, viewer, tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(SHOTS)
    assert all(20_000 < path.stat().st_size < 150_000 for path in tmp_path.iterdir())
