"""What a checked program says of its types."""

from __future__ import annotations

from collections.abc import Mapping

from deltic.datalog.ddlog.checked import TypeDefinition
from deltic.datalog.ddlog.declarations import Declarations
from deltic.datalog.ddlog.values import Constructor


def type_definitions(declarations: Declarations) -> Mapping[str, TypeDefinition]:
    """The types by their names; an alias is none of its own."""
    found = {}
    for name, entry in declarations.types.entries.items():
        constructors = tuple((made.constructor, made.fields) for made in entry.constructors)
        if entry.alias is None:
            found[name] = TypeDefinition(name, entry.parameters, constructors)
    return found


def constructor_definitions(declarations: Declarations) -> Mapping[str, tuple[TypeDefinition, Constructor]]:
    """The constructors by their names, with their types."""
    types = type_definitions(declarations)
    entries = declarations.constructors.entries
    return {name: (types[entry.type], entry.constructor) for name, entry in entries.items()}
