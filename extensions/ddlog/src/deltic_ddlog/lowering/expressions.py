"""Expressions and patterns over columns: sqlglot trees for what columns can say, and functions of Python for the rest.

They call the program's own functions on the values in the columns. What an engine can compute on columns is
not called for each row: comparisons, logic, and integer arithmetic modulo 2^n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.expressions.trees import COMPARISONS
from deltic.circuit.python import PythonFunction
from deltic.datalog.syntax.expressions import NodeT, nodes_in, transform
from deltic.errors import ProgramError
from deltic.functions import FUNCTIONS, call, function_of
from deltic.values.types import Column, Type, ValueType
from deltic_ddlog import core
from deltic_ddlog import types as t
from deltic_ddlog.lowering.code import (
    ColumnFunction,
    Compiled,
    Environment,
    Given,
    Guarded,
    Items,
    Matching,
    PatternTest,
    PatternValue,
    Value,
    VariableBinding,
    Written,
)
from deltic_ddlog.lowering.columns import native_type
from deltic_ddlog.order import is_interned

Tree = exp.Expression

_COMPARISONS: Mapping[str, type[Tree]] = dict(zip(("==", "!=", "<", "<=", ">", ">="), COMPARISONS, strict=True))
_ARITHMETIC: Mapping[str, type[Tree]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_BITWISE: Mapping[str, type[Tree]] = {"&": exp.BitwiseAnd, "|": exp.BitwiseOr, "^": exp.BitwiseXor}
_WRAPPERS = frozenset({"ddlog_std::ref_new", "ddlog_std::deref", "internment::intern", "internment::ival"})
Bound = dict[str, tuple[t.DdlogType, Tree | VariableBinding]]
"""What a pattern binds: what columns of the variables have, or how these are computed where they have no columns."""
SUBJECT = "Subject"
"""The value that is compared with a pattern."""


@dataclass(frozen=True)
class Guard:
    """A condition before a function; it is computed from these columns."""

    test: ColumnFunction
    columns: tuple[Column, ...]


class Expressions:
    """The expressions of a program over columns.

    Engines choose the order in which functions are called. So a function after a condition that is one too may be
    called for what does not meet it: its value is NULL, and no error, where it fails then.
    """

    def __init__(self, of: Compiled, guards: Sequence[Guard] = ()) -> None:
        self.of, self.columns, self._checked, self._guards = of, of.columns, of.checked, tuple(guards)

    def behind(self, condition: core.TypedExpression, known: Environment) -> Expressions:
        """Return the expressions after a condition."""
        test = self.function(plain(condition, known), known)
        return Expressions(self.of, (*self._guards, Guard(test, _columns(test.given, known))))

    def behind_match(self, part: VariableBinding) -> Expressions:
        """Return the expressions after the match that a variable without a column is a part of."""
        assert isinstance(part.read, PatternValue)
        return Expressions(self.of, (*self._guards, Guard(PatternTest(self.of, part.read.matching), part.columns)))

    def unguarded(self) -> Expressions:
        """Return the expressions after a step that only rows meeting all earlier conditions pass."""
        return Expressions(self.of)

    def value(self, expression: core.TypedExpression, known: Environment) -> Tree:
        """Return the column content of an expression's values."""
        expression = plain(expression, known)
        if (tree := self._native(expression, known)) is not None:
            return tree
        function = self.function(expression, known)
        code, columns = Written(self.of, function, expression.type), _columns(function.given, known)
        return self._call(code, columns, self.columns.type(expression.type))

    def constant(self, expression: core.TypedExpression) -> Any:
        """Return the value of an expression without variables. Raises ProgramError where a function fails."""
        function = self._checked.functions.expression(expression, ())
        try:
            return function()
        except Exception as error:
            raise ProgramError([expression.span.error(f"this has no value: {error}")]) from error

    def items(self, expression: core.TypedExpression, element: t.DdlogType, known: Environment) -> Tree:
        """Return the array column of a collection's elements."""
        function = self.function(plain(expression, known), known)
        array = Type.array(ValueType(self.columns.type(element)))
        return self._call(Items(self.of, function, element), _columns(function.given, known), array)

    def match(
        self, pattern: core.Pattern, value: core.TypedExpression | VariableBinding, known: Environment
    ) -> tuple[list[Tree], Bound]:
        """Return the conditions under which a value matches a pattern, and the columns of its variables then."""
        match pattern:
            case core.Anything():
                return [], {}
            case core.Bind(name=name):
                return [], {name: (pattern.type, self._of(value, known))}
            case core.As(name=name, pattern=part):
                conditions, result = self.match(part, value, known)
                return conditions, {name: (pattern.type, self._of(value, known)), **result}
            case core.Equal(expression=expression):
                return [exp.EQ(this=self._of(value, known), expression=self.value(expression, known))], {}
            case core.StructPattern(constructor=None, parts=parts) if isinstance(value, core.MakeTuple):
                return self._matches(zip(parts, value.items, strict=True), known)
        return self._match_parts(pattern, value, known)

    def _matches(self, pairs: Any, known: Environment) -> tuple[list[Tree], Bound]:
        conditions: list[Tree] = []
        result: Bound = {}
        for pattern, value in pairs:
            more, variables = self.match(pattern, value, known)
            conditions += more
            result |= variables
        return conditions, result

    def _of(self, value: core.TypedExpression | VariableBinding, known: Environment) -> Tree:
        """Return the content of a column of the value."""
        if isinstance(value, core.TypedExpression):
            return self.value(value, known)
        (only,) = value.columns
        return column(only.name)

    def _match_parts(
        self, pattern: core.Pattern, value: core.TypedExpression | VariableBinding, known: Environment
    ) -> tuple[list[Tree], Bound]:
        """Return the match by functions of Python, which take the value apart once for all variables."""
        pattern = plain(pattern, known)
        context = self._given(pattern, known)
        given = dict(known)
        if isinstance(value, VariableBinding):
            subject: core.TypedExpression = core.VariableValue(span=pattern.span, type=value.type, name=SUBJECT)
            given[SUBJECT] = value
        else:
            subject = plain(value, known)
        matching = Matching(self.of, pattern, self.function(subject, given), context)
        columns = (*_columns(matching.subject.given, given), *_columns(context, given))
        is_partial, bound = not self._always(pattern), Bound()
        for i, (name, type_) in enumerate(core.bound_by(pattern)):
            part, has = PatternValue(self.of, matching, i, type_), self.columns.has(type_)
            call = self._call(part, columns, self.columns.type(type_), is_partial) if has else None
            bound[name] = (type_, VariableBinding(type_, columns, part, is_one=False) if call is None else call)
        is_tested = is_partial and all(isinstance(result, VariableBinding) for _, result in bound.values())
        return [self._call(PatternTest(self.of, matching), columns, Type.BOOLEAN)] if is_tested else [], bound

    def _always(self, pattern: core.Pattern) -> bool:
        """Return whether all values of the type match a pattern."""
        match pattern:
            case core.Anything() | core.Bind():
                return True
            case core.As(pattern=part):
                return self._always(part)
            case core.StructPattern(constructor=constructor, parts=parts):
                if constructor is not None:
                    type_ = t.content(pattern.type)
                    assert isinstance(type_, t.Named)
                    if len(self._checked.types[type_.name].constructors) > 1:
                        return False
                return all(map(self._always, parts))
        return False

    def function(self, expression: core.TypedExpression, known: Environment) -> Value:
        """Return a function from the columns of the variables that are named to the expression's value."""
        return Value(self.of, expression, self._given(expression, known))

    def _given(self, node: core.TypedExpression | core.Pattern, known: Environment) -> tuple[Given, ...]:
        self.of.learn(node)
        names = (name for name in _mentioned(node) if name in known)
        return tuple(Given(n, known[n].type, len(known[n].columns), known[n].read) for n in names)

    def _call(self, code: ColumnFunction, columns: Sequence[Column], type_: Type, is_partial: bool = False) -> Tree:
        """Return a call over columns; a `partial` function gives None where there is no value."""
        if self._guards:
            width = len(columns)
            columns = [*columns, *dict.fromkeys(c for guard in self._guards for c in guard.columns if c not in columns)]
            tests = tuple((g.test, tuple(columns.index(each) for each in g.columns)) for g in self._guards)
            code = Guarded(self.of, code, width, tests)
        takes, is_partial = tuple(each.type for each in columns), is_partial or bool(self._guards)
        function = PythonFunction("ddlog", code, takes, ValueType(type_, is_partial), fingerprint=code.fingerprint)
        return function.applied([column(each.name) for each in columns])

    # What columns can say

    def _native(self, expression: core.TypedExpression, known: Environment) -> Tree | None:
        """Return a tree of what engines compute themselves; None for what becomes a function of Python."""
        match expression:
            case core.VariableValue(name=name) if known[name].is_one:
                return column(known[name].columns[0].name)
            case core.LiteralValue(type=type_, value=value):
                return literal(self.columns.writing(type_)(value), self.columns.type(type_))
            case core.ToText(of=of):
                return self._text(of, known)
            case core.Operation(operator=operator, operands=operands):
                return self._operation(operator, operands, expression.type, known)
        return None

    def _text(self, of: core.TypedExpression, known: Environment) -> Tree | None:
        type_ = native_type(of.type)
        if type_ not in (Type.STRING, Type.INT64, Type.UINT64):
            return None
        result = self.value(of, known)
        return result if type_ is Type.STRING else cast(result, Type.STRING)

    def _operation(
        self, operator: str, operands: Sequence[core.TypedExpression], type_: t.DdlogType, known: Environment
    ) -> Tree | None:
        if operator in ("and", "or", "=>", "not"):
            return self._logic(operator, operands, known)
        if len(operands) != 2:
            return None
        operand, is_native = operands[0].type, native_type(operands[0].type) is not None
        if operator in ("==", "!=") or (operator in _COMPARISONS and is_native and not is_interned(operand)):
            if isinstance(t.content(operand), t.CallableType):
                return None
            return self._binary(_COMPARISONS[operator], operands, known)
        if operator == "++" and isinstance(type_, t.String) and all(isinstance(o.type, t.String) for o in operands):
            return call("concat", *(self.value(operand, known) for operand in operands))
        if not isinstance(type_, t.Bit | t.Signed) or not is_native:
            return None
        if operator in _BITWISE:
            return self._binary(_BITWISE[operator], operands, known)
        if operator in _ARITHMETIC:
            return wrapped(self._binary(_ARITHMETIC[operator], operands, known), type_)
        return None

    def _binary(self, kind: type[Tree], operands: Sequence[core.TypedExpression], known: Environment) -> Tree:
        left, right = (self.value(operand, known) for operand in operands)
        return kind(this=left, expression=right)

    def _logic(self, operator: str, operands: Sequence[core.TypedExpression], known: Environment) -> Tree | None:
        """Native only as a whole: an operand that need not be computed must not fail."""
        trees = [self._native(operand, known) for operand in operands]
        if any(tree is None or _may_fail(tree) for tree in trees):
            return None
        if operator == "not":
            return exp.Not(this=trees[0])
        left, right = trees
        if operator == "=>":
            return exp.Or(this=exp.Not(this=left), expression=right)
        return (exp.And if operator == "and" else exp.Or)(this=left, expression=right)


