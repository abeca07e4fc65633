"""Functions over columns as data: an expression of a program, and how the values of its variables stand in columns.

A plan travels to other processes with the functions that it calls, so that none of them may be a closure of Python. The
first call of one in a process compiles it, and of a program that is not known there all that it needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

from deltic.circuit.python import digest
from deltic.immutable import Immutable
from deltic.values.types import Column
from deltic_ddlog import core
from deltic_ddlog import types as t
from deltic_ddlog.check import ResolvedModules, check_again
from deltic_ddlog.checked import ResolvedProgram
from deltic_ddlog.closures import ClosureCode, closures_in
from deltic_ddlog.lowering.columns import ProgramColumns, native_type, same
from deltic_ddlog.values import Group

REMEMBERED = 1 << 12
"""How many matches of a pattern with values are remembered, for the variables that it binds."""
_KNOWN = 64
"""How many programs a process remembers."""


class Compiled:
    """A program in a process, with the columns of its values."""

    def __init__(self, checked: ResolvedModules) -> None:
        self.checked, self.columns = checked, ProgramColumns(checked)
        self.program = checked.functions.program
        self._codes: dict[str, ClosureCode] = {}

    def learn(self, lowered: core.TypedExpression | core.Pattern) -> None:
        """Know the closures of an expression or pattern that was lowered, here and wherever the program arrives."""
        for code in closures_in(lowered, {}):
            self._codes[self.checked.functions.closures.learn(code)] = code

    def binding(self, name: str, type_: t.DdlogType) -> VariableBinding:
        """Return a value of the type in the column of that name."""
        return VariableBinding(type_, (Column(name, self.columns.type(type_)),), Stored(self, type_))

    def __reduce__(self) -> Any:
        return _arrived, (self.program,), tuple(self._codes.values())

    def __setstate__(self, codes: tuple[ClosureCode, ...]) -> None:
        for code in codes:
            self._codes[self.checked.functions.closures.learn(code)] = code

    def __repr__(self) -> str:
        return self.program.fingerprint


@lru_cache(maxsize=_KNOWN)
def _arrived(program: ResolvedProgram) -> Compiled:
    return Compiled(check_again(program))


class ColumnFunction(Immutable, ABC):
    """A function from values of columns, in their order. The first call compiles it."""

    of: Compiled

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function of Python."""
        return self.compiled()

    @cached_property
    def fingerprint(self) -> str:
        """The identity of the function."""
        return digest([repr(self)])

    @abstractmethod
    def compiled(self) -> Callable[..., Any]:
        """Return the function of Python, made from what this one is."""


@dataclass(frozen=True)
class VariableBinding:
    """Where a variable's value is: `read` makes it from these columns; `is_one` if a single column holds it."""

    type: t.DdlogType
    columns: tuple[Column, ...]
    read: ColumnFunction
    is_one: bool = True


Environment = Mapping[str, VariableBinding]
"""The variables that are known, by their names."""


@dataclass(frozen=True)
class Given:
    """A variable of a type, whose value `read` makes of that many columns."""

    name: str
    type: t.DdlogType
    width: int
    read: ColumnFunction


class Stored(ColumnFunction):
    """The value of a type that one column has."""

    type: t.DdlogType

    def compiled(self) -> Callable[..., Any]:
        return self.of.columns.reading(self.type)


class RowRecord(ColumnFunction):
    """The record of a row."""

    type: t.DdlogType

    def compiled(self) -> Callable[..., Any]:
        form = self.of.columns.form(self.type)
        return lambda *row: form.of_row(row)


class Value(ColumnFunction):
    """The value of an expression over variables."""

    expression: core.TypedExpression
    given: tuple[Given, ...]

    def compiled(self) -> Callable[..., Any]:
        names = [each.name for each in self.given]
        return reading(self.of.checked.functions.expression(self.expression, names), self.given)


