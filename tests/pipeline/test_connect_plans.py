"""Views by DataFrames of Spark Connect, from recorded plans: no server is started, and none has to be there.

Catches what `test_dataframe_views` catches, in the reader of Connect's plans, which that test reaches on Connect alone.
"""

from __future__ import annotations

import base64
import json
import zlib
from types import SimpleNamespace

import pytest

from deltic import DelticError
from deltic.pipeline.spark.connect_plans import PlanReader
from deltic.pipeline.spark.plan_errors import PlanErrors
from tests.pipeline import test_dataframe_views as views
from tests.pipeline.record_connect_plans import FILE, key, rows

proto = pytest.importorskip("pyspark.sql.connect.proto", reason="the extra pyspark[connect]", exc_type=ImportError)
RECORDED = json.loads(FILE.read_text())


def view(pipeline, case):
    """Define the view `v` by a recorded DataFrame."""

    def schema(relation):
        columns = case["columns"][key(relation)]
        return [SimpleNamespace(name=n, dataType=SimpleNamespace(simpleString=lambda t=t: t)) for n, t in columns]

    relation = proto.Relation.FromString(zlib.decompress(base64.b64decode(case["plan"])))
    query = PlanReader(PlanErrors("v", pipeline._schemas), schema).query(relation)
    pipeline.define(f"CREATE OR REPLACE VIEW v AS {query}", "sql")


def test_a_view_holds_what_spark_computed():
    pipeline = views.tables(None)
    views.fill(pipeline, views.ORDERS[2:], [])
    assert {*RECORDED} == {*views.CASES, *views.REFUSED}
    for name in views.CASES:
        view(pipeline, RECORDED[name])
        assert rows(pipeline["v"].to_arrow()) == RECORDED[name]["rows"], name


def test_what_is_not_supported_is_named():
    pipeline = views.tables(None)
    for name, (_, message) in views.REFUSED.items():
        if message is None:
            view(pipeline, RECORDED[name])
            continue
        with pytest.raises(DelticError) as caught:
            view(pipeline, RECORDED[name])
        assert message in str(caught.value), name
