"""Translate a segment of a plan into the kernel's tables, for the present layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import is_literal, is_not_null, type_of
from deltic.engine.kernels import arithmetic
from deltic.engine.kernels import join as kernel
from deltic.engine.kernels.query import COLUMNS, LETS, SLOTS, STATE, VISITED, pack, view
from deltic.engine.kernels.types import Ints
from deltic.engine.plan.arithmetic import Operand
from deltic.engine.plan.conditions import FALSE, TRUE
from deltic.engine.plan.plan import (
    Absent,
    Ask,
    Each,
    LetStep,
    Meet,
    Open,
    Range,
    Seek,
    Segment,
    Step,
    TestStep,
    is_null_test,
)
from deltic.engine.plan.questions import Memo, Question, arguments_of
from deltic.engine.plan.values import ValueAssembler
from deltic.engine.storage.columns import Domain, DomainOverflow, Place, Values, signed
from deltic.engine.storage.interner import Interner, is_interned
from deltic.engine.storage.layout import Layout
from deltic.program.queries import Term, as_expression, variable_of, variables_of
from deltic.values.types import Type, ValueType

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
# The domain of values that are computed only to be compared.
_ANY = Domain.all(Type.INT64)
# The domain in which values are their own offsets.
_OWN = Domain(Type.INT64, 0, 64, empty=False)
_CODES: dict[type[exp.Expression], int] = {exp.EQ: 0, exp.NEQ: 1, exp.LT: 2, exp.LTE: 3, exp.GT: 4, exp.GTE: 5}


@dataclass(frozen=True)
class Encoding:
    """The values' encoding, for binding: each variable's domain and type, and literals as int64 values."""

    domains: Mapping[int, Domain]
    types: Mapping[str, Type]
    value_of: Callable[[exp.Expression], int]


@dataclass
class Tables:
    """A segment as the kernel reads it (see `kernels.query`), with the domains of the values that it computes.

    `labelled` has, for each interned type that the segment compares by order, the slot for the address of its labels.
    `questions` are the expressions that the caller evaluates for the search. `counts` says whether the search visits
    equal rows as one, so that its derivations have weights.
    """

    query: Ints
    let_domains: Sequence[Domain]
    labelled: Mapping[Type, int]
    questions: Sequence[Question] = ()
    counts: bool = False
    labels: Sequence[Values] = ()
    arrays: Sequence[Ints] = ()
    """The arrays whose addresses the slots hold."""

    def with_own_position(self) -> Tables:
        """Return a copy with a search state of its own, for a search that may run at the same time."""
        return replace(self, query=self.query.copy())

    def find_labels(self, interner: Interner) -> None:
        """Write the present addresses of the labels into the slots. Call it before a search.

        Raises DomainOverflow where a label has no room.
        """
        if self.labelled:
            self.labels = [interner[type_].order.labels() for type_ in self.labelled]
            slots = view(self.query, SLOTS)[0]
            for slot, labels in zip(self.labelled.values(), self.labels, strict=True):
                slots[slot] = labels.ctypes.data

    @property
    def visited(self) -> int:
        """The number of rows that the last search visited."""
        return int(view(self.query, STATE)[0, VISITED])

    def overflows(self) -> Iterator[DomainOverflow]:
        """Yield an error for each domain that the computed values of the last search have outgrown."""
        for domain, row in zip(self.let_domains, view(self.query, LETS), strict=True):
            low, high = row[[arithmetic.LEAST, arithmetic.GREATEST]].tolist()
            if low <= high:
                yield DomainOverflow(domain, low, high)


def bind(
    segment: Segment, layouts: Sequence[Layout], head: Layout, terms: Sequence[tuple[Term, Domain]], encoding: Encoding
) -> Tables:
    """Return the tables of a segment, for the layouts of its accesses and the output `terms` in the layout `head`.

    The layout of an access lists its places in the column order of the access.
    """
    return _Binder(segment, layouts, encoding).run(head, terms)


def _without_turned(steps: Sequence[Step], domains: Mapping[int, Domain]) -> Iterator[Step]:
    """Yield the steps, with tests of rows for the ranges of turned domains, whose offsets are not in order."""
    waiting: list[Range] = []
    for step in steps:
        if isinstance(step, Range) and domains[step.variable].is_turned:
            waiting.append(step)
        elif waiting and isinstance(step, Each):
            binds = dict.fromkeys((*step.binds, *((each.variable, each.column) for each in waiting)))
            yield Each(step.atom, tuple(binds), step.checks)
            yield TestStep(is_not_null(as_expression(waiting[0].variable)))
            yield from (TestStep(each.condition) for each in waiting)
            waiting.clear()
        else:
            yield step


class _Binder:
    def __init__(self, segment: Segment, layouts: Sequence[Layout], encoding: Encoding) -> None:
        steps = tuple(_without_turned(segment.steps, encoding.domains))
        self.segment, self.layouts, self.encoding = replace(segment, steps=steps), layouts, encoding
        self.slot_of: dict[Any, int] = {}
        self.literals: dict[int, int] = {}
        self.rows: dict[str, list[list[int]]] = {name: [] for name in COLUMNS}
        self.let_domains: list[Domain] = []
        self.labelled: dict[Type, int] = {}
        self.questions: list[Question] = []
        self.arrays: list[Ints] = []
        self.assembler = ValueAssembler(
            encoding.types,
            encoding.value_of,
            self._column,
            self._temporary,
            null=self._null,
            label=self._label,
            address=self._address,
        )
        self.rows["code"] = self.assembler.code

    def run(self, head: Layout, terms: Sequence[tuple[Term, Domain]]) -> Tables:
        for step in self.segment.steps:
            self._add_step(*self._step(step))
        self._add_step(kernel.EMIT)
        self._head(head, terms)
        slots = [self.literals.get(slot, 0) for slot in range(len(self.slot_of) + 1)]
        query = pack(self.rows, slots, len(self.segment.accesses), asks=bool(self.questions))
        counts = any(isinstance(step, Each) and (step.counts or step.merges) for step in self.segment.steps)
        return Tables(query, self.let_domains, self.labelled, self.questions, counts, arrays=self.arrays)

    def _add_step(self, *fields: int) -> None:
        self.rows["steps"].append([*fields, *[0] * (COLUMNS["steps"] - len(fields))])

    def _add(self, table: str, *fields: int) -> int:
        """Append a row to a table, and return its index."""
        self.rows[table].append([*fields])
        return len(self.rows[table]) - 1

    def _step(self, step: Step) -> tuple[int, ...]:
        if isinstance(step, Open):
            return (kernel.OPEN, step.atom)
        if isinstance(step, Seek):
            return (kernel.SEEK, step.atom, *self._groups(step.atom, step.first, step.terms))
        if isinstance(step, Range):
            return self._range(step)
        if isinstance(step, Absent):
            return (kernel.ABSENT, step.atom, *self._groups(step.atom, 0, step.terms))
        if isinstance(step, Meet):
            first = len(self.rows["parts"])
            for atom, column in step.parts:
                self._add("parts", atom, *self._place(atom, column))
            return (kernel.MEET, self._slot(step.variable), first, len(step.parts))
        if isinstance(step, Each):
            return self._each(step)
        if isinstance(step, LetStep):
            return self._let(
                step.expression, self._slot(step.variable), self.encoding.domains[step.variable], step.sought
            )
        if isinstance(step, Ask):
            return self._ask(step)
        return (kernel.TEST, self._test(step.condition))

    def _place(self, atom: int, column: int) -> tuple[int, int, int]:
        return self.layouts[atom].places[column].found

    def _slot(self, variable: int) -> int:
        return self.slot_of.setdefault(variable, len(self.slot_of))

    def _term_slot(self, term: Term, place: Place) -> int:
        """Return the slot of a variable, or a slot with the offset of a literal at this place."""
        if isinstance(term, int):
            return self._slot(term)
        raw = (self.encoding.value_of(term) - place.base) % (1 << 64)
        slot = self.slot_of.setdefault(("literal", raw), len(self.slot_of))
        self.literals[slot] = raw
        return slot

    def _each(self, step: Each) -> tuple[int, ...]:
        first = len(self.rows["binds"])
        for variable, column in step.binds:
            self._add("binds", self._slot(variable), *self._place(step.atom, column))
        for term, column in step.checks:
            slot = self._term_slot(term, self.layouts[step.atom].places[column])
            self._add("binds", slot, *self._place(step.atom, column))
        checks = first + len(step.binds), len(step.checks)
        return (kernel.EACH, step.atom, first, len(step.binds), *checks, int(step.merges))

    def _groups(self, atom: int, first: int, terms: Sequence[Term]) -> tuple[int, int]:
        """Add one search key for adjacent columns of the same word. Return the first new group and their number."""
        groups = self.rows["groups"]
        start = len(groups)
        places = self.layouts[atom].places[first : first + len(terms)]
        for place, term in zip(places, terms, strict=True):
            slot = self._term_slot(term, place)
            key = self._add("keys", slot, 0, place.shift)
            if len(groups) > start and groups[-1][0] == place.word:
                groups[-1][1] = place.shift
                groups[-1][4] += 1
            else:
                self._add("groups", place.word, place.shift, 0, key, 1)
        self._finish_groups(start, places)
        return start, len(groups) - start

    def _finish_groups(self, start: int, places: Sequence[Place]) -> None:
        """Make the shifts of keys relative to their group's shift, and set each group's mask over all its columns."""
        for group in self.rows["groups"][start:]:
            bits = sum(p.bits for p in places if p.word == group[0])
            group[2] = (1 << bits) - 1 if bits < 64 else -1
            for k in range(group[3], group[3] + group[4]):
                self.rows["keys"][k][2] -= group[1]

    def _range(self, step: Range) -> tuple[int, ...]:
        test, place = self._test(step.condition), self.layouts[step.atom].places[step.column]
        bind = self._add("binds", self._slot(step.variable), *place.found)
        return (kernel.RANGE, step.atom, test, bind, int(step.rises), int(place.nullable))

    def _test(self, condition: exp.Expression) -> int:
        if is_null_test(condition):
            (variable,) = variables_of(condition)
            code = _CODES[exp.NEQ if isinstance(condition, exp.Not) else exp.EQ]
            return self._add("tests", code, self._slot(variable), 0, -1, 0)
        sides = (condition.this, condition.expression) if type(condition) in _CODES else ()
        types = {type_of(side, self.encoding.types) for side in sides}
        if len(types) != 1:
            truth = self._compare(partial(self.assembler.decide, condition))
            return self._add("tests", _CODES[exp.NEQ], *truth, -1, 0)
        row, (type_,) = [_CODES[type(condition)]], types
        is_labelled = is_interned(type_) and not isinstance(condition, exp.EQ | exp.NEQ)
        for side in sides:
            if is_labelled:
                row += self._compare(partial(self._label, side, type_))
            elif is_literal(side) or isinstance(side, exp.Column):
                row += self.assembler.operand(side)
            else:
                row += self._compare(partial(self.assembler.assemble, side))
        return self._add("tests", *row)

    def _compare(self, assemble: Callable[[], Operand]) -> Operand:
        """Compute an operand of a comparison, in a step of its own."""
        slot = self._temporary()
        first = len(self.assembler.code)
        self._add_step(*self._place_result(assemble(), first, slot, _ANY, False))
        return slot, _ANY.base

    def _label(self, side: exp.Expression, type_: Type) -> Operand:
        """Add the instruction that looks up the label of a variable or literal of an interned type."""
        target = self._temporary()
        if type_ not in self.labelled:
            self.labelled[type_] = self._temporary()
        own = (-1, self.encoding.value_of(side)) if is_literal(side) else self._column(side.name)
        self.assembler.code.append([arithmetic.LOOK_UP, target, *own, self.labelled[type_], 0])
        return target, 0

    def _let(self, expression: exp.Expression, slot: int, domain: Domain, sought: bool) -> tuple[int, ...]:
        """Compute an expression into a slot, as an offset in the domain."""
        first = len(self.assembler.code)
        source, known = self.assembler.value(expression)
        if known == FALSE:
            known = self.assembler.apply(arithmetic.AND, FALSE, FALSE)
        return self._place_result(source, first, slot, domain, sought, known if domain.nullable else TRUE)

    def _ask(self, step: Ask) -> tuple[int, ...]:
        """Compute a question's arguments into consecutive slots, and bind its answer to the variable."""
        types = self.encoding.types.items()
        known = {name: ValueType(type_, self._domain_of(name).nullable) for name, type_ in types}
        expression, arguments = arguments_of(step.expression, known)
        targets = [self._temporary() for _ in arguments]
        domains: list[tuple[Type, Domain]] = []
        first = len(self.assembler.code)
        for target, argument in zip(targets, arguments, strict=True):
            type_ = type_of(argument, self.encoding.types)
            if isinstance(argument, exp.Column):
                source, domain = (self._slot(variable_of(argument.name)), 0), self._domain_of(argument.name)
            else:
                source, domain = self.assembler.assemble(argument), _OWN
            self.assembler.code.append([arithmetic.ADD, target, *source, -1, 0])
            domains.append((type_, domain))
        memo = Memo(len(arguments))
        is_condition = step.variable is None
        self.questions.append(Question(expression, domains, is_condition, step.nullable, memo))
        slot = self._temporary() if step.variable is None else self._slot(step.variable)
        domain = _ANY if step.variable is None else self.encoding.domains[step.variable]
        (_, row, *_) = self._place_result((-1, 0), first, slot, domain, step.sought)
        count = len(self.assembler.code) - first
        return (kernel.ASK, row, first, count, targets[0] if targets else 0, self._address(memo.header))

    def _domain_of(self, name: str) -> Domain:
        return self.encoding.domains[variable_of(name)]

    def _address(self, array: Ints) -> int:
        """Return a slot that holds the address of an array."""
        slot = self._temporary()
        self.arrays.append(array)
        self.literals[slot] = array.ctypes.data
        return slot

    def _place_result(
        self, source: Operand, first: int, slot: int, domain: Domain, sought: bool, known: Operand = TRUE
    ) -> tuple[int, ...]:
        """Run the code from `first` on, then store the value of `source` into a slot, as an offset in the domain.

        It is NULL where it is not `known`.
        """
        least, greatest = domain.range()
        self.let_domains.append(domain)
        place = least, greatest, signed(domain.base), domain.is_turned
        row = self._add("lets", *source, *place, slot, sought, _HIGHEST, _LOWEST, known[0])
        return (kernel.LET, row, first, len(self.assembler.code) - first)

    def _column(self, name: str) -> Operand:
        variable = variable_of(name)
        return self._slot(variable), signed(self.encoding.domains[variable].base)

    def _null(self, name: str) -> Operand | None:
        """Return the operand that is 0 where a variable is NULL; None if it never is."""
        return (self._slot(variable_of(name)), 0) if self._domain_of(name).nullable else None

    def _temporary(self) -> int:
        """Return a new slot that belongs to no variable."""
        return self.slot_of.setdefault(("temporary", len(self.slot_of)), len(self.slot_of))

    def _head(self, head: Layout, terms: Sequence[tuple[Term, Domain]]) -> None:
        """Add the source of each output column: a slot, or the row that the last EACH visits."""
        last = self.segment.steps[-1]
        direct = {}
        if isinstance(last, Each) and not last.checks and not last.merges:
            direct = {variable: self._place(last.atom, column) for variable, column in last.binds}
        for (term, _), place in zip(terms, head.places, strict=True):
            if isinstance(term, int) and term in direct:
                self._add("moves", *direct[term], place.word, place.shift)
            else:
                self._add("head", self._term_slot(term, place), 0, place.word, place.shift)
