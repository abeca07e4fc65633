"""Variable elimination: variables that neither the head nor another atom needs are projected out early.

[bucket elimination] For Z-sets a and b, A the wanted columns of their join, S the columns of a that b has, too:

* π_A(a ⋈ b) = π_A(π_{A∪S}(a) ⋈ b), because projection is linear and b has no other column of a;
* distinct(π_A(a ⋈ b)) = distinct(π_A(distinct(π_{A∪S}(a)) ⋈ b)) where no weight is negative [DBSP Prop 6.11].

So a part of a conjunction with a variable that only it has becomes a relation without that variable. It has weights, or
is a set where only the set of the result matters. A part that shares no variable with the rest becomes a relation
without columns: a test for existence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from deltic.calculus.passes.delay_distinct import is_positive
from deltic.calculus.passes.rewriting import Rewriting, is_set
from deltic.calculus.planning.conjunction import NodeAtom, NodeConjunction, build, conjunction_of
from deltic.calculus.planning.decision import COSTS, KeptDecision, RewriteCosts, unused
from deltic.calculus.planning.parts import JoinPart, parts
from deltic.calculus.planning.statistics import Imports, Sizes, Statistics
from deltic.calculus.planning.work import Work, views
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, columns_of
from deltic.circuit.graph import Circuit, Node


def eliminate(
    circuit: Circuit, statistics: Statistics, costs: RewriteCosts = COSTS, present: Collection[KeptDecision] = ()
) -> tuple[Circuit, list[KeptDecision]]:
    """Return the circuit with hidden relations that eliminate variables early, where that pays, and the decisions.

    The relations of the `present` plan are kept.
    """
    tables = [statistics.rows(op.name) or 0.0 for op in circuit.operators if isinstance(op, ops.Source)]
    rule = _Elimination(circuit, statistics, costs, [], present, max(tables, default=0.0) >= costs.large)
    return Rewriting(circuit, rule).sweep(()), rule.decisions


class _Elimination:
    """The rule for the nodes of one circuit; `sizes` and `labels` are those of a body's imports."""

    def __init__(
        self,
        circuit: Circuit,
        statistics: Statistics,
        costs: RewriteCosts,
        decisions: list[KeptDecision],
        present: Collection[KeptDecision],
        is_large: bool,
        sizes: Imports = lambda index: None,
        labels: Sequence[str] = (),
    ) -> None:
        self.circuit, self.statistics, self.costs, self.decisions = circuit, statistics, costs, decisions
        self.present, self.is_large, self.imports, self.labels = present, is_large, sizes, labels
        self.places = {decision.definition: place for place, decision in enumerate(present)}
        self.names = {decision.definition: decision.relation for decision in present}
        self.work = Work(Sizes(circuit.node, statistics, sizes), costs)
        self.views = views(circuit)
        self.as_sets = _read_as_sets(circuit)
        self.made: dict[int, int] = {}

    def __call__(self, rewriting: Rewriting, node: Node) -> int | None:
        if rewriting.circuit is not self.circuit:  # the body of a recursion that is not rewritten
            return None
        if rewriting.made != self.work.sizes.node:
            self.work = Work(Sizes(rewriting.made, self.statistics, self.imports), self.costs)
        if isinstance(node.operator, ops.Fixpoint):
            return self._inside(rewriting, node, node.operator)
        result = [self._input(rewriting, node, source) for source in node.inputs]
        if all(made is None for made in result):
            return None
        same = rewriting.new(*node.inputs)
        return rewriting.add(
            node.operator, *(old if made is None else made for old, made in zip(same, result, strict=True))
        )

    def _input(self, rewriting: Rewriting, node: Node, source: int) -> int | None:
        """Return the replacement of an input of a node; None if none pays, or if the input is part of a larger
        conjunction.
        """
        operator, is_head = node.operator, not isinstance(rewriting.node(source).operator, ops.Map)
        if isinstance(operator, ops.Map):
            live = {name for e in operator.expressions for name in columns_of(e)}
            return self._narrowed(rewriting, source, live, rewriting.number in self.as_sets)
        if isinstance(operator, ops.Aggregate) and is_head:
            live = {*operator.keys, *(name for call in operator.calls for name in call.columns)}
            return self._narrowed(rewriting, source, live, source in self.as_sets)
        if isinstance(operator, ops.Distinct | ops.Plus | ops.Sink) and is_head:
            live = set(rewriting.circuit.type_of(source).schema.names)
            return self._narrowed(rewriting, source, live, source in self.as_sets)
        return None

    def _inside(self, rewriting: Rewriting, node: Node, fixpoint: ops.Fixpoint) -> int:
        """Return the fixpoint with its body rewritten."""
        inputs = rewriting.new(*node.inputs)
        sizes = self.work.sizes
        labels = [self._label(number) for number in inputs]
        rule = _Elimination(
            fixpoint.body,
            self.statistics,
            self.costs,
            self.decisions,
            self.present,
            self.is_large,
            lambda index: sizes.of(inputs[index]),
            labels,
        )
        body = Rewriting(fixpoint.body, rule).sweep(tuple(rewriting.made(i).type for i in inputs))
        return rewriting.add(replace(fixpoint, body=body), *inputs)

    def _narrowed(self, rewriting: Rewriting, source: int, live: set[str], as_set: bool) -> int | None:
        """Return the live columns of a conjunction, computed from hidden relations where these pay; else None."""
        whole = conjunction_of(rewriting.circuit, source)
        if len(whole.atoms) < 2 or (rewriting.circuit.depth and not as_set):
            return None
        nodes = {atom.node: rewriting.new(atom.node)[0] for atom in (*whole.atoms, *whole.absent)}
        conjunction = whole.over(nodes)
        result = self._reduced(rewriting, conjunction, live, as_set, self.views.get(source, ""))
        if result is conjunction:
            return None
        columns = tuple(c for c in rewriting.circuit.type_of(source).schema if c.name in live)
        made = build(rewriting.builder, result, [c.name for c in columns])
        if rewriting.builder.type_of(made).schema.columns == columns:
            return made
        return rewriting.add(ops.Map(columns, tuple(column(c.name) for c in columns)), made)

    def _reduced(
        self, rewriting: Rewriting, conjunction: NodeConjunction, live: set[str], as_set: bool, view: str
    ) -> NodeConjunction:
        """Return the conjunction with the parts that pay replaced by hidden relations."""
        while (chosen := self._choose(conjunction, live, as_set)) is not None:
            part, before, after = chosen
            decision = self._decision(part, view, before, after)
            self.decisions.append(decision)
            part = replace(part, inside=self._reduced(rewriting, part.inside, set(part.kept), as_set, view))
            relation = self._kept(rewriting, part, as_set, decision)
            conjunction = replace(part.rest, atoms=(NodeAtom(relation, part.kept), *part.rest.atoms))
        return conjunction

    # Which parts pay

    def _choose(
        self, conjunction: NodeConjunction, live: set[str], as_set: bool
    ) -> tuple[JoinPart, float | None, float | None] | None:
        """Return a part of the present plan, else the part that saves the most, with the work before and after.

        None if none does.
        """
        result: list[tuple[float, int, JoinPart, float | None, float | None]] = []
        joined = self.work.of(conjunction)
        before = None if joined is None else joined[1]
        if before is not None and before < self.costs.least and not self.present:
            return None
        possible = [part for part in parts(conjunction, live) if part.gone or not self._is_recursive(part)]
        for part in possible:
            after = self.work.split(part)
            place = self.places.get(self._definition(part))
            if place is not None:
                result.append((math.inf, -place, part, before, after))
            elif before is None or after is None:
                if self._seems_to_pay(conjunction, part, as_set):
                    result.append((0.0, 0, part, None, None))
            elif after <= self.costs.ratio * before and before - after >= self.costs.least:
                result.append((before - after, 0, part, before, after))
        return max(result, key=lambda each: each[:2])[2:] if result else None

    def _is_recursive(self, part: JoinPart) -> bool:
        """Return whether a part depends on a feedback; only relations of its recursion that are sets have
        iterations.
        """
        node = self.work.sizes.node
        waiting, seen = {atom.node for atom in part.inside.atoms}, set[int]()
        while waiting:
            seen |= waiting
            waiting = {source for number in waiting for source in node(number).inputs} - seen
        return any(isinstance(node(number).operator, ops.Feedback) for number in seen)

    def _seems_to_pay(self, conjunction: NodeConjunction, part: JoinPart, as_set: bool) -> bool:
        """Return the rule of thumb for unknown sizes: existence tests, sets of frequent values, narrow results of long
        joins.

        Joins are kept only if all atoms have unknown size, because a join that a table restricts is often larger
        without it.
        """
        if not as_set or not self.is_large or not part.gone:
            return False
        if not part.kept:
            return True
        if len(part.inside.atoms) == 1:
            size = self.work.size(part.inside.atoms[0])
            least = self.costs.fan_out * self.work.sizes.projected(size, part.kept).rows if size else 0.0
            return size is not None and size.rows >= max(least, self.costs.least)
        known = any(self.work.size(atom) for atom in (*part.inside.atoms, *part.rest.atoms))
        return not known and len(part.kept) <= self.costs.columns and bool(part.rest.atoms)

    # Building the relations

    def _decision(self, part: JoinPart, view: str, before: float | None, after: float | None) -> KeptDecision:
        """Return the decision to keep a part as a relation."""
        definition, parts = self._definition(part), part.gone or [self._label(atom.node) for atom in part.inside.atoms]
        name = unused(self.names.get(definition, "-".join([view, *parts])), self.decisions)
        return KeptDecision("eliminate", name, name + definition, before, after)

    def _definition(self, part: JoinPart) -> str:
        """Return the line of `explain` about the relation of a part."""
        atoms = (f"{self._label(atom.node)}({', '.join(atom.variables)})" for atom in part.inside.atoms)
        return f"({', '.join(part.kept)}) :- {', '.join(atoms)}"

    def _kept(self, rewriting: Rewriting, part: JoinPart, as_set: bool, decision: KeptDecision) -> int:
        """Return the node of the hidden relation of a part; if it exists already, the decision is dropped."""
        made = build(rewriting.builder, part.inside, part.kept)
        if as_set and not is_set(rewriting.builder.type_of(made)):
            made = rewriting.add(ops.Distinct(), made)
        if made in self.made:
            self.decisions.remove(decision)
        else:
            self.made[made] = rewriting.add(ops.Keep(decision.relation), made)
        return self.made[made]

    def _label(self, number: int) -> str:
        """Return the name of a node of the new circuit for users."""
        node = self.work.sizes.node(number)
        if isinstance(node.operator, ops.Import):
            return self.labels[node.operator.index]
        if isinstance(node.operator, ops.Keep) and not node.operator.name:
            return f"part of {self._label(node.inputs[0])}"
        if isinstance(node.operator, ops.Filter | ops.Map):
            return self._label(node.inputs[0])
        return getattr(node.operator, "name", f"%{number}")


def _read_as_sets(circuit: Circuit) -> set[int]:
    """Return the nodes with only positive weights whose readers ignore multiplicities."""
    result: set[int] = set()
    for number in reversed(range(len(circuit.nodes))):
        seen = [_sees_sets(circuit.nodes[r], number, r in result) for r in circuit.readers[number]]
        if seen and all(seen) and isinstance(circuit.nodes[number].type, ZSetType) and is_positive(circuit, number):
            result.add(number)
    return result


def _sees_sets(reader: Node, number: int, passed: bool) -> bool:
    """Return whether a reader of a node ignores multiplicities; `passed` says whether its own readers do."""
    operator = reader.operator
    if isinstance(operator, ops.Distinct):
        return True
    if isinstance(operator, ops.Aggregate):
        return bool(operator.calls) and all(ACCUMULATORS[call.function].of_sets for call in operator.calls)
    linear = isinstance(operator, ops.Map | ops.Filter | ops.Plus | ops.Join | ops.Semijoin | ops.FlatMap)
    return passed and (linear or (isinstance(operator, ops.Antijoin) and number == reader.inputs[0]))
