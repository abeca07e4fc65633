"""Edits of programs: replacing and removing relations, and adding pragmas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from deltic.datalog.syntax import program as p


def with_pragmas(text: str, pragmas: Mapping[str, str]) -> str:
    """Return a text with these pragmas at its end, unless they are there already."""
    lines = (f'.pragma "{name}"' + (f' "{value}"' if value else "") for name, value in pragmas.items())
    said = "".join(f"\n{line}" for line in lines)
    return text if text.endswith(said) else text + said


def defined(program: p.ParsedProgram) -> set[str]:
    """Return the relations that a program declares, or derives with a fact or rule."""
    heads = {atom.relation for clause in program.all(p.Clause) for atom in clause.heads}
    return declared(program) | heads | {item.lesser.relation for item in program.all(p.Subsumption)}


def declared(program: p.ParsedProgram) -> set[str]:
    """Return the relations that a program declares."""
    return {declaration.name for declaration in program.all(p.Declaration)}


def components(programs: Sequence[p.ParsedProgram]) -> dict[str, p.ComponentDeclaration]:
    """Return the components that programs declare."""
    return {component.name: component for program in programs for component in program.all(p.ComponentDeclaration)}


def replacing(programs: Sequence[p.ParsedProgram], program: p.ParsedProgram) -> list[p.ParsedProgram]:
    """Return the programs with another one added, whose statements replace those about the same relations.

    If it declares a relation, all older statements about it are removed; if it only has facts and rules for one, its
    older declaration and directives are kept. A type or component that it declares replaces that of the same name.
    """
    types = {
        item.name
        for item in program.items
        if isinstance(item, p.TypeDeclaration | p.ComponentDeclaration | p.FunctorDeclaration)
    }
    kept = without(programs, declared(program), defined(program), types)
    return [*kept, program]


def without(
    programs: Sequence[p.ParsedProgram],
    relations: Collection[str],
    underived: Collection[str] | None = None,
    types: Collection[str] = (),
) -> list[p.ParsedProgram]:
    """Return the programs without some relations and types, and without the facts and rules of `underived`.

    If that is None, the facts and rules of the removed relations are removed.
    """
    heads = relations if underived is None else underived
    return [
        replace(program, items=tuple(left for item in program.items for left in _left(item, relations, heads, types)))
        for program in programs
    ]


def _left(item: p.Item, relations: Collection[str], heads: Collection[str], types: Collection[str]) -> Iterator[p.Item]:
    """Yield the parts of a statement that are kept."""
    if isinstance(item, p.Clause):
        atoms = tuple(atom for atom in item.heads if atom.relation not in heads)
        if atoms:
            yield item if atoms == item.heads else replace(item, heads=atoms)
    elif isinstance(item, p.Subsumption):
        if item.lesser.relation not in heads:
            yield item
    elif isinstance(item, p.Declaration):
        if item.name not in relations:
            yield item
    elif isinstance(item, p.DirectiveItem):
        if item.relation not in relations:
            yield item
    elif not (
        isinstance(item, p.TypeDeclaration | p.ComponentDeclaration | p.FunctorDeclaration) and item.name in types
    ):
        yield item
