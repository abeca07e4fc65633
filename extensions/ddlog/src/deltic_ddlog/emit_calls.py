"""Calls and closures as Python writes them."""

from __future__ import annotations

from collections.abc import Sequence

from deltic_ddlog import core
from deltic_ddlog.closures import ClosureCode
from deltic_ddlog.emitter import Emitter, emits, name_of


@emits(core.CallFunction)
def _call_function(emitter: Emitter, node: core.CallFunction) -> str:
    name = emitter.compiler.function(core.at(node.function, emitter.given), node.span)
    return _called(emitter, name, node.arguments, node.function.mutable)


@emits(core.CallClosure)
def _call_closure(emitter: Emitter, node: core.CallClosure) -> str:
    callee, *_ = emitter.values([node.closure])
    return _called(emitter, emitter.kept(callee), node.arguments, node.mutable)


def _called(emitter: Emitter, name: str, arguments: Sequence[core.TypedExpression], mutable: Sequence[bool]) -> str:
    """A call; the new values of `mut` arguments go back where they came from."""
    values = emitter.values(arguments)
    called = f"{name}({', '.join(values)})"
    changed = [argument for argument, is_mut in zip(arguments, mutable, strict=True) if is_mut]
    if not changed:
        return called
    result = emitter.temporary()
    new = [name_of(a.name) if isinstance(a, core.VariableValue) else emitter.temporary() for a in changed]
    emitter.line(f"{', '.join([result, *new])} = {called}")
    for argument, value in zip(changed, new, strict=True):
        if core.is_place(argument):
            emitter.store(argument, value)
    return result


@emits(core.FunctionValue)
def _function_value(emitter: Emitter, node: core.FunctionValue) -> str:
    return emitter.compiler.function_value(ClosureCode(node, emitter.given))


@emits(core.MakeClosure)
def _make_closure(emitter: Emitter, node: core.MakeClosure) -> str:
    """What is around is read as it is now: by default values of parameters."""
    code = ClosureCode(node, emitter.given)
    name, made = emitter.compiler.closures.learn(code), emitter.temporary()
    own = [name_of(parameter) for parameter in node.parameters]
    captured = [f"{outer}={outer}" for outer in (name_of(variable.name) for variable in code.captured)]
    outer_back = emitter.given_back
    emitter.given_back = [p for p, mutable in zip(own, node.mutable, strict=True) if mutable]
    with emitter.block(f"def {name}({', '.join([*own, *captured])}):"):
        emitter.give(emitter.value(node.body))
    emitter.given_back = outer_back
    emitter.line(f"{made} = {name}")
    return made
