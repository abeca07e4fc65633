"""What a program as a whole defines: the text, or the file, of SQL or Datalog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from types import MappingProxyType

from deltic.errors import CatalogError, DataError, DelticError, Diagnostic
from deltic.pipeline.definitions.by_sql import defining
from deltic.pipeline.definitions.definitions import Definitions, Macros
from deltic.pipeline.outside.declared import Outside
from deltic.sql.statements.statements import CreateTable, Defining, Statement

_DIRECTIVE = re.compile(r"^\s*(\.(decl|input|output|type|comp|init|include)\b|#)", re.MULTILINE)


def program_of(given: str | Path, before: Definitions, macros: Macros = MappingProxyType({})) -> Definitions:
    """What a program defines, in a file or as text, in SQL or Datalog: the ending of a file's name decides (.sql).

    Datalog's texts have a directive such as `.decl`. Raises DataError for a file that is not text, ProgramError.
    Functions, and what is attached and published, stay as `before`.
    """
    is_text = isinstance(given, str) and ("\n" in given or not Path(given).suffix)
    if is_text:
        language = "datalog" if _DIRECTIVE.search(str(given)) else "sql"
        return program_definitions(str(given), f"<{language}>", language, before, macros)
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError([Diagnostic("the program is not UTF-8 text", str(path))]) from error
    except OSError as error:
        raise DelticError(f"program {path}: {error.strerror or error}") from None
    language = "sql" if path.suffix.lower() == ".sql" else "datalog"
    return program_definitions(text, str(path), language, before, macros)


def program_definitions(
    text: str, file: str, language: str, before: Definitions, macros: Macros = MappingProxyType({})
) -> Definitions:
    """What a program in "sql" or "datalog" defines; raises ProgramError, also for a statement that defines nothing."""
    made = Definitions(functions=before.functions, pragmas=before.pragmas)
    if language == "datalog":
        made = made.adding(text, file, macros)
        text = made.programs[0].source.text
    elif macros:
        raise CatalogError("SQL has no macros: they are for programs in Datalog")
    else:
        text, statements = completed(text, file, before)
        for statement in statements:
            if not isinstance(statement, Defining):
                remedy = "rows come from files; `deltic sql FILE` runs all kinds of statements"
                raise statement.error("a program has definitions alone", remedy)
            made = defining(made, statement)
    made.check()
    made = made.after(Definitions(), "program", text=text, file=file, language=language)
    stays = before.outside.without(before.catalog.relations.keys() - made.catalog.relations.keys())
    return _connected(made, stays)


def _connected(definitions: Definitions, outside: Outside) -> Definitions:
    """Definitions with what is attached and published."""
    for name, source in outside.attached.items():
        definitions = definitions.attaching(name, source)
    return reduce(Definitions.publishing, outside.publications, definitions)


def completed(text: str, file: str, before: Definitions) -> tuple[str, Sequence[Statement]]:
    """A text of SQL with the columns of tables that have those of their sources, and its statements.

    A table that is there with that source keeps its columns; otherwise the source is asked. Raises ProgramError.
    """
    statements = parse_statements(text, file)
    text = statements[0].source.text if statements else text
    lacking = [s for s in statements if isinstance(s, CreateTable) and s.lacks_columns]
    if not lacking:
        return text, statements
    from deltic.pipeline.outside.inference import with_columns

    text = with_columns(text, lacking, before.catalog.tables)
    return text, parse_statements(text, file)


def parse_statements(text: str, file: str) -> tuple[Statement, ...]:
    """The statements of a text of SQL."""
    from deltic.sql.statements.parse import parse as parse_sql

    return parse_sql(text, file)
