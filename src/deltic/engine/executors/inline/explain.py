"""What a user reads about a view: how it is kept fresh, in short; and its circuits, and why they are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from deltic.calculus import incrementalize
from deltic.calculus.passes import optimize
from deltic.calculus.passes.drop_unread import drop_unread
from deltic.calculus.report import bounded, cost_lines, operator_lines, recursion_lines, step_lines
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.engine.operators.query import Evaluation
from deltic.engine.recursion.signed.choosing import choices
from deltic.engine.recursion.strategy import Strategies, Strategy
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.state import State
from deltic.program.histories import Examined
from deltic.program.program import Program
from deltic.program.recursions import StratumFormulas

_KEEPS_RECURSIVE = {
    Strategy.NESTED: "by the number of derivations of each row at each iteration",
    Strategy.ELASTIC: "by the first iteration of each row and the number of its derivations there",
    Strategy.FULL: "recomputed when anything below it changes",
}
_LINES, _FEW = 80, 24
_FORMULAS = (
    "formulas of the recursion, and what comes (Δ) and goes (∇) by each change, in the order of the search "
    "(r': r after the change; + adds derivations up, and what comes and goes cancels)"
)
_QUERIES = (
    "kept relations, the column orders in which they are sorted, and their delta queries "
    "(Δr: the change of r, r': r after it)"
)


def summary(
    circuit: Circuit,
    view: str,
    program: Program,
    states: Mapping[str, State],
    evaluations: Sequence[Evaluation],
    strategies: Strategies,
) -> str:
    """How a view of `circuit` is kept fresh, on one screen: what its parts cost and keep; its delta queries."""
    relations = _relations(program.sinks[view], program, states, evaluations, strategies, plans=False)
    sections = {
        f"{view}: {circuit.type_of(circuit.sinks[view])}; its operators, how their work grows and what they keep": list(
            cost_lines(drop_unread(_optimized(circuit).part(view)))
        ),
        _FORMULAS: bounded(list(_formulas(program.sinks[view], program, evaluations, signed=True)), _FEW),
        _QUERIES: bounded(list(relations), _FEW),
    }
    return f"{_text(sections)}\n\nwith circuits, derivatives and plans: --full on the command line, full=True in Python"


@lru_cache(maxsize=2)
def _optimized(circuit: Circuit) -> Circuit:
    """The circuit as the engine runs it, cached for explanations of several views."""
    return inline(optimize(circuit))


def explain(
    circuit: Circuit,
    view: str,
    program: Program,
    states: Mapping[str, State],
    evaluations: Sequence[Evaluation],
    strategies: Strategies,
) -> str:
    """How a view of `circuit` is computed and kept, in five to seven sections.

    The circuit; the steps that make it incremental; the derivative of each of its operators, why it is right and what
    it costs; for a recursive view the chain from naive evaluation to what is kept fresh, and the formulas of its rules
    with what comes and goes; the incremental circuit; and what the engine keeps and searches: for each relation its
    delta queries. Long circuits are cut, and other views are only named.
    """
    optimized = drop_unread(_optimized(circuit).part(view))
    circuit = circuit.part(view)
    sections = {
        "circuit": bounded(str(inline(circuit)).splitlines(), 2 * _LINES),
        "steps to the incremental circuit": list(step_lines(circuit)),
        "the derivative of each operator: why it is right, how its work grows, what it keeps": list(
            operator_lines(optimized)
        ),
        "recursion, from naive evaluation to what is kept fresh": list(recursion_lines(optimized)),
        _FORMULAS: list(_formulas(program.sinks[view], program, evaluations, signed=False)),
        "incremental circuit": bounded(str(incrementalize(circuit)).splitlines(), _LINES),
        _QUERIES: list(_relations(program.sinks[view], program, states, evaluations, strategies, plans=True)),
    }
    return _text(sections)


def _formulas(name: str, program: Program, evaluations: Sequence[Evaluation], signed: bool) -> Iterator[str]:
    """The recursions by which a relation is computed, as rules and queries say; where `signed`, of histories alone."""
    plans = {(e.query.rule, e.query.delta): e.plan for e in evaluations}
    needed = program.below(name)
    for stratum in program.strata:
        if stratum.recursive and stratum.signed >= signed and not needed.isdisjoint(stratum.relations):
            yield from StratumFormulas(program, stratum, lambda query: plans[query.rule, query.delta].met()).lines()


def _text(sections: Mapping[str, Sequence[str]]) -> str:
    return "\n\n".join(
        "\n".join([f"{title}:", *(f"  {line}" for line in lines)]) for title, lines in sections.items() if lines
    )


def _relations(
    name: str,
    program: Program,
    states: Mapping[str, State],
    evaluations: Sequence[Evaluation],
    strategies: Strategies,
    plans: bool,
) -> Iterator[str]:
    """What is kept of a relation and of all that it is derived from; their delta queries, with `plans` or without."""
    needed, views = program.below(name), set(program.sinks.values())
    by_head: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        by_head.setdefault(evaluation.query.head, []).append(evaluation)
    for stratum, relation in ((s, r) for s in program.strata for r in s.relations if r in needed):
        state = states[relation]
        columns = state.relation.schema.names
        orders = " ".join("[" + ",".join(columns[c] for c in order) + "]" for order in state.by_order)
        kept = [_keeps(state, strategies.of(stratum.relations))]
        kept += [f"refresh policy {stratum.refresh}"] * bool(stratum.refresh)
        kept += [f"sorted {orders}"] * bool(orders)
        kept += [f"{state.nbytes / 1024:,.1f} KiB now"] * bool(state.nbytes)
        yield f"{relation}: {'; '.join(kept)}"
        yield from (f"  {line}" for line in state.relation.definition.describe(columns))
        if isinstance(definition := state.relation.definition, Examined):
            yield from (f"  {line}" for line in choices(definition, states, state, evaluations[0].environment))
        queries = by_head.get(relation, [])
        if relation in views and relation != name:
            yield f"  {len(queries)} delta queries: explain {relation}"
            continue
        for evaluation in queries:
            lines = _plans(evaluation) if plans else evaluation.plan.describe().splitlines()[:1]
            yield from (f"  {line}" for line in lines)


def _keeps(state: State, strategy: Strategy) -> str:
    recursive = f"recursive set, {strategy.value}: {_KEEPS_RECURSIVE[strategy]}"
    return recursive if state.kind is RelationKind.RECURSIVE else state.kind.value


def _plans(evaluation: Evaluation) -> Iterator[str]:
    """The plan of a query, and that for large changes at the present sizes where it is another."""
    yield from evaluation.plan.describe().splitlines()
    actual = evaluation.actual
    if actual.changed:
        expected = evaluation.estimate()
        yield f"    expected for a changed row: {expected.visited:.3g} visited, {expected.derived:.3g} derivations"
        yield (
            f"    so far, for {actual.changed:,} changed rows: "
            f"{actual.visited:,} visited, {actual.derived:,} derivations"
        )
    grouped = evaluation.by_groups()
    if grouped is not None:
        yield "  a large change, by groups of its rows:"
        yield from grouped.plan.describe().splitlines()[1:]
