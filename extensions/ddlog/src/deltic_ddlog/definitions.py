"""What a checked program says of its types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deltic_ddlog import syntax as s
from deltic_ddlog.checked import TypeDefinition
from deltic_ddlog.declarations import Declarations
from deltic_ddlog.modules import Module
from deltic_ddlog.serde import form_of
from deltic_ddlog.values import Constructor

KeyFunction = Callable[[Module, s.ParsedExpression | s.TypeMention | None], Callable[[Any], Any]]
"""What gives the function that an attribute of a module names."""


def type_definitions(declarations: Declarations, keys: KeyFunction) -> Mapping[str, TypeDefinition]:
    """The types by their names; an alias is none of its own. `keys` is asked when JSON is read."""
    result = {}
    for name, entry in declarations.types.entries.items():
        constructors = tuple((made.constructor, made.fields) for made in entry.constructors)

        def key(attribute: s.AttributeAnnotation, module: Module = entry.module) -> Callable[[], Callable[[Any], Any]]:
            return lambda: keys(module, attribute.value)

        if entry.alias is None:
            form = form_of(entry.declaration, key) if constructors else None
            result[name] = TypeDefinition(name, entry.parameters, constructors, form)
    return result


def constructor_definitions(
    declarations: Declarations, types: Mapping[str, TypeDefinition]
) -> Mapping[str, tuple[TypeDefinition, Constructor]]:
    """The constructors by their names, with their types."""
    entries = declarations.constructors.entries
    return {name: (types[entry.type], entry.constructor) for name, entry in entries.items()}
