"""Explanations of SQL, of chains, and over snapshots, previews and shards. Catches an operator without its premises."""

from __future__ import annotations

import json
import random

import pytest

from deltic import DelticError, Durability, Pipeline, ProgramError, ReadOnlyError, Transactions, UnsupportedError
from deltic.engine.state_version import StateVersion
from tests.why.test_random import check_all

SQL = """
CREATE TABLE o (id INT NOT NULL, who STRING, n INT, PRIMARY KEY (id));
CREATE TABLE c (who STRING NOT NULL, land STRING, PRIMARY KEY (who));
CREATE VIEW joined AS SELECT o.id, c.land FROM o JOIN c ON o.who = c.who;
CREATE VIEW outer_joined AS SELECT o.id, c.land FROM o LEFT JOIN c ON o.who = c.who WHERE o.n > 1;
CREATE VIEW grouped AS SELECT who, sum(n) AS total, count(*) AS k FROM o GROUP BY who HAVING count(*) > 1;
CREATE VIEW least AS SELECT who, min(n) AS n FROM o GROUP BY who;
CREATE VIEW present AS SELECT id FROM o WHERE EXISTS (SELECT 1 FROM c WHERE c.who = o.who);
CREATE VIEW missing AS SELECT id FROM o WHERE who NOT IN (SELECT who FROM c);
CREATE VIEW either AS SELECT who FROM o UNION SELECT who FROM c;
CREATE VIEW but AS SELECT who FROM o EXCEPT SELECT who FROM c;
CREATE VIEW both AS SELECT who FROM o INTERSECT SELECT who FROM c;
CREATE VIEW ranked AS SELECT id, rank() OVER (PARTITION BY who ORDER BY n) AS r FROM o;
CREATE VIEW best AS SELECT id, n FROM o ORDER BY n DESC LIMIT 2;
CREATE VIEW rolled AS SELECT who, n, count(*) AS k FROM o GROUP BY ROLLUP (who, n);
CREATE VIEW later AS SELECT upper(who) AS who, n + 1 AS n FROM (SELECT who, total AS n FROM grouped) WHERE n > 2;
CREATE VIEW chain AS WITH RECURSIVE r (a) AS (SELECT 1 UNION SELECT id FROM o JOIN r ON o.n = r.a) SELECT a FROM r;
"""


def needed(pipeline, view, row):
    return [(each.table, (*json.loads(each.row).values(),)) for each in pipeline.lineage(view, row, needed=True)]


@pytest.fixture(scope="module")
def pipeline():
    made = Pipeline()
    made.sql(SQL)
    made.execute(
        "INSERT INTO o VALUES (2, 'ada', 1), (3, 'ada', 2), (4, 'bob', 2), (5, NULL, 3), (6, 'c', NULL), (7, 'ada', 5)"
    )
    made.execute("INSERT INTO c VALUES ('ada', 'fr'), ('bob', NULL)")
    return made


def test_every_row_of_sql_views_is_explained(pipeline):
    assert check_all(pipeline) > 50


def test_the_premises_of_an_outer_join(pipeline):
    explanation = pipeline["outer_joined"].why(id=5)
    assert explanation.leaves() == [("o", (5, None, 3))]
    assert "no row of" in str(explanation)


def test_of_a_least_value_the_row_that_has_it(pipeline):
    assert pipeline["least"].why(who="ada").leaves() == [("o", (2, "ada", 1))]


def test_views_are_gone_through_or_stopped_at(pipeline):
    assert len(pipeline.why("later", ("ADA", 9)).leaves()) == 3
    stopped = pipeline.why("later", ("ADA", 9), through=False)
    assert [step.relation for step in stopped.steps() if step.is_cut] == ["grouped"]


def test_what_is_needed_and_what_would_go(pipeline):
    assert needed(pipeline, "joined", (2, "fr")) == [("o", (2, "ada", 1)), ("c", ("ada", "fr"))]
    assert needed(pipeline, "either", ("ada",)) == []
    assert needed(pipeline, "o", {"id": 2}) == [("o", (2, "ada", 1))]
    assert {row.result for row in pipeline.lineage("either", needed=True)} == {'{"who": null}', '{"who": "c"}'}
    gone = pipeline.impact("c", {"who": "ada"})
    assert sorted((row.id, weight) for row, weight in gone.of("present")) == [(2, -1), (3, -1), (7, -1)]
    assert [row.who for row in pipeline["c"]] == ["ada", "bob"]


