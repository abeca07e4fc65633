"""Subtypes as Soufflé checks them, rule by rule. Catches: a check that refuses what Soufflé runs, or lets pass what it
refuses. `bad/subtypes.dl` has the messages.
"""

import pytest

import deltic
from deltic.datalog import check, parse
from deltic.errors import ProgramError

HEAD = """
.type City <: symbol
.type Village <: symbol
.type Capital <: City
.type Town = City
.type Place = City | Village
.type Either = Village | Capital
.type Any = Either | Place
.type Walk = [from: City, to: Place]
.functor near(c: City): Village
.decl city(c: City)
.decl village(v: Village)
.decl capital(c: Capital)
.decl town(t: Town)
.decl place(p: Place)
.decl either(e: Either)
.decl any(a: Any)
.decl text(s: symbol)
.decl walk(w: Walk)
.decl pair(p: Place, c: City) inline
pair(x, y) :- place(x), city(y), x = y.
"""
ACCEPTED = [
    "place(x) :- city(x) ; village(x) ; capital(x) ; either(x).",
    "any(x) :- place(x) ; either(x).",
    "town(x) :- city(x). city(x) :- town(x).",
    "city(x) :- text(x). text(x) :- place(x).",
    'city("x"). capital(cat(x, "!")) :- village(x).',
    "city(x) :- place(x), city(x). city(x) :- place(x), city(y), x = y.",
    "village(x) :- any(x), either(x), village(x).",
    "city(x) :- city(x), !village(x), !walk([x, x]).",
    "city(as(x, City)) :- village(x). city(x) :- village(v), x = as(v, Capital).",
    "city(x) :- x = max y : { capital(y) }.",
    "city(x) :- walk([x, _]). walk([x, y]) :- town(x), village(y). place(y) :- walk(w), w = [_, y].",
    "village(@near(x)) :- city(x). village(y) :- town(x), y = @near(x).",
    "city(x) :- pair(x, x).",
]
REFUSED = [
    "city(x) :- place(x).",
    "village(x) :- city(x).",
    "either(x) :- any(x).",
    "place(x) :- village(x), city(x).",
    "place(x) :- village(x), city(y), x < y.",
    "place(x) :- either(x), city(x).",
    "city(as(x, Village)) :- city(x).",
    "city(x) :- city(x), village(y), x = as(y, Village).",
    "city(x) :- x = max y : { place(y) }.",
    "city(x) :- walk([_, x]).",
    "walk([x, x]) :- village(x).",
    "city(@near(x)) :- city(x).",
    "village(@near(x)) :- village(x).",
]


@deltic.function(deterministic=True)
def near(city: str) -> str:
    return city


def _check(rules):
    return check([parse(HEAD + rules)], functions={"near": near})


@pytest.mark.parametrize("rules", ACCEPTED)
def test_what_souffle_runs_is_accepted(rules):
    assert _check(rules).rules


@pytest.mark.parametrize("rules", REFUSED)
def test_what_souffle_refuses_is_refused_unless_subtypes_are_left_unchecked(rules):
    with pytest.raises(ProgramError, match="is of type"):
        _check(rules)
    assert _check(f'.pragma "legacy"\n{rules}').rules


def test_a_program_with_an_error_in_its_types_is_told_that_alone():
    with pytest.raises(ProgramError) as caught:
        check([parse(".type A = B | number\n.type B <: A\n.decl p(x: A)\n.decl q(x: B)\np(x) :- q(x). q(x) :- p(x).")])
    assert len(caught.value.diagnostics) == 1


def test_a_setting_is_one_for_all_texts():
    pipeline = deltic.Pipeline()
    pipeline.datalog('.pragma "legacy"\n.type A <: number\n.decl p(x: A)\n.input p')
    pipeline.datalog(".type B <: number\n.decl q(x: B)\nq(x) :- p(x).")
    assert "q" in pipeline.views
    with pytest.raises(ProgramError, match=r'the pragma "legacy" cannot be "off"'):
        pipeline.datalog('.pragma "legacy" "off"')
