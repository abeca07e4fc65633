"""INSERT, DELETE, UPDATE, MERGE, TRUNCATE TABLE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from deltic.sql.names import NO_DATABASE
from deltic.sql.statements import statements as st
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.reading import token_error, tree
from deltic.sql.text import SourceText


def parse_change(cursor: Cursor) -> st.Change:
    """Return a statement that changes a table."""
    if cursor.take("TRUNCATE"):
        cursor.need("TABLE")
        name = cursor.name("the name of a table")
        cursor.end()
        return st.Delete(*cursor.span, name, None, None)
    word = cursor.tokens[0].text.upper()
    node = tree(cursor.tokens, cursor.source)
    if isinstance(node, exp.Insert):
        return _insert(cursor, node)
    if isinstance(node, exp.Delete):
        return _delete(cursor, node)
    if isinstance(node, exp.Update):
        return _update(cursor, node)
    if isinstance(node, exp.Merge):
        return _merge(cursor, node)
    raise token_error(cursor.source, cursor.tokens[0], f"this {word} is not supported")


def _insert(cursor: Cursor, node: exp.Insert) -> st.Insert:
    target, columns = node.this, tuple[exp.Identifier, ...]()
    if isinstance(target, exp.Schema):
        target, columns = target.this, tuple(target.expressions)
    _refuse(cursor, target, partition="PARTITION")
    _refuse(cursor, node, where="REPLACE WHERE", returning="RETURNING")
    if node.args.get("alternative"):
        hint = "write INSERT INTO … ON CONFLICT (key) DO UPDATE SET column = excluded.column"
        raise token_error(
            cursor.source, cursor.tokens[1], f"INSERT OR {node.args['alternative']} is not supported", hint
        )
    body = node.expression
    if isinstance(node.args.get("source"), exp.Table):
        body = exp.select("*").from_(node.args["source"])
    if isinstance(body, exp.Values):
        body = exp.select("*").from_(body)
    if not isinstance(body, exp.Select | exp.SetOperation | exp.Subquery):
        raise token_error(cursor.source, cursor.tokens[-1], "expected VALUES or a query")
    if node.args.get("with_"):
        body = body.copy()
        body.set("with_", node.args["with_"])
    conflict = _conflict(cursor, node.args["conflict"]) if node.args.get("conflict") else None
    if conflict and node.args.get("overwrite"):
        raise cursor.source.error(conflict.place, "INSERT OVERWRITE leaves no rows with which others could conflict")
    by_name, overwrites = (bool(node.args.get(name)) for name in ("by_name", "overwrite"))
    if by_name and columns:
        raise cursor.source.error(columns[0], "BY NAME takes the names of the query's columns", "leave the list out")
    return st.Insert(*cursor.span, _relation(cursor, target)[0], columns, body, overwrites, conflict, by_name)


def _conflict(cursor: Cursor, node: exp.Expression) -> st.OnConflict:
    _refuse(cursor, node, duplicate="ON DUPLICATE KEY", constraint="ON CONSTRAINT", index_predicate="an index")
    key = tuple(
        _assigned(k.this if isinstance(k, exp.Ordered) else k, cursor.source) for k in node.args["conflict_keys"] or ()
    )
    if node.args.get("action") is None:
        remedy = "write DO NOTHING, or DO UPDATE SET column = excluded.column"
        raise token_error(cursor.source, cursor.tokens[-1], "expected what ON CONFLICT does", remedy)
    if node.args["action"].name.upper() == "DO NOTHING":
        return st.OnConflict(node, key, None, None)
    where = node.args.get("where")
    assigned = tuple(_assignments(node.expressions, cursor.source))
    return st.OnConflict(node, key, assigned, where.this if where else None)


def _delete(cursor: Cursor, node: exp.Delete) -> st.Delete:
    if not node.this:
        raise token_error(cursor.source, cursor.tokens[0], "expected DELETE FROM and the name of a table")
    _refuse(cursor, node, using="USING", returning="RETURNING", limit="LIMIT")
    where = node.args.get("where")
    return st.Delete(*cursor.span, *_relation(cursor, node.this), where.this if where else None)


def _update(cursor: Cursor, node: exp.Update) -> st.Update:
    _refuse(cursor, node, from_="FROM", returning="RETURNING", limit="LIMIT")
    where = node.args.get("where")
    assigned = tuple(_assignments(node.expressions, cursor.source))
    return st.Update(*cursor.span, *_relation(cursor, node.this), assigned, where.this if where else None)


def _merge(cursor: Cursor, node: exp.Merge) -> st.Merge:
    _refuse(cursor, node, using_cond="USING (…)", returning="RETURNING", with_="WITH")
    whens = tuple(_when(cursor, when) for when in node.args["whens"].expressions)
    return st.Merge(*cursor.span, *_relation(cursor, node.this), node.args["using"], node.args["on"], whens)


def _when(cursor: Cursor, node: exp.When) -> st.MergeClause:
    kind: st.Kind = "matched" if node.args["matched"] else "not matched"
    if node.args.get("source"):
        kind = "not matched by source"
    then, condition = node.args["then"], node.args.get("condition")
    if isinstance(then, exp.Var) and then.name.upper() == "DELETE":
        return st.MergeClause(kind, condition, "delete", (), then)
    if isinstance(then, exp.Update):
        is_star = any(isinstance(e, exp.Star) for e in then.expressions)
        assigned = None if is_star else tuple(_assignments(then.expressions, cursor.source))
        return st.MergeClause(kind, condition, "update", assigned, then)
    if isinstance(then, exp.Insert):
        return st.MergeClause(kind, condition, "insert", _inserted(cursor, then), then)
    raise cursor.source.error(then, "expected UPDATE SET, DELETE or INSERT after THEN")


def _inserted(cursor: Cursor, node: exp.Insert) -> tuple[st.Assignment, ...] | None:
    if isinstance(node.this, exp.Star):
        return None
    if not isinstance(node.this, exp.Tuple) or node.expression is None:
        raise cursor.source.error(
            node, "INSERT names its columns here", "write INSERT (a, b) VALUES (x, y) or INSERT *"
        )
    values = node.expression.expressions if isinstance(node.expression, exp.Tuple) else [node.expression]
    columns = [_assigned(column, cursor.source) for column in node.this.expressions]
    if len(values) != len(columns):
        raise cursor.source.error(node, f"{len(columns)} columns are named, and there are {len(values)} values")
    return tuple(st.Assignment(c, v) for c, v in zip(columns, values, strict=True))


def _assignments(nodes: Sequence[exp.Expression], source: SourceText) -> Iterator[st.Assignment]:
    for node in nodes:
        if not isinstance(node, exp.EQ):
            raise source.error(node, "expected an assignment, as in SET a = 1")
        parts = _parts(node.this, source)
        yield st.Assignment(parts[0], node.expression, parts)


def _parts(node: exp.Expression, source: SourceText) -> tuple[exp.Identifier, ...]:
    """Return the names between the points of what is assigned."""
    parts = node.parts if isinstance(node, exp.Column | exp.Dot) else []
    result = tuple(part for part in parts if isinstance(part, exp.Identifier))
    if not result or len(result) < len(parts):
        raise source.error(node, "expected the name of a column")
    return result


def _assigned(node: exp.Expression, source: SourceText) -> exp.Identifier:
    if not isinstance(node, exp.Column):
        raise source.error(node, "expected the name of a column")
    result = node.this
    assert isinstance(result, exp.Identifier)
    return result


def _relation(cursor: Cursor, node: exp.Expression) -> tuple[exp.Identifier, exp.Identifier | None]:
    """Return the name and the alias of the table that is changed."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise cursor.source.error(node, "expected the name of a table")
    if node.db:
        raise cursor.source.error(node, f"{cursor.source.written(node)}: names have no database here", NO_DATABASE)
    alias = node.args.get("alias")
    return node.this, alias.this if alias else None


def _refuse(cursor: Cursor, node: exp.Expression, **clauses: str) -> None:
    """Raise ProgramError for a clause that is not supported."""
    for argument, clause in clauses.items():
        result = node.args.get(argument)
        if result:
            place = result if isinstance(result, exp.Expression) else node
            raise cursor.source.error(place, f"{cursor.tokens[0].text.upper()} … {clause} is not supported")
