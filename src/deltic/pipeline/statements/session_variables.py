"""Statements that run one by one: variables, settings, EXECUTE IMMEDIATE.

A text is divided at them; each part between two is planned as a whole, with the values that variables have then. A
setting of Spark is accepted if its value is how Deltic computes; others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from deltic.engine.batches import TableBatch
from deltic.errors import count_of, did_you_mean
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.sql.evaluation import answered
from deltic.pipeline.sql.planning import asked_query, planned
from deltic.pipeline.statements.steps import SqlSession
from deltic.sql.names import find_name
from deltic.sql.statements.parameters import Args
from deltic.sql.statements.parse import parse
from deltic.sql.statements.reading import Tokens, split
from deltic.sql.statements.statements import (
    DeclareVariable,
    DropVariable,
    ExecuteImmediate,
    Select,
    Setting,
    SetVariable,
    Statement,
)
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.sql.variables import SessionVariable, constant_of, knowing_variables
from deltic.values.arrow import from_arrow
from deltic.values.types import Schema, Type
from deltic.values.types.arrow import type_of_arrow

_MAYBE = re.compile(
    r"(?:\A|;|\*/|--[^\n]*\n)\s*(?:DECLARE|USE|SET|RESET|EXECUTE|DROP\s+(?:TEMPORARY\s+)?VARIABLE)\b", re.I
)
"""Where a statement of the session may begin: the SET of an UPDATE on several lines is none."""
_EXECUTED = "<executed>"
_DEEPEST = 20
"""How many EXECUTE IMMEDIATE may stand in each other."""
_Result = Evolution | Transaction | Rows
_Changed = dict[str, SessionVariable]


def results_of_text(session: SqlSession, text: str, args: Args | None, file: str, depth: int = 0) -> Iterator[_Result]:
    """Return what each statement of a text gives."""
    parts = list(_parts(text, args, file)) if _MAYBE.search(text) else []
    if not any(is_alone for _, _, is_alone in parts):
        return session.results(partial(planned, text, file, args=args))
    return _in_turn(session, parts, file, depth)


def _in_turn(
    session: SqlSession, parts: Sequence[tuple[str, Args | None, bool]], file: str, depth: int
) -> Iterator[_Result]:
    for text, args, is_alone in parts:
        if not is_alone:
            yield from session.results(partial(planned, text, file, args=args))
            continue
        with knowing_variables(session.definitions.variables):
            (statement,) = parse(text, file, args)
        if isinstance(statement, ExecuteImmediate):
            yield from _executed(session, statement, depth)
        else:
            yield _done(session, statement)


def _parts(text: str, args: Args | None, file: str) -> Iterator[tuple[str, Args | None, bool]]:
    """Yield a text divided at statements of the session, each with its values; the places of all words stay."""
    groups: list[tuple[list[Tokens], bool]] = []
    for tokens in split(SourceText(text, file)):
        is_alone = _is_of_session(tokens)
        if not groups or is_alone or groups[-1][1]:
            groups.append(([], is_alone))
        groups[-1][0].append(tokens)
    left = list(args) if isinstance(args, list | tuple) else None
    for number, (statements, is_alone) in enumerate(groups, 1):
        start, end = statements[0][0].start, statements[-1][-1].end + 1
        given = args
        if left is not None:
            used = sum(token.token_type in _PLACEHOLDERS for tokens in statements for token in tokens)
            given, left = (left[:used], left[used:]) if number < len(groups) else (left, [])
        yield re.sub(r"[^\n]", " ", text[:start]) + text[start:end], given or None, is_alone


_PLACEHOLDERS = (TokenType.PLACEHOLDER, TokenType.QDCOLON)


def _is_of_session(tokens: Tokens) -> bool:
    words = [token.text.upper() for token in tokens[:3]]
    match words:
        case ["SET" | "RESET" | "EXECUTE" | "USE", *_]:
            return True
        case ["DECLARE", *others]:
            return others[:1] != ["RECURSIVE"] or others[1:] != ["VIEW"]
        case ["DROP", *others]:
            return "VARIABLE" in others and others[0] in ("VARIABLE", "TEMPORARY")
    return False


def _done(session: SqlSession, statement: Statement) -> _Result:
    if isinstance(statement, Setting):
        return settings(statement, session.evolving.nothing())
    variables = session.definitions.variables
    changed = dict(variables)
    if isinstance(statement, DeclareVariable):
        _declare(session, statement, changed)
    elif isinstance(statement, SetVariable):
        _assign(session, statement, changed)
    elif isinstance(statement, DropVariable):
        _drop(statement, changed)
    variables.clear()
    variables.update(changed)
    return session.evolving.nothing()


def _declare(session: SqlSession, statement: DeclareVariable, variables: _Changed) -> None:
    for name in statement.names:
        if name.name.lower() in variables and not statement.replaces:
            hint = "write DECLARE OR REPLACE, or SET VAR"
            raise statement.source.error(name, f"there is a variable {name.name} already", hint)
    value = statement.default if statement.type is None else _cast(statement.default, statement.type)
    ((type_, constant),) = _row(session, exp.select(value), statement.source, variables)
    for name in statement.names:
        variable = SessionVariable(name.name, type_, constant, statement.default, statement.source)
        variables[name.name.lower()] = variable


def _assign(session: SqlSession, statement: SetVariable, variables: _Changed) -> None:
    for assignment in statement.assignments:
        names = [find_name(name, "variable", variables, statement.source).lower() for name in assignment.names]
        if len(set(names)) < len(names):
            raise statement.source.error(assignment.names[-1], "a variable is assigned twice")
        if assignment.query is None:
            (name,) = names
            own = variables[name]
            row = _row(session, exp.select(_cast(own.default, own.type)), own.source, variables)
        else:
            row = _row(session, assignment.query, statement.source, variables)
        _check_count(statement, assignment.names, row)
        for name, (_, value) in zip(names, row, strict=True):
            _store(session, variables, name, value, statement.source)


def _check_count(statement: Statement, names: Sequence[exp.Identifier], row: Sequence[object]) -> None:
    if len(names) != len(row):
        message = f"{count_of(len(names), 'variable')} for {count_of(len(row), 'column')}"
        raise statement.source.error(names[0], message, "name one variable for each column")


def _store(session: SqlSession, variables: _Changed, name: str, value: exp.Expression, source: SourceText) -> None:
    """Let a variable have a value, in its own type."""
    own = variables[name]
    ((_, stored),) = _row(session, exp.select(_cast(value, own.type)), source, variables)
    variables[name] = SessionVariable(own.name, own.type, stored, own.default, own.source)


def _drop(statement: DropVariable, variables: _Changed) -> None:
    if statement.name.name.lower() not in variables and statement.if_there:
        return
    del variables[find_name(statement.name, "variable", variables, statement.source).lower()]


def _cast(value: exp.Expression, type_: Type) -> exp.Expression:
    return exp.cast(value.copy(), written(type_), dialect="spark")


def _row(
    session: SqlSession, query: exp.Expression, source: SourceText, variables: _Changed
) -> list[tuple[Type, exp.Expression]]:
    """Return the types and values of a query's one row, NULL without rows. Raises ProgramError for several rows."""
    rows, schema = _answer(session, query, source, variables)
    return _values(rows, [column.type for column in schema], query, source)


