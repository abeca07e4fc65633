"""The query of a DataFrame of Spark Connect as a text of SQL, read from the plan that the client sends to the server.

The plan has no resolved columns. So each relation is a SELECT with numbered columns from those below it, and a name is
resolved among them as Spark does: with the DataFrame's number, with its alias, or alone. The server provides the names
of columns that only it knows, and has checked the whole plan before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from deltic.pipeline.spark.connect_expressions import ExpressionWriter
from deltic.pipeline.spark.connect_literals import written_literal, written_text
from deltic.pipeline.spark.connect_missing import NUMBERS, drop_na, fill_na
from deltic.pipeline.spark.connect_rows import PlanColumn, PlanRows, parts_of, together
from deltic.pipeline.spark.plan_errors import PlanErrors
from deltic.pipeline.spark.spark import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

_JOINS = {
    "JOIN_TYPE_INNER": "JOIN",
    "JOIN_TYPE_CROSS": "CROSS JOIN",
    "JOIN_TYPE_LEFT_OUTER": "LEFT JOIN",
    "JOIN_TYPE_RIGHT_OUTER": "RIGHT JOIN",
    "JOIN_TYPE_FULL_OUTER": "FULL JOIN",
    "JOIN_TYPE_LEFT_SEMI": "LEFT SEMI JOIN",
    "JOIN_TYPE_LEFT_ANTI": "LEFT ANTI JOIN",
}
_SETS = {"SET_OP_TYPE_UNION": "UNION", "SET_OP_TYPE_INTERSECT": "INTERSECT", "SET_OP_TYPE_EXCEPT": "EXCEPT"}
_GROUPS = {"GROUP_TYPE_ROLLUP": "ROLLUP", "GROUP_TYPE_CUBE": "CUBE"}
_LEAVES = ("range", "local_relation", "cached_local_relation", "chunked_cached_local_relation")
# What changes no rows, and is passed over.
_PASSED = ("hint", "repartition", "repartition_by_expression", "with_watermark")
_CALLS = {
    "map_partitions": "mapInPandas",
    "group_map": "applyInPandas",
    "co_group_map": "applyInPandas",
    "sample": "sample, which takes other rows where they lie otherwise,",
}

Schema = Callable[[Any], "Sequence[StructField]"]
"""The columns of a relation, by the server."""


def connect_query_of(frame: Any, errors: PlanErrors) -> str:
    """Return the query of a DataFrame of Spark Connect. Raises CatalogError if it is not supported, or reads other
    rows.
    """
    from pyspark.sql.connect.proto import Plan

    client = frame.sparkSession.client
    relation = frame._plan.to_proto(client).root
    return PlanReader(errors, lambda each: client.schema(Plan(root=each)).fields).query(relation)


class PlanReader:
    """Reads the plan of one view."""

    def __init__(self, errors: PlanErrors, schema: Schema) -> None:
        self._errors, self._schema, self._free = errors, schema, count()

    def query(self, relation: Any) -> str:
        """Return the SELECT of a whole plan. Raises CatalogError if it is not supported, or reads other rows."""
        rows = self._rows(relation)
        columns = ", ".join(f"{c.number} AS {quoted(c.name)}" for c in rows.columns)
        return f"SELECT {columns} FROM ({rows.query})"

    def _rows(self, relation: Any) -> PlanRows:
        kind = relation.WhichOneof("rel_type")
        read = _READERS.get(kind)
        if kind in _LEAVES:
            raise self._errors.from_elsewhere()
        if read is None:
            raise self._errors.unsupported(_CALLS.get(kind, kind))
        return read(self, getattr(relation, kind), relation).of_plan(relation.common.plan_id)

    def _expressions(self, rows: PlanRows) -> ExpressionWriter:
        return ExpressionWriter(rows, self._errors)

    def _column(self, name: str) -> PlanColumn:
        """Return a column with a number of its own."""
        return PlanColumn(name, f"c{next(self._free)}")

    def _relation(self, name: str, relation: Any) -> PlanRows | None:
        """Return the rows of a relation of the pipeline, where it has that name; else None."""
        found = self._errors.relation(name)
        if found is None:
            return None
        name, schema = found
        names = [field.name for field in self._schema(relation)]
        self._errors.check_columns(name, schema, names)
        columns = tuple(replace(self._column(each), qualifier=name) for each in names)
        listed = ", ".join(f"{quoted(c.name)} AS {c.number}" for c in columns)
        return PlanRows(f"SELECT {listed or 1} FROM {quoted(name)}", columns)

    def _read(self, read: Any, relation: Any) -> PlanRows:
        names = parts_of(read.named_table.unparsed_identifier)
        rows = self._relation(names[-1], relation) if names else None
        if rows is None:
            raise self._errors.from_elsewhere()
        return rows

    def _alias(self, alias: Any, relation: Any) -> PlanRows:
        inside = alias.input
        while inside.WhichOneof("rel_type") == "subquery_alias":
            inside = inside.subquery_alias.input
        if (
            inside.WhichOneof("rel_type") in (*_LEAVES, "read")
            and (rows := self._relation(alias.alias, relation)) is not None
        ):
            return replace(rows, plans={inside.common.plan_id: rows.columns})
        rows = self._rows(alias.input)
        return replace(rows, columns=tuple(replace(c, qualifier=alias.alias) for c in rows.columns))

    def _passed(self, passed: Any, _: Any) -> PlanRows:
        return self._rows(passed.input)

    def _project(self, project: Any, relation: Any) -> PlanRows:
        return self._selected(self._rows(project.input), project.expressions, relation)

    def _selected(self, rows: PlanRows, expressions: Sequence[Any], relation: Any, groups: str = "") -> PlanRows:
        """Return the columns of a list; one that is passed on keeps its number. An order of the rows keeps its
        columns.
        """
        write = self._expressions(rows)
        names = [field.name for field in self._schema(relation)]
        parts = [part for expression in expressions for part in _parts(write, expression)]
        if sum(width for _, _, width in parts) != len(names):
            raise self._errors.unsupported("a call that makes several columns without their names")
        columns: list[PlanColumn] = []
        texts = ["*"] if rows.order else []
        for column, text, width in parts:
            if column is not None and column.number not in {c.number for c in columns}:
                columns.append(replace(column, name=names[len(columns)]))
                texts += [] if rows.order else [column.number]
                continue
            made = [self._column(name) for name in names[len(columns) : len(columns) + width]]
            called = ", ".join(c.number for c in made)
            texts.append(f"{text} AS {called if width == 1 else f'({called})'}")
            columns += made
        query = f"SELECT {', '.join(texts) or 1} FROM ({rows.query}){groups}"
        return PlanRows(query, tuple(columns), plans=rows.plans, order=rows.order)

    def _filter(self, filter: Any, _: Any) -> PlanRows:  # noqa: A002 - the relation is called so
        rows = self._rows(filter.input)
        return rows.within(f"SELECT * FROM ({rows.query}) WHERE {self._expressions(rows).written(filter.condition)}")

    def _sort(self, sort: Any, _: Any) -> PlanRows:
        rows = self._rows(sort.input)
        return replace(rows, order=self._expressions(rows).ordered(sort.order) if sort.is_global else "")

    def _limit(self, limit: Any, _: Any) -> PlanRows:
        rows = self._rows(limit.input)
        by = f" ORDER BY {rows.order}" if rows.order else ""
        return rows.within(f"SELECT * FROM ({rows.query}){by} LIMIT {limit.limit}")

    def _deduplicate(self, deduplicate: Any, _: Any) -> PlanRows:
        rows = self._rows(deduplicate.input)
        named = {name.lower() for name in deduplicate.column_names}
        if not deduplicate.all_columns_as_keys and named != {c.name.lower() for c in rows.columns}:
            raise self._errors.unsupported("dropDuplicates of some columns")
        return PlanRows(f"SELECT DISTINCT {rows.numbers} FROM ({rows.query})", rows.columns, plans=rows.plans)

    def _to_df(self, to_df: Any, _: Any) -> PlanRows:
        return self._rows(to_df.input).called(to_df.column_names)

    def _renamed(self, renamed: Any, _: Any) -> PlanRows:
        rows = self._rows(renamed.input)
        for rename in renamed.renames:
            rows = rows.called([rename.new_col_name if c.is_called(rename.col_name) else c.name for c in rows.columns])
        return rows

    def _drop(self, drop: Any, _: Any) -> PlanRows:
        rows = self._rows(drop.input)
        write = self._expressions(rows)
        gone = {column.number for each in drop.columns if (column := write.column(each)) is not None}
        names = {name.lower() for name in drop.column_names}
        kept = tuple(c for c in rows.columns if c.number not in gone and c.name.lower() not in names)
        return replace(rows, columns=kept, hidden=())

    def _with_columns(self, with_columns: Any, _: Any) -> PlanRows:
        rows = self._rows(with_columns.input)
        write, columns = self._expressions(rows), list(rows.columns)
        texts = []
        for alias in with_columns.aliases:
            made = self._column(alias.name[0])
            texts.append(f"{write.written(alias.expr)} AS {made.number}")
            replaced = [made if c.is_called(made.name) else c for c in columns]
            columns = replaced if made in replaced else [*columns, made]
        query = f"SELECT {', '.join(['*', *texts])} FROM ({rows.query})"
        return PlanRows(query, tuple(columns), plans=rows.plans, order=rows.order)

    def _aggregate(self, aggregate: Any, relation: Any) -> PlanRows:
        rows = self._rows(aggregate.input)
        kind = aggregate.GroupType.Name(aggregate.group_type)
        if kind == "GROUP_TYPE_PIVOT":
            return self._pivot(rows, aggregate, relation)
        write, grouping = self._expressions(rows), aggregate.grouping_expressions
        if any(each.WhichOneof("expr_type") == "literal" for each in grouping):
            raise self._errors.unsupported("a group by a literal")
        groups = write.each(grouping)
        if kind == "GROUP_TYPE_GROUPING_SETS":
            sets = ", ".join(f"({write.each(each.grouping_set)})" for each in aggregate.grouping_sets)
            groups = f"GROUPING SETS ({sets})"
        elif kind in _GROUPS:
            groups = f"{_GROUPS[kind]} ({groups})"
        by = f" GROUP BY {groups}" if groups else ""
        return self._selected(replace(rows, order=""), [*grouping, *aggregate.aggregate_expressions], relation, by)

    def _pivot(self, rows: PlanRows, aggregate: Any, relation: Any) -> PlanRows:
        """First the aggregates by groups and values, and then each value's of a group; NULL where there are no rows."""
        write, fields = self._expressions(rows), [*self._schema(relation)]
        groups, values = [self._column("") for _ in aggregate.grouping_expressions], aggregate.pivot.values
        made = [self._column("") for _ in aggregate.aggregate_expressions]
        if any(not field.dataType.simpleString().startswith(NUMBERS) for field in fields[len(groups) :]):
            raise self._errors.unsupported("pivot with an aggregate that is no number")
        if not values:
            raise self._errors.unsupported("pivot without its values")
        column = self._column("")
        inner = [*aggregate.grouping_expressions, aggregate.pivot.col, *aggregate.aggregate_expressions]
        listed = ", ".join(
            f"{write.written(e)} AS {c.number}" for e, c in zip(inner, [*groups, column, *made], strict=True)
        )
        by = write.each(inner[: len(groups) + 1])
        outer = [replace(c, name=field.name) for c, field in zip(groups, fields, strict=False)]
        texts = [c.number for c in groups]
        each = ((value, one) for value in values for one in made)
        for (value, one), field in zip(each, fields[len(groups) :], strict=True):
            outer.append(self._column(field.name))
            chosen = f"{column.number} <=> {written_literal(value, self._errors)}"
            texts.append(f"max(CASE WHEN {chosen} THEN {one.number} END) AS {outer[-1].number}")
        query = f"SELECT {', '.join(texts)} FROM (SELECT {listed} FROM ({rows.query}) GROUP BY {by})"
        numbers = ", ".join(c.number for c in groups)
        return PlanRows(f"{query}{f' GROUP BY {numbers}' * bool(groups)}", tuple(outer), plans=rows.plans)

    def _join(self, join: Any, _: Any) -> PlanRows:
        left, right = self._rows(join.left), self._rows(join.right)
        kind, names = join.JoinType.Name(join.join_type), join.using_columns
        sides = PlanRows("", left.columns + right.columns, left.hidden + right.hidden, together(left, right))
        keys = [[side.column(quoted(name), None, self._errors)[0] for side in (left, right)] for name in names]
        condition = " AND ".join(f"{one.number} = {other.number}" for one, other in keys)
        if join.HasField("join_condition"):
            condition = self._expressions(sides).written(join.join_condition)
        word = _JOINS[kind] if condition or kind != "JOIN_TYPE_INNER" else "CROSS JOIN"
        if word == "CROSS JOIN" and condition:
            word = "JOIN"
        on = "" if word == "CROSS JOIN" else f" ON {condition or 'TRUE'}"
        joined = f"FROM ({left.query}) AS l {word} ({right.query}) AS r{on}"
        if kind in ("JOIN_TYPE_LEFT_SEMI", "JOIN_TYPE_LEFT_ANTI"):
            columns = _keys_first([one for one, _ in keys], left.columns)
            return replace(left, query=f"SELECT l.* {joined}", columns=columns, order="")
        return self._merged(sides, kind, keys, joined)

    def _merged(self, sides: PlanRows, kind: str, keys: Sequence[Sequence[PlanColumn]], joined: str) -> PlanRows:
        """A join by names has each key once, in front; what it has not is hidden."""
        lefts, rights = ([pair[side] for pair in keys] for side in (0, 1))
        made: list[PlanColumn] = []
        if kind == "JOIN_TYPE_FULL_OUTER":
            made, hidden = [self._column(one.name) for one in lefts], lefts + rights
        elif kind == "JOIN_TYPE_RIGHT_OUTER":
            hidden = lefts
        else:
            hidden = rights
        shown = tuple(c for c in sides.columns if c not in hidden)
        columns = _keys_first(made or [c for pair in keys for c in pair if c not in hidden], shown)
        merged = "".join(
            f", coalesce({one.number}, {other.number}) AS {c.number}"
            for (one, other), c in zip(keys, made, strict=False)
        )
        return PlanRows(f"SELECT *{merged} {joined}", columns, (*sides.hidden, *hidden), sides.plans)

    def _set_op(self, set_op: Any, _: Any) -> PlanRows:
        left, right = self._rows(set_op.left_input), self._rows(set_op.right_input)
        word = _SETS[set_op.SetOpType.Name(set_op.set_op_type)] + " ALL" * set_op.is_all
        pairs = [*_by_name(left, right)] if set_op.by_name else [*zip(left.columns, right.columns, strict=True)]
        columns = tuple(either for pair in pairs if (either := pair[0] or pair[1]) is not None)
        parts = []
        for rows, side in zip((left, right), zip(*pairs, strict=True), strict=True):
            values = (one.number if one is not None else "NULL" for one in side)
            listed = ", ".join(f"{value} AS {c.number}" for value, c in zip(values, columns, strict=True))
            parts.append(f"SELECT {listed} FROM ({rows.query})")
        return PlanRows(f" {word} ".join(parts), columns, plans=together(left, right))

    def _unpivot(self, unpivot: Any, _: Any) -> PlanRows:
        rows = self._rows(unpivot.input)
        ids, values = self._listed(rows, unpivot.ids), self._listed(rows, unpivot.values.values)
        if not unpivot.HasField("values"):
            values = [c for c in rows.columns if c not in ids]
        made = [self._column(name) for name in (unpivot.variable_column_name, unpivot.value_column_name)]
        kept, (name, value) = "".join(f"{c.number}, " for c in ids), (c.number for c in made)
        parts = (f"SELECT {kept}{written_text(c.name)} AS {name}, {c.number} AS {value}" for c in values)
        query = " UNION ALL ".join(f"{part} FROM ({rows.query})" for part in parts)
        return PlanRows(query, (*ids, *made), plans=rows.plans)

    def _listed(self, rows: PlanRows, expressions: Sequence[Any]) -> list[PlanColumn]:
        write = self._expressions(rows)
        columns = [write.column(each) for each in expressions]
        if None in columns:
            raise self._errors.unsupported("unpivot of an expression")
        return [c for c in columns if c is not None]

    def _drop_na(self, drop: Any, _: Any) -> PlanRows:
        return drop_na(drop, self._rows(drop.input), self._types(drop.input))

    def _fill_na(self, fill: Any, _: Any) -> PlanRows:
        return fill_na(fill, self._rows(fill.input), self._types(fill.input), self._column, self._errors)

    def _types(self, relation: Any) -> list[str]:
        return [field.dataType.simpleString() for field in self._schema(relation)]

    def _sql(self, sql: Any, relation: Any) -> PlanRows:
        return self._text(sql, relation, "")

    def _with_relations(self, related: Any, relation: Any) -> PlanRows:
        if related.root.WhichOneof("rel_type") != "sql":
            return self._rows(related.root)
        parts = [f"{quoted(each.subquery_alias.alias)} AS ({self.query(each)})" for each in related.references]
        return self._text(related.root.sql, relation, f"WITH {', '.join(parts)} ")

    def _text(self, sql: Any, relation: Any, named: str) -> PlanRows:
        """Return a query of SQL, over relations of the pipeline and the DataFrames that it names."""
        if sql.args or sql.pos_args or sql.named_arguments or sql.pos_arguments:
            raise self._errors.unsupported("spark.sql with parameters")
        columns = tuple(self._column(field.name) for field in self._schema(relation))
        numbers = ", ".join(c.number for c in columns)
        return PlanRows(f"SELECT * FROM ({named}SELECT * FROM ({sql.query}\n)) AS q({numbers})", columns)


