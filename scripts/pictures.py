"""Take the pictures of docs/console.md anew, in docs/pictures: `python scripts/pictures.py`. It needs Chromium.

The shop of `deltic serve --demo` runs for a while; then its orders become large, so that epochs are slow.
"""

from __future__ import annotations

import shutil
import sys
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import deltic
from deltic.cli.serve_demo import PROGRAM, Demonstration
from deltic.server.http.app import AccessRules, HttpApplication
from deltic.server.http.server import HttpServer
from deltic.server.listening import Address
from deltic.server.service import Service

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
USUAL, LARGE = 60, 20
"""Seconds with usual orders; large orders after them."""


def main() -> int:
    """The exit status."""
    with TemporaryDirectory() as folder, deltic.Pipeline(state=Path(folder, "state")) as pipeline:
        pipeline.sql(PROGRAM)
        with Service(pipeline) as service:
            shop = Demonstration(service)
            application = HttpApplication(service, AccessRules(), "shop.sql")
            with HttpServer(application, Address.of("127.0.0.1:0"), service.limits) as server:
                time.sleep(USUAL)
                for number in range(LARGE):
                    service.execute(_orders(number), [])
                _take(server.url)
            shop.close()
    return 0


def _orders(number: int) -> str:
    """An INSERT of many old orders, which the shop archives at once."""
    first = -100_000 * (number + 1)
    return (
        f"INSERT INTO orders SELECT {first} + id, CAST(id % 16 AS INT), 'figs', 7, current_timestamp()"
        " FROM range(100000)"
    )


def _take(url: str) -> None:
    """The overview, a row's explanation and a plan."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{url}/")
        page.wait_for_selector(".numbers tbody tr")
        page.wait_for_timeout(3000)
        _save(page, "overview")
        page.goto(f"{url}/#/view/referred")
        page.locator("table.rows tbody tr").nth(14).click()
        page.wait_for_selector(".why details")
        while page.query_selector(".why details:not([open])"):
            page.click(".why details:not([open]) > summary")
            page.wait_for_timeout(300)
        _save(page, "why")
        page.goto(f"{url}/#/view/reward/plan")
        page.wait_for_timeout(3000)
        _save(page, "plan")
        browser.close()


def _save(page: Page, name: str) -> None:
    """A picture in a few colours, which are enough for it."""
    shown = Image.open(BytesIO(page.screenshot())).quantize(64, method=Image.Quantize.FASTOCTREE)
    shown.save(PICTURES / f"console-{name}.png", optimize=True)


if __name__ == "__main__":
    sys.exit(main())
