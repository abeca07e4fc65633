"""Magic sets: of a recursion is derived what its readers ask for [Bancilhon, Maier, Sagiv, Ullman 1986].

What is asked of a recursive relation are factors (see `factors`): `path("a", y)` asks by one column, and so does
`path(x, y), start(x)`; `path("a", "z")` by both, each for itself. From a rule's head they are passed to the recursive
atoms of its body. So a relation gets a copy for each *form* in which it is asked, the set of its factors' columns. A
copy has a *guard* for each factor, a relation of the same recursion that sums up what is asked, and a rule is joined
with the guards of its head. It needs no guard whose columns it hands on, as they are, from an atom of the same copy. Of
a relation that somebody wants whole there are no other copies.

A guard that no rule makes grow costs nothing: rules that do not recur are joined with what was asked from outside. Any
other one is a recursion of its own, and may be as large as the whole; then a change of it moves each row that it lets
in to another iteration, which costs many times what the whole would. It is used where constants ask by all columns, so
that few rows can be in all guards, and for relations that are declared so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from deltic.calculus.passes import optimize
from deltic.calculus.passes.delay_distinct import is_positive
from deltic.calculus.passes.rewriting import without_unread
from deltic.calculus.passes.substitution import copies
from deltic.calculus.planning.factors import Atom, Context, Factor, node_of, sideways
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.circuit.operators.semijoin import Semijoin
from deltic.circuit.types import Schema, ZSetType

MOST_COPIES = 4
"""Of how many copies a relation is computed at most; where it is asked in more forms, it is computed whole."""

Guard = frozenset[str]
Form = frozenset[Guard]
WHOLE: Form = frozenset()
"""The form of what is wanted whole."""

Copy = tuple[str, Form]
Edge = tuple[int, int]
"""The number of a node and the position of one of its inputs."""

_Key = tuple[Copy, Guard]

_UNIT = -1
"""Stands for a node with one row of no columns among those that a body imports."""


@dataclass(frozen=True)
class Hints:
    """The relations that are computed as far as others ask, whatever it costs, and those that are computed whole."""

    always: Collection[str] = ()
    never: Collection[str] = ()


@dataclass(frozen=True)
class Pushed:
    """A recursive relation of which only a part is derived, and by which columns it is asked."""

    relation: str
    columns: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        asked = " and ".join(f"({', '.join(names)})" for names in self.columns)
        return f"{self.relation}: only rows whose {asked} somebody asks for"


def push_demand(circuit: Circuit, hints: Hints = Hints()) -> tuple[Circuit, tuple[Pushed, ...]]:
    """The circuit, whose sinks have the same values, with recursions that derive what is asked of them; and which do.

    It is to be inlined. Where nothing can be asked it is the circuit itself.
    """
    found: list[Pushed] = []
    given, circuit = circuit, optimize(circuit) if any(_hidden(circuit)) else circuit
    refused = Counter[ops.Operator]()
    for fixpoint in [op for op in circuit.operators if isinstance(op, ops.Fixpoint)]:
        equal = [number for number, op in enumerate(circuit.operators) if op == fixpoint]
        search = _Search(circuit, equal[refused[fixpoint]], hints)
        if search.finds():
            circuit = search.circuit()
            found += search.pushed()
        else:
            refused[fixpoint] += 1
    return (optimize(circuit), tuple(found)) if found else (given, ())


def _hidden(circuit: Circuit) -> Iterator[Node]:
    """The recursive relations that something else than a sink reads."""
    shown = {n.inputs[0] for n in circuit.nodes if isinstance(n.operator, ops.Sink)}
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Component) and number not in shown:
            yield node


class _UnfitError(Exception):
    """The body has an operator through which nothing can be asked."""


class _Search:
    """The forms in which one fixpoint's relations are asked: from the most that may be found to what holds."""

    def __init__(self, circuit: Circuit, fixpoint: int, hints: Hints) -> None:
        operator = circuit.nodes[fixpoint].operator
        assert isinstance(operator, ops.Fixpoint)
        self.old, self.fixpoint, self.body, self._hints = circuit, fixpoint, operator.body, hints
        self._limits: dict[Edge, Form] = {}
        self._whole = {name for name in self.body.sinks if name in hints.never}

    def finds(self) -> bool:
        """Whether something is asked in part."""
        if all(self._is_sink(name) for name in self._read()):
            return False
        try:
            while not self._attempt():
                pass
        except _UnfitError:
            return False
        return any(form for _, form in self._bodies.copies)

    def _read(self) -> Iterator[str]:
        """The relations of the fixpoint that are read outside of it."""
        for node in self.old.nodes:
            if isinstance(node.operator, ops.Component) and node.inputs == (self.fixpoint,):
                yield node.operator.name

    def _is_sink(self, name: str) -> bool:
        """Whether somebody reads all of a relation."""
        nodes = self.old.nodes
        sources = [nodes[n.inputs[0]] for n in nodes if isinstance(n.operator, ops.Sink)]
        return any(n.operator == ops.Component(name) and n.inputs == (self.fixpoint,) for n in sources)

    def _attempt(self) -> bool:
        """Make the body; False when that shows that less can be asked."""
        self._bodies = bodies = _Bodies(self)
        bodies.make()
        before = dict(self._limits), set(self._whole)
        for edge, forms in bodies.edges.items():
            self._limits[edge] = frozenset.intersection(self._limits.get(edge, forms[0]), *forms)
        names = [name for name, _ in bodies.copies]
        self._whole |= {name for name, form in bodies.copies if form == WHOLE or names.count(name) > MOST_COPIES}
        for edge, guard in bodies.dear(self._hints.always):
            self._limits[edge] -= {guard}
        return before == (self._limits, self._whole)

    def allowed(self, edge: Edge | None, name: str, form: Form) -> Form:
        """The form in which a relation is asked, of that in which it could be."""
        if name in self._whole:
            return WHOLE
        return form & self._limits.get(edge, form) if edge else form

    def circuit(self) -> Circuit:
        """The circuit with the fixpoint of what is asked."""
        return _Assembly(self, self._bodies).circuit()

    def pushed(self) -> Iterator[Pushed]:
        """The relations of which a part is derived."""
        for name, form in self._bodies.copies:
            if form:
                yield Pushed(name, tuple(sorted(tuple(sorted(guard)) for guard in form)))


