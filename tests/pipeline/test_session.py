"""The pipeline as its user sees it, on both engines. Catches transactions that are not all or nothing."""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import signature
from pathlib import Path

import pyarrow as pa
import pytest

import deltic
from deltic import ChangeError, DataError, DelticError, ProgramError
from deltic.pipeline.options import GROUPS, grouped

FOLLOWS = ".decl follows(who: symbol, whom: symbol)\n"
REACHES = """
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
"""


@pytest.fixture(params=["local", "reference"])
def pipeline(request):
    made = deltic.Pipeline(engine=request.param)
    made.datalog(FOLLOWS + REACHES)
    return made


def insert(pipeline, *rows, table="follows"):
    with pipeline.transaction() as change:
        change.insert(table, rows)
    return change


def test_a_transaction_changes_tables_and_views(pipeline):
    change = insert(pipeline, ("ada", "bob"), ("bob", "eve"))
    assert set(change.of("reaches")) == {(("ada", "bob"), 1), (("bob", "eve"), 1), (("ada", "eve"), 1)}
    with pipeline.transaction() as change:
        change.delete("follows", [{"whom": "bob", "who": "ada"}])
        change.insert("follows", [("eve", "bob")])
    expected = {("ada", "bob"): -1, ("ada", "eve"): -1, ("eve", "bob"): 1, ("bob", "bob"): 1, ("eve", "eve"): 1}
    assert dict(change.of("reaches")) == expected
    assert (change.of("reaches").inserted, change.of("reaches").deleted) == (3, 2)
    assert set(pipeline["follows"]) == {("bob", "eve"), ("eve", "bob")}
    assert len(pipeline["reaches"]) == 4


def test_the_report_counts_what_really_changed(pipeline):
    report = insert(pipeline, ("ada", "bob"), ("bob", "eve")).report
    assert report.rows_in == 2
    assert {name: (c.inserted, c.deleted) for name, c in report.changed.items()} == {"reaches": (3, 0)}
    assert str(report).startswith("reaches +3 −0 (2 rows in, ")
    assert report.seconds > 0
    assert report.rows_visited > 0


def test_the_first_line_of_a_report_fits_a_line():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (i BIGINT)")
    for number in range(30):
        pipeline.sql(f"CREATE VIEW a_long_name_{number} AS SELECT i, count(*) AS n FROM t GROUP BY i")
    with pipeline.transaction() as change:
        change.insert("t", [(1,)])
    first = str(change.report).splitlines()[0]
    assert first.startswith("a_long_name_0 +1 −0; a_long_name_1 +1 −0 and 28 other views (1 row in, ")
    assert len(first) <= 120


def test_order_inside_a_transaction_does_not_matter(pipeline):
    insert(pipeline, ("ada", "bob"))
    with pipeline.transaction() as change:
        change.delete("follows", [("ada", "bob")])
        change.insert("follows", [("ada", "bob")])
    assert len(change.of("reaches")) == change.report.rows_in == 0
    assert change.of("reaches").to_arrow().column_names == ["x", "y", "__weight__"]


