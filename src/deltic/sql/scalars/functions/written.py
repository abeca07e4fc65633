"""Functions of CREATE FUNCTION: a call is replaced by the body with values for its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from deltic.sql.names import names_read
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.text import SourceText
from deltic.values.types import Column, Type


@dataclass(frozen=True)
class Parameter:
    """A parameter, with the default of a missing argument."""

    name: str
    type: Type
    default: exp.Expression | None = None


@dataclass(frozen=True, eq=False)
class SqlFunction:
    """A function whose body is an expression of its parameters, or with `columns` a query of these columns.

    Without `returns` its type is that of the body. `source` is the text in which the body stands.
    """

    name: str
    parameters: tuple[Parameter, ...]
    returns: Type | None
    columns: tuple[Column, ...] | None
    body: exp.Expression
    source: SourceText
    text: str
    place: str

    @property
    def is_table(self) -> bool:
        """Whether it stands in FROM."""
        return self.columns is not None

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of the functions that the body calls, in lower case, known or not."""
        return calls_of(self.body)

    @cached_property
    def read(self) -> tuple[exp.Table, ...]:
        """The relations that the body names."""
        return tuple(names_read(self.body))

    @property
    def needs_rows(self) -> bool:
        """Whether the value depends on rows of relations: the body has a subquery, or calls what has one."""
        own = any(isinstance(node, exp.Query) for node in self.body.walk())
        return own or any(result.needs_rows for name in self.calls if (result := function_called(name)))

    def given(self, arguments: Sequence[exp.Expression]) -> dict[str, exp.Expression]:
        """Return the arguments of a call by the parameters in lower case; Mismatch where it does not take these."""
        names = [parameter.name.lower() for parameter in self.parameters]
        result: dict[str, exp.Expression] = {}
        for number, argument in enumerate(arguments):
            is_named = isinstance(argument, exp.Kwarg)
            if not is_named and (number >= len(names) or len(result) < number):
                raise Mismatch(self._usage)
            name = argument.name.lower() if is_named else names[number]
            if name not in names or name in result:
                raise Mismatch(f"{self._usage}; {name} is {'given twice' if name in result else 'no parameter'}")
            result[name] = argument.expression if is_named else argument
        for parameter in self.parameters:
            if parameter.name.lower() not in result and parameter.default is None:
                raise Mismatch(f"{self._usage}; {parameter.name} is missing")
        return result

    @property
    def _usage(self) -> str:
        return f"{self.name} takes ({self.signature})"

    @property
    def signature(self) -> str:
        """The parameters as they would be written."""
        from deltic.sql.types import written

        return ", ".join(f"{parameter.name} {written(parameter.type)}" for parameter in self.parameters)


Written = Mapping[str, SqlFunction]
"""Functions by their names in lower case."""

KNOWN: ContextVar[Written] = ContextVar("functions that SQL has made")


def known() -> Written:
    """Return all functions that can be called where something is lowered."""
    return KNOWN.get({})


def function_called(name: str) -> SqlFunction | None:
    """Return the function of that name."""
    return known().get(name.lower())


def calls_of(node: exp.Expression) -> frozenset[str]:
    """Return the names of the functions that an expression or query calls and that are not the parser's, in lower
    case.
    """
    return frozenset(call.name.lower() for call in node.find_all(exp.Anonymous))


def reached(calls: Iterable[str], functions: Written) -> Iterator[SqlFunction]:
    """Yield the functions of these names and those that they call, each once."""
    waiting, seen = sorted(calls), set[str]()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in seen:
            seen.add(name)
            yield functions[name]
            waiting += sorted(functions[name].calls)
