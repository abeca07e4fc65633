"""The texts of `explain`: how a view is maintained, in short; its circuits, and why they are right, in full."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from deltic.calculus import incrementalize
from deltic.calculus.passes import optimize
from deltic.calculus.passes.drop_unread import drop_unread
from deltic.calculus.report import bounded, cost_lines, operator_lines, recursion_lines, step_lines
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.engine.executors.stored_program import StoredProgram
from deltic.engine.maintenance import QueryPlan, RelationPlan
from deltic.engine.operators.beginning import work_of_a_row
from deltic.engine.operators.query import Evaluation
from deltic.engine.recursion.signed.choosing import choices
from deltic.engine.recursion.strategy import Strategy
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
_MORE = "with circuits, derivatives and plans: --full on the command line, full=True in Python"
DECISIONS = "what the refresh policy goes by"
FORGOTTEN = "what watermarks leave behind"
_LINES, _FEW = 80, 24
_FORMULAS = (
    "formulas of the recursion, and what comes (Δ) and goes (∇) by each change, in the order of the search "
    "(r': r after the change; + adds derivations up, and what comes and goes cancels)"
)
_QUERIES = (
    "kept relations, the column orders in which they are sorted, and their delta queries "
    "(Δr: the change of r, r': r after it)"
)


@lru_cache(maxsize=2)
def _optimized(circuit: Circuit) -> Circuit:
    """Return the circuit as the engine runs it, cached for explanations of several views."""
    return inline(optimize(circuit))


def explain(circuit: Circuit, view: str, full: bool, recursions: Sequence[str], storing: str) -> str:
    """Explain how a view of `circuit` is computed and maintained, on one screen, or in `full`.

    On one screen: its operators' costs and state. In full: the circuit; the steps that make it incremental; the
    derivative of each of its operators, why it is right and what it costs; for a recursive view the chain from naive
    evaluation to what is maintained; and the incremental circuit. Long circuits are cut, and other views are only
    named. `recursions` are the formulas of its rules; `storing` explains what the executor stores and searches.
    """
    sections = _in_full(circuit, view, recursions) if full else _in_short(circuit, view, recursions)
    return "\n\n".join([text_of(sections), storing, *([] if full else [_MORE])])


def _in_short(circuit: Circuit, view: str, recursions: Sequence[str]) -> dict[str, Sequence[str]]:
    title = f"{view}: {circuit.type_of(circuit.sinks[view])}; its operators, how their work grows and what they keep"
    costs = list(cost_lines(drop_unread(_optimized(circuit).part(view))))
    return {title: costs, _FORMULAS: bounded(recursions, _FEW)}


def _in_full(circuit: Circuit, view: str, recursions: Sequence[str]) -> dict[str, Sequence[str]]:
    optimized, circuit = drop_unread(_optimized(circuit).part(view)), circuit.part(view)
    return {
        "circuit": bounded(str(inline(circuit)).splitlines(), 2 * _LINES),
        "steps to the incremental circuit": list(step_lines(circuit)),
        "the derivative of each operator: why it is right, how its work grows, what it keeps": list(
            operator_lines(optimized)
        ),
        "recursion, from naive evaluation to what is kept fresh": list(recursion_lines(optimized)),
        _FORMULAS: recursions,
        "incremental circuit": bounded(str(incrementalize(circuit)).splitlines(), _LINES),
    }


def queries(name: str, program: Program, relations: Iterable[RelationPlan], full: bool = True) -> str:
    """Explain what is stored of a view and of the relations below it, and their delta queries; bounded if not full."""
    lines = list(_lines(name, program, relations))
    return text_of({_QUERIES: lines if full else bounded(lines, _FEW)})


def formulas(name: str, stored: StoredProgram, signed: bool) -> Iterator[str]:
    """Yield the formulas of the recursions that compute a relation; with `signed`, only those of histories."""
    plans = {(e.query.rule, e.query.delta): e.plan for e in stored.evaluations}
    program, needed = stored.program, stored.program.below(name)
    for stratum in program.strata:
        if stratum.recursive and stratum.signed >= signed and not needed.isdisjoint(stratum.relations):
            yield from StratumFormulas(program, stratum, lambda query: plans[query.rule, query.delta].met()).lines()


def text_of(sections: Mapping[str, Sequence[str]]) -> str:
    """Return sections with their titles, without empty ones."""
    return "\n\n".join(
        "\n".join([f"{title}:", *(f"  {line}" for line in lines)]) for title, lines in sections.items() if lines
    )


def maintenance(relations: Container[str], stored: StoredProgram, plans: bool = True) -> Iterator[RelationPlan]:
    """Yield what is stored for each of these relations, in the order of their strata, with their delta queries.

    Without `plans`, queries only have their text, which costs nothing.
    """
    by_head: dict[str, list[Evaluation]] = {}
    for evaluation in stored.evaluations:
        by_head.setdefault(evaluation.query.head, []).append(evaluation)
    for stratum, relation in ((s, r) for s in stored.program.strata for r in s.relations if r in relations):
        state = stored.states[relation]
        columns = state.relation.schema.names
        notes = list(state.relation.definition.describe(columns))
        if isinstance(definition := state.relation.definition, Examined):
            notes += choices(definition, stored.states, state, stored.environment)
        yield RelationPlan(
            relation,
            _keeps(state, stored.options.strategies.of(stratum.relations)),
            stratum.refresh or "",
            tuple(tuple(columns[c] for c in order) for order in state.by_order),
            state.nbytes,
            tuple(notes),
            tuple(_query_plan(evaluation, plans) for evaluation in by_head.get(relation, ())),
        )


def _query_plan(evaluation: Evaluation, plans: bool) -> QueryPlan:
    """Return the actual work of a query, with its plan, and the plan for large changes at the present sizes if it
    differs.
    """
    used = evaluation.by_look_ups() or evaluation.by_intervals() or evaluation
    text, *steps = used.plan.describe().splitlines()
    did = QueryPlan(text, evaluation.actual.changed, evaluation.actual.visited, evaluation.actual.derived)
    if not plans:
        return did
    visited, derived = work_of_a_row(used) if did.changed and used.plan.intervals is None else (None, None)
    grouped = evaluation.by_groups() if used is evaluation else None
    return replace(
        did,
        steps=tuple(map(str.strip, steps)),
        steps_by_groups=() if grouped is None else tuple(map(str.strip, grouped.plan.describe().splitlines()[1:])),
        expected_visited=visited,
        expected_derived=derived,
    )


def _lines(name: str, program: Program, relations: Iterable[RelationPlan]) -> Iterator[str]:
    """Yield the lines about relations and their queries. The queries of other views than `name` are only counted."""
    views = set(program.sinks.values())
    for each in relations:
        yield each.heading()
        yield from (f"  {note}" for note in each.notes)
        if each.relation in views and each.relation != name:
            yield f"  {len(each.queries)} delta queries: explain {each.relation}"
            continue
        for query in each.queries:
            yield f"  {query.text}"
            yield from (f"  {line}" for line in _plan_lines(query))


def _plan_lines(query: QueryPlan) -> Iterator[str]:
    """Yield the steps of a query's search, its expected work, and its actual work."""
    yield from (f"    {step}" for step in query.steps)
    if query.expected_visited is not None:
        visited, derived = query.expected_visited, query.expected_derived
        yield f"    expected for a changed row: {visited:.3g} visited, {derived:.3g} derivations"
        yield (
            f"    so far, for {query.changed:,} changed rows: {query.visited:,} visited, {query.derived:,} derivations"
        )
    if query.steps_by_groups:
        yield "  a large change, by groups of its rows:"
        yield from (f"    {step}" for step in query.steps_by_groups)


def _keeps(state: State, strategy: Strategy) -> str:
    recursive = f"recursive set, {strategy.value}: {_KEEPS_RECURSIVE[strategy]}"
    return recursive if state.kind is RelationKind.RECURSIVE else state.kind.value
