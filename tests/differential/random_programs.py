"""Random Datalog programs that are well-typed, grounded, stratified and end, and random runs of them.

Relations stand in layers: a rule reads its own layer and those below, and negates those below only. Values stay within
a few for each type: arithmetic that could grow has a guard, so that every recursion ends.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.differential.datalog import (
    FLOAT,
    NUMBER,
    SYMBOL,
    UNSIGNED,
    Aggregate,
    Atom,
    Comparison,
    Const,
    Contains,
    Literal,
    Op,
    Or,
    Program,
    Relation,
    Rule,
    Term,
    Var,
    Wild,
    variables,
)

VALUES: dict[str, tuple[Any, ...]] = {
    NUMBER: (0, 1, 2, 3),
    SYMBOL: ("", "a", "1", "é"),
    UNSIGNED: (0, 1, 2),
    FLOAT: (-1.5, 0.0, 2.0),
}
# What some programs meet besides: values that need many bits, signs, and more than one word for a row.
WIDE: dict[str, tuple[Any, ...]] = {
    NUMBER: (*VALUES[NUMBER], -1, 4, 300, 2**31, -(2**40), 2**62, 2**63 - 1, -(2**63)),
    SYMBOL: (*VALUES[SYMBOL], "b", "aa", "-3", "12345", "ünïcödé ✓", 'a "quoted" word', "zzz" * 20),
    UNSIGNED: (*VALUES[UNSIGNED], 3, 2**32, 2**63, 2**64 - 1),
    FLOAT: (*VALUES[FLOAT], 1.5, 1e300, -1e-300, 0.1, -7.25e10),
}
LETTERS = {NUMBER: "x", SYMBOL: "s", UNSIGNED: "u", FLOAT: "f"}
COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")

Row = tuple[Any, ...]
Contents = dict[str, frozenset[Row]]


def random_program(rng: random.Random, most: int = 6) -> Program:
    """A program of two to `most` relations, one of them a table at least."""
    count = rng.randint(2, most)
    tables = rng.randint(1, max(1, count - 1))
    relations = [Relation(f"t{i}", _types(rng), table=True) for i in range(tables)]
    layers = {r.name: 0 for r in relations}
    derived = list(range(count - tables)) or [0]
    for i in derived:
        relations.append(Relation(f"d{i}", _types(rng), table=rng.random() < 0.1))
        layers[f"d{i}"] = 1 + i * rng.randint(1, 3) // len(derived)
    heads = [r for r in relations if r.name.startswith("d") or rng.random() < 0.08]
    for relation in heads:
        layers[relation.name] = max(1, layers[relation.name])
    rules = [rule for head in heads for rule in _rules(rng, relations, layers, head)]
    rng.shuffle(rules)
    return Program(tuple(relations), tuple(rules))


def _types(rng: random.Random) -> tuple[str, ...]:
    arity = rng.choice((0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3))
    return tuple(rng.choices((NUMBER, SYMBOL, UNSIGNED, FLOAT), (72, 18, 5, 5), k=arity))


def _rules(rng: random.Random, relations: Sequence[Relation], layers: Mapping[str, int], head: Relation) -> list[Rule]:
    """One to three rules for a relation, with a fact now and then."""
    rules = [_Maker(rng, relations, layers, head).rule() for _ in range(rng.choice((1, 2, 2, 3)))]
    if rng.random() < 0.2:
        rules.append(Rule((Atom(head.name, tuple(_constant(rng, t) for t in head.types)),)))
    return rules


def _constant(rng: random.Random, type_: str) -> Const:
    return Const(rng.choice(VALUES[type_]), type_)


@dataclass
class _Maker:
    """Makes one rule; `bound` are the variables that its positive atoms and equations bind, `results` of aggregates."""

    rng: random.Random
    relations: Sequence[Relation]
    layers: Mapping[str, int]
    head: Relation
    bound: list[Var] = field(default_factory=list)
    body: list[Literal] = field(default_factory=list)
    fresh: int = 0
    results: list[Var] = field(default_factory=list)

    def rule(self) -> Rule:
        layer = self.layers[self.head.name]
        below = [r for r in self.relations if self.layers[r.name] < layer]
        same = [r for r in self.relations if self.layers[r.name] == layer]
        for _ in range(self.rng.choice((1, 1, 2, 2, 2, 3))):
            self._positive(self.rng.choice(same if not below or self.rng.random() < 0.4 else below))
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            self.rng.choice((self._compare, self._compute, self._compute, self._disjoin))()
        for _ in range(self.rng.choice((0, 0, 1)) if below else 0):
            self.body.append(self._negated(self.rng.choice(below)))
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2)) if below else 0):
            self._aggregate(below)
        heads = [self.head] + [r for r in same if r is not self.head and self.rng.random() < 0.08]
        atoms = tuple(Atom(h.name, tuple(self._result(t) for t in h.types)) for h in heads)
        self.rng.shuffle(self.body)
        return Rule(atoms, tuple(self.body))

    # Atoms

    def _positive(self, relation: Relation) -> None:
        seen = list(self.bound)
        terms = tuple(self._term(type_, seen) for type_ in relation.types)
        self.body.append(Atom(relation.name, terms))

    def _term(self, type_: str, seen: list[Var]) -> Term:
        """A term of a positive atom: a variable of an earlier atom, of this one, a new one, a constant or `_`."""
        dice = self.rng.random()
        known = [v for v in (seen or self.bound) if v.name.startswith(LETTERS[type_])]
        if known and dice < 0.55:
            return self.rng.choice(known)
        if dice < 0.87:
            return self._new(type_)
        if dice < 0.9 and self._of(type_):
            return self._expression(type_)
        return _constant(self.rng, type_) if dice < 0.95 else Wild()

    def _new(self, type_: str) -> Var:
        self.fresh += 1
        variable = Var(f"{LETTERS[type_]}{self.fresh}")
        self.bound.append(variable)
        return variable

    def _negated(self, relation: Relation) -> Atom:
        return Atom(
            relation.name, tuple(self._read(t) if self.rng.random() < 0.7 else Wild() for t in relation.types), True
        )

    def _of(self, type_: str) -> list[Var]:
        return [v for v in self.bound if v.name.startswith(LETTERS[type_])]

    def _read(self, type_: str) -> Term:
        """A bound variable or a constant."""
        known = self._of(type_)
        return self.rng.choice(known) if known and self.rng.random() < 0.85 else _constant(self.rng, type_)

    def _result(self, type_: str) -> Term:
        """A term of a head: often the result of an aggregate."""
        aggregated = [v for v in self.results if v.name.startswith(LETTERS[type_])]
        if aggregated and self.rng.random() < 0.6:
            return self.rng.choice(aggregated)
        return self._expression(type_) if self._of(type_) and self.rng.random() < 0.12 else self._read(type_)

    def _aggregate(self, below: Sequence[Relation]) -> None:
        """Bind a new variable to an aggregate over one or two atoms, which may share variables with the rule."""
        inner = replace(self, bound=[], body=[], fresh=self.fresh + 1)
        given: set[str] = set()
        for relation in self.rng.choices(below, k=self.rng.choice((1, 1, 2))):
            inner._positive(relation)
            inner.body[-1] = self._shared(inner.body[-1], relation, given)
        if self.rng.random() < 0.3:
            inner.body.append(inner._comparison())
        self.fresh = inner.fresh
        atoms = [_computable(literal, inner.body) for literal in inner.body if isinstance(literal, Atom)]
        conditions = [c for c in inner.body if not isinstance(c, Atom) and _is_about(c, atoms)]
        function = self.rng.choice(("count", "sum", "sum", "min", "max", "mean"))
        types = (NUMBER, FLOAT) if function in ("sum", "mean") else tuple(VALUES)
        targets = [(v, t) for t in types for v in inner._of(t) if function != "count" and _mentions(atoms, v)]
        target, type_ = self.rng.choice(targets) if targets else (None, NUMBER)
        function = function if target else "count"
        result = self._new(FLOAT if function == "mean" else type_)
        self.results.append(result)
        self.body.append(Comparison("=", result, Aggregate(function, target, (*atoms, *conditions), frozenset(given))))

    def _shared(self, atom: Literal, relation: Relation, given: set[str]) -> Atom:
        """The atom with a variable of the rule in some places; `given` collects them."""
        assert isinstance(atom, Atom)
        terms = list(atom.terms)
        for i, type_ in enumerate(relation.types):
            if self._of(type_) and self.rng.random() < 0.4:
                terms[i] = shared = self.rng.choice(self._of(type_))
                given.add(shared.name)
        return Atom(atom.relation, tuple(terms))

    # Conditions and values

    def _compare(self) -> None:
        texts = self._of(SYMBOL)
        if texts and self.rng.random() < 0.3:
            self.body.append(Contains(self._read(SYMBOL), self.rng.choice(texts)))
        else:
            self.body.append(self._comparison())

    def _comparison(self) -> Comparison:
        type_ = self.rng.choice([t for t in VALUES if self._of(t)] or [NUMBER])
        left = self._expression(type_) if self.rng.random() < 0.25 else self._read(type_)
        return Comparison(self.rng.choice(COMPARISONS), left, self._read(type_))

    def _compute(self) -> None:
        """Bind a new variable to an expression, on either side of an equality."""
        type_ = self.rng.choice([t for t in VALUES if self._of(t)] or [NUMBER])
        value = self._expression(type_)
        sides = (self._new(type_), value)
        left, right = sides if self.rng.random() < 0.7 else sides[::-1]
        self.body.append(Comparison("=", left, right))

    def _disjoin(self) -> None:
        """A choice between conditions, or between two ways to bind one new variable."""
        if self.rng.random() < 0.5:
            branches = [(self._comparison(),) for _ in range(2)]
            self.body.append(Or(tuple(branches)))
            return
        values = [self._read(NUMBER) for _ in range(2)]
        new = self._new(NUMBER)
        unary = [
            r for r in self.relations if r.types == (NUMBER,) and self.layers[r.name] < self.layers[self.head.name]
        ]
        first: Literal = Atom(self.rng.choice(unary).name, (new,)) if unary else Comparison("=", new, values[0])
        self.body.append(Or(((first,), (Comparison("=", new, values[1]), self._comparison_without(new)))))

    def _comparison_without(self, variable: Var) -> Comparison:
        self.bound.remove(variable)
        comparison = self._comparison()
        self.bound.append(variable)
        return comparison

    def _expression(self, type_: str) -> Term:
        """A computed value, with the guards that it needs in the body."""
        if self.rng.random() < 0.25 and (converted := self._converted(type_)) is not None:
            return converted
        known = self._of(type_)
        if not known:
            return _constant(self.rng, type_)
        return self.rng.choice(_EXPRESSIONS[type_])(self, self.rng.choice(known), self.rng.choice(known))

    def _converted(self, type_: str) -> Term | None:
        """A value computed from one of another type."""
        if type_ == NUMBER and self._of(SYMBOL):
            return Op(self.rng.choice(("strlen", "to_number")), (self.rng.choice(self._of(SYMBOL)),))
        if type_ == SYMBOL and self._of(NUMBER):
            x = self.rng.choice(self._of(NUMBER))
            self.guard(Const(0, NUMBER), x, Const(10, NUMBER))
            return Op("to_string", (x,))
        return None

    def guard(self, low: Const, term: Term, high: Const) -> None:
        """Ask that a term lie between two constants."""
        self.body += [Comparison("<=", low, term), Comparison("<", term, high)]


def _mentions(body: Sequence[Literal], variable: Var) -> bool:
    """Whether an atom binds the variable."""
    return any(variable in literal.terms for literal in body if isinstance(literal, Atom))


def _computable(atom: Atom, body: Sequence[Literal]) -> Atom:
    """The atom with `_` in place of what is computed from variables that no atom binds."""
    terms = [t if all(_mentions(body, Var(name)) for name in variables(t)) else Wild() for t in atom.terms]
    return replace(atom, terms=tuple(terms))


def _is_about(literal: Literal, body: Sequence[Literal]) -> bool:
    """Whether atoms of the body bind all variables of a comparison."""
    assert isinstance(literal, Comparison)
    return all(_mentions(body, Var(name)) for name in variables(literal.left) | variables(literal.right))


def _number(value: int) -> Const:
    return Const(value, NUMBER)


def _successor(maker: _Maker, x: Var, y: Var) -> Term:
    maker.guard(_number(0), x, _number(5))
    return Op("+", (x, _number(1)))


def _predecessor(maker: _Maker, x: Var, y: Var) -> Term:
    maker.guard(_number(1), x, _number(6))
    return Op("-", (x, _number(1)))


def _doubled(maker: _Maker, x: Var, y: Var) -> Term:
    maker.guard(_number(0), x, _number(4))
    return Op("%", (Op("*", (x, _number(2))), _number(5)))


def _longer(maker: _Maker, s: Var, t: Var) -> Term:
    maker.guard(_number(0), Op("strlen", (s,)), _number(2))
    return Op("cat", (s, Const("a", SYMBOL)))


def _next_unsigned(maker: _Maker, u: Var, v: Var) -> Term:
    maker.guard(Const(0, UNSIGNED), u, Const(3, UNSIGNED))
    return Op("+", (u, Const(1, UNSIGNED)))


def _next_float(maker: _Maker, f: Var, g: Var) -> Term:
    maker.guard(Const(-2.0, FLOAT), f, Const(2.0, FLOAT))
    return Op("+", (f, Const(1.5, FLOAT)))


_EXPRESSIONS = {
    NUMBER: (
        _successor,
        _successor,
        _predecessor,
        _doubled,
        lambda maker, x, y: Op("%", (x, _number(3))),
        lambda maker, x, y: Op("/", (x, y)),
        lambda maker, x, y: Op("%", (x, y)),
        lambda maker, x, y: Op("min", (x, y)),
        lambda maker, x, y: Op("max", (x, y, _number(1))),
        lambda maker, x, y: Op("band", (Op("bxor", (x, y)), _number(3))),
    ),
    SYMBOL: (
        _longer,
        lambda maker, s, t: Op("substr", (s, _number(0), _number(1))),
        lambda maker, s, t: Op("min", (s, t)),
    ),
    UNSIGNED: (
        _next_unsigned,
        lambda maker, u, v: Op("%", (u, Const(2, UNSIGNED))),
        lambda maker, u, v: Op("max", (u, v)),
    ),
    FLOAT: (_next_float, lambda maker, f, g: Op("min", (f, g))),
}


Values = Mapping[str, tuple[Any, ...]]


def random_run(rng: random.Random, program: Program, values: Values | None = None, size: int = 7) -> list[Contents]:
    """The tables' contents after each of three to six epochs: `size` rows at most to begin with.

    Without `values`, the values are few, and in half of the runs wide ones join them in one of the first epochs.
    """
    tables = [r for r in program.relations if r.table]
    contents: Contents = {r.name: frozenset() for r in tables}
    seen: dict[str, set[Row]] = {r.name: set() for r in tables}
    widened = rng.choice((0, 1, 2, 9, 9, 9))
    run = []
    for epoch in range(rng.randint(3, 6)):
        kind = rng.choice(_KINDS) if epoch else _fill
        known = values or (WIDE if epoch >= widened else VALUES)
        contents = {r.name: frozenset(kind(_Rows(rng, r, known, size), contents[r.name], seen[r.name])) for r in tables}
        for name, rows in contents.items():
            seen[name] |= rows
        run.append(contents)
    return run


@dataclass(frozen=True)
class _Rows:
    """Where the rows of a table come from."""

    rng: random.Random
    relation: Relation
    values: Values
    size: int

    def new(self, count: int) -> set[Row]:
        """Up to `count` random rows."""
        return {tuple(self.rng.choice(self.values[t]) for t in self.relation.types) for _ in range(count)}

    def some(self, rows: Iterable[Row], share: float) -> set[Row]:
        """About this share of the rows."""
        return {row for row in sorted(rows) if self.rng.random() < share}


def _fill(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return rows.new(rows.rng.randint(0, rows.size))


def _insert(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return old | rows.new(rows.rng.randint(0, 3))


def _delete(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return rows.some(old, 0.6)


def _mix(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return rows.some(old, 0.7) | rows.new(rows.rng.randint(0, 3))


def _put_back(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return old | rows.some(seen, 0.5)


def _nothing(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return set(old)


def _replace(rows: _Rows, old: frozenset[Row], seen: set[Row]) -> set[Row]:
    return rows.new(len(old) + rows.rng.randint(0, 2)) - old


_KINDS = (_insert, _insert, _delete, _delete, _mix, _mix, _put_back, _nothing, _replace)
