"""Large expressions as parts of others: one that a function has several times is computed once.

Rules of functions copy their operands, and some, such as that of abs, have them several times in what they make. Of an
expression inside of many others that would be as many copies as there are functions around it, or many times more. So a
rule gets a name in the place of a large one, which is put in when the rule is done: itself, or by a Let.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from sqlglot import exp

from deltic.circuit.expressions import Let, TreePart, bound, is_checked
from deltic.sql.scalars.typed import Typed, of_node

LARGE = 64
"""The nodes from which an expression is a part."""
_NUMBERS = itertools.count()
"""Numbers of parts, none of which is left in what is made: a rule may have those of another translation, too."""


@dataclass(frozen=True)
class _Large:
    value: Typed
    size: int
    lets: int
    """The greatest number of a name in it."""


@dataclass
class Parts:
    """The large expressions that wait for the rule of what is around them, by their names."""

    waiting: dict[str, _Large] = field(default_factory=dict)

    def named(self, value: Typed) -> Typed:
        """A value in which parts are put in; or the name of it, where it is a large one."""
        found, size, lets = self._put(value)
        if size <= LARGE or found.is_null:
            return found
        name = f"\0{next(_NUMBERS)}"
        self.waiting[name] = _Large(found, size, lets)
        node = TreePart(this=exp.Identifier(this=name), checked=is_checked(found.expression))
        return Typed(node, found.type, fields=found.fields)

    def whole(self, value: Typed) -> Typed:
        """A value in which parts are put in."""
        return self._put(value)[0]

    def _put(self, value: Typed) -> tuple[Typed, int, int]:
        """A value with its parts, how many nodes it has, and the greatest number of a name in it."""
        if isinstance(value.expression, TreePart) and value.expression.name in self.waiting:
            large = self.waiting[value.expression.name]
            return large.value, large.size, large.lets
        places: dict[str, list[TreePart]] = {}
        size = lets = 0
        for node in value.expression.walk():
            size += 1
            if isinstance(node, Let):
                lets = max(lets, int(node.expressions[0].name[1:]))
            elif isinstance(node, TreePart) and node.name in self.waiting:
                places.setdefault(node.name, []).append(node)
        for name, parts in places.items():
            large = self.waiting[name]
            size, lets = size + large.size, max(lets, large.lets)
            if len(parts) == 1:
                parts[0].replace(large.value.expression)
        for name, parts in places.items():
            if len(parts) > 1:
                lets += 1
                value = _let(f"${lets}", self.waiting[name].value, parts, value)
        return value, size, lets


def _let(name: str, part: Typed, places: list[TreePart], value: Typed) -> Typed:
    """The value with a name for what stands in several places of it."""
    type_ = part.type
    for place in places:
        place.replace(bound(name, type_.type, sure=not type_.nullable))
    node = Let(expressions=[exp.Literal.string(name), part.expression, value.expression])
    return replace(of_node(node, part, value), fields=value.fields)
