"""Each form of expressions as Python writes it."""

from __future__ import annotations

from collections.abc import Sequence

from deltic_ddlog import core
from deltic_ddlog.arithmetic import ORDERED, cast, operation, text
from deltic_ddlog.closures import ClosureCode
from deltic_ddlog.emitter import Emitter, name_of
from deltic_ddlog.types import UNIT, DdlogType, Named, Tuple, content
from deltic_ddlog.values import SORTED


class ExpressionEmitter(Emitter):
    """Writes each form of expressions."""

    def visit_VariableValue(self, node: core.VariableValue) -> str:
        return name_of(node.name)

    def visit_MakeTuple(self, node: core.MakeTuple) -> str:
        return _tuple(self.values(node.items))

    def visit_MakeVec(self, node: core.MakeVec) -> str:
        return f"Vec({_tuple(self.values(node.items))})"

    def visit_ToText(self, node: core.ToText) -> str:
        return text(self.type(node.of.type), self.value(node.of))

    def visit_CastTo(self, node: core.CastTo) -> str:
        return cast(self.type(node.of.type), self.type(node.type), self.value(node.of))

    def visit_FunctionValue(self, node: core.FunctionValue) -> str:
        return self.compiler.function_value(ClosureCode(node, self.given))

    def visit_LiteralValue(self, node: core.LiteralValue) -> str:
        return f"({node.value!r})" if isinstance(node.value, int | float) and node.value < 0 else repr(node.value)

    def visit_MakeStruct(self, node: core.MakeStruct) -> str:
        if not node.items:
            return self.compiler.constructor(node.constructor, empty=True)
        items = self.values(node.items)
        return f"Struct({self.compiler.constructor(node.constructor)}, {_tuple(items)})"

    def visit_MakeMap(self, node: core.MakeMap) -> str:
        flat = self.values([part for pair in node.items for part in pair])
        pairs = [_tuple(flat[i : i + 2]) for i in range(0, len(flat), 2)]
        return f"Map.of({_tuple(pairs)})"

    def visit_FieldOf(self, node: core.FieldOf) -> str:
        owner = self.value(node.of)
        return f"{owner}[{self.offset(node, owner)}]"

    def visit_SharedField(self, node: core.SharedField) -> str:
        owner = self.kept(self.value(node.of))
        return f"{owner}[{self.offset(node, owner)}]"

    def visit_Operation(self, node: core.Operation) -> str:
        if node.operator in ("and", "or", "=>"):
            return self._logic(node)
        values = self.values(node.operands)
        if node.operator == "text":
            return f"''.join({_tuple(values)})"
        types = [self.type(operand.type) for operand in node.operands]
        if node.operator in ORDERED and (order := self.compiler.order(types[0])):
            values = [f"{order}({value})" for value in values]
        return operation(node.operator, self.type(node.type), types, values)

    def _logic(self, node: core.Operation) -> str:
        """The right side is computed where the left one does not decide."""
        left = self.value(node.operands[0])
        inside, right = self.captured(node.operands[1])
        if node.operator == "=>":
            left = f"(not {left})"
        word = "and" if node.operator == "and" else "or"
        if not inside:
            return f"({left} {word} {right})"
        result = self.temporary()
        self.line(f"{result} = {left}")
        self.branch(f"if {result}:" if word == "and" else f"if not {result}:", result, (inside, right))
        return result

    def visit_BitsOf(self, node: core.BitsOf) -> str:
        shifted = f"{self.value(node.of)} >> {node.low}" if node.low else self.value(node.of)
        return f"({shifted} & {(1 << node.high - node.low + 1) - 1})"

    def visit_CallFunction(self, node: core.CallFunction) -> str:
        name = self.compiler.function(core.at(node.function, self.given), node.span)
        return self._called(name, node.arguments, node.function.mutable)

    def visit_CallClosure(self, node: core.CallClosure) -> str:
        callee, *_ = self.values([node.closure])
        return self._called(self.kept(callee), node.arguments, node.mutable)

    def _called(self, name: str, arguments: Sequence[core.TypedExpression], mutable: Sequence[bool]) -> str:
        """Return a call; the new values of `mut` arguments go back where they came from."""
        values = self.values(arguments)
        called = f"{name}({', '.join(values)})"
        changed = [argument for argument, is_mut in zip(arguments, mutable, strict=True) if is_mut]
        if not changed:
            return called
        result = self.temporary()
        new = [name_of(a.name) if isinstance(a, core.VariableValue) else self.temporary() for a in changed]
        self.line(f"{', '.join([result, *new])} = {called}")
        for argument, value in zip(changed, new, strict=True):
            if core.is_place(argument):
                self.store(argument, value)
        return result

    def visit_MakeClosure(self, node: core.MakeClosure) -> str:
        """Captured variables are read now, as default values of parameters."""
        code = ClosureCode(node, self.given)
        name, made = self.compiler.closures.learn(code), self.temporary()
        own = [name_of(parameter) for parameter in node.parameters]
        captured = [f"{outer}={outer}" for outer in (name_of(variable.name) for variable in code.captured)]
        outer_back = self.given_back
        self.given_back = [p for p, mutable in zip(own, node.mutable, strict=True) if mutable]
        with self.block(f"def {name}({', '.join([*own, *captured])}):"):
            self.give(self.value(node.body))
        self.given_back = outer_back
        self.line(f"{made} = {name}")
        return made

    def visit_AssignTo(self, node: core.AssignTo) -> str:
        value = self.value(node.value)
        if not self.has_left():
            self.target(node.target, value)
        return "()"

    def visit_InSequence(self, node: core.InSequence) -> str:
        for item in node.items[:-1]:
            self.discard(item)
        return self.value(node.items[-1])

    def visit_Choose(self, node: core.Choose) -> str:
        """Return a choice between two, or a chain of them."""
        condition = self.value(node.condition)
        is_unit = self.type(node.type) == UNIT
        then = self.captured(node.then)
        branches, rest = [(f"if {condition}:", then)], node.otherwise
        while isinstance(rest, core.Choose):
            before, condition = self.captured(rest.condition)
            if before:
                break
            branches.append((f"elif {condition}:", self.captured(rest.then)))
            rest = rest.otherwise
        otherwise = self.captured(rest)
        if not (is_unit or then[0] or otherwise[0] or len(branches) > 1):
            return f"({then[1]} if {branches[0][0][3:-1]} else {otherwise[1]})"
        result = "" if is_unit else self.temporary()
        for header, found in branches:
            self.branch(header, result, found)
        if not (isinstance(rest, core.MakeTuple) and not rest.items):
            self.branch("else:", result, otherwise)
        return result or "()"

    def visit_MatchOn(self, node: core.MatchOn) -> str:
        """The cases cover all values, so that the last one need not be tested."""
        subject = self.kept(self.value(node.subject))
        result = "" if self.type(node.type) == UNIT else self.temporary()
        word = "if"
        for pattern, value in node.cases:
            conditions, bindings = self.tests(pattern, subject)
            if core.is_place(node.subject):
                self.remember_parts(node.subject, pattern)
            conditions = conditions if pattern is not node.cases[-1][0] else []
            header = f"{word} {' and '.join(conditions)}:" if conditions else "else:" if word == "elif" else "if True:"
            lines, found = self.captured(value)
            bound = [f"{name_of(name)} = {path}" for name, path in bindings if name_of(name) != path]
            self.branch(header, result, ([*bound, *lines], found))
            word = "elif"
            if not conditions:
                break
        return result or "()"

    def visit_ForEach(self, node: core.ForEach) -> str:
        items = self._in_order(self.type(node.items.type), self.value(node.items))
        name = name_of(node.pattern.name) if isinstance(node.pattern, core.Bind) else self.temporary()
        with self.block(f"for {name} in {items}:"):
            conditions, bindings = self.tests(node.pattern, name)
            if conditions:
                with self.block(f"if not ({' and '.join(conditions)}):"):
                    self.line("continue")
            self.bind(bindings)
            self.discard(node.body)
        return "()"

    def _in_order(self, type_: DdlogType, items: str) -> str:
        """Return the items of a collection in the order of loops; sets and maps of interned values keep Python's."""
        type_ = content(type_)
        if not isinstance(type_, Named) or type_.name not in SORTED:
            return items
        order = self.compiler.order(Tuple(type_.arguments) if len(type_.arguments) > 1 else type_.arguments[0])
        return f"sorted({items}, key={order})" if order else items

    def visit_LeaveLoop(self, node: core.LeaveLoop) -> str:
        self.line(node.word)
        return "()"

    def visit_ReturnValue(self, node: core.ReturnValue) -> str:
        self.give(self.value(node.value))
        return "()"

    def visit_TryValue(self, node: core.TryValue) -> str:
        value = self.kept(self.value(node.of))
        with self.block(f"if {value}[0] is not {self.compiler.constructor(node.found)}:"):
            self.give(self.compiler.constructor(node.failed, empty=True) if node.failed else value)
        return f"{value}[1]"


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
