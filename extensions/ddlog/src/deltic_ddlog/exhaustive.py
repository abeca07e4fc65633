"""Whether the cases of a `match` cover all values, and each some that those before it do not: Maranget's usefulness.

A value that no case covers is reported by an example: its constructors as far as they matter, `_` for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltic.datalog.syntax.expressions import nodes_in
from deltic.errors import Diagnostic
from deltic_ddlog import core
from deltic_ddlog.declarations import Declarations
from deltic_ddlog.types import Bool, DdlogType, Named, Tuple, content
from deltic_ddlog.values import Constructor

Row = tuple[core.Pattern, ...]
Head = Constructor | bool | None
"""What a value begins with: a constructor, a Boolean, or the tuple of its items (None)."""
Signature = tuple[tuple[Head, tuple[DdlogType, ...]], ...]
"""What values of a type may begin with, each with the types of what is in it."""


def check_patterns(declarations: Declarations, expression: core.TypedExpression) -> Iterator[Diagnostic]:
    """Findings for each `match`, assignment and loop in an expression whose patterns leave values, or cover none."""
    for node in nodes_in(expression):
        if isinstance(node, core.MatchOn):
            rows, type_ = [(pattern,) for pattern, _ in node.cases], node.subject.type
            if missing := uncovered(declarations, rows, (type_,)):
                message = f"no case of this `match` covers `{missing[0]}`"
                yield node.span.error(
                    message, f"add a case for it, or `_ -> ...` at the end: a `{type_}` has all cases"
                )
            for place, (pattern, _) in enumerate(node.cases):
                # What a `match` of statements ends with has no place of its own.
                if pattern.span != node.span and uncovered(declarations, rows[:place], (type_,), (pattern,)) is None:
                    yield pattern.span.error("the cases before this one cover all that it covers", "remove it")
        elif isinstance(node, core.AssignTo | core.ForEach):
            pattern = node.target if isinstance(node, core.AssignTo) else node.pattern
            if missing := uncovered(declarations, [(pattern,)], (pattern.type,)):
                message = f"this pattern does not cover `{missing[0]}`"
                yield pattern.span.error(message, "use `match`, which has a case for each")


def uncovered(
    declarations: Declarations, rows: Sequence[Row], types: tuple[DdlogType, ...], within: Row | None = None
) -> tuple[str, ...] | None:
    """Return an example of values of these types that no row of patterns covers; None where there is none.

    With a row `within`, of the values that it covers.
    """
    if not types:
        return None if rows else ()
    rows = [(_inside(first), *rest) for first, *rest in rows]
    own, rest = (_inside(within[0]), within[1:]) if within else (None, None)
    left = [tuple(others) for first, *others in rows if _is_any(first) or (own and _is_same(first, own))]
    signature: Signature = ()
    if own is None or _is_any(own) or _has_head(own):
        has_heads = any(_has_head(first) for first, *_ in ([*rows, (own,)] if own else rows))
        signature = _signature(declarations, content(types[0])) if has_heads else ()
    for head, fields in signature:
        behind = [*_specialised(rows, head, len(fields))]
        for inside in [None] if own is None or rest is None else _specialised([(own, *rest)], head, len(fields)):
            result = uncovered(declarations, behind, (*fields, *types[1:]), inside)
            if result is not None:
                return (_shown(head, result[: len(fields)]), *result[len(fields) :])
    result = None if signature else uncovered(declarations, left, types[1:], rest)
    return None if result is None else ("_", *result)


def _is_same(one: core.Pattern, other: core.Pattern) -> bool:
    """Return whether both mean the same value."""
    return _value(one) is not None and _value(one) == _value(other)


def _signature(declarations: Declarations, type_: DdlogType) -> Signature:
    """Return the heads of a type's values with the types of their parts; empty if there are too many."""
    match type_:
        case Bool():
            return ((False, ()), (True, ()))
        case Tuple(items):
            return ((None, items),)
        case Named() if entry := declarations.struct(type_):
            return tuple((c.constructor, declarations.fields(type_, c)) for c in entry.constructors)
    return ()


def _inside(pattern: core.Pattern) -> core.Pattern:
    while isinstance(pattern, core.As):
        pattern = pattern.pattern
    return pattern


def _is_any(pattern: core.Pattern) -> bool:
    return isinstance(pattern, core.Anything | core.Bind | core.AssignedPlace)


def _has_head(pattern: core.Pattern) -> bool:
    return isinstance(pattern, core.StructPattern) or isinstance(_value(pattern), bool)


def _value(pattern: core.Pattern) -> object:
    """Return the literal value of a pattern, if it has one."""
    is_literal = isinstance(pattern, core.Equal) and isinstance(pattern.expression, core.LiteralValue)
    return pattern.expression.value if is_literal else None  # type: ignore[attr-defined]


def _head(pattern: core.Pattern) -> Head:
    return pattern.constructor if isinstance(pattern, core.StructPattern) else bool(_value(pattern))


def _specialised(rows: Sequence[Row], head: Head, width: int) -> Iterator[Row]:
    """Yield the rows whose first pattern matches that head, specialised to its parts."""
    for first, *rest in rows:
        if _is_any(first):
            yield (*(core.Anything(first.type, span=first.span) for _ in range(width)), *rest)
        elif _has_head(first) and _head(first) == head:
            yield (*(first.parts if isinstance(first, core.StructPattern) else ()), *rest)


def _shown(head: Head, parts: tuple[str, ...]) -> str:
    if head is None:
        return f"({', '.join(parts)})"
    if isinstance(head, bool):
        return "true" if head else "false"
    name = head.name.rpartition("::")[2]
    return f"{name}{{{', '.join(parts)}}}" if parts else name
