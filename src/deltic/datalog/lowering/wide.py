"""Rules of many atoms: groups of atoms become hidden relations, reduced to the variables that the rest needs.

A join of n inputs has n delta queries of n steps each, and visits all combinations of matching rows. In groups of a few
atoms, and groups of groups, there are a few steps for each atom, and a group has only the rows that the rest needs:
distinct(π_A(a ⋈ b)) = distinct(π_A(distinct(π_{A∪S}(a)) ⋈ b)), with S what they share [DBSP Prop 6.11]. Atoms that
share no variable with the rest become a relation without columns, a test. Groups that differ only in the names of their
own variables are shared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from deltic.circuit.operators import Keep
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.syntax.expressions import Variable, renamed
from deltic.datalog.syntax.formulas import BodyAtom, mentions_of
from deltic.values.types import Column, Schema

WIDEST = 16
"""The most atoms that are joined at once."""

_SIZE = 4
"""The number of atoms in a group."""

LowerRule = Callable[[CheckedRule, Schema, LoweringScope], int]


def in_groups(rule: CheckedRule, scope: LoweringScope, lower_rule: LowerRule) -> CheckedRule:
    """Return the rule with atoms grouped if there are many; the set of its rows is the same."""
    atoms = [literal for literal in rule.body if isinstance(literal, BodyAtom)]
    if len(atoms) <= WIDEST:
        return rule
    rest = [literal for literal in rule.body if not isinstance(literal, BodyAtom)]
    wanted = {v.name for part in (rule.head, *rest) for v in mentions_of(part)}
    before = len(atoms) + 1
    while _SIZE < len(atoms) < before:
        before = len(atoms)
        groups = _grouped(atoms)
        counts = Counter(name for group in groups for name in _names(group))
        shared = wanted | {name for name, count in counts.items() if count > 1}
        atoms = list(dict.fromkeys(_atom_of(rule, group, shared, scope, lower_rule) for group in groups))
    return replace(rule, body=(*atoms, *rest))


def _atom_of(
    rule: CheckedRule, group: Sequence[BodyAtom], shared: set[str], scope: LoweringScope, lower_rule: LowerRule
) -> BodyAtom:
    """Return an atom of the group's relation, over the shared variables.

    If the group does not depend on the recursion, it is computed before it.
    """
    names = _names(group)
    kept = [name for name in names if name in shared]
    if len(group) == 1 and len(kept) == len(names):
        return group[0]
    place = scope if any(scope.is_recursive(atom.relation) for atom in group) else scope.outside
    node = _lower_group(rule, group, kept, place, lower_rule)
    if place is scope.outside:
        node = place.builder.add(Keep(f"{rule.head.relation or 'rule'} in parts"), node)
    return BodyAtom(place.hidden(node), tuple(Variable(each, span=group[0].span) for each in kept), span=group[0].span)


def _lower_group(
    rule: CheckedRule, group: Sequence[BodyAtom], kept: Sequence[str], place: LoweringScope, lower_rule: LowerRule
) -> int:
    """Return the set of the values of the variables `kept` for which all atoms of the group hold."""
    own = {name: f"own.{number}" for number, name in enumerate(n for n in _names(group) if n not in kept)}
    variables = {own.get(name, name): rule.variables[name] for name in _names(group)}
    head = BodyAtom("", tuple(Variable(name, span=rule.head.span) for name in kept), span=rule.head.span)

    body = tuple(dict.fromkeys(renamed(atom, own) for atom in group))
    part = replace(rule, head=head, body=body, variables=variables)
    schema = Schema(tuple(Column(name, variables[name]) for name in kept))
    return place.builder.distinct(lower_rule(part, schema, place))


def _names(group: Sequence[BodyAtom]) -> list[str]:
    """Return the variables of a group, in the order of their first mention."""
    return list(dict.fromkeys(v.name for atom in group for v in mentions_of(atom)))


def _grouped(atoms: Sequence[BodyAtom]) -> list[list[BodyAtom]]:
    """Return the atoms in groups that share variables where possible."""
    names = [_names([atom]) for atom in atoms]
    having: dict[str, list[int]] = defaultdict(list)
    for place, result in enumerate(names):
        for name in result:
            having[name].append(place)
    waiting = dict.fromkeys(range(len(atoms)))
    groups: list[list[BodyAtom]] = []
    while waiting:
        shared: Counter[int] = Counter({next(iter(waiting)): 0})
        seen: set[str] = set()
        group: list[int] = []
        while shared and len(group) < _SIZE:
            place = max(shared, key=lambda p: (shared[p], -p))
            del shared[place], waiting[place]
            group.append(place)
            new = [name for name in names[place] if name not in seen]
            shared.update(other for name in new for other in having[name] if other in waiting)
            seen.update(new)
        groups.append([atoms[place] for place in sorted(group)])
    return groups