def _may_fail(tree: Tree) -> bool:
    """Return whether a tree calls a function, other than that which joins texts."""
    return any(function_of(node) is not FUNCTIONS["concat"] for node in tree.find_all(exp.Anonymous))


def plain(node: NodeT, known: Environment) -> NodeT:
    """Return the expression or pattern without references, and with fields of rows as variables."""

    def change(node: Any) -> Any:
        if isinstance(node, core.CallFunction) and node.function.name in _WRAPPERS and len(node.arguments) == 1:
            (inner,) = node.arguments
            return replace(inner, type=node.type) if is_interned(inner.type) != is_interned(node.type) else inner
        if isinstance(node, core.FieldOf) and isinstance(node.of, core.VariableValue):
            name = field_name(node.of.name, node.index)
            if name in known:
                return core.VariableValue(span=node.span, type=node.type, name=name)
        return node

    return transform(node, change)


def field_name(variable: str, place: int) -> str:
    """Return the name of a record's field as a variable; other variables do not begin with a capital."""
    return f"Field{place}_{variable}"


def _columns(given: Sequence[Given], known: Environment) -> tuple[Column, ...]:
    """Return the columns that variables are in."""
    return tuple(each for one in given for each in known[one.name].columns)


def _mentioned(node: core.TypedExpression | core.Pattern) -> list[str]:
    """Return the variables that are mentioned, in the order of first mention."""
    return list(dict.fromkeys(part.name for part in nodes_in(node) if isinstance(part, core.VariableValue)))


def wrapped(tree: Tree, type_: t.Bit | t.Signed) -> Tree:
    """Return the result of 64 bits modulo 2^width, as a number of the type."""
    if type_.width == 64:
        return tree
    mask = literal((1 << type_.width) - 1, Type.INT64)
    if isinstance(type_, t.Bit):
        return exp.BitwiseAnd(this=tree, expression=mask)
    half = literal(1 << type_.width - 1, Type.INT64)
    shifted = exp.BitwiseAnd(this=exp.Add(this=tree, expression=half), expression=mask)
    return exp.Sub(this=shifted, expression=half.copy())
