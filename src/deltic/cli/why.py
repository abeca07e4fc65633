"""`deltic why`: why a view has a row, or has none."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import typer

from deltic.cli.options import WhyOptions
from deltic.errors import DelticError
from deltic.pipeline.names import find
from deltic.pipeline.reading.reasons import RowPattern, TableRows
from deltic.values import to_python
from deltic.values.text import of_literal
from deltic.values.types import Schema
from deltic.why import Explanation
from deltic.why.explanation import shown


def why_command(options: WhyOptions) -> None:
    """Print why a row is there, why it is not, or what is missing for it.

    The program may be a directory of state. Raises BadParameter for options that do not go together.
    """
    o = options
    if (o.as_dot or o.as_svg) and (o.as_json or o.is_not or o.missing):
        raise typer.BadParameter("--dot and --svg explain a present row, without --json, --not and --missing")
    form = "json" if o.as_json else "dot" if o.as_dot else "svg" if o.as_svg else "text"
    source, row = _source_and_row(o)
    with o.by.opened(source, o.facts) as pipeline:
        name, values = asked(row, {**pipeline.tables, **pipeline.views})
        if o.missing is not None:
            _print_sets(pipeline.missing(name, values, o.missing), form)
            return
        result = pipeline.why_not(name, values) if o.is_not else pipeline.why(name, values, depth=o.depth)
        if form == "json":
            _print_json(result.to_dict())
        elif isinstance(result, Explanation):
            print({"dot": result.to_dot, "svg": result.to_svg, "text": result.__str__}[form]())
        else:
            print(result)


def _source_and_row(o: WhyOptions) -> tuple[Path, str]:
    """Return the program or the directory of state, and the row; with --state the row is the only argument."""
    if (o.row is None) == (o.state is None):
        raise typer.BadParameter("give a program and a row, or --state and a row: a state has its program")
    source = Path(o.program) if o.state is None else o.state
    if not source.exists():
        raise typer.BadParameter(f"{str(source)!r} does not exist", param_hint="PROGRAM")
    return source, o.program if o.row is None else o.row


def _print_sets(sets: list[TableRows], form: str) -> None:
    """Print sets of rows, one a line."""
    if form == "json":
        _print_json([[{"table": table, "row": list(row)} for table, row in rows] for rows in sets])
        return
    for rows in sets:
        print(", ".join(f"{table}({', '.join(map(shown, row))})" for table, row in rows))
    if not sets:
        print("no such set was found")


def _print_json(value: Any) -> None:
    print(json.dumps(value, default=str, ensure_ascii=False, indent=2))


def asked(row: str, schemas: dict[str, Schema]) -> tuple[str, RowPattern]:
    """Parse a row as users type it, `reaches("ada", _)` or `reaches(x="ada")`, into its relation and values.

    Raises DelticError for anything else.
    """
    try:
        call = ast.parse(row.strip(), mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError(row)
        name, given = ast.unparse(call.func), [_value(argument) for argument in call.args]
        named = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError):
        message = """a row is written as reaches("ada", "cyd"), with _ for any value, or as reaches(x="ada")"""
        raise DelticError(f"{row!r} is no row: {message}") from None
    schema = find(name, "view or table", schemas)
    if given and len(given) != len(schema):
        raise DelticError(f"{name} has the columns {', '.join(schema.names)}: give as many values, with _ for any")
    values = {n: v for n, v in zip(schema.names, given, strict=False) if v is not ...} | named
    return name, {column: _typed(value, schema, column) for column, value in values.items()}


def _value(node: ast.expr) -> Any:
    """Return the value of a literal; `...` for `_`."""
    return ... if isinstance(node, ast.Name) and node.id == "_" else ast.literal_eval(node)


def _typed(value: Any, schema: Schema, column: str) -> Any:
    """Convert texts to the times that a column has."""
    type_ = schema.types.get(column)
    try:
        return value if type_ is None or not isinstance(value, str) else to_python(of_literal(value, type_), type_)
    except (ValueError, ArithmeticError):
        raise DelticError(f"column {column}: {value!r} is no {type_}") from None
