"""Typed expressions to the text of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from deltic.datalog.ddlog import core
from deltic.datalog.ddlog.arithmetic import ORDERED, cast, operation, text
from deltic.datalog.ddlog.types import UNIT, Named, Tuple, Type, content, substitute
from deltic.datalog.ddlog.values import SORTED
from deltic.datalog.syntax.expressions import nodes_in

if TYPE_CHECKING:
    from deltic.datalog.ddlog.compile import Compiler

_LONGEST = 400
_LEAVES = ("return ", "break", "continue")

Path = tuple[int, ...]


def name_of(name: str) -> str:
    """The name of Python for a variable; the underscore behind it keeps it apart from Python's words and ours."""
    return f"{name}_"


class Emitter:
    """The statements of one function, and what it gives back beside its result."""

    def __init__(self, compiler: Compiler, given: Mapping[str, Type]) -> None:
        self.compiler = compiler
        self.given = given
        self.given_back: list[str] = []
        self.lines: list[str] = []
        self._temporaries = 0
        # Variables that a `match` bound to parts of a place: assigning to one changes the part.
        self._parts: dict[str, tuple[core.Expression, Path]] = {}

    # --- statements

    def line(self, text: str) -> None:
        """One more statement."""
        self.lines.append(text)

    def temporary(self) -> str:
        """A new name."""
        self._temporaries += 1
        return f"_{self._temporaries}"

    def kept(self, value: str) -> str:
        """A name for a value that is computed now."""
        if value.isidentifier():
            return value
        name = self.temporary()
        self.line(f"{name} = {value}")
        return name

    def give(self, value: str) -> None:
        """Leave the function."""
        if not self.has_left():
            self.line(f"return ({', '.join([value, *self.given_back])})" if self.given_back else f"return {value}")

    def has_left(self) -> bool:
        """Whether nothing behind the last statement is reached."""
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

    def type(self, type_: Type) -> Type:
        """A type of the body, in this instance of the function."""
        return substitute(type_, self.given) if self.given else type_

    # --- values

    def value(self, expression: core.Expression) -> str:
        """An expression of Python for the value; what has to be done before is in statements."""
        found = _EMIT[type(expression)](self, expression)
        return self.kept(found) if len(found) > _LONGEST else found

    def values(self, expressions: Sequence[core.Expression]) -> list[str]:
        """Several values, computed from left to right."""
        found: list[str] = []
        for expression in expressions:
            before = len(self.lines)
            value = self.value(expression)
            if len(self.lines) > before:
                inserted, self.lines = self.lines[before:], self.lines[:before]
                found = [earlier if _is_constant(earlier) else self._saved(earlier) for earlier in found]
                self.lines += inserted
            found.append(value)
        return found

    def _saved(self, value: str) -> str:
        name = self.temporary()
        self.line(f"{name} = {value}")
        return name

    def discard(self, expression: core.Expression) -> None:
        """Compute a value for what else it does."""
        value = self.value(expression)
        if not _is_constant(value) and not value.isidentifier() and not self.has_left():
            self.line(value)

    def captured(self, expression: core.Expression) -> tuple[list[str], str]:
        """The statements of a branch, and its value behind them: "" where it leaves before."""
        outer, self.lines = self.lines, []
        value = self.value(expression)
        found, value = self.lines, "" if self.has_left() else value
        self.lines = outer
        return found, value

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

    def store(self, place: core.Expression, value: str) -> None:
        """Change a variable, or a part of one."""
        if isinstance(place, core.Variable):
            name = name_of(place.name)
            if value != name:
                self.line(f"{name} = {value}")
            if place.name in self._parts:
                whole, path = self._parts[place.name]
                told = ", ".join(map(str, path))
                self.store(whole, f"with_path({self.value(whole)}, ({told},), {name})")
        elif isinstance(place, core.FieldOf):
            changed = f"with_item({self.value(place.of)}, {self.offset(place)}, {value})"
            self.store(place.of, changed)

    def offset(self, field: core.FieldOf) -> int:
        """Where a field or an item stands in the tuple that its owner is."""
        owner = content(self.type(field.of.type))
        return field.index + (not _is_tuple(owner))

    def target(self, pattern: core.Pattern, value: str) -> None:
        """Assign a value to what a pattern says."""
        match pattern:
            case core.Bind():
                self.line(f"{name_of(pattern.name)} = {value}")
            case core.Store():
                self.store(pattern.place, value)
            case core.Parts():
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
        """What must be true of the value at `path`, and where what is bound stands in it."""
        match pattern:
            case core.Bind():
                return [], [(pattern.name, path)]
            case core.As():
                conditions, bindings = self.tests(pattern.pattern, path)
                return conditions, [(pattern.name, path), *bindings]
            case core.Equal():
                return [f"{path} == {self.value(pattern.expression)}"], []
            case core.Parts():
                return self._tests_of_parts(pattern, path)
            case _:
                return [], []

    def _tests_of_parts(self, pattern: core.Parts, path: str) -> tuple[list[str], list[tuple[str, str]]]:
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
        """Give what a pattern binds its names."""
        for name, path in bindings:
            if name_of(name) != path:
                self.line(f"{name_of(name)} = {path}")

    def remember_parts(self, subject: core.Expression, pattern: core.Pattern, path: Path = ()) -> None:
        """Variables of a pattern are parts of the place that is matched."""
        match pattern:
            case core.Bind() | core.As() if path:
                self._parts[pattern.name] = subject, path
            case core.Parts():
                shift = 0 if pattern.constructor is None else 1
                for place, part in enumerate(pattern.parts):
                    self.remember_parts(subject, part, (*path, place + shift))


