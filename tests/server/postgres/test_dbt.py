"""dbt-postgres against the server: views are models, which a second run leaves as they are.

dbt is not among Deltic's requirements: the variable DELTIC_TEST_DBT names the command, as `/some/venv/bin/dbt`. Catches
a statement of dbt's that is refused, and a second run that cannot replace what the first one made.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.server.postgres.conftest import Running

DBT = os.environ.get("DELTIC_TEST_DBT", "")
PAGE = Path(__file__).parents[3] / "docs" / "postgresql-clients.md"
PROFILE = "shop: {{target: dev, outputs: {{dev: {{type: postgres, host: 127.0.0.1, port: {}, user: ada, password: x, "
FILES = {
    "dbt_project.yml": "{name: shop, version: 1.0.0, profile: shop, model-paths: [models], macro-paths: [macros]}",
    "models/by_name.sql": "select name, count(*) as n from {{ source('raw', 'items') }} group by name",
    "models/by_n.sql": "select n, count(*) as names from {{ ref('by_name') }} group by n",
    "models/kept.sql": "{{ config(materialized='table') }} select * from {{ ref('by_n') }}",
    "models/schema.yml": "sources: [{name: raw, schema: public, tables: [{name: items}]}]\n"
    "models: [{name: by_name, columns: [{name: name, data_tests: [unique, not_null]}]}]",
}


@pytest.mark.skipif(not DBT, reason="DELTIC_TEST_DBT names no command of dbt-postgres")
def test_two_runs(running: Running, tmp_path: Path) -> None:
    (macro,) = re.findall(r"^```sql\n(\{% materialization.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    profile = PROFILE.format(running.port) + "dbname: deltic, schema: public, threads: 1}}}"
    for name, text in (FILES | {"macros/deltic.sql": macro, "profiles.yml": profile}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with running.connect() as connection:
        connection.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b'), (3, 'a')")
        for _ in range(2):
            _build(tmp_path)
            assert connection.execute("SELECT * FROM by_n ORDER BY n").fetchall() == [(1, 1), (2, 1)]
            assert connection.execute("SELECT * FROM kept ORDER BY n").fetchall() == [(1, 1), (2, 1)]
        connection.execute("INSERT INTO items VALUES (4, 'b')")
        assert connection.execute("SELECT * FROM by_n").fetchall() == [(2, 2)]


def _build(folder: Path) -> None:
    environment = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    command = [DBT, "build", "--profiles-dir", "."]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout
