"""What a notebook shows: catches markup that comes from data, and a form that fails."""

from __future__ import annotations

import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

from deltic import Pipeline

EVIL = "<script>alert('x')</script>&"


class Balanced(HTMLParser):
    """Fails on tags that are not closed in order, and gathers the tags and the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], set(), ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "img":
            self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        if tag == "img":
            return
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_everything_has_a_form_and_no_markup_of_its_own():
    pipeline = Pipeline()
    defined = pipeline.table("t", {EVIL: "string?", "n": "float64"})
    viewed = pipeline.sql("CREATE VIEW v AS SELECT * FROM t")
    pipeline.datalog(".decl e(x: number, y: number)\n.decl r(x: number, y: number)\nr(x, y) :- e(x, y).\n"
                     "r(x, z) :- r(x, y), e(y, z).")  # fmt: skip
    change = pipeline.transaction()
    waiting = change._repr_html_()
    with change:
        change.insert("t", [(EVIL, float(n)) for n in range(30)] + [(None, 1.5)])
        change.insert("e", [(1, 2), (2, 3)])
    later = pipeline.sql("CREATE VIEW w AS SELECT n FROM t")
    rows, changed, snapshot = pipeline["v"].rows(), change.of("v"), pipeline.snapshot()
    forms = [pipeline, pipeline["v"], rows, changed, change, change.report, defined, viewed, later, snapshot]
    forms += [pipeline.catalog, pipeline.circuit("r"), pipeline.explain("v"), pipeline.refresh()]
    shown = [waiting, *(form._repr_html_() for form in forms)]
    for html in shown:
        parsed = Balanced(html)
        assert parsed.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "i", "pre", "img"}
        assert parsed.text.strip() or "img" in parsed.tags
    rows = Balanced(pipeline["v"].rows()._repr_html_())
    assert EVIL in rows.text
    assert "31 rows, 20 of them shown" in rows.text
    assert "nested" in Balanced(change._repr_html_()).text
    assert repr(pipeline) == "a pipeline of 2 tables, 3 views after epoch 2"


def test_reports_read_as_text():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t")
    with pipeline.transaction() as change:
        change.insert("t", [(1,)])
    assert re.fullmatch(r"v \+1 −0 \(1 row in, \d+ visited, \d\.\d{3} s\)", repr(change.report))
    assert repr(pipeline.refresh()) == "epoch 1: nothing was new"


def test_a_display_begins_no_epoch():
    pipeline = Pipeline()
    pipeline.datalog(".decl e(x: number)\n.decl r(x: number)\ne(1).\nr(x) :- e(x).")
    for form in (pipeline, pipeline["r"], pipeline.catalog, pipeline.circuit(), pipeline.explain("r")):
        repr(form)
        form._repr_html_()
    assert pipeline.epoch == 0
    assert repr(pipeline["r"]) == "r{x: int64}: no epoch yet"
    assert "no epoch yet" in pipeline._repr_html_()
    assert list(pipeline["r"]) == [(1,)]
    assert repr(pipeline["r"]) == "r{x: int64}: 1 row"


def test_a_plan_is_drawn_above_its_text():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t WHERE a > 1")
    html = pipeline.explain("v")._repr_html_()
    (encoded,) = re.findall('base64,([^"]*)', html)
    assert ElementTree.fromstring(b64decode(encoded)).tag.endswith("svg")
    assert "how their work grows" in Balanced(html).text