def is_place(expression: core.Expression) -> bool:
    """Whether an expression is a variable, or a part of one."""
    if isinstance(expression, core.FieldOf):
        return is_place(expression.of)
    return isinstance(expression, core.Variable)


def _is_constant(value: str) -> bool:
    return value == "()" or value[0].isdigit() or value in ("True", "False") or (value[0] in "'\"" and len(value) < 40)


def _is_tuple(type_: Type) -> bool:
    return type(type_).__name__ == "Tuple"


Emit = Callable[[Emitter, core.Expression], str]
EmitT = TypeVar("EmitT", bound=Callable[..., str])
_EMIT: dict[type[core.Expression], Emit] = {}


def emits(*forms: type[core.Expression]) -> Callable[[EmitT], EmitT]:
    """Register the decorated function for forms of expressions."""

    def register(function: EmitT) -> EmitT:
        for form in forms:
            _EMIT[form] = function
        return function

    return register


@emits(core.Literal)
def _literal(emitter: Emitter, node: core.Literal) -> str:
    return f"({node.value!r})" if isinstance(node.value, int | float) and node.value < 0 else repr(node.value)


@emits(core.Variable)
def _variable(emitter: Emitter, node: core.Variable) -> str:
    return name_of(node.name)


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


@emits(core.MakeTuple)
def _make_tuple(emitter: Emitter, node: core.MakeTuple) -> str:
    return _tuple(emitter.values(node.items))


@emits(core.MakeStruct)
def _make_struct(emitter: Emitter, node: core.MakeStruct) -> str:
    if not node.items:
        return emitter.compiler.constructor(node.constructor, empty=True)
    items = emitter.values(node.items)
    return f"Struct({emitter.compiler.constructor(node.constructor)}, {_tuple(items)})"


@emits(core.MakeVec)
def _make_vec(emitter: Emitter, node: core.MakeVec) -> str:
    return f"Vec({_tuple(emitter.values(node.items))})"


@emits(core.MakeMap)
def _make_map(emitter: Emitter, node: core.MakeMap) -> str:
    flat = emitter.values([part for pair in node.items for part in pair])
    pairs = [_tuple(flat[i : i + 2]) for i in range(0, len(flat), 2)]
    return f"Map.of({_tuple(pairs)})"


@emits(core.FieldOf)
def _field_of(emitter: Emitter, node: core.FieldOf) -> str:
    return f"{emitter.value(node.of)}[{emitter.offset(node)}]"


@emits(core.CallFunction)
def _call_function(emitter: Emitter, node: core.CallFunction) -> str:
    instance = node.function
    ground = core.FunctionInstance(
        instance.name,
        instance.number,
        tuple(map(emitter.type, instance.parameters)),
        instance.mutable,
        emitter.type(instance.result),
    )
    name = emitter.compiler.function(ground, node.span)
    return _called(emitter, name, node.arguments, instance.mutable)


