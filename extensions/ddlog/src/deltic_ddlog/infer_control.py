"""Types of what decides and repeats: blocks, assignments, `if`, `match`, `for`, `return`, `?`."""

from __future__ import annotations

from deltic.datalog.syntax.source import Span
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.infer_patterns import PatternOf
from deltic_ddlog.inference import Inference, InferredExpression, InferredPattern, infers
from deltic_ddlog.types import BOOL, BROKEN, REFERENCES, UNIT, DdlogType, Named, content, substitute
from deltic_ddlog.unification import TypeUnknown, resolve, shown

_OPTION, _RESULT = "ddlog_std::Option", "ddlog_std::Result"


@infers(s.Sequence)
def _sequence(inference: Inference, node: s.Sequence) -> InferredExpression:
    with inference.scope():
        items = inference.all(node.items)
    return inference.made(core.InSequence, node.span, items[-1].type, items)


@infers(s.Assign)
def _assign(inference: Inference, node: s.Assign) -> InferredExpression:
    """The value is computed before what is on the left is known."""
    value = inference.infer(node.value)
    pattern = PatternOf(inference, "place", mutable=True)
    target = pattern.of(node.target, value.type)
    return inference.made(core.AssignTo, node.span, UNIT, target, value)


@infers(s.If)
def _if(inference: Inference, node: s.If) -> InferredExpression:
    condition = inference.expect(node.condition, BOOL)
    with inference.scope():
        then = inference.infer(node.then)
    if node.otherwise is None:
        inference.require(node.then.span, then.type, UNIT, "add `else`, or end this with `;` in braces")
    with inference.scope():
        otherwise = inference.expect(node.otherwise, then.type) if node.otherwise else inference.nothing(node.span)
    return inference.made(core.Choose, node.span, then.type, condition, then, otherwise)


@infers(s.MatchExpression)
def _match(inference: Inference, node: s.MatchExpression) -> InferredExpression:
    subject = inference.infer(node.subject)
    result = inference.unknown()
    cases: list[tuple[InferredPattern, InferredExpression]] = []
    for case in node.cases:
        with inference.scope():
            pattern = PatternOf(inference, "new", mutable=True).of(case.pattern, subject.type)
            cases.append((pattern, inference.expect(case.value, result)))
    return inference.made(core.MatchOn, node.span, result, subject, cases)


@infers(s.For)
def _for(inference: Inference, node: s.For) -> InferredExpression:
    items = inference.infer(node.items)
    element = element_of(inference, node.items.span, items.type)
    inference.loops += 1
    with inference.scope():
        pattern = PatternOf(inference, "new").of(node.pattern, element)
        body = inference.infer(node.body)
    inference.loops -= 1
    return inference.made(core.ForEach, node.span, UNIT, pattern, items, body)


def element_of(inference: Inference, span: Span, type_: DdlogType) -> DdlogType:
    """The type of what a loop over a value gives."""
    element = inference.unknown()

    def decide(found: DdlogType) -> None:
        while isinstance(found, Named) and found.name in REFERENCES:
            found = resolve(found.arguments[0])
        if isinstance(found, TypeUnknown):
            inference.when_known(span, found, decide, "Vec<string>")
            return
        entry = inference.declarations.types.entries[found.name] if isinstance(found, Named) else None
        if entry is not None and entry.element is not None and isinstance(found, Named):
            given = dict(zip(entry.parameters, found.arguments, strict=True))
            inference.require(span, substitute(entry.element, given), element)
        elif found != BROKEN:
            inference.report(span, f"`{shown(found)}` has no items", "loops go over vectors, sets, maps and groups")

    inference.when_known(span, type_, decide, "Vec<string>")
    return element


@infers(s.Leave)
def _leave(inference: Inference, node: s.Leave) -> InferredExpression:
    if not inference.loops:
        inference.report(node.span, f"`{node.word}` stands outside of a loop")
    return inference.made(core.LeaveLoop, node.span, inference.unknown(), node.word)


@infers(s.Return)
def _return(inference: Inference, node: s.Return) -> InferredExpression:
    if inference.result is None:
        inference.report(node.span, "`return` stands outside of a function")
        return inference.broken(node.span)
    value = inference.infer(node.value) if node.value else inference.nothing(node.span)
    inference.require((node.value or node).span, value.type, inference.result)
    return inference.made(core.ReturnValue, node.span, inference.unknown(), value)


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
