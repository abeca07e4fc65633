"""Explanations of SQL, of chains, and over snapshots, previews and shards. Catches an operator without its premises."""

from __future__ import annotations

import json

import pytest

from deltic import Pipeline, ProgramError, UnsupportedError
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
    assert pipeline.needed("joined", (2, "fr")) == [("o", (2, "ada", 1)), ("c", ("ada", "fr"))]
    assert pipeline.needed("either", ("ada",)) == []
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


def test_snapshots_and_previews_are_asked_too():
    made = chain(3)
    before = made.snapshot()
    with made.transaction() as change:
        change.delete("e", [(1, 2)])
        assert made.why("p", (0, 3)).height == 3
        assert change.preview().why_not("p", (0, 3)).ways
    assert before.why("p", (0, 3)).height == 3
    assert before.lineage("p", (0, 2)).columns == ["result", "table", "row"]


def test_shards_have_the_iterations_too():
    made = chain(12, engine="spark", shards=3)
    assert made.why("p", (0, 12)).height == 12


def test_an_operator_without_an_explanation_is_named():
    made = Pipeline()
    made.table("t", {"a": "int64"})
    made.view("sums", made.flow("t").total())
    for a in (1, 2):
        with made.transaction() as change:
            change.insert("t", [(a,)])
    with pytest.raises(UnsupportedError, match="the operator integrate is not explained"):
        made.why("sums", (1,))