@emits(core.CallClosure)
def _call_closure(emitter: Emitter, node: core.CallClosure) -> str:
    callee, *_ = emitter.values([node.closure])
    return _called(emitter, emitter.kept(callee), node.arguments, node.mutable)


def _called(emitter: Emitter, name: str, arguments: Sequence[core.Expression], mutable: Sequence[bool]) -> str:
    """A call; the new values of `mut` arguments go back where they came from."""
    values = emitter.values(arguments)
    called = f"{name}({', '.join(values)})"
    changed = [argument for argument, is_mut in zip(arguments, mutable, strict=True) if is_mut]
    if not changed:
        return called
    result = emitter.temporary()
    new = [name_of(a.name) if isinstance(a, core.Variable) else emitter.temporary() for a in changed]
    emitter.line(f"{', '.join([result, *new])} = {called}")
    for argument, value in zip(changed, new, strict=True):
        if is_place(argument):
            emitter.store(argument, value)
    return result


@emits(core.FunctionValue)
def _function_value(emitter: Emitter, node: core.FunctionValue) -> str:
    instance = node.function
    types = tuple(map(emitter.type, instance.parameters))
    result = emitter.type(instance.result)
    ground = core.FunctionInstance(instance.name, instance.number, types, instance.mutable, result)
    return emitter.compiler.function(ground, node.span)


@emits(core.MakeClosure)
def _make_closure(emitter: Emitter, node: core.MakeClosure) -> str:
    """What is around is read as it is now: by default values of parameters."""
    name = f"closure{emitter.temporary()}"
    own = [name_of(parameter) for parameter in node.parameters]
    captured = [f"{outer}={outer}" for outer in _read_from_outside(node)]
    outer_back = emitter.given_back
    emitter.given_back = [p for p, mutable in zip(own, node.mutable, strict=True) if mutable]
    with emitter.block(f"def {name}({', '.join([*own, *captured])}):"):
        emitter.give(emitter.value(node.body))
    emitter.given_back = outer_back
    return name


def _read_from_outside(node: core.MakeClosure) -> list[str]:
    """The variables of a closure that are neither its own nor bound inside."""
    inside = set(node.parameters)
    read: dict[str, None] = {}
    for part in nodes_in(node.body):
        if isinstance(part, core.Bind | core.As):
            inside.add(part.name)
        elif isinstance(part, core.MakeClosure):
            inside.update(part.parameters)
        elif isinstance(part, core.Variable):
            read[part.name] = None
    return [name_of(name) for name in read if name not in inside]


@emits(core.Operation)
def _operation(emitter: Emitter, node: core.Operation) -> str:
    if node.operator in ("and", "or", "=>"):
        return _logic(emitter, node)
    values = emitter.values(node.operands)
    if node.operator == "text":
        return f"''.join({_tuple(values)})"
    types = [emitter.type(operand.type) for operand in node.operands]
    if node.operator in ORDERED and (order := emitter.compiler.order(types[0])):
        values = [f"{order}({value})" for value in values]
    return operation(node.operator, emitter.type(node.type), types, values)


def _logic(emitter: Emitter, node: core.Operation) -> str:
    """The right side is computed where the left one does not decide."""
    left = emitter.value(node.operands[0])
    inside, right = emitter.captured(node.operands[1])
    if node.operator == "=>":
        left = f"(not {left})"
    word = "and" if node.operator == "and" else "or"
    if not inside:
        return f"({left} {word} {right})"
    result = emitter.temporary()
    emitter.line(f"{result} = {left}")
    emitter.branch(f"if {result}:" if word == "and" else f"if not {result}:", result, (inside, right))
    return result


@emits(core.ToText)
def _to_text(emitter: Emitter, node: core.ToText) -> str:
    return text(emitter.type(node.of.type), emitter.value(node.of))


@emits(core.BitsOf)
def _bits_of(emitter: Emitter, node: core.BitsOf) -> str:
    shifted = f"{emitter.value(node.of)} >> {node.low}" if node.low else emitter.value(node.of)
    return f"({shifted} & {(1 << node.high - node.low + 1) - 1})"


@emits(core.CastTo)
def _cast_to(emitter: Emitter, node: core.CastTo) -> str:
    return cast(emitter.type(node.of.type), emitter.type(node.type), emitter.value(node.of))


