"""From a segment of a plan to the kernel's tables, for the present layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.circuit.types import Type
from deltic.engine.local.kernels import arithmetic
from deltic.engine.local.kernels import join as kernel
from deltic.engine.local.plan.arithmetic import Assembler, Operand
from deltic.engine.local.plan.plan import Absent, Each, Let, Meet, Open, Seek, Segment, Step, Test
from deltic.engine.local.storage.layout import Domain, DomainOverflow, Layout, Place
from deltic.program.queries import Term, variable_of

Table = npt.NDArray[np.int64]

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
# The domain of what is computed to be compared.
_ANY = Domain.all(Type.INT64)
_CODES: dict[type[exp.Expression], int] = {exp.EQ: 0, exp.NEQ: 1, exp.LT: 2, exp.LTE: 3, exp.GT: 4, exp.GTE: 5}


@dataclass(frozen=True)
class Encoding:
    """What binding needs to know of values: each variable's domain and type, and literals as int64 values."""

    domains: Mapping[int, Domain]
    types: Mapping[str, Type]
    value_of: Callable[[exp.Expression], int]


@dataclass
class Tables:
    """The kernel's tables of one segment, and the arrays that hold the position of its search."""

    steps: Table
    groups: Table
    keys: Table
    binds: Table
    parts: Table
    tests: Table
    code: Table
    lets: Table
    head: Table
    moves: Table
    let_domains: Sequence[Domain]
    slots: npt.NDArray[np.uint64]
    atoms: int
    ranges: Table = field(init=False)
    cursors: Table = field(init=False)
    path: Table = field(init=False)
    state: Table = field(init=False)

    def with_own_position(self) -> Tables:
        """The same tables for another search, which may run at the same time."""
        return replace(self, slots=self.slots.copy(), lets=self.lets.copy())

    def overflows(self) -> Iterator[DomainOverflow]:
        """What there is to raise when a search ended because computed values have no place in their domains."""
        for domain, row in zip(self.let_domains, self.lets, strict=True):
            low, high = row[[arithmetic.LEAST, arithmetic.GREATEST]].tolist()
            if low <= high:
                yield DomainOverflow(domain, low, high)

    def __post_init__(self) -> None:
        self.ranges = np.zeros((3, self.atoms), np.int64)
        self.cursors = np.zeros((3, len(self.parts)), np.int64)
        self.path = np.zeros((5, len(self.steps) + 1), np.int64)
        self.state = np.zeros(4, np.int64)


def bind(
    segment: Segment, layouts: Sequence[Layout], head: Layout, terms: Sequence[tuple[Term, Domain]], encoding: Encoding
) -> Tables:
    """The tables of a segment whose accesses have these layouts and whose output is `terms` in layout `head`.

    The layout of an access lists places in the access's order.
    """
    return _Binder(segment, layouts, encoding).run(head, terms)


