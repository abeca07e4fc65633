"""Records what a client of Spark Connect sends for the cases of views by DataFrames, and what the server answers.

    python -m tests.pipeline.record_connect_plans

starts a server, and writes connect_plans.json: of each case the plan, the columns of its relations, and its rows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from deltic.errors import CatalogError
from deltic.pipeline.spark.connect_plans import PlanReader
from deltic.pipeline.spark.plan_errors import PlanErrors

FILE = Path(__file__).with_name("connect_plans.json")


def key(relation: Any) -> str:
    """What a relation is called in the file."""
    return hashlib.sha256(relation.SerializeToString(deterministic=True)).hexdigest()[:8]


def rows(table: Any) -> list[str]:
    """Rows of Arrow in a form that compares."""
    return sorted(repr(tuple(row.values())) for row in table.to_pylist())


def recorded(frame: Any, relations: Any, filled: Any) -> dict[str, Any]:
    """The plan of a DataFrame, the answers of the server that its reader asks for, and the rows of a filled one."""
    from pyspark.sql.connect.proto import Plan

    client, answers = frame.sparkSession.client, {}

    def schema(relation: Any) -> Any:
        fields = client.schema(Plan(root=relation)).fields
        answers[key(relation)] = [[field.name, field.dataType.simpleString()] for field in fields]
        return fields

    root = frame._plan.to_proto(client).root
    try:
        PlanReader(PlanErrors("v", relations), schema).query(root)
    except CatalogError:
        assert filled is None
    plan = base64.b64encode(zlib.compress(root.SerializeToString(deterministic=True))).decode()
    return {"plan": plan, "columns": answers, **({} if filled is None else {"rows": rows(filled.toArrow())})}


def main() -> None:
    from pyspark.sql import SparkSession

    from tests.pipeline import test_dataframe_views as views

    builder = SparkSession.builder.remote("local[1]").config("spark.sql.session.timeZone", "UTC")
    session = builder.config("spark.python.sql.dataFrameDebugging.enabled", "false").getOrCreate()
    pipeline, empty = views.tables(session), views.tables(session, is_filled=False)
    views.fill(pipeline, views.ORDERS[2:], [])
    frames, filled, relations = views.frames(empty), views.frames(pipeline), pipeline._schemas
    cases = {name: recorded(case(*frames), relations, case(*filled)) for name, case in views.CASES.items()}
    cases |= {name: recorded(case(*frames), relations, None) for name, (case, _) in views.REFUSED.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(case, separators=(',', ':'))}" for name, case in cases.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    session.stop()


if __name__ == "__main__":
    main()
