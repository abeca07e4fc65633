"""Datalog programs as values, in the part that random programs use, and their text.

`str` of a program is what the front-end reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NUMBER, SYMBOL, UNSIGNED, FLOAT = "number", "symbol", "unsigned", "float"
INFIX = frozenset({"+", "-", "*", "/", "%", "band", "bor", "bxor"})


@dataclass(frozen=True)
class Var:
    """A variable; its type is fixed by its first letter, see `random_programs`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Const:
    """A constant of a type."""

    value: Any
    type: str

    def __str__(self) -> str:
        if self.type == SYMBOL:
            return '"' + self.value.replace('"', '\\"') + '"'
        return f"{self.value}u" if self.type == UNSIGNED else repr(self.value)


@dataclass(frozen=True)
class Wild:
    """The wildcard."""

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True)
class Op:
    """A functor applied to terms."""

    functor: str
    arguments: tuple[Term, ...]

    def __str__(self) -> str:
        shown = [f"({a})" if isinstance(a, Op) and self.functor in INFIX else str(a) for a in self.arguments]
        if self.functor in INFIX:
            return f" {self.functor} ".join(shown)
        return f"{self.functor}({', '.join(shown)})"


@dataclass(frozen=True)
class Aggregate:
    """A function of a target, None for `count`, over a conjunction of atoms and comparisons.

    `given` are the variables in it that have their values outside.
    """

    function: str
    target: Term | None
    body: tuple[Literal, ...]
    given: frozenset[str]

    def __str__(self) -> str:
        target = f" {self.target}" if self.target else ""
        return f"{self.function}{target} : {{ {', '.join(map(str, self.body))} }}"


Term = Var | Const | Wild | Op | Aggregate


@dataclass(frozen=True)
class Atom:
    """A relation applied to terms, negated or not."""

    relation: str
    terms: tuple[Term, ...]
    negated: bool = False

    def __str__(self) -> str:
        return f"{'!' if self.negated else ''}{self.relation}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True)
class Comparison:
    """Two terms compared; an equality binds a variable that nothing else does."""

    operator: str
    left: Term
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class Contains:
    """Whether the second text contains the first."""

    part: Term
    whole: Term

    def __str__(self) -> str:
        return f"contains({self.part}, {self.whole})"


@dataclass(frozen=True)
class Or:
    """A disjunction of conjunctions."""

    branches: tuple[tuple[Literal, ...], ...]

    def __str__(self) -> str:
        return "(" + " ; ".join(", ".join(map(str, branch)) for branch in self.branches) + ")"


Literal = Atom | Comparison | Contains | Or


@dataclass(frozen=True)
class Rule:
    """One or more heads over a body; without a body, facts."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...] = ()

    def __str__(self) -> str:
        heads = ", ".join(map(str, self.heads))
        return f"{heads} :- {', '.join(map(str, self.body))}." if self.body else f"{heads}."


@dataclass(frozen=True)
class Relation:
    """A declaration: a table has `.input`."""

    name: str
    types: tuple[str, ...]
    table: bool

    def __str__(self) -> str:
        columns = ", ".join(f"a{i}: {type_}" for i, type_ in enumerate(self.types))
        return f".decl {self.name}({columns})" + (f"\n.input {self.name}" if self.table else "")


@dataclass(frozen=True)
class Program:
    """Declarations and rules."""

    relations: tuple[Relation, ...]
    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.relations, *self.rules))) + "\n"


def variables(term: Term) -> set[str]:
    """The names of the variables in a term."""
    if isinstance(term, Var):
        return {term.name}
    if isinstance(term, Aggregate):
        return set(term.given)
    return set().union(*map(variables, term.arguments)) if isinstance(term, Op) else set()
