"""Rules and their delta queries: one query for each atom of a rule, in which that atom reads a change.

A rule adds the derivations of a conjunction to the weights of its head relation. It is multilinear in its atoms, so its
change is the sum of its delta queries; atoms before the change read the new state, atoms after it the old one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from sqlglot import exp

from deltic.circuit.expressions import column, columns_of, infer, is_literal, show, substituted
from deltic.circuit.expressions.checks import spoken
from deltic.values.types import ValueType


class When(enum.Enum):
    """The state of a relation that an atom reads; atoms of a rule are OLD, or NEW if the rule ignores their changes."""

    DELTA = "Δ"
    NEW = "'"
    OLD = ""


# A term is a variable, by its number, or an expression; in an expression variable n is the column ‹n›.
Term = int | exp.Expression


# A variable in a text; in an expression it is quoted, because its name is not a plain word.
VARIABLE = '"?‹(\\d+)›"?'


def variable_name(variable: int) -> str:
    """Return the column name of a variable in an expression; no other column has such a name."""
    return f"‹{variable}›"


def variable_of(name: str) -> int:
    """Return the inverse of `variable_name`."""
    return int(name[1:-1])


def with_names(text: str, names: Mapping[int, str]) -> str:
    """Return a text with variables shown by name; different variables get different names."""
    given: dict[str, int] = {}

    def shown(match: re.Match[str]) -> str:
        variable = int(match[1])
        name = names.get(variable, f"_{variable}")
        while given.setdefault(name, variable) != variable:
            name += "'"
        return name

    return re.sub(VARIABLE, shown, text)


def as_expression(term: Term) -> exp.Expression:
    """Return the term as an expression."""
    return column(variable_name(term)) if isinstance(term, int) else term


def term_of(expression: exp.Expression) -> Term:
    """Return the inverse of `as_expression`, over variables alone."""
    return variable_of(expression.name) if isinstance(expression, exp.Column) else expression


@lru_cache(maxsize=1 << 14)  # a planner asks again after each of its steps
def variables_of(term: Term) -> tuple[int, ...]:
    """The variables of a term, in order of appearance."""
    return (term,) if isinstance(term, int) else tuple(map(variable_of, columns_of(term)))


def replace_columns(expression: exp.Expression, terms: Mapping[str, Term]) -> Term:
    """Return the expression with the given columns replaced by terms; other columns stay."""
    if isinstance(expression, exp.Column):
        own = variable_of(expression.name) if expression.name.startswith("‹") else expression
        return terms.get(expression.name, own)
    values = {name: as_expression(terms[name]) for name in columns_of(expression) if name in terms}
    return substituted(expression, values)


@dataclass(frozen=True)
class Atom:
    """A relation in some state, with a variable or a literal for each of its columns."""

    relation: str
    when: When
    terms: tuple[Term, ...]

    def variables(self) -> set[int]:
        """Return the variables of the atom."""
        return {t for t in self.terms if isinstance(t, int)}

    def __str__(self) -> str:
        name = f"Δ{self.relation}" if self.when is When.DELTA else f"{self.relation}{self.when.value}"
        return f"{name}({', '.join(map(show_term, self.terms))})"


def show_term(term: Term) -> str:
    """Return the term as text."""
    return show(as_expression(term))


@dataclass(frozen=True)
class Body:
    """A conjunction: atoms, negated atoms, and conditions; `out` maps the names of its results to terms.

    Equality of terms is null-safe, as for keys: NULL equals NULL. This holds for two atoms that share a variable, and
    for an equation (v, e), which states that variable v equals expression e, and binds v unless an atom does. `names`
    are the variables' names for users.
    """

    sign: int = 1
    atoms: tuple[Atom, ...] = ()
    absent: tuple[Atom, ...] = ()
    conditions: tuple[exp.Expression, ...] = ()
    equations: tuple[tuple[int, exp.Expression], ...] = ()
    out: dict[str, Term] = field(default_factory=dict)
    types: dict[int, ValueType] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def infer(self, expression: exp.Expression) -> ValueType:
        """Return the type of an expression over the variables, and whether it may be NULL."""
        return infer(expression, {variable_name(v): value for v, value in self.types.items()})

    def equality(self, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        """Return the predicate that two expressions are equal, or both NULL."""
        may_be_null = self.infer(left).nullable and self.infer(right).nullable
        return (exp.NullSafeEQ if may_be_null else exp.EQ)(this=left.copy(), expression=right.copy())

    def renamed(self, variables: Mapping[int, int]) -> Body:
        """Return the body with its variables renamed."""
        columns = {variable_name(old): new for old, new in variables.items()}

        def other(term: Term) -> Term:
            return variables[term] if isinstance(term, int) else replace_columns(term, columns)

        def in_atoms(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
            return tuple(replace(atom, terms=tuple(map(other, atom.terms))) for atom in atoms)

        return replace(
            self,
            atoms=in_atoms(self.atoms),
            absent=in_atoms(self.absent),
            conditions=tuple(as_expression(other(c)) for c in self.conditions),
            equations=tuple((variables[v], as_expression(other(e))) for v, e in self.equations),
            out={name: other(term) for name, term in self.out.items()},
            types={variables[v]: value for v, value in self.types.items()},
            names={variables[v]: name for v, name in self.names.items()},
        )

    def substitute(self, variable: int, term: Term) -> Body:
        """Return the body with a variable replaced by another variable or a literal; it stays nullable only if both
        are.
        """
        types = dict(self.types)
        if isinstance(term, int) and not types[variable].nullable:
            types[term] = types[variable]
        mapping = {variable_name(variable): term}

        def in_term(t: Term) -> Term:
            return term if t == variable else t if isinstance(t, int) else replace_columns(t, mapping)

        def in_atoms(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
            return tuple(Atom(a.relation, a.when, tuple(map(in_term, a.terms))) for a in atoms)

        equations = [(in_term(v), as_expression(in_term(e))) for v, e in self.equations]
        ground = [exp.EQ(this=as_expression(v), expression=e) for v, e in equations if not isinstance(v, int)]
        return replace(
            self,
            atoms=in_atoms(self.atoms),
            absent=in_atoms(self.absent),
            conditions=tuple(dict.fromkeys((*(as_expression(in_term(c)) for c in self.conditions), *ground))),
            equations=tuple((v, e) for v, e in equations if isinstance(v, int)),
            out={name: in_term(t) for name, t in self.out.items()},
            types=types,
        )


@dataclass(frozen=True, eq=False)
class Conjunctive:
    """A head and a body: each derivation of the body adds its sign to the weight of a row of the head."""

    head: str
    terms: tuple[Term, ...]
    body: Body

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that it reads, in the order of the body."""
        return tuple(dict.fromkeys(atom.relation for atom in (*self.body.atoms, *self.body.absent)))

    @property
    def computes(self) -> bool:
        """Whether the head may contain values that are in no relation of the body."""
        new = [t for t in self.terms if not isinstance(t, int) and not is_literal(t)]
        return bool(new or self.body.equations)

    def _text(self, arrow: str, show: Callable[[exp.Expression], str] = show) -> str:
        """Return the text, with variables shown by number."""
        parts = [str(a) for a in self.body.atoms] + [f"!{a}" for a in self.body.absent]
        parts += [f"{show_term(v)} = {show(e)}" for v, e in self.body.equations]
        parts += [show(c) for c in self.body.conditions]
        return f"{self.head}({', '.join(show(as_expression(t)) for t in self.terms)}) {arrow} {', '.join(parts)}"


