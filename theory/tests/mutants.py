"""Definitions that are wrong on purpose, each by a mistake that is easily made, with the check that must reject it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from theory.tests.domains import AB, BOOLEAN, words, zsets
from theory.tests.formulas.random_formulas import VARIABLES, random_models

from deltic.algebra.zset import ZSet
from deltic_theory.boolean import Change, CompleteBooleanAction
from deltic_theory.derivative import Differentiable, Partial
from deltic_theory.formulas.aggregates import Aggregate, changed
from deltic_theory.formulas.derivative import FIGURE_2, Derivatives, Rule
from deltic_theory.formulas.laws import check_formula_derivative
from deltic_theory.formulas.syntax import And, Atom, Exists, Forall, Formula, Not, Or, Version, atom, exists
from deltic_theory.group_laws import check_group, check_incremental, check_linear
from deltic_theory.groups import INTEGERS, Z_SETS, Pairs
from deltic_theory.law import Law, check
from deltic_theory.laws import check_change_action, check_complete, check_derivative, minus_law
from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z
from deltic_theory.monoids import NATURALS, WORDS
from deltic_theory.products import Left, Product, Right, Sum

N = range(-3, 4)
PAIRS = list(product(range(-2, 3), repeat=2))
ACTION = CompleteBooleanAction(AB)


@dataclass(frozen=True)
class Mutant:
    """A wrong definition: its name, and a call that must raise LawViolation."""

    name: str
    check: Callable[[], None]


class Replaced:
    """An object with some of its attributes replaced."""

    def __init__(self, original, **attributes):
        self._original, self._attributes = original, attributes

    def __getattr__(self, name):
        return self._attributes.get(name) or getattr(self._original, name)


# -- change actions and derivatives ---------------------------------------------------------------------------------

square = Differentiable(lambda n: n * n, lambda n, d: 2 * n * d + d * d)
cube = Differentiable(lambda n: n**3, lambda n, d: 3 * n * n * d + 3 * n * d * d + d**3)


def boolean(**attributes):
    mutant = Replaced(ACTION, **attributes)

    def checked():
        check_change_action(mutant, BOOLEAN.values, BOOLEAN.changes)
        check_complete(mutant, BOOLEAN.values)

    return checked


def integer_derivative(function, derivative):
    return lambda: check_derivative(Differentiable(function, derivative), Z, Z, N, N)


def chain_rule(derivative):
    return integer_derivative(lambda n: square(cube(n)), derivative)


def times_derivative(derivative):
    function = Differentiable(lambda p: p[0] * p[1], derivative)
    return lambda: check_derivative(function, Product(Z, Z), Z, PAIRS, PAIRS)


times = Partial(lambda a, b: a * b, lambda a, da, b: da * b, lambda a, b, db: a * db)
length = Differentiable(len, lambda word, suffix: len(suffix))


def copaired(derivative):
    either = Sum(NATURALS, WORDS)
    function = Differentiable(lambda v: square(v.value) if isinstance(v, Left) else length(v.value), derivative)
    values = [Left(n) for n in range(3)] + [Right(("a",) * n) for n in range(3)]
    changes = [(n, ("b",) * k) for n, k in product(range(3), repeat=2)]
    return lambda: check_derivative(function, either, Z, values, changes)


def evaluated(derivative):
    """Evaluation of f(n) = n² with the change δf(n) = 3n, as a function of n and of which of the two is added."""
    law = Law(
        "not a derivative of evaluation",
        "(f ⊕ δf)(a ⊕ δa) = f(a) ⊕ ev′((f, a), (δf, δa))",
        ("a", "δa"),
        lambda a, d: square(a + d) + 3 * (a + d),
        lambda a, d: square(a) + derivative(a, d),
    )
    return lambda: check([law], {"a": N, "δa": N})


def new_derivative(a, d):
    return square.derivative(a, d) + 3 * d


def iterated(derivative):
    """The change of an iterate under one more step, for f(n) = 3n + 1 from 1."""
    law = Law(
        "not the derivative of iteration",
        "iter(f, n + 1) = iter(f, n) ⊕ ∂₂iter(f, n, 1)",
        ("n",),
        lambda n: iterate(n + 1),
        lambda n: iterate(n) + derivative(n),
    )
    return lambda: check([law], {"n": range(5)})


def iterate(n):
    return 1 if n == 0 else 3 * iterate(n - 1) + 1


def minus(candidate):
    return lambda: check([minus_law(ACTION.plus, candidate)], {"a": BOOLEAN.values, "b": BOOLEAN.values})


# -- groups and streams ---------------------------------------------------------------------------------------------


def bilinear(terms):
    """The incremental product of two Z-sets given as a stream of pairs, as a sum of the given delta terms."""

    def incremental(stream):
        old = (ZSet(), ZSet())
        for change in stream:
            new = (old[0] + change[0], old[1] + change[1])
            yield sum((left.product(right) for left, right in terms(old, change, new)), ZSet())
            old = new

    return lambda: check_incremental(
        lambda pair: pair[0].product(pair[1]),
        lambda stream: list(incremental(stream)),
        Pairs(Z_SETS, Z_SETS),
        Z_SETS,
        STREAMS,
    )


A, B = ZSet({"a": 1}), ZSet({"b": -2})
STREAMS = [
    [(A, A), (A, B), (-A, B)],
    [(A, ZSet()), (ZSet(), B), (-A, -B)],
    [(A + B, A - B), (B, A)],
]


def distinct_stream(wrong):
    def incremental(stream):
        old = ZSet()
        for change in stream:
            yield wrong(old, change)
            old = old + change

    return lambda: check_incremental(
        ZSet.distinct, lambda s: list(incremental(s)), Z_SETS, Z_SETS, [[A, A, -A, -A], [A, -2 * A, A, A]]
    )


# -- formulas -------------------------------------------------------------------------------------------------------

P, Q, E = atom("p", "x"), atom("q", "x"), atom("e", "x", "y")
SUM = Aggregate("x", "sum", "z", ("y",), atom("p", "y"), atom("e", "y", "z"))
FORMULAS = [
    P,
    ~P,
    P & Q,
    P | Q,
    ~P & (Q | P),
    Exists("y", E),
    Forall("y", ~E),
    P & ~Exists("y", E & ~atom("p", "y")),
    Forall("y", E | Q),
    SUM,
]


MODELS = random_models(80, universe=(0, 1))


def theorem_27(derivatives: Derivatives, formulas=FORMULAS) -> Callable[[], None]:
    """The check of Theorem 27 for a table of rules."""

    return lambda: check_formula_derivative(formulas, MODELS, VARIABLES, derivatives)


class NextIsOld(Derivatives):
    """X(T) = T."""

    def next(self, formula: Formula) -> Formula:
        return formula


class NextWithoutRemovals(Derivatives):
    """X(R) = R ∨ ΔR."""

    def version(self, formula: Atom, version: Version) -> Formula:
        if version is Version.NEXT:
            return formula | replace(formula, version=Version.UP)
        return super().version(formula, version)


def rule(construct, up=None, down=None, focus=None):
    """Fig. 2 with one rule changed in one or both parts, checked on the formulas that have the construct."""
    old = FIGURE_2.rules[construct]
    derivatives = FIGURE_2.with_rule(construct, Rule(up or old.up, down or old.down))
    return theorem_27(derivatives, focus or FORMULAS)


def x(body):
    return exists("y", body)


MUTANTS = [
    Mutant("Δ(T ∨ U) forgets U", rule(Or, up=lambda f, d: d.up(f.left))),
    Mutant("Δ(T ∨ U) as for ∧", rule(Or, up=lambda f, d: d.up(f.left) & d.up(f.right))),
    Mutant("∇(T ∨ U) without ¬X", rule(Or, down=lambda f, d: d.down(f.left) | d.down(f.right))),
    Mutant(
        "∇(T ∨ U) with old ¬U for new",
        rule(Or, down=lambda f, d: (d.down(f.left) & ~f.right) | (~f.left & d.down(f.right))),
    ),
    Mutant("∇(T ∨ U) forgets U's losses", rule(Or, down=lambda f, d: d.down(f.left) & ~d.next(f.right))),
    Mutant("Δ(T ∧ U) forgets U", rule(And, up=lambda f, d: d.up(f.left) & d.next(f.right))),
    Mutant(
        "Δ(T ∧ U) with old values for new",
        rule(And, up=lambda f, d: (d.up(f.left) & f.right) | (f.left & d.up(f.right))),
    ),
    Mutant("Δ(T ∧ U) without X", rule(And, up=lambda f, d: d.up(f.left) | d.up(f.right))),
    Mutant(
        "Δ(T ∧ U) with ∇ for Δ",
        rule(And, up=lambda f, d: (d.down(f.left) & d.next(f.right)) | (d.next(f.left) & d.up(f.right))),
    ),
    Mutant(
        "∇(T ∧ U) with new values for old",
        rule(And, down=lambda f, d: (d.down(f.left) & d.next(f.right)) | (d.next(f.left) & d.down(f.right))),
    ),
    Mutant("∇(T ∧ U) forgets T", rule(And, down=lambda f, d: f.left & d.down(f.right))),
    Mutant("¬ does not exchange Δ and ∇", rule(Not, up=lambda f, d: d.up(f.body), down=lambda f, d: d.down(f.body))),
    Mutant("¬ loses nothing", rule(Not, down=lambda f, d: d.down(f.body))),
    Mutant("∇(∃x.T) without its second conjunct", rule(Exists, down=lambda f, d: Exists(f.variable, d.down(f.body)))),
    Mutant(
        "∇(∃x.T) with old T for new",
        rule(Exists, down=lambda f, d: Exists(f.variable, d.down(f.body)) & ~Exists(f.variable, f.body)),
    ),
    Mutant("Δ(∃x.T) as ∀x.Δ(T)", rule(Exists, up=lambda f, d: Forall(f.variable, d.up(f.body)))),
    Mutant("Δ(∀x.T) without its second conjunct", rule(Forall, up=lambda f, d: Exists(f.variable, d.up(f.body)))),
    Mutant(
        "Δ(∀x.T) with old T for new",
        rule(Forall, up=lambda f, d: Exists(f.variable, d.up(f.body)) & Forall(f.variable, f.body)),
    ),
    Mutant("∇(∀x.T) as ∀x.∇(T), as [CS] has it", rule(Forall, down=lambda f, d: Forall(f.variable, d.down(f.body)))),
    Mutant(
        "Δ(R) and ∇(R) exchanged",
        rule(Atom, lambda f, d: replace(f, version=Version.DOWN), lambda f, d: replace(f, version=Version.UP)),
    ),
    Mutant("∇(R) forgotten", rule(Atom, down=lambda f, d: P & ~P)),
    Mutant("X reads the old value", theorem_27(NextIsOld(FIGURE_2.rules))),
    Mutant("X forgets what is removed", theorem_27(NextWithoutRemovals(FIGURE_2.rules))),
    Mutant("Δ of an aggregate reads the old value", rule(Aggregate, up=lambda f, d: changed(f, d) & f, focus=[SUM])),
    Mutant(
        "the guard of an aggregate ignores the range",
        rule(
            Aggregate,
            lambda f, d: x(f.range & exists("z", d.up(f.body) | d.down(f.body))) & d.next(f),
            lambda f, d: x(f.range & exists("z", d.up(f.body) | d.down(f.body))) & f & ~d.next(f),
            focus=[SUM],
        ),
    ),
    Mutant(
        "the guard of an aggregate ignores what is lost",
        rule(
            Aggregate,
            lambda f, d: x(d.up(f.range) | (f.range & exists("z", d.up(f.body)))) & d.next(f),
            lambda f, d: x(d.up(f.range) | (f.range & exists("z", d.up(f.body)))) & f & ~d.next(f),
            focus=[SUM],
        ),
    ),
    Mutant("∇ of an aggregate forgotten", rule(Aggregate, down=lambda f, d: P & ~P, focus=[SUM])),
    Mutant("L⋈ composes in the other order", boolean(compose=lambda d, e: ACTION.compose(e, d))),
    Mutant("L⋈ composes without cancelling", boolean(compose=lambda d, e: Change(d.up | e.up, d.down | e.down))),
    Mutant("L⋈ forgets to remove", boolean(plus=lambda a, d: a | d.up)),
    Mutant("L⋈ differences the wrong way round", boolean(minus=lambda a, b: ACTION.minus(b, a))),
    Mutant("⊖_⊥ as [CS] has it", minus(lambda a, b: Change(a - b, b))),
    Mutant("⊖_⊤ with its parts exchanged", minus(lambda a, b: Change(b - a, a))),
    Mutant("a difference that only adds", minus(lambda a, b: Change(a - b, frozenset()))),
    Mutant("(n²)′ without δ²", integer_derivative(square.function, lambda n, d: 2 * n * d)),
    Mutant("(n²)′ at the new value", integer_derivative(square.function, lambda n, d: 2 * (n + d) * d + d * d)),
    Mutant("(n²)′ with the sign of δ² swapped", integer_derivative(square.function, lambda n, d: 2 * n * d - d * d)),
    Mutant(
        "the chain rule at the argument, not its image",
        chain_rule(lambda n, d: square.derivative(n, cube.derivative(n, d))),
    ),
    Mutant(
        "the chain rule at the new image",
        chain_rule(lambda n, d: square.derivative(cube(n + d), cube.derivative(n, d))),
    ),
    Mutant("the chain rule with the plain change", chain_rule(lambda n, d: square.derivative(cube(n), d))),
    Mutant(
        "a product's derivative with both arguments old",
        times_derivative(lambda p, d: times.first(p[0], d[0], p[1]) + times.second(p[0], p[1], d[1])),
    ),
    Mutant(
        "a product's derivative with both arguments new",
        times_derivative(lambda p, d: d[0] * (p[1] + d[1]) + (p[0] + d[0]) * d[1]),
    ),
    Mutant("a product's derivative without its second term", times_derivative(lambda p, d: d[0] * p[1])),
    Mutant("copairing with the wrong side's change", copaired(lambda v, d: square.derivative(len(d[1]), d[0]))),
    Mutant("copairing with both sides' changes", copaired(lambda v, d: d[0] + len(d[1]))),
    Mutant("ev′₁ with δf at the old argument", evaluated(lambda a, d: square.derivative(a, d) + 3 * a)),
    Mutant("ev′₂ with the old function's derivative", evaluated(lambda a, d: 3 * a + square.derivative(a, d))),
    Mutant("ev′ forgets the function's change", evaluated(square.derivative)),
    Mutant("ev′₂ with δf at the new argument", evaluated(lambda a, d: 3 * (a + d) + new_derivative(a, d))),
    Mutant("∂₂iter without its first difference", iterated(lambda n: 3**n)),
    Mutant("∂₂iter one step behind", iterated(lambda n: iterate(n) - iterate(n - 1) if n else 3)),
    Mutant("join with all inputs old", bilinear(lambda o, d, n: [(d[0], o[1]), (o[0], d[1])])),
    Mutant("join with all inputs new", bilinear(lambda o, d, n: [(d[0], n[1]), (n[0], d[1])])),
    Mutant("join of the changes alone", bilinear(lambda o, d, n: [(d[0], d[1])])),
    Mutant("join without its last term", bilinear(lambda o, d, n: [(d[0], n[1])])),
    Mutant("join with a sign swapped", bilinear(lambda o, d, n: [(d[0], n[1]), (-o[0], d[1])])),
    Mutant("distinct of the change", distinct_stream(lambda old, d: d.distinct())),
    Mutant(
        "distinct without what vanishes",
        distinct_stream(lambda old, d: (old + d).distinct().filter(lambda v: old.weight(v) <= 0)),
    ),
    Mutant("distinct taken for linear", lambda: check_linear(ZSet.distinct, Z_SETS, Z_SETS, zsets)),
    Mutant("absolute value taken for linear", lambda: check_linear(abs, INTEGERS, INTEGERS, N)),
    Mutant("negation of Z-sets that keeps the sign", lambda: check_group(Replaced(Z_SETS, negate=abs_zset), zsets)),
    Mutant("sum of Z-sets that is a union", lambda: check_group(Replaced(Z_SETS, add=union), zsets)),
    Mutant(
        "words appended at the front",
        lambda: check_change_action(Replaced(WORDS, plus=lambda a, d: d + a), words, words),
    ),
]

RIGHT = {
    "Fig. 2": theorem_27(FIGURE_2),
    "L⋈": boolean(),
    "⊖_⊥": minus(ACTION.least_minus),
    "⊖_⊤": minus(ACTION.greatest_minus),
    "(n²)′": integer_derivative(square.function, square.derivative),
    "the chain rule": chain_rule(lambda n, d: square.derivative(cube(n), cube.derivative(n, d))),
    "a product's derivative": times_derivative(lambda p, d: d[0] * p[1] + (p[0] + d[0]) * d[1]),
    "copairing": copaired(lambda v, d: square.derivative(v.value, d[0]) if isinstance(v, Left) else len(d[1])),
    "ev′₁": evaluated(lambda a, d: square.derivative(a, d) + 3 * (a + d)),
    "ev′₂": evaluated(lambda a, d: 3 * a + new_derivative(a, d)),
    "∂₂iter": iterated(lambda n: 3 * 3**n),
    "join": bilinear(lambda o, d, n: [(d[0], n[1]), (o[0], d[1])]),
    "distinct": distinct_stream(lambda old, d: (old + d).distinct() - old.distinct()),
}


def abs_zset(zset):
    return ZSet({value: abs(weight) for value, weight in zset})


def union(left, right):
    return ZSet({v: max(left.weight(v), right.weight(v)) for v in left.support() | right.support()})
