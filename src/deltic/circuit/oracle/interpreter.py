"""The reference interpreter: the papers' definitions over Python Z-sets, slow, short and obviously right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.iterations import ITERATION_LIMIT, circle_error, computing_rules, limit_error, oscillation_error
from deltic.circuit.operators import Window
from deltic.circuit.oracle.memory import DelayMemory, Time
from deltic.circuit.oracle.pointwise import POINTWISE, Inputs, Rows, Value
from deltic.errors import UnsupportedError
from deltic.values.types import Schema


def run(circuit: Circuit, sources: Mapping[str, Rows]) -> dict[str, Rows]:
    """Return the outputs of a circuit without stream operators, for these contents of its sources."""
    return Interpreter(circuit).step(sources)


class Interpreter:
    """Runs a circuit step by step: `step` takes one value of every input stream and returns one of every output.

    Stateless operators are applied pointwise (lifted); stream operators keep the state of their definition. `around` is
    the number of circuits with a time of their own around this one, and `limit` the most iterations of a fixpoint,
    `ITERATION_LIMIT` by default.
    """

    def __init__(self, circuit: Circuit, around: int = 0, limit: int | None = None) -> None:
        self.circuit = circuit
        self._around = around
        self._limit = limit
        self._memories: dict[int, DelayMemory] = {}
        self._inner: dict[int, Bracketed | Interpreter] = {}
        for number, op in enumerate(circuit.operators):
            if type(op) in STATEFUL:
                self._memories[number] = DelayMemory(around - op.reach)
            elif isinstance(op, ops.Bracket):
                self._inner[number] = Bracketed(op, around)
            elif isinstance(op, ops.Call):
                self._inner[number] = Interpreter(op.circuit, around)
        self._values: list[Value] = []
        self._steps = 0

    def step(
        self,
        sources: Mapping[str, Rows],
        imports: Sequence[Rows] = (),
        feedback: Mapping[str, Rows] | None = None,
        time: Time | None = None,
    ) -> dict[str, Rows]:
        """Return the values of the sinks for these values of the sources (absent: zero), imports and feedbacks.

        `time` is the time of the step where other circuits surround this one. After an exception the next step repeats
        the same time and replaces its values.
        """
        environment = _Environment(sources, imports, feedback or {}, time or (self._steps,))
        self._values = []
        for memory in self._memories.values():
            memory.advance(environment.time)
        for number, node in enumerate(self.circuit.nodes):
            inputs = [self._values[i] for i in node.inputs]
            self._values.append(self._evaluate(number, node, inputs, environment))
        for number, op in enumerate(self.circuit.operators):
            if isinstance(op, ops.BackEdge):
                self._memories[number].put(self._values[self.circuit.closes[op.name]])
        self._steps += 1
        return {name: self._values[number] for name, number in self.circuit.sinks.items()}

    def adopt(self, other: Interpreter) -> None:
        """Copy the state of another interpreter for the nodes that both circuits have."""
        identities: dict[Hashable, int] = {}
        known = {identity: number for number, identity in enumerate(_identities(other.circuit, identities))}
        for number, identity in enumerate(_identities(self.circuit, identities)):
            if (theirs := known.get(identity)) is not None:
                if theirs in other._memories:
                    self._memories[number] = deepcopy(other._memories[theirs])
                if theirs in other._inner:
                    self._inner[number] = deepcopy(other._inner[theirs])
        self._steps = other._steps

    def take_back(self) -> None:
        """Undo the last step: the next one has the same time and replaces its values."""
        self._steps -= 1

    def reset(self, level: int) -> None:
        """Forget the state of the circuit that has `level` others around it, and of those inside it."""
        for memory in self._memories.values():
            memory.reset(level)
        for inner in self._inner.values():
            inner.reset(level)

    @property
    def observed(self) -> tuple[Any, ...]:
        """The values of all nodes in the last step, including those of nested circuits."""
        return (*self._values, *(inner.observed for inner in self._inner.values()))

    def _evaluate(self, number: int, node: Node, inputs: Inputs, environment: _Environment) -> Value:
        op, inner = node.operator, self._inner.get(number)
        types = [self.circuit.nodes[i].type for i in node.inputs]
        if isinstance(inner, Bracketed):
            return inner.step(inputs, environment.time)
        if isinstance(inner, Interpreter) and isinstance(op, ops.Call):
            return inner.step(op.named(inputs), time=environment.time)
        if type(op) in LEAVES:
            return LEAVES[type(op)](op, environment)
        if isinstance(op, ops.Fixpoint):
            return _fixpoint(op, inputs, self._limit)
        if type(op) in POINTWISE:
            return POINTWISE[type(op)](op, inputs, types)
        if type(op) in STATEFUL:
            memory = self._memories[number]
            value, kept = STATEFUL[type(op)](op, inputs, types, memory.before())
            memory.put(kept)
            return value
        raise UnsupportedError(f"{node.operator.keyword}: the reference interpreter has no meaning for it")


def _identities(circuit: Circuit, numbers: dict[Hashable, int]) -> list[int]:
    """For each node a number that identifies its computation, for finding equal nodes in two circuits.

    A cycle is identified by its name and by the operators on the way back. `numbers` has those assigned so far.
    """
    result: list[int] = []
    for node in circuit.nodes:
        around: Hashable = None
        if isinstance(node.operator, ops.BackEdge):
            close = circuit.closes[node.operator.name]
            around = frozenset(Counter(circuit.nodes[n].operator.label for n in circuit.ancestors([close])).items())
        key = (node.operator, tuple(result[i] for i in node.inputs), around)
        result.append(numbers.setdefault(key, len(numbers)))
    return result


class Bracketed:
    """Runs a bracket: `step` iterates its body until no value in it changes any more.

    Where a delay in the body counts the time of a circuit around it, it reads the iterations of an earlier step. After
    the end of that step its last values repeat; so there are at least as many iterations as in that step.
    """

    def __init__(self, bracket: ops.Bracket, around: int) -> None:
        self._bracket = bracket
        self._level = around + 1
        self._body = Interpreter(bracket.body, around + 1)
        self._lengths = [DelayMemory(clock) for clock in range(around + 1 - bracket.body.reach, around + 1)]
        self.observed: tuple[Any, ...] = ()

    def step(self, inputs: Inputs, time: Time) -> dict[str, Rows]:
        """Return the sums of the body's sinks; raises UnsupportedError where the iteration does not end."""
        self.reset(self._level)
        for lengths in self._lengths:
            lengths.advance(time)
        least = max((lengths.before() or 0 for lengths in self._lengths), default=0)
        sums: dict[str, Rows] = {name: ZSet() for name in self._bracket.body.sinks}
        seen: list[Any] = []
        for iteration in range(ITERATION_LIMIT):
            values = self._body.step({}, inputs if not iteration else [ZSet()] * len(inputs), {}, (*time, iteration))
            sums = {name: sums[name] + values[name] for name in sums}
            seen.append(self._body.observed)
            if iteration and iteration + 1 >= least and seen[-1] == seen[-2]:
                break
        else:
            raise UnsupportedError(f"bracket: no end after {ITERATION_LIMIT} iterations")
        for name in sums:
            if values[name]:
                raise UnsupportedError(f"bracket: ∫ of sink {name} has no end, it rests at {values[name]}")
        for lengths in self._lengths:
            lengths.put(len(seen))
        self.observed = tuple(seen)
        return sums

    def reset(self, level: int) -> None:
        """Forget the state of the circuit that has `level` others around it, and of those inside it."""
        self._body.reset(level)
        for lengths in self._lengths:
            lengths.reset(level)


