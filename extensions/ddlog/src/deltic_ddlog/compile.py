"""Typed expressions to functions of Python.

Each function of DDlog becomes one of Python for each choice of types that it is called at; expressions become
expressions, with statements before them where Python has no expression for it. A `mut` parameter is given back: such a
function gives a tuple of its result and the new values. Assigning to a part of a variable makes a new value of the
whole, for values do not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from deltic.circuit.python import digest, fingerprint
from deltic.datalog.syntax.expressions import nodes_in
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic, EvaluationError, ProgramError
from deltic_ddlog import core, runtime
from deltic_ddlog import syntax as s
from deltic_ddlog.checked import ResolvedProgram, ResolvedRule, TypeDefinition
from deltic_ddlog.closures import ClosureCode, Closures, closures_in
from deltic_ddlog.declarations import Declarations, Signature
from deltic_ddlog.depth import deep
from deltic_ddlog.emit_forms import ExpressionEmitter
from deltic_ddlog.emitter import Emitter, name_of
from deltic_ddlog.functions import FunctionBody, check_function, types_given
from deltic_ddlog.modules import Module
from deltic_ddlog.natives import NATIVES, Instance, has_type
from deltic_ddlog.order import TypeOrder
from deltic_ddlog.serde import form_of
from deltic_ddlog.types import DdlogType
from deltic_ddlog.values import Constructor, MapValue, Struct, Vec

_NAMES = "quotient remainder divided single truncated integer with_item with_path show_float"
_RUNTIME = {name: getattr(runtime, name) for name in _NAMES.split()}


class FunctionCompiler:
    """The functions of a program, compiled when they are called for the first time."""

    def __init__(self, declarations: Declarations, given: Mapping[str, Callable[..., Any]]) -> None:
        self.declarations = declarations
        self.types = self._type_definitions()
        self.given = given
        self.bodies: dict[tuple[str, int], FunctionBody] = {}
        self.sources: dict[str, str] = {}
        self.rules: Sequence[ResolvedRule] = ()
        self.closures = Closures(self._closure, self._written_closures)
        self._order = TypeOrder(self.types, self.closures.key)
        self._names: dict[core.FunctionInstance, str] = {}
        self._orders: dict[DdlogType, str] = {}
        self._numbers: dict[str, int] = {}
        self._namespace: dict[str, Any] = {"Struct": Struct, "Vec": Vec, "Map": MapValue, **_RUNTIME}

    # --- what lowering asks for

    @cached_property
    def program(self) -> ResolvedProgram:
        """All modules of the program, and the Python functions of its extern ones."""
        texts = tuple((m.path, m.text) for m in self.declarations.modules if not m.is_library)
        functions = {
            plain: self.given[plain]
            for name, signatures in self.declarations.functions.entries.items()
            if (plain := _python_name(name)) in self.given and any(s.declaration.body is None for s in signatures)
        }
        fingerprints = sorted((name, fingerprint(function)) for name, function in functions.items())
        return ResolvedProgram(
            digest((*(f"{path}:{text.text}" for path, text in texts), *map(str, fingerprints))), texts, functions
        )

    def expression(self, expression: core.TypedExpression, names: Sequence[str]) -> Callable[..., Any]:
        """Return a function of the values of `names`, in that order, that gives the expression's value."""
        with deep():
            emitter = ExpressionEmitter(self, {})
            value = emitter.value(expression)
            emitter.line(f"return {value}")
            return self._defined("expression", [name_of(name) for name in names], emitter, expression.span)

    def pattern(self, pattern: core.Pattern, names: Sequence[str]) -> Callable[..., tuple[Any, ...] | None]:
        """Return a function of a value and the values of `names`: the values of `core.bound_by`, or None if unlike."""
        emitter = ExpressionEmitter(self, {})
        conditions, bindings = emitter.tests(pattern, "value")
        if conditions:
            emitter.line(f"if not ({' and '.join(conditions)}):")
            emitter.line("    return None")
        bound = "".join(f"{path}, " for _, path in bindings)
        emitter.line(f"return ({bound})")
        return self._defined("pattern", ["value", *map(name_of, names)], emitter, pattern.span)

    def _defined(self, name: str, parameters: Sequence[str], emitter: Emitter, span: Span) -> Callable[..., Any]:
        """Return the function of these parameters and statements."""
        source = f"def {name}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in emitter.lines)
        scope: dict[str, Any] = {}
        try:
            code = compile(source, f"<ddlog {name}>", "exec")
        except (SyntaxError, MemoryError, RecursionError) as error:
            message = "this is nested more levels deep than Python can"
            raise ProgramError([span.error(message, "put its inner parts into functions of their own")]) from error
        exec(code, self._namespace, scope)
        self.sources[name] = source
        result: Callable[..., Any] = scope[name]
        return result

    # --- what emitted code names

    def constructor(self, constructor: Constructor, *, empty: bool = False) -> str:
        """Return the name of a constructor, or of the structure that it makes of nothing.

        One of an expression of another process is the program's own of that name.
        """
        constructor = self.declarations.constructors.entries[constructor.name].constructor
        number = self._numbers.setdefault(constructor.name, len(self._numbers))
        name = f"{'E' if empty else 'C'}{number}_{_plain(constructor.name)}"
        self._namespace[name] = Struct(constructor, ()) if empty else constructor
        return name

    def is_only(self, constructor: Constructor) -> bool:
        """Return whether values of its type have no other constructor."""
        entry = self.declarations.constructors.entries[constructor.name]
        return len(self.declarations.types.entries[entry.type].constructors) == 1

    def order(self, type_: DdlogType) -> str:
        """Return the name of the sort key function; "" for types whose values Python orders correctly."""
        if type_ not in self._orders:
            name = f"order_{len(self._orders)}" if self._order.has_own(type_) else ""
            if name:
                self._namespace[name] = self._order.key(type_)
            self._orders[type_] = name
        return self._orders[type_]

    def function(self, instance: core.FunctionInstance, span: Span) -> str:
        """Return the name of a function at ground types, which is compiled if it was not."""
        if instance not in self._names:
            name = f"{_plain(instance.name)}_{len(self._names)}"
            self._names[instance] = name
            self._namespace[name] = self._compiled(instance, name, span)
        return self._names[instance]

    def function_value(self, code: ClosureCode) -> str:
        """Return the name of a function that is a value."""
        assert isinstance(code.node, core.FunctionValue)
        name = self.function(core.at(code.node.function, code.given), code.node.span)
        self.closures.learn_function(code, self._namespace[name])
        return name

    def _closure(self, code: ClosureCode) -> Callable[..., Any]:
        """Return a function from captured values to the closure."""
        with deep():
            emitter = ExpressionEmitter(self, code.given)
            emitter.line(f"return {emitter.value(code.node)}")
            return self._defined("captured", [name_of(v.name) for v in code.captured], emitter, code.node.span)

    def _written_closures(self) -> Iterator[ClosureCode]:
        """Yield the closures of the rules, and of the functions that these lead to, at the types of their calls."""
        pending: list[tuple[core.TypedExpression, Mapping[str, DdlogType]]] = []
        pending += [(expression, {}) for rule in self.rules for expression in rule.expressions]
        seen = set[core.FunctionInstance]()
        while pending:
            expression, given = pending.pop()
            yield from closures_in(expression, given)
            for node in nodes_in(expression):
                if isinstance(node, core.CallFunction | core.FunctionValue):
                    instance = core.at(node.function, given)
                    signature = self.declarations.functions.entries[instance.name][instance.number]
                    if instance not in seen and signature.declaration.body is not None:
                        seen.add(instance)
                        pending.append((self._body(signature).expression, types_given(signature, instance)))

    def _compiled(self, instance: core.FunctionInstance, name: str, span: Span) -> Callable[..., Any]:
        signature = self.declarations.functions.entries[instance.name][instance.number]
        if signature.declaration.body is None:
            return self._extern(signature, instance, span)
        body = self._body(signature)
        emitter = ExpressionEmitter(self, types_given(signature, instance))
        parameters = [name_of(parameter) for parameter in body.parameters]
        emitter.given_back = [p for p, mutable in zip(parameters, instance.mutable, strict=True) if mutable]
        value = emitter.value(body.expression)
        emitter.give(value)
        return self._defined(name, parameters, emitter, signature.declaration.span)

    def _type_definitions(self) -> Mapping[str, TypeDefinition]:
        """Return the types by their names; an alias is none of its own."""
        result = {}
        for name, entry in self.declarations.types.entries.items():
            constructors = tuple((made.constructor, made.fields) for made in entry.constructors)

            def key(
                attribute: s.AttributeAnnotation, module: Module = entry.module
            ) -> Callable[[], Callable[[Any], Any]]:
                return lambda: self._key_function(module, attribute.value)

            if entry.alias is None:
                form = form_of(entry.declaration, key) if constructors else None
                result[name] = TypeDefinition(name, entry.parameters, constructors, form)
        return result

    def _key_function(self, module: Module, named: s.ParsedExpression | s.TypeMention | None) -> Callable[..., Any]:
        """Return the function that `deserialize_from_array=name()` names. Raises ProgramError where there is none."""
        assert isinstance(named, s.ParsedExpression)
        name = (
            named.callee.name
            if isinstance(named, s.CallExpression) and isinstance(named.callee, s.NameExpression)
            else ""
        )
        result = self.declarations.functions.find(module, name)
        if not result:
            raise ProgramError([named.span.error(f"there is no function `{name}`", "name one of the map's values")])
        signature = self.declarations.functions.entries[result[0]][0]
        types = tuple(parameter.type for parameter in signature.parameters)
        mutable = tuple(parameter.mutable for parameter in signature.parameters)
        instance = core.FunctionInstance(signature.name, signature.number, types, mutable, signature.result)
        function: Callable[..., Any] = self._namespace[self.function(instance, named.span)]
        return function

    def _body(self, signature: Signature) -> FunctionBody:
        key = signature.name, signature.number
        if key not in self.bodies:
            findings: list[Diagnostic] = []
            body = check_function(self.declarations, signature, findings)
            if body is None:
                raise ProgramError(findings)
            self.bodies[key] = body
        return self.bodies[key]

    def _extern(self, signature: Signature, instance: core.FunctionInstance, span: Span) -> Callable[..., Any]:
        """Return the function of Python behind an extern one."""
        given = self.given.get(_python_name(instance.name))
        if native := NATIVES.get(instance.name):
            if not native.typed:
                return native.function
            result: Callable[..., Any] = native.function(Instance(instance.parameters, instance.result, self.types))
            return result
        if given:
            return _promised(given, signature, instance.result)
        message = f"the function `{signature}` is not written in DDlog, and there is none of Python for it"
        raise ProgramError([span.error(message, "give one: `pipeline.function(...)` or `--functors module.py`")])


def _promised(function: Callable[..., Any], signature: Signature, result: DdlogType) -> Callable[..., Any]:
    """Return a function of the user, whose results are checked to be of the type that its declaration promises."""

    def called(*values: Any) -> Any:
        found = function(*values)
        if not has_type(found, result):
            raise EvaluationError(f"`{signature.name}` gave {found!r}, which is no `{result}`")
        return found

    return called


def _python_name(name: str) -> str:
    """Return the name by which a function of Python is given for an extern one."""
    return name.rpartition("::")[2].lower()


def _plain(name: str) -> str:
    """Return a name of Python's for one of DDlog's."""
    return re.sub(r"\W+", "_", name)