class _Binder:
    def __init__(self, segment: Segment, layouts: Sequence[Layout], encoding: Encoding) -> None:
        self.segment, self.layouts, self.encoding = segment, layouts, encoding
        self.slot_of: dict[Any, int] = {}
        self.literals: dict[int, int] = {}
        self.steps: list[list[int]] = []
        self.groups: list[list[int]] = []
        self.keys: list[list[int]] = []
        self.binds: list[list[int]] = []
        self.parts: list[list[int]] = []
        self.tests: list[list[int]] = []
        self.lets: list[list[int]] = []
        self.let_domains: list[Domain] = []
        self.assembler = Assembler(encoding.types, encoding.value_of, self._column, self._temporary)

    def run(self, head: Layout, terms: Sequence[tuple[Term, Domain]]) -> Tables:
        for step in self.segment.steps:
            self.steps.append(self._pad(*self._step(step)))
        self.steps.append(self._pad(kernel.EMIT))
        static, moves = self._head(head, terms)
        slots = np.zeros(len(self.slot_of) + 1, np.uint64)
        for slot, raw in self.literals.items():
            slots[slot] = raw
        return Tables(
            _table(self.steps, 6),
            _table(self.groups, 5),
            _table(self.keys, 3),
            _table(self.binds, 4),
            _table(self.parts, 4),
            _table(self.tests, 5),
            _table(self.assembler.code, 6),
            _table(self.lets, 9),
            _table(static, 4),
            _table(moves, 5),
            self.let_domains,
            slots,
            len(self.segment.accesses),
        )

    def _pad(self, *operands: int) -> list[int]:
        return [*operands, *[0] * (6 - len(operands))]

    def _step(self, step: Step) -> tuple[int, ...]:
        if isinstance(step, Open):
            return (kernel.OPEN, step.atom)
        if isinstance(step, Seek):
            return (kernel.SEEK, step.atom, *self._groups(step.atom, step.first, step.terms))
        if isinstance(step, Absent):
            return (kernel.ABSENT, step.atom, *self._groups(step.atom, 0, step.terms))
        if isinstance(step, Meet):
            first = len(self.parts)
            self.parts += [[atom, *self._place(atom, column)] for atom, column in step.parts]
            return (kernel.MEET, self._slot(step.variable), first, len(step.parts))
        if isinstance(step, Each):
            return self._each(step)
        if isinstance(step, Let):
            return self._let(
                step.expression, self._slot(step.variable), self.encoding.domains[step.variable], step.sought
            )
        return (kernel.TEST, self._test(step))

    def _place(self, atom: int, column: int) -> tuple[int, int, int]:
        place = self.layouts[atom].places[column]
        return place.word, place.shift, place.mask

    def _slot(self, variable: int) -> int:
        return self.slot_of.setdefault(variable, len(self.slot_of))

    def _term_slot(self, term: Term, place: Place) -> int:
        """The slot of a variable, or one that holds a literal's offset at this place."""
        if isinstance(term, int):
            return self._slot(term)
        raw = (self.encoding.value_of(term) - place.base) % (1 << 64)
        slot = self.slot_of.setdefault(("literal", raw), len(self.slot_of))
        self.literals[slot] = raw
        return slot

    def _each(self, step: Each) -> tuple[int, ...]:
        first = len(self.binds)
        for variable, column in step.binds:
            self.binds.append([self._slot(variable), *self._place(step.atom, column)])
        for term, column in step.checks:
            slot = self._term_slot(term, self.layouts[step.atom].places[column])
            self.binds.append([slot, *self._place(step.atom, column)])
        return (kernel.EACH, step.atom, first, len(step.binds), first + len(step.binds), len(step.checks))

    def _groups(self, atom: int, first: int, terms: Sequence[Term]) -> tuple[int, int]:
        """Adjacent columns of one word are sought as one."""
        start = len(self.groups)
        places = self.layouts[atom].places[first : first + len(terms)]
        for place, term in zip(places, terms, strict=True):
            slot = self._term_slot(term, place)
            if len(self.groups) > start and self.groups[-1][0] == place.word:
                group = self.groups[-1]
                group[1] = place.shift
                group[4] += 1
            else:
                self.groups.append([place.word, place.shift, 0, len(self.keys), 1])
            self.keys.append([slot, 0, place.shift])
        self._finish_groups(start, places)
        return start, len(self.groups) - start

    def _finish_groups(self, start: int, places: Sequence[Place]) -> None:
        """Shifts of keys relative to their group's, and the group's mask over all of its columns."""
        for group in self.groups[start:]:
            bits = sum(p.bits for p in places if p.word == group[0])
            group[2] = (1 << bits) - 1 if bits < 64 else -1
            for k in range(group[3], group[3] + group[4]):
                self.keys[k][2] -= group[1]

    def _test(self, step: Test) -> int:
        row = [_CODES[type(step.condition)]]
        for side in (step.condition.this, step.condition.expression):
            if is_literal(side):
                row += [-1, self.encoding.value_of(side)]
            elif isinstance(side, exp.Column):
                row += self._column(side.name)
            else:
                slot = self._temporary()
                self.steps.append(self._pad(*self._let(side, slot, _ANY, False)))
                row += [slot, _ANY.base]
        self.tests.append(row)
        return len(self.tests) - 1

    def _let(self, expression: exp.Expression, slot: int, domain: Domain, sought: bool) -> tuple[int, ...]:
        """Compute an expression into a slot, as an offset in the domain."""
        first = len(self.assembler.code)
        source = self.assembler.assemble(expression)
        least, greatest = domain.range()
        self.lets.append([*source, least, greatest, domain.base, slot, sought, _HIGHEST, _LOWEST])
        self.let_domains.append(domain)
        return (kernel.LET, len(self.lets) - 1, first, len(self.assembler.code) - first)

    def _column(self, name: str) -> Operand:
        variable = variable_of(name)
        return self._slot(variable), self.encoding.domains[variable].base

    def _temporary(self) -> int:
        """A new slot that no variable has."""
        return self.slot_of.setdefault(("temporary", len(self.slot_of)), len(self.slot_of))

    def _head(self, head: Layout, terms: Sequence[tuple[Term, Domain]]) -> tuple[list[list[int]], list[list[int]]]:
        """Where each output column comes from: a slot, or straight from the row that the last EACH visits."""
        last = self.segment.steps[-1]
        direct = {}
        if isinstance(last, Each) and not last.checks:
            direct = {variable: self._place(last.atom, column) for variable, column in last.binds}
        static: list[list[int]] = []
        moves: list[list[int]] = []
        for (term, _), place in zip(terms, head.places, strict=True):
            if isinstance(term, int) and term in direct:
                moves.append([*direct[term], place.word, place.shift])
            else:
                static.append([self._term_slot(term, place), 0, place.word, place.shift])
        return static, moves


def _table(rows: list[list[int]], width: int) -> Table:
    return np.array(rows, np.int64).reshape(-1, width)
