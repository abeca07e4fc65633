"""The libraries' functions by name. Catches one that `deltic functions` does not list."""

from __future__ import annotations

from deltic.cli.functions import functions_command
from deltic.pipeline.registry import listed
from deltic.sql.scalars.functions.lookup import known
from deltic_ddlog.library_functions import SAME_IN_SQL
from deltic_ddlog.natives import NATIVES


def test_every_function_is_listed_beside_the_one_of_sql():
    names = {name for function in listed() for name in function.languages.get("DDlog", ())}
    assert set(SAME_IN_SQL) <= names == set(NATIVES)
    assert set(SAME_IN_SQL.values()) <= set(known())


def test_a_function_is_found_by_its_name_without_the_module(capsys):
    functions_command("string_len")
    functions_command("vec_nth")
    told = capsys.readouterr().out
    assert "SQL: octet_length\nDDlog: ddlog_std::string_len\ncomputed by Arrow (" in told
    assert "in DDlog computed by Python within compiled rules\nDDlog: ddlog_std::vec_nth\nin DDlog computed by" in told
