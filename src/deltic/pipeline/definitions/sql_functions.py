"""CREATE FUNCTION and DROP FUNCTION: the new definitions, and the reasons to refuse them."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from deltic.pipeline.definitions.definitions import Definitions
from deltic.sql.names import find_name
from deltic.sql.scalars.functions.python import knowing
from deltic.sql.scalars.functions.written import SqlFunction, reached
from deltic.sql.statements.statements import CreateFunction, DropFunction
from deltic.sql.types import written


def with_function(now: Definitions, statement: CreateFunction) -> Definitions:
    """Add an SQL function. Raises ProgramError where its name is taken or its body is wrong."""
    from deltic.sql.dialect import taken

    function, source = statement.function, statement.source
    name = function.name.lower()
    if name in now.sql.functions and statement.unless_there:
        return now
    if name in taken() or name in now.functions:
        kind = "of Python" if name in now.functions else "in SQL"
        raise source.error(statement.name, f"there is a function {name} {kind} already", "choose another name")
    if name in now.sql.functions and not statement.replaces:
        hint = "choose another name, or write CREATE OR REPLACE FUNCTION"
        raise source.error(statement.name, f"there is a function {name} already", hint)
    made = replace(now, sql=now.sql.with_function(function))
    if function in reached(function.calls, made.sql.functions):
        remedy = "a recursion is a view: WITH RECURSIVE"
        raise source.error(statement.name, f"{function.name} calls itself, maybe through others", remedy)
    _check_body(made, function)
    return made


def _check_body(made: Definitions, function: SqlFunction) -> None:
    """Raises ProgramError where a call of the function could not be lowered."""
    from deltic.sql.queries import answer_circuit

    nulls = [exp.cast(exp.null(), written(p.type), dialect="spark") for p in function.parameters]
    call = exp.Anonymous(this=function.name, expressions=nulls)
    query = exp.select("*").from_(exp.Table(this=call)) if function.is_table else exp.select(exp.alias_(call, "value"))
    relations = made.catalog.relations
    with knowing(made.functions, made.sql.functions):
        answer_circuit(query, relations, function.name, function.source)


def without_function(now: Definitions, statement: DropFunction) -> Definitions:
    """Drop an SQL function. Raises ProgramError where there is none, or others call it."""
    if statement.name.name.lower() not in now.sql.functions and statement.if_there:
        return now
    name = find_name(statement.name, "function of SQL", now.sql.functions, statement.source)
    if callers := now.sql.callers(name):
        message = f"{name} cannot be dropped: {', '.join(callers)} call{'s' * (len(callers) == 1)} it"
        raise statement.source.error(statement.name, message, "drop or replace what calls it first")
    return replace(now, sql=now.sql.without_function(name))
