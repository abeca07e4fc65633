"""What builders of the syntax tree share: the source, the findings so far, parts of lark's trees, chains of operators.

Only associative operators form chains, `x1 + x2 - x3 + …`: one node of many operands instead of deeply nested nodes. A
difference is a sum with a negated operand, which is equivalent for integers, which wrap around, and for floats, whose
sums are computed from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token, Tree

from deltic.datalog.souffle.words import RESERVED
from deltic.datalog.syntax.source import ProgramText, Span
from deltic.errors import Diagnostic

Parsed = Tree[Token]
Part = Parsed | Token

UNSUPPORTED = {
    "stateful": (
        "stateful functors are not supported",
        "their values would depend on the order of evaluation; declare it without `stateful` if it is a function",
    ),
    "lattice": (
        "lattices (.lattice, <>) are not supported",
        "an aggregate or a subsumption (`<=`) keeps the least or greatest value of a group",
    ),
    "delta": (
        "debug_delta relations are not supported",
        "they have the iterations of Soufflé's evaluation; count in an attribute: `n + 1`",
    ),
    "iteration": (
        "recursive_iteration_cnt() is not supported",
        "its value would depend on the order of evaluation; count in an attribute: `n + 1`",
    ),
    "user_aggregate": (
        "aggregates by a functor and an initial value (@@f x : start, ...) are not supported",
        "their values would depend on the order of rows; make one by deltic.aggregate in Python: `@@f x : ...`",
    ),
    "counter": ("counters ($ and autoinc()) are not supported", "their values would depend on the order of evaluation"),
}
"""Constructs of Soufflé that are not supported: a message and a hint for each, by its name in the grammar."""


class ParseContext:
    """The state of building the syntax tree of one text."""

    def __init__(self, source: ProgramText) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []

    def span(self, part: Part) -> Span:
        """Return the position of a part of lark's tree."""
        place = part if isinstance(part, Token) else part.meta
        return self.source.place(place.start_pos or 0, place.end_pos or 0)

    def report(self, part: Part, message: str, hint: str = "") -> None:
        """Add a finding about a part."""
        self.findings.append(self.span(part).error(message, hint))

    def reject(self, part: Part, construct: str) -> None:
        """Report a construct that is not supported."""
        self.report(part, *UNSUPPORTED[construct])

    def name(self, token: Token) -> str:
        """Return an identifier that programs may declare; reserved words are reported."""
        if token in RESERVED:
            self.report(
                token, f"`{token}` is a reserved word and cannot be a name", f"choose another name, such as `{token}_`"
            )
        return str(token)

    def qualified(self, token: Token) -> str:
        """Return the name of a relation or type, optionally qualified by an instance."""
        return str(token) if token.type == "QUALIFIED" else self.name(token)


def trees(parent: Parsed, name: str) -> Iterator[Parsed]:
    """Return the child trees with that name."""
    return (child for child in parent.children if isinstance(child, Tree) and child.data == name)


def tree(parent: Parsed, name: str) -> Parsed | None:
    """Return the first child tree with that name, None if there is none."""
    return next(trees(parent, name), None)


def tokens(parent: Parsed) -> list[Token]:
    """Return the children of a tree that are tokens."""
    return [child for child in parent.children if isinstance(child, Token)]


LONGEST = 32
"""The most operators of a chain that are built as nested nodes of two operands."""

DEEPEST = 100
"""The most levels of a program, so that no later step overflows the stack."""

_LEVELS = frozenset(
    (
        *("aggregate", "binary", "prefix", "call", "extremum", "cast", "record", "adt_value"),
        *("negation", "conjunction", "disjunction", "implication", "quantified"),
    )
)
_FAMILIES = {
    **dict.fromkeys(("+", "-"), "+"),
    **{operator: operator for operator in ("*", "band", "bor", "bxor", "land", "lor", "lxor")},
}
"""The operator of the chain to which each operator belongs."""


def family_of(parsed: Parsed) -> str | None:
    """Return the operator of a chain that ends with this tree, None if it is not part of one."""
    return _FAMILIES.get(str(parsed.children[1])) if parsed.data == "binary" else None


def goes_on(parsed: Parsed, child: Part) -> bool:
    """Return whether the child of a tree continues its chain to the left."""
    family = family_of(parsed)
    is_left = family is not None and child is parsed.children[0]
    return is_left and isinstance(child, Tree) and family_of(child) == family


def chain_of(parsed: Parsed) -> tuple[Part, list[tuple[Token, Part]]]:
    """Return the first operand of a chain, and the others from left to right, each with its operator."""
    rest: list[tuple[Token, Part]] = []
    current: Part = parsed
    while isinstance(current, Tree):
        left, operator, right = current.children
        assert isinstance(operator, Token)
        rest.append((operator, right))
        if not goes_on(current, left):
            return left, rest[::-1]
        current = left
    return current, rest[::-1]


def too_deep(program: Parsed) -> Parsed | None:
    """Return the first part of a program nested more than `DEEPEST` levels deep; an operator chain is one level."""
    pending: list[tuple[Parsed, int]] = [(program, 0)]
    while pending:
        current, depth = pending.pop()
        if depth > DEEPEST:
            return current
        for child in reversed(current.children):
            if isinstance(child, Tree):
                pending.append((child, depth + (child.data in _LEVELS and not goes_on(current, child))))
    return None
