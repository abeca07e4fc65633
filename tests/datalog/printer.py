"""Prints syntax trees in Soufflé's syntax: text that parses to an equal tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch

from deltic.datalog.souffle.build_terms import ESCAPES
from deltic.datalog.souffle.words import RELATION_PRAGMAS
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax import program as p

# From the loosest to the tightest; operators of one row are left-associative. `^` is right-associative.
BINARY_OPERATORS = (
    ("lor",),
    ("lxor",),
    ("land",),
    ("bor",),
    ("bxor",),
    ("band",),
    ("bshl", "bshr", "bshru"),
    ("+", "-"),
    ("*", "/", "%"),
)
PREFIX_OPERATORS = ("-", "bnot", "lnot")
_UNESCAPES = {value: key for key, value in ESCAPES.items() if key != "'"}
_TIGHTNESS = {operator: row for row, operators in enumerate(BINARY_OPERATORS) for operator in operators}
_PREFIX = len(BINARY_OPERATORS)
_POWER = _PREFIX + 1
_PRIMARY = _PREFIX + 2


def print_program(program: p.ParsedProgram) -> str:
    """The program, one statement for each line."""
    return "".join(print_item(item) + "\n" for item in program.items)


@singledispatch
def print_item(item: p.Item) -> str:
    """One statement."""
    raise TypeError(type(item))


@print_item.register
def _(item: p.Declaration) -> str:
    choices = ", ".join(f"({', '.join(key)})" for key in item.choices)
    hints = (*item.qualifiers, *([f"choice-domain {choices}"] if choices else ()))
    return " ".join((f".decl {item.name}({_attributes(item.attributes)})", *hints))


@print_item.register
def _(item: p.Subtype) -> str:
    return f".type {item.name} <: {item.base.name}"


@print_item.register
def _(item: p.UnionType) -> str:
    return f".type {item.name} = {' | '.join(member.name for member in item.members)}"


@print_item.register
def _(item: p.StructureType) -> str:
    if not item.branches[0].name:
        return f".type {item.name} = [{_attributes(item.branches[0].fields)}]"
    branches = (f"{branch.name} {{{_attributes(branch.fields)}}}" for branch in item.branches)
    return f".type {item.name} = {' | '.join(branches)}"


@print_item.register
def _(item: p.FunctorDeclaration) -> str:
    parameters = ", ".join(parameter.name for parameter in item.parameters)
    return f".functor {item.name.removeprefix(e.FUNCTOR)}({parameters}): {item.result.name}"


@print_item.register
def _(item: p.DirectiveItem) -> str:
    if item.kind in RELATION_PRAGMAS:
        return f'.pragma "{item.kind}" {quote(item.relation)}'
    options = ", ".join(f"{option.key}={quote(option.value)}" for option in item.options)
    return f".{item.kind} {item.relation}" + (f"({options})" if options else "")


@print_item.register
def _(item: p.Pragma) -> str:
    return f'.pragma "{item.name}"' + (f" {quote(item.value)}" if item.value else "")


@print_item.register
def _(item: p.Clause) -> str:
    heads = ", ".join(map(print_formula, item.heads))
    return f"{heads} :- {_body(item.body)}." if item.body else f"{heads}."


def _body(body: f.BodyFormula) -> str:
    """The body of a statement, with an implication in parentheses."""
    return _grouped(body, f.Implication)


def _attributes(attributes: Sequence[p.Attribute]) -> str:
    return ", ".join(f"{attribute.name}: {attribute.type.name}" for attribute in attributes)


@print_item.register
def _(item: p.Subsumption) -> str:
    return f"{print_formula(item.lesser)} <= {print_formula(item.greater)} :- {_body(item.body)}."


@singledispatch
def print_formula(formula: f.BodyFormula) -> str:
    """The text of a formula in a body."""
    raise TypeError(type(formula))


@print_formula.register
def _(formula: f.BodyAtom) -> str:
    return f"{formula.relation}({_list(formula.arguments)})"


@print_formula.register
def _(formula: f.BodyComparison) -> str:
    return f"{print_expression(formula.left)} {formula.operator} {print_expression(formula.right)}"


@print_formula.register
def _(formula: f.OperatorAtom) -> str:
    return f"{formula.relation}({_list(formula.arguments)})"


@print_formula.register
def _(formula: f.Test) -> str:
    return f"{formula.name}({_list(formula.arguments)})"


@print_formula.register
def _(formula: f.Truth) -> str:
    return "true" if formula.value else "false"


@print_formula.register
def _(formula: f.Negation) -> str:
    return "!" + _grouped(formula.part, f.Conjunction, f.Disjunction, f.Implication)


@print_formula.register
def _(formula: f.Conjunction) -> str:
    return ", ".join(_grouped(part, f.Conjunction, f.Disjunction, f.Implication) for part in formula.parts)


@print_formula.register
def _(formula: f.Disjunction) -> str:
    return "; ".join(_grouped(part, f.Disjunction, f.Implication) for part in formula.parts)


@print_formula.register
def _(formula: f.Implication) -> str:
    return f"{_grouped(formula.premise, f.Implication)} -> {print_formula(formula.conclusion)}"


@print_formula.register
def _(formula: f.Quantified) -> str:
    return f"{formula.quantifier} {_list(formula.variables)}: ({print_formula(formula.part)})"


def _grouped(part: f.BodyFormula, *loose: type[f.BodyFormula]) -> str:
    text = print_formula(part)
    return f"({text})" if isinstance(part, loose) else text


def print_expression(expression: e.Expression) -> str:
    """The text of an expression, with only the necessary parentheses."""
    return _print(expression)[0]


def _print(expression: e.Expression) -> tuple[str, int]:
    """The text and its precedence; `_PRIMARY` for expressions that never need parentheses."""
    if isinstance(expression, e.FunctorCall):
        return _apply(expression)
    if isinstance(expression, e.Cast):
        return f"as({print_expression(expression.argument)}, {expression.type.name})", _PRIMARY
    if isinstance(expression, f.AggregateExpression):
        return _aggregate(expression), _PRIMARY
    if isinstance(expression, e.NumberLiteral | e.FloatLiteral) and str(expression.value).startswith("-"):
        return _LITERALS[type(expression)](expression), _PREFIX
    return _LITERALS[type(expression)](expression), _PRIMARY


def _apply(expression: e.FunctorCall) -> tuple[str, int]:
    operator, arguments = expression.functor, expression.arguments
    if e.is_structure(expression):
        listed = _list(arguments)
        return f"[{listed}]" if operator == e.RECORD else f"{operator}({listed})" if listed else operator, _PRIMARY
    if len(arguments) == 2 and operator == "^":
        return f"{_within(arguments[0], _PRIMARY)} ^ {_within(arguments[1], _PREFIX)}", _POWER
    if len(arguments) >= 2 and operator in _TIGHTNESS:
        row = _TIGHTNESS[operator]
        return f" {operator} ".join([_within(arguments[0], row), *(_within(a, row + 1) for a in arguments[1:])]), row
    if len(arguments) == 1 and operator in PREFIX_OPERATORS:
        return _prefix(operator, arguments[0]), _PREFIX
    return f"{operator}({_list(arguments)})", _PRIMARY


def _aggregate(expression: f.AggregateExpression) -> str:
    values = ", ".join(map(print_expression, expression.targets))
    target = f"({values})" if len(expression.targets) > 1 else f" {values}" if values else ""
    return f"{expression.function}{target} : {{ {print_formula(expression.body)} }}"


def _prefix(operator: str, argument: e.Expression) -> str:
    """A prefix operator; a minus before a literal needs parentheses, or it becomes a part of the literal."""
    if operator == "-":
        return "-" + _within(argument, _PRIMARY if isinstance(argument, e.NumberLiteral | e.FloatLiteral) else _PREFIX)
    return f"{operator} {_within(argument, _PREFIX)}"


def _within(expression: e.Expression, tightness: int) -> str:
    text, own = _print(expression)
    return text if own >= tightness else f"({text})"


def _list(arguments: Iterable[e.Expression]) -> str:
    return ", ".join(map(print_expression, arguments))


def _float(value: float) -> str:
    """A float with a decimal point, which Python omits before an exponent."""
    mantissa, exponent, power = repr(value).partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + exponent + power


_LITERALS: dict[type[e.Expression], Callable[..., str]] = {
    e.Variable: lambda literal: literal.name,
    e.Wildcard: lambda literal: "_",
    e.NumberLiteral: lambda literal: str(literal.value),
    e.UnsignedLiteral: lambda literal: f"{literal.value}u",
    e.FloatLiteral: lambda literal: _float(literal.value),
    e.StringLiteral: lambda literal: quote(literal.value),
}


def quote(value: str) -> str:
    """The value as a quoted string, on one line."""
    return '"' + "".join("\\" + _UNESCAPES[c] if c in _UNESCAPES else c for c in value) + '"'
