"""Unknown types, and their unification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from deltic_ddlog import types as t
from deltic_ddlog.types import parts, side_by_side, with_parts

# What an unknown type may be: any, a number, an integer, or one of `bit` and `signed`.
Kind = Literal["any", "number", "integer", "bits"]

_KINDS: Mapping[Kind, tuple[type[t.DdlogType], ...]] = {
    "any": (t.DdlogType,),
    "number": (t.Bit, t.Signed, t.BigInt, t.Float, t.Double),
    "integer": (t.Bit, t.Signed, t.BigInt),
    "bits": (t.Bit, t.Signed),
}
_ORDER: tuple[Kind, ...] = ("any", "number", "integer", "bits")


class TypeUnknown(t.DdlogType):
    """An unknown type, `found` by unification. No two are equal."""

    def __init__(self, kind: Kind = "any") -> None:
        self.kind = kind
        self.found: t.DdlogType | None = None

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        if self.found:
            return str(self.found)
        return "_" if self.kind == "any" else "number" if self.kind == "number" else "integer"

    __hash__ = object.__hash__


@dataclass(frozen=True)
class OpenParameter(t.FunctionParameter):
    """A parameter of a closure that does not say whether it is `mut`: that follows from where the closure goes."""

    cell: list[bool] = field(default_factory=lambda: [False], compare=False)


def resolve(type_: t.DdlogType) -> t.DdlogType:
    """Return the type, with its outermost part resolved as far as it is known."""
    while isinstance(type_, TypeUnknown) and type_.found is not None:
        type_ = type_.found
    return type_


def resolved(type_: t.DdlogType, unknown: t.DdlogType) -> t.DdlogType:
    """Return the type, resolved as far as it is known; `unknown` for the rest."""
    type_ = resolve(type_)
    if isinstance(type_, TypeUnknown):
        return t.BigInt() if type_.kind != "any" else unknown
    if isinstance(type_, t.CallableType):
        parameters = tuple(t.FunctionParameter(resolved(p.type, unknown), is_mutable(p)) for p in type_.parameters)
        return t.CallableType(parameters, resolved(type_.result, unknown))
    return with_parts(type_, lambda part: resolved(part, unknown))


def is_mutable(parameter: t.FunctionParameter) -> bool:
    """Return whether a parameter is `mut`, as far as that is known."""
    return parameter.cell[0] if isinstance(parameter, OpenParameter) else parameter.mutable


def shown(type_: t.DdlogType) -> str:
    """Return the type for a message: `_` stands for what is not known."""
    type_ = resolve(type_)
    return str(type_) if isinstance(type_, TypeUnknown) else str(with_parts(type_, lambda part: _Shown(shown(part))))


@dataclass(frozen=True)
class _Shown(t.DdlogType):
    text: str

    def __str__(self) -> str:
        return self.text


def is_number(type_: t.DdlogType, kind: Kind = "number") -> bool:
    """Return whether a type that is known is of a kind."""
    return isinstance(type_, _KINDS[kind])


def unify(one: t.DdlogType, other: t.DdlogType) -> bool:
    """Make both types the same; False where they cannot be."""
    one, other = resolve(one), resolve(other)
    if one is other or t.BROKEN in (one, other):
        return True
    if isinstance(one, TypeUnknown) and isinstance(other, TypeUnknown):
        one.kind = max(one.kind, other.kind, key=_ORDER.index)
        other.found = one
        return True
    if isinstance(other, TypeUnknown):
        one, other = other, one
    if isinstance(one, TypeUnknown):
        if not isinstance(other, _KINDS[one.kind]) or _occurs(one, other):
            return False
        one.found = other
        return True
    return _unify_parts(one, other)


def _unify_parts(one: t.DdlogType, other: t.DdlogType) -> bool:
    """Make the parts of two types the same: each is tried, so that all is known for a message."""
    pairs = side_by_side(one, other)
    if pairs is None:
        return False
    outcomes = [unify(ours, theirs) for ours, theirs in pairs]
    if isinstance(one, t.CallableType) and isinstance(other, t.CallableType):
        outcomes += [_same_way(ours, theirs) for ours, theirs in zip(one.parameters, other.parameters, strict=True)]
    return all(outcomes)


def _same_way(one: t.FunctionParameter, other: t.FunctionParameter) -> bool:
    """Have both parameters mutable, or none."""
    if isinstance(one, OpenParameter):
        one.cell[0] = one.cell[0] or is_mutable(other)
    if isinstance(other, OpenParameter):
        other.cell[0] = other.cell[0] or is_mutable(one)
    return is_mutable(one) == is_mutable(other)


def _occurs(unknown: TypeUnknown, type_: t.DdlogType) -> bool:
    type_ = resolve(type_)
    return type_ is unknown or any(_occurs(unknown, part) for part in parts(type_))


def fits(declared: t.DdlogType, actual: t.DdlogType) -> bool:
    """Return whether a type with type variables, for which any may stand, could be a type that is known in part."""
    actual = resolve(actual)
    if isinstance(declared, t.TypeVariable) or t.BROKEN in (declared, actual):
        return True
    if isinstance(actual, TypeUnknown):
        return isinstance(declared, _KINDS[actual.kind])
    pairs = side_by_side(declared, actual)
    return pairs is not None and all(fits(ours, theirs) for ours, theirs in pairs)
