"""A server on loopback and a real browser. A page that loads something from elsewhere, or has an error, fails."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

import deltic
from deltic.server.http.app import AccessRules, HttpApplication
from deltic.server.http.server import HttpServer
from deltic.server.listening import Address
from deltic.server.service import Service

PROGRAM = """
CREATE TABLE customers (id INT PRIMARY KEY, name STRING, city STRING);
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, amount INT);
CREATE VIEW bought AS SELECT o.id, c.name, c.city, o.amount FROM orders o JOIN customers c ON o.customer = c.id;
CREATE VIEW cities AS SELECT city, sum(amount) AS total, count(*) AS n FROM bought GROUP BY city;
"""
REACH = """
.decl link(x: number, y: number)
.input link
.decl reach(x: number, y: number)
reach(x, y) :- link(x, y).
reach(x, z) :- reach(x, y), link(y, z).
"""


def browser_path():
    """Where Chromium is; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium")
    return found


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    path = browser_path()
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@contextmanager
def served(service, access=None, port=0):
    """The address at which a service is served."""
    application = HttpApplication(service, access or AccessRules(), "shop.sql")
    with HttpServer(application, Address.of(f"127.0.0.1:{port}"), service.limits) as server:
        yield server.url


@pytest.fixture
def pipeline(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state") as made:
        made.sql(PROGRAM)
        made.datalog(REACH)
        yield made


@pytest.fixture
def service(pipeline):
    with Service(pipeline) as made:
        links = [{"op": "+", "x": n, "y": n + 1} for n in range(4)]
        made.apply({"customers": [customer(n) for n in range(4)], "link": links})
        yield made


@pytest.fixture
def url(service):
    with served(service) as url:
        yield url


@pytest.fixture
def page(browser, url):
    with opened(browser, url) as page:
        yield page


@contextmanager
def opened(browser, url, expected=(), **context):
    """A page of the console at its first screen; when it ends, nothing may have failed but what is `expected`."""
    made = browser.new_context(viewport={"width": 1280, "height": 800}, **context)
    page, parts, asked = made.new_page(), [], []
    page.set_default_timeout(20_000)
    page.on("console", lambda message: parts.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: parts.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{url}/")
    try:
        yield page
    finally:
        made.close()
    assert [text for text in parts if not any(part in text for part in expected)] == []
    assert [address for address in asked if not address.startswith((url, "data:"))] == []


def customer(number):
    return {"op": "+", "id": number, "name": f"name {number}", "city": ("Turin", "Lyon")[number % 2]}


def order(number, amount=None):
    return {"op": "+", "id": number, "customer": number % 4, "amount": number if amount is None else amount}


def screenshot(page, name):
    """Keeps a picture where DELTIC_SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("DELTIC_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")
