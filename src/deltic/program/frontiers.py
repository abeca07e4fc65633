"""Frontiers: bounds below which no future change has rows, so that old rows can be dropped.

The *frontier* of a column is a set of bounds, values that rise with the watermarks of tables. Every row that is later
inserted or deleted has NULL in the column, or a value of at least the least bound. Tables have frontiers from their
watermarks. A derived change inherits them from the change that it follows, variable by variable: through equal
variables, expressions that rise with one, and comparisons. So a join has one where each of its changes has one.

A relation's rows below a frontier may be dropped if no delta query reads them: a query that follows another change
must bound the same column by that change. Rows of views are never dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from deltic.circuit.expressions import column, is_literal, show, substituted
from deltic.circuit.expressions.checks import spoken
from deltic.circuit.tables import watermark_of
from deltic.program.definitions import Definition, Derived, FixedRows, Table
from deltic.program.operators.aggregate import Grouped
from deltic.program.operators.linear import Expanded
from deltic.program.operators.over import TopRows, Windows
from deltic.program.program import Program, Relation
from deltic.program.queries import Query, Term, term_of, variable_name, variable_of
from deltic.program.rising import column_of, rising, shifted_back

MARK = "watermark"
"""The column name of the watermark in a bound's expression."""


@dataclass(frozen=True)
class Bound:
    """A value that rises with a watermark: an expression over the column MARK, the row of relation `watermark`."""

    watermark: str
    text: str
    expression: exp.Expression = field(compare=False)

    @classmethod
    def of(cls, watermark: str, expression: exp.Expression) -> Bound:
        """Return the bound with this expression."""
        return cls(watermark, show(expression), expression)

    def through(self, rises: exp.Expression) -> Bound:
        """Return the bound of a rising expression whose one column has this bound."""
        return Bound.of(self.watermark, substituted(rises, {column_of(rises): self.expression}))


# The least of the bounds holds; without any bound there are no changes at all.
Frontier = frozenset[Bound]


@dataclass(frozen=True)
class Forgettable:
    """Rows below the frontier in a column may be dropped."""

    column: int
    frontier: Frontier


@dataclass(frozen=True)
class Frontiers:
    """The relations whose old rows may be dropped, by name, and the reasons for those that keep them."""

    rows: Mapping[str, Forgettable]
    """The relations whose rows, in all arrangements, may be dropped."""
    groups: Mapping[str, Forgettable]
    """The operators whose state of old groups or partitions may be dropped; `column` is a position among their keys."""
    reasons: Mapping[str, str]
    """Why relations whose changes have a frontier keep all rows."""

    @cached_property
    def watermarks(self) -> frozenset[str]:
        """The relations of the watermarks on which the frontiers depend."""
        parts = (*self.rows.values(), *self.groups.values())
        return frozenset(bound.watermark for part in parts for bound in part.frontier)

    def of_placements(self, homes: Mapping[str, str]) -> Frontiers:
        """Return the same frontiers for placed relations, each given with the relation that it belongs to."""
        rows, groups = (
            {name: known[home] for name, home in homes.items() if home in known} for known in (self.rows, self.groups)
        )
        return Frontiers(rows, groups, self.reasons)


NO_FRONTIERS = Frontiers({}, {}, {})


def frontiers(program: Program) -> Frontiers:
    """Compute the frontiers of a program."""
    return _Analysis(program).result() if watermarks(program) else NO_FRONTIERS


def watermarks(program: Program) -> dict[str, str]:
    """Return the tables that have watermarks, by the relations of the watermarks."""
    marks = {t: [watermark_of(t, is_whole=is_whole) for is_whole in (False, True)] for t in program.tables}
    return {program.tables[mark]: t for t, both in marks.items() for mark in both if mark in program.tables}


