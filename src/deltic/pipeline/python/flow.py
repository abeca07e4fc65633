"""Views built in Python: relations, and the operators of circuits on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deltic.circuit import constructions
from deltic.circuit import operators as ops
from deltic.circuit.custom import CustomOperator
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, infer
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.custom import applied
from deltic.circuit.reading.scalars import read_expression
from deltic.errors import CatalogError, CircuitError
from deltic.values.types import Column

Add = Callable[..., int]
"""From a builder and the numbers of the inputs' nodes to that of a new one."""


class Flow:
    """A relation computed from tables and views, and not a view yet.

    `pipeline.flow("event")` returns one, each method another, and `pipeline.view("recent", flow)` makes it a view.
    A method raises CircuitError if the operator does not fit its inputs.

    Conditions and values are texts over the columns, as in circuits: "at > 10 AND user IS NOT NULL".
    """

    def __init__(self, add: Add, *inputs: Flow, body: CircuitBuilder | None = None) -> None:
        self._add, self._inputs = add, inputs
        bodies = (flow._body for flow in inputs if flow._body is not None)
        self._body: CircuitBuilder | None = body or next(bodies, None)
        if any(flow._body is not self._body for flow in inputs):
            raise CircuitError("a step of while_changing reads another relation: give it as a parameter")
        builder = self._body or CircuitBuilder()
        self.type: ZSetType = builder.type_of(self._number(builder, {}))
        """Its columns, and whether it is a set."""

    @classmethod
    def of(cls, name: str, type_: ZSetType) -> Flow:
        """Return a table or view."""
        source = ops.Source(name, type_.schema, type_.is_set)
        return cls(lambda builder: builder.add(source))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.type.schema.names

    def circuit(self, name: str) -> Circuit:
        """Return the circuit of the view of that name."""
        builder = CircuitBuilder()
        builder.add(ops.Sink(name), self._number(builder, {}))
        return builder.build()

    def __repr__(self) -> str:
        return f"<flow of {self.type}>"

    # Relations

    def select(self, *columns: str, **computed: str) -> Flow:
        """Columns, and values under new names: `select("user", hour="at // 3600")`. Equal rows add up."""
        schema = self.type.schema
        named = {**{name: name for name in columns}, **computed}
        chosen = {name: self._expression(text) for name, text in named.items()}
        types = {name: infer(expression, schema.value_types) for name, expression in chosen.items()}
        made = tuple(Column(name, type_.type, type_.nullable) for name, type_ in types.items())
        return self._then(ops.Map(made, tuple(chosen.values())))

    def where(self, condition: str) -> Flow:
        """Return the rows for which a condition is true."""
        return self._then(ops.Filter(self._expression(condition)))

    def join(self, other: Flow) -> Flow:
        """Return the natural join: pairs of rows that agree in the columns with the same names."""
        return self._then(ops.Join(), other)

    def without(self, other: Flow) -> Flow:
        """Return the antijoin: rows that agree with no row of the other in the other's columns."""
        return self._then(ops.Antijoin(), other if other.type.is_set else other.distinct())

    def distinct(self) -> Flow:
        """Return each row once."""
        return self._then(ops.Distinct())

    def plus(self, *others: Flow) -> Flow:
        """UNION ALL: the rows of all flows, with repetitions."""
        return self._then(ops.Plus(), *others)

    def minus(self, other: Flow) -> Flow:
        """Return the difference of weights, which may be negative, unlike SQL's EXCEPT ALL."""
        return self.plus(other._then(ops.Negate()))

    def flat_map(self, column: str, generator: str, *arguments: str) -> Flow:
        """Return each row once for every value of a generator: `flat_map("hour", "range", "first", "last")`."""
        return self._then(ops.FlatMap(column, generator, tuple(map(self._expression, arguments))))

    # Streams

    def window(self, column: str, length: int, clock: Flow | None = None) -> Flow:
        """Return the rows whose `column` is at least θ − `length`, where θ is the greatest value of the clock so far.

        `clock` is a flow with one column of that type; the default is `column` itself.
        """
        return self._then(ops.Window(column, length), clock or self.select(**{column: column}))

    def delayed(self, epochs: int = 1) -> Flow:
        """Return the relation this many epochs ago; empty before."""
        return Flow(lambda builder, number: constructions.delayed(builder, number, epochs), self)

    def last(self, epochs: int) -> Flow:
        """Return the sum of the changes of the last epochs, the present one included."""
        return Flow(lambda builder, number: constructions.last_steps(builder, number, epochs), self)

    def changes(self) -> Flow:
        """Return the change of the present epoch."""
        return self._then(ops.Differentiate())

    def total(self) -> Flow:
        """Return the sum of the relation over all epochs."""
        return self._then(ops.Integrate())

    def matches(self, relation: Flow) -> Flow:
        """Return each row joined with the relation at the row's arrival; later changes of it match nothing."""
        return Flow(constructions.matches, relation, self)

    def while_changing(self, step: Callable[..., Flow], *parameters: Flow) -> Flow:
        """x := these rows; while x changes: x := step(x, *parameters). Of sets; x may lose rows, too.

        Pass every other flow that `step` reads as a parameter.
        """

        def body(builder: CircuitBuilder, x: int, given: Sequence[int]) -> int:
            inside = (Flow(lambda _, number=number: number, body=builder) for number in (x, *given))
            return step(*inside)._number(builder, {})

        def add(builder: CircuitBuilder, start: int, *others: int) -> int:
            return constructions.while_changing(builder, start, body, *others)

        return Flow(add, self, *parameters)

    def apply(self, operator: CustomOperator, *others: Flow) -> Flow:
        """Apply an operator of `deltic.operator` to this flow and others; columns match by position."""
        if not isinstance(operator, CustomOperator):  # what a user gives may be anything
            raise CatalogError(f"operator {operator!r}: make it one by deltic.operator")
        return self._then(applied(operator), *others)

    # What they are made of

    def _then(self, operator: ops.Operator, *others: Flow) -> Flow:
        return Flow(lambda builder, *numbers: builder.add(operator, *numbers), self, *others)

    def _expression(self, text: str) -> Any:
        """Return the expression of a text. Raises CircuitError."""
        if text in self.columns:
            return column(text)
        try:
            return read_expression(text, self.columns)
        except ValueError as error:
            raise CircuitError(f"{error}; the columns are {', '.join(self.columns)}") from None

    def _number(self, builder: CircuitBuilder, made: dict[int, int]) -> int:
        """Return the number of its node in a circuit; `made` has the nodes of flows that were added before."""
        if id(self) not in made:
            numbers = [flow._number(builder, made) for flow in self._inputs]
            made[id(self)] = self._add(builder, *numbers)
        return made[id(self)]
