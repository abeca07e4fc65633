"""Random formulas, models and changes over three small relations, for properties of their meaning and derivatives.

The relations are p(·), q(·) and e(·, ·), the variables x, y and z, the universe 0, 1, 2. A model has changes that
need not be precise: they may add rows that are there and remove rows that are not, as [FIX Thm 27] allows.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from deltic.algebra.boolean import Change
from deltic.algebra.formulas.aggregates import Aggregate
from deltic.algebra.formulas.relations import Model, universal
from deltic.algebra.formulas.syntax import (
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

variables = st.sampled_from(VARIABLES)
terms = st.one_of(variables.map(Var), st.sampled_from(UNIVERSE).map(Const))
atoms = st.one_of(
    st.builds(lambda name, t: Atom(name, (t,)), st.sampled_from("pq"), terms),
    st.builds(lambda t, u: Atom("e", (t, u)), terms, terms),
)
leaves = st.one_of(
    atoms,
    atoms,
    atoms,
    st.sampled_from([TOP, BOTTOM]),
    st.builds(Equal, terms, terms),
    st.builds(Compare, st.sampled_from("<≠"), terms, terms),
)


@st.composite
def formulas(draw, depth: int = 5, aggregates: bool = False):
    """A formula of at most this depth."""
    if depth == 0 or draw(st.integers(0, 7)) == 0:
        return draw(leaves)
    below = formulas(depth - 1, aggregates)
    kinds = ["and", "or", "not", "exists", "forall"] + ["aggregate"] * aggregates
    kind = draw(st.sampled_from(kinds))
    if kind == "and":
        return And(draw(below), draw(below))
    if kind == "or":
        return Or(draw(below), draw(below))
    if kind == "not":
        return Not(draw(below))
    if kind == "exists":
        return Exists(draw(variables), draw(below))
    if kind == "forall":
        return Forall(draw(variables), draw(below))
    return draw(aggregate_formulas(min(depth - 1, 1)))


@st.composite
def aggregate_formulas(draw, depth: int = 1):
    """r = agg(z)(y | T | U) where T may mention x and y, and U all of x, y and z."""
    within = draw(formulas(depth))
    ranged = Exists("z", draw(formulas(depth)))
    return Aggregate("x", draw(st.sampled_from(["sum", "min", "max", "count"])), "z", ("y",), ranged, within)


@st.composite
def models(draw):
    """A model with disjoint, possibly imprecise, changes of all relations."""
    relations, changes = {}, {}
    for name, arity in ARITIES.items():
        rows = st.sampled_from(sorted(universal(VARIABLES[:arity], UNIVERSE)))
        relations[name] = frozenset(draw(st.lists(rows, max_size=5)))
        up, down = frozenset(draw(st.lists(rows, max_size=3))), frozenset(draw(st.lists(rows, max_size=3)))
        changes[name] = Change(up - down, down)
    return Model(relations, changes, UNIVERSE)


def random_models(count: int, universe=UNIVERSE) -> list[Model]:
    """Always the same models, for checks that go through them all."""
    random = Random(0)

    def rows(arity, share):
        return frozenset(row for row in sorted(universal(VARIABLES[:arity], universe)) if random.random() < share)

    def model():
        relations = {name: rows(arity, 0.5) for name, arity in ARITIES.items()}
        downs = {name: rows(arity, 0.3) for name, arity in ARITIES.items()}
        changes = {name: Change(rows(arity, 0.4) - downs[name], downs[name]) for name, arity in ARITIES.items()}
        return Model(relations, changes, universe)

    return [model() for _ in range(count)]


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
