"""Window functions in the expressions of a block: their values become columns of the rows before other expressions read
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.trees import outermost, replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import Typed, comparable
from deltic.sql.types import check_order
from deltic.sql.windows import LoweredWindow, lowered_window

_PARTS = ("partition_by", "order", "spec")


def written_out(node: exp.Expression, named: Mapping[str, exp.Window], values: BlockValues) -> exp.Expression:
    """Return the expression with the definitions of WINDOW in place of the windows' names."""

    def whole(window: exp.Expression) -> exp.Expression:
        result = window.copy()
        while (name := result.args.get("alias")) is not None:
            if name.name.lower() not in named:
                raise values.scope.source.error(name, f"there is no window {name.name}", "name it after WINDOW")
            base = named[name.name.lower()]
            for part in _PARTS:
                if not result.args.get(part):
                    result.set(part, _copied(base.args.get(part)))
            result.set("alias", base.args.get("alias"))
        return result

    return replaced(node, lambda n: isinstance(n, exp.Window), whole)


def _copied(part: object) -> object:
    if isinstance(part, list):
        return [each.copy() for each in part]
    return part.copy() if isinstance(part, exp.Expression) else part


@dataclass(frozen=True)
class _Asked:
    """A window function: its partition, its order, its functions in the circuit, and the columns that it reads."""

    keys: tuple[str, ...]
    order: tuple[ops.Order, ...]
    lowered: LoweredWindow
    columns: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def calls(self) -> list[ops.WindowCall]:
        """The functions of the circuit."""
        named = zip(self.lowered.calls, self.names, strict=True)
        return [call.over([self.columns[i] for i in call.inputs], name) for call, name in named]

    @property
    def is_bounded(self) -> bool:
        """Whether every function sees a bounded number of rows."""
        return all(call.reach is not None for call in self.calls)


class WindowCalls:
    """The window functions of a block that have no others in them. Those over one order are one operator.

    What sees a bounded number of rows comes first: it passes on few changes.
    """

    def __init__(self, values: BlockValues, clauses: Iterable[exp.Expression]) -> None:
        self._values = values
        nodes = [window for clause in clauses for window in outermost(clause, _is_innermost)]
        self._asked = {window.sql(): self._read(window) for window in nodes if isinstance(window, exp.Window)}
        together: dict[tuple[bool, tuple[str, ...], tuple[ops.Order, ...]], list[_Asked]] = {}
        for asked in sorted(self._asked.values(), key=lambda a: not a.is_bounded):
            together.setdefault((not asked.is_bounded, asked.keys, asked.order), []).append(asked)
        for (_, keys, order), same in together.items():
            over = ops.Over(keys, order, tuple(call for asked in same for call in asked.calls))
            self._values.go_on(self._values.scope.nodes.builder.add(over, self._values.rows.node))

    def _read(self, window: exp.Window) -> _Asked:
        """Read a window function, and give the expressions that it reads columns."""
        values, scope = self._values, self._values.scope

        def value(node: exp.Expression) -> Typed:
            return values.typed(prepared(node, values))

        parts = [(node, comparable(value(node))) for node in window.args.get("partition_by") or ()]
        for node, part in parts:
            check_order(part.type.type, node, "PARTITION BY", scope.source)
        keys = [values.column(part, "key").name for _, part in parts]
        for name, (node, _) in zip(keys, parts, strict=True):
            scope.nodes.words.write([name], node, scope.source)
        ordered = window.args["order"].expressions if window.args.get("order") else []
        result = [comparable(value(key.this)) for key in ordered]
        order = [
            ops.Order(values.column(v, "order").name, bool(key.args.get("desc")), bool(key.args.get("nulls_first")))
            for key, v in zip(ordered, result, strict=True)
        ]
        lowered = lowered_window(window, result, value, scope.source)
        columns = tuple(values.column(v, "input").name for v in lowered.inputs)
        names = tuple(scope.nodes.fresh("over") for _ in lowered.calls)
        scope.nodes.words.write(names, window, scope.source)
        return _Asked(tuple(dict.fromkeys((*scope.bound_names, *keys))), tuple(order), lowered, columns, names)

    def placed(self, node: exp.Expression) -> exp.Expression:
        """Return the expression with placeholders for its window functions."""
        return replaced(node, _is_innermost, self._place)

    def _place(self, window: exp.Expression) -> exp.Expression:
        asked = self._asked[window.sql()]
        result = [self._values.scope.nodes.column(self._values.rows.node, name) for name in asked.names]
        value = asked.lowered.result([Typed(column(c.name), c.value_type) for c in result])
        return self._values.place(window, value)


def _is_innermost(node: exp.Expression) -> bool:
    """Return whether a node is a window function without another one inside."""
    return isinstance(node, exp.Window) and not any(
        True for child in node.iter_expressions() for _ in outermost(child, lambda part: isinstance(part, exp.Window))
    )
