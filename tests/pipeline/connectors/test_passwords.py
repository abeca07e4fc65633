"""Passwords in addresses reach the database, and nothing else.

Catches a password in an error or what caused it, in a log, in a statement that is shown, in a plan, in a file of a
state; one that is lost where it is needed; and a value of a row that is taken for one.
"""

from __future__ import annotations

import logging
import sys
import traceback
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

import deltic
from deltic import DelticError, External, passwords
from deltic.catalog.external import KINDS
from deltic.errors import Diagnostic
from deltic.pipeline.spark.spark import spark_errors

SECRET = "hunter2%21"
URL = f"postgresql://me:{SECRET}@db.shop/shop"
SHOWN = "postgresql://me:***@db.shop/shop"
SQL = f"CREATE TABLE orders (id BIGINT) USING database OPTIONS (url '{URL}', table 'orders');"
VIEW = "CREATE VIEW few AS SELECT id FROM orders WHERE id < 3;"


@pytest.fixture
def asked(monkeypatch):
    """The addresses that a database was asked for, which always fails, and tells too much."""
    seen = []

    class Error(Exception):
        pass

    def connect(address):
        seen.append(address)
        cause = ValueError(f'no route with "{address}"')
        raise Error(f"connection failed: {address}; password {unquote(SECRET)} of me") from cause

    monkeypatch.setitem(sys.modules, "psycopg", SimpleNamespace(connect=connect, Error=Error))
    another_process(monkeypatch)
    return seen


def another_process(monkeypatch):
    """Forget the passwords that this process was given."""
    monkeypatch.setattr(passwords, "_WHOLE", {})
    monkeypatch.setattr(passwords, "_KNOWN", set())


def by_python(pipeline):
    pipeline.table("orders", {"id": "int64"}, source=External("database", url=URL, table="orders"))
    pipeline.sql(VIEW)


def by_sql(pipeline):
    pipeline.define(SQL + VIEW, "sql")


def by_program(pipeline):
    pipeline.redefine(f"{SQL}\n{VIEW}")


def by_attaching(pipeline):
    pipeline.table("orders", {"id": "int64"})
    pipeline.sql(VIEW)
    pipeline.attach("orders", External("database", url=URL, table="orders"))


def failure(pipeline):
    with pytest.raises(DelticError) as raised:
        pipeline.refresh()
    return raised.value


def chain(error):
    """All that an error and what it names as its causes say, as a log prints them and one by one."""
    parts = ["".join(traceback.format_exception(error))]
    while error is not None:
        parts += [str(error), repr(error), *map(str, error.args)]
        error = error.__cause__ or error.__context__
    return "\n".join(parts)


def silent(text):
    return "hunter2" not in text


@pytest.mark.parametrize("define", [by_python, by_sql, by_program, by_attaching])
def test_a_password_is_shown_and_kept_nowhere(tmp_path, asked, caplog, define):
    with caplog.at_level(logging.DEBUG), deltic.Pipeline(state=tmp_path / "state") as pipeline:
        define(pipeline)
        error = failure(pipeline)
        assert asked == [URL]
        assert f"{SHOWN}: connection failed: {SHOWN}; password *** of me" in str(error)
        shown = [chain(error), pipeline.explain("few", full=True), str(pipeline.catalog), repr(pipeline.sources)]
        shown += [repr(pipeline.sql(f"{text} orders")) for text in ("SHOW CREATE TABLE", "DESCRIBE EXTENDED")]
        shown += [repr(pipeline.catalog.tables["orders"]), str(pipeline.pending()), repr(pipeline._definitions.history)]
        pipeline.checkpoint()
        pipeline.sql("CREATE VIEW none AS SELECT id FROM few WHERE id < 0")
    assert SHOWN in "".join(shown)
    assert all(map(silent, shown))
    assert silent(caplog.text)
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"hunter2" in path.read_bytes()]


@pytest.mark.parametrize("define", [by_python, by_sql, by_program, by_attaching])
def test_another_process_is_given_it_again(tmp_path, asked, monkeypatch, define):
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        define(pipeline)
    another_process(monkeypatch)
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        assert f"{SHOWN}: its password is not kept with the definitions; write ${{NAME}}" in str(failure(pipeline))
        assert asked == []
        if define is by_program:
            assert not pipeline.redefine(f"{SQL}\n{VIEW}").replaced
        else:
            pipeline.attach("orders", External("database", url=URL, table="orders"))
        assert silent(chain(failure(pipeline)))
        assert asked == [URL]