def test_an_exception_discards_everything(pipeline):
    insert(pipeline, ("ada", "bob"))
    change = pipeline.transaction()

    def insert_and_fail():
        with change:
            change.insert("follows", [("bob", "eve")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    assert set(pipeline["reaches"]) == {("ada", "bob")}
    with pytest.raises(DelticError, match="was discarded"):
        change.of("reaches")
    insert(pipeline, ("bob", "eve"))
    assert len(pipeline["reaches"]) == 3


@pytest.mark.parametrize(
    ("operation", "rows", "words"),
    [
        (
            "insert",
            [("ada", "bob"), ("new", "row")],
            r"table follows: .* insert a row that is present: \('ada', 'bob'\)",
        ),
        ("delete", [("ada", "bob"), ("no", "row")], r"table follows: .* delete a row that is absent: \('no', 'row'\)"),
    ],
)
def test_a_change_that_does_not_fit_rejects_the_transaction(pipeline, operation, rows, words):
    insert(pipeline, ("ada", "bob"))
    with pytest.raises(ChangeError, match=words), pipeline.transaction() as change:
        getattr(change, operation)("follows", rows)
    assert set(pipeline["follows"]) == set(pipeline["reaches"]) == {("ada", "bob")}
    with pipeline.transaction(conflicts="normalize") as change:
        getattr(change, operation)("follows", rows)
    assert change.report.rows_in == 1


def test_weighted_changes_feed_one_pipeline_from_another(pipeline):
    other = deltic.Pipeline()
    other.datalog(".decl seen(x: symbol, y: symbol) .decl n(x: symbol) n(x) :- seen(x, _).")
    changes = [insert(pipeline, ("ada", "bob"), ("bob", "eve")).of("reaches")]
    with pipeline.transaction() as change:
        change.delete("follows", [("ada", "bob")])
    changes.append(change.of("reaches"))
    for delta in changes:
        with other.transaction() as change:
            change.change("seen", delta)
    assert set(other["seen"]) == set(pipeline["reaches"]) == {("bob", "eve")}


def test_programs_added_after_data_see_the_data(pipeline):
    insert(pipeline, ("ada", "bob"), ("bob", "eve"))
    view = pipeline["reaches"]
    pipeline.datalog(".decl fans(x: symbol) fans(x) :- reaches(_, x). .decl late(x: symbol)")
    assert set(pipeline["fans"]) == {("bob",), ("eve",)}
    insert(pipeline, ("eve", "kim"))
    assert len(view) == 6
    assert set(pipeline["fans"]) == {("bob",), ("eve",), ("kim",)}
    assert list(pipeline.tables) == ["follows", "late"]
    assert list(pipeline.views) == ["reaches", "fans"]


def test_a_bad_program_leaves_the_pipeline_as_it_was(pipeline):
    insert(pipeline, ("ada", "bob"))
    with pytest.raises(ProgramError, match=r"more\.dl:1:\d+: .*`follow`"):
        pipeline.datalog(".decl fans(x: symbol) fans(x) :- follow(_, x).", "more.dl")
    assert list(pipeline.views) == ["reaches"]
    insert(pipeline, ("bob", "eve"))
    assert len(pipeline["reaches"]) == 3


def test_rules_for_a_table_that_holds_rows_are_refused(pipeline):
    insert(pipeline, ("ada", "bob"))
    with pytest.raises(DelticError, match=r"follows is a table and holds rows.*\.input follows"):
        pipeline.datalog("follows(x, x) :- reaches(x, _).")
    assert list(pipeline.tables) == ["follows"]
    pipeline.datalog(".input follows\nfollows(x, x) :- reaches(x, _).")
    assert set(pipeline["follows"]) == {("ada", "bob"), ("ada", "ada")}


def test_facts_are_there_before_the_first_transaction():
    pipeline = deltic.Pipeline()
    pipeline.datalog('.decl known(x: symbol) known("ada").')
    assert list(pipeline["known"]) == [("ada",)]


def test_the_first_transaction_brings_the_facts_too():
    pipeline = deltic.Pipeline()
    pipeline.datalog('.decl name(x: symbol) .decl known(x: symbol) known("ada"). known(x) :- name(x).')
    assert set(insert(pipeline, ("bob",), table="name").of("known")) == {(("ada",), 1), (("bob",), 1)}


def test_lookup(pipeline):
    insert(pipeline, ("ada", "bob"), ("ada", "eve"), ("bob", "eve"))
    found = pipeline["reaches"].lookup(x="ada")
    assert set(found) == {("ada", "bob"), ("ada", "eve")}
    assert len(pipeline["reaches"].lookup(x="nobody")) == 0
    assert list(pipeline["reaches"].lookup(x="bob", y="eve")) == [("bob", "eve")]


def test_forms_of_rows(pipeline):
    insert(pipeline, ("ada", "bob"))
    view = pipeline["reaches"]
    assert view.to_arrow().to_pylist() == [{"x": "ada", "y": "bob"}]
    assert view.to_pandas().to_dict("records") == [{"x": "ada", "y": "bob"}]
    assert repr(view) == "reaches{x: string, y: string}: 1 row"
    assert repr(view.rows()) == "x    y\nada  bob"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda p: p["reches"], "there is no view or table 'reches'; did you mean `reaches`?"),
        (lambda p: p["zzz"], "there is no view or table 'zzz'; known: follows, reaches"),
        (lambda p: p.explain("follows"), "follows is not a view: it is a table"),
        (lambda p: p["reaches"].lookup(z="a"), "there is no column 'z' in reaches; known: x, y"),
        (lambda p: p["reaches"].lookup(x=1), "reaches, column x: expected a string, found 1 (int)"),
        (
            lambda p: p.datalog(Path("a.dl")),
            "given as a text, and this is PosixPath; read it with read_text()",
        ),
        (lambda p: p.sql(None), "a program is given as a text, and this is NoneType"),
        (lambda p: p.sql(".decl f(x: number)"), "this looks like Datalog, which pipeline.datalog and files *.dl take"),
        (lambda p: p.datalog("SELECT * FROM t"), "this looks like SQL, which pipeline.sql and files *.sql take"),
        (lambda p: p.sql("SELECT CAST(1 AS DECIMAL(3, 1)) / 0"), " / 0 is undefined"),
        (lambda p: p.sql("SELECT CAST(1 AS FOO)"), "<sql>:1:18: there is no type FOO"),
        (lambda p: p.function(len), "has no name for SQL and Datalog: write function(name, body, …)"),
        (lambda p: p.duckdb("SELECT * FROM folows"), "there is no table or view folows; did you mean `follows`?"),
        (
            lambda p: deltic.Pipeline(transactions=deltic.Transactions(retain="all")),
            "retain is 'all'; it is a number of epochs",
        ),
        (
            lambda p: deltic.Pipeline(maintenance=deltic.Maintenance(switch="x")),
            "switch is 'x'; it is a part of a bootstrap's work: 0 or more",
        ),
        (
            lambda p: deltic.Pipeline(transactions=deltic.Transactions(timeout=-1)),
            "timeout is -1; it is a number of seconds: 0 or more",
        ),
        (lambda p: p.transaction("ignore"), "there is no policy for conflicts 'ignore'"),
        (lambda p: p.transaction().insert("follows", []), "the transaction has not begun: use it as `with"),
        (lambda p: insert(p).insert("follows", []), "the transaction has been committed: open another one"),
        (lambda p: insert(p).of("follows"), "follows is not a view: it is a table"),
        (lambda p: insert(p).of("reache"), "did you mean `reaches`?"),
    ],
)
def test_mistakes(pipeline, action, words):
    with pytest.raises(DelticError) as caught:
        action(pipeline)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda p, change: change.of("reaches"), "is still open: its changes are known after the with-block"),
        (lambda p, change: change.report, "is still open"),
        (lambda p, change: change.insert("reaches", []), "reaches is not a table: it is a view, and its rules alone"),
        (lambda p, change: change.delete("folows", []), "there is no table 'folows'; did you mean `follows`?"),
        (lambda p, change: p.transaction(), "a transaction is open: transactions do not nest"),
        (lambda p, change: p.datalog(""), "a transaction is open: definitions are changed before or after it"),
    ],
)
def test_mistakes_inside_a_transaction(pipeline, action, words):
    with pytest.raises(DelticError) as caught, pipeline.transaction() as change:
        action(pipeline, change)
    assert words in str(caught.value)


