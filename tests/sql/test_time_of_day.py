"""Times of a day in tables, views and a stored state.

Catches one that is lost or rounded on its way through keys, joins, orders, deletions and files.
"""

from __future__ import annotations

from datetime import time

import deltic

PROGRAM = """
CREATE TABLE shift (id INT PRIMARY KEY, begin TIME, len INTERVAL HOUR TO SECOND);
CREATE TABLE bell (at TIME PRIMARY KEY, name STRING);
CREATE VIEW starts AS SELECT begin, count(*) AS n, max(hour(begin)) AS h FROM shift GROUP BY begin;
CREATE VIEW rung AS SELECT s.id, b.name, begin + len AS ends FROM shift s JOIN bell b ON s.begin = b.at;
CREATE VIEW latest AS SELECT begin FROM shift ORDER BY begin DESC LIMIT 1;
"""


def rows(pipeline: deltic.Pipeline) -> list[set[tuple[object, ...]]]:
    return [set(map(tuple, pipeline.sql(f"SELECT * FROM {view}"))) for view in ("starts", "rung", "latest")]


def test_times_of_a_day_follow_changes_and_are_kept(tmp_path):
    pipeline = deltic.Pipeline(state=tmp_path)
    pipeline.sql(PROGRAM)
    pipeline.sql(
        "INSERT INTO shift VALUES (1, TIME'08:00:00', INTERVAL '8' HOUR), (2, TIME'08:00:00.000001', NULL),"
        " (3, NULL, NULL), (4, TIME'08:00', INTERVAL '2' HOUR); INSERT INTO bell VALUES (TIME'08:00:00', 'early')"
    )
    first, second, last = time(8), time(8, 0, 0, 1), time(23, 59, 59, 999999)
    assert rows(pipeline) == [
        {(first, 2, 8), (second, 1, 8), (None, 1, None)},
        {(1, "early", time(16)), (4, "early", time(10))},
        {(second,)},
    ]
    pipeline.sql("DELETE FROM shift WHERE id = 1; UPDATE shift SET begin = TIME'23:59:59.999999' WHERE id = 3")
    after = [{(first, 1, 8), (second, 1, 8), (last, 1, 23)}, {(4, "early", time(10))}, {(last,)}]
    assert rows(pipeline) == after
    pipeline.close()
    assert rows(deltic.Pipeline(state=tmp_path)) == after