class _Environment:
    """The values that the leaves of a circuit read in one step."""

    def __init__(
        self, sources: Mapping[str, Rows], imports: Sequence[Rows], feedback: Mapping[str, Rows], time: Time
    ) -> None:
        self.sources, self.imports, self.feedback, self.time = sources, imports, feedback, time


def _fixpoint(op: ops.Fixpoint | ops.FixpointDelta, inputs: Inputs, limit: int | None = None) -> dict[str, Rows]:
    """Iterate the body from the empty relations until nothing changes.

    A state that repeats an earlier iteration means an endless cycle: each is compared with the last one whose number is
    a power of two [Brent 1980].
    Bags have no fixpoint where rows derive themselves, which shows as a derivation longer than the number of rows.
    """
    most = ITERATION_LIMIT if limit is None else limit
    body = Interpreter(op.body, limit=limit)
    current: dict[str, Rows] = {name: ZSet() for name in op.body.sinks}
    earlier, since = current, 0
    for length in range(most + 1):
        following = body.step({}, inputs, current)
        if following == current:
            return current
        if following == earlier:
            raise oscillation_error(sorted(current), length + 1, length + 1 - since)
        if length + 1 == 2 * since or not since:
            earlier, since = following, length + 1
        if not op.body.are_sets and length > sum(map(len, current.values())):
            raise circle_error(sorted(current))
        current = following
    raise limit_error(sorted(current), computing_rules(op.body), most)


