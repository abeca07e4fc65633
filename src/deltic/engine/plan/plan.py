"""Plans: the steps of the search for a delta query, before they are bound to addresses, bits and runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from sqlglot import exp

from deltic.circuit.expressions import show
from deltic.program.queries import Query, Term, When, show_term, with_names


@dataclass(frozen=True)
class Open:
    """Start a search in each run of atom `atom` in turn."""

    atom: int


@dataclass(frozen=True)
class Seek:
    """Narrow the atom to the rows whose columns, from `first` on in its order, equal these terms."""

    atom: int
    first: int
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Range:
    """Narrow the atom to the rows whose next column, number `column` in its order, meets a comparison.

    The column has the variable, which no earlier step has bound; everything else in the condition is bound. It holds
    from some value on if it `rises`, else up to some value. NULL meets none.
    """

    atom: int
    column: int
    variable: int
    condition: exp.Expression
    rises: bool


@dataclass(frozen=True)
class Meet:
    """Bind a variable to each value that all these atoms have; each part is an atom and a column in its order."""

    variable: int
    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Each:
    """Visit each row of the atom; bind columns (in its order) to variables and check others against terms.

    With `counts`, only the number of rows matters: rows without times are visited as one. With `merges`, rows that are
    equal in the bound columns, the first of the remaining ones, are visited as one.
    """

    atom: int
    binds: tuple[tuple[int, int], ...] = ()
    checks: tuple[tuple[Term, int], ...] = ()
    counts: bool = False
    merges: bool = False


@dataclass(frozen=True)
class TestStep:
    """Continue only if a condition is true: a comparison of operands that are not NULL, or another of `conditions`."""

    condition: exp.Expression


def is_null_test(condition: exp.Expression) -> bool:
    """Return whether the condition is `x IS NULL` or `x IS NOT NULL` for a variable x."""
    inner = condition.this if isinstance(condition, exp.Not) else condition
    return isinstance(inner, exp.Is) and isinstance(inner.this, exp.Column)


@dataclass(frozen=True)
class LetStep:
    """Bind a variable to the value of an integer expression.

    If it is `sought`, an atom that must be present has the variable: a value outside its domain ends this branch.
    """

    variable: int
    expression: exp.Expression
    sought: bool


@dataclass(frozen=True)
class Ask:
    """Bind a variable to the value of an expression that the caller evaluates, or continue only if a condition is true.

    Where the value is NULL, the search continues if the step is `nullable`. For `sought`, see LetStep.
    """

    variable: int | None
    expression: exp.Expression
    nullable: bool = False
    sought: bool = False


@dataclass(frozen=True)
class Absent:
    """Continue only if the atom has no row of these terms."""

    atom: int
    terms: tuple[Term, ...]


Step = Open | Seek | Range | Meet | Each | TestStep | LetStep | Ask | Absent


@dataclass(frozen=True)
class PlanAccess:
    """An atom of a plan: a relation, read in one column order. The relation "" is the segment's input."""

    relation: str
    when: When
    order: tuple[int, ...]


@dataclass(frozen=True)
class Compute:
    """Vectorised work between two searches: values to compute, and conditions that rows must meet."""

    values: tuple[tuple[int, exp.Expression], ...] = ()
    conditions: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True)
class Segment:
    """A search that starts from its input, atom 0, and a computation over its results.

    `output` lists the variables that the next segment or the head reads. Without a `compute`, the search writes
    the head itself.
    """

    accesses: tuple[PlanAccess, ...]
    steps: tuple[Step, ...]
    output: tuple[int, ...] = ()
    compute: Compute | None = None

    @property
    def computed(self) -> tuple[int, ...]:
        """The variables of the rows that it computes for the next segment."""
        return (*self.output, *(variable for variable, _ in self.compute.values)) if self.compute else self.output

    def found_by_input(self) -> dict[int, list[int]]:
        """Map each atom that is looked up by columns of the input to these columns, as positions in the input's order.

        The first of them has the value of the atom's first column, in the atom's order, and so on.
        """
        scans = (step for step in self.steps if isinstance(step, Each) and step.atom == 0)
        binds = {variable: column for scan in scans for variable, column in scan.binds}
        result: dict[int, list[int]] = {}
        for step in self.steps:
            match step:
                case Seek(atom, 0, terms) | Absent(atom, terms):
                    columns = [binds.get(term) if isinstance(term, int) else None for term in terms]
                    known = list(takewhile(lambda column: column is not None, columns))
                    result |= {atom: [column for column in known if column is not None]} if known else {}
        return result


