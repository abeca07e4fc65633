"""What a program is made of: declarations, directives, facts and rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from deltic.datalog.syntax.expressions import SyntaxNode, TypeName
from deltic.datalog.syntax.formulas import BodyAtom, BodyFormula
from deltic.datalog.syntax.source import ProgramText


@dataclass(frozen=True)
class Item(SyntaxNode):
    """One statement of a program."""


@dataclass(frozen=True)
class Attribute(SyntaxNode):
    """A named, typed column of a relation."""

    name: str
    type: TypeName


@dataclass(frozen=True)
class Declaration(Item):
    """`.decl`: a relation, its attributes, and hints on how to keep it. `eqrel` alone changes what it means.

    `choices` are the attributes of each choice domain, of whose values the relation has one row.
    """

    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Subtype(Item):
    """`.type name <: base`: a name for some of the values of `base`."""

    name: str
    base: TypeName


@dataclass(frozen=True)
class UnionType(Item):
    """`.type name = a | b`: a name for the values of all members. With one member, another name for it."""

    name: str
    members: tuple[TypeName, ...]


@dataclass(frozen=True)
class Branch(SyntaxNode):
    """One form of the values of a structure, with its fields. The one of a record has no name."""

    name: str
    fields: tuple[Attribute, ...]


@dataclass(frozen=True)
class StructureType(Item):
    """`.type name = [fields]`, a record, whose values are also `nil`; or `.type name = A {fields} | B {fields}`."""

    name: str
    branches: tuple[Branch, ...]

    @property
    def is_record(self) -> bool:
        """Whether it is a record, and not an algebraic data type."""
        return not self.branches[0].name


@dataclass(frozen=True)
class FunctorDeclaration(Item):
    """`.functor f(parameters): result`: a function of Python that expressions call; `name` has the `@` of its calls."""

    name: str
    parameters: tuple[TypeName, ...]
    result: TypeName


TypeDeclaration = Subtype | UnionType | StructureType


@dataclass(frozen=True)
class Option(SyntaxNode):
    """`key=value` of a directive. The value is text, whatever it was written as."""

    key: str
    value: str


@dataclass(frozen=True)
class DirectiveItem(Item):
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation; `hidden` for the pragma of that name."""

    kind: str
    relation: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Pragma(Item):
    """`.pragma "name" "value"` that changes what programs mean, or how they are checked."""

    name: str
    value: str


@dataclass(frozen=True)
class Clause(Item):
    """A fact (no body) or a rule: every head holds for each binding of which the body holds."""

    heads: tuple[BodyAtom, ...]
    body: BodyFormula | None


@dataclass(frozen=True)
class Subsumption(Item):
    """`lesser <= greater :- body.`: the lesser of two rows of a relation is none of it where the body holds."""

    lesser: BodyAtom
    greater: BodyAtom
    body: BodyFormula


@dataclass(frozen=True)
class ComponentName(SyntaxNode):
    """The mention of a component, with what its parameters stand for."""

    name: str
    arguments: tuple[TypeName, ...] = ()


@dataclass(frozen=True)
class ComponentDeclaration(Item):
    """`.comp name<parameters> : bases { items }`: statements that are there once for each instance."""

    name: str
    parameters: tuple[str, ...]
    bases: tuple[ComponentName, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class ComponentInstance(Item):
    """`.init name = component`: the statements of the component, about relations and types called `name.…`."""

    name: str
    component: ComponentName


@dataclass(frozen=True)
class Override(Item):
    """`.override relation`: the facts and rules that base components have for it do not count."""

    relation: str


ItemT = TypeVar("ItemT", bound=Item)


@dataclass(frozen=True)
class ParsedProgram:
    """The statements of one text, in their order; those of instances stand for the instances."""

    items: tuple[Item, ...]
    source: ProgramText = field(compare=False, repr=False)

    def all(self, kind: type[ItemT]) -> list[ItemT]:
        """The statements of one kind, in their order."""
        return [item for item in self.items if isinstance(item, kind)]
