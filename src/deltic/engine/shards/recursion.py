"""By which columns a recursion can be split, so that each shard computes its share alone.

A recursion *preserves a key* where each of its relations has a column whose value every rule hands on: reachability
has it in the source, points-to in the variable. Then rows of different keys never meet, and what else the rules read
is there for the key, or on every shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from deltic.circuit.types import Kind
from deltic.program.program import Program
from deltic.program.queries import Atom, Rule

# How many ways to choose a column for each relation are tried.
_TRIED = 4096


def preserved_key(program: Program, relations: Sequence[str]) -> Mapping[str, int] | None:
    """A column of each relation that its rules preserve; None where there is none."""
    rules = [rule for name in relations for rule in program.rules_of(name)]
    columns = [_hashed(program, name) for name in relations]
    for choice in islice(product(*columns), _TRIED):
        keys = dict(zip(relations, choice, strict=True))
        if all(_preserves(rule, keys) for rule in rules):
            return keys
    return None


def _hashed(program: Program, name: str) -> list[int]:
    """The columns that spread rows: all but maps."""
    schema = program.relations[name].schema
    return [i for i, column in enumerate(schema) if column.type.kind is not Kind.MAP]


def _preserves(rule: Rule, keys: Mapping[str, int]) -> bool:
    """Whether the head has the key of every recursive atom, and some atom is found by it."""
    variable = rule.terms[keys[rule.head]]
    if not isinstance(variable, int):
        return False
    recursive = [atom for atom in rule.body.atoms if atom.relation in keys]
    if any(atom.terms[keys[atom.relation]] != variable for atom in recursive):
        return False
    return any(variable in atom.variables() for atom in rule.body.atoms)


def reads_by_key(rule: Rule, keys: Mapping[str, int]) -> Iterator[tuple[Atom, tuple[int, ...] | None]]:
    """The atoms of a rule of other relations, each with the column by which it is spread, None for a copy."""
    variable = rule.terms[keys[rule.head]]
    for atom in (*rule.body.atoms, *rule.body.absent):
        if atom.relation not in keys:
            yield atom, (atom.terms.index(variable),) if variable in atom.variables() else None
