"""Recursion: a bracketed body with feedback [DBSP §5.1, §7.1], and the operators that its body may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from deltic.circuit.edges import BundleType, EdgeType, ZSetType
from deltic.circuit.operators.base import NamedOperator, Operator
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.circuit.graph import Circuit


RefreshPolicy = Literal["", "auto", "incremental", "full"]
"""When a recursion is recomputed: when that is estimated to be cheaper, never, or in every step that affects it."""


class Import(Operator):
    """Input number `index` of the operator around the body: δ₀ of it in a bracket, E of it in a fixpoint.

    [DBSP Def. 5.1, §5.1.4]
    """

    rule: ClassVar[str] = "§9.4.6 bracketing"
    index: int
    type: ZSetType

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.zsets(inputs, 0)
        if not depth:
            self.refuse("is allowed in a body only", inputs)
        return ZSetType(self.type.schema, self.type.is_set, depth)

    def arguments(self) -> str:
        return str(self.index)


class Feedback(NamedOperator):
    """A recursive relation as the body sees it: z⁻¹ of the body's output of that name.

    A set, or a bag; in the derivative of a body it carries changes and `is_set` is false.
    """

    rule: ClassVar[str] = "§9.4.4 back-edge"
    schema: Schema
    is_set: bool = True

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.zsets(inputs, 0)
        if not depth:
            self.refuse("is allowed in the body of a fixpoint only", inputs)
        return ZSetType(self.schema, self.is_set, depth)


class Fixpoint(Operator):
    """The least fixpoint of `body` from the empty relations, for mutually recursive relations.

    The body has one sink for each feedback, of the same name and schema. If the sink is a set the relation is one: then
    the iteration is the paper's, and the bundle of the last values is ∫ of the body's stream. Otherwise it is a bag, in
    which a row counts once for each derivation; there is no fixpoint where rows derive themselves. `refresh` says when
    an engine recomputes it instead of updating it; "" leaves that to the engine.
    """

    rule: ClassVar[str] = "§9.4.6 bracketing"
    body: Circuit
    refresh: RefreshPolicy = ""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        check_imports(self, self.body, inputs, depth)
        if self.body.reach:
            self.refuse("its body must be a function: no delay in it may count the time around it", inputs)
        outputs = self.body.sink_types
        for op in self.body.operators:
            if isinstance(op, Feedback):
                result = outputs.get(op.name)
                if result is None or result.schema != op.schema:
                    self.refuse(f"feedback {op.name} has no sink of its name and schema in the body", inputs)
                if op.is_set and not result.is_set:
                    self.refuse(f"the body's sink {op.name} must be a set; put a distinct before it", inputs)
        return BundleType.of({n: ZSetType(t.schema, t.is_set, depth) for n, t in outputs.items()})

    def arguments(self) -> str:
        return self.refresh

    def bodies(self) -> Sequence[tuple[str, Circuit]]:
        return (("body", self.body),)


def check_imports(operator: Operator, body: Circuit, inputs: Sequence[EdgeType], depth: int) -> None:
    """Raise CircuitError where a body does not fit its operator: by its depth, or by the types of its imports.

    A set may be imported as any Z-set.
    """
    for op in body.operators:
        if isinstance(op, Import):
            result = inputs[op.index] if op.index < len(inputs) else None
            accepted = [ZSetType(op.type.schema, is_set, depth) for is_set in (op.type.is_set, True)]
            if result not in accepted:
                operator.refuse(f"the body imports input {op.index} as {op.type}", inputs)
    if depth != body.depth - 1:
        operator.refuse(f"its body must be built at depth {depth + 1}, not {body.depth}", inputs)


class FixpointDelta(Operator):
    """The derivative of a fixpoint: the changes of the inputs to the changes of the relations.

    `body` is the body it derives from; `derivative` is the body's incremental form, in which changes
    of the imports arrive at iteration 0 and changes of the feedbacks at each later one [DBSP §7.2].
    """

    rule: ClassVar[str] = "§9.4.6 bracketing"
    body: Circuit
    derivative: Circuit
    refresh: RefreshPolicy = ""

    def arguments(self) -> str:
        return self.refresh

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        types = self.body.sink_types
        return BundleType.of({n: ZSetType(t.schema, False, depth) for n, t in types.items()})

    def bodies(self) -> Sequence[tuple[str, Circuit]]:
        return (("body", self.body), ("derivative", self.derivative))


class BundleRelation(NamedOperator):
    """One relation of a bundle."""

    keyword: ClassVar[str] = "component"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        if len(inputs) != 1 or not isinstance(inputs[0], BundleType):
            self.refuse("takes one bundle", inputs)
        result = dict(inputs[0].entries).get(self.name)
        if result is None:
            self.refuse("the bundle has no relation of that name", inputs)
        return result