@dataclass(frozen=True)
class ValueBound:
    """A condition as a bound of a variable: above or below the value of an expression, or equal if not `strict`."""

    condition: exp.Expression
    variable: int
    value: exp.Expression
    above: bool
    strict: bool


@dataclass(frozen=True)
class Intervals:
    """Intervals of a variable from `least` to `greatest`, both variables, that meet bounds computed from the change.

    `kept` are the variables of the change that the search reads.
    """

    kept: tuple[int, ...]
    variable: int
    least: int
    greatest: int
    bounds: tuple[ValueBound, ...]

    @property
    def input(self) -> tuple[int, ...]:
        """The columns of the search's input."""
        return *self.kept, self.least, self.greatest

    def describe(self) -> str:
        """Return a line for `explain`."""
        bounds = " and ".join(show(bound.condition) for bound in self.bounds)
        among = f" among changes of equal {', '.join(map(show_term, self.kept))}" if self.kept else ""
        return f"sum weights by intervals of {show_term(self.variable)}, from {bounds}{among}"


@dataclass(frozen=True)
class Plan:
    """The evaluation of a query: a list of segments, of which the first starts from the change, or from `intervals`.

    `head` are the terms of the query's head, with variables for those that the last search computes.
    """

    query: Query
    segments: tuple[Segment, ...]
    head: tuple[Term, ...]
    intervals: Intervals | None = None

    def met(self) -> list[int]:
        """Return the indices of the body's atoms, in the order in which the search reaches them."""
        waiting = list(range(len(self.query.body.atoms)))
        result: list[int] = []
        for segment in self.segments:
            for number in dict.fromkeys(atom for step in segment.steps for atom in _atoms(step)):
                access, atoms = segment.accesses[number], self.query.body.atoms
                same = (i for i in waiting if (atoms[i].relation, atoms[i].when) == (access.relation, access.when))
                if (place := next(same, None)) is not None:
                    waiting.remove(place)
                    result.append(place)
        return result

    def describe(self) -> str:
        """Return the plan as text, for `explain`."""
        lines = [self.query.text(), *([f"    {self.intervals.describe()}"] if self.intervals else [])]
        for segment in self.segments:
            lines += [f"    {_describe(step, segment)}" for step in segment.steps if not isinstance(step, Open)]
            if segment.compute:
                lines += [f"    compute {show_term(v)} = {show(e)}" for v, e in segment.compute.values]
                lines += [f"    keep where {show(c)}" for c in segment.compute.conditions]
        return with_names("\n".join(lines), self.query.body.names)


def _atoms(step: Step) -> tuple[int, ...]:
    """Return the atoms that a step reads."""
    if isinstance(step, Meet):
        return tuple(atom for atom, _ in step.parts)
    return (step.atom,) if isinstance(step, Open | Seek | Range | Each) else ()


def _describe(step: Step, segment: Segment) -> str:
    def name(atom: int) -> str:
        access = segment.accesses[atom]
        mark = "Δ" if access.when is When.DELTA else ""
        return f"{mark}{access.relation or 'input'}[{','.join(map(str, access.order))}]"

    if isinstance(step, Seek):
        return f"seek {name(step.atom)} at {', '.join(map(show_term, step.terms))}"
    if isinstance(step, Range):
        return f"seek range {name(step.atom)} where {show(step.condition)}"
    if isinstance(step, Meet):
        return f"intersect {' ∩ '.join(name(a) for a, _ in step.parts)} for {show_term(step.variable)}"
    if isinstance(step, Each):
        bound = ", ".join(show_term(v) for v, _ in step.binds)
        verb = "count" if step.counts else "scan"
        once = ", each once" if step.merges else ""
        return f"{verb} {name(step.atom)}" + (f" for {bound}{once}" if bound else "")
    if isinstance(step, Absent):
        return f"unless {name(step.atom)} has {', '.join(map(show_term, step.terms))}"
    if isinstance(step, TestStep):
        return f"if {show(step.condition)}"
    if isinstance(step, LetStep):
        return f"let {show_term(step.variable)} = {show(step.expression)}"
    if isinstance(step, Ask):
        return f"ask {'' if step.variable is None else f'{show_term(step.variable)} = '}{show(step.expression)}"
    return f"open {name(step.atom)}"
