"""Random formulas, models and changes over three small relations, for properties of their meaning and derivatives.

The relations are p(·), q(·) and e(·, ·), the variables x, y and z, the universe 0, 1, 2. A model has changes that
need not be precise: they may add rows that are there and remove rows that are not, as [FIX Thm 27] allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from hypothesis import strategies as st

from deltic_theory.boolean import Change
from deltic_theory.formulas.aggregates import Aggregate
from deltic_theory.formulas.relations import Model, universal
from deltic_theory.formulas.syntax import (
    BOTTOM,
    TOP,
    And,
    Atom,
    Compare,
    Const,
    Equal,
    Exists,
    Forall,
    Not,
    Or,
    Var,
    atom,
    rebuild,
)

UNIVERSE = (0, 1, 2)
VARIABLES = ("x", "y", "z")
ARITIES = {"p": 1, "q": 1, "e": 2}

randoms = st.randoms(use_true_random=False)


CORE = ("and", "and", "or", "or", "not", "exists", "forall")
WITH_AGGREGATES = (*CORE, "aggregate")


def random_term(rng: Random):
    return Const(rng.choice(UNIVERSE)) if rng.random() < 0.1 else Var(rng.choice(VARIABLES))


def random_leaf(rng: Random):
    """Mostly atoms, sometimes an equation, a comparison, ⊤ or ⊥."""
    kind = rng.random()
    if kind < 0.45:
        return Atom("e", (random_term(rng), random_term(rng)))
    if kind < 0.85:
        return Atom(rng.choice("pq"), (random_term(rng),))
    if kind < 0.95:
        left, right = random_term(rng), random_term(rng)
        return Equal(left, right) if rng.random() < 0.5 else Compare(rng.choice("<≠"), left, right)
    return rng.choice([TOP, BOTTOM])


def random_formula(rng: Random, depth: int, kinds: Sequence[str] = CORE):
    """A formula of at most this depth, and of this depth along one path."""
    if depth == 0:
        return random_leaf(rng)
    below = partial(random_formula, rng, kinds=kinds)
    other = rng.randint(0, depth - 1)
    kind = rng.choice(kinds)
    if kind in ("and", "or"):
        sides = [below(depth - 1), below(other)]
        rng.shuffle(sides)
        return And(*sides) if kind == "and" else Or(*sides)
    if kind == "not":
        return Not(below(depth - 1))
    if kind == "aggregate":
        return random_aggregate(rng, min(depth - 1, 1))
    return (Exists if kind == "exists" else Forall)(rng.choice(VARIABLES), below(depth - 1))


def random_monotone(rng: Random, depth: int, derived: Sequence[Atom], positive: bool = True):
    """A formula that is monotone in the derived relations: they occur under an even number of negations only."""
    below = partial(random_monotone, rng, derived=derived)
    if depth == 0:
        return random_derived(rng, derived) if positive and rng.random() < 0.5 else random_leaf(rng)
    kind = rng.choice(CORE)
    if kind in ("and", "or"):
        sides = [below(depth - 1, positive=positive), below(rng.randint(0, depth - 1), positive=positive)]
        return And(*sides) if kind == "and" else Or(*sides)
    if kind == "not":
        return Not(below(depth - 1, positive=not positive))
    return (Exists if kind == "exists" else Forall)(rng.choice(VARIABLES), below(depth - 1, positive=positive))


def random_derived(rng: Random, derived: Sequence[Atom]) -> Atom:
    """One of the derived relations, at random terms."""
    chosen = rng.choice(derived)
    return Atom(chosen.relation, tuple(random_term(rng) for _ in chosen.terms))


def random_aggregate(rng: Random, depth: int):
    """r = agg(z)(y | T | U) where T may mention x and y, and U all of x, y and z."""
    ranged = Exists("z", random_formula(rng, depth))
    function = rng.choice(["sum", "min", "max", "count"])
    return Aggregate("x", function, "z", ("y",), ranged, random_formula(rng, depth))


def random_model(rng: Random, universe=UNIVERSE) -> Model:
    """A model with disjoint, possibly imprecise, changes of all relations."""

    def rows(arity: int):
        share = rng.choice([0.2, 0.5, 0.8])
        return frozenset(row for row in sorted(universal(VARIABLES[:arity], universe)) if rng.random() < share)

    relations = {name: rows(arity) for name, arity in ARITIES.items()}
    downs = {name: rows(arity) for name, arity in ARITIES.items()}
    changes = {name: Change(rows(arity) - downs[name], downs[name]) for name, arity in ARITIES.items()}
    return Model(relations, changes, universe)


def formulas(depth: int = 5, kinds: Sequence[str] = CORE):
    """A strategy of random formulas."""
    return randoms.map(lambda rng: random_formula(rng, depth, kinds))


def models():
    """A strategy of random models."""
    return randoms.map(random_model)


def random_models(count: int, universe=UNIVERSE) -> list[Model]:
    """Always the same models, for checks that go through them all."""
    rng = Random(0)
    return [random_model(rng, universe) for _ in range(count)]


def precise(model: Model) -> Model:
    """The model with changes that only add what is absent and remove what is present."""
    changes = {
        name: Change(change.up - frozenset(model.relations[name]), change.down & frozenset(model.relations[name]))
        for name, change in model.changes.items()
    }
    return Model(model.relations, changes, model.universe)


def size(formula) -> int:
    """The number of constructs in a formula."""
    total = 1

    def count(part):
        nonlocal total
        total += size(part)
        return part

    rebuild(formula, count)
    return total


TREE_P = atom("p", "x") & ~Exists("y", atom("child", "x", "y") & ~atom("treeP", "y"))
CLOSURE = atom("e", "x", "y") | Exists("z", atom("e", "x", "z") & atom("tc", "z", "y"))
