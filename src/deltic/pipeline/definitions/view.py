"""Views defined by a circuit, its text, or a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltic.catalog import CatalogView, ViewDefinitions
from deltic.catalog.definitions import check_columns, check_name
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Sink
from deltic.errors import CatalogError

if TYPE_CHECKING:
    from deltic.pipeline.python.flow import Flow


def view_definition(name: str, given: Circuit | Flow | str, is_hidden: bool) -> ViewDefinitions:
    """Return the definition of a view by a circuit, its text, or a flow: the sink of that name, or the only sink.

    Raises ProgramError where the text cannot be read, CatalogError where the circuit has no such sink.
    """
    check_name(name)
    if isinstance(given, str):
        from deltic.circuit.reading.parser import parse_circuit

        if given.lstrip(" (\n").partition(" ")[0].upper() in ("SELECT", "WITH", "FROM", "VALUES"):
            raise CatalogError(
                f'view {name}: for SQL use pipeline.sql("CREATE VIEW {name} AS SELECT …"); the text here is a circuit'
            )
        circuit = parse_circuit(given, f"<{name}>")
    else:
        circuit = given if isinstance(given, Circuit) else given.circuit(name)
    sinks = list(circuit.sinks)
    if name not in sinks and len(sinks) != 1:
        result = f"the sinks {', '.join(sinks)}" if sinks else "no sink"
        raise CatalogError(f"view {name}: its circuit has {result}; name one of them {name}")
    chosen = circuit.part(name if name in sinks else sinks[0])
    part = chosen.with_operators(lambda _, operator: Sink(name) if isinstance(operator, Sink) else operator)
    type_ = part.type_of(part.sinks[name])
    check_columns(name, type_.schema)
    return ViewDefinitions((CatalogView(name, type_, is_hidden, str(part)),), part)