def test_questions_of_sql(pipeline):
    message = str(pipeline.sql("EXPLAIN WHY SELECT total FROM grouped WHERE who = 'ada'"))
    assert [line.split("(")[0].strip() for line in message.splitlines()][:2] == ["the answer", "grouped"]
    message = str(pipeline.sql("EXPLAIN WHY NOT SELECT * FROM grouped WHERE who = 'bob'"))
    assert 'fails: no row of grouped with who = "bob"' in message
    assert "where" in message.split("no row of grouped")[-1]
    rows = pipeline.sql("EXPLAIN LINEAGE SELECT who FROM both WHERE who = 'bob'")
    assert [(row.table, json.loads(row.row)["who"]) for row in rows] == [("o", "bob"), ("c", "bob")]
    assert pipeline.lineage("joined").count() == 2 * pipeline["joined"].rows().count()
    with pytest.raises(ProgramError, match="expected"):
        pipeline.sql("EXPLAIN WHY NOT")


def test_of_rows_with_null_the_first_is_explained():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (a STRING, b INT); CREATE VIEW v AS SELECT a, b FROM t")
    pipeline.sql("INSERT INTO t VALUES ('x', 1), (NULL, 2)")
    assert "v(NULL, 2)" in str(pipeline.why("v", {}))


def test_the_lineage_of_a_group_has_all_of_its_rows():
    made = Pipeline()
    made.sql("CREATE TABLE o (who STRING, n INT); CREATE VIEW s AS SELECT who, sum(n) AS t FROM o GROUP BY who")
    with made.transaction() as change:
        change.insert("o", [("ada", i) for i in range(30)] + [("bob", 1)])
    assert made.lineage("s", {"who": "ada"}).count() == 30
    assert len(needed(made, "s", {"who": "ada"})) == 29  # without (ada, 0) the sum is the same
    assert made.lineage("s").count() == 31


def test_each_step_has_the_text_and_the_place_of_its_rule():
    made = Pipeline()
    made.datalog(""".decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(0, 0).
p(x, y) :- (e(x, y) ;
            e(y, x)), x != 3.
p(x, z) :- p(x, y), e(y, z).
e(x, x) :- e(x, 9).
""")
    with made.transaction() as change:
        change.insert("e", [(1, 2), (2, 9)])
    steps = {(step.relation, step.row): step for step in made.why("p", (1, 9)).steps()}
    assert steps["p", (1, 9)].place.endswith(":7:1")
    assert steps["p", (1, 9)].by == "p(x, z) :- p(x, y), e(y, z)."
    assert steps["p", (1, 2)].place.endswith(":5:1")
    assert made.why("p", (2, 1)).root.by.startswith("p(x, y) :- (e(x, y) ;")
    assert made.why("p", (0, 0)).root.by == "p(0, 0)."
    assert [made.why("e", row).root.by for row in ((1, 2), (2, 2))] == ["the table e", "e(x, x) :- e(x, 9)."]


CLOSURE = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""


def chain(length: int, **options) -> Pipeline:
    made = Pipeline(**options)
    made.datalog(CLOSURE)
    with made.transaction() as change:
        change.insert("e", [(i, i + 1) for i in range(length)])
    return made


def test_a_long_chain_is_folded():
    explanation = chain(120).why("p", (0, 120))
    assert (explanation.height, len(explanation.leaves())) == (120, 120)
    assert "steps of p" in str(explanation)
    assert len(str(explanation).splitlines()) < 30
    assert explanation._repr_html_().count("<details") == explanation._repr_html_().count("</details>")
    assert json.loads(explanation.to_json())["height"] == 120
    assert chain(20).why("p", (0, 20), depth=3).height == 3


def test_alternatives_and_their_number():
    made = chain(3)
    with made.transaction() as change:
        change.insert("e", [(0, 2), (1, 3)])
    explanation = made.why("p", (0, 3))
    assert (explanation.height, explanation.count()) == (2, 2)
    assert {len(each.leaves()) for each in explanation.alternatives()} == {2}


