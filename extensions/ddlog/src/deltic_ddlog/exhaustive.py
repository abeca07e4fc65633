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
                if pattern.span != node.span and not is_useful(declarations, rows[:place], (pattern,), (type_,)):
                    yield pattern.span.error("the cases before this one cover all that it covers", "remove it")
        elif isinstance(node, core.AssignTo | core.ForEach):
            pattern = node.target if isinstance(node, core.AssignTo) else node.pattern
            if missing := uncovered(declarations, [(pattern,)], (pattern.type,)):
                message = f"this pattern does not cover `{missing[0]}`"
                yield pattern.span.error(message, "use `match`, which has a case for each")


def uncovered(declarations: Declarations, rows: Sequence[Row], types: tuple[DdlogType, ...]) -> tuple[str, ...] | None:
    """An example of values of these types that no row of patterns covers; None where there is none."""
    if not types:
        return None if rows else ()
    rows = [(_inside(first), *rest) for first, *rest in rows]
    heads = {_head(first) for first, *_ in rows if _has_head(first)}
    signature = _signature(declarations, content(types[0])) if heads else ()
    for head, fields in signature:
        result = uncovered(declarations, [*_specialised(rows, head, len(fields))], (*fields, *types[1:]))
        if result is not None:
            return (_shown(head, result[: len(fields)]), *result[len(fields) :])
    if signature:
        return None
    rest = uncovered(declarations, [tuple(rest) for first, *rest in rows if _is_any(first)], types[1:])
    return None if rest is None else ("_", *rest)


def is_useful(declarations: Declarations, rows: Sequence[Row], row: Row, types: tuple[DdlogType, ...]) -> bool:
    """Whether a row of patterns covers values of these types that no one of `rows` covers."""
    if not types:
        return not rows
    first, rest = _inside(row[0]), row[1:]
    rows = [(_inside(each), *others) for each, *others in rows]
    if not (_is_any(first) or _has_head(first)):
        same = [tuple(others) for each, *others in rows if _is_any(each) or _is_same(each, first)]
        return is_useful(declarations, same, rest, types[1:])
    signature = _signature(declarations, content(types[0])) if any(_has_head(r[0]) for r in (row, *rows)) else ()
    for head, fields in signature:
        for own in _specialised([(first, *rest)], head, len(fields)):
            if is_useful(declarations, [*_specialised(rows, head, len(fields))], own, (*fields, *types[1:])):
                return True
    others = [tuple(others) for each, *others in rows if _is_any(each)]
    return not signature and is_useful(declarations, others, rest, types[1:])


def _is_same(one: core.Pattern, other: core.Pattern) -> bool:
    """Whether both say one value."""
    return _value(one) is not None and _value(one) == _value(other)


def _signature(declarations: Declarations, type_: DdlogType) -> tuple[tuple[Head, tuple[DdlogType, ...]], ...]:
    """What values of a type may begin with, and what is in it; nothing where they are too many to tell."""
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
    """The value that a pattern says, if it says one."""
    is_literal = isinstance(pattern, core.Equal) and isinstance(pattern.expression, core.LiteralValue)
    return pattern.expression.value if is_literal else None  # type: ignore[attr-defined]


def _head(pattern: core.Pattern) -> Head:
    return pattern.constructor if isinstance(pattern, core.StructPattern) else bool(_value(pattern))


def _specialised(rows: Sequence[Row], head: Head, width: int) -> Iterator[Row]:
    """What is left to cover by the rows whose first pattern values with that head have."""
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
