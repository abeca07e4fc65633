"""DDlog's meaning by its definition: clause after clause over lists of variables' values, and rules until nothing new.

It shares with the lowering the checked program and its functions of Python, and nothing else: no columns, no circuits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from deltic.catalog.components import components
from deltic_ddlog import checked as c
from deltic_ddlog import core
from deltic_ddlog.check import ResolvedModules
from deltic_ddlog.values import Group

RECORD = ""
"""The name of a rule's first record, as long as its fields are all that a row has."""
Known = dict[str, Any]
Records = dict[str, Counter[Any]]


def derived(program: ResolvedModules, inputs: Records) -> Records:
    """Return the records of all relations with their weights, for those of the inputs."""
    found: Records = {name: Counter(inputs.get(name, {})) for name in program.relations}
    graph = {name: _read_by(program, name) for name in program.relations}
    for names in components(graph):
        is_recursive = len(names) > 1 or names[0] in graph[names[0]]
        while True:
            before = {name: Counter(found[name]) for name in names}
            for name in names:
                relation = program.relations[name]
                is_set = relation.semantics == "relation" and (is_recursive or relation.role != "internal")
                found[name] = _once(program, name, found, inputs, is_set)
            if not is_recursive or all(found[name] == before[name] for name in names):
                break
    return found


def _read_by(program: ResolvedModules, name: str) -> list[str]:
    atoms = (clause for rule in _rules(program, name) for clause in rule.body)
    return [atom.relation for atom in atoms if isinstance(atom, c.MatchStep | c.AbsentStep)]


def _rules(program: ResolvedModules, relation: str) -> list[c.ResolvedRule]:
    return [rule for rule in program.rules if any(head.relation == relation for head in rule.heads)]


def _once(program: ResolvedModules, name: str, found: Records, inputs: Records, is_set: bool) -> Counter[Any]:
    total = Counter(inputs.get(name, {}))
    for rule in _rules(program, name):
        for known, weight in _bindings(program, rule.body, found):
            for head in rule.heads:
                if head.relation == name:
                    total[_value(program, head.record, known)] += weight
    return Counter(dict.fromkeys(total, 1)) if is_set else total


def _bindings(program: ResolvedModules, body: tuple[c.Clause, ...], found: Records) -> list[tuple[Known, int]]:
    bindings: list[tuple[Known, int]] = [({}, 1)]
    for place, clause in enumerate(body):
        if isinstance(clause, c.GroupBy):
            bindings = list(_grouped(program, clause, bindings))
        else:
            bindings = [(new, w * more) for known, w in bindings for new, more in _step(program, clause, known, found)]
        if place and not isinstance(clause, c.ConditionStep):
            bindings = [({name: value for name, value in known.items() if name != RECORD}, w) for known, w in bindings]
    return bindings


def _step(program: ResolvedModules, clause: c.Clause, known: Known, found: Records) -> Iterator[tuple[Known, int]]:
    if isinstance(clause, c.ConditionStep):
        if _value(program, clause.expression, known):
            yield known, 1
    elif isinstance(clause, c.AbsentStep):
        if all(_matched(program, clause.pattern, record, known) is None for record in found[clause.relation]):
            yield known, 1
    else:
        assert isinstance(clause, c.MatchStep | c.AssignmentStep | c.FlatMapStep)
        for value, weight in _subjects(program, clause, known, found):
            if (new := _matched(program, clause.pattern, value, known)) is not None:
                yield ({RECORD: value, **new} if isinstance(clause, c.MatchStep) and not known else new), weight


def _subjects(
    program: ResolvedModules, clause: c.MatchStep | c.AssignmentStep | c.FlatMapStep, known: Known, found: Records
) -> Iterator[tuple[Any, int]]:
    """Yield the values that are compared with a clause's pattern."""
    match clause:
        case c.MatchStep():
            yield from found[clause.relation].items()
        case c.AssignmentStep():
            yield _value(program, clause.expression, known), 1
        case c.FlatMapStep():
            yield from ((item, 1) for item in _value(program, clause.items, known))


def _grouped(
    program: ResolvedModules, clause: c.GroupBy, bindings: list[tuple[Known, int]]
) -> Iterator[tuple[Known, int]]:
    """Groups of rows, which are records at the beginning of a rule, and else what variables have."""
    groups: dict[Any, Counter[Any]] = defaultdict(Counter)
    visible: dict[Any, Known] = {}
    values: dict[Any, Any] = {}
    for known, weight in bindings:
        key, row = _value(program, clause.key, known), known.get(RECORD, tuple(known.values()))
        groups[key][row] += weight
        values[row] = _value(program, clause.values, known)
        visible[key] = {name: known[name] for name in clause.visible}
    for key, rows in groups.items():
        yield {**visible[key], clause.name: Group(key, tuple((values[row], rows[row]) for row in sorted(rows)))}, 1


_FUNCTIONS: dict[Any, Any] = {}


def _value(program: ResolvedModules, expression: core.TypedExpression, known: Known) -> Any:
    place = (id(program), id(expression), *known)
    if place not in _FUNCTIONS:
        _FUNCTIONS[place] = program.functions.expression(expression, list(known)), program, expression
    return _FUNCTIONS[place][0](*known.values())


def _matched(program: ResolvedModules, pattern: core.Pattern, value: Any, known: Known) -> Known | None:
    place = (id(program), id(pattern), *known)
    if place not in _FUNCTIONS:
        _FUNCTIONS[place] = program.functions.pattern(pattern, list(known)), program, pattern
    found = _FUNCTIONS[place][0](value, *known.values())
    if found is None:
        return None
    return {**known, **dict(zip((name for name, _ in core.bound_by(pattern)), found, strict=True))}