class _Analysis:
    """Visits the strata from below; `flow` has the frontiers of the columns of each relation's changes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.flow: dict[str, dict[int, Frontier]] = {}
        self.limits: dict[str, dict[int, exp.Expression]] = {}
        self.needs: dict[str, dict[int, Frontier]] = {}
        self.reasons: dict[str, str] = {}
        self.whole: set[str] = set()

    def result(self) -> Frontiers:
        """Return the result of the analysis."""
        for stratum in self.program.strata:
            for name in stratum.relations:
                self._relation(self.program.relations[name], stratum.recursive)
        views: dict[str, str] = {}
        for view, name in self.program.sinks.items():
            views.setdefault(name, view)
        rows, groups = dict[str, Forgettable](), dict[str, Forgettable]()
        for name, flow in self.flow.items():
            if name in views:
                self.reasons[name] = f"they are those of view {views[name]}"
            elif name in self.program.passed or name in self.whole or not flow:
                continue
            elif (forgettable := self._forgettable(name, flow)) is not None:
                rows[name] = forgettable
        for name in self.flow:
            if (key := self._key(self.program.relations[name])) is not None:
                groups[name] = key
        timed = {name for name, flow in self.flow.items() if flow and name not in self.program.passed}
        return Frontiers(rows, groups, {n: why for n, why in self.reasons.items() if n in timed and n not in rows})

    def _relation(self, relation: Relation, is_recursive: bool) -> None:
        """Compute the frontiers of a relation's changes, and record what its rules read."""
        name, definition = relation.name, relation.definition
        if is_recursive:
            self.flow[name] = {}
            for read in (*definition.sources, *(r for rule in self.program.rules_of(name) for r in rule.relations)):
                self._keep(read, f"the recursion of {name} may be recomputed from them")
        elif isinstance(definition, Derived):
            self.flow[name] = self._derived(name)
        elif isinstance(definition, FixedRows):
            self.flow[name] = {c: frozenset() for c in range(len(relation.schema))}
        else:
            self.flow[name] = dict(self._defined(definition))
            for read in definition.contents:
                self._keep(read, f"{name} is computed from all of them")

    def _defined(self, definition: Definition) -> Iterator[tuple[int, Frontier]]:
        """Yield the frontiers of a relation that is not derived by rules; unknown definitions have none."""
        if isinstance(definition, Table):
            yield from self._table(definition)
        elif isinstance(definition, Expanded):
            yield from self.flow[definition.source].items()
            self._limit(definition)
        elif isinstance(definition, Grouped | Windows | TopRows):
            yield from ((k, self.flow[definition.source][k]) for k in self._parts(definition))

    def _table(self, table: Table) -> Iterator[tuple[int, Frontier]]:
        for is_whole in (False, True):
            mark = self.program.tables.get(watermark_of(table.table, is_whole=is_whole))
            if mark is not None:
                (mark_column,) = self.program.relations[mark].schema
                own = self.program.tables[table.table]
                index = self.program.relations[own].schema.index(mark_column.name)
                if is_whole:
                    self._keep(own, f"its key has no {mark_column.name}")
                yield index, frozenset({Bound.of(mark, column(MARK))})

    def _limit(self, definition: Expanded) -> None:
        """Record the greatest value that a flatmap yields, where it is a constant."""
        stop = definition.operator.expressions[1] if definition.operator.generator == "range" else None
        owner = next(n for n, r in self.program.relations.items() if r.definition is definition)
        if isinstance(stop, exp.Literal) and len(definition.operator.expressions) == 2:
            last = len(self.program.relations[owner].schema) - 1
            self.limits[owner] = {last: exp.Literal.number(int(stop.this) - 1)}

    def _parts(self, definition: Grouped | Windows | TopRows) -> dict[int, int]:
        """Return the columns of the source that are keys and have a frontier, with their positions among the keys."""
        if isinstance(definition, Grouped):
            keys = [*range(definition.keys)]
        else:
            keys = [*map(self.program.relations[definition.source].schema.index, definition.operator.keys)]
        return {k: position for position, k in enumerate(keys) if k in self.flow[definition.source]}

    def _key(self, relation: Relation) -> Forgettable | None:
        """Return the first key of the groups or partitions that has a frontier."""
        definition = relation.definition
        if not isinstance(definition, Grouped | Windows | TopRows):
            return None
        if not (parts := self._parts(definition)):
            self.reasons[relation.name] = "no key of its groups has a frontier"
            return None
        k, position = next(iter(parts.items()))
        frontier = self.flow[definition.source][k]
        return Forgettable(position, frontier) if frontier else None

    # Rules

    def _derived(self, name: str) -> dict[int, Frontier]:
        """Return the frontiers of the rows that all rules of a relation derive."""
        result: dict[int, Frontier] | None = None
        for rule in self.program.rules_of(name):
            for query in rule.queries():
                frontier = self._query(query)
                if frontier is not None:
                    result = (
                        frontier
                        if result is None
                        else {c: result[c] | frontier[c] for c in result.keys() & frontier.keys()}
                    )
        return result or {}

    def _query(self, query: Query) -> dict[int, Frontier] | None:
        """Return the frontiers of the rows that a delta query derives, None if it never derives any; records what it
        reads.
        """
        delta = query.delta
        if isinstance(self.program.relations[delta.relation].definition, FixedRows):
            return None
        bounds = _Bounds(query, self.flow.get(delta.relation, {}), self.limits.get(delta.relation, {}))
        for atom in (*query.body.atoms, *query.body.absent):
            if atom is not delta:
                read = {c: f for c, t in enumerate(atom.terms) if (f := bounds.of(t)) is not None}
                self._need(atom.relation, read, query)
        return {c: f for c, t in enumerate(query.terms) if (f := bounds.of(t)) is not None}

    def _need(self, relation: str, read: Mapping[int, Frontier], query: Query) -> None:
        """Record that a query reads only the rows of a relation that are not below these frontiers."""
        known = self.needs.get(relation)
        left = dict(read) if known is None else {c: known[c] | read[c] for c in known.keys() & read.keys()}
        self.needs[relation] = left
        if not left.keys() & self.flow.get(relation, {}).keys():
            self._keep(relation, f"{query.head} reads them when {query.delta.relation} changes")

    def _keep(self, relation: str, reason: str) -> None:
        self.whole.add(relation)
        self.reasons.setdefault(relation, reason)

    def _forgettable(self, name: str, flow: Mapping[int, Frontier]) -> Forgettable | None:
        """Return the first column below whose frontier no row is changed or read."""
        needs = self.needs.get(name)
        for index in sorted(flow):
            if flow[index] and (needs is None or index in needs):
                return Forgettable(index, flow[index] | (needs or {}).get(index, frozenset()))
        return None


