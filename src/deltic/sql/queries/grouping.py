"""Lowering GROUP BY and aggregates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.expressions import column, literal
from deltic.sql.aggregate_calls import LoweredAggregates
from deltic.sql.aggregates import is_aggregate, lowered
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.trees import GROUPING, aggregates_of, is_window_function, normal, replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import Typed, comparable
from deltic.sql.variables import variable_of
from deltic.values.types import Column, Schema, Type

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


@dataclass
class GroupedBlock:
    """The groups of a block: `keys` by their text over the circuit's columns, and the grouping `sets`.

    Without keys and with a single set there is one group, even for no rows.
    """

    values: BlockValues
    sets: Sequence[Sequence[str]]
    keys: dict[str, QueryColumn]
    _calls: dict[str, _Call] = field(default_factory=dict)
    _columns: set[str] = field(default_factory=set)
    _compared: dict[str, str] = field(default_factory=dict)
    """The columns by which keys are compared that are texts with a collation: of equal ones the least is shown."""
    _flags: dict[str, tuple[exp.Expression, Column]] = field(default_factory=dict)
    _has_sets: bool = False

    @classmethod
    def of(cls, values: BlockValues, group: exp.Group | None, grouped: Sequence[exp.Expression]) -> GroupedBlock:
        """Make the groups of GROUP BY; `grouped` are the selected expressions, for GROUP BY ALL."""
        result = cls(values, [], {}, _has_sets=group is not None and group.find(*_SETS) is not None)
        result.sets = result._sets(group, grouped)
        result.keys = {text: result._as_grouped(text, key) for text, key in result.keys.items()}
        return result

    def _as_grouped(self, text: str, key: QueryColumn) -> QueryColumn:
        """Return the key in the groups: nullable where some grouping set lacks it."""
        lacking = any(text not in chosen for chosen in self.sets)
        return replace(key, column=replace(key.column, nullable=True)) if lacking else key

    # Keys

    def _sets(self, group: exp.Group | None, grouped: Sequence[exp.Expression]) -> list[list[str]]:
        if group is None:
            return [[]]
        if group.args.get("all") is False:
            raise self.values.scope.refuse(group.expressions[0], "GROUP BY DISTINCT", "list the GROUPING SETS")
        if group.args.get("all"):
            plain = [node for node in grouped if not any(True for _ in aggregates_of(node))]
            return [[self._key(node) for node in plain]]
        elements = [self._element(node) for node in group.expressions]
        for word, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
            for node in group.args.get(word) or ():
                if node.expressions:
                    elements.append(self._element(node))
                else:  # GROUP BY a, b WITH ROLLUP
                    elements = [self._element(kind(expressions=[n.copy() for n in group.expressions]))]
        for node in group.args.get("grouping_sets") or ():  # GROUP BY a, b GROUPING SETS (…), of these keys
            elements = [self._element(node)]
        return [list(dict.fromkeys(itertools.chain(*chosen))) for chosen in itertools.product(*elements)]

    def _element(self, node: exp.Expression) -> list[list[str]]:
        """Return the grouping sets of one element of GROUP BY."""
        if isinstance(node, exp.Rollup):
            parts = [self._composite(n) for n in node.expressions]
            return [list(itertools.chain(*parts[:n])) for n in range(len(parts), -1, -1)]
        if isinstance(node, exp.Cube):
            parts = [self._composite(n) for n in node.expressions]
            chosen = itertools.product(*([True, False] for _ in parts))
            return [list(itertools.chain(*itertools.compress(parts, c))) for c in chosen]
        if isinstance(node, exp.GroupingSets):
            return [s for n in node.expressions for s in self._element(n)]
        return [self._composite(node)]

    def _composite(self, node: exp.Expression) -> list[str]:
        parts = node.expressions if isinstance(node, exp.Tuple) else [node]
        return [self._key(part.this if isinstance(part, exp.Paren) else part) for part in parts]

    def _key(self, node: exp.Expression) -> str:
        """Give a key a column, and return its text."""
        self._refuse_aggregates(node)
        text = self.text(node)
        if text not in self.keys:
            own = isinstance(node, exp.Column) and self.values.rows.find(node)
            value = self.values.typed(prepared(node, self.values))
            result = self.values.column(value if value.is_collated else comparable(value), "key")
            self.values.scope.nodes.words.write([result.name], node, self.values.scope.source)
            attribute = own[0] if own else QueryColumn("", result, modifier=value.modifier)
            self.keys[text] = replace(attribute, column=result)
            if attribute.is_collated:
                self._compared[result.name] = self.values.column(comparable(value), "key").name
        return text

    def _refuse_aggregates(self, node: exp.Expression) -> None:
        for part in aggregates_of(node):
            source = self.values.scope.source
            raise source.error(part, f"GROUP BY cannot have the aggregate {source.written(part)}")

    def text(self, node: exp.Expression) -> str:
        """Return the text of an expression over the circuit's columns, equal for equivalent expressions."""

        def column_of(reference: exp.Expression) -> exp.Expression:
            assert isinstance(reference, exp.Column)
            return self.values.resolve(reference).expression.copy()

        return normal(replaced(node, lambda n: isinstance(n, exp.Column), column_of)).sql()

    # What stands for aggregates and keys

    def rewritten(self, node: exp.Expression) -> exp.Expression:
        """Replace keys and aggregates by placeholders. Raises ProgramError for other columns."""
        around = exp.Paren(this=replaced(node, self._is_grouping_id, lambda _: exp.GroupingId()))
        self._rewrite(around.this)
        result: exp.Expression = around.this
        return result

    def _rewrite(self, node: exp.Expression) -> None:
        if isinstance(node, exp.Column) and self._is_outer(node):
            return
        is_call = is_aggregate(node) and not is_window_function(node)
        if is_call or isinstance(node, GROUPING):
            node.replace(self._placeholder(node))
            return
        key = self._known(node)
        if key is not None:
            node.replace(self.values.place(node, key.typed))
        elif isinstance(node, exp.Query):
            self._rewrite_within(node)
        elif isinstance(node, exp.Column):
            if self.values.rows.find(node) or variable_of(node) is None:
                raise self._ungrouped(node)
        else:
            for child in list(node.iter_expressions()):
                self._rewrite(child)

    def _rewrite_within(self, query: exp.Query) -> None:
        """Replace aggregates of the block in a subquery by columns of the groups with fresh names."""
        for node in list(query.find_all(exp.Expression)):
            if is_aggregate(node) and not is_window_function(node) and self._is_of_block(node, query):
                column = self._placeholder(node)
                self._columns.add(column.name)
                node.replace(column)

    def _is_of_block(self, call: exp.Expression, query: exp.Query) -> bool:
        """Return whether an aggregate in a subquery names only columns of the block's relations."""
        names = {node.table.lower() for node in call.find_all(exp.Column)}
        inside = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
        return bool(names) and names <= {a.relation.lower() for a in self.values.rows.attributes} - inside - {""}

    def _is_grouping_id(self, node: exp.Expression) -> bool:
        """Return whether a name is Hive's `grouping__id`, which groups by several grouping sets have."""
        if not isinstance(node, exp.Column) or node.table or node.name.lower() != "grouping__id":
            return False
        return len(self.sets) > 1 and not self.values.rows.find(node)

    def _is_outer(self, node: exp.Column) -> bool:
        """Return whether a column is an outer one."""
        bindings = self.values.scope.bindings
        return (
            not self.values.rows.find(node)
            and not self.values.is_placed(node)
            and bool(bindings and bindings.find(node))
        )

    def _known(self, node: exp.Expression) -> QueryColumn | None:
        if (
            isinstance(node, exp.Null)
            or not isinstance(node, exp.Condition)
            or any(True for _ in node.find_all(exp.Window))
        ):
            return None
        if any(True for _ in aggregates_of(node)):
            return None
        return self.keys.get(self.text(node))

    def _ungrouped(self, node: exp.Column) -> Exception:
        source = self.values.scope.source
        written = source.written(node)
        self.values.resolve(node)
        remedy = f"add {written} to GROUP BY, or write any_value({written})"
        return source.error(node, f"{written} is neither in GROUP BY nor in an aggregate", remedy)

    def _placeholder(self, node: exp.Expression) -> exp.Expression:
        if isinstance(node, GROUPING):
            return self._flag(node)
        name = f"\0{self.text(node)}"
        if name not in self._calls:
            self._calls[name] = _Call.of(node, self.values)
        return self.values.defer(node, name)

    def _flag(self, node: exp.Expression) -> exp.Expression:
        """GROUPING or GROUPING_ID, a constant in each grouping set."""
        source = self.values.scope.source
        if not self._has_sets:
            raise source.error(node, f"{source.written(node)} needs ROLLUP, CUBE or GROUPING SETS in GROUP BY")
        if (
            isinstance(node, exp.GroupingId)
            and node.expressions
            and [*map(self.text, node.expressions)] != [*self.keys]
        ):
            message = f"{source.written(node)}: it takes all keys of GROUP BY in their order"
            raise source.error(node, message, "write grouping_id()")
        text = self.text(node)
        type_ = Type.INT8 if isinstance(node, exp.Grouping) else Type.INT64
        if text not in self._flags:
            self._flags[text] = node, Column(self.values.scope.nodes.fresh("grouping"), type_)
        flag = self._flags[text][1]
        return self.values.place(node, Typed(column(flag.name), flag.value_type))

    # Lowering

    def lower(self) -> BlockValues:
        """Lower the groups, and return values over them."""
        nodes = self.values.scope.nodes
        parts = [self._lower_set(chosen) for chosen in self.sets]
        names = nodes.schema(parts[0]).names
        node = nodes.plus(*(nodes.keep(part, names) for part in parts))
        attributes = [
            replace(key, column=nodes.column(node, key.column.name)) for key in self.keys.values() if key.name
        ]
        found = self.values.over(QueryRows(node, tuple(attributes)))
        for name, call in self._calls.items():
            results = [nodes.column(node, result) for result in call.names]
            value = call.lowered.result([Typed(column(c.name), c.value_type) for c in results])
            found.settle(name, value)
            nodes.words.mean(value.expression, call.node, self.values.scope.source)
            if name in self._columns:
                attributes.append(QueryColumn(name, found.column(value, "result")))
        found.rows = QueryRows(found.rows.node, tuple(attributes))
        return found

    def _lower_set(self, chosen: Sequence[str]) -> int:
        """Lower one grouping set: other keys are NULL, with the results of all calls."""
        nodes, scope = self.values.scope.nodes, self.values.scope
        keys = list(dict.fromkeys([*scope.bound_names, *(self.keys[text].column.name for text in chosen)]))
        node = self._aggregated([self._compared.get(name, name) for name in keys], keys)
        if self._compared:
            node = nodes.keep(node, [n for n in nodes.schema(node).names if n not in self._compared.values()])
        if list(self.sets) == [[]]:
            node = nodes.plus(node, self._empty(node, keys))
        node = nodes.pad(node, [key.column for key in self.keys.values()])
        flags = [(flag, self._flag_value(call, chosen, flag)) for call, flag in self._flags.values()]
        return nodes.extend(node, [flag for flag, _ in flags], [value for _, value in flags])

    def _flag_value(self, call: exp.Expression, chosen: Sequence[str], flag: Column) -> exp.Expression:
        wanted = [self.text(n.unnest()) for n in call.expressions] or list(self.keys)
        for text, node in zip(wanted, call.expressions, strict=False):
            if text not in self.keys:
                source = self.values.scope.source
                raise source.error(node, f"{source.written(node)} is not in GROUP BY")
        bits = 0
        for text in wanted:
            bits = 2 * bits + (text not in chosen)
        return literal(bits, flag.type)

    def _aggregated(self, keys: Sequence[str], shown: Sequence[str]) -> int:
        """Return the results for each group of `keys`, with those that are `shown` of each."""
        nodes = self.values.scope.nodes
        texts = [ops.AggregateCall("min", name, name) for name in shown if name not in keys]
        plain = [call for call in self._calls.values() if not call.lowered.is_distinct]
        distinct = [call for call in self._calls.values() if call.lowered.is_distinct]
        has_first = plain or texts or not distinct
        parts = [self._aggregate(self.values.rows.node, keys, plain, texts)] if has_first else []
        for call in distinct:
            rows = nodes.distinct(nodes.keep(self.values.rows.node, list(dict.fromkeys([*keys, *call.inputs]))))
            parts.append(self._aggregate(rows, keys, [call]))
        return nodes.join(*parts)

    def _aggregate(
        self, node: int, keys: Sequence[str], calls: Sequence[_Call], texts: Sequence[ops.AggregateCall] = ()
    ) -> int:
        nodes = self.values.scope.nodes
        wanted = dict.fromkeys([*keys, *(t.name for t in texts), *(name for call in calls for name in call.inputs)])
        made = [*texts, *(made for call in calls for made in call.circuit_calls())]
        return nodes.builder.add(ops.Aggregate(tuple(keys), tuple(made)), nodes.keep(node, list(wanted)))

    def _empty(self, node: int, keys: Sequence[str]) -> int:
        """Return the group of no rows: counts are 0, other results NULL."""
        nodes = self.values.scope.nodes
        missing = nodes.antijoin(self.values.scope.start, nodes.keep(node, list(keys)))
        results = [c for c in nodes.schema(node) if c.name not in keys]
        functions = {
            made.name: ACCUMULATORS[made.function] for call in self._calls.values() for made in call.circuit_calls()
        }
        nothing = [functions[c.name].value({}, (), ()) if functions[c.name].counts else None for c in results]
        columns = tuple(replace(c, nullable=value is None) for c, value in zip(results, nothing, strict=True))
        return nodes.join(missing, nodes.constant(Schema(columns), [tuple(nothing)]))


@dataclass(frozen=True)
class _Call:
    """An aggregate with its input and result columns."""

    node: exp.Expression
    lowered: LoweredAggregates
    inputs: Sequence[str]
    names: Sequence[str]

    @classmethod
    def of(cls, node: exp.Expression, values: BlockValues) -> _Call:
        result = lowered(node, lambda n: values.typed(prepared(n, values)), values.scope.source)
        inputs = [values.column(value, "argument").name for value in result.inputs]
        names = [values.scope.nodes.fresh("result") for _ in result.calls]
        values.scope.nodes.words.write(names, node, values.scope.source)
        return cls(node.copy(), result, inputs, names)

    def circuit_calls(self) -> list[ops.AggregateCall]:
        """Return the aggregates of the circuit that it consists of."""
        pairs = zip(self.lowered.calls, self.names, strict=True)
        return [call.over([self.inputs[i] for i in call.inputs], name) for call, name in pairs]
