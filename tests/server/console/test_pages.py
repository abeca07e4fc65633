"""The console in Chromium, against a real server: catches a page that shows other numbers than the pipeline has, that
does not follow its changes, cannot be used by keyboard, loads anything from elsewhere, or takes a value for HTML.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

import deltic
from deltic.pipeline.streaming.rejected import COLUMNS
from deltic.server.http.app import AccessRules
from deltic.server.repeating import Refreshing
from deltic.server.service import Service
from deltic.server.users import Role, Users, new_entry
from tests.server.console.conftest import opened, order, screenshot, served

pytestmark = pytest.mark.xdist_group("console")

LINES = "all => all.map(line => [...line.cells].map(cell => cell.textContent))"


def lines(page, selector="table.rows tbody tr"):
    """The texts of a table, by line."""
    return page.eval_on_selector_all(selector, LINES)


def go(page, place):
    page.evaluate("place => { location.hash = place; }", place)


def wait_for_line(page, *texts, selector="table.rows tbody tr"):
    """Wait until a table has a line with these texts in front."""
    page.wait_for_function(
        "([selector, texts]) => [...document.querySelectorAll(selector)]"
        ".some(line => texts.every((text, i) => line.cells[i]?.textContent === text))",
        arg=[selector, list(texts)],
    )


def test_the_first_screen_has_all_tables_and_views(page, service, pipeline):
    service.apply({"orders": [order(n) for n in range(20)]})
    page.wait_for_function(
        "() => [...document.querySelectorAll('.numbers tr')].some(({cells}) => cells[0].textContent === 'bought'"
        " && cells[4].textContent === '20')"
    )
    rows = {line[0]: line[4] for line in lines(page, ".numbers tbody tr")}
    names = ("customers", "orders", "link", "bought", "cities", "reach")
    assert rows == {name: str(len(pipeline[name])) for name in names}
    assert page.inner_text(".verdict h2") == "Nothing unusual"
    nodes = page.eval_on_selector_all(".graph a.node", "all => all.map(node => node.dataset.name)")
    assert sorted(nodes) == sorted(names)
    assert len(page.query_selector_all(".graph path.edge")) == 4, "orders, customers → bought → cities, link → reach"


def test_an_epoch_unfolds_into_views_phases_and_tables(page, service):
    for number in range(3):
        service.apply({"orders": [order(number)]})
    page.wait_for_function("() => document.querySelector('#vitals').textContent.includes('epoch')")
    page.wait_for_timeout(1500)
    page.click(".charts .u-over")
    told = page.inner_text(".picked")
    assert all(title in told for title in ("Time by view", "Time by phase", "Rows changed", "evaluation"))
    page.keyboard.press("Escape")
    assert page.is_hidden(".picked")


def test_an_error_is_on_the_first_screen_and_under_trouble(page, service, url):
    service.apply({"orders": [order(1)]})
    body = json.dumps([order(1)]).encode()
    request = urllib.request.Request(f"{url}/tables/orders/changes", body, {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError, match="409"):
        urllib.request.urlopen(request)
    page.wait_for_selector(".verdict .warn")
    assert page.inner_text("#troubles") == "1"
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_selector(".trouble-page td")
    (line, *_) = lines(page, ".trouble-page tbody tr")
    assert line[1:4] == ["1", "statement", "orders"]
    page.keyboard.press("Escape")
    page.wait_for_selector(".overview")


def test_rejected_rows_and_sources_that_fail_are_under_trouble(page, service, pipeline, tmp_path):
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "1.csv").write_text("rubbish\n")
    pipeline.table("prices", {"x": "int32"})
    pipeline.attach("prices", deltic.External("csv", path=str(tmp_path / "prices")))
    for name in ("orders_errors", "customers_errors"):
        pipeline.table(name, COLUMNS)
    pipeline.table("bought_errors", {"row": "string"})
    refreshing = Refreshing(service, 0.05)
    try:
        service.apply({"orders_errors": [{"op": "+", "row": "{}", "reason": "id: NULL", "position": "{}", "epoch": 1}]})
        page.wait_for_function("() => document.querySelector('.verdict').textContent.includes('1 row of orders')")
        page.wait_for_function("() => document.querySelector('#troubles').textContent === '3'")
        go(page, "#/trouble")
        page.wait_for_selector(".trouble-page td")
        found = lines(page, ".trouble-page tbody tr")
        assert [line[:3] for line in found if line[0] == "orders"] == [["orders", "1", "orders_errors"]]
        assert {line[1] for line in found if line[0] == "prices"} <= {"retrying", "quarantined"}
        screenshot(page, "trouble")
        service.execute("DELETE FROM orders_errors")
        page.wait_for_function(
            "() => document.querySelector('.trouble-page').textContent.includes('No row of a stream')"
        )
    finally:
        refreshing.close()


def test_rows_follow_the_view(page, service, pipeline):
    service.apply({"orders": [order(n) for n in range(8)]})
    go(page, "#/view/cities")
    wait_for_line(page, "Lyon", "16", "4")
    page.wait_for_selector(".state[data-state=live]")
    service.apply({"orders": [order(100, 1000)]})
    wait_for_line(page, "Turin", "1012", "5")
    service.execute("DELETE FROM orders WHERE id < 8")
    page.wait_for_function("() => document.querySelectorAll('table.rows tbody tr').length === 1")
    assert lines(page) == [[str(value) for value in row] for row in pipeline["cities"].rows()]
    assert page.is_visible(".live .chart")


def test_rows_of_a_table_are_read_again(page, service):
    go(page, "#/view/orders")
    page.wait_for_selector(".state[data-state=live]")
    service.apply({"orders": [order(5)]})
    wait_for_line(page, "5", "1", "5")
    service.execute("DELETE FROM orders")
    page.wait_for_function("() => document.querySelectorAll('table.rows tbody tr').length === 0")


def test_held_rows_stay_until_they_are_resumed(page, service):
    service.apply({"orders": [order(1)]})
    go(page, "#/view/cities")
    wait_for_line(page, "Lyon")
    page.wait_for_selector(".state[data-state=live]")
    page.keyboard.press("Space")
    service.apply({"orders": [order(2)]})
    page.wait_for_function("() => document.querySelector('.state').textContent.includes('held')")
    page.wait_for_timeout(700)
    assert [line[0] for line in lines(page)] == ["Lyon"]
    page.keyboard.press("Space")
    wait_for_line(page, "Turin")


def test_why_by_a_click_has_the_leaves_of_the_explanation(page, pipeline):
    go(page, "#/view/reach")
    wait_for_line(page, "0", "4")
    page.fill(".live input[type=search]", "4")
    page.wait_for_function("() => document.querySelectorAll('table.rows tbody tr').length === 4")
    assert lines(page)[0] == ["0", "4"]
    page.click("table.rows tbody tr")
    page.wait_for_selector(".why details")
    while page.query_selector(".why details:not([open])"):
        page.click(".why details:not([open]) > summary")
        page.wait_for_function(
            "() => [...document.querySelectorAll('.why details[open]')]"
            ".every(fold => fold.querySelector(':scope > :is(details, .leaf)'))"
        )
    told = page.eval_on_selector_all(".why .leaf", "all => all.map(leaf => leaf.textContent)")
    leaves = pipeline.why("reach", {"x": 0, "y": 4}).leaves()
    assert sorted(told) == sorted(f"{table} ({', '.join(map(str, row))})" for table, row in leaves)
    page.keyboard.press("Escape")
    assert page.is_hidden(".why")
    assert page.is_visible(".relation-page"), "Esc closes the explanation alone"


def test_a_plan_has_the_rows_that_queries_visited(page, service, pipeline):
    service.apply({"orders": [order(n) for n in range(30)]})
    go(page, "#/view/cities")
    wait_for_line(page, "Lyon")
    page.keyboard.press("2")
    page.wait_for_selector(".plan section")
    queries = [query for relation in pipeline.maintenance("cities") for query in relation.queries]
    assert page.eval_on_selector_all(".query summary code", "all => all.map(one => one.textContent)") == [
        q.text for q in queries
    ]
    figures = page.eval_on_selector_all(".query .figures", "all => all.map(one => one.textContent)")
    assert all(f"{q.visited:,} visited" in entry for q, entry in zip(queries, figures, strict=True) if q.changed)
    assert any(query.changed for query in queries)
    page.keyboard.press("3")
    page.wait_for_selector(".source")
    assert page.inner_text(".source").startswith("CREATE VIEW cities")


def test_a_statement_is_completed_run_and_remembered(page, service, pipeline):
    service.apply({"orders": [order(n) for n in range(8)]})
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_selector(".editor textarea")
    page.wait_for_function("() => document.querySelector('#vitals').textContent.includes('epoch')")
    for text in ("SELECT * FROM cit", " c ORDER BY c.to"):
        page.keyboard.type(text)
        page.wait_for_selector("#offers li")
        page.keyboard.press("Tab")
    assert page.input_value(".editor textarea") == "SELECT * FROM cities c ORDER BY c.total"
    page.keyboard.press("Control+Enter")
    wait_for_line(page, "Turin")
    expected = pipeline.sql("SELECT * FROM cities c ORDER BY c.total")
    assert lines(page) == [[str(value) for value in row] for row in expected]
    page.reload()
    page.wait_for_selector(".editor textarea")
    assert page.input_value(".editor textarea") == "SELECT * FROM cities c ORDER BY c.total"
    assert "SELECT * FROM cities" in page.text_content(".history")


def test_a_wrong_statement_shows_its_place(browser, url):
    with opened(browser, url, expected=["status of 400"]) as page:
        go(page, "#/sql")
        page.fill(".editor textarea", "SELECT citty FROM cities")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("pre.error")
        assert "^" in page.inner_text("pre.error")
        assert "city" in page.inner_text("pre.error")


def test_values_are_no_html(page, service):
    service.apply(
        {"customers": [{"op": "+", "id": 9, "name": "<img src=x onerror=alert(1)>", "city": "</td><script>"}]}
    )
    go(page, "#/view/customers")
    wait_for_line(page, "9", "<img src=x onerror=alert(1)>", "</td><script>")
    page.click("table.rows tbody tr:has-text('onerror')")
    page.wait_for_selector(".why .tree")
    assert page.query_selector("main img, main script") is None


def test_the_policy_forbids_other_servers(browser, url):
    other = "http://127.0.0.1:9/"
    with opened(browser, url, expected=["Content Security Policy", "Fetch API cannot load"]) as page:
        violated = page.evaluate(
            """other => new Promise(resolve => {
                document.addEventListener("securitypolicyviolation", event => resolve(event.effectiveDirective));
                fetch(other).catch(() => {});
            })""",
            other,
        )
    assert violated == "connect-src"


def test_the_keyboard_reaches_the_list_the_graph_and_the_search(page):
    page.wait_for_selector(".graph a.node")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.closest('tr').rowIndex") == 2
    page.focus(".graph a.node[data-name=bought]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.name") == "cities"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.dataset.name") in ("orders", "customers")
    page.keyboard.press("/")
    page.keyboard.type("ci")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('cities')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".overview")
    page.keyboard.press("?")
    assert page.is_visible("#keys")


def test_three_hundred_views_stay_usable(browser):
    name = "views_with_long_names_level_{:03}".format
    views = [
        f"CREATE VIEW {name(n)} AS SELECT x + 1 AS x FROM {'t' if n % 10 == 0 else name(n - 1)}" for n in range(300)
    ]
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE t (x INT);" + ";".join(views))
        with Service(pipeline) as service, served(service) as url, opened(browser, url) as page:
            service.apply({"t": [{"op": "+", "x": 1}]})
            page.wait_for_function("() => document.querySelectorAll('.numbers tbody tr').length === 301")
            nodes = len(page.query_selector_all(".graph a.node"))
            assert 5 <= nodes <= 60, "the hottest with their neighbours"
            page.click(".graph .stub")
            page.wait_for_function("nodes => document.querySelectorAll('.graph a.node').length > nodes", arg=nodes)
            screenshot(page, "many")
            page.keyboard.press("/")
            page.keyboard.type("level_24")
            page.wait_for_function("() => document.querySelectorAll('.numbers tbody tr').length === 10")
            found = page.eval_on_selector_all(".graph a.node", "all => all.map(node => node.dataset.name)")
            assert set(found) == {name(n) for n in range(240, 250)}
            page.keyboard.press("Escape")
            page.click("text='all 301'")
            page.wait_for_function("() => document.querySelectorAll('.graph a.node').length === 301")
            titles = page.eval_on_selector_all(".graph .title", "all => all.map(title => title.getBBox().width)")
            assert max(titles) <= 150, "names stay in their boxes"
            list_fits = (
                "() => (list => list.scrollWidth <= list.clientWidth)(document.querySelector('.relations .scroll'))"
            )
            assert page.evaluate(list_fits), "all columns of the list are in sight"
            page.focus(f".graph a.node[data-name={name(299)}]")
            in_sight = """() => {
                const box = part => document.querySelector(part).getBoundingClientRect();
                const [node, all] = [box(".graph a.node:focus"), box(".graph")];
                const is_high = node.top >= all.top && node.bottom <= all.bottom;
                return is_high && node.left >= all.left && node.right <= all.right;
            }"""
            assert page.evaluate(in_sight), "the drawing moves to what has the focus"


def test_a_server_that_is_gone_is_told_and_found_again(browser, service):
    with served(service) as url:
        port = url.rpartition(":")[2]
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector(".numbers tbody tr")
    page.wait_for_selector("#lost:visible")
    assert "No answer since" in page.inner_text("#lost")
    assert page.query_selector(".numbers tbody tr"), "what was known stays"
    with served(service, port=int(port)):
        page.wait_for_selector("#lost", state="hidden")
    context.close()


def test_a_token_is_asked_for_until_it_is_right(browser, service, tmp_path):
    secret, entry = new_entry("ada", Role.READER)
    (tmp_path / "users.toml").write_text(entry)
    users = Users.load(tmp_path / "users.toml")
    with served(service, AccessRules(users)) as url, opened(browser, url, expected=["status of 401"]) as page:
        for token in ("wrong", secret):
            page.wait_for_selector("#login[open]")
            page.fill("#token", token)
            page.keyboard.press("Enter")
        page.wait_for_selector(".numbers tbody tr")
        go(page, "#/view/cities")
        page.wait_for_selector(".state[data-state=live]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_those_that_the_system_prefers(browser, url, scheme):
    with opened(browser, url, color_scheme=scheme) as page:
        page.wait_for_selector(".numbers tbody tr")
        light = page.evaluate(
            "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(part => part > 128)"
        )
        assert light is (scheme == "light")
        screenshot(page, scheme)


@pytest.mark.parametrize("place", ["#/", "#/view/cities", "#/view/cities/plan", "#/sql", "#/trouble"])
def test_a_phone_needs_no_scrolling_to_the_side(browser, url, service, place):
    service.apply({"orders": [order(n) for n in range(8)]})
    with opened(browser, url) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        go(page, place)
        page.wait_for_timeout(1500)
        screenshot(page, "phone" + place.replace("#", "").replace("/", "-"))
        assert page.evaluate(
            "() => [document.documentElement, document.querySelector('main')].every(e => e.scrollWidth <= 391)"
        )
