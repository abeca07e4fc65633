"""Large expressions as parts of others: if a function uses one several times, it is computed once.

Rules of functions copy their operands, and some, such as that of abs, use them several times. Nested calls would
multiply these copies. So a rule gets a name for a large operand, which is replaced after the rule: by the operand
itself, or by a Let.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from sqlglot import exp

from deltic.circuit.expressions import Checked, Let, TreePart, bound, nodes_of, put
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
    is_checked: bool
    """Whether it may be an error."""


@dataclass
class Parts:
    """The large expressions that wait for the rule of what is around them, by their names."""

    waiting: dict[str, _Large] = field(default_factory=dict)

    def named(self, value: Typed) -> Typed:
        """Return a value with its parts filled in; the name of a large one."""
        result = self._put(value)
        if result.size <= LARGE or result.value.is_null:
            return result.value
        name = f"\0{next(_NUMBERS)}"
        self.waiting[name] = result
        node = TreePart(this=exp.Identifier(this=name), checked=result.is_checked)
        return replace(result.value, expression=node, is_number=False)

    def whole(self, value: Typed) -> Typed:
        """Return a value with its parts filled in."""
        return self._put(value).value

    def _put(self, value: Typed) -> _Large:
        """Return a value with its parts."""
        if isinstance(value.expression, TreePart) and value.expression.name in self.waiting:
            return self.waiting[value.expression.name]
        places: dict[str, list[TreePart]] = {}
        lets, is_checked = 0, False
        nodes = nodes_of(value.expression)
        size = len(nodes)
        for node in nodes:
            if isinstance(node, Checked):
                is_checked = True
            elif isinstance(node, Let):
                lets = max(lets, int(node.expressions[0].name[1:]))
            elif isinstance(node, TreePart) and node.name in self.waiting:
                places.setdefault(node.name, []).append(node)
        for name, parts in places.items():
            large = self.waiting[name]
            size, lets, is_checked = size + large.size, max(lets, large.lets), is_checked or large.is_checked
            if len(parts) == 1:
                put(parts[0], large.value.expression)
        for name, parts in places.items():
            if len(parts) > 1:
                lets += 1
                value = _let(f"${lets}", self.waiting[name].value, parts, value)
        return _Large(value, size, lets, is_checked)


def _let(name: str, part: Typed, places: list[TreePart], value: Typed) -> Typed:
    """Return the value, in which repeated parts are named by a Let."""
    type_ = part.type
    for place in places:
        place.replace(bound(name, type_.type, sure=not type_.nullable))
    node = Let(expressions=[exp.Literal.string(name), part.expression, value.expression])
    return replace(of_node(node, part, value), modifier=value.modifier)
