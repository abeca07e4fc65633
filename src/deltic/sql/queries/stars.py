"""`*`, `t.*` and `s.*`: the columns that they stand for, in SELECT and among the arguments of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.sql.queries.trees import outermost
from deltic.sql.queries.values import BlockValues
from deltic.values.types import Kind


@dataclass(frozen=True)
class Shown:
    """A column that a star stands for; one of a relation has its name."""

    name: str
    value: exp.Expression
    relation: str = ""


def is_star(node: exp.Expression) -> bool:
    """Return whether a node stands for several columns."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def starred(node: exp.Expression, values: BlockValues) -> list[Shown]:
    """Return all columns, those of a relation, or the fields of a column that is a struct.

    Those that EXCEPT names are left out, and those that REPLACE names are replaced.
    """
    star, source = node if isinstance(node, exp.Star) else node.this, values.scope.source
    if star.args.get("rename"):
        raise values.scope.refuse(node, "* RENAME", "list the columns")
    others = {e.alias.lower(): e.this for e in star.args.get("replace") or ()}
    result = _columns(node, values)
    unknown = {*others} - {shown.name.lower() for shown in result}
    if unknown:
        raise source.error(node, f"{source.written(node)}: no column is {min(unknown)}")
    kept = _without(result, star.args.get("except_") or (), values)
    return [Shown(c.name, others[c.name.lower()]) if c.name.lower() in others else c for c in kept]


def _without(found: Sequence[Shown], left_out: Sequence[exp.Expression], values: BlockValues) -> list[Shown]:
    """Return the columns without those that EXCEPT names, and structs without the fields that it names."""
    paths = [_path(reference, found, values) for reference in left_out]
    for number, path in enumerate(paths):
        if any(path[: len(other)] == other or other[: len(path)] == path for other in paths[:number]):
            raise values.scope.source.error(left_out[number], "EXCEPT names a column twice", "name it once")
    of_column = [[path[1:] for path in paths if path[0] == i] for i in range(len(found))]
    pairs = zip(found, of_column, strict=True)
    return [replace(shown, value=_kept(shown.value, fields, values)) for shown, fields in pairs if [] not in fields]


def _path(reference: exp.Expression, found: Sequence[Shown], values: BlockValues) -> list[int]:
    """Return the path of a name in EXCEPT: the number of a column, then those of nested fields."""
    source = values.scope.source
    parts = [part.name.lower() for part in reference.parts] if isinstance(reference, exp.Column) else [""]
    of_relation = [i for i, c in enumerate(found) if [c.relation.lower(), c.name.lower()] == parts[:2]]
    places = of_relation or [i for i, c in enumerate(found) if c.name.lower() == parts[0]]
    if len(places) != 1:
        message = "is ambiguous" if places else "is no column of *"
        raise source.error(reference, f"{source.written(reference)} in EXCEPT {message}")
    type_ = values.typed(found[places[0]].value).type.type
    for name in parts[2 if of_relation else 1 :]:
        fields = [f.name.lower() for f in type_.fields] if type_.kind is Kind.STRUCT else []
        if name not in fields:
            raise source.error(reference, f"{source.written(reference)} in EXCEPT: there is no field {name}")
        places.append(fields.index(name))
        type_ = type_.fields[places[-1]].type
    return places


def _kept(value: exp.Expression, left_out: Sequence[Sequence[int]], values: BlockValues) -> exp.Expression:
    """Return the value; a struct loses the fields at these paths of numbers."""
    if not left_out:
        return value
    parts = list[exp.Expression]()
    for number, field in enumerate(values.typed(value).type.type.fields):
        below = [path[1:] for path in left_out if path[0] == number]
        if [] not in below:
            name = exp.to_identifier(field.name, quoted=True)
            inner = _kept(exp.Dot(this=value.copy(), expression=name), below, values)
            parts += [exp.Literal.string(field.name), inner]
    return exp.Anonymous(this="named_struct", expressions=parts)


def _columns(node: exp.Expression, values: BlockValues) -> list[Shown]:
    rows, table = values.rows, node.args.get("table")
    result = [a for a in rows.attributes if a.relation.lower() == table.name.lower()] if table else rows.visible
    if result:
        return [Shown(a.name, values.place(node, a.typed), a.relation) for a in result]
    source, written = values.scope.source, values.scope.source.written(node)
    if table is None:
        raise source.error(node, f"{written}: there is no FROM")
    structs = [a for a in rows.visible if a.is_called(table.name, "") and a.column.type.kind is Kind.STRUCT]
    if len(structs) != 1:
        raise source.error(node, f"{written}: there is no relation {table.name} here, nor a struct")
    (struct,) = structs
    names = [exp.to_identifier(f.name, quoted=True) for f in struct.column.type.fields]
    return [Shown(n.name, exp.Dot(this=values.place(node, struct.typed), expression=n)) for n in names]


def spread(node: exp.Expression, values: BlockValues) -> exp.Expression:
    """Return an expression with the columns themselves instead of stars among arguments; `count(*)` counts rows."""
    if not any(True for _ in outermost(node, is_star)):
        return node
    around = exp.Paren(this=node.copy())
    for star in list(outermost(around.this, is_star)):
        call = star.parent
        if isinstance(call, exp.Count):
            _spread_count(call, star, values)
        elif star.arg_key == "expressions":
            star.replace([_argument(call, shown.name, shown.value) for shown in starred(star, values)])
    result: exp.Expression = around.this
    return result


def _spread_count(call: exp.Count, star: exp.Expression, values: BlockValues) -> None:
    if isinstance(star, exp.Star) and not call.expressions and not any(star.args.values()):
        return
    first, *others = (shown.value for shown in starred(star, values))
    call.set("expressions", [*others, *(part.copy() for part in call.expressions)])
    call.set("this", first)


def _argument(call: exp.Expr | None, name: str, value: exp.Expression) -> exp.Expr:
    """Return a column as an argument; a struct's fields have the columns' names."""
    is_struct = isinstance(call, exp.Anonymous) and call.name.lower() == "struct"
    return exp.alias_(value, name, quoted=True) if is_struct else value
