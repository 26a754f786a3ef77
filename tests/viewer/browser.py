"""A real browser on a real service, and the screenshots of the documentation.

python -m tests.viewer.browser        write the screenshots into docs/images/
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.demo import compare
from hindsight_integrations.demo.story import load_story
from hindsight_integrations.service.app import create_app

IMAGES = Path(__file__).parents[2] / "docs" / "images"

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
"""The browser of this machine; "" if it has none."""

BANK = "story"
QUESTION = "What did Inês build the checkout in?"

SHOTS = {
    "viewer-recall": (f"recall?bank={BANK}&query={QUESTION}&a_tokens=300", "light", 760),
    "viewer-compare": (
        f"recall?bank={BANK}&query=Who do I ask to get at the spare scanners?"
        "&compare=1&a_tokens=150&b_tokens=100&b_arm=keyword",
        "light",
        840,
    ),
    "viewer-graph": (f"graph?bank={BANK}&limit=24", "dark", 800),
    "viewer-memory": (f"memories?bank={BANK}&text=checkout", "dark", 700),
}
"""Screenshots by name: address, colours and height in pixels."""


@contextmanager
def story(*, whole: bool = True) -> Iterator[Hindsight]:
    """Open a memory of eight months of conversation, with observations and a mental model.

    Args:
        whole: False for its first weeks, and what is said of the checkout later.
    """
    told = load_story()
    if not whole:
        some = (m for n, m in enumerate(told.messages) if n < 40 or "checkout" in m.text)
        told = replace(told, messages=tuple(some))
    with Hindsight.in_memory(settings=Settings(purge_interval=0)) as memory:
        compare.remember(memory, told, lambda *_: None)
        memory.wait_idle()
        memory.mental_models.create(BANK, "The checkout", source_query=QUESTION)
        yield memory


@contextmanager
def served(memory: Hindsight) -> Iterator[str]:
    """Serve a memory in a thread; yield the address of the viewer."""
    config = uvicorn.Config(create_app(memory), port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/ui/"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser of this machine without a window."""
    with sync_playwright() as driver:
        # The sandbox of Chromium needs rights that a container lacks; it visits the viewer alone.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def screenshots(browser: Browser, viewer: str, folder: Path) -> None:
    """Write the screenshots of the documentation into a folder."""
    folder.mkdir(exist_ok=True)
    for name, (address, colours, height) in SHOTS.items():
        page = browser.new_page(
            viewport={"width": 1120, "height": height},
            color_scheme="dark" if colours == "dark" else "light",
        )
        page.goto(viewer + address, wait_until="networkidle")
        _settle(page, name)
        page.screenshot(path=folder / f"{name}.png")
        page.close()


def _settle(page: Page, name: str) -> None:
    """Bring a page into the state of its screenshot."""
    if name == "viewer-recall":
        page.get_by_text("Why it came").first.click()
        page.evaluate("scrollTo(0, 90)")
    if name == "viewer-graph":
        page.wait_for_timeout(1500)  # the drawing comes to rest
        page.locator(".drawn").scroll_into_view_if_needed()


if __name__ == "__main__":
    with story() as memory, served(memory) as viewer, chromium() as browser:
        screenshots(browser, viewer, IMAGES)
