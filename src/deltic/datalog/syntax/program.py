"""The statements of a program: declarations, directives, facts and rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from deltic.datalog.syntax.expressions import SyntaxNode, TypeName
from deltic.datalog.syntax.formulas import BodyAtom, BodyFormula
from deltic.datalog.syntax.source import ProgramText


class Item(SyntaxNode):
    """One statement of a program."""


class Attribute(SyntaxNode):
    """A named, typed column of a relation."""

    name: str
    type: TypeName


class Declaration(Item):
    """`.decl`: a relation, its attributes, and hints for its storage. Of the hints only `eqrel` changes the meaning.

    `choices` are the attributes of each choice domain: the relation has one row for each of their values.
    """

    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    choices: tuple[tuple[str, ...], ...] = ()


class Subtype(Item):
    """`.type name <: base`: a subtype of `base`."""

    name: str
    base: TypeName


class UnionType(Item):
    """`.type name = a | b`: the union of the members. With one member, an alias."""

    name: str
    members: tuple[TypeName, ...]


class Branch(SyntaxNode):
    """One form of a structure's values, with its fields. The branch of a record has no name."""

    name: str
    fields: tuple[Attribute, ...]


class StructureType(Item):
    """`.type name = [fields]`, a record, whose values are also `nil`; or `.type name = A {fields} | B {fields}`."""

    name: str
    branches: tuple[Branch, ...]


class FunctorDeclaration(Item):
    """`.functor f(parameters): result`: a Python function for expressions; `name` includes the `@` of its calls."""

    name: str
    parameters: tuple[TypeName, ...]
    result: TypeName


TypeDeclaration = Subtype | UnionType | StructureType


class Option(SyntaxNode):
    """`key=value` of a directive. The value is always text."""

    key: str
    value: str


class DirectiveItem(Item):
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation; `hidden` for the pragma of that name."""

    kind: str
    relation: str
    options: tuple[Option, ...]


class Pragma(Item):
    """`.pragma "name" "value"` that changes the meaning of programs, or how they are checked."""

    name: str
    value: str


class Clause(Item):
    """A fact (no body) or a rule: every head holds for each binding for which the body holds."""

    heads: tuple[BodyAtom, ...]
    body: BodyFormula | None


class Subsumption(Item):
    """`lesser <= greater :- body.`: of two rows of a relation the lesser one is removed if the body holds."""

    lesser: BodyAtom
    greater: BodyAtom
    body: BodyFormula


class ComponentName(SyntaxNode):
    """The name of a component, with the arguments for its parameters."""

    name: str
    arguments: tuple[TypeName, ...] = ()


class ComponentDeclaration(Item):
    """`.comp name<parameters> : bases { items }`: statements that each instance copies."""

    name: str
    parameters: tuple[str, ...]
    bases: tuple[ComponentName, ...]
    items: tuple[Item, ...]


class ComponentInstance(Item):
    """`.init name = component`: a copy of the component's statements, with relations and types named `name.…`."""

    name: str
    component: ComponentName


class Override(Item):
    """`.override relation`: the facts and rules of base components for the relation are ignored."""

    relation: str


ItemT = TypeVar("ItemT", bound=Item)


@dataclass(frozen=True)
class ParsedProgram:
    """The statements of one text, in order, with instances expanded."""

    items: tuple[Item, ...]
    source: ProgramText = field(compare=False, repr=False)

    def all(self, kind: type[ItemT]) -> list[ItemT]:
        """Return the statements of one kind, in their order."""
        return [item for item in self.items if isinstance(item, kind)]
