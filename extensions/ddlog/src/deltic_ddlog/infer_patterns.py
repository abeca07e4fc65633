"""Patterns: of cases and loops, of what is assigned to, and of atoms."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from deltic.datalog.syntax.expressions import SyntaxNode, nodes_in
from deltic.errors import did_you_mean
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.declarations import ConstructorEntry
from deltic_ddlog.inference import Inference, InferredPattern
from deltic_ddlog.types import BROKEN, REFERENCES, DdlogType, Named, Tuple
from deltic_ddlog.unification import TypeUnknown, resolve

# In a case or a loop each name is a new variable, also where one around it has this name; on the left of an assignment
# it is one that is there; in a rule one that is there if it is.
Mode = Literal["new", "place", "rule"]


@dataclass
class PatternOf:
    """A pattern under construction, and what it binds so far."""

    inference: Inference
    mode: Mode
    mutable: bool = False
    bound: set[str] = field(default_factory=set)

    def of(self, node: s.ParsedExpression, type_: DdlogType) -> InferredPattern:
        """Return the pattern for a value of a type."""
        span = node.span
        match node:
            case s.WildcardPattern():
                return self.inference.made(core.Anything, span, type_)
            case s.VariableDeclaration():
                return self._new(node, node.name, type_)
            case s.NameExpression() if self.mode == "new" or (
                self.mode == "rule" and self.inference.local(node.name) is None
            ):
                return self._new(node, node.name, type_)
            case s.Ascription():
                self.inference.require(span, self.inference.type(node.type), type_)
                return self.of(node.of, type_)
            case s.Reference():
                return self.of(node.of, self._behind_reference(node, type_))
            case s.At():
                name = self.declare(node.name, type_)
                inner = self.of(node.pattern, type_)
                return self.inference.made(core.As, span, type_, name, inner)
            case s.TupleExpression():
                parts: list[DdlogType] = [self.inference.unknown() for _ in node.items]
                self.inference.require(span, Tuple(tuple(parts)), type_)
                inside = list(map(self.of, node.items, parts))
                return self.inference.made(core.StructPattern, span, type_, None, inside)
            case s.Construct():
                return self._construct(node, type_)
            case s.NameExpression() | s.FieldAccess() | s.TupleField() if self.mode == "place":
                place = self.inference.expect(node, type_)
                return self.inference.made(core.AssignedPlace, span, type_, place)
            case _:
                return self._equal(node, type_)

    def declare(self, name: str, type_: DdlogType) -> str:
        """Return a variable that the pattern binds."""
        self.bound.add(name)
        return self.inference.declare(name, type_, mutable=self.mutable).name

    def _new(self, node: s.ParsedExpression, name: str, type_: DdlogType) -> InferredPattern:
        if name in self.bound:
            self.inference.report(node.span, f"this pattern declares `{name}` twice", "rename one of them")
        elif isinstance(node, s.VariableDeclaration) and self.inference.is_fixed(name):
            self.inference.report(node.span, f"there is a variable `{name}` already", "rename one of them")
        return self.inference.made(core.Bind, node.span, type_, self.declare(name, type_))

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

    def _construct(self, node: s.Construct, type_: DdlogType) -> InferredPattern:
        entry = find_constructor(self.inference, node)
        if entry is None:
            self.bind_all(node.arguments)
            return self.inference.made(core.Anything, node.span, type_)
        own = self.inference.unknown_type(entry.type)
        wanted = resolve(type_)
        while isinstance(wanted, Named) and wanted.name in REFERENCES:
            wanted = resolve(wanted.arguments[0])
        self.inference.require(node.span, own, wanted)
        return self.of_fields(node, own, entry, node.arguments, node.constructor)

    def bind_all(self, arguments: tuple[s.Argument, ...]) -> None:
        """Declare the variables of a reported pattern, so that their uses are not reported, too."""
        for argument in arguments:
            self.of(argument.value, BROKEN)

    def of_fields(
        self, node: SyntaxNode, own: Named, entry: ConstructorEntry, arguments: tuple[s.Argument, ...], name: str
    ) -> InferredPattern:
        """Return the pattern of a struct by those of its fields; those that are left out may be anything."""
        types = self.inference.declarations.fields(own, entry)
        placed = place_arguments(self.inference, node, name, entry, arguments, complete=False)
        if not placed:
            self.bind_all(arguments)
        nothing = s.WildcardPattern(span=node.span)
        parts = [self.of(placed.get(place, nothing), type_) for place, type_ in enumerate(types)]
        return self.inference.made(core.StructPattern, node.span, own, entry.constructor, parts)

    def _equal(self, node: s.ParsedExpression, type_: DdlogType) -> InferredPattern:
        """Return the value of an expression, over what is known before the pattern."""
        if self.mode == "place":
            hint = "assign to a variable, a field of one, or a pattern of these"
            self.inference.report(node.span, "this is no place for a value", hint)
        typed = self.inference.expect(node, type_)
        for name in self.bound & {part.name for part in nodes_in(node) if isinstance(part, s.NameExpression)}:
            message = f"`{name}` is bound in this pattern, and cannot be used in it"
            self.inference.report(node.span, message, f"give this another name, and ask for `{name} == ...` behind it")
        return self.inference.made(core.Equal, node.span, type_, typed)


def find_constructor(inference: Inference, node: s.Construct) -> ConstructorEntry | None:
    """Return the constructor of a name; None, and a finding, where there is none, or several."""
    constructors, report = inference.declarations.constructors, partial(inference.report, node.span)
    return constructors.only(inference.module, node.constructor, "constructor", report)


def place_arguments(
    inference: Inference,
    node: SyntaxNode,
    name: str,
    entry: ConstructorEntry,
    arguments: tuple[s.Argument, ...],
    *,
    complete: bool,
) -> dict[int, s.ParsedExpression]:
    """Return the arguments by the places of their fields."""
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
