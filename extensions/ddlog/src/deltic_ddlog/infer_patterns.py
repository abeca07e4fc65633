"""Patterns: of cases and loops, of what is assigned to, and of atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from deltic.datalog.syntax.expressions import SyntaxNode, nodes_in
from deltic.errors import did_you_mean
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.declarations import ConstructorEntry
from deltic_ddlog.inference import Inference
from deltic_ddlog.types import BROKEN, REFERENCES, DdlogType, Named, Tuple
from deltic_ddlog.unification import TypeUnknown, resolve

Build = Callable[[], core.Pattern]

# In a case or a loop each name is a new variable, also where one around it has this name; on the left of an assignment
# it is one that is there; in a rule one that is there if it is.
Mode = Literal["new", "place", "rule"]


@dataclass
class PatternOf:
    """A pattern on its way, and what it binds so far."""

    inference: Inference
    mode: Mode
    mutable: bool = False
    bound: set[str] = field(default_factory=set)

    def of(self, node: s.ParsedExpression, type_: DdlogType) -> Build:
        """The pattern for a value of a type."""
        span = node.span
        match node:
            case s.WildcardPattern():
                return lambda: core.Anything(self.inference.known(type_), span=span)
            case s.VariableDeclaration():
                return self._new(node, node.name, type_)
            case s.NameExpression() if self.mode == "new" or (self.mode == "rule" and not self._is_known(node.name)):
                return self._new(node, node.name, type_)
            case s.Ascription():
                self.inference.require(span, self.inference.type(node.type), type_)
                return self.of(node.of, type_)
            case s.Reference():
                return self.of(node.of, self._behind_reference(node, type_))
            case s.At():
                name = self.declare(node.name, type_)
                inner = self.of(node.pattern, type_)
                return lambda: core.As(self.inference.known(type_), name, inner(), span=span)
            case s.TupleExpression():
                parts: list[DdlogType] = [self.inference.unknown() for _ in node.items]
                self.inference.require(span, Tuple(tuple(parts)), type_)
                return self._parts(node, type_, None, [self.of(i, t) for i, t in zip(node.items, parts, strict=True)])
            case s.Construct():
                return self._construct(node, type_)
            case s.NameExpression() | s.FieldAccess() | s.TupleField() if self.mode == "place":
                place = self.inference.expect(node, type_)
                return lambda: core.AssignedPlace(self.inference.known(type_), place.build(), span=span)
            case _:
                return self._equal(node, type_)

    def _is_known(self, name: str) -> bool:
        """Whether a name in a rule's pattern is no new variable."""
        return self.inference.local(name) is not None

    def declare(self, name: str, type_: DdlogType) -> str:
        """A variable that the pattern binds."""
        self.bound.add(name)
        return self.inference.declare(name, type_, mutable=self.mutable).name

    def _new(self, node: s.ParsedExpression, name: str, type_: DdlogType) -> Build:
        if name in self.bound:
            self.inference.report(node.span, f"this pattern declares `{name}` twice", "rename one of them")
        elif isinstance(node, s.VariableDeclaration) and self.inference.is_fixed(name):
            self.inference.report(node.span, f"there is a variable `{name}` already", "rename one of them")
        unique = self.declare(name, type_)
        return lambda: core.Bind(self.inference.known(type_), unique, span=node.span)

    def _behind_reference(self, node: s.ParsedExpression, type_: DdlogType) -> DdlogType:
        known = resolve(type_)
        if isinstance(known, TypeUnknown):
            inside = self.inference.unknown()
            self.inference.require(node.span, Named("ddlog_std::Ref", (inside,)), known)
            return inside
        if isinstance(known, Named) and known.name in REFERENCES:
            return known.arguments[0]
        self.inference.require(node.span, Named("ddlog_std::Ref", (self.inference.unknown(),)), known)
        return self.inference.unknown()

    def _parts(
        self, node: SyntaxNode, type_: DdlogType, constructor: ConstructorEntry | None, parts: list[Build]
    ) -> Build:
        made = constructor.constructor if constructor else None
        known = self.inference.known
        return lambda: core.StructPattern(known(type_), made, tuple(part() for part in parts), span=node.span)

    def _construct(self, node: s.Construct, type_: DdlogType) -> Build:
        entry = find_constructor(self.inference, node)
        if entry is None:
            self.bind_all(node.arguments)
            return lambda: core.Anything(self.inference.known(type_), span=node.span)
        own = self.inference.unknown_type(entry.type)
        wanted = resolve(type_)
        while isinstance(wanted, Named) and wanted.name in REFERENCES:
            wanted = resolve(wanted.arguments[0])
        self.inference.require(node.span, own, wanted)
        return self.of_fields(node, own, entry, node.arguments, node.constructor)

    def bind_all(self, arguments: tuple[s.Argument, ...]) -> None:
        """Have the variables of what was reported, so that they are not reported where they are used."""
        for argument in arguments:
            self.of(argument.value, BROKEN)

    def of_fields(
        self, node: SyntaxNode, own: Named, entry: ConstructorEntry, arguments: tuple[s.Argument, ...], name: str
    ) -> Build:
        """The pattern of a struct by those of its fields; those that are left out may be anything."""
        types = self.inference.declarations.fields(own, entry)
        placed = place_arguments(self.inference, node, name, entry, arguments, complete=False)
        if not placed:
            self.bind_all(arguments)
        span, parts = node.span, list[Build]()
        for place, type_ in enumerate(types):
            parts.append(self.of(placed.get(place) or s.WildcardPattern(span=span), type_))
        return self._parts(node, own, entry, parts)

    def _equal(self, node: s.ParsedExpression, type_: DdlogType) -> Build:
        """The value of an expression, over what is known before the pattern."""
        if self.mode == "place":
            hint = "assign to a variable, a field of one, or a pattern of these"
            self.inference.report(node.span, "this is no place for a value", hint)
        typed = self.inference.expect(node, type_)
        for name in self.bound & {part.name for part in nodes_in(node) if isinstance(part, s.NameExpression)}:
            message = f"`{name}` is bound in this pattern, and cannot be used in it"
            self.inference.report(node.span, message, f"give this another name, and ask for `{name} == ...` behind it")
        return lambda: core.Equal(self.inference.known(type_), typed.build(), span=node.span)