@emits(core.TryValue)
def _try_value(emitter: Emitter, node: core.TryValue) -> str:
    value = emitter.kept(emitter.value(node.of))
    with emitter.block(f"if {value}[0] is not {emitter.compiler.constructor(node.found)}:"):
        emitter.give(emitter.compiler.constructor(node.failed, empty=True) if node.failed else value)
    return f"{value}[1]"


@emits(core.AssignTo)
def _assign_to(emitter: Emitter, node: core.AssignTo) -> str:
    value = emitter.value(node.value)
    if not emitter.has_left():
        emitter.target(node.target, value)
    return "()"


@emits(core.InSequence)
def _in_sequence(emitter: Emitter, node: core.InSequence) -> str:
    for item in node.items[:-1]:
        emitter.discard(item)
    return emitter.value(node.items[-1])


@emits(core.Choose)
def _choose(emitter: Emitter, node: core.Choose) -> str:
    """A choice between two, or a chain of them."""
    condition = emitter.value(node.condition)
    is_unit = emitter.type(node.type) == UNIT
    then = emitter.captured(node.then)
    branches, rest = [(f"if {condition}:", then)], node.otherwise
    while isinstance(rest, core.Choose):
        before, condition = emitter.captured(rest.condition)
        if before:
            break
        branches.append((f"elif {condition}:", emitter.captured(rest.then)))
        rest = rest.otherwise
    otherwise = emitter.captured(rest)
    if not (is_unit or then[0] or otherwise[0] or len(branches) > 1):
        return f"({then[1]} if {branches[0][0][3:-1]} else {otherwise[1]})"
    result = "" if is_unit else emitter.temporary()
    for header, found in branches:
        emitter.branch(header, result, found)
    if not _is_nothing(rest):
        emitter.branch("else:", result, otherwise)
    return result or "()"


def _is_nothing(node: core.Expression) -> bool:
    return isinstance(node, core.MakeTuple) and not node.items


@emits(core.MatchOn)
def _match_on(emitter: Emitter, node: core.MatchOn) -> str:
    """The cases cover all values, so that the last one need not be tested."""
    subject = emitter.kept(emitter.value(node.subject))
    result = "" if emitter.type(node.type) == UNIT else emitter.temporary()
    word = "if"
    for pattern, value in node.cases:
        conditions, bindings = emitter.tests(pattern, subject)
        if is_place(node.subject):
            emitter.remember_parts(node.subject, pattern)
        conditions = conditions if pattern is not node.cases[-1][0] else []
        header = f"{word} {' and '.join(conditions)}:" if conditions else "else:" if word == "elif" else "if True:"
        lines, found = emitter.captured(value)
        bound = [f"{name_of(name)} = {path}" for name, path in bindings if name_of(name) != path]
        emitter.branch(header, result, ([*bound, *lines], found))
        word = "elif"
        if not conditions:
            break
    return result or "()"


@emits(core.ForEach)
def _for_each(emitter: Emitter, node: core.ForEach) -> str:
    items = _in_order(emitter, emitter.type(node.items.type), emitter.value(node.items))
    name = name_of(node.pattern.name) if isinstance(node.pattern, core.Bind) else emitter.temporary()
    with emitter.block(f"for {name} in {items}:"):
        conditions, bindings = emitter.tests(node.pattern, name)
        if conditions:
            with emitter.block(f"if not ({' and '.join(conditions)}):"):
                emitter.line("continue")
        emitter.bind(bindings)
        emitter.discard(node.body)
    return "()"


def _in_order(emitter: Emitter, type_: Type, items: str) -> str:
    """The items of a collection as loops go over them: a set or a map of interned values has them in Python's order."""
    type_ = content(type_)
    if not isinstance(type_, Named) or type_.name not in SORTED:
        return items
    order = emitter.compiler.order(Tuple(type_.arguments) if len(type_.arguments) > 1 else type_.arguments[0])
    return f"sorted({items}, key={order})" if order else items


@emits(core.BreakLoop)
def _break_loop(emitter: Emitter, node: core.BreakLoop) -> str:
    emitter.line("break")
    return "()"


@emits(core.ContinueLoop)
def _continue_loop(emitter: Emitter, node: core.ContinueLoop) -> str:
    emitter.line("continue")
    return "()"


@emits(core.ReturnValue)
def _return_value(emitter: Emitter, node: core.ReturnValue) -> str:
    emitter.give(emitter.value(node.value))
    return "()"
