"""User-defined functors: declared in Datalog, defined in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from deltic.datalog.checks.functors import FunctorProfile
from deltic.datalog.checks.kinds import Base, phrase, seen, stored
from deltic.datalog.checks.type_names import Findings, TypeTable
from deltic.datalog.syntax.expressions import FUNCTOR, TypeName
from deltic.datalog.syntax.program import FunctorDeclaration
from deltic.values.types import Type

if TYPE_CHECKING:
    from deltic.circuit.custom import OfPython
    from deltic.circuit.python import PythonFunction


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