@dataclass(frozen=True)
class _Place:
    """A circuit that is walked from its ends to the relations of the fixpoint: its body, or that around it."""

    circuit: Circuit
    below: frozenset[int]
    """The nodes that depend on those relations."""
    is_outer: bool

    @classmethod
    def of(cls, circuit: Circuit, ends: Collection[int], is_outer: bool) -> _Place:
        """The place whose relations have the numbers `ends`."""
        below = set(ends)
        for number, node in enumerate(circuit.nodes):
            if not below.isdisjoint(node.inputs):
                below.add(number)
        return cls(circuit, frozenset(below), is_outer)

    def names(self, number: int) -> frozenset[str]:
        """The columns of a node."""
        return frozenset(self.circuit.type_of(number).schema.names)


@dataclass
class _Asked:
    """What a guard sums up: factors, and which of them come from outside, through which edge."""

    factors: dict[int, None] = field(default_factory=dict)
    seeds: dict[int, Edge] = field(default_factory=dict)


class _Bodies:
    """The body of the new fixpoint, as far as the search knows what may be asked."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        body, old = search.body, search.old
        self.builder = CircuitBuilder(body.depth)
        self.imports: list[int] = []
        self.copies: dict[Copy, None] = {}
        self.guards: dict[tuple[Copy, Guard], _Asked] = {}
        self.edges: dict[Edge, list[Form]] = {}
        self.read: dict[Edge, Copy] = {}
        feedbacks = [n for n, op in enumerate(body.operators) if isinstance(op, ops.Feedback)]
        self._inner = _Place.of(body, feedbacks, False)
        self._outer = _Place.of(old, [search.fixpoint], True)
        self._plain: dict[tuple[bool, int], int] = {}
        self._memo: dict[tuple[bool, int, Context], tuple[int | None, Form]] = {}
        self._head: Copy = ("", WHOLE)
        self._handed: Form = frozenset()
        """The guards of the head whose columns the atoms that were walked hand on."""

    def make(self) -> None:
        """Ask what the sinks ask, then what the rules of each copy ask, until nothing new is asked."""
        for number, node in enumerate(self._outer.circuit.nodes):
            if isinstance(node.operator, ops.Sink) and number in self._outer.below:
                self._input(self._outer, number, 0, Context())
        done = 0
        while done < len(self.copies):
            self._derive(list(self.copies)[done])
            done += 1
        for (copy, guard), asked in self.guards.items():
            factors = list(asked.factors)
            total = self.builder.add(ops.Plus(), *factors) if len(factors) > 1 else factors[0]
            self.builder.add(ops.Sink(self.guard_name(copy, guard)), self.builder.add(ops.Distinct(), total))

    def name(self, copy: Copy) -> str:
        """What a copy is called."""
        name, form = copy
        asked = " ".join(sorted(f"[{', '.join(sorted(guard))}]" for guard in form))
        return f"{name}{asked}"

    def guard_name(self, copy: Copy, guard: Guard) -> str:
        """What a guard is called."""
        return f"{self.name(copy)} asked by {', '.join(sorted(guard))}"

    def shown(self) -> dict[str, str]:
        """What copies and guards are called in the end: where there is one copy of a relation, as that."""
        names = [name for name, _ in self.copies]
        shown = {self.name(copy): copy[0] if names.count(copy[0]) == 1 else self.name(copy) for copy in self.copies}
        guards = {self.guard_name(*key): (self.name(key[0]), key[1]) for key in self.guards}
        return shown | {name: f"{shown[copy]} asked by {', '.join(sorted(g))}" for name, (copy, g) in guards.items()}

    def dear(self, always: Collection[str]) -> Iterator[tuple[Edge, Guard]]:
        """What is asked from outside by guards that grow, unless it begins with constants in all columns."""
        unit, circuit = self._unit(), self.builder.build()
        names = {self.guard_name(*key): key for key in self.guards}
        reads = {
            key: {names[n] for factor in asked.factors for n in _feedbacks(circuit, factor) if n in names}
            for key, asked in self.guards.items()
        }
        growing = {
            key
            for key, asked in self.guards.items()
            if any(_grows(circuit, f) for f in asked.factors.keys() - asked.seeds)
        }
        for key, asked in self.guards.items():
            (name, _), guard = key
            reached = _reached(key, reads)
            if name not in always and not growing.isdisjoint(reached):
                bounded = all(self._is_bounded(copy) for copy, _ in reached)
                for factor, edge in asked.seeds.items():
                    begins = unit in circuit.ancestors([factor]) or _feedbacks(circuit, factor)
                    if not (begins and bounded):
                        yield edge, guard

    def _is_bounded(self, copy: Copy) -> bool:
        """Whether a copy is asked by all of its columns."""
        return frozenset().union(*copy[1]) == self._inner.names(self._inner.circuit.sinks[copy[0]])

    # Rules

    def _derive(self, copy: Copy) -> None:
        """Add the relation of a copy: its rules, joined with its guards."""
        name, form = copy
        self._head = copy
        factors = tuple(Factor(self._guard(copy, g), tuple((n, n) for n in sorted(g))) for g in _sorted(form))
        self.builder.add(ops.Sink(self.name(copy)), self._guarded(self._inner.circuit.sinks[name], Context(factors)))

    def _guarded(self, number: int, context: Context) -> int:
        node = self._inner.circuit.nodes[number]
        if isinstance(node.operator, ops.Distinct | ops.Plus):
            return self.builder.add(node.operator, *(self._guarded(i, context) for i in node.inputs))
        self._memo.clear()
        self._handed = frozenset()
        new = self._walk(self._inner, number, context)
        assert new is not None
        missing = [f.node for f in context.factors if f.names not in self._handed]
        return self.builder.add(ops.Join(), new, *missing) if missing else new

    def _guard(self, copy: Copy, guard: Guard) -> int:
        """The guard of a copy as the body sees it."""
        schema = self._inner.circuit.type_of(self._inner.circuit.sinks[copy[0]]).schema
        columns = tuple(c for c in schema.columns if c.name in guard)
        return self.builder.add(ops.Feedback(self.guard_name(copy, guard), Schema(columns)))

    def _ask(self, name: str, context: Context, edge: Edge | None) -> int:
        """The relation of the fixpoint, of which something is asked, in its new form."""
        factors = {factor.names: factor for factor in context.factors}
        found = frozenset(factors)
        form = self._search.allowed(edge, name, found)
        copy = (name, form)
        self.copies.setdefault(copy)
        if edge:
            self.edges.setdefault(edge, []).append(found)
            self.read[edge] = copy
        schema = self._inner.circuit.type_of(self._inner.circuit.sinks[name]).schema
        for guard in _sorted(form):
            columns = [c for c in schema.columns if c.name in guard]
            node = node_of(self.builder, factors[guard], columns)
            if edge is None and node == self._guard(copy, guard):
                if copy == self._head:
                    self._handed |= {guard}
                continue
            asked = self.guards.setdefault((copy, guard), _Asked())
            asked.factors[node] = None
            if edge:
                asked.seeds[node] = edge
        return self.builder.add(ops.Feedback(self.name(copy), schema))

    # Nodes, from the ends to the relations of the fixpoint

    def _input(self, place: _Place, reader: int, position: int, context: Context) -> int | None:
        """An input of a node, when this is known of it: its new node in the body, None where it has none there."""
        number = place.circuit.nodes[reader].inputs[position]
        operator = place.circuit.nodes[number].operator
        if place.is_outer and isinstance(operator, ops.Component) and self._is_own(number):
            return self._ask(operator.name, context.part(place.names(number)), (reader, position))
        return self._walk(place, number, context)

    def _is_own(self, number: int) -> bool:
        return self._outer.circuit.nodes[number].inputs == (self._search.fixpoint,)

    def _walk(self, place: _Place, number: int, context: Context) -> int | None:
        if number not in place.below:
            return self._given(place, number)
        key = (place.is_outer, number, context)
        if key not in self._memo:
            node, before = place.circuit.nodes[number], self._handed
            self._handed = frozenset()
            new = _STEPS.get(type(node.operator), _Bodies._other)(self, place, number, node, context)
            self._memo[key] = new, self._handed
            self._handed = before
        new, handed = self._memo[key]
        self._handed |= handed
        return new

    def _given(self, place: _Place, number: int) -> int:
        """A node that does not depend on the fixpoint, in the body; of one around it each row once."""
        key = (place.is_outer, number)
        if key not in self._plain:
            node = place.circuit.nodes[number]
            if place.is_outer:
                type_ = replace(place.circuit.type_of(number), is_set=True)
                operator = ops.Import(self._import(number), type_)
                self._plain[key] = self.builder.add(operator)
            elif isinstance(node.operator, ops.Import):
                source = self._outer.circuit.nodes[self._search.fixpoint].inputs[node.operator.index]
                operator = replace(node.operator, index=self._import(source))
                self._plain[key] = self.builder.add(operator)
            else:
                self._plain[key] = self.builder.add(node.operator, *(self._given(place, i) for i in node.inputs))
        return self._plain[key]

    def _unit(self) -> int:
        """A node with one row of no columns."""
        return self.builder.add(ops.Import(self._import(_UNIT), _UNIT_TYPE))

    def _import(self, number: int) -> int:
        """The index of the import of a node of the circuit around."""
        if number not in self.imports:
            self.imports.append(number)
        return self.imports.index(number)

    def _add(self, operator: ops.Operator, *inputs: int | None) -> int | None:
        """A node of the body over nodes of which some may have no place there."""
        there = [i for i in inputs if i is not None]
        return self.builder.add(operator, *there) if len(there) == len(inputs) else None

    def _same(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        return self._add(node.operator, *(self._input(place, number, i, context) for i in range(len(node.inputs))))

    def _plus(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        """A sum hands on what all of its terms do."""
        terms, handed = [], []
        for position in range(len(node.inputs)):
            self._handed = frozenset()
            terms.append(self._input(place, number, position, context))
            handed.append(self._handed)
        self._handed = frozenset.intersection(*handed)
        return self._add(node.operator, *terms)

    def _feedback(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        assert isinstance(node.operator, ops.Feedback)
        return self._ask(node.operator.name, context.part(place.names(number)), None)

    def _map(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        operator = node.operator
        assert isinstance(operator, ops.Map)
        kept = copies(operator)
        sources = {
            c.name: e.name for c, e in zip(operator.columns, operator.expressions, strict=True) if c.name in kept
        }
        return self._add(operator, self._input(place, number, 0, context.renamed(sources)))

    def _filter(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        assert isinstance(node.operator, ops.Filter)
        schema = place.circuit.type_of(number).schema
        inner = context.where(node.operator.predicate, schema, self._unit(), self.builder)
        return self._add(node.operator, self._input(place, number, 0, inner))

    def _antijoin(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        left, right = node.inputs
        if right in place.below:
            if not place.is_outer:
                raise _UnfitError
            new = self._input(place, number, 0, context)
            atoms = self._atoms(place, {left: new})
            self._input(place, number, 1, sideways(self.builder, context, atoms, place.names(right), True))
            return None
        given = self._given(place, right)
        inner = context.without(given, place.names(right))
        return self._add(node.operator, self._input(place, number, 0, inner), given)

    def _join(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        """Ask the inputs one after the other, those first of which the most columns are known."""
        new: dict[int, int | None] = {
            position: self._given(place, i) for position, i in enumerate(node.inputs) if i not in place.below
        }
        while waiting := [position for position in range(len(node.inputs)) if position not in new]:
            atoms = self._atoms(place, {node.inputs[p]: n for p, n in new.items()})
            asked = {
                p: sideways(self.builder, context, atoms, place.names(node.inputs[p]), place.is_outer) for p in waiting
            }
            first = max(waiting, key=lambda p: (sum(len(f.pairs) for f in asked[p].factors), -p))
            new[first] = self._input(place, number, first, asked[first])
        return self._add(node.operator, *(new[position] for position in range(len(node.inputs))))

    def _atoms(self, place: _Place, nodes: dict[int, int | None]) -> list[Atom]:
        """Those of some nodes that tell something of others: where no weight is negative."""
        return [
            Atom(new, place.names(old))
            for old, new in nodes.items()
            if new is not None and is_positive(place.circuit, old)
        ]

    def _aggregate(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        if not place.is_outer:
            raise _UnfitError
        assert isinstance(node.operator, ops.Aggregate)
        self._input(place, number, 0, context.part(node.operator.keys))
        return None

    def _negate(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        if not place.is_outer:
            raise _UnfitError
        self._input(place, number, 0, context)
        return None

    def _other(self, place: _Place, number: int, node: Node, context: Context) -> int | None:
        if not place.is_outer:
            raise _UnfitError
        for position in range(len(node.inputs)):
            self._input(place, number, position, Context())
        return None


_UNIT_TYPE = ZSetType(Schema(()), True)

_Step = Callable[[_Bodies, _Place, int, Node, Context], "int | None"]
_STEPS: dict[type[ops.Operator], _Step] = {
    ops.Feedback: _Bodies._feedback,
    ops.Map: _Bodies._map,
    ops.Filter: _Bodies._filter,
    ops.Plus: _Bodies._plus,
    ops.Distinct: _Bodies._same,
    ops.Join: _Bodies._join,
    Semijoin: _Bodies._join,
    ops.Antijoin: _Bodies._antijoin,
    ops.Aggregate: _Bodies._aggregate,
    ops.Negate: _Bodies._negate,
}


class _Assembly:
    """The circuit around the new body: what the body imports comes before the fixpoint, what reads it behind."""

    def __init__(self, search: _Search, bodies: _Bodies) -> None:
        self._old, self._fixpoint, self._bodies = search.old, search.fixpoint, bodies
        self._builder = CircuitBuilder(search.old.depth)
        self._numbers: dict[int, int] = {}
        self._shown = bodies.shown()

    def circuit(self) -> Circuit:
        """The whole."""
        for number, operator in enumerate(self._old.operators):
            if isinstance(operator, ops.Source):
                self._number(number)
        for number, node in enumerate(self._old.nodes):
            if number == self._fixpoint:
                self._numbers[number] = self._add_fixpoint()
            elif self._fixpoint not in node.inputs:
                self._number(number)
        return self._builder.build()

    def _number(self, number: int) -> int:
        """The new number of a node, which is added after those that it reads."""
        if number == _UNIT:
            return self._builder.add(ops.Constant(Schema(()), ((),)))
        if number not in self._numbers:
            node = self._old.nodes[number]
            inputs = [self._input(number, position) for position in range(len(node.inputs))]
            self._numbers[number] = self._builder.add(node.operator, *inputs)
        return self._numbers[number]

    def _input(self, reader: int, position: int) -> int:
        if copy := self._bodies.read.get((reader, position)):
            shown = self._shown[self._bodies.name(copy)]
            return self._builder.add(ops.Component(shown), self._numbers[self._fixpoint])
        return self._number(self._old.nodes[reader].inputs[position])

    def _add_fixpoint(self) -> int:
        """The fixpoint; guards that nothing in it makes grow stand before it."""
        body = without_unread(self._bodies.builder.build())
        names = {self._bodies.guard_name(*key) for key in self._bodies.guards}
        fixed = {n: body.sinks[n] for n in body.sinks if n in names and not _feedbacks(body, body.sinks[n])}
        inputs: list[int] = []
        builder = CircuitBuilder(body.depth)
        numbers: list[int] = []

        def bring(outer: int, is_set: bool) -> int:
            if is_set and not self._builder.type_of(outer).is_set:
                outer = self._builder.add(ops.Distinct(), outer)
            if outer not in inputs:
                inputs.append(outer)
            return inputs.index(outer)

        for node in body.nodes:
            operator = node.operator
            if isinstance(operator, ops.Sink) and operator.name in fixed:
                numbers.append(-1)
                continue
            if isinstance(operator, ops.Import):
                outer = self._number(self._bodies.imports[operator.index])
                operator = replace(operator, index=bring(outer, operator.type.is_set))
            elif isinstance(operator, ops.Feedback) and operator.name in fixed:
                outer = self._outside(body, fixed[operator.name])
                operator = ops.Import(bring(outer, True), self._builder.type_of(outer))
            elif isinstance(operator, ops.Feedback | ops.Sink):
                operator = replace(operator, name=self._shown[operator.name])
            numbers.append(builder.add(operator, *(numbers[i] for i in node.inputs)))
        return self._builder.add(ops.Fixpoint(without_unread(builder.build())), *inputs)

    def _outside(self, body: Circuit, number: int) -> int:
        """A node of the body that reads imports alone, in the circuit around it."""
        node = body.nodes[number]
        if not isinstance(node.operator, ops.Import):
            return self._builder.add(node.operator, *(self._outside(body, i) for i in node.inputs))
        number = self._number(self._bodies.imports[node.operator.index])
        return number if self._builder.type_of(number).is_set else self._builder.add(ops.Distinct(), number)


def _sorted(form: Form) -> list[Guard]:
    return sorted(form, key=sorted)


def _feedbacks(circuit: Circuit, number: int) -> set[str]:
    """The recursive relations that a node reads."""
    operators = [circuit.nodes[n].operator for n in circuit.ancestors([number])]
    return {operator.name for operator in operators if isinstance(operator, ops.Feedback)}


def _grows(circuit: Circuit, number: int) -> bool:
    """Whether a factor may have other rows than the guard from which it comes, columns apart."""
    node = circuit.nodes[number]
    return not isinstance(node.operator, ops.Feedback | ops.Map) or any(_grows(circuit, i) for i in node.inputs)


def _reached(
    start: tuple[Copy, Guard], reads: dict[tuple[Copy, Guard], set[tuple[Copy, Guard]]]
) -> set[tuple[Copy, Guard]]:
    """The guards that grow with one, itself among them."""
    reached = {start}
    while more := {key for key, read in reads.items() if read & reached} - reached:
        reached |= more
    return reached
