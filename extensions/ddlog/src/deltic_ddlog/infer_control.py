"""Types of what decides and repeats: blocks, assignments, `if`, `match`, `for`, `return`, `?`."""

from __future__ import annotations

from collections.abc import Callable

from deltic.datalog.syntax.source import Span
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.infer_patterns import PatternOf
from deltic_ddlog.inference import Inference, InferredExpression, infers
from deltic_ddlog.types import BOOL, BROKEN, REFERENCES, UNIT, DdlogType, Named, content, substitute
from deltic_ddlog.unification import TypeUnknown, resolve, shown

_OPTION, _RESULT = "ddlog_std::Option", "ddlog_std::Result"


@infers(s.Sequence)
def _sequence(inference: Inference, node: s.Sequence) -> InferredExpression:
    with inference.scope():
        items = inference.all(node.items)

    def build() -> core.TypedExpression:
        built = tuple(item.build() for item in items)
        return core.InSequence(inference.known(items[-1].type), built, span=node.span)

    return InferredExpression(items[-1].type, build)


@infers(s.Assign)
def _assign(inference: Inference, node: s.Assign) -> InferredExpression:
    """The value is computed before what is on the left is known."""
    value = inference.infer(node.value)
    pattern = PatternOf(inference, "place", mutable=True)
    target = pattern.of(node.target, value.type)
    return InferredExpression(UNIT, lambda: core.AssignTo(UNIT, target(), value.build(), span=node.span))


@infers(s.If)
def _if(inference: Inference, node: s.If) -> InferredExpression:
    condition = inference.expect(node.condition, BOOL)
    with inference.scope():
        then = inference.infer(node.then)
    if node.otherwise is None:
        inference.require(node.then.span, then.type, UNIT, "add `else`, or end this with `;` in braces")
    with inference.scope():
        otherwise = inference.expect(node.otherwise, then.type) if node.otherwise else None

    def build() -> core.TypedExpression:
        rest = otherwise.build() if otherwise else core.MakeTuple(UNIT, (), span=node.span)
        return core.Choose(inference.known(then.type), condition.build(), then.build(), rest, span=node.span)

    return InferredExpression(then.type, build)


@infers(s.MatchExpression)
def _match(inference: Inference, node: s.MatchExpression) -> InferredExpression:
    subject = inference.infer(node.subject)
    result = inference.unknown()
    cases: list[tuple[Callable[[], core.Pattern], InferredExpression]] = []
    for case in node.cases:
        with inference.scope():
            pattern = PatternOf(inference, "new", mutable=True).of(case.pattern, subject.type)
            cases.append((pattern, inference.expect(case.value, result)))

    def build() -> core.TypedExpression:
        built = tuple((pattern(), value.build()) for pattern, value in cases)
        return core.MatchOn(inference.known(result), subject.build(), built, span=node.span)

    return InferredExpression(result, build)


@infers(s.For)
def _for(inference: Inference, node: s.For) -> InferredExpression:
    items = inference.infer(node.items)
    element = element_of(inference, node.items.span, items.type)
    inference.loops += 1
    with inference.scope():
        pattern = PatternOf(inference, "new").of(node.pattern, element)
        body = inference.infer(node.body)
    inference.loops -= 1
    return InferredExpression(UNIT, lambda: core.ForEach(UNIT, pattern(), items.build(), body.build(), span=node.span))


def element_of(inference: Inference, span: Span, type_: DdlogType) -> DdlogType:
    """The type of what a loop over a value gives."""
    element = inference.unknown()

    def attempt() -> bool:
        result = resolve(type_)
        while isinstance(result, Named) and result.name in REFERENCES:
            result = resolve(result.arguments[0])
        if isinstance(result, TypeUnknown):
            return False
        if result == BROKEN:
            return True
        entry = inference.declarations.types.entries[result.name] if isinstance(result, Named) else None
        if entry is None or entry.element is None or not isinstance(result, Named):
            inference.report(span, f"`{shown(result)}` has no items", "loops go over vectors, sets, maps and groups")
            return True
        given = dict(zip(entry.parameters, result.arguments, strict=True))
        inference.require(span, substitute(entry.element, given), element)
        return True

    def fail() -> None:
        inference.report(span, "the type of this is not known", "say it: `(x: Vec<string>)`")

    inference.wait(attempt, fail)
    return element


