"""Expressions and patterns over columns: sqlglot trees for what columns can say, and functions of Python for the rest.

Functions are made of the program's own, over the values that the columns hold. What an engine can compute on columns is
not called for each row: comparisons, logic, and integer arithmetic modulo 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.python import PythonFunction, digest
from deltic.circuit.types import Column, Type, ValueType
from deltic.datalog.ddlog import core
from deltic.datalog.ddlog import types as t
from deltic.datalog.ddlog.checked import Checked
from deltic.datalog.ddlog.lowering.columns import Binding, Columns, Environment, native_type, same
from deltic.datalog.ddlog.order import is_interned
from deltic.datalog.syntax.expressions import NodeT, nodes_in, transform
from deltic.errors import ProgramError

Tree = exp.Expression

_COMPARISONS: Mapping[str, type[Tree]] = {
    "==": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_ARITHMETIC: Mapping[str, type[Tree]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_BITWISE: Mapping[str, type[Tree]] = {"&": exp.BitwiseAnd, "|": exp.BitwiseOr, "^": exp.BitwiseXor}
_WRAPPERS = frozenset({"ddlog_std::ref_new", "ddlog_std::deref", "internment::intern", "internment::ival"})
SUBJECT = "Subject"
"""The value that is compared with a pattern."""
REMEMBERED = 1 << 12
"""How many matches of a pattern with values are remembered, for the variables that it binds."""


@dataclass(frozen=True)
class Guard:
    """A condition before a function, which computes it of these columns; `told` tells it apart."""

    test: Callable[..., bool]
    columns: tuple[Column, ...]
    told: str


class Expressions:
    """The expressions of a program over columns.

    Engines choose the order in which functions are called. So a function behind a condition that is one too may be
    called for what does not meet it: its value is NULL, and no error, where it fails then.
    """

    def __init__(self, checked: Checked, columns: Columns, program: str, guards: Sequence[Guard] = ()) -> None:
        self._checked, self.columns, self._program, self._guards = checked, columns, program, tuple(guards)

    def behind(self, condition: core.Expression, known: Environment) -> Expressions:
        """The expressions behind a condition."""
        condition = plain(condition, known)
        test, names = self.function(condition, known)
        columns = tuple(each for name in names for each in known[name].columns)
        guard = Guard(test, columns, self._told("guard", condition))
        return Expressions(self._checked, self.columns, self._program, (*self._guards, guard))

    def unguarded(self) -> Expressions:
        """The expressions behind what no row passes that does not meet all conditions before it."""
        return Expressions(self._checked, self.columns, self._program)

    def value(self, expression: core.Expression, known: Environment) -> Tree:
        """What the column of an expression's values has."""
        expression = plain(expression, known)
        if (tree := self._native(expression, known)) is not None:
            return tree
        function, names = self.function(expression, known)
        write = self.columns.writing(expression.type)
        body = function if write is same else lambda *given: write(function(*given))
        return self._call(body, ("value", expression), names, known, self.columns.type(expression.type))

    def constant(self, expression: core.Expression) -> Any:
        """The value of an expression without variables. Raises ProgramError where a function fails."""
        function = self._checked.compile_expression(expression, ())
        try:
            return function()
        except Exception as error:
            raise ProgramError([expression.span.error(f"this has no value: {error}")]) from error

    def items(self, expression: core.Expression, known: Environment) -> tuple[Callable[..., Any], list[str], str]:
        """A function from columns to a collection, the names of the columns, and what tells the function apart."""
        expression = plain(expression, known)
        function, names = self.function(expression, known)
        columns = [each.name for name in names for each in known[name].columns]
        return function, columns, self._told("items", expression)

    def match(
        self, pattern: core.Pattern, value: core.Expression | Binding, known: Environment
    ) -> tuple[list[Tree], dict[str, tuple[t.Type, Tree]]]:
        """The conditions under which a value has a pattern, and what the columns of its variables have then."""
        match pattern:
            case core.Anything():
                return [], {}
            case core.Bind(name=name):
                return [], {name: (pattern.type, self._of(value, known))}
            case core.As(name=name, pattern=part):
                conditions, found = self.match(part, value, known)
                return conditions, {name: (pattern.type, self._of(value, known)), **found}
            case core.Equal(expression=expression):
                return [exp.EQ(this=self._of(value, known), expression=self.value(expression, known))], {}
            case core.Parts(constructor=None, parts=parts) if isinstance(value, core.MakeTuple):
                return self._matches(zip(parts, value.items, strict=True), known)
        return self._match_parts(pattern, value, known)

    def _matches(self, pairs: Any, known: Environment) -> tuple[list[Tree], dict[str, tuple[t.Type, Tree]]]:
        conditions: list[Tree] = []
        found: dict[str, tuple[t.Type, Tree]] = {}
        for pattern, value in pairs:
            more, variables = self.match(pattern, value, known)
            conditions += more
            found |= variables
        return conditions, found

    def _of(self, value: core.Expression | Binding, known: Environment) -> Tree:
        """What a column of the value has."""
        if isinstance(value, core.Expression):
            return self.value(value, known)
        (only,) = value.columns
        return column(only.name)

    def _match_parts(
        self, pattern: core.Pattern, value: core.Expression | Binding, known: Environment
    ) -> tuple[list[Tree], dict[str, tuple[t.Type, Tree]]]:
        """The match by functions of Python, which take the value apart once for all variables."""
        pattern = plain(pattern, known)
        names = [name for name in _mentioned(pattern) if name in known]
        given = dict(known)
        if isinstance(value, Binding):
            subject: core.Expression = core.Variable(span=pattern.span, type=value.type, name=SUBJECT)
            given[SUBJECT] = value
        else:
            subject = plain(value, known)
        evaluate, used = self.function(subject, given)
        takes_apart = self._checked.compile_pattern(pattern, names)
        context, _ = self.function(_tuple_of(names, known, pattern), known)
        width = sum(len(given[name].columns) for name in used)

        @lru_cache(maxsize=REMEMBERED)
        def found(*values: Any) -> tuple[Any, ...] | None:
            return takes_apart(evaluate(*values[:width]), *context(*values[width:]))

        def test(*values: Any) -> bool:
            return found(*values) is not None

        places, told = [*used, *names], (pattern, subject)
        is_partial, bound = not self._always(pattern), {}
        for i, (name, type_) in enumerate(core.bound_by(pattern)):
            take, column_type = _taking(found, i, self.columns.writing(type_)), self.columns.type(type_)
            bound[name] = (type_, self._call(take, ("part", i, told), places, given, column_type, is_partial))
        tests = [self._call(test, ("test", told), places, given, Type.BOOLEAN)] if is_partial and not bound else []
        return tests, bound

    def _always(self, pattern: core.Pattern) -> bool:
        """Whether all values of the type have a pattern."""
        match pattern:
            case core.Anything() | core.Bind():
                return True
            case core.As(pattern=part):
                return self._always(part)
            case core.Parts(constructor=constructor, parts=parts):
                if constructor is not None:
                    type_ = t.content(pattern.type)
                    assert isinstance(type_, t.Named)
                    if len(self._checked.types[type_.name].constructors) > 1:
                        return False
                return all(map(self._always, parts))
        return False

    def function(self, expression: core.Expression, known: Environment) -> tuple[Callable[..., Any], list[str]]:
        """A function from the columns of the variables that are named to the expression's value."""
        names = [name for name in _mentioned(expression) if name in known]
        function = self._checked.compile_expression(expression, names)
        bindings = [known[name] for name in names]
        if all(len(b.columns) == 1 and b.read is same for b in bindings):
            return function, names
        ends = []
        start = 0
        for binding in bindings:
            ends.append((binding.read, start, start + len(binding.columns)))
            start += len(binding.columns)
        return lambda *given: function(*(read(*given[begin:end]) for read, begin, end in ends)), names

    def _call(
        self,
        body: Callable[..., Any],
        told: Any,
        names: Sequence[str],
        known: Environment,
        type_: Type,
        is_partial: bool = False,
    ) -> Tree:
        """A call over the columns of variables; a `partial` function gives None where there is no value."""
        columns = [each for name in names for each in known[name].columns]
        if self._guards:
            width = len(columns)
            columns += dict.fromkeys(c for guard in self._guards for c in guard.columns if c not in columns)
            tests = [(g.test, [columns.index(each) for each in g.columns]) for g in self._guards]
            body, told = _guarded(body, width, tests), (told, [guard.told for guard in self._guards])
        takes, is_partial = tuple(each.type for each in columns), is_partial or bool(self._guards)
        function = PythonFunction("ddlog", body, takes, ValueType(type_, is_partial), fingerprint=self._told(*told))
        return function.applied([column(each.name) for each in columns])

    def _told(self, *parts: Any) -> str:
        return digest((self._program, *map(repr, parts)))

    # What columns can say

    def _native(self, expression: core.Expression, known: Environment) -> Tree | None:
        """A tree of what engines compute themselves; None for what is to be a function of Python."""
        match expression:
            case core.Variable(name=name) if known[name].is_one:
                return column(known[name].columns[0].name)
            case core.Literal(type=type_, value=value):
                return literal(self.columns.writing(type_)(value), self.columns.type(type_))
            case core.ToText(of=of):
                return self._text(of, known)
            case core.Operation(operator=operator, operands=operands):
                return self._operation(operator, operands, expression.type, known)
        return None

    def _text(self, of: core.Expression, known: Environment) -> Tree | None:
        type_ = native_type(of.type)
        if type_ not in (Type.STRING, Type.INT64, Type.UINT64):
            return None
        found = self.value(of, known)
        return found if type_ is Type.STRING else cast(found, Type.STRING)

    def _operation(
        self, operator: str, operands: Sequence[core.Expression], type_: t.Type, known: Environment
    ) -> Tree | None:
        if operator in ("and", "or", "=>", "not"):
            return self._logic(operator, operands, known)
        if len(operands) != 2:
            return None
        operand, is_native = operands[0].type, native_type(operands[0].type) is not None
        if operator in ("==", "!=") or (operator in _COMPARISONS and is_native and not is_interned(operand)):
            if isinstance(t.content(operand), t.Function):
                return None
            return self._binary(_COMPARISONS[operator], operands, known)
        if operator == "++" and isinstance(type_, t.String) and all(isinstance(o.type, t.String) for o in operands):
            return self._binary(exp.DPipe, operands, known)
        if not isinstance(type_, t.Bit | t.Signed) or not is_native:
            return None
        if operator in _BITWISE:
            return self._binary(_BITWISE[operator], operands, known)
        if operator in _ARITHMETIC:
            return wrapped(self._binary(_ARITHMETIC[operator], operands, known), type_)
        return None

    def _binary(self, kind: type[Tree], operands: Sequence[core.Expression], known: Environment) -> Tree:
        left, right = (self.value(operand, known) for operand in operands)
        return kind(this=left, expression=right)

    def _logic(self, operator: str, operands: Sequence[core.Expression], known: Environment) -> Tree | None:
        """Only where all of it is native: what need not be computed must not fail."""
        trees = [self._native(operand, known) for operand in operands]
        if any(tree is None or tree.find(exp.Anonymous) for tree in trees):
            return None
        if operator == "not":
            return exp.Not(this=trees[0])
        left, right = trees
        if operator == "=>":
            return exp.Or(this=exp.Not(this=left), expression=right)
        return (exp.And if operator == "and" else exp.Or)(this=left, expression=right)


