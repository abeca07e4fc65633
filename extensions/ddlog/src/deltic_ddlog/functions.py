"""Functions checked, and their bodies for the types that they are called at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deltic.errors import Diagnostic
from deltic_ddlog import core
from deltic_ddlog.declarations import Declarations, Signature
from deltic_ddlog.exhaustive import check_patterns
from deltic_ddlog.infer_control import ExpressionInference
from deltic_ddlog.inference import variables_of
from deltic_ddlog.mutability import check_changes
from deltic_ddlog.types import DdlogType, TypeVariable, side_by_side


@dataclass(frozen=True)
class FunctionBody:
    """A function's parameters, by names that nothing else in it has, and what it gives; over its type variables."""

    parameters: tuple[str, ...]
    expression: core.TypedExpression


def check_function(declarations: Declarations, signature: Signature, findings: list[Diagnostic]) -> FunctionBody | None:
    """Return the body of a function, with types; None, and findings, where something is wrong."""
    node = signature.declaration.body
    assert node is not None
    inference = ExpressionInference(declarations, signature.module, signature.result)
    types = [*(p.type for p in signature.parameters), signature.result]
    inference.type_variables = frozenset(name for type_ in types for name in variables_of(type_))
    taken = zip(signature.names, signature.parameters, strict=True)
    names = tuple(inference.declare(name, p.type, mutable=p.mutable).name for name, p in taken)
    body = inference.expect(node, signature.result)
    inference.solve()
    built = None if inference.findings else body.build()
    if built and not inference.findings:
        mutable = dict(zip(names, (p.mutable for p in signature.parameters), strict=True))
        inference.findings += check_expression(declarations, built, mutable)
    findings += inference.findings
    return FunctionBody(names, built) if built and not inference.findings else None


def check_expression(
    declarations: Declarations, expression: core.TypedExpression, parameters: Mapping[str, bool]
) -> list[Diagnostic]:
    """Return what is wrong with a typed expression: patterns that lack cases, changes of what cannot be changed."""
    return [*check_patterns(declarations, expression), *check_changes(expression, parameters)]


def types_given(signature: Signature, instance: core.FunctionInstance) -> Mapping[str, DdlogType]:
    """Return what a function's type variables stand for in an instance."""
    given: dict[str, DdlogType] = {}
    for declared, ground in zip(signature.parameters, instance.parameters, strict=True):
        _match(declared.type, ground, given)
    _match(signature.result, instance.result, given)
    return given


def _match(declared: DdlogType, ground: DdlogType, given: dict[str, DdlogType]) -> None:
    if isinstance(declared, TypeVariable):
        given.setdefault(declared.name, ground)
    for ours, theirs in side_by_side(declared, ground) or ():
        _match(ours, theirs, given)