@infers(s.Break)
def _break(inference: Inference, node: s.Break) -> InferredExpression:
    _check_loop(inference, node)
    type_ = inference.unknown()
    return InferredExpression(type_, lambda: core.BreakLoop(inference.known(type_), span=node.span))


@infers(s.Continue)
def _continue(inference: Inference, node: s.Continue) -> InferredExpression:
    _check_loop(inference, node)
    type_ = inference.unknown()
    return InferredExpression(type_, lambda: core.ContinueLoop(inference.known(type_), span=node.span))


def _check_loop(inference: Inference, node: s.Break | s.Continue) -> None:
    if not inference.loops:
        inference.report(node.span, f"`{node.span.text}` stands outside of a loop")


@infers(s.Return)
def _return(inference: Inference, node: s.Return) -> InferredExpression:
    type_ = inference.unknown()
    if inference.result is None:
        inference.report(node.span, "`return` stands outside of a function")
        return inference.broken(node.span)
    value = inference.expect(node.value, inference.result) if node.value else None
    if value is None:
        inference.require(node.span, UNIT, inference.result)

    def build() -> core.TypedExpression:
        returned = value.build() if value else core.MakeTuple(UNIT, (), span=node.span)
        return core.ReturnValue(inference.known(type_), returned, span=node.span)

    return InferredExpression(type_, build)


@infers(s.Try)
def _try(inference: Inference, node: s.Try) -> InferredExpression:
    of = inference.infer(node.of)
    value, returned = inference.unknown(), inference.result
    if returned is None:
        inference.report(node.span, "`?` stands outside of a function", "use `match`")
        return inference.broken(node.span)

    def attempt() -> bool:
        result = content(resolve(of.type))
        if isinstance(resolve(result), TypeUnknown) or isinstance(resolve(returned), TypeUnknown):
            return False
        _check_try(inference, node, result, resolve(returned), value)
        return True

    def fail() -> None:
        inference.report(node.of.span, "the type of this is not known", "say it: `(x: Option<string>)`")

    inference.wait(attempt, fail)

    def build() -> core.TypedExpression:
        known = inference.known(of.type)
        constructors = inference.declarations.constructors.entries
        is_option = isinstance(known, Named) and content(known) == known and known.name == _OPTION
        result = constructors["ddlog_std::Some" if is_option else "ddlog_std::Ok"].constructor
        gives_none = isinstance(resolve(returned), Named) and inference.known(returned).name == _OPTION  # type: ignore[attr-defined]
        failed = constructors["ddlog_std::None"].constructor if gives_none else None
        return core.TryValue(inference.known(value), of.build(), result, failed, span=node.span)

    return InferredExpression(value, build)


def _check_try(inference: Inference, node: s.Try, found: DdlogType, returned: DdlogType, value: DdlogType) -> None:
    if BROKEN in (found, returned):
        return
    if not isinstance(found, Named) or found.name not in (_OPTION, _RESULT):
        inference.report(node.of.span, f"this is of type `{shown(found)}`, and `?` takes an `Option` or a `Result`")
        return
    inference.require(node.span, found.arguments[0], value)
    if not isinstance(returned, Named) or returned.name not in (_OPTION, _RESULT):
        inference.report(node.span, f"the function gives `{shown(returned)}`, and `?` needs an `Option` or a `Result`")
    elif returned.name == _RESULT and found.name == _OPTION:
        inference.report(node.span, "the function gives a `Result`, and this is an `Option`", "use `ok_or`")
    elif returned.name == _RESULT:
        inference.require(node.span, found.arguments[1], returned.arguments[1])
