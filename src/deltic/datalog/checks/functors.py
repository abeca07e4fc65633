"""The types of functors, operators and tests, and functors that are defined in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeGuard

from deltic.circuit.accumulators import ACCUMULATORS, Accumulator
from deltic.circuit.accumulators.own import UserAggregate
from deltic.datalog.checks.type_names import (
    ANY,
    BASE_TYPES,
    INTEGER,
    NUMERIC,
    Base,
    Findings,
    Types,
    TypeTable,
    phrase,
    seen,
    stored,
)
from deltic.datalog.souffle.words import MATHEMATICS
from deltic.datalog.syntax.expressions import FUNCTOR, TypeName
from deltic.datalog.syntax.program import FunctorDeclaration
from deltic.values.types import Type

if TYPE_CHECKING:
    from deltic.circuit.custom import OfPython
    from deltic.circuit.python import PythonFunction

SAME: Literal["same"] = "same"
ORDERED: Literal["ordered"] = "ordered"
Operand = Types | Literal["same", "ordered"]


@dataclass(frozen=True)
class FunctorProfile:
    """The types of arguments and result. All SAME positions have one type, which is one of `same`.

    ORDERED positions allow all types with literals, and structures. With `more`, the last argument may be repeated.
    `least` is the least number of arguments, if arguments may be omitted at the front (the minus sign).
    """

    arguments: tuple[Operand, ...]
    result: Types | Literal["same"]
    same: Types = ANY
    more: bool = False
    least: int = 0

    def accepts(self, count: int) -> bool:
        """Return whether `count` arguments are allowed."""
        low = self.least or len(self.arguments)
        return low <= count and (self.more or count <= len(self.arguments))

    def count_in_words(self) -> str:
        """Return the allowed number of arguments, in words."""
        low = self.least or len(self.arguments)
        return f"{low}{' or more' if self.more else ''} argument{'s' if low != 1 or self.more else ''}"

    def place(self, index: int) -> Operand:
        """Return the types allowed for argument number `index`."""
        return self.arguments[min(index, len(self.arguments) - 1)]


def _only(type_: Type) -> Types:
    return frozenset({type_})


_NUMBER, _UNSIGNED = _only(Type.INT64), _only(Type.UINT64)
_FLOAT, _SYMBOL = _only(Type.FLOAT64), _only(Type.STRING)
_BINARY = (SAME, SAME)

OPERATORS: Mapping[str, FunctorProfile] = {
    "+": FunctorProfile(_BINARY, SAME, ANY, more=True),
    "-": FunctorProfile(_BINARY, SAME, NUMERIC, least=1),
    "*": FunctorProfile(_BINARY, SAME, NUMERIC, more=True),
    **{operator: FunctorProfile(_BINARY, SAME, NUMERIC) for operator in ("/", "^")},
    **{operator: FunctorProfile(_BINARY, SAME, INTEGER) for operator in ("%", "bshl", "bshr", "bshru")},
    **{
        operator: FunctorProfile(_BINARY, SAME, INTEGER, more=True)
        for operator in ("band", "bor", "bxor", "land", "lor", "lxor")
    },
    **{operator: FunctorProfile((SAME,), SAME, INTEGER) for operator in ("bnot", "lnot")},
}

CALLS: Mapping[str, FunctorProfile] = {
    **{functor: FunctorProfile(_BINARY, SAME, ANY, more=True) for functor in ("min", "max")},
    "cat": FunctorProfile((_SYMBOL,), _SYMBOL, more=True),
    "strlen": FunctorProfile((_SYMBOL,), _NUMBER),
    "ord": FunctorProfile((ORDERED,), _NUMBER),
    "substr": FunctorProfile((_SYMBOL, _NUMBER, _NUMBER), _SYMBOL),
    "to_number": FunctorProfile((ANY,), _NUMBER),
    "to_unsigned": FunctorProfile((ANY,), _UNSIGNED),
    "to_float": FunctorProfile((ANY,), _FLOAT),
    "to_string": FunctorProfile((ANY,), _SYMBOL),
    "itof": FunctorProfile((_NUMBER,), _FLOAT),
    "itou": FunctorProfile((_NUMBER,), _UNSIGNED),
    "utof": FunctorProfile((_UNSIGNED,), _FLOAT),
    "utoi": FunctorProfile((_UNSIGNED,), _NUMBER),
    "ftoi": FunctorProfile((_FLOAT,), _NUMBER),
    "ftou": FunctorProfile((_FLOAT,), _UNSIGNED),
    "range": FunctorProfile((SAME, SAME, SAME), SAME, NUMERIC, least=2),
    **{name: FunctorProfile((_FLOAT,), _FLOAT) for name in MATHEMATICS},
}

FUNCTORS: Mapping[str, FunctorProfile] = {**OPERATORS, **CALLS}

# The functor that computes a value of a type from one of any other.
CONVERSIONS: Mapping[Base, str] = {
    Type.INT64: "to_number",
    Type.UINT64: "to_unsigned",
    Type.FLOAT64: "to_float",
    Type.STRING: "to_string",
}


def _profile(accumulator: Accumulator) -> FunctorProfile:
    """Return the profile of an aggregate: its result has the type of its target, or one type for all targets."""
    if not accumulator.needs_column:
        return FunctorProfile((), _only(accumulator.result([Type.INT64])))
    taken = frozenset(type_ for type_ in BASE_TYPES.values() if accumulator.takes([type_]))
    results = {accumulator.result([type_]) for type_ in taken}
    return FunctorProfile((SAME,), SAME if results == taken else frozenset(results), taken)


AGGREGATES: Mapping[str, FunctorProfile] = {
    name: _profile(ACCUMULATORS[name]) for name in ("count", "max", "mean", "min", "sum")
}


def aggregate_profile(entry: str) -> FunctorProfile:
    """Return the profile of a Python aggregate, by its name in circuits."""
    own = ACCUMULATORS[entry]
    assert isinstance(own, UserAggregate)
    (given,) = own.gives.columns
    return FunctorProfile(tuple(frozenset({seen(taken.type)}) for taken in own.of), frozenset({seen(given.type)}))


# Conditions with a name; they have no result.
TESTS: Mapping[str, FunctorProfile] = {name: FunctorProfile((_SYMBOL, _SYMBOL), ANY) for name in ("contains", "match")}


@dataclass(frozen=True)
class Functors:
    """The profiles and Python functions of the declared functors, by their names with `@`."""

    profiles: Mapping[str, FunctorProfile]
    functions: Mapping[str, PythonFunction]
    names: Mapping[str, Sequence[str]]
    """The declared types of the parameters and, last, of the result."""


def check_functors(
    declarations: Sequence[FunctorDeclaration], types: TypeTable, functions: Mapping[str, OfPython], findings: Findings
) -> Functors:
    """Return the functors, each with the Python function of its name; missing ones and wrong types are reported."""
    profiles: dict[str, FunctorProfile] = {}
    defined: dict[str, PythonFunction] = {}
    for declaration in declarations:
        name, span = declaration.name, declaration.span
        bases = [types.base(mention) for mention in (*declaration.parameters, declaration.result)]
        known = [base for base in bases if base]
        if name in profiles:
            findings.append(span.error(f"the functor `{name}` is declared twice", "remove one of the declarations"))
        if len(known) < len(bases):
            continue
        *parameters, result = known
        profiles[name] = FunctorProfile(tuple(frozenset({base}) for base in parameters), frozenset({result}))
        function = functions.get(name.removeprefix(FUNCTOR).lower())
        if function is None:
            hint = "give one: `pipeline.function(...)`, `Pipeline(functions=...)` or `--functors module.py`"
            findings.append(span.error(f"there is no function of Python for the functor `{name}`", hint))
            continue
        if not _is_of_values(function):
            hint = (
                f"it is not declared: rules have `{name}[relations](values)`, and `@{name} x : {{ … }}` of an aggregate"
            )
            findings.append(span.error(f"`{name}` is an operator of Python, and no function of values", hint))
            continue
        defined[name] = function
        _check_types(declaration, known, function, findings)
    names = {d.name: [mention.name for mention in (*d.parameters, d.result)] for d in declarations}
    return Functors(profiles, defined, names)


def _is_of_values(function: OfPython) -> TypeGuard[PythonFunction]:
    """Return whether it is a function of the values of a row."""
    from deltic.circuit.python import PythonFunction

    return isinstance(function, PythonFunction)


def _check_types(
    declaration: FunctorDeclaration, bases: Sequence[Base], function: PythonFunction, findings: Findings
) -> None:
    """Report types of a declaration that differ from those of the function."""
    if len(function.arguments) != len(declaration.parameters):
        message = f"the functor `{declaration.name}` has {len(declaration.parameters)} parameters, "
        message += f"and the function of Python {len(function.arguments)}"
        findings.append(declaration.span.error(message))
        return
    mentions: list[TypeName] = [*declaration.parameters, declaration.result]
    types: list[Type] = [*function.arguments, function.returns.type]
    for mention, base, type_ in zip(mentions, bases, types, strict=True):
        if stored(base) is not seen(type_):
            message = f"`{mention.name}` is {phrase([base])}, but the function of Python has {type_} here"
            findings.append(mention.span.error(message, "declare the same type in Datalog and in Python"))
