"""ALTER TABLE, ALTER VIEW, COMMENT ON."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.catalog import altering
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.parse_columns import ColumnDefinitions, existing_value, parse_column, parse_type
from deltic.sql.statements.reading import identifier, is_name, token_error
from deltic.sql.statements.statements import AlterTable, AlterView

_TABLE = "ADD, DROP, RENAME, ALTER COLUMN, SET or UNSET TBLPROPERTIES"
_COLUMN = "the name of a column"
_REFUSED = {
    ("PARTITION",): "Deltic keeps the rows itself",
    ("ADD", "PARTITION"): "Deltic keeps the rows itself",
    ("DROP", "PARTITION"): "Deltic keeps the rows itself",
    ("SET", "LOCATION"): "use pipeline.attach",
    ("SET", "SERDE"): "Deltic keeps the rows itself",
}


def parse_alter(cursor: Cursor) -> AlterTable | AlterView:
    """ALTER of a table or a view."""
    cursor.need("ALTER")
    if cursor.take("MATERIALIZED", "VIEW") or cursor.take("VIEW"):
        return _view(cursor)
    if not cursor.take("TABLE"):
        cursor.refuse("expected TABLE or VIEW")
    if_there = cursor.take("IF", "EXISTS")
    name = cursor.name("the name of the table")
    names = tuple(identifier(token) for token in cursor.rest if is_name(token))
    alterations = tuple(_alterations(cursor))
    cursor.end()
    return AlterTable(*cursor.span, name, alterations, if_there, names)


def parse_comment(cursor: Cursor) -> AlterTable | AlterView:
    """COMMENT ON TABLE, VIEW or COLUMN … IS: it asks for nothing but the relation."""
    cursor.need("COMMENT")
    cursor.need("ON")
    is_view = cursor.take("VIEW")
    is_column = not is_view and cursor.take("COLUMN")
    if not is_view and not is_column and not cursor.take("TABLE"):
        cursor.refuse("expected TABLE, VIEW or COLUMN")
    if is_column:
        name = identifier(cursor.rest[0]) if cursor.rest else cursor.name("a table and a column, t.a")
        cursor.position += 1
        cursor.need(".")
        cursor.name(_COLUMN)
    else:
        name = cursor.name("the name of a table or view")
    cursor.need("IS")
    if not cursor.take("NULL"):
        cursor.text("a comment")
    cursor.end()
    return AlterView(*cursor.span, name) if is_view else AlterTable(*cursor.span, name, ())


def _view(cursor: Cursor) -> AlterView:
    name = cursor.name("the name of the view")
    if _properties(cursor):
        cursor.end()
        return AlterView(*cursor.span, name)
    if cursor.take("RENAME", "TO"):
        to = cursor.name("the new name of the view")
        cursor.end()
        return AlterView(*cursor.span, name, to=to)
    if not cursor.take("AS"):
        cursor.refuse("expected AS and a query, or RENAME TO")
    return AlterView(*cursor.span, name, query=cursor.query())


def _alterations(cursor: Cursor) -> Iterator[altering.Alteration]:
    for words, remedy in _REFUSED.items():
        if cursor.sees(*words):
            raise token_error(cursor.source, cursor.rest[0], f"ALTER TABLE … {words[-1]} is not supported", remedy)
    if _properties(cursor):
        return
    if cursor.take("ADD"):
        yield from _added(cursor)
    elif cursor.take("DROP"):
        yield from _dropped(cursor)
    elif cursor.take("RENAME"):
        yield _renamed(cursor)
    elif cursor.take("ALTER") or cursor.take("CHANGE"):
        yield from _changed(cursor)
    else:
        cursor.refuse(f"expected {_TABLE}")


def _properties(cursor: Cursor) -> bool:
    """Skip SET or UNSET TBLPROPERTIES, which mean nothing here; whether there is such a clause."""
    unset = cursor.take("UNSET", "TBLPROPERTIES")
    if not unset and not cursor.take("SET", "TBLPROPERTIES"):
        return False
    if unset:
        cursor.take("IF", "EXISTS")
    if not cursor.sees("("):
        cursor.refuse("expected properties in parentheses")
    cursor.group()
    return True


def _added(cursor: Cursor) -> Iterator[altering.Alteration]:
    if cursor.take("CONSTRAINT"):
        cursor.name("the name of the constraint")
        if not cursor.sees("PRIMARY", "KEY"):
            cursor.refuse("expected PRIMARY KEY", "other constraints are not supported")
    if cursor.take("PRIMARY", "KEY"):
        names = [Cursor(part, cursor.source).name(_COLUMN) for part in cursor.parts()]
        if not names:
            cursor.refuse("expected columns in parentheses")
        yield altering.SetKey(tuple(name.name for name in names))
        return
    if not cursor.take("COLUMNS"):
        cursor.take("COLUMN")
    unless_there = cursor.take("IF", "NOT", "EXISTS")
    parts = [Cursor(part, cursor.source) for part in cursor.parts()] if cursor.sees("(") else []
    for inner in parts or [cursor]:
        yield _added_column(inner, unless_there)
        if parts:
            inner.end()


def _added_column(cursor: Cursor, unless_there: bool) -> altering.AddColumn:
    made = ColumnDefinitions()
    begun = cursor.position
    is_key = parse_column(cursor, made, ("FIRST", "AFTER"))
    ((_, column),), (storing,) = made.columns, made.storing
    if is_key or made.lateness is not None:
        what = "PRIMARY KEY" if is_key else "LATENESS"
        raise token_error(cursor.source, cursor.tokens[begun], f"ADD COLUMN with {what} is not supported", _ALONE[what])
    return altering.AddColumn(column, storing, existing_value(column, storing), _position(cursor), unless_there)


_ALONE = {"PRIMARY KEY": "ADD PRIMARY KEY (columns) afterwards", "LATENESS": "say it where the table is created"}


def _position(cursor: Cursor) -> str | None:
    """After which column another stands: "" for FIRST, None where it is not said."""
    if cursor.take("FIRST"):
        return ""
    return cursor.name(_COLUMN).name if cursor.take("AFTER") else None


def _dropped(cursor: Cursor) -> Iterator[altering.Alteration]:
    if cursor.take("PRIMARY", "KEY"):
        cursor.take("IF", "EXISTS")
        yield altering.SetKey(())
        return
    if cursor.sees("CONSTRAINT"):
        cursor.refuse("constraints have no names here", "write DROP PRIMARY KEY")
    if not cursor.take("COLUMNS"):
        cursor.take("COLUMN")
    if_there = cursor.take("IF", "EXISTS")
    if cursor.sees("("):
        for part in cursor.parts():
            inner = Cursor(part, cursor.source)
            yield altering.DropColumn(inner.name(_COLUMN).name, if_there)
            inner.end()
        return
    yield altering.DropColumn(cursor.name(_COLUMN).name, if_there)
    while cursor.take(","):
        yield altering.DropColumn(cursor.name(_COLUMN).name, if_there)


def _renamed(cursor: Cursor) -> altering.Alteration:
    if cursor.take("TO"):
        return altering.RenameTable(cursor.name("the new name of the table").name)
    cursor.take("COLUMN")
    name = cursor.name(_COLUMN)
    cursor.need("TO")
    return altering.RenameColumn(name.name, cursor.name("the new name of the column").name)


def _changed(cursor: Cursor) -> Iterator[altering.Alteration]:
    cursor.take("COLUMN")
    name = cursor.name(_COLUMN)
    if cursor.take("SET", "NOT", "NULL"):
        yield altering.SetNullable(name.name, False)
    elif cursor.take("DROP", "NOT", "NULL"):
        yield altering.SetNullable(name.name, True)
    elif cursor.take("DROP", "DEFAULT"):
        yield altering.SetDefault(name.name, "")
    elif cursor.take("SET", "DEFAULT"):
        tokens = cursor.up_to("the value of DEFAULT")
        yield altering.SetDefault(name.name, cursor.source.text[tokens[0].start : tokens[-1].end + 1])
    elif cursor.take("TYPE") or cursor.take("SET", "DATA", "TYPE"):
        yield altering.ChangeType(name.name, *parse_type(cursor, name))
    elif cursor.take("COMMENT"):
        cursor.text("a comment")
    elif (after := _position(cursor)) is not None:
        yield altering.MoveColumn(name.name, after)
    else:
        cursor.refuse("expected TYPE, SET or DROP NOT NULL, SET or DROP DEFAULT, COMMENT, FIRST or AFTER")
