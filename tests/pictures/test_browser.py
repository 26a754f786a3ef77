"""The interactive pictures in headless Chromium, from a file and without a network.

Skipped where no Chromium is installed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from hindsight_integrations import Hindsight, Settings

from ..viewer.browser import CHROMIUM, chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed"),
    pytest.mark.xdist_group("viewer"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of the pictures of a small bank, each a file."""
    folder = tmp_path_factory.mktemp("pictures")
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for text in (
            "Alice joined Northwind in March 2021.",
            "Alice works with Ben at Northwind.",
            "Alice met Carla in Bergen in May 2023.",
            "Dora wrote <b>a letter</b> <img src=x onerror=alert(1)> to Alice.",
        ):
            memory.retain("bank", text, speaker="Ben")
        result = memory.recall("bank", "Where does Alice work?")
        pictures = {
            "graph": memory.graph("bank"),
            "timeline": memory.timeline("bank"),
            "recall": result.plot(),
            "memory": result[0].plot(),
        }
        return {
            name: picture.save(folder / f"{name}.html").as_uri()
            for name, picture in pictures.items()
        }


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test if it asks for anything beside its file, or an error is raised."""
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    yield page
    page.close()
    assert errors == []
    assert [url for url in asked if not url.startswith("file:")] == []


def test_a_graph_is_read_by_keyboard_searched_and_filtered(
    page: Page, files: dict[str, str]
) -> None:
    page.goto(files["graph"])
    panel = page.get_by_role("complementary", name="Details")
    expect(panel).to_be_hidden()
    page.locator(".node[tabindex='0']").focus()
    assert "4 memories" in (page.locator(":focus").get_attribute("aria-label") or "")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("Alice works with Ben at Northwind.")
    expect(panel).to_contain_text("<b>a letter</b> <img src=x onerror=alert(1)>")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    reached = {page.locator(":focus").get_attribute("aria-label")}
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp") * 2:
        page.keyboard.press(key)
        reached.add(page.locator(":focus").get_attribute("aria-label"))
    assert len(reached) > 2
    search = page.get_by_role("searchbox", name="Find a name")
    search.fill("carl")
    search.press("Enter")
    expect(panel.get_by_role("heading").first).to_have_text("Carla")
    panel.get_by_role("button", name="Alice").click()
    expect(panel.get_by_role("heading").first).to_have_text("Alice")
    search.fill("")
    persons = page.locator(".node[aria-label*='person']:visible")
    expect(persons).not_to_have_count(0)
    page.get_by_role("checkbox", name="person").uncheck()
    expect(persons).to_have_count(0)
    expect(page.locator(".node:visible")).not_to_have_count(0)


def test_a_timeline_is_zoomed_and_searched_by_keyboard(page: Page, files: dict[str, str]) -> None:
    page.goto(files["timeline"])
    panel = page.get_by_role("complementary", name="Details")
    first = page.locator(".axis .tick text").first
    before = first.text_content()
    page.locator(".dot[tabindex='0']").focus()
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("Alice joined Northwind in March 2021.")
    for _ in range(6):
        page.keyboard.press("+")
    expect(first).not_to_have_text(before or "")
    page.keyboard.press("0")
    expect(first).to_have_text(before or "")
    search = page.get_by_role("searchbox", name="Find words")
    search.fill("carla")
    search.press("Enter")
    expect(panel).to_contain_text("Alice met Carla in Bergen")
    expect(panel).not_to_contain_text("Northwind")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_in_a_picture(page: Page, files: dict[str, str], colours: str) -> None:
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    found = {}
    for name, address in files.items():
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        violations = Axe().run(page).response["violations"]
        found[name] = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in violations]
    assert found == {name: [] for name in files}


def test_a_graph_fills_a_narrow_screen_and_nothing_is_beyond_it(
    page: Page, files: dict[str, str]
) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    for name, address in files.items():
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") == 390, name
    page.goto(files["graph"])
    boxes = [mark.bounding_box() for mark in page.locator(".node").all()]
    tall = [box["y"] for box in boxes if box]
    wide = [box["x"] for box in boxes if box]
    assert max(tall) - min(tall) > max(wide) - min(wide)
