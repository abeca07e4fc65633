r"""psql against the server: what it asks of the catalog when people look around, its \copy, its errors.

Catches a join over the catalog that DuckDB does not answer as PostgreSQL does.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

from tests.server.postgres.conftest import Running

pytestmark = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed: postgresql-client has it")


def psql(running: Running, *commands: str, footers: bool = False, **options: Any) -> str:
    """What psql prints, as rows without frames."""
    given = [part for command in commands for part in ("-c", command)]
    call = ["psql", "-X", "-A", *([] if footers else ["-t"]), "-v", "ON_ERROR_STOP=1", running.address, *given]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=120, **options)
    return done.stdout + done.stderr


def test_looking_around(running: Running) -> None:
    assert psql(running, "\\d") == "public|items|table|ada\npublic|names|view|ada\n"
    assert psql(running, "\\dt") == "public|items|table|ada\n"
    assert psql(running, "\\dv") == "public|names|view|ada\n"
    assert psql(running, "\\di") == "public|items_pkey|index|ada|items\n"
    assert psql(running, "\\dn") == "public|ada\n"
    assert psql(running, "\\l").startswith("deltic|ada|UTF8|")
    assert psql(running, "\\sv names").endswith("SELECT name, count(*) AS n FROM items GROUP BY name\n")


def test_a_table_and_a_view(running: Running) -> None:
    table = psql(running, "\\d items", footers=True)
    assert "id|integer||not null|" in table
    assert "name|text|||" in table
    assert '"items_pkey" PRIMARY KEY, btree (id)' in table
    assert "n|bigint||not null|" in psql(running, "\\d+ names")


@pytest.mark.parametrize("command", ["dp", "du", "df", "dT", "dx", "dD", "ds", "dm", "db", "dRp", "dC", "dconfig"])
def test_other_lists_have_answers(running: Running, command: str) -> None:
    assert "ERROR" not in psql(running, f"\\{command}")


def test_statements_of_a_file(running: Running) -> None:
    text = "BEGIN;\nINSERT INTO items VALUES (1, 'a');\nINSERT INTO items VALUES (2, 'b');\nCOMMIT;\n"
    before = running.pipeline.epoch
    subprocess.run(["psql", "-X", "-q", running.address], input=text, text=True, check=True, timeout=120)
    assert running.pipeline.epoch == before + 1
    assert psql(running, "SELECT count(*) FROM items") == "2\n"


def test_copies(running: Running) -> None:
    assert psql(running, "\\copy items FROM STDIN", input="1\ta\n2\t\\N\n") == "COPY 2\n"
    assert psql(running, "\\copy (SELECT * FROM items ORDER BY id) TO STDOUT CSV") == "1,a\n2,\n"


@pytest.mark.parametrize(("form", "row"), [("CSV", "3,c"), ("", "3\tc")])
def test_a_copy_between_the_statements_of_a_file(running: Running, form: str, row: str) -> None:
    text = f"COPY items FROM STDIN {form};\n{row}\n\\.\nSELECT * FROM items;\n"
    assert psql(running, input=text) == "COPY 1\n3|c\n"


def test_an_error_has_a_caret(running: Running) -> None:
    assert psql(running, 'SELECT "id",\n missing FROM items') == (
        "ERROR:  there is no column missing here\nLINE 2:  missing FROM items\n         ^\n"
        "HINT:  the columns here are id, name\n"
    )