@dataclass(frozen=True, eq=False)
class Rule(Conjunctive):
    """A conjunction over whole relations, all atoms in one state; equality is identity.

    An atom that is NEW is read in its new state when another atom changes; its own changes derive nothing [DBSP §8.2].
    """

    @property
    def follows(self) -> frozenset[str]:
        """The relations of whose changes it has delta queries."""
        changing = (atom for atom in self.body.atoms if atom.when is When.OLD)
        return frozenset(atom.relation for atom in (*changing, *self.body.absent))

    def queries(self) -> Iterator[Query]:
        """Its delta queries by position: those of the atoms in order, then those of the negated atoms.

        In the order of multilinearity negated atoms come first: they are NEW where an atom changes, and the atoms
        are OLD where a negated one changes. There the weight of the change is negated: a ▷ b is a − a ⋈ b.
        """
        atoms, absent = self.body.atoms, self.body.absent
        for i in (i for i, atom in enumerate(atoms) if atom.when is When.OLD):
            versions = (*_at(When.NEW, atoms[:i]), replace(atoms[i], when=When.DELTA), *_at(When.OLD, atoms[i + 1 :]))
            yield self._query(self.body.sign, versions, _at(When.NEW, absent))
        for i in range(len(absent)):
            versions = (*_at(When.OLD, atoms), replace(absent[i], when=When.DELTA))
            others = (*_at(When.OLD, absent[:i]), *_at(When.NEW, absent[i + 1 :]))
            yield self._query(-self.body.sign, versions, others)

    def _query(self, sign: int, atoms: tuple[Atom, ...], absent: tuple[Atom, ...]) -> Query:
        return Query(self.head, self.terms, replace(self.body, sign=sign, atoms=atoms, absent=absent), self)

    def renamed(self, names: Mapping[str, str]) -> Rule:
        """Return the same rule over renamed relations."""

        def in_atoms(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
            return tuple(replace(a, relation=names[a.relation]) for a in atoms)

        body = replace(self.body, atoms=in_atoms(self.body.atoms), absent=in_atoms(self.body.absent))
        return Rule(names[self.head], self.terms, body)

    def spoken(self) -> str:
        """Its text as the user may have written it: without checks and coercions."""
        return with_names(self._text(":-", spoken), self.body.names)

    def normalized(self) -> str:
        """Its text with variables numbered by first appearance, so that equal rules have equal texts."""
        numbers: dict[str, int] = {}
        text = f"{self.body.sign} {self._text(':-')}"
        return re.sub(VARIABLE, lambda match: f"‹{numbers.setdefault(match[1], len(numbers))}›", text)

    def __str__(self) -> str:
        return with_names(self._text(":-" if self.body.sign > 0 else ":- −"), self.body.names)


@dataclass(frozen=True)
class Query(Conjunctive):
    """One term of the change of `rule`: exactly one atom of `body` reads a change."""

    rule: Rule

    @cached_property
    def delta(self) -> Atom:
        """The atom whose change the query follows."""
        return next(a for a in self.body.atoms if a.when is When.DELTA)

    def text(self) -> str:
        """Return the query as text, with variables shown by number."""
        return self._text("+=" if self.body.sign > 0 else "−=")

    def __str__(self) -> str:
        return with_names(self.text(), self.body.names)


def _at(when: When, atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    return tuple(replace(atom, when=when) if atom.when is When.OLD else atom for atom in atoms)