def _answer(
    session: SqlSession, query: exp.Expression, source: SourceText, variables: _Changed
) -> tuple[pa.Table, Schema]:
    """Return the rows of a query, and their columns."""
    step, pinned = asked_query(query, source, session.definitions, variables), session.present()
    rows = answered(step, pinned.version, session.engine_of, pinned.spark).to_arrow()
    return rows, step.definition.views[0].schema


def _values(
    rows: pa.Table, types: Sequence[Type], place: exp.Expression, source: SourceText
) -> list[tuple[Type, exp.Expression]]:
    if len(rows) > 1:
        raise source.error(place, f"the query has {len(rows):,} rows, and variables take one", "add LIMIT 1")
    values = [
        from_arrow(column, type_)[0] if len(rows) else None for column, type_ in zip(rows.columns, types, strict=True)
    ]
    return [(type_, constant_of(value, type_)) for value, type_ in zip(values, types, strict=True)]


def _executed(session: SqlSession, statement: ExecuteImmediate, depth: int) -> Iterator[_Result]:
    """Yield what the one statement of a text gives; its answer goes into variables where these are named."""
    source, place = statement.source, statement.statement
    if depth >= _DEEPEST:
        raise source.error(place, f"{_DEEPEST} EXECUTE IMMEDIATE stand in each other", "a text executes itself")
    variables = dict(session.definitions.variables)
    ((type_, constant),) = _row(session, exp.select(place.copy()), source, variables)
    text = SessionVariable("", type_, constant, constant, source).text
    if text is None or len(split(SourceText(text))) != 1:
        raise source.error(place, "EXECUTE IMMEDIATE takes the text of one statement", "execute several one by one")
    args = _arguments(session, statement, variables)
    with knowing_variables(variables):
        (inner,) = parse(text, _EXECUTED, args)
    if statement.into and not isinstance(inner, Select):
        raise source.error(
            statement.into[0], "INTO takes the row of a query, and the statement is none", "leave it out"
        )
    made = results_of_text(session, text, args, _EXECUTED, depth + 1)
    if not statement.into:
        yield from made
        return
    (rows,) = made
    assert isinstance(rows, Rows)
    table = rows.to_arrow()
    values = _values(table, [type_of_arrow(each) for each in table.schema.types], place, source)
    _check_count(statement, statement.into, values)
    for name, (_, value) in zip(statement.into, values, strict=True):
        _store(session, variables, find_name(name, "variable", variables, source).lower(), value, source)
    session.definitions.variables.update(variables)
    yield session.evolving.nothing()


