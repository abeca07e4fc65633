"""Traces: a request, its statement and their epoch are spans of one trace, across the threads that do them.

Catches a span that is in no trace or in that of another request, and a server that needs the package.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from itertools import count

import psycopg
import pytest

from deltic.server import tracing
from deltic.server.postgres.server import PostgresServer
from tests.server.conftest import LOOPBACK

trace = pytest.importorskip("opentelemetry.trace")
FORMER = 0x0AF7651916CD43DD8448EB211C80319C


class Recorded(trace.NonRecordingSpan):
    def __init__(self, name, parent, attributes, number, start):
        trace_id = parent.trace_id if parent.is_valid else number
        super().__init__(trace.SpanContext(trace_id, number, False))
        self.name, self.parent, self.attributes, self.start = name, parent.span_id, dict(attributes or {}), start

    def is_recording(self):
        return True

    def set_attribute(self, key, value):
        self.attributes[key] = value


class Recorder(trace.Tracer):
    """Keeps all spans that are begun."""

    def __init__(self):
        self.spans, self._numbers = [], count(1)

    def start_span(self, name, context=None, kind=None, attributes=None, links=None, start_time=None, *_, **__):
        parent = trace.get_current_span(context).get_span_context()
        self.spans.append(Recorded(name, parent, attributes, next(self._numbers), start_time))
        return self.spans[-1]

    @contextmanager
    def start_as_current_span(self, name, context=None, kind=None, attributes=None, *_, **__):
        with trace.use_span(self.start_span(name, context, kind, attributes), end_on_exit=True) as span:
            yield span

    def lines(self):
        """The spans, each with those that it is part of, the outermost first."""
        by_number = {span.get_span_context().span_id: span for span in self.spans}
        return [list(self._line(span, by_number)) for span in self.spans]

    def _line(self, span, by_number):
        if span.parent in by_number:
            yield from self._line(by_number[span.parent], by_number)
        yield span.name


@pytest.fixture
def recorder(monkeypatch):
    made = Recorder()
    monkeypatch.setattr(tracing, "_TRACER", made)
    return made


def test_a_request_a_statement_and_an_epoch_are_one_trace(served, client, recorder):
    header = {"traceparent": f"00-{FORMER:032x}-b7ad6b7169203331-01"}
    client.post("/query", json={"text": "INSERT INTO visits VALUES ('ada', NULL)"}, headers=header)
    client.post("/tables/visits/changes?op=insert", json=[{"who": "bob", "day": None}]).raise_for_status()
    client.post("/query", json={"text": "SELECT who FROM visits"})
    assert recorder.lines() == [
        ["POST /query"],
        ["POST /query", "statement"],
        ["POST /query", "statement", "epoch"],
        ["POST /tables/{name}/changes"],
        ["POST /tables/{name}/changes", "epoch"],
        ["POST /query"],
        ["POST /query", "statement"],
    ]
    traces = [span.get_span_context().trace_id for span in recorder.spans]
    assert traces[:3] == [FORMER] * 3
    assert len(set(traces)) == 3
    epoch = recorder.spans[2].attributes
    assert (epoch["deltic.epoch"], epoch["deltic.rows_in"]) == (served.pipeline.epoch - 1, 1)
    assert epoch["deltic.seconds"] > 0
    assert recorder.spans[0].attributes == {"http.response.status_code": 200}
    question = {"db.query.text": "SELECT who FROM visits", "deltic.epoch": served.pipeline.epoch, "deltic.rows": 2}
    assert recorder.spans[-1].attributes == question


def test_statements_of_postgresql_are_traced(served, recorder):
    server = PostgresServer(served.service, LOOPBACK)
    address = f"host=127.0.0.1 port={server.address.port} user=ada dbname=deltic"
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("INSERT INTO visits VALUES ('ada', NULL)")
            connection.execute(f"SELECT who FROM visits /*traceparent='00-{FORMER:032x}-b7ad6b7169203331-01'*/")
            with pytest.raises(psycopg.errors.UndefinedTable):
                connection.execute("SELECT 1 FROM nowhere")
            connection.cursor().executemany("INSERT INTO visits VALUES (%s, NULL)", [("bob",), ("cyd",)])
            with connection.cursor().copy("COPY visits FROM STDIN") as copy:
                copy.write_row(("dan", None))
    finally:
        server.stop()
    lines = recorder.lines()
    assert lines[:3] == [["PostgreSQL INSERT"], ["PostgreSQL INSERT", "epoch"], ["PostgreSQL SELECT"]]
    assert ["PostgreSQL SELECT", "statement"] in lines
    assert lines[-6:] == [
        ["PostgreSQL INSERT"],
        ["PostgreSQL COMMIT"],
        ["PostgreSQL COMMIT", "epoch"],
        ["PostgreSQL COPY"],
        ["PostgreSQL COPY data"],
        ["PostgreSQL COPY data", "epoch"],
    ]
    assert recorder.spans[0].attributes == {"db.query.text": "INSERT INTO visits VALUES ('ada', NULL)"}
    assert recorder.spans[2].get_span_context().trace_id == FORMER
    failed = [span.attributes for span in recorder.spans if "db.response.status_code" in span.attributes]
    assert failed == [{"db.query.text": "SELECT 1 FROM nowhere", "db.response.status_code": "42P01"}]


def test_without_the_package_there_are_no_traces():
    program = """
import sys
sys.modules["opentelemetry"] = None
import deltic
from deltic.server.service import Service
with deltic.Pipeline() as pipeline, Service(pipeline) as service:
    service.execute("CREATE TABLE t (a INT)")
    service.apply({"t": [{"op": "+", "a": 1}]})
    print(service.execute("SELECT a FROM t").rows.to_arrow().to_pylist())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "[{'a': 1}]\n"