def test_engines_and_policies_are_checked():
    with pytest.raises(DelticError, match="there is no engine 'flink'; known: auto, local, spark, reference"):
        deltic.Pipeline(engine="flink")
    with pytest.raises(DelticError, match="did you mean `normalize`"):
        deltic.Pipeline(transactions=deltic.Transactions(conflicts="normalise"))


TWO = (
    FOLLOWS
    + REACHES
    + """
    .decl odd(x: symbol, y: symbol)
    .decl even(x: symbol, y: symbol)
    odd(x, y) :- follows(x, y).
    odd(x, z) :- even(x, y), follows(y, z).
    even(x, z) :- odd(x, y), follows(y, z).
"""
)


def test_a_session_is_a_session():
    with pytest.raises(DelticError, match=r"found 'local\[\*\]': deltic.Pipeline\(SparkSession.builder"):
        deltic.Pipeline("local[*]")


def test_a_strategy_for_one_recursion():
    """Chosen for `even`, it is that of `odd`, too; the views are right under each."""
    pipeline = deltic.Pipeline(
        recursion=deltic.Recursion(strategy={"even": "elastic"}), maintenance=deltic.Maintenance(refresh="incremental")
    )
    pipeline.datalog(TWO)
    insert(pipeline, *((f"a{i}", f"a{i + 1}") for i in range(9)), ("a0", "a2"))
    with pipeline.transaction() as change:
        change.delete("follows", [("a0", "a2"), ("a5", "a6")])
    strategies = {name: c.strategy for c in change.report.components for name in c.relations}
    assert strategies == {"reaches": "nested", "odd": "elastic", "even": "elastic"}
    pairs = [(x, y) for x in range(6) for y in range(x + 1, 6)] + [
        (x, y) for x in range(6, 10) for y in range(x + 1, 10)
    ]
    for name, parities in (("reaches", {0, 1}), ("odd", {1}), ("even", {0})):
        assert set(pipeline[name]) == {(f"a{x}", f"a{y}") for x, y in pairs if (y - x) % 2 in parities}
    kept = pipeline.explain("odd").partition("kept relations")[2]
    assert "the first iteration of each row and the number of its derivations there" in kept


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ({"evn": "elastic"}, "there is no recursive view 'evn'; did you mean `even`?"),
        ({"follows": "elastic"}, "follows is not a recursive view: it does not depend on itself"),
        ({"odd": "full", "even": "elastic"}, "odd is to have the strategy 'full' and even 'elastic'"),
    ],
)
def test_a_strategy_that_no_recursion_can_have(strategy, words):
    """It is found before the first transaction, when all programs are there."""
    pipeline = deltic.Pipeline(recursion=deltic.Recursion(strategy=strategy))
    pipeline.datalog(TWO)
    with pytest.raises(DelticError, match=re.escape(words)):
        insert(pipeline, ("a", "b"))
    with pytest.raises(DelticError, match=re.escape(words)):
        len(pipeline["odd"])