def _parts(write: ExpressionWriter, expression: Any) -> Iterator[tuple[PlanColumn | None, str, int]]:
    """Yield what an expression adds to a list: a column that is passed on, or None; a text; how many columns it
    makes.
    """
    starred, column = write.starred(expression), write.column(expression)
    if starred is None and column is None:
        names = expression.alias.name if expression.WhichOneof("expr_type") == "alias" else ("",)
        yield None, write.written(expression), len(names)
    for passed in [column] if column is not None else starred or ():
        yield passed, passed.number, 1


def _keys_first(keys: Sequence[PlanColumn], columns: Sequence[PlanColumn]) -> tuple[PlanColumn, ...]:
    return (*keys, *(c for c in columns if c not in keys))


def _by_name(left: PlanRows, right: PlanRows) -> Iterator[tuple[PlanColumn | None, PlanColumn | None]]:
    """Yield the columns of two sides in pairs of a name; None where a side has none."""
    others = {c.name.lower(): c for c in right.columns}
    for column in left.columns:
        yield column, others.pop(column.name.lower(), None)
    for other in others.values():
        yield None, other


_READERS: Mapping[str | None, Callable[[PlanReader, Any, Any], PlanRows]] = {
    "read": PlanReader._read,
    "subquery_alias": PlanReader._alias,
    "project": PlanReader._project,
    "filter": PlanReader._filter,
    "sort": PlanReader._sort,
    "limit": PlanReader._limit,
    "deduplicate": PlanReader._deduplicate,
    "to_df": PlanReader._to_df,
    "with_columns_renamed": PlanReader._renamed,
    "drop": PlanReader._drop,
    "with_columns": PlanReader._with_columns,
    "aggregate": PlanReader._aggregate,
    "join": PlanReader._join,
    "set_op": PlanReader._set_op,
    "unpivot": PlanReader._unpivot,
    "drop_na": PlanReader._drop_na,
    "fill_na": PlanReader._fill_na,
    "sql": PlanReader._sql,
    "with_relations": PlanReader._with_relations,
    **dict.fromkeys(_PASSED, PlanReader._passed),
}
