"""The statements of a text of SQL, with what they take from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.pipeline.definitions.definitions import Definitions
from deltic.sql.statements.statements import CreateTable, Statement


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