class Written(ColumnFunction):
    """A value as a column of its type has it; None stays."""

    code: ColumnFunction
    type: t.DdlogType

    def compiled(self) -> Callable[..., Any]:
        write, function = self.of.columns.writing(self.type), self.code.function
        return function if write is same else lambda *values: write(function(*values))


class Items(ColumnFunction):
    """The elements of a collection, of a type, as a column of that type has them."""

    code: ColumnFunction
    type: t.DdlogType

    def compiled(self) -> Callable[..., Any]:
        write, function = self.of.columns.writing(self.type), self.code.function
        return lambda *values: list(map(write, function(*values)))


class Matching(ColumnFunction):
    """The values that a pattern binds in a subject; None if the subject does not match.

    The columns of the subject come before those of the pattern's variables.
    """

    pattern: core.Pattern
    subject: Value
    given: tuple[Given, ...]

    def compiled(self) -> Callable[..., Any]:
        takes_apart = self.of.checked.functions.pattern(self.pattern, [each.name for each in self.given])
        subject = Given("", self.subject.expression.type, sum(g.width for g in self.subject.given), self.subject)
        return lru_cache(maxsize=REMEMBERED)(reading(takes_apart, (subject, *self.given)))


class PatternValue(ColumnFunction):
    """The value of one variable of a pattern, as a column has it if there are columns of its type.

    It is None where there is no match.
    """

    matching: Matching
    place: int
    type: t.DdlogType

    def compiled(self) -> Callable[..., Any]:
        match, place, columns = self.matching.function, self.place, self.of.columns
        write = columns.writing(self.type) if columns.has(self.type) else same

        def take(*values: Any) -> Any:
            parts = match(*values)
            return None if parts is None else write(parts[place])

        return take


class PatternTest(ColumnFunction):
    """Whether a subject matches a pattern."""

    matching: Matching

    def compiled(self) -> Callable[..., Any]:
        match = self.matching.function
        return lambda *values: match(*values) is not None


class Guarded(ColumnFunction):
    """The function of the first values, which may only fail where all tests of values at places hold."""

    code: ColumnFunction
    width: int
    tests: tuple[tuple[ColumnFunction, tuple[int, ...]], ...]

    def compiled(self) -> Callable[..., Any]:
        function, width = self.code.function, self.width

        def call(*values: Any) -> Any:
            try:
                return function(*values[:width])
            except Exception:
                if all(test(*(values[place] for place in places)) for test, places in self.tests):
                    raise
                return None

        return call


class GroupedList(ColumnFunction):
    """A group of a list of values of a type, each with its number of derivations and its row.

    Its values are in the order of their rows. The columns of its key are after the list.
    """

    key: Value
    type: t.DdlogType
    row: tuple[Given, ...]

    def compiled(self) -> Callable[..., Any]:
        key, read, order = self.key.function, self.of.columns.reading(self.type), self._order()

        def group(rows: Sequence[Sequence[Any]], *of_key: Any) -> Group:
            values = ((read(value), count) for value, count, *_ in sorted(rows, key=order))
            return Group(key(*of_key), tuple(values))

        return group

    def _order(self) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """Return the sort key of rows whose values follow a value and a number. Functions are ordered by text."""
        ordering = self.of.columns.ordering
        parts = [(ordering(each.type, each.read.function), place) for each, place in _places(self.row, 2)]
        return lambda row: tuple(part(*row[place]) for part, place in parts)


def reading(function: Callable[..., Any], given: Sequence[Given]) -> Callable[..., Any]:
    """Return a function of variables as one of their columns."""
    if all(isinstance(each.read, Stored) and native_type(each.read.type) for each in given):
        return function
    parts = [(each.read.function, place) for each, place in _places(given)]
    return lambda *values: function(*(read(*values[place]) for read, place in parts))


def _places(given: Sequence[Given], start: int = 0) -> Iterator[tuple[Given, slice]]:
    """Yield the variables, each with the place of its columns among those of all."""
    for each in given:
        yield each, slice(start, start + each.width)
        start += each.width
