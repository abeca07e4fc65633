"""What `explain` tells of a view: how an engine keeps it fresh, and what is derived on demand for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltic.calculus.inside import operators_inside
from deltic.calculus.planning.magic import Pushed
from deltic.catalog import Catalog
from deltic.circuit.operators import Feedback
from deltic.engine.protocol import Engine


def explained(name: str, full: bool, engine: Engine, catalog: Catalog, pushed: Sequence[Pushed] | None) -> str:
    """How a view is kept fresh; `pushed` are the recursions that derive what is asked, None where none was to."""
    told = engine.explain(name, full)
    lines = [] if pushed is None else [f"  {line}" for line in _demand_below(name, catalog, pushed)]
    return "\n".join([told, "", "derived on demand:", *lines]) if lines else told


def _demand_below(name: str, catalog: Catalog, pushed: Sequence[Pushed]) -> Iterator[str]:
    """What is derived on demand of the recursions that a view depends on, and what is not though it is declared."""
    inside = operators_inside(catalog.circuit.part(name))
    below = {operator.name for operator in inside if isinstance(operator, Feedback)}
    yield from (str(each) for each in pushed if each.relation in below)
    whole = below - {each.relation for each in pushed}
    reason = "some rule asks for all of it, or for what no rule of it hands on"
    for view in catalog.views.values():
        if view.demand is True and view.name in whole:
            yield f"{view.name}: all rows, though it is `magic`: {reason}"