class _Bounds:
    """The frontiers of a delta query's variables, from those of its change."""

    def __init__(self, query: Query, flow: Mapping[int, Frontier], limits: Mapping[int, exp.Expression]) -> None:
        terms = list(enumerate(query.delta.terms))
        self._found: dict[int, Frontier] = {t: flow[c] for c, t in terms if isinstance(t, int) and c in flow}
        self._limits = {variable_name(t): limits[c] for c, t in terms if isinstance(t, int) and c in limits}
        steps = list(_comparisons(query))
        while any(self._learn(variable, least) for variable, least in steps):
            pass

    def of(self, term: Term) -> Frontier | None:
        """Return the frontier of a term; None if it has none."""
        if isinstance(term, int):
            return self._found.get(term)
        rises = rising(term, self._limits)
        if rises is None:
            return None
        result = self._found.get(variable_of(column_of(rises)))
        return None if result is None else frozenset(bound.through(rises) for bound in result)

    def _learn(self, variable: int, least: exp.Expression) -> bool:
        """Record that a variable is at least an expression; returns whether that is new."""
        if variable in self._found or (result := self.of(term_of(least))) is None:
            return False
        self._found[variable] = result
        return True


def _comparisons(query: Query) -> Iterator[tuple[int, exp.Expression]]:
    """Yield the lower bounds of variables, from the equations and conditions of a query."""
    for variable, expression in query.body.equations:
        yield variable, expression
        yield from _at_least(expression, column(variable_name(variable)))
    for condition in query.body.conditions:
        if isinstance(condition, exp.LT | exp.LTE | exp.EQ):
            yield from _at_least(condition.expression, condition.this)
        if isinstance(condition, exp.GT | exp.GTE | exp.EQ):
            yield from _at_least(condition.this, condition.expression)


def _at_least(greater: exp.Expression, least: exp.Expression) -> Iterator[tuple[int, exp.Expression]]:
    """Yield the lower bound of a variable that is the greater side, alone or shifted by a constant."""
    if is_literal(least) or is_literal(greater):
        return
    result = shifted_back(greater, least)
    if result is not None:
        yield variable_of(result[0]), result[1]


def shown(frontier: Frontier, names: Mapping[str, str]) -> str:
    """Return a frontier as text for users: `names` are the tables of the watermarks."""
    parts = sorted(spoken(b.expression).replace(MARK, f"the watermark of {names[b.watermark]}") for b in frontier)
    return parts[0] if len(parts) == 1 else f"the least of {', '.join(parts)}"


def remembered(program: Program) -> str:
    """Return a text that names state which the tables do not determine; "" if the views are a function of the
    tables.
    """
    for name, relation in program.relations.items():
        if relation.definition.remembers:
            return f"{name} remembers epochs"
    if rows := frontiers(program).rows:
        return f"rows of {next(iter(rows))} are forgotten"
    return ""
