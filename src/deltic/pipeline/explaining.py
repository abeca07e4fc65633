"""The text of `explain` for a view: how it is maintained, and what is derived on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltic.calculus.inside import operators_inside
from deltic.calculus.planning.magic import PushedDemand
from deltic.catalog import Catalog
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import UNTIMED, computing_rules
from deltic.circuit.operators import Feedback, Fixpoint, Source
from deltic.datalog.souffle.functions.structures import as_written
from deltic.engine.protocol import Engine
from deltic.html import preformatted
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.epochs.lateness import watermarks
from deltic.pipeline.options import Recursion


class PlanText(str):
    """How a view is kept fresh, as text; a notebook shows the circuit of the view above it."""

    circuit: Circuit
    """What the view is defined by."""

    __repr__ = str.__str__

    def _repr_html_(self) -> str:
        return self.circuit._repr_html_() + preformatted(self)


def explained(
    name: str,
    full: bool,
    engine: Engine,
    definitions: Definitions,
    limits: Recursion,
    pushed: Sequence[PushedDemand] | None,
    bound: str,
) -> PlanText:
    """Return how a view is kept fresh.

    `limits` are those of recursions; `pushed` are the recursions that derive what is asked, None where none was to;
    `bound` is why no epoch runs elsewhere, "" where the engine says it.
    """
    text, catalog = as_written(engine.explain(name, full)), definitions.catalog
    parts = {
        "event time": _times_below(name, engine, catalog),
        "limits of recursions that compute values": _limits(name, catalog, limits),
        "derived on demand": () if pushed is None else _demand_below(name, catalog, pushed),
        "outside": _outside(name, definitions),
        "placement": [bound] if bound else (),
    }
    for title, result in parts.items():
        lines = list(result)
        if lines:
            text = "\n".join([text, "", f"{title}:", *(f"  {line}" for line in lines)])
    plan = PlanText(text)
    plan.circuit = catalog.circuit_of(name)
    return plan


def _outside(name: str, definitions: Definitions) -> Iterator[str]:
    """Yield the sources of the tables that a view depends on, and its publications."""
    below = [op.name for op in definitions.catalog.circuit_of(name).operators if isinstance(op, Source)]
    yield from (f"{t} has the rows of {definitions.sources[t]}" for t in below if t in definitions.sources)
    yield from (f"published to {made.to}" for made in definitions.published(name))


def _times_below(name: str, engine: Engine, catalog: Catalog) -> Iterator[str]:
    """Yield the lateness and watermarks of the tables that a view depends on."""
    marks = watermarks(catalog, engine)
    for operator in catalog.circuit_of(name).operators:
        if isinstance(operator, Source) and (late := catalog.tables[operator.name].lateness) is not None:
            mark = marks[operator.name]
            now = "none is yet" if mark is None else f"now those before {mark}"
            yield f"{operator.name}: {late.sentence(catalog.tables[operator.name].schema)}: {now}"


def _limits(name: str, catalog: Catalog, limits: Recursion) -> Iterator[str]:
    """Yield the limits of recursions that compute values, among those that a view depends on."""
    for operator in operators_inside(catalog.circuit_of(name)):
        if isinstance(operator, Fixpoint) and computing_rules(operator.body):
            timeout = limits.recursion_timeout
            time = "" if timeout is None else f", and {timeout:g} s past the first {UNTIMED} (recursion_timeout)"
            names = ", ".join(operator.body.sinks)
            yield f"{names}: {limits.iteration_limit:,} iterations (iteration_limit){time}"


def _demand_below(name: str, catalog: Catalog, pushed: Sequence[PushedDemand]) -> Iterator[str]:
    """Yield which recursions below a view derive on demand, and which do not although they are declared so."""
    inside = operators_inside(catalog.circuit_of(name))
    below = {operator.name for operator in inside if isinstance(operator, Feedback)}
    yield from (str(each) for each in pushed if each.relation in below)
    whole = below - {each.relation for each in pushed}
    reason = "some rule asks for all of it, or for what no rule of it hands on"
    for view in catalog.views.values():
        if view.demand is True and view.name in whole:
            yield f"{view.name}: all rows, though it is `magic`: {reason}"