def test_a_variable_of_the_environment_is_kept_by_its_name(tmp_path, asked, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    named = URL.replace(SECRET, "${SHOP_PASSWORD}")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.define(SQL.replace(URL, named), "sql")
    another_process(monkeypatch)
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        error = failure(pipeline)
        assert asked == [URL]
        assert named in str(error)
        assert silent(chain(error))
        assert named in repr(pipeline.sql("SHOW CREATE TABLE orders"))


def test_publications_are_silent(tmp_path, asked):
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql("CREATE TABLE t (id INT); CREATE VIEW v AS SELECT id FROM t")
        pipeline.publish("v", External("database", url=URL, table="v", key="id"))
        assert silent(chain(failure(pipeline)) + str(pipeline.publications))
    assert asked[0] == URL


def test_a_state_of_before_goes_on(tmp_path, asked, monkeypatch):
    """One of a version that kept passwords: its definitions reveal it once more, and are written without it."""
    with monkeypatch.context() as before:
        before.setattr("deltic.catalog.external.hidden", lambda text: text)
        with deltic.Pipeline(state=tmp_path / "state") as pipeline:
            by_python(pipeline)
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        assert silent(chain(failure(pipeline)))
        pipeline.compact()
    assert asked == [URL]
    files = list((tmp_path / "state" / "manifests").iterdir())
    assert files
    assert not [path for path in files if b"hunter2" in path.read_bytes()]


def test_what_is_no_address_of_a_source_stays_as_it_is():
    """Values of rows and conditions are data, whatever they look like."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE page (url STRING); CREATE VIEW one AS SELECT url FROM page WHERE url = 'http://a:b@c/'")
    with pipeline.transaction() as change:
        change.insert("page", [("http://a:b@c/",), ("http://a:***@c/",)])
    assert list(pipeline["one"]) == [("http://a:b@c/",)]


def test_errors_about_a_text_show_the_line_without_it():
    with pytest.raises(DelticError) as raised:
        deltic.Pipeline().sql(SQL.replace("BIGINT", "BIGINTT"))
    assert silent(str(raised.value))
    with pytest.raises(DelticError) as raised:
        deltic.Pipeline().sql(f"CREATE TABLE t (i INT) USING database OPTIONS (url '{URL}', tabel 't')")
    assert silent(str(raised.value))
    assert SHOWN in str(raised.value)
    line = f"read '{URL}' nonsense"
    told = Diagnostic("what is this?", "f", 1, line.index("nonsense") + 1, line, 8).render().splitlines()
    assert told[2].index("^") == told[1].index("nonsense")


def test_errors_of_spark_are_silent(asked):
    from pyspark.errors import AnalysisException

    whole = passwords.revealed(passwords.hidden(f"jdbc:postgresql://db/shop?user=me&password={SECRET}"))
    with pytest.raises(DelticError) as raised, spark_errors(DelticError):
        raise AnalysisException(f"no driver for {whole}")
    assert str(raised.value) == "no driver for jdbc:postgresql://db/shop?user=me&password=***"
    assert raised.value.__cause__ is None or silent(str(raised.value.__cause__))
    assert silent("".join(traceback.format_exception(raised.value)))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:pw@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me:p@ss:w@h:5432/db", "postgresql://me:***@h:5432/db"),
        ("postgresql://h/db?user=me&password=p%40w&x=1", "postgresql://h/db?user=me&password=***&x=1"),
        ("jdbc:sqlserver://h:1433;user=u;password=pw;x=y", "jdbc:sqlserver://h:1433;user=u;password=***;x=y"),
        ("jdbc:oracle:thin:scott/tiger@h:1521/x", "jdbc:oracle:thin:scott/***@h:1521/x"),
        ("OPTIONS (url 'jdbc:x://h', password 'pw')", "OPTIONS (url 'jdbc:x://h', password '***')"),
        ("ftp://u:p@h/folder", "ftp://u:***@h/folder"),
        ("postgresql://me:${PW}@h/db", "postgresql://me:${PW}@h/db"),
        ("postgresql://me@h:5432/db", "postgresql://me@h:5432/db"),
        ("http://h:8080/a@b", "http://h:8080/a@b"),
        ("s3://bucket/a@b", "s3://bucket/a@b"),
        ("duckdb:////a/b.db", "duckdb:////a/b.db"),
    ],
)
def test_what_is_hidden_of_an_address(address, shown, monkeypatch):
    another_process(monkeypatch)
    monkeypatch.setenv("PW", "secret")
    assert passwords.hidden(address) == passwords.redacted(address) == passwords.hidden(shown) == shown
    assert passwords.revealed(shown) == address.replace("${PW}", "secret")


def test_every_address_that_an_option_holds_is_hidden():
    for kind, known in KINDS.items():
        options = dict.fromkeys(known.needed, "x") | dict.fromkeys(known.needed, URL)
        assert silent(repr(External(kind, **options)) + str(External(kind, **options)))
