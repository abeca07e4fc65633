"""What follows from a step's premises with certainty: a row that no premise excludes may be there.

The reference interpreter takes rows that are not given for absent. Here a negation holds only if the premises say so,
by an absence for each match; so a step that leaves a negative premise out does not follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.expressions import columns_of, conjuncts, is_literal
from deltic.circuit.expressions.meaning import evaluate, meaning
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.why import Absence, ExplanationStep

Bound = Mapping[str, Any]
Outer = tuple["CertainInterpreter", Sequence[int]]
PASSED = ops.Distinct | ops.Keep | ops.Sink
GROUPED = (ops.Aggregate, ops.Top, ops.Over)


class CertainInterpreter(Interpreter):
    """Runs a circuit on the premises of a step.

    `hidden` are the circuits of views without rows of their own; `around` the nodes that a body imports.
    """

    def __init__(
        self, circuit: Circuit, step: ExplanationStep, hidden: Mapping[str, Circuit], around: Outer | None = None
    ) -> None:
        super().__init__(circuit)
        self.hidden, self.outer = hidden, around
        self.step_, self.absences = step, [each for each in step.premises if isinstance(each, Absence)]
        self.universals = [
            int(found[1]) for each in step.premises if (found := re.match(r"for each of (\d+) rows? ", str(each)))
        ]
        self.negated = {
            below
            for number, operator in enumerate(circuit.operators)
            if isinstance(operator, ops.Antijoin)
            for below in circuit.ancestors([circuit.nodes[number].inputs[1]])
        }

    def _evaluate(self, number: int, node: Any, inputs: Any, environment: Any) -> Any:
        rows = super()._evaluate(number, node, inputs, environment)
        if not isinstance(node.operator, ops.Antijoin) or number in self.negated:
            return rows
        names, keys = (self.circuit.type_of(i).schema.names for i in node.inputs)
        places = [names.index(key) for key in keys]
        return ZSet(
            (row, weight)
            for row, weight in rows
            if self.is_excluded(node.inputs[1], dict(zip(keys, [row[i] for i in places], strict=True)))
        )

    def is_excluded(self, number: int, bound: Bound) -> bool:
        """Whether the premises exclude all rows of a node that have these values."""
        operator = self.circuit.nodes[number].operator
        name = getattr(operator, "name", "").removesuffix("%")
        relations = {name} if name else self._relations(number)
        is_filter = isinstance(operator, ops.Filter)
        return any(_says(each, relations, bound, is_filter) for each in self.absences) or self._is_lacking(
            number, bound
        )

    def _relations(self, number: int) -> set[str]:
        """The names of the relations that a node depends on."""
        result = set[str]()
        for operator in (self.circuit.nodes[i].operator for i in self.circuit.ancestors([number])):
            if isinstance(operator, ops.Import) and self.outer is not None:
                result |= self.outer[0]._relations(self.outer[1][operator.index])
            elif isinstance(operator, ops.Source) and operator.name in self.hidden:
                inside = CertainInterpreter(self.hidden[operator.name], self.step_, self.hidden)
                result |= inside._relations(inside.circuit.sinks[operator.name])
            elif name := getattr(operator, "name", ""):
                result.add(name.removesuffix("%"))
        return result

    def _is_lacking(self, number: int, bound: Bound) -> bool:
        """Whether the premises exclude all rows of the inputs from which a node would have rows with these values."""
        operator, inputs = self.circuit.nodes[number].operator, self.circuit.nodes[number].inputs
        if isinstance(operator, ops.Import) and self.outer is not None:
            above, nodes = self.outer
            return above.is_excluded(nodes[operator.index], bound)
        if isinstance(operator, ops.Source) and operator.name in self.hidden:
            inside = CertainInterpreter(self.hidden[operator.name], self.step_, self.hidden)
            return inside.is_excluded(inside.circuit.sinks[operator.name], bound)
        if isinstance(operator, ops.Constant):
            wanted = [operator.schema.index(name) for name in bound]
            return not any([row[i] for i in wanted] == [*bound.values()] for row in operator.rows)
        if isinstance(operator, ops.Filter):
            return self._is_filtered(operator, inputs[0], bound)
        if isinstance(operator, ops.Map):
            return self._is_not_mapped(operator, inputs[0], bound)
        if isinstance(operator, ops.Plus | PASSED):
            return all(self.is_excluded(i, bound) for i in inputs)
        if isinstance(operator, ops.Join | ops.Semijoin):
            return any(self.is_excluded(i, self._of(i, bound)) for i in inputs)
        if isinstance(operator, ops.Antijoin):
            return self.is_excluded(inputs[0], bound) or self._is_universal(inputs, bound)
        if isinstance(operator, GROUPED):
            keys = {name: value for name, value in bound.items() if name in operator.keys}
            return self.is_excluded(inputs[0], keys)
        return isinstance(operator, ops.FlatMap) and self.is_excluded(inputs[0], self._of(inputs[0], bound))

    def _of(self, number: int, bound: Bound) -> Bound:
        return {name: bound[name] for name in self.circuit.type_of(number).schema.names if name in bound}

    def _is_filtered(self, operator: ops.Filter, below: int, bound: Bound) -> bool:
        types, known = self.circuit.type_of(below).schema.types, dict(bound)
        for part in conjuncts(operator.predicate):
            if {*columns_of(part)} <= known.keys() and meaning(part, types)(known) is not True:
                return True
            if part.key == "eq":
                for column, value in permutations((part.this, part.expression)):
                    if column.key == "column" and (is_literal(value) or {*columns_of(value)} <= known.keys()):
                        known.setdefault(column.name, evaluate(value, known, types))
        return self.is_excluded(below, known)

    def _is_not_mapped(self, operator: ops.Map, below: int, bound: Bound) -> bool:
        types, known = self.circuit.type_of(below).schema.types, dict[str, Any]()
        pairs = [pair for pair in zip(operator.columns, operator.expressions, strict=True) if pair[0].name in bound]
        for column, expression in sorted(pairs, key=lambda pair: pair[1].key != "column"):
            if expression.key == "column":
                known.setdefault(expression.name, bound[column.name])
            if {*columns_of(expression)} <= known.keys() and meaning(expression, types)(known) != bound[column.name]:
                return True
        return self.is_excluded(below, known)

    def _is_universal(self, inputs: Sequence[int], bound: Bound) -> bool:
        """Whether each row of the first input is among the premises, with a match in the second."""
        left, right = ([*self._with(i, bound)] for i in inputs)
        names, keys = (self.circuit.type_of(i).schema.names for i in inputs)
        matched = {tuple(row[names.index(key)] for key in keys) for row in left} <= {*right}
        return matched and len(left) in self.universals

    def _with(self, number: int, bound: Bound) -> Iterator[tuple[Any, ...]]:
        names = self.circuit.type_of(number).schema.names
        known = [(names.index(name), value) for name, value in bound.items() if name in names]
        return (row for row, _ in self._values[number] if all(row[i] == value for i, value in known))


def _says(absence: Absence, relations: set[str], bound: Bound, is_filter: bool) -> bool:
    """Whether an absence excludes the rows of a relation, or of an operator over these, with these values."""
    named = {*absence.relation.partition(" ORDER BY ")[0].split(", ")} == relations
    has_values = all(name in bound and bound[name] == value for name, value in absence.pattern.items())
    return has_values and (is_filter if absence.where else named)
