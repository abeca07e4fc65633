"""The libraries' functions by name. Catches one that `deltic functions` or the table of docs/ddlog.md has not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from deltic.cli.functions import functions_command
from deltic.pipeline.registry import listed
from deltic.sql.scalars.functions.lookup import known
from deltic_ddlog.library_functions import SAME_IN_SQL
from deltic_ddlog.natives import NATIVES

SCRIPT = Path(__file__).parents[3] / "scripts" / "function_table.py"


def test_every_function_is_listed_beside_the_one_of_sql():
    names = {name for function in listed() for name in function.languages.get("DDlog", ())}
    assert set(SAME_IN_SQL) <= names == set(NATIVES)
    assert set(SAME_IN_SQL.values()) <= set(known())


def test_a_function_is_found_by_its_name_without_the_module(capsys):
    assert functions_command("string_len") == functions_command("vec_nth") == 0
    told = capsys.readouterr().out
    assert "SQL: octet_length\nDDlog: ddlog_std::string_len\ncomputed by Arrow (" in told
    assert "in DDlog computed by Python within compiled rules\nDDlog: ddlog_std::vec_nth\nin DDlog computed by" in told


def test_the_table_is_up_to_date():
    spec = importlib.util.spec_from_file_location("function_table", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = script.PAGE_OF_DDLOG.read_text(encoding="utf-8")
    assert text == script.page(text, script.table_of_ddlog()), "run scripts/function_table.py"
