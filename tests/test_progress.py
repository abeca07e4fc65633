"""Progress of work that takes minutes. Catches a step without its table or view, and a hidden relation's name."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pytest

import deltic
from deltic import progress


def steps(work):
    done = []
    with deltic.watch_progress(done.append):
        work()
    return [(each.step, each.rows) for each in done if each.is_done]


def test_rows_and_views_of_a_pipeline():
    pipeline = deltic.Pipeline()
    rows = pa.table({"a": np.arange(100), "b": np.arange(100) % 7})
    assert steps(lambda: pipeline.table("sale", rows)) == [("reading rows of sale", 100)]
    found = steps(lambda: pipeline.sql("CREATE VIEW v AS SELECT b, count(DISTINCT a) AS n FROM sale GROUP BY b"))
    assert {step for step, _ in found} == {"computing v"}
    assert max(rows for _, rows in found) == 100


def test_sources_and_publications(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.csv").write_text("1\n2\n")
    pipeline = deltic.Pipeline()
    pipeline.table("t", {"n": "int64"}, source=tmp_path / "in")
    pipeline.sql("CREATE VIEW v AS SELECT sum(n) AS n FROM t")
    pipeline.publish("v", tmp_path / "out")
    seen = []
    with deltic.watch_progress(lambda step: seen.append(str(step))):
        pipeline.refresh()
    *reading, end = [step for step in seen if step.startswith("reading")]
    assert reading == ["reading t", "reading t: 2 rows", "reading t: 4 rows"]
    assert end.startswith("reading t: 4 rows, ")
    assert seen[-1].startswith("publishing v, ")


def test_nothing_is_called_after_the_block():
    assert steps(lambda: None) == []
    pipeline, done = deltic.Pipeline(), []
    with deltic.watch_progress(done.append):
        pass
    pipeline.table("t", [{"n": 1}])
    assert not done


def test_an_error_of_the_watcher_undoes_the_work():
    pipeline = deltic.Pipeline()

    def fail(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), deltic.watch_progress(fail):
        pipeline.table("t", [{"n": 1}])
    assert "t" not in pipeline.tables


def test_the_log_has_what_takes_long(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "deltic.progress")
    deltic.Pipeline().table("t", [{"n": 1}])
    assert not caplog.records
    monkeypatch.setattr(progress, "_LONG", 0.0)
    deltic.Pipeline().table("t", [{"n": 1}])
    assert caplog.messages[0].startswith("reading rows of t: 1 row, ")
    assert caplog.records[0].deltic["rows"] == 1


def test_progress_on_shards_names_views_and_shards():
    pipeline = deltic.Pipeline(engine="spark", shards=deltic.Shards(2))
    pipeline.table("sale", pa.table({"a": np.arange(100), "b": np.arange(100) % 7}))
    pipeline.table("part", pa.table({"b": np.arange(7), "c": np.arange(7) % 2}))
    found = steps(
        lambda: pipeline.sql("CREATE VIEW v AS SELECT c, count(*) AS n FROM sale JOIN part USING (b) GROUP BY c")
    )
    assert {step for step, _ in found} == {"computing v on shard 0", "computing v on shard 1"}
    assert sum(rows for _, rows in found) > 0
