"""Orders that repeated scans build. Catches rows that a look-up loses or adds, and places of another order."""

from __future__ import annotations

import random

from deltic import Pipeline
from deltic.engine.storage import frozen


def test_look_ups_agree_before_and_after_an_order_is_built(monkeypatch):
    monkeypatch.setattr(frozen, "_FEW", 10)
    built = []
    led_by = frozen.SortedRows.led_by
    monkeypatch.setattr(frozen.SortedRows, "led_by", lambda rows, column: built.append(column) or led_by(rows, column))
    rng = random.Random(1)
    texts = [None, *(f"s{i}" for i in range(20))]
    made = Pipeline()
    made.sql("CREATE TABLE t (a BIGINT, b STRING, c BIGINT); CREATE VIEW v AS SELECT * FROM t WHERE c <> 3")
    for _ in range(3):
        rows = [(rng.randrange(-(2**62), 2**62), rng.choice(texts), rng.randrange(-5, 5)) for _ in range(300)]
        with made.transaction() as change:
            change.insert("t", [*rows, (None, None, 0)])
    snapshot = made.snapshot()
    rows = [tuple(row) for row in snapshot["v"]]
    for place, name in enumerate("abc"):
        for value in [row[place] for row in rng.sample(rows, 20)]:
            found = [tuple(row) for row in snapshot["v"].lookup(**{name: value})]
            assert sorted(found, key=repr) == sorted((row for row in rows if row[place] == value), key=repr)
    assert set(built) == {1, 2}
