"""The derivative of a fixpoint, literally as the nested stream of [DBSP §7.2]: epochs × iterations.

`oracle.interpreter` gives a fixpoint's derivative its meaning by definition, D ∘ fix ∘ I, and so never runs
the body's derivative that the calculus computed. Here it is run: iteration k has a machine of its own, which sees in
each epoch the changes of the imports and the change that the feedbacks had at iteration k − 1 of the same epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.oracle.pointwise import Inputs, Rows, Value

ITERATIONS = 500

Bundle = dict[str, Rows]


class NestedInterpreter(Interpreter):
    """The reference interpreter, but for the derivatives of fixpoints, at every depth."""

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit)
        self._fixpoints: dict[int, NestedFixpoint] = {}

    def _evaluate(self, number: int, node: Node, inputs: Inputs, environment: Any) -> Value:
        if not isinstance(node.operator, ops.FixpointDelta):
            return super()._evaluate(number, node, inputs, environment)
        if number not in self._fixpoints:
            self._fixpoints[number] = NestedFixpoint(node.operator)
        return self._fixpoints[number].step(inputs)


class NestedFixpoint:
    """The matrix of changes of one fixpoint, a row for each epoch and a column for each iteration [DBSP §5.2]."""

    def __init__(self, operator: ops.FixpointDelta) -> None:
        self._derivative = operator.derivative
        self._nothing: Bundle = {name: ZSet() for name in operator.body.sinks}
        self._columns: list[NestedInterpreter] = []
        self._values: list[Bundle] = []
        self._epochs: list[tuple[Sequence[Rows], Bundle]] = []

    def step(self, imports: Sequence[Rows]) -> Bundle:
        """The change of the fixpoint in the next epoch, which is that of its value at the last iteration."""
        change = before = self._nothing
        for k in range(ITERATIONS):
            if k == len(self._columns):
                self._new_column()
            change = self._columns[k].step({}, imports, before)
            self._values[k] = {name: self._values[k][name] + delta for name, delta in change.items()}
            if k + 1 >= len(self._columns) and k and self._values[k] == self._values[k - 1]:
                self._epochs.append((imports, change))
                return change
            before = change
        raise AssertionError(f"no end after {ITERATIONS} iterations")

    def _new_column(self) -> None:
        """The machine of an iteration that no epoch needed so far: both it and the one before it saw the fixpoints."""
        machine = NestedInterpreter(self._derivative)
        value = self._nothing
        for imports, change in self._epochs:
            found = machine.step({}, imports, change)
            value = {name: value[name] + delta for name, delta in found.items()}
        self._columns.append(machine)
        self._values.append(value)