@pytest.mark.parametrize("seed", range(6))
def test_alternatives_of_all_heights(seed):
    """In a graph without cycles, one for each last edge; in any graph, none that stands on the row itself."""
    rng = random.Random(seed)
    forward = {tuple(sorted(rng.sample(range(7), 2))) for _ in range(12)}
    edges = forward if seed % 2 else forward | {(b, a) for a, b in sorted(forward)[::3]}
    made = chain(0)
    with made.transaction() as change:
        change.insert("e", sorted(edges))
    rows = {tuple(row) for row in made["p"]}
    for x, z in sorted(rows):
        first = made.why("p", (x, z))
        others = list(first.alternatives())
        for explanation in others:
            below = [(step.relation, step.row) for step in explanation.steps()[:-1]]
            assert ("p", (x, z)) not in below
            assert len({explanation.to_json(), first.to_json()}) == 2
        heights = [max([0, *(step.at for step in each.root.steps if step.at)]) for each in [first, *others]]
        assert heights == sorted(heights)
        assert first.count() == sum(height < first.root.at for height in heights)
        if seed % 2:
            assert len(others) + 1 == ((x, z) in edges) + sum((x, y) in rows for y, to in edges if to == z)


def test_snapshots_and_previews_are_asked_too():
    made = chain(3)
    before = made.snapshot()
    with made.transaction() as change:
        change.delete("e", [(1, 2)])
        assert made.why("p", (0, 3)).height == 3
        assert change.preview().why_not("p", (0, 3)).ways
    assert before.why("p", (0, 3)).height == 3
    assert before.lineage("p", (0, 2)).columns == ["result", "table", "row"]
    assert "p(0, 3) @3" in str(before.query("EXPLAIN WHY SELECT * FROM p WHERE x = 0 AND y = 3"))
    assert "fails: no row of" in str(made.query("EXPLAIN WHY NOT SELECT * FROM p WHERE x = 9"))


def test_the_reader_of_a_state_tries_deletions_and_insertions(tmp_path):
    with chain(3, state=tmp_path):
        pass
    with Pipeline(state=tmp_path, durability=Durability(readonly=True)) as reader:
        assert needed(reader, "p", (0, 2)) == [("e", (0, 1)), ("e", (1, 2))]
        assert len(reader.impact("e", (0, 1)).of("p")) == 3
        assert [("e", (3, 9))] in reader.missing("p", (0, 9))
        with reader.what_if() as change:
            change.insert("e", [(7, 8)])
            with pytest.raises(ReadOnlyError):
                change.commit()
        assert len(reader["e"]) == 3


def test_the_size_of_a_group_counts_copies(pipeline):
    assert str(pipeline.why("rolled", (None, None, 6)).root.premises[0]) == "count(*): 6 rows"


def test_a_budget_bounds_the_rows_that_are_explained():
    made = chain(6)
    for budget in range(8):
        steps = made.why("p", (0, 6), budget=budget).steps()
        assert sum(step.by != "table" and not step.is_cut for step in steps) == min(budget, 6)


def test_rows_of_a_join_are_looked_up_at_once(monkeypatch):
    """The premises are the last of twelve pairs of paths; the other pairs cost no look-up each."""
    asked = []

    def counting(read):
        return lambda *args, **options: asked.append(args) or read(*args, **options)

    for name in ("history", "find"):
        monkeypatch.setattr(StateVersion, name, counting(getattr(StateVersion, name)))
    made = Pipeline()
    made.datalog(
        ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n"
        "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p(y, z)."
    )
    with made.transaction() as change:
        change.insert("e", [(0, i) for i in range(1, 13)] + [(-i, 99) for i in range(1, 14)] + [(12, 99)])
    assert set(made.why("p", (0, 99)).leaves()) == {("e", (0, 12)), ("e", (12, 99))}
    assert len(asked) < 9


def test_shards_have_the_iterations_too():
    made = chain(12, engine="spark", shards=3)
    assert made.why("p", (0, 12)).height == 12


def test_a_row_of_a_total_is_that_of_this_epoch_and_of_earlier_ones():
    made = Pipeline()
    made.table("t", {"a": "int64"})
    made.view("sums", made.flow("t").total())
    for a in (1, 2):
        with made.transaction() as change:
            change.insert("t", [(a,)])
    because = made.why("sums", (1,))
    assert list(because.leaves()) == [("t", (1,))]
    assert "total: weight 2 over all epochs, 1 in this one" in str(because)
    with made.transaction() as change:
        change.delete("t", [(1,)])
    because = made.why("sums", (1,))
    assert not list(because.leaves())
    assert "total: weight 2 over all epochs, 0 in this one; earlier ones are not kept" in str(because)
    assert "fails: no row of t with a = 3" in str(made.why_not("sums", (3,)))
    assert made.why_not("sums", (3,)).ways


