"""Explanations of SQL have the user's words, construct by construct.

This catches a name that the translation gives a column, an operator in brackets, and a check or a cast that it adds.
"""

from __future__ import annotations

import re

import pytest

import deltic
from deltic import Pipeline

TABLES = """
CREATE TABLE orders (id INT NOT NULL, who STRING, amount INT, day DATE, PRIMARY KEY (id));
CREATE TABLE people (who STRING NOT NULL, land STRING, boss STRING, PRIMARY KEY (who));
CREATE TABLE parts (id INT NOT NULL, tags ARRAY<STRING>, PRIMARY KEY (id));
CREATE TABLE edge (a INT NOT NULL, b INT NOT NULL);
CREATE TABLE scores (who STRING, maths INT, arts INT);
CREATE FUNCTION tax (x INT) RETURNS INT RETURN x * 2 + 1;
"""

ROWS = """
INSERT INTO orders VALUES (1, 'ada', 2, DATE '2026-01-01'), (2, 'ada', 7, DATE '2026-01-02'),
  (3, 'bob', 3, DATE '2026-01-02'), (4, NULL, 5, NULL), (5, 'cyd', NULL, DATE '2026-01-04'),
  (6, 'ada', 3, DATE '2026-02-01');
INSERT INTO people VALUES ('ada', 'fr', 'bob'), ('bob', 'fr', NULL), ('dan', 'it', 'ada');
INSERT INTO parts VALUES (1, array('red', 'rough')), (2, array('blue'));
INSERT INTO edge VALUES (1, 2), (2, 3), (3, 1), (3, 4);
INSERT INTO scores VALUES ('ada', 4, 2), ('eve', 1, 1);
"""

QUERIES = """
SELECT o.id, p.land FROM orders o JOIN people p ON o.who = p.who
SELECT a.id AS one, b.id AS two FROM orders a JOIN orders b ON a.who = b.who AND a.amount < b.amount
SELECT id, land FROM orders JOIN people USING (who) WHERE amount > 5
SELECT o.id, s.who FROM orders o JOIN scores s ON o.amount > s.maths + 1
SELECT o.id, p.land FROM orders o LEFT JOIN people p ON o.who = p.who
SELECT o.id, p.boss FROM orders o LEFT JOIN people p ON o.who = p.who AND p.land = 'fr' WHERE p.boss IS NULL
SELECT o.id, p.who FROM orders o RIGHT JOIN people p ON o.who = p.who
SELECT o.id, s.maths FROM orders o FULL JOIN scores s ON o.who = s.who
SELECT o.id, p.who FROM orders o CROSS JOIN people p WHERE o.amount > length(p.who)
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM people p WHERE p.who = o.who AND p.land = 'fr')
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM orders x WHERE x.who = o.who AND x.amount > o.amount)
SELECT id FROM orders WHERE who IN (SELECT who FROM people WHERE land = 'fr')
SELECT id FROM orders WHERE who NOT IN (SELECT who FROM scores WHERE maths > 3)
SELECT id, (SELECT land FROM people p WHERE p.who = o.who) AS land FROM orders o WHERE amount > (SELECT
  avg(amount) FROM orders)
SELECT who FROM people p WHERE (SELECT count(*) FROM orders o WHERE o.who = p.who) >= 2
SELECT id FROM orders WHERE amount >= ALL (SELECT maths FROM scores)
SELECT id FROM orders WHERE amount > ANY (SELECT maths FROM scores)
SELECT DISTINCT who FROM orders WHERE amount > 1
SELECT who FROM orders UNION SELECT who FROM people WHERE land = 'fr'
SELECT who, amount FROM orders UNION ALL SELECT who, maths FROM scores
SELECT who FROM orders INTERSECT SELECT who FROM people
SELECT who FROM orders EXCEPT SELECT who FROM people
SELECT who FROM orders EXCEPT ALL SELECT who FROM people
SELECT who FROM orders INTERSECT ALL SELECT who FROM people
SELECT who, sum(amount) AS total, count(*) AS k, max(day) AS last FROM orders GROUP BY who
SELECT who, sum(amount) FILTER (WHERE amount > 2) AS big, count(DISTINCT amount) AS k FROM orders GROUP BY who
SELECT who, sum(amount * 2 + 1) AS total, min(length(who)) AS l FROM orders GROUP BY who
SELECT who, count(*) AS k FROM orders GROUP BY who HAVING sum(amount) > 5 AND count(*) > 1
SELECT who AS w, sum(amount) AS total FROM orders WHERE amount BETWEEN 2 AND 9 GROUP BY who HAVING total BETWEEN 3 AND 9
  AND w <> 'z' AND total > (SELECT min(maths) FROM scores)
SELECT o.id, p.who FROM orders o JOIN people p ON o.amount BETWEEN 1 AND length(p.who) AND o.who = p.who
SELECT upper(who) AS w, amount % 2 AS odd, count(*) AS k FROM orders GROUP BY upper(who), amount % 2
SELECT who, day, sum(amount) AS total FROM orders GROUP BY ROLLUP (who, day)
SELECT who, day, grouping(who) AS g, count(*) AS k FROM orders GROUP BY CUBE (who, day)
SELECT who, day, count(*) AS k FROM orders GROUP BY GROUPING SETS ((who), (day))
SELECT * FROM (SELECT who, amount FROM orders) PIVOT (sum(amount) FOR who IN ('ada' AS ada, 'bob' AS bob))
SELECT * FROM scores UNPIVOT (points FOR subject IN (maths, arts))
SELECT p.id, t.tag FROM parts p LATERAL VIEW explode(p.tags) t AS tag WHERE t.tag LIKE 'r%'
SELECT p.who, x.top FROM people p, LATERAL (SELECT max(amount) AS top FROM orders o WHERE o.who = p.who) x
SELECT id, sum(amount) OVER (PARTITION BY who ORDER BY id) AS s FROM orders
SELECT id, rank() OVER (PARTITION BY who ORDER BY amount DESC) AS r, lag(amount) OVER (ORDER BY id) AS prev FROM
  orders
SELECT id, avg(amount + 1) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m FROM orders WHERE
  amount > 0
SELECT id, who FROM orders QUALIFY row_number() OVER (PARTITION BY who ORDER BY amount DESC, id) = 1
SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 2
SELECT id, CASE WHEN amount > 4 THEN 'big' WHEN amount IS NULL THEN 'none' ELSE 'small' END AS size FROM orders
  WHERE CASE WHEN who = 'ada' THEN amount > 1 ELSE TRUE END
SELECT id FROM orders WHERE who LIKE 'a%' AND who NOT LIKE '%z' AND who RLIKE 'a.a'
SELECT id FROM orders WHERE amount BETWEEN 2 AND 6 AND who IN ('ada', 'cyd') AND day IS NOT NULL AND NOT (amount
  = 3)
SELECT id, day + INTERVAL 1 DAY AS next, CAST(amount AS STRING) || '!' AS a FROM orders WHERE day >= DATE
  '2026-01-02' AND year(day) = 2026
SELECT id, coalesce(who, 'nobody') AS w, amount / 2 AS h FROM orders WHERE coalesce(amount, 0) * 2 >= 4
SELECT id, tax(amount) AS t FROM orders WHERE tax(amount) > 5
SELECT id, twice(amount) AS t FROM orders WHERE twice(id) > 5
WITH big AS (SELECT who, sum(amount) AS s FROM orders GROUP BY who) SELECT b.who, p.land FROM big b JOIN people
  p ON b.who = p.who WHERE b.s > 4
SELECT d.w, d.s FROM (SELECT who AS w, sum(amount) AS s FROM orders GROUP BY who) d WHERE d.s > 3
WITH RECURSIVE r (a, b) AS (SELECT a, b FROM edge UNION SELECT r.a, e.b FROM r JOIN edge e ON r.b = e.a) SELECT
  a, b FROM r WHERE a < b
WITH RECURSIVE r (a, b, n) AS (SELECT a, b, 1 FROM edge UNION ALL SELECT r.a, e.b, r.n + 1 FROM r JOIN edge e ON
  r.b = e.a WHERE r.n < 4) SELECT a, b, n FROM r
SELECT v.x, o.id FROM (VALUES (1, 'ada'), (2, 'bob')) AS v(x, who) JOIN orders o ON o.who = v.who
SELECT p.who, b.land FROM people p JOIN people b ON p.boss = b.who WHERE p.land = b.land
"""