def _arguments(session: SqlSession, statement: ExecuteImmediate, variables: _Changed) -> Args | None:
    """Return the values of parameters, by their names or in order."""
    if not statement.using:
        return None
    names, query = [name for name, _ in statement.using], exp.select(*(each.copy() for _, each in statement.using))
    row, _ = _answer(session, query, statement.source, variables)
    values = [column[0].as_py(maps_as_pydicts="strict") for column in row.columns]
    return dict(zip(names, values, strict=True)) if all(names) else values


_ZONES = ("UTC", "ETC/UTC", "Z", "+00:00", "+0:00", "GMT", "INTERVAL 0 HOURS", "INTERVAL '0' HOUR")
_FIXED: Mapping[str, tuple[str, str]] = {
    "spark.sql.session.timezone": ("UTC", "to_timestamp, date_format and from_utc_timestamp convert"),
    "spark.sql.ansi.enabled": ("true", "try_cast, try_divide and the like give NULL for an error"),
    "spark.sql.casesensitive": ("false", "give columns names that differ by more than case"),
    "spark.sql.storeassignmentpolicy": ("ANSI", "write CAST"),
    "spark.sql.groupbyordinal": ("true", ""),
    "spark.sql.orderbyordinal": ("true", ""),
    "spark.sql.groupbyaliases": ("true", ""),
    "spark.sql.mapkeydeduppolicy": ("EXCEPTION", "remove keys that occur twice"),
    "spark.sql.timestamptype": ("TIMESTAMP_LTZ", "name TIMESTAMP_NTZ where it is meant"),
    "spark.sql.legacy.timeparserpolicy": ("CORRECTED", ""),
    "spark.sql.parser.quotedregexcolumnnames": ("false", "name the columns, or write * EXCEPT (…)"),
}
"""Values by key in lower case, with the remedy for those who need another one."""
_SPEED = (
    *("adaptive", "shuffle", "autobroadcastjointhreshold", "files", "cbo", "optimizer", "join", "codegen"),
    "inmemorycolumnarstorage",
)
"""What decides how fast Spark is: any value is taken, and has no effect."""


def settings(statement: Setting, nothing: Evolution) -> Evolution | Rows:
    """Return what SET or RESET gives. Raises ProgramError for an unknown setting or value."""
    key = "spark.sql.session.timezone" if statement.key.lower() == "timezone" else statement.key.lower()
    if statement.is_reset and not key:
        return nothing
    if not key:
        return _rows({name: value for name, (value, _) in _FIXED.items()})
    if key.removeprefix("spark.sql.").split(".")[0] in _SPEED and key.startswith("spark.sql."):
        return nothing if statement.is_reset else _rows({statement.key: statement.value or "<undefined>"})
    if key not in _FIXED:
        hint = did_you_mean(key, _FIXED) or "options are those of deltic.Pipeline(…); SET lists settings of SQL"
        if key.isidentifier() and statement.value:
            hint = f"to set a variable, write SET VAR {statement.key} = …"
        raise statement.error(f"there is no setting {statement.key} here", hint)
    value, remedy = _FIXED[key]
    if statement.is_reset:
        return nothing
    given = statement.value
    allowed = _ZONES if value == "UTC" else (value.upper(),)
    if given is not None and given.upper() not in allowed:
        raise statement.error(f"{statement.key} is {value} here, and cannot be {given}", remedy or "leave it out")
    return _rows({statement.key: value if given is None else given})


def _rows(values: Mapping[str, str]) -> Rows:
    return Rows(TableBatch(pa.table({"key": list(values), "value": list(values.values())})))
