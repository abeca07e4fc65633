"""Types of calls: which function a name means follows from the number and the types of arguments, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.datalog.syntax.source import Span
from deltic.errors import did_you_mean
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog import types as t
from deltic_ddlog.declarations import Signature
from deltic_ddlog.inference import Inference, InferredExpression, infers
from deltic_ddlog.unification import OpenParameter, TypeUnknown, fits, is_mutable, resolve, shown

BUILT_IN = (t.Bool, t.BigInt, t.Bit, t.Signed, t.Float, t.Double, t.String)


def _candidates(inference: Inference, name: str, type_: t.DdlogType | None = None) -> list[Signature]:
    """The functions that a name may mean here; those of the module that defines a type are among them."""
    names = inference.declarations.functions
    result = names.find_all(inference.module, name)
    if isinstance(type_, t.Named) and "::" in type_.name:
        home = f"{type_.name.rpartition('::')[0]}::{name}"
        result += [home] if home in names.entries and home not in result else []
    return [signature for full in result for signature in names.entries[full]]


def _unknown_function(inference: Inference, span: Span, name: str) -> None:
    known = [*inference.declarations.functions.visible(inference.module), *inference.locals()]
    what = "constructor" if name.rpartition("::")[2][0].isupper() else "function or variable"
    inference.report(span, f"there is no {what} `{name}`", did_you_mean(name, known))


def _made(
    inference: Inference, signature: Signature, parameters: Sequence[t.DdlogType], result: t.DdlogType
) -> core.FunctionInstance:
    known = inference.known
    mutable = tuple(p.mutable for p in signature.parameters)
    types = tuple(map(known, parameters))
    return core.FunctionInstance(signature.name, signature.number, types, mutable, known(result))


def function_value(inference: Inference, node: s.NameExpression) -> InferredExpression:
    """A function by its name, as a value."""
    candidates = _candidates(inference, node.name)
    if not candidates:
        _unknown_function(inference, node.span, node.name)
        return inference.broken(node.span)
    type_ = inference.unknown()
    chosen: list[Callable[[], core.FunctionInstance]] = []

    def attempt() -> bool:
        fitting = [c for c in candidates if fits(t.CallableType(c.parameters, c.result), resolve(type_))]
        if len(fitting) > 1:
            return False
        signature = (fitting or candidates)[0]
        parameters, result = inference.instance(signature)
        taken = zip(parameters, signature.parameters, strict=True)
        own = t.CallableType(tuple(t.FunctionParameter(each, p.mutable) for each, p in taken), result)
        inference.require(node.span, own, type_)
        chosen.append(lambda: _made(inference, signature, parameters, result))
        return True

    def fail() -> None:
        message = "; ".join(map(str, candidates))
        inference.report(node.span, f"`{node.name}` may be one of several functions: {message}")

    inference.wait(attempt, fail)

    def build() -> core.TypedExpression:
        return core.FunctionValue(inference.known(type_), chosen[0](), span=node.span)

    return InferredExpression(type_, build)


@infers(s.CallExpression)
def _call(inference: Inference, node: s.CallExpression) -> InferredExpression:
    callee = node.callee
    if isinstance(callee, s.NameExpression) and (node.dotted or inference.local(callee.name) is None):
        return _function_call(inference, node, callee)
    return _closure_call(inference, node)


def _function_call(inference: Inference, node: s.CallExpression, callee: s.NameExpression) -> InferredExpression:
    arguments = inference.all(node.arguments)
    spans = [argument.span for argument in node.arguments]
    candidates = _candidates(inference, callee.name)
    fitting = [c for c in candidates if len(c.parameters) == len(arguments)]
    if not fitting:
        if not candidates:
            _unknown_function(inference, callee.span, callee.name)
        else:
            message = f"`{callee.name}` takes {_counts(candidates)}, and not {len(arguments)}"
            inference.report(node.span, message, f"it is declared as `{candidates[0]}`")
        return inference.broken(node.span)
    return call(inference, node.span, callee.name, fitting, arguments, spans)


def _counts(candidates: Sequence[Signature]) -> str:
    counts = sorted({len(c.parameters) for c in candidates})
    message = " or ".join(map(str, counts))
    return f"{message} argument{'s' * (counts != [1])}"


def call(
    inference: Inference,
    span: Span,
    name: str,
    candidates: Sequence[Signature],
    arguments: Sequence[InferredExpression],
    spans: Sequence[Span],
) -> InferredExpression:
    """A call of one of several functions."""
    wanted = inference.unknown()
    chosen: list[Callable[[], core.FunctionInstance]] = []

    def could_be(candidate: Signature) -> bool:
        taken = zip(candidate.parameters, arguments, strict=True)
        return all(fits(p.type, argument.type) for p, argument in taken) and fits(candidate.result, wanted)

    def attempt() -> bool:
        fitting = [c for c in candidates if could_be(c)] if len(candidates) > 1 else list(candidates)
        if not fitting:
            types = ", ".join(shown(argument.type) for argument in arguments)
            message = f"no function `{name}` takes ({types})" + _told_result(wanted)
            inference.report(span, message, f"there is `{'`, `'.join(map(str, candidates[:4]))}`")
            chosen.append(lambda: core.FunctionInstance(name, 0, (), (), inference.known(wanted)))
            return True
        if len(fitting) > 1:
            return False
        choose(fitting[0])
        return True

    def choose(signature: Signature) -> None:
        parameters, result = inference.instance(signature)
        for place, argument in enumerate(arguments):
            inference.require(spans[place], argument.type, parameters[place])
        inference.require(span, result, wanted)
        chosen.append(lambda: _made(inference, signature, parameters, result))

    def fail() -> None:
        message = "; ".join(map(str, [c for c in candidates if could_be(c)][:4]))
        inference.report(span, f"`{name}` may be one of several functions: {message}", "say the types: `(x: T)`")

    def guess() -> bool:
        """Of functions that all fit, that of the module itself."""
        own = [c for c in candidates if could_be(c) and c.module is inference.module]
        if chosen or len(own) != 1 or own[0].module.is_library:
            return False
        choose(own[0])
        return True

    inference.wait(lambda: bool(chosen) or attempt(), fail, guess)

    def build() -> core.TypedExpression:
        built = tuple(argument.build() for argument in arguments)
        return core.CallFunction(inference.known(wanted), chosen[0](), built, span=span)

    return InferredExpression(wanted, build)


def _told_result(wanted: t.DdlogType) -> str:
    return "" if isinstance(resolve(wanted), TypeUnknown) else f" and gives `{shown(wanted)}`"


def _closure_call(inference: Inference, node: s.CallExpression) -> InferredExpression:
    closure = inference.infer(node.callee)
    arguments = inference.all(node.arguments)
    result = inference.unknown()
    parameters = tuple(OpenParameter(argument.type) for argument in arguments)
    inference.require(node.callee.span, closure.type, t.CallableType(parameters, result))

    def build() -> core.TypedExpression:
        mutable = tuple(map(is_mutable, parameters))
        built = tuple(argument.build() for argument in arguments)
        return core.CallClosure(inference.known(result), closure.build(), built, mutable, span=node.span)

    return InferredExpression(result, build)


@infers(s.LambdaExpression)
def _lambda(inference: Inference, node: s.LambdaExpression) -> InferredExpression:
    """A closure; it reads the variables around it, and cannot change them."""
    result = inference.type(node.result) if node.result else inference.unknown()
    outer, inference.result = inference.result, result
    parameters, names = list[t.FunctionParameter](), list[str]()
    with inference.scope():
        for item in node.parameters:
            type_ = inference.type(item.type) if item.type else inference.unknown()
            mutable = t.FunctionParameter(type_, True) if item.mutable else OpenParameter(type_)
            parameters.append(mutable)
            names.append(inference.declare(item.name, type_, mutable=True).name)
        body = inference.expect(node.body, result)
    inference.result = outer
    type_ = t.CallableType(tuple(parameters), result)

    def build() -> core.TypedExpression:
        mutable = tuple(map(is_mutable, parameters))
        return core.MakeClosure(inference.known(type_), tuple(names), mutable, body.build(), span=node.span)

    return InferredExpression(type_, build)


def text_of(
    inference: Inference, node: s.ParsedExpression, typed: InferredExpression | None = None
) -> InferredExpression:
    """The text of a value: of one that is no built-in one, what `to_string` gives."""
    of = typed or inference.infer(node)
    chosen: list[InferredExpression] = []

    def decide(found: t.DdlogType) -> None:
        if isinstance(found, BUILT_IN):
            chosen.append(of if found == t.STRING else inference.made(core.ToText, node.span, t.STRING, of))
        elif found == t.BROKEN:
            chosen.append(of)
        else:
            chosen.append(own_text(found))

    def own_text(type_: t.DdlogType) -> InferredExpression:
        candidates = [c for c in _candidates(inference, "to_string", type_) if len(c.parameters) == 1]
        candidates = [c for c in candidates if fits(c.parameters[0].type, type_)]
        if not candidates:
            hint = f"define `function to_string(x: {shown(type_)}): string`"
            inference.report(node.span, f"there is no text for `{shown(type_)}`", hint)
            return of
        made = call(inference, node.span, "to_string", candidates, [of], [node.span])
        inference.require(node.span, made.type, t.STRING)
        return made

    inference.when_known(node.span, of.type, decide, "T")
    return InferredExpression(t.STRING, lambda: chosen[0].build())
