"""The statements of an SQL text, completed with columns of external sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltic.pipeline.definitions.definitions import Definitions
from deltic.sql.statements.statements import CreateTable, Statement

if TYPE_CHECKING:
    from deltic.sql.statements.parameters import Args


def completed(
    text: str, file: str, before: Definitions, args: Args | None = None, outside: bool = True
) -> tuple[str, Sequence[Statement]]:
    """Parse an SQL text, and add the columns of tables that are defined by their source alone.

    A present table with that source keeps its columns; otherwise the source is read. `args` are the values of
    parameters. Raises ProgramError; without `outside` also for a table with an external source.
    """
    statements = parse_statements(text, file, args)
    for statement in statements if not outside else ():
        if isinstance(statement, CreateTable) and statement.table.source is not None:
            message = "a table with rows outside may not be made here: that would read files and addresses"
            raise statement.error(message, "name it in the program that the server begins with")
    text = statements[0].source.text if statements else text
    lacking = [s for s in statements if isinstance(s, CreateTable) and s.lacks_columns]
    if not lacking:
        return text, statements
    from deltic.pipeline.connectors.inference import with_columns

    text = with_columns(text, lacking, before.catalog.tables)
    return text, parse_statements(text, file, args)


def parse_statements(text: str, file: str, args: Args | None = None) -> tuple[Statement, ...]:
    """Parse an SQL text into statements."""
    from deltic.sql.statements.parse import parse as parse_sql

    return parse_sql(text, file, args)
