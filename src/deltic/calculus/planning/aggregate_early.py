"""Early aggregation: a part of a join is grouped by the columns that the rest needs and aggregated before the join.

For Z-sets a and b without negative weights, K the columns by which their join is grouped, c a column of a, S those
columns of a that b or K has, and s the result of γ_{S; f(c)}(a):

    γ_{K; f(c)}(a ⋈ b) = γ_{K; g(s)}(γ_{S; f(c)}(a) ⋈ b)

where g combines the results for parts of a group: a sum of sums, because multiplication by the weights of b distributes
over addition; a sum of counts; a minimum of minima, a maximum of maxima. Sums must be of integers, which wrap around
and so form a ring; sums of floats and decimals are rounded, or overflow, only at the end. An aggregate of a column of b
that ignores multiplicities is unchanged [eager aggregation, Yan & Larson 1995].
"""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.passes.delay_distinct import is_positive
from deltic.calculus.passes.rewriting import Rewriting
from deltic.calculus.planning.conjunction import NodeAtom, NodeConjunction, build, conjunction_of
from deltic.calculus.planning.decision import COSTS, KeptDecision, RewriteCosts, unused
from deltic.calculus.planning.parts import JoinPart, parts
from deltic.calculus.planning.statistics import Sizes, Statistics
from deltic.calculus.planning.work import Work, views
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node

# The function that combines the results for parts of a group.
_WHOLE = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
# Aggregates that depend only on the set of their column's values.
_OF_SETS = {"min", "max"}

Calls = tuple[ops.AggregateCall, ...]


def aggregate_early(
    circuit: Circuit, statistics: Statistics, costs: RewriteCosts = COSTS
) -> tuple[Circuit, list[KeptDecision]]:
    """Return the circuit with hidden relations of partial aggregates where that is cheaper, and the decisions."""
    decisions: list[KeptDecision] = []
    named = views(circuit)

    def rule(rewriting: Rewriting, node: Node) -> int | None:
        operator = node.operator
        if rewriting.circuit is not circuit or not isinstance(operator, ops.Aggregate):
            return None
        (source,) = node.inputs
        if not is_positive(circuit, source):
            return None
        whole = conjunction_of(circuit, source)
        nodes = {atom.node: rewriting.new(atom.node)[0] for atom in (*whole.atoms, *whole.absent)}
        early = _Early(rewriting, Work(Sizes(rewriting.made, statistics), costs), decisions, named.get(source, ""))
        return early.made(whole.over(nodes), operator.keys, operator.calls)

    return Rewriting(circuit, rule).sweep(()), decisions


class _Early:
    """Builds one aggregate for `view` in the new circuit."""

    def __init__(self, rewriting: Rewriting, work: Work, decisions: list[KeptDecision], view: str) -> None:
        self.rewriting, self.work, self.decisions, self.view = rewriting, work, decisions, view
        self.partial: set[int] = set()

    def made(self, conjunction: NodeConjunction, keys: tuple[str, ...], calls: Calls) -> int | None:
        """Return the aggregate of a conjunction with parts of it aggregated early; None if that never pays."""
        chosen = self._choose(conjunction, keys, calls)
        if chosen is None:
            return None
        part, before, after = chosen
        inside, outside = self._divided(part, conjunction, calls)
        relation = self._kept(part, inside, before, after)
        rest = replace(part.rest, atoms=(NodeAtom(relation, (*part.kept, *(c.name for c in inside))), *part.rest.atoms))
        return self._aggregate(rest, keys, outside)

    def _aggregate(self, conjunction: NodeConjunction, keys: tuple[str, ...], calls: Calls) -> int:
        """As `made`, but the plain aggregate if early aggregation does not pay."""
        made = self.made(conjunction, keys, calls)
        if made is not None:
            return made
        read = dict.fromkeys((*keys, *(call.column for call in calls if call.column)))
        return self.rewriting.add(ops.Aggregate(keys, calls), build(self.rewriting.builder, conjunction, list(read)))

    def _choose(
        self, conjunction: NodeConjunction, keys: tuple[str, ...], calls: Calls
    ) -> tuple[JoinPart, float, float] | None:
        """Return the part that saves the most work, with the work before and after; None if none does."""
        result: list[tuple[float, JoinPart, float, float]] = []
        joined, costs = self.work.of(conjunction), self.work.costs
        if joined is None or joined[1] < costs.least:
            return None
        before = joined[1]
        for part in parts(conjunction, set(keys)):
            after = self.work.split(part) if self._divides(part, calls) else None
            if after is not None and after <= costs.ratio * before and before - after >= costs.least:
                result.append((before - after, part, before, after))
        return max(result, key=lambda each: each[0])[1:] if result else None

    def _divides(self, part: JoinPart, calls: Calls) -> bool:
        """Return whether partial aggregates of the part, some over variables that only it has, determine all
        results.
        """
        if {atom.node for atom in part.inside.atoms} <= self.partial or any(len(call.columns) > 1 for call in calls):
            return False
        variables = _variables(part.inside)
        own = [call for call in calls if call.column in variables]
        others = [call for call in calls if call.column not in variables and call.column]
        return (
            any(call.column not in part.kept for call in own)
            and all(call.function in _WHOLE and self._wraps(part.inside, call) for call in own)
            and all(call.function in _OF_SETS for call in others)
        )

    def _wraps(self, inside: NodeConjunction, call: ops.AggregateCall) -> bool:
        """Return whether the aggregate is not a sum, or a sum of integers."""
        schemas = ((atom, self.work.sizes.schema(atom.node)) for atom in inside.atoms)
        types = {v: column.type for atom, schema in schemas for v, column in zip(atom.variables, schema, strict=True)}
        return call.function != "sum" or types[call.column].is_integer

    def _divided(self, part: JoinPart, whole: NodeConjunction, calls: Calls) -> tuple[Calls, Calls]:
        """Return the aggregates of the part, and the final aggregates that combine them, in the order of `calls`."""
        variables, taken = _variables(part.inside), _variables(whole)
        inside: list[ops.AggregateCall] = []
        outside: list[ops.AggregateCall] = []
        for call in calls:
            if call.column and call.column not in variables:
                outside.append(call)
                continue
            name = call.name
            while name in taken:
                name += "'"
            taken.add(name)
            inside.append(replace(call, name=name))
            outside.append(replace(call, function=_WHOLE[call.function], column=name))
        return tuple(inside), tuple(outside)

    def _kept(self, part: JoinPart, calls: Calls, before: float, after: float) -> int:
        """Return the node of the hidden relation of a part's aggregates."""
        name = unused("-".join([self.view, *dict.fromkeys(call.function for call in calls)]), self.decisions)
        read = [f"{self._label(atom.node)}({', '.join(atom.variables)})" for atom in part.inside.atoms]
        message = ", ".join(f"{c.name} = {c.function} {c.column}".rstrip() for c in calls)
        text = f"{name}({', '.join([*part.kept, *(c.name for c in calls)])}) :- {message} : {{ {', '.join(read)} }}"
        self.decisions.append(KeptDecision("eliminate", name, text, before, after))
        made = self.rewriting.add(ops.Keep(name), self._aggregate(part.inside, part.kept, calls))
        self.partial.add(made)
        return made

    def _label(self, number: int) -> str:
        """Return the name of a node of the new circuit for users."""
        return getattr(self.rewriting.made(number).operator, "name", f"%{number}")


def _variables(conjunction: NodeConjunction) -> set[str]:
    return {variable for atom in conjunction.atoms for variable in atom.variables}
