"""Random syntax trees in the form in which the parser gives them."""

from __future__ import annotations

from hypothesis import strategies as st

from deltic.datalog.souffle.words import HINTS, RESERVED
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax import program as p
from deltic.datalog.syntax.source import ProgramText, Span
from tests.datalog.printer import BINARY_OPERATORS

NOWHERE = Span(ProgramText("<test>", ""), 1, 1, 1, 1)

names = st.from_regex(r"[A-Za-z_?][A-Za-z0-9_?]{0,5}", fullmatch=True).filter(lambda name: name not in RESERVED)
type_names = names.map(lambda name: e.TypeName(name, span=NOWHERE))
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
strings = texts.map(lambda value: value.replace("\x0b", ""))

literals = st.one_of(
    st.integers(-(2**70), 2**70).map(lambda value: e.NumberLiteral(value, span=NOWHERE)),
    st.integers(0, 2**64).map(lambda value: e.UnsignedLiteral(value, span=NOWHERE)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: e.FloatLiteral(value, span=NOWHERE)),
    strings.map(lambda value: e.StringLiteral(value, span=NOWHERE)),
)
variables = names.map(lambda name: e.Variable(name, span=NOWHERE))
leaves = literals | variables | st.just(e.Wildcard(span=NOWHERE))


def _apply(functor: str, *arguments: e.Expression) -> e.Expression:
    return e.FunctorCall(functor, arguments, span=NOWHERE)


def _minus(argument: e.Expression) -> e.Expression:
    """The parser makes a minus before a plain number a part of it."""
    plain = isinstance(argument, e.NumberLiteral | e.FloatLiteral) and not str(argument.value).startswith("-")
    return _apply("bnot", argument) if plain else _apply("-", argument)


def _compound(inner: st.SearchStrategy[e.Expression]) -> st.SearchStrategy[e.Expression]:
    binary = st.sampled_from([operator for row in BINARY_OPERATORS for operator in row] + ["^"])
    return st.one_of(
        st.builds(_apply, binary, inner, inner),
        st.builds(_minus, inner),
        st.builds(_apply, st.sampled_from(["bnot", "lnot"]), inner),
        st.builds(_apply, st.sampled_from(["strlen", "to_string", "cat", "other"]), inner),
        st.builds(lambda a, rest: _apply("min", a, *rest), inner, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda a, t: e.Cast(a, t, span=NOWHERE), inner, type_names),
        st.builds(lambda fields: _apply(e.RECORD, *fields), st.lists(inner, max_size=2)),
        st.builds(lambda name, fields: _apply(e.BRANCH + name, *fields), names, st.lists(inner, max_size=2)),
        st.just(_apply(e.NIL)),
        st.builds(_aggregate, st.sampled_from(["sum", "min", "max", "mean", "@@own"]), st.tuples(inner), names, inner),
        st.builds(_aggregate, st.just("@@own"), st.tuples(inner, inner), names, inner),
        st.builds(_aggregate, st.just("count"), st.just(()), names, inner),
    )


def _aggregate(function: str, targets: tuple[e.Expression, ...], relation: str, argument: e.Expression) -> e.Expression:
    """An aggregate over an atom and a comparison of it."""
    atom = f.BodyAtom(relation, (argument,), span=NOWHERE)
    comparison = f.BodyComparison("<", argument, argument, span=NOWHERE)
    return f.AggregateExpression(function, targets, f.Conjunction((atom, comparison), span=NOWHERE), span=NOWHERE)


expressions = st.recursive(leaves, _compound, max_leaves=8)
argument_lists = st.lists(expressions, max_size=3).map(tuple)
atoms = st.builds(lambda name, arguments: f.BodyAtom(name, arguments, span=NOWHERE), names, argument_lists)
conditions = st.one_of(
    atoms,
    st.builds(
        lambda operator, left, right: f.BodyComparison(operator, left, right, span=NOWHERE),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        expressions,
        expressions,
    ),
    st.builds(
        lambda name, arguments: f.Test(name, arguments, span=NOWHERE),
        st.sampled_from(["contains", "match"]),
        argument_lists,
    ),
    st.booleans().map(lambda value: f.Truth(value, span=NOWHERE)),
)