def plain(node: NodeT, known: Environment) -> NodeT:
    """The expression or pattern without what makes and follows references, and with fields of rows as variables."""

    def change(node: Any) -> Any:
        if isinstance(node, core.CallFunction) and node.function.name in _WRAPPERS and len(node.arguments) == 1:
            (inner,) = node.arguments
            return replace(inner, type=node.type) if is_interned(inner.type) != is_interned(node.type) else inner
        if isinstance(node, core.FieldOf) and isinstance(node.of, core.Variable):
            name = field_name(node.of.name, node.index)
            if name in known:
                return core.Variable(span=node.span, type=node.type, name=name)
        return node

    return transform(node, change)


def field_name(variable: str, place: int) -> str:
    """What the field of a record is called that a variable stands for; no variable begins with a capital."""
    return f"Field{place}_{variable}"


def _taking(
    found: Callable[..., tuple[Any, ...] | None], place: int, write: Callable[[Any], Any]
) -> Callable[..., Any]:
    def take(*values: Any) -> Any:
        parts = found(*values)
        return None if parts is None else write(parts[place])

    return take


def _guarded(
    body: Callable[..., Any], width: int, tests: Sequence[tuple[Callable[..., bool], Sequence[int]]]
) -> Callable[..., Any]:
    """The function of the first values, which may only fail where all tests of values hold."""

    def call(*values: Any) -> Any:
        try:
            return body(*values[:width])
        except Exception:
            if all(test(*(values[place] for place in places)) for test, places in tests):
                raise
            return None

    return call


def _mentioned(node: core.Expression | core.Pattern) -> list[str]:
    """The variables that are mentioned, in the order of first mention."""
    return list(dict.fromkeys(part.name for part in nodes_in(node) if isinstance(part, core.Variable)))


def _tuple_of(names: Sequence[str], known: Environment, at: core.Pattern) -> core.Expression:
    variables = tuple(core.Variable(span=at.span, type=known[name].type, name=name) for name in names)
    return core.MakeTuple(span=at.span, type=t.Tuple(tuple(v.type for v in variables)), items=variables)


def wrapped(tree: Tree, type_: t.Bit | t.Signed) -> Tree:
    """The result of 64 bits modulo 2^width, as a number of the type."""
    if type_.width == 64:
        return tree
    mask = literal((1 << type_.width) - 1, Type.INT64)
    if isinstance(type_, t.Bit):
        return exp.BitwiseAnd(this=tree, expression=mask)
    half = literal(1 << type_.width - 1, Type.INT64)
    shifted = exp.BitwiseAnd(this=exp.Add(this=tree, expression=half), expression=mask)
    return exp.Sub(this=shifted, expression=half.copy())