def _fixpoint_delta(
    op: ops.FixpointDelta, inputs: Inputs, types: Sequence[ZSetType], state: Any
) -> tuple[dict[str, Rows], Any]:
    """D ∘ fixpoint ∘ I, the definition of the derivative."""
    old_inputs, old = state or ([ZSet()] * len(inputs), {name: ZSet() for name in op.body.sinks})
    new_inputs = [i + d for i, d in zip(old_inputs, inputs, strict=True)]
    new = _fixpoint(op, new_inputs)
    return {name: new[name] - old[name] for name in new}, (new_inputs, new)


def _window(op: ops.Window, inputs: Inputs, types: Sequence[ZSetType], state: Rows | None) -> tuple[Rows, Rows]:
    rows, clock = inputs
    now = latest(clock, state or ZSet())
    return recent(op, rows, now, types[0].schema), now


def _window_delta(
    op: ops.WindowDelta, inputs: Inputs, types: Sequence[ZSetType], state: tuple[Rows, Rows] | None
) -> tuple[Rows, tuple[Rows, Rows]]:
    """D(α), α = W(Δv + z⁻¹(α), Δθ)."""
    before, then = state or (ZSet(), ZSet())
    content, now = _window(op.window, [inputs[0] + before, inputs[1]], types, then)
    return content - before, (content, now)


LEAVES: dict[type[ops.Operator], Callable[[Any, _Environment], Rows]] = {
    ops.Source: lambda op, env: env.sources.get(op.name, ZSet()),
    ops.Constant: lambda op, env: ZSet.of(op.rows),
    ops.Import: lambda op, env: env.imports[op.index],
    ops.Feedback: lambda op, env: env.feedback.get(op.name, ZSet()),
}
STATEFUL: dict[type[ops.Operator], Callable[[Any, Inputs, Any, Any], tuple[Value, Any]]] = {
    ops.Integrate: lambda op, inputs, types, state: (total := (state or ZSet()) + inputs[0], total),
    ops.Differentiate: lambda op, inputs, types, state: (inputs[0] - (state or ZSet()), inputs[0]),
    ops.Delay: lambda op, inputs, types, state: (state or ZSet(), inputs[0]),
    ops.BackEdge: lambda op, inputs, types, state: (state or ZSet(), state),
    ops.Window: _window,
    ops.WindowDelta: _window_delta,
    ops.FixpointDelta: _fixpoint_delta,
}


def latest(*clocks: Rows) -> Rows:
    """Return the greatest value of the clocks as a Z-set of one row, empty where they have no value."""
    values = [row for clock in clocks for row, _ in clock if row[0] is not None]
    return ZSet.of([max(values)] if values else [])


def within(window: Window, schema: Schema) -> Callable[[tuple[Any, ...], Rows], bool]:
    """Return a function that decides whether a row of the schema is in the window at a time from `latest`.

    The paper's W by rows.
    """
    position = schema.index(window.column)

    def is_recent(row: tuple[Any, ...], now: Rows) -> bool:
        start = next((window.begin(time) for (time,), _ in now), None)
        return row[position] is not None and (start is None or row[position] >= start)

    return is_recent


def recent(window: Window, rows: Rows, now: Rows, schema: Schema) -> Rows:
    """Return the rows in the window when the time is `now`."""
    is_recent = within(window, schema)
    return rows.filter(lambda row: is_recent(row, now))