bound_variables = st.lists(variables, min_size=1, max_size=2)


def _nested(inner: st.SearchStrategy[f.BodyFormula]) -> st.SearchStrategy[f.BodyFormula]:
    def parts(kind: type[f.BodyFormula]) -> st.SearchStrategy[tuple[f.BodyFormula, ...]]:
        return st.lists(inner.filter(lambda part: not isinstance(part, kind)), min_size=2, max_size=3).map(tuple)

    return st.one_of(
        inner.map(lambda part: f.Negation(part, span=NOWHERE)),
        parts(f.Conjunction).map(lambda found: f.Conjunction(found, span=NOWHERE)),
        parts(f.Disjunction).map(lambda found: f.Disjunction(found, span=NOWHERE)),
        st.builds(lambda premise, conclusion: f.Implication(premise, conclusion, span=NOWHERE), inner, inner),
        st.builds(_quantified, st.sampled_from(["exists", "forall"]), bound_variables, inner),
    )


def _quantified(quantifier: str, bound: list[e.Variable], part: f.BodyFormula) -> f.BodyFormula:
    return f.Quantified(quantifier, tuple(bound), part, span=NOWHERE)


bodies = st.recursive(conditions, _nested, max_leaves=6)
attributes = st.builds(lambda name, type_: p.Attribute(name, type_, span=NOWHERE), names, type_names)
branches = st.builds(
    lambda name, fields: p.Branch(name, tuple(fields), span=NOWHERE), names, st.lists(attributes, max_size=2)
)
options = st.builds(lambda key, value: p.Option(key, value, span=NOWHERE), names, strings)
items = st.one_of(
    st.builds(
        lambda name, columns, qualifiers, keys: p.Declaration(name, columns, qualifiers, tuple(keys), span=NOWHERE),
        names,
        st.lists(attributes, max_size=3).map(tuple),
        st.lists(st.sampled_from([*HINTS, "eqrel"]), max_size=2).map(tuple),
        st.lists(st.lists(names, min_size=1, max_size=2).map(tuple), max_size=2),
    ),
    st.builds(lambda lesser, greater, body: p.Subsumption(lesser, greater, body, span=NOWHERE), atoms, atoms, bodies),
    st.builds(
        lambda name, parameters, result: p.FunctorDeclaration(
            e.FUNCTOR + name, tuple(parameters), result, span=NOWHERE
        ),
        names,
        st.lists(type_names, max_size=2),
        type_names,
    ),
    st.builds(lambda name, base: p.Subtype(name, base, span=NOWHERE), names, type_names),
    st.builds(
        lambda name, members: p.UnionType(name, tuple(members), span=NOWHERE),
        names,
        st.lists(type_names, min_size=1, max_size=3),
    ),
    st.builds(
        lambda name, fields: p.StructureType(name, (p.Branch("", tuple(fields), span=NOWHERE),), span=NOWHERE),
        names,
        st.lists(attributes, max_size=2),
    ),
    st.builds(
        lambda name, found: p.StructureType(name, tuple(found), span=NOWHERE),
        names,
        st.lists(branches, min_size=1, max_size=2),
    ),
    st.builds(
        lambda kind, relation, found: p.DirectiveItem(kind, relation, tuple(found), span=NOWHERE),
        st.sampled_from(["input", "output", "printsize"]),
        names,
        st.lists(options, max_size=2),
    ),
    st.builds(
        lambda heads, body: p.Clause(tuple(heads), body, span=NOWHERE),
        st.lists(atoms, min_size=1, max_size=2),
        st.none() | bodies,
    ),
)
programs = st.lists(items, max_size=5).map(lambda found: p.ParsedProgram(tuple(found), NOWHERE.source))
