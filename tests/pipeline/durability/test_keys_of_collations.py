"""A state holds keys of texts that ICU made. Another version may make others, so it computes such views again."""

from __future__ import annotations

from deltic import Pipeline
from deltic.sql import collations


def test_another_version_of_icu_makes_the_keys_anew(tmp_path, monkeypatch):
    with Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql("CREATE TABLE t (s STRING)")
        pipeline.sql("CREATE VIEW v AS SELECT count(*) AS n FROM t GROUP BY s COLLATE UNICODE_CI")
        pipeline.sql("INSERT INTO t VALUES ('a'), ('A'), ('b')")
        assert "DuckDB" in pipeline.explain("v")
    monkeypatch.setattr(collations, "maker", lambda: "DuckDB 0.1")
    with Pipeline(state=tmp_path / "state") as pipeline:
        assert "'DuckDB 0.1'" in pipeline.explain("v")
        pipeline.sql("DELETE FROM t WHERE s = 'A'")
        assert sorted(pipeline["v"]) == [(1,), (1,)]