def test_steps_of_subsumption_name_the_rule_that_derives_the_row_and_the_subsumption():
    made = Pipeline()
    made.datalog(
        """.decl edge(x: symbol, y: symbol, d: number)
.input edge
.decl dist(x: symbol, d: number)
dist("a", 0).
dist(y, d + e) :- dist(x, d), edge(x, y, e).
dist(x, c) <= dist(x, d) :- d <= c.
.decl next(x: symbol, d: number)
next(x, d) :- edge(_, x, d).
next(x, c) <= next(x, d) :- d <= c.
.decl one(x: symbol, d: number) choice-domain x
one(x, d) :- edge(_, x, d).
"""
    )
    with made.transaction() as change:
        change.insert("edge", [("a", "b", 3), ("a", "c", 1), ("c", "b", 1), ("b", "c", 5)])
    named = {str(step): (step.by, step.place) for step in made.why("dist", ("b", 2)).steps()}
    less = "\ndist(x, c) <= dist(x, d) :- d <= c."
    derived = "dist(y, d + e) :- dist(x, d), edge(x, y, e)."
    assert named['dist("a", 0) @1'] == ('dist("a", 0).' + less, "<datalog>:4:1")
    assert named['dist("b", 2) @3'] == (derived + less, "<datalog>:5:1")
    root = made.why("next", ("b", 1)).root
    assert (root.by, root.place) == (
        "next(x, d) :- edge(_, x, d).\nnext(x, c) <= next(x, d) :- d <= c.",
        "<datalog>:8:1",
    )
    assert {way.rule for way in made.why_not("dist", ("c", 6)).ways} == {'dist("a", 0).' + less + "\n" + derived}
    text = str(made.why("next", ("b", 1)))
    assert text.count("no row of") == 1
    assert "where c <> d AND d <= c" in text
    assert 'holds: x = "b", d = 3' in str(made.why_not("next", ("b", 3)))
    assert "chosen by x: 2 rows" in str(made.why("one", {"x": "b"}))


def test_rows_that_exclude_others_are_premises():
    """Without all of them the definition gives other rows."""
    made = Pipeline()
    made.sql(
        "CREATE TABLE a (x INT); CREATE TABLE b (x INT, y INT);"
        "CREATE VIEW common AS SELECT x FROM a INTERSECT ALL SELECT x FROM b;"
        "CREATE VIEW rest AS SELECT x FROM a EXCEPT ALL SELECT DISTINCT x FROM b;"
        "CREATE VIEW twice AS SELECT x FROM a WHERE (SELECT count(*) FROM b WHERE b.x = a.x) NOT IN (0, 1)"
    )
    made.execute("INSERT INTO a VALUES (1), (1)")
    made.execute("INSERT INTO b VALUES (1, 1), (1, 2)")
    for view in ("common", "twice"):
        leaves = {*made.why(view, (1,)).leaves()}
        assert leaves == {("a", (1,)), ("b", (1, 1)), ("b", (1, 2))}
        assert leaves == {(row.table, (*json.loads(row.row).values(),)) for row in made.lineage(view, (1,))}
    assert made.why("rest", (1,)).leaves() == [("a", (1,))]
    assert check_all(made) == 3


def test_conditions_have_the_names_of_functions_that_the_rule_has():
    made = Pipeline()
    made.datalog(""".decl w(s: symbol)
.input w
.decl long(s: symbol)
long(s) :- w(s), strlen(cat(s, s)) > 3, match("a.*", s).
""")
    made.sql("CREATE VIEW wide AS SELECT s FROM w WHERE length(s) > 2")
    made.sql("INSERT INTO w VALUES ('abc'), ('b')")
    assert "strlen(cat(s, s))" in str(made.why("long", ("abc",))).splitlines()[2]
    assert "match('a.*', s)" in str(made.why("long", ("abc",))).splitlines()[2]
    assert len(str(made.why("long", ("abc",))).splitlines()) == 3
    assert "fails: where length(s) > " in str(made.why_not("wide", ("b",)))
    assert "strlen(cat(s, s))" in str(made.why_not("long", ("b",)).ways[0].fails)