def test_a_program_that_joins_recursions_of_two_strategies_leaves_the_pipeline_as_it_was():
    pipeline = deltic.Pipeline(recursion=deltic.Recursion(strategy={"reaches": "full", "odd": "elastic"}))
    pipeline.datalog(TWO)
    insert(pipeline, ("a", "b"))
    with pytest.raises(DelticError, match="choose one strategy for both"):
        pipeline.datalog("reaches(x, y) :- odd(x, y). odd(x, y) :- reaches(x, y).")
    insert(pipeline, ("b", "c"))
    assert set(pipeline["odd"]) == {("a", "b"), ("b", "c")}


def test_an_attribute_that_the_package_does_not_have():
    with pytest.raises(AttributeError, match="no attribute 'Pipelin'"):
        deltic.Pipelin  # noqa: B018


@pytest.mark.spark
def test_spark_dataframes_come_and_go(spark):
    pipeline = deltic.Pipeline(spark)
    pipeline.datalog(".decl m(u: unsigned, f: float, s: symbol) .decl v(u: unsigned, s: symbol) v(u, s) :- m(u, _, s).")
    frame = spark.createDataFrame([(1, 0.5, "a"), (2, 1.5, "b")], "u bigint, f double, s string")
    with pipeline.transaction() as change:
        change.insert("m", frame)
    assert sorted(tuple(row) for row in pipeline["v"].to_spark().collect()) == [(1, "a"), (2, "b")]
    assert sorted(row["__weight__"] for row in change.of("v").to_spark().collect()) == [1, 1]
    with pipeline.transaction() as change:
        change.delete("m", frame.where("u = 1").select("s", "f", "u"))
    assert list(pipeline["v"]) == [(2, "b")]


@pytest.mark.spark
def test_one_column_of_a_dataframe_is_no_frame(spark):
    frame = spark.createDataFrame([(1,)], "x bigint")
    pipeline = deltic.Pipeline(spark)
    pipeline.datalog(".decl t(x: number)\n.input t")
    with pytest.raises(DataError, match="found a single column"), pipeline.transaction() as change:
        change.insert("t", frame["x"])


@pytest.mark.spark
def test_without_a_session_of_its_own_the_active_one_serves(spark):
    pipeline = deltic.Pipeline()
    pipeline.datalog('.decl known(x: symbol) known("ada").')
    assert pipeline["known"].to_spark().collect()[0]["x"] == "ada"


def test_arrow_batches_may_have_columns_in_any_order(pipeline):
    insert_batch = pa.RecordBatch.from_pydict({"whom": ["bob"], "who": ["ada"]})
    with pipeline.transaction() as change:
        change.insert("follows", insert_batch)
    assert list(pipeline["follows"]) == [("ada", "bob")]


def test_a_row_that_does_not_fit_discards_the_transaction(pipeline):
    with pytest.raises(DataError, match="table follows, row 2, column whom: expected a string, found 5"):
        insert(pipeline, ("ada", "bob"), ("ada", 5))
    assert len(pipeline["follows"]) == 0


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("iteration_limit", "pass recursion=Recursion(iteration_limit=…)"),
        ("conflicts", "pass transactions=Transactions(conflicts=…)"),
        ("refresh", "pass maintenance=Maintenance(refresh=…)"),
        ("readonly", "pass durability=Durability(readonly=…)"),
        ("memory", "pass resources=Resources(memory=…)"),
        ("executor", "pass shards=Shards(executor=…)"),
    ],
)
def test_an_option_of_a_group_names_its_group(name, remedy):
    with pytest.raises(DelticError, match=re.escape(remedy)):
        deltic.Pipeline(**{name: 1})


def test_a_group_is_of_its_class():
    with pytest.raises(
        DelticError, match=re.escape("durability is 100; it is a group of options: durability=Durability(…)")
    ):
        deltic.Pipeline(state="never made", durability=100)


def test_no_option_is_in_two_groups():
    """What a file or a command line lists by name has one place."""
    named = [field.name for group in GROUPS.values() for field in fields(group)]
    assert len(named) == len(set(named))
    assert grouped({"engine": "spark", "shards": 3, "rounds": "never", "threads": 2}) == {
        "engine": "spark",
        "shards": deltic.Shards(3, rounds="never"),
        "resources": deltic.Resources(threads=2),
    }
    assert list(signature(deltic.Pipeline).parameters)[:5] == ["spark", "engine", "state", "program", "functions"]
