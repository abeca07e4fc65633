"""`*`, `t.*` and `s.*`: the columns that they stand for, in SELECT and among the arguments of functions."""

from __future__ import annotations

from sqlglot import exp

from deltic.sql.queries.trees import outermost
from deltic.sql.queries.values import Values
from deltic.values.types import Kind


def is_star(node: exp.Expression) -> bool:
    """Whether a node stands for several columns."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def starred(node: exp.Expression, values: Values) -> list[tuple[str, exp.Expression]]:
    """All columns, those of a relation, or the fields of a column that is a struct, with their names.

    Those that EXCEPT names are left out, and others stand in the place of those that REPLACE names.
    """
    star, source = node if isinstance(node, exp.Star) else node.this, values.scope.source
    if star.args.get("rename"):
        raise values.scope.refuse(node, "* RENAME", "list the columns")
    left_out = {e.name.lower() for e in star.args.get("except_") or ()}
    others = {e.alias.lower(): e.this for e in star.args.get("replace") or ()}
    found = _columns(node, values)
    unknown = {*left_out, *others} - {name.lower() for name, _ in found}
    if unknown:
        raise source.error(node, f"{source.written(node)}: no column is {min(unknown)}")
    return [(name, others.get(name.lower(), value)) for name, value in found if name.lower() not in left_out]


def _columns(node: exp.Expression, values: Values) -> list[tuple[str, exp.Expression]]:
    rows, table = values.rows, node.args.get("table")
    found = [a for a in rows.attributes if a.relation.lower() == table.name.lower()] if table else rows.visible
    if found:
        return [(a.name, values.place(node, a.typed)) for a in found]
    source, written = values.scope.source, values.scope.source.written(node)
    if table is None:
        raise source.error(node, f"{written}: there is no FROM")
    structs = [a for a in rows.visible if a.is_called(table.name, "") and a.column.type.kind is Kind.STRUCT]
    if len(structs) != 1:
        raise source.error(node, f"{written}: there is no relation {table.name} here, nor a struct")
    (struct,) = structs
    names = [exp.to_identifier(f.name, quoted=True) for f in struct.column.type.fields]
    return [(n.name, exp.Dot(this=values.place(node, struct.typed), expression=n)) for n in names]


def spread(node: exp.Expression, values: Values) -> exp.Expression:
    """An expression with the columns themselves in the place of stars among arguments; `count(*)` counts rows."""
    if not any(True for _ in outermost(node, is_star)):
        return node
    around = exp.Paren(this=node.copy())
    for star in list(outermost(around.this, is_star)):
        call = star.parent
        if isinstance(call, exp.Count):
            _spread_count(call, star, values)
        elif star.arg_key == "expressions":
            star.replace([_argument(call, name, value) for name, value in starred(star, values)])
    found: exp.Expression = around.this
    return found


def _spread_count(call: exp.Count, star: exp.Expression, values: Values) -> None:
    if isinstance(star, exp.Star) and not call.expressions and not any(star.args.values()):
        return
    first, *others = (value for _, value in starred(star, values))
    call.set("expressions", [*others, *(part.copy() for part in call.expressions)])
    call.set("this", first)


def _argument(call: exp.Expr | None, name: str, value: exp.Expression) -> exp.Expr:
    """A column as an argument; a struct's fields have the columns' names."""
    is_struct = isinstance(call, exp.Anonymous) and call.name.lower() == "struct"
    return exp.alias_(value, name, quoted=True) if is_struct else value