def find_constructor(inference: Inference, node: s.Construct) -> ConstructorEntry | None:
    """The constructor of a name; None, and a finding, where there is none, or several."""
    names = inference.declarations.constructors
    result = names.find(inference.module, node.constructor)
    if len(result) == 1:
        return names.entries[result[0]]
    if result:
        message = " or ".join(f"`{name}`" for name in result)
        inference.report(node.span, f"`{node.constructor}` is ambiguous: {message}", "write one of these in full")
    else:
        hint = did_you_mean(node.constructor, names.visible(inference.module))
        inference.report(node.span, f"there is no constructor `{node.constructor}`", hint)
    return None


def place_arguments(
    inference: Inference,
    node: SyntaxNode,
    name: str,
    entry: ConstructorEntry,
    arguments: tuple[s.Argument, ...],
    *,
    complete: bool,
) -> dict[int, s.ParsedExpression]:
    """The arguments by the places of their fields."""
    fields = entry.constructor.fields
    result: dict[int, s.ParsedExpression] = {}
    named = [argument for argument in arguments if argument.name is not None]
    if named and len(named) < len(arguments):
        inference.report(node.span, "some arguments have names and some have not", "name all, or none")
        return result
    if not named and len(arguments) != len(fields) and (arguments or complete):
        message = f"`{name}` has {len(fields)} field{'s' * (len(fields) != 1)}, and not {len(arguments)}"
        inference.report(node.span, message, f"its fields are {', '.join(fields)}" if fields else "")
        return result
    for place, argument in enumerate(arguments):
        if argument.name is not None and argument.name not in fields:
            hint = did_you_mean(argument.name, fields) or f"its fields are {', '.join(fields)}"
            inference.report(argument.span, f"`{name}` has no field `{argument.name}`", hint)
            continue
        place = place if argument.name is None else fields.index(argument.name)
        if place in result:
            inference.report(argument.span, f"the field `{argument.name}` is given twice")
        result[place] = argument.value
    missing = [field_ for place, field_ in enumerate(fields) if place not in result]
    if complete and missing and len(named) == len(arguments):
        inference.report(node.span, f"`{name}` lacks {' and '.join(f'`{m}`' for m in missing)}", "give all fields")
    return result