INTERNAL = re.compile(
    r"\w_\d+\b|\b(argument|input|result|known|least|greatest|over|index|count_distinct|mean|times)\b"
    r"|\[(?!CREATE|SELECT)|\\\\|checked_|try_cast|like\(|definition of|constant|branch \d"
)
"""Names of the translation, and the notation of operators."""


@deltic.function(deterministic=True)
def twice(x: int) -> int:
    return 2 * x


@pytest.fixture(scope="module")
def pipeline():
    made = Pipeline(functions=[twice])
    made.sql(TABLES + ROWS)
    for number, query in enumerate(re.split(r"\n(?=\S)", QUERIES.strip())):
        made.sql(f"CREATE VIEW v{number} AS {query}")
    return made


def test_explanations_have_no_internal_names(pipeline):
    """Of every row; and of rows that are absent, one for each column."""
    for number, query in enumerate(re.split(r"\n(?=\S)", QUERIES.strip())):
        view = f"v{number}"
        rows = [tuple(row) for row in pipeline[view]]
        reasons = [pipeline.why(view, row) for row in rows]
        texts = [str(reason) for reason in reasons]
        texts += {name for reason in reasons for step in reason.steps() for name in step.variables}
        for row in rows:
            for column, value in zip(pipeline[view].columns, row, strict=True):
                absent = {"int": -9, "str": "zoe", "float": -9.5}.get(type(value).__name__)
                if absent is not None:
                    texts.append(str(pipeline.why_not(view, {column: absent})))
        for text in texts:
            assert not INTERNAL.search(text.replace(" ".join(query.split()), "")), f"{query}\n{text}"


def test_conditions_show_as_their_clauses_have_them(pipeline):
    """BETWEEN is two conditions of the circuit, and a name in HAVING stands for an expression."""
    text = str(
        pipeline.sql("""EXPLAIN WHY SELECT who, sum(amount) AS total FROM orders WHERE amount BETWEEN 3 AND 9
      GROUP BY who HAVING total > 9 AND total BETWEEN 1 AND 90""")
    )
    assert re.findall("where .*", text) == [
        "where amount BETWEEN 3 AND 9",
        "where total > 9 AND total BETWEEN 1 AND 90",
    ]
    text = str(pipeline.sql("EXPLAIN WHY NOT SELECT id FROM orders WHERE id = 3 AND amount BETWEEN 4 AND 9"))
    assert "amount BETWEEN 4 AND 9 (3 >= 4)" in text
