"""The statements of one function of Python, as expressions are written into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from deltic.datalog.syntax.source import Span
from deltic_ddlog import core
from deltic_ddlog.closures import ClosureCode, Closures
from deltic_ddlog.types import DdlogType, Tuple, content, substitute
from deltic_ddlog.values import Constructor

_LONGEST = 400
_LEAVES = ("return ", "break", "continue")

Path = tuple[int, ...]


def name_of(name: str) -> str:
    """Return the Python name of a variable; its trailing underscore avoids Python's keywords and our names."""
    return f"{name}_"


class PythonNames(Protocol):
    """The Python names of constructors, orders and functions that statements use."""

    def constructor(self, constructor: Constructor, *, empty: bool = False) -> str: ...

    def is_only(self, constructor: Constructor) -> bool: ...

    def order(self, type_: DdlogType) -> str: ...

    def function(self, instance: core.FunctionInstance, span: Span) -> str: ...

    def function_value(self, code: ClosureCode) -> str: ...

    @property
    def closures(self) -> Closures: ...


class Emitter:
    """The statements of one function, and the values that it returns beside its result.

    Each form of expression has a method `visit_…` in a subclass.
    """

    def __init__(self, compiler: PythonNames, given: Mapping[str, DdlogType]) -> None:
        self.compiler = compiler
        self.given = given
        self.given_back: list[str] = []
        self.lines: list[str] = []
        self._temporaries = 0
        # Variables that a `match` bound to parts of a place: assigning to one changes the part.
        self._parts: dict[str, tuple[core.TypedExpression, Path]] = {}

    # --- statements

    def line(self, text: str) -> None:
        """One more statement."""
        self.lines.append(text)

    def temporary(self) -> str:
        """Return a new name."""
        self._temporaries += 1
        return f"_{self._temporaries}"

    def kept(self, value: str) -> str:
        """Return a name for a value that is computed now."""
        return value if value.isidentifier() else self._saved(value)

    def give(self, value: str) -> None:
        """Leave the function."""
        if not self.has_left():
            self.line(f"return ({', '.join([value, *self.given_back])})" if self.given_back else f"return {value}")

    def has_left(self) -> bool:
        """Return whether code after the last statement is unreachable."""
        return bool(self.lines) and (self.lines[-1] in _LEAVES or self.lines[-1].startswith("return "))

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Statements inside of another one."""
        outer, self.lines = self.lines, []
        try:
            yield
        finally:
            inner, self.lines = self.lines or ["pass"], outer
            self.lines.append(header)
            self.lines += [f"    {line}" for line in inner]

    def type(self, type_: DdlogType) -> DdlogType:
        """Return a type of the body, in this instance of the function."""
        return substitute(type_, self.given) if self.given else type_

    # --- values

    def value(self, expression: core.TypedExpression) -> str:
        """Return a Python expression for the value; statements that must run before it are added."""
        result: str = getattr(self, f"visit_{type(expression).__name__}")(expression)
        return self.kept(result) if len(result) > _LONGEST else result

    def values(self, expressions: Sequence[core.TypedExpression]) -> list[str]:
        """Several values, computed from left to right."""
        result: list[str] = []
        for expression in expressions:
            before = len(self.lines)
            value = self.value(expression)
            if len(self.lines) > before:
                inserted, self.lines = self.lines[before:], self.lines[:before]
                result = [earlier if _is_constant(earlier) else self._saved(earlier) for earlier in result]
                self.lines += inserted
            result.append(value)
        return result

    def _saved(self, value: str) -> str:
        name = self.temporary()
        self.line(f"{name} = {value}")
        return name

    def discard(self, expression: core.TypedExpression) -> None:
        """Compute a value for its side effects."""
        value = self.value(expression)
        if not _is_constant(value) and not value.isidentifier() and not self.has_left():
            self.line(value)

    def captured(self, expression: core.TypedExpression) -> tuple[list[str], str]:
        """Return the statements of a branch, and its value after them: "" where it leaves before."""
        outer, self.lines = self.lines, []
        value = self.value(expression)
        result, value = self.lines, "" if self.has_left() else value
        self.lines = outer
        return result, value

    def branch(self, header: str, name: str, found: tuple[list[str], str]) -> None:
        """A branch that gives its value a name; without a name the value does not matter."""
        with self.block(header):
            lines, value = found
            self.lines += lines
            if value and name:
                self.line(f"{name} = {value}")
            elif "(" in value and value != "()":
                self.line(value)

    # --- places

    def store(self, place: core.TypedExpression, value: str) -> None:
        """Change a variable, or a part of one."""
        if isinstance(place, core.VariableValue):
            name = name_of(place.name)
            if value != name:
                self.line(f"{name} = {value}")
            if place.name in self._parts:
                whole, path = self._parts[place.name]
                message = ", ".join(map(str, path))
                self.store(whole, f"with_path({self.value(whole)}, ({message},), {name})" if path else name)
        elif isinstance(place, core.FieldOf | core.SharedField):
            owner = self.kept(self.value(place.of))
            self.store(place.of, f"with_item({owner}, {self.offset(place, owner)}, {value})")

    def offset(self, field: core.FieldOf | core.SharedField, owner: str) -> str:
        """Return where a field or an item stands in the tuple that its owner is."""
        if isinstance(field, core.SharedField):
            *others, (_, last) = field.places
            chosen = (f"{p + 1} if {owner}[0] is {self.compiler.constructor(c)} else " for c, p in others)
            return f"({''.join(chosen)}{last + 1})"
        return str(field.index + (not isinstance(content(self.type(field.of.type)), Tuple)))

    def target(self, pattern: core.Pattern, value: str) -> None:
        """Assign a value to the places of a pattern."""
        match pattern:
            case core.Bind():
                self.line(f"{name_of(pattern.name)} = {value}")
            case core.AssignedPlace():
                self.store(pattern.place, value)
            case core.StructPattern():
                whole = self.kept(value)
                shift = 0 if pattern.constructor is None else 1
                for place, part in enumerate(pattern.parts):
                    if not isinstance(part, core.Anything):
                        self.target(part, f"{whole}[{place + shift}]")
            case core.As():
                self.line(f"{name_of(pattern.name)} = {value}")
                self.target(pattern.pattern, name_of(pattern.name))
            case _ if not _is_constant(value) and not value.isidentifier():
                self.line(value)

    # --- patterns

    def tests(self, pattern: core.Pattern, path: str) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the conditions on the value at `path`, and the paths of the variables that it binds."""
        match pattern:
            case core.Bind():
                return [], [(pattern.name, path)]
            case core.As():
                conditions, bindings = self.tests(pattern.pattern, path)
                return conditions, [(pattern.name, path), *bindings]
            case core.Equal():
                return [f"{path} == {self.value(pattern.expression)}"], []
            case core.StructPattern():
                return self._tests_of_parts(pattern, path)
            case _:
                return [], []

    def _tests_of_parts(self, pattern: core.StructPattern, path: str) -> tuple[list[str], list[tuple[str, str]]]:
        conditions, bindings, shift = list[str](), list[tuple[str, str]](), 0
        if pattern.constructor is not None:
            shift = 1
            if not self.compiler.is_only(pattern.constructor):
                conditions.append(f"{path}[0] is {self.compiler.constructor(pattern.constructor)}")
        for place, part in enumerate(pattern.parts):
            asked, bound = self.tests(part, f"{path}[{place + shift}]")
            conditions += asked
            bindings += bound
        return conditions, bindings

    def bind(self, bindings: Sequence[tuple[str, str]]) -> None:
        """Assign the variables that a pattern binds."""
        for name, path in bindings:
            if name_of(name) != path:
                self.line(f"{name_of(name)} = {path}")

    def remember_parts(self, subject: core.TypedExpression, pattern: core.Pattern, path: Path = ()) -> None:
        """Variables of a pattern are the place that is matched, or parts of it."""
        match pattern:
            case core.Bind():
                self._parts[pattern.name] = subject, path
            case core.As():
                self._parts[pattern.name] = subject, path
                self.remember_parts(subject, pattern.pattern, path)
            case core.StructPattern():
                shift = 0 if pattern.constructor is None else 1
                for place, part in enumerate(pattern.parts):
                    self.remember_parts(subject, part, (*path, place + shift))


def _is_constant(value: str) -> bool:
    return value == "()" or value[0].isdigit() or value in ("True", "False") or (value[0] in "'\"" and len(value) < 40)
