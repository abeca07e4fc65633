"""Closures and functions as values, as data: a name made of what the code says, and the values that are captured.

A closure in a column is a text, such as `closure_0123456789abcdef{5}`, from which any process that has the program
makes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deltic.circuit.python import digest
from deltic.datalog.syntax.expressions import nodes_in
from deltic.errors import EvaluationError
from deltic_ddlog import core
from deltic_ddlog.types import DdlogType, substitute

Closure = Callable[..., Any]


@dataclass(frozen=True)
class ClosureCode:
    """A closure, or a function as a value, at the types that `given` has for the type variables around it."""

    node: core.MakeClosure | core.FunctionValue
    given: Mapping[str, DdlogType]

    @cached_property
    def name(self) -> str:
        """A name unique among closures, the same in every process with the program."""
        if isinstance(self.node, core.FunctionValue):
            instance = core.at(self.node.function, self.given)
            says = [instance.name, str(instance.number), *map(str, (*instance.parameters, instance.result))]
        else:
            span = self.node.span
            captured = (f"{variable.name}: {type_}" for variable, type_ in zip(self.captured, self.types, strict=True))
            place = f"{span.line}:{span.column}-{span.end_line}:{span.end_column}"
            says = [span.source.text, place, str(self._ground(self.node.type)), *captured]
            says += [f"{name} = {type_}" for name, type_ in sorted(self.given.items())]
        return f"closure_{digest(says)}"

    @cached_property
    def captured(self) -> tuple[core.VariableValue, ...]:
        """The variables of a closure that are neither its own nor bound inside."""
        if isinstance(self.node, core.FunctionValue):
            return ()
        inside, read = set(self.node.parameters), dict[str, core.VariableValue]()
        for part in nodes_in(self.node.body):
            if isinstance(part, core.Bind | core.As):
                inside.add(part.name)
            elif isinstance(part, core.MakeClosure):
                inside.update(part.parameters)
            elif isinstance(part, core.VariableValue):
                read.setdefault(part.name, part)
        return tuple(variable for name, variable in read.items() if name not in inside)

    @cached_property
    def types(self) -> tuple[DdlogType, ...]:
        """The types of the captured variables."""
        return tuple(self._ground(variable.type) for variable in self.captured)

    def _ground(self, type_: DdlogType) -> DdlogType:
        return substitute(type_, self.given) if self.given else type_


class Closures:
    """The closures of a program by their names.

    `compiled` gives the function from captured values to the closure. `written` finds those that are in the program's
    text; it is asked for once, for the name of one that was not met in this process.
    """

    def __init__(
        self, compiled: Callable[[ClosureCode], Callable[..., Closure]], written: Callable[[], Iterable[ClosureCode]]
    ) -> None:
        self._compiled, self._written = compiled, written
        self._codes: dict[str, ClosureCode] = {}
        self._makers: dict[str, Callable[..., Closure]] = {}
        self._functions: dict[Closure, str] = {}
        self._has_all = False

    def learn(self, code: ClosureCode) -> str:
        """Register a closure, and return its name."""
        self._codes.setdefault(code.name, code)
        return code.name

    def learn_function(self, code: ClosureCode, function: Closure) -> None:
        """Register a function as the value of this code."""
        self._functions.setdefault(function, self.learn(code))

    def taken_apart(self, closure: Closure) -> tuple[ClosureCode, Sequence[Any]]:
        """Return the code and the captured values of a closure. Raises EvaluationError for a function of Python."""
        name = self._functions.get(closure) or getattr(closure, "__name__", "")
        if name not in self._codes:
            raise EvaluationError(f"the function {name} is no closure of the program, and cannot be stored")
        return self._codes[name], getattr(closure, "__defaults__", None) or () if closure not in self._functions else ()

    def key(self, closure: Closure) -> str:
        """Return the key by which closures are ordered."""
        code, values = self.taken_apart(closure)
        return f"{code.name}{values!r}"

    def of_name(self, name: str) -> tuple[ClosureCode, Callable[..., Closure]] | None:
        """Return the code of that name, and a function from captured values to the closure; None without such code."""
        if name not in self._codes and not self._has_all:
            self._has_all = True
            for code in self._written():
                self.learn(code)
        if name not in self._codes:
            return None
        code = self._codes[name]
        if name not in self._makers:
            self._makers[name] = self._compiled(code)
        return code, self._makers[name]


def closures_in(
    expression: core.TypedExpression | core.Pattern, given: Mapping[str, DdlogType]
) -> Iterable[ClosureCode]:
    """Yield the closures and functions as values that an expression or pattern says itself."""
    for node in nodes_in(expression):
        if isinstance(node, core.MakeClosure | core.FunctionValue):
            yield ClosureCode(node, given)
