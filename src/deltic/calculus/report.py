"""The parts of `explain` about incrementalization: steps, derivatives, recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltic.calculus.derivatives import Derivative, derivative_of
from deltic.calculus.inside import operators_inside
from deltic.calculus.passes import OPTIMIZATIONS, optimize
from deltic.calculus.recursion import chain
from deltic.circuit import operators as ops
from deltic.circuit.edges import BundleType
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.values.words import some_of


def bounded(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, at most `most` in total, with a last one that counts the omitted ones."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"]


_SHOWN = 12


def operator_lines(circuit: Circuit) -> Iterator[str]:
    """Two lines for each row of the derivative table that the circuit uses, and a last one for fallbacks."""
    places: dict[type[ops.Operator], list[str]] = {}
    for place, operator in _places(circuit, ""):
        places.setdefault(type(operator), []).append(place)
    for row, kinds in _by_row(places).items():
        where = "; ".join(f"{kind.keyword} {some_of(places[kind], _SHOWN)}" for kind in kinds)
        yield f"{where}: {row.formula}  [{row.source}]"
        yield f"  {row.why}; {row.cost.value}; keeps {row.keeps}"
    yield from _last(circuit)


def cost_lines(circuit: Circuit) -> Iterator[str]:
    """Yield a line for each combination of cost and state of operators in the circuit, and a last one for fallbacks."""
    kinds = dict.fromkeys(type(operator) for operator in operators_inside(circuit))
    together: dict[tuple[str, str], list[str]] = {}
    for kind in kinds:
        row = derivative_of(kind)
        together.setdefault((row.cost.value, row.keeps), []).append(kind.keyword)
    for (cost, keeps), names in together.items():
        yield f"{', '.join(names)}: {cost}; keeps {keeps}"
    yield from _last(circuit)


def _last(circuit: Circuit) -> Iterator[str]:
    """Yield the lines about nested fixpoints, if there are any, and about operators without a derivative."""
    inside = [place for place, op in _places(circuit, "") if isinstance(op, ops.Fixpoint) and "/" in place]
    if inside:
        yield f"followed from iteration to iteration of the recursion around: fixpoint {some_of(inside, _SHOWN)}"
    yield _fallen(circuit)


def _fallen(circuit: Circuit) -> str:
    """Return the line about operators without a derivative, with their places; user-defined ones by their names."""
    places: dict[str, list[str]] = {}
    for place, operator in _places(circuit, ""):
        if derivative_of(type(operator)).is_fallback:
            called = operator.called if isinstance(operator, ops.Apply) else operator.keyword
            places.setdefault(called, []).append(place)
    return (
        f"recomputed from whole inputs: {'; '.join(f'{n} {some_of(w, _SHOWN)}' for n, w in places.items()) or 'none'}"
    )


def _by_row(kinds: dict[type[ops.Operator], list[str]]) -> dict[Derivative, list[type[ops.Operator]]]:
    """Return the types of operators grouped by their derivative."""
    rows: dict[Derivative, list[type[ops.Operator]]] = {}
    for kind in kinds:
        rows.setdefault(derivative_of(kind), []).append(kind)
    return rows


def _places(circuit: Circuit, prefix: str) -> Iterator[tuple[str, ops.Operator]]:
    """Yield the operators of a circuit and of nested ones, each with its path of numbers."""
    for number, operator in enumerate(circuit.operators):
        place = f"{prefix}%{number}"
        yield place, operator
        for _, body in operator.bodies():
            yield from _places(body, f"{place}/")


_STEPS = {
    "naive": "naive, every iteration from all rows",
    "semi_naive": "semi-naive, by the cycle rule: every iteration from what the one before found",
    "maintained": "maintained, lifted and incrementalized: `outer 1` is the past of epochs, else that of iterations",
}


def recursion_lines(circuit: Circuit, most: int = 50) -> Iterator[str]:
    """Yield the bodies of the brackets for the last fixpoint of the circuit, in at most `most` lines each.

    The last fixpoint is the closest to the view; one line names the relations of the others.
    """
    fixpoints = [n for n, op in enumerate(circuit.operators) if isinstance(op, ops.Fixpoint)]
    if not fixpoints:
        return
    steps = chain(circuit)
    for name, title in _STEPS.items():
        *_, last = (op for op in steps[name].operators if isinstance(op, ops.Bracket))
        yield f"{title} (%{fixpoints[-1]}: {_relations(circuit, fixpoints[-1])}):"
        yield from (f"  {line}" for line in bounded(str(last.body).splitlines(), most))
    if others := [f"%{n}: {_relations(circuit, n)}" for n in fixpoints[:-1]]:
        yield f"the others likewise: {'; '.join(others)}"


def _relations(circuit: Circuit, number: int) -> str:
    type_ = circuit.nodes[number].type
    assert isinstance(type_, BundleType)
    return ", ".join(name for name, _ in type_.entries)


def step_lines(circuit: Circuit, most: int = 60) -> Iterator[str]:
    """Yield a line for each step, and the optimized circuit if it differs, in at most `most` lines."""
    optimized = inline(optimize(circuit))
    if optimized == inline(circuit):
        yield "1 optimize   changes nothing"
    else:
        yield f"1 optimize   by {', '.join(applied(circuit))}; the circuit is then:"
        yield from (f"    {line}" for line in bounded(str(optimized).splitlines(), most))
    calls = sum(isinstance(op, ops.Call) for op in operators_inside(circuit))
    yield f"2 inline     {calls} called circuits are put in their places" if calls else "2 inline     no calls"
    yield "3 lift       every operator works at each epoch, those of a fixpoint at each of its iterations"
    yield f"4 surround   I after {_numbers(optimized, ops.Source)}, D before {_numbers(optimized, ops.Sink)}"
    yield "5 push       D is moved from the sinks to the I, by the derivative of each operator"


def applied(circuit: Circuit) -> list[str]:
    """Return the names of the passes that change the circuit, or one that it calls, in the order of their first
    effect.
    """
    names = {n: None for op in circuit.operators if isinstance(op, ops.Call) for n in applied(inline(op.circuit))}
    before = None
    while before != circuit:
        before = circuit
        for rewrite in OPTIMIZATIONS:
            rewritten = rewrite(circuit)
            if rewritten != circuit:
                names[rewrite.__name__] = None
            circuit = rewritten
    return list(names)


def _numbers(circuit: Circuit, kind: type[ops.Operator]) -> str:
    return ", ".join(f"%{number}" for number, op in enumerate(circuit.operators) if isinstance(op, kind)) or "nothing"