def test_sql_is_explained_in_the_words_of_its_text():
    """Not in those of the tree that it becomes: coercions, checks, accumulators and numbered columns."""
    made = Pipeline()
    made.sql("""CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c BIGINT NOT NULL);
      CREATE VIEW v AS SELECT a FROM t WHERE a + 1 > 2 AND a * 2 < c;
      CREATE VIEW g AS SELECT b, sum(a) AS s, avg(a) AS m FROM t GROUP BY b HAVING count(*) > 1;
      CREATE VIEW top AS SELECT a FROM t x WHERE NOT EXISTS (SELECT 1 FROM t y WHERE y.a > x.a)""")
    made.execute("INSERT INTO t VALUES (2, 1, 9), (3, 1, 9), (4, 2, 9)")
    assert str(made.why("v", (2,)).root.premises[1]) == "where a + 1 > 2 AND a * 2 < c"
    notes = [str(premise) for premise in made.why("g", {"b": 1}).root.premises]
    assert notes[0].endswith("sum(a), avg(a) by b: 2 rows")
    assert notes[-1] == "where count(*) > 1"
    assert str(made.why("top", (4,)).root.premises[1]) == "no row of t with x.a = 4 where y.a > x.a"


PARTS = """
CREATE TABLE part (id INT NOT NULL, of INT, day DATE, PRIMARY KEY (id));
CREATE VIEW inside AS WITH RECURSIVE r (id, top) AS
  (SELECT id, of FROM part UNION SELECT r.id, part.of FROM r JOIN part ON r.top = part.id) SELECT id, top FROM r;
CREATE VIEW recent AS SELECT id FROM part WHERE day >= current_date() - INTERVAL 7 DAY;
"""


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_changes_of_past_epochs_snapshots_and_previews_are_tried(engine):
    """The time, keys and numbers of epochs are those of the version; the pipeline does not change."""
    made = Pipeline(engine=engine, transactions=Transactions(retain=3, now="2026-03-10T12:00:00Z"))
    made.sql(PARTS)
    made.execute("INSERT INTO part VALUES (1, 2, DATE '2026-03-05'), (2, 3, NULL), (3, 4, NULL)")
    before, snapshot = made.epoch, made.snapshot()
    made.advance("2026-03-20T12:00:00Z")
    made.execute("DELETE FROM part WHERE id = 2")
    with made.what_if() as change:
        change.insert("part", [(2, 3, None)])
        preview = change.preview()
    for asked in (made.at(before), snapshot, preview):
        ids = [row[0] for _, row in asked.why("inside", (1, 4)).leaves()]
        assert [row[0] for _, row in needed(asked, "inside", (1, 4))] == ids == [1, 2, 3]
        assert asked.missing("inside", (2, 9)) == []  # the row that would give it has the key of another
        gone = asked.impact("part", {"id": 2})
        assert (gone.epoch, len(gone["part"])) == (asked.epoch + 1, 2)
        assert sorted((*row, weight) for row, weight in gone.of("inside")) == [
            (1, 3, -1),
            (1, 4, -1),
            (2, 3, -1),
            (2, 4, -1),
        ]
        with asked.what_if() as change, pytest.raises(DelticError, match="only a transaction of the pipeline"):
            change.commit()
    assert [row.id for row in snapshot.impact("part", {"id": 2})["recent"]] == [1]
    assert [row.id for row in preview.impact("part", {"id": 2})["recent"]] == []
    assert len(made["part"]) == 2


def test_past_epochs_of_views_that_read_earlier_ones_are_not_changed():
    made = Pipeline()
    made.table("t", {"a": "int64"})
    made.view("before", made.flow("t").delayed())
    with made.transaction() as change:
        change.insert("t", [(1,)])
    with pytest.raises(UnsupportedError, match="before depends on earlier epochs too"):
        made.snapshot().impact("t", (1,))
    late = Pipeline()
    late.table("t", {"a": "int64"}, lateness={"a": 3})
    with late.transaction() as change:
        change.insert("t", [(1,)])
    with pytest.raises(UnsupportedError, match="t has a lateness"):
        late.snapshot().impact("t", (1,))


def test_aggregates_of_rules_have_their_own_texts():
    """Both name their results alike in the circuit, and compute what they read from the same column."""
    made = Pipeline()
    made.datalog(
        """.decl t(x: number)
.input t
.decl v(n: number)
v(n) :- n = max m : { t(m) }.
v(n) :- n = sum m * 2 : { t(m) }.
"""
    )
    with made.transaction() as change:
        change.insert("t", [(1,), (2,)])
    assert "max(m): 2 rows, 1 decide" in str(made.why("v", (2,)))
    assert "sum(m * 2): 2 rows" in str(made.why("v", (6,)))
