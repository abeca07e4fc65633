"""Declared relations: their attributes, with base types, and the rules of equivalences (eqrel)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deltic.circuit.edges import ZSetType
from deltic.circuit.tables import WEIGHT
from deltic.datalog.checks.type_names import Base, Findings, Structure, TypeTable, seen, sized, stored
from deltic.datalog.syntax.expressions import Expression, Variable, Wildcard
from deltic.datalog.syntax.formulas import BodyAtom, BodyFormula, Conjunction
from deltic.datalog.syntax.program import Attribute, Clause, Declaration
from deltic.datalog.syntax.source import Span
from deltic.errors import did_you_mean
from deltic.values.types import Column, Schema


@dataclass(frozen=True)
class RelationSignature:
    """A relation's name and attributes. The type `None` stands for a reported error and matches every type.

    A relation that was not declared in Datalog has no `span`.
    """

    name: str
    attributes: tuple[str, ...]
    types: tuple[Base | None, ...]
    names: tuple[str, ...] = ()
    """The names of the types in the declaration."""
    span: Span | None = None

    @property
    def shape(self) -> str:
        """The declaration and its position, as text."""
        place = f" at {self.span.place}" if self.span else " outside of Datalog"
        return f"`{self.name}({', '.join(self.attributes)})`{place}"

    def schema(self, word_size: int) -> Schema:
        """Return the schema of the relation; every type must be known."""
        known = ((name, type_) for name, type_ in zip(self.attributes, self.types, strict=True) if type_)
        return Schema(tuple(Column(name, sized(stored(type_), word_size)) for name, type_ in known))

    def structures(self) -> dict[str, str]:
        """Return the families of the attributes that are structures."""
        pairs = zip(self.attributes, self.types, strict=True)
        return {name: type_.family for name, type_ in pairs if isinstance(type_, Structure)}

    def records(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the field names of each record type in the attributes."""
        members = (member for type_ in self.types if isinstance(type_, Structure) for member in type_.members)
        result = {m.name: tuple(name for name, _ in m.branches[""]) for m in members if m.is_record}
        return tuple(result.items())


Signatures = Mapping[str, RelationSignature]


def signature_of(name: str, type_: ZSetType) -> RelationSignature:
    """Return the signature of a relation of the catalog that other front ends have defined."""
    return RelationSignature(name, type_.schema.names, tuple(seen(column.type) for column in type_.schema))


def check_declarations(
    declarations: Sequence[Declaration], others: Mapping[str, object], types: TypeTable, findings: Findings
) -> Signatures:
    """Return the signatures of declared relations, in order; a name of one of `others` is reported."""
    signatures: dict[str, RelationSignature] = {}
    for declaration in declarations:
        signature = _signature(declaration, types, findings)
        first = signatures.setdefault(declaration.name, signature)
        if declaration.name in others:
            hint = "rules read it as it is: remove the declaration, or choose another name"
            findings.append(declaration.span.error(f"the catalog has a relation `{declaration.name}` already", hint))
        if first is not signature and first.span:
            hint = f"it was declared at {first.span.place}"
            findings.append(declaration.span.error(f"the relation `{declaration.name}` is declared twice", hint))
    return signatures


def unknown_relation(name: str, signatures: Signatures) -> tuple[str, str]:
    """Return the message and the hint for a relation that is not declared."""
    hint = did_you_mean(name, signatures) or f"declare it: `.decl {name}(...)`"
    return f"there is no relation `{name}`", hint


def can_be_equivalence(signature: RelationSignature) -> bool:
    """Return whether a relation has two attributes of one type."""
    return len(signature.types) == 2 and signature.types[0] is signature.types[1]


def equivalence_rules(declarations: Sequence[Declaration], signatures: Signatures) -> list[Clause]:
    """Return the rules for each relation that is declared `eqrel` and has two attributes of one type."""
    return [
        rule
        for declaration in declarations
        if "eqrel" in declaration.qualifiers and can_be_equivalence(signatures[declaration.name])
        for rule in _equivalence(declaration.name, declaration.span)
    ]


def _equivalence(name: str, span: Span) -> list[Clause]:
    """Return the rules that make a relation reflexive, symmetric and transitive."""
    x, y, z = (Variable(letter, span=span) for letter in "xyz")
    any_ = Wildcard(span=span)

    def atom(*arguments: Expression) -> BodyAtom:
        return BodyAtom(name, arguments, span=span)

    def rule(head: BodyAtom, body: BodyFormula) -> Clause:
        return Clause((head,), body, span=span)

    return [
        rule(atom(x, x), atom(x, any_)),
        rule(atom(y, x), atom(x, y)),
        rule(atom(x, z), Conjunction((atom(x, y), atom(y, z)), span=span)),
    ]


def _signature(declaration: Declaration, types: TypeTable, findings: Findings) -> RelationSignature:
    attributes = _distinct(declaration, findings)
    names = tuple(attribute.name for attribute in attributes)
    bases = tuple(types.base(attribute.type) for attribute in attributes)
    called = tuple(attribute.type.name for attribute in attributes)
    signature = RelationSignature(declaration.name, names, bases, called, declaration.span)
    if "eqrel" in declaration.qualifiers and not can_be_equivalence(signature):
        message = f"`{declaration.name}` is an equivalence (eqrel), which has two attributes of one type"
        findings.append(declaration.span.error(message))
    return signature


def _distinct(declaration: Declaration, findings: Findings) -> list[Attribute]:
    attributes: dict[str, Attribute] = {}
    for attribute in declaration.attributes:
        if attribute.name == WEIGHT:
            findings.append(
                attribute.span.error(f"`{WEIGHT}` cannot be an attribute", "changes have a column of that name")
            )
        if attributes.setdefault(attribute.name, attribute) is not attribute:
            message = f"`{declaration.name}` has two attributes called `{attribute.name}`"
            findings.append(attribute.span.error(message, "give each attribute a name of its own"))
    return list(attributes.values())
