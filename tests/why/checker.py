"""Checks explanations by the reference interpreter alone: no engine, and nothing of `deltic.why` but its data.

Each step must be an instance of its definition: the reference interpreter, given the step's premises and nothing else,
derives its row, whatever other rows there are. Leaves must be rows of tables, and what is said to be absent must be. A
row of a recursion must be there by the reference from the iteration that is said until that which is said, and all
premises from the recursion must have earlier iterations; where rows never go, its iteration must be the first at which
it is there.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltic.algebra.zset import ZSet
from deltic.catalog import Catalog, ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.circuit.polarity import is_monotone
from deltic.why import Absence, Explanation, ExplanationStep, Note
from tests.why.certain import CertainInterpreter

Contents = Mapping[str, ZSet]


class Checker:
    """Checks explanations over a catalog and the rows of its tables."""

    def __init__(self, catalog: Catalog, tables: Contents) -> None:
        self.catalog, self.tables = catalog, tables
        self.whole = run(catalog.circuit, tables)
        self.recursions: dict[str, tuple[ViewDefinitions, Circuit, int]] = {}
        for definition in catalog.definitions:
            circuit = definition.inlined
            for number, operator in enumerate(circuit.operators):
                if isinstance(operator, ops.Fixpoint):
                    self.recursions |= dict.fromkeys(operator.body.sinks, (definition, circuit, number))
        self.definitions = {name: definition for definition in catalog.definitions for name in definition.names}
        self.hidden = {
            name: each.inlined for name, each in self.definitions.items() if name not in catalog.view_schemas
        }
        self._histories: dict[int, list[Contents]] = {}

    def check(self, explanation: Explanation) -> None:
        """Raise AssertionError for a step that is no instance of its rule."""
        steps = explanation.steps()
        assert steps[-1] is explanation.root
        below: set[int] = set()
        for step in steps:
            assert all(id(premise) in below for premise in step.steps), f"{step} stands on a later step"
            below.add(id(step))
            assert not step.is_cut
            assert step.height == (0 if step.by == "table" else 1 + max((p.height for p in step.steps), default=0))
            if step.by == "table":
                assert self.tables[step.relation].weight(step.row) > 0, f"{step} is in no table"
            else:
                self._check_step(step)

    def _check_step(self, step: ExplanationStep) -> None:
        if not any(isinstance(p, Note) and " shown" in p.text for p in step.premises):
            assert self._derived(step), f"{step} does not follow from {[*map(str, step.premises)]}"
        for premise in step.premises:
            if isinstance(premise, Absence) and premise.until is None and not premise.where:
                self._check_absence(premise)
        if step.at is not None:
            definition, circuit, number = self.recursions[step.relation]
            before = [p.at for p in step.steps if self.recursions.get(p.relation, (None,))[0] is definition and p.at]
            assert all(at < step.at for at in before)
            history = self._history(number, definition, circuit)
            there = [state[step.relation].weight(step.row) > 0 for state in history]
            assert there[step.at], f"{step} is not there: {there}"
            assert there[-1] == (step.until is None), f"{step}: {there}"
            if step.until is not None:
                assert there[step.at : step.until + 2] == [True] * (step.until + 1 - step.at) + [False], (
                    f"{step}: {there}"
                )
            if is_monotone(circuit.nodes[number].operator.body):
                assert step.at == there.index(True), f"{step} is there since iteration {there.index(True)}"

    def _derived(self, step: ExplanationStep) -> bool:
        """Whether the row follows from the premises alone, the negative ones among them."""
        given: dict[str, list] = {}
        own: dict[str, list] = {}
        definition, circuit, number = self.recursions.get(step.relation, (None, None, -1))
        for premise in step.steps:
            is_own = None not in (premise.at, step.at) and self.recursions[premise.relation][0] is definition
            (own if is_own else given).setdefault(premise.relation, []).append(premise.row)
        if step.at is None:
            circuit, sources = self._with_components(self.definitions[step.relation].inlined, given)
            values = CertainInterpreter(circuit, step, self.hidden).step(sources)
            return values[step.relation].weight(step.row) > 0
        nodes = circuit.nodes
        outer = CertainInterpreter(Circuit(nodes[:number]), step, self.hidden)
        outer.step(self._sources(circuit, given))
        imports = [outer.observed[i] for i in nodes[number].inputs]
        body = CertainInterpreter(nodes[number].operator.body, step, self.hidden, (outer, nodes[number].inputs))
        values = body.step({}, imports, {name: ZSet.of(set(rows)) for name, rows in own.items()})
        return values[step.relation].weight(step.row) > 0

    def _with_components(self, circuit: Circuit, given: Mapping[str, list]) -> tuple[Circuit, Mapping[str, ZSet]]:
        """The circuit with the given rows of its sources; relations of a recursion inside of it are sources, too."""
        sources = self._sources(circuit, given)
        components = {
            n.operator.name: i for i, n in enumerate(circuit.nodes) if isinstance(n.operator, ops.BundleRelation)
        }
        if not components.keys() & given.keys():
            return circuit, sources
        nodes = list(circuit.nodes)
        for name, i in components.items():
            nodes[i] = type(nodes[i])(ops.Source(f"{name}%", nodes[i].type.schema), (), nodes[i].type)
            sources[f"{name}%"] = ZSet.of(set(given.get(name, ())))
        return Circuit(tuple(nodes)), sources

    def _check_absence(self, absence: Absence) -> None:
        rows = self.tables.get(absence.relation) if absence.relation not in self.whole else self.whole[absence.relation]
        if rows is not None:
            names = self.catalog.relations[absence.relation].schema.names
            matching = [row for row, _ in rows if absence.pattern.items() <= dict(zip(names, row, strict=True)).items()]
            assert not matching, f"{absence}: {matching}"

    def _history(self, number: int, definition: ViewDefinitions, circuit: Circuit) -> list[Contents]:
        """The relations of a recursion at each iteration, by the reference."""
        if id(definition) not in self._histories:
            contents = {name: self.tables[name] for name in self.tables} | {
                name: rows for name, rows in self.whole.items() if name not in definition.names
            }
            interpreter = Interpreter(Circuit(circuit.nodes[:number]))
            interpreter.step({name: contents.get(name, ZSet()) for name in definition.sources})
            values = interpreter.observed
            inputs = [values[i] for i in circuit.nodes[number].inputs]
            body = circuit.nodes[number].operator.body
            history, interpreter = [dict.fromkeys(body.sinks, ZSet())], Interpreter(body)
            while len(history) < 2 or history[-1] != history[-2]:
                history.append(interpreter.step({}, inputs, history[-1]))
            self._histories[id(definition)] = history
        return self._histories[id(definition)]

    def _sources(self, circuit: Circuit, given: Mapping[str, list]) -> dict[str, ZSet]:
        """The given rows of each source, those of tables with all of their copies."""
        weights = {name: rows.weight for name, rows in self.tables.items() if name not in self.whole}
        return {
            operator.name: ZSet((row, weights.get(operator.name, lambda _: 1)(row)) for row in set(rows))
            for operator in circuit.operators
            if isinstance(operator, ops.Source)
            for rows in (given.get(operator.name, ()),)
        }
