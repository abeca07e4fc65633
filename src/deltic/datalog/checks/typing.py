"""Type inference for the variables and expressions of a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltic.datalog.checks.declarations import Signatures
from deltic.datalog.checks.functors import (
    AGGREGATES,
    CALLS,
    CONVERSIONS,
    FUNCTORS,
    ORDERED,
    SAME,
    TESTS,
    FunctorProfile,
    aggregate_profile,
)
from deltic.datalog.checks.type_names import (
    INTEGER,
    NUMERIC,
    OPAQUE,
    Base,
    Evidence,
    Findings,
    Slot,
    Structure,
    Types,
    TypeSlots,
    TypeTable,
    phrase,
    preferred,
    stored,
)
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import is_structure
from deltic.datalog.syntax.source import Span
from deltic.errors import count_of, did_you_mean
from deltic.values.types import Type

_Structure = tuple[e.FunctorCall, Slot, list[Slot]]
"""A record, `nil` or branch value, with its slot and those of its fields."""
_LITERALS: dict[type[e.Expression], Types] = {
    e.NumberLiteral: NUMERIC,
    e.UnsignedLiteral: frozenset({Type.UINT64}),
    e.FloatLiteral: frozenset({Type.FLOAT64}),
    e.StringLiteral: frozenset({Type.STRING}),
}


class Typing:
    """The inference for one rule, whose values have one of the known types.

    Add its literals in order, those that say the most about types first.
    """

    def __init__(
        self,
        known: Types,
        signatures: Signatures,
        type_table: TypeTable,
        functors: Mapping[str, FunctorProfile],
        findings: Findings,
    ) -> None:
        self._functors = functors
        self._signatures, self._type_table, self._findings = signatures, type_table, findings
        self._slots, self._earlier = TypeSlots(), len(findings)
        self._any = known
        self._structures: list[_Structure] = []
        self._ordered = frozenset(type_ for type_ in self._any if not isinstance(type_, Structure))
        self._variables: dict[str, Slot] = {}
        self._expressions: dict[Span, Slot] = {}
        self._casts: list[tuple[e.Cast, Slot, Base]] = []
        self.conversions: dict[Span, str] = {}
        """The conversions between number and unsigned that casts need, by position; only after `settle`."""

    def variables(self) -> Mapping[str, Type]:
        """Return the type of each variable."""
        return {name: stored(preferred(self._slots.types(slot))) for name, slot in self._variables.items()}

    def expressions(self) -> Mapping[Span, Type]:
        """Return the type of each expression other than a variable, by its position."""
        return {span: stored(preferred(self._slots.types(slot))) for span, slot in self._expressions.items()}

    def settle(self) -> None:
        """After all literals, apply the constraints of casts and structures."""
        for cast, slot, type_ in self._casts:
            self._decide(cast, slot, type_)
        self._settle()

    def shapes(self) -> Mapping[Span, str]:
        """Return the shape of each record and branch value, by position; only after `settle`."""
        return {apply.span: shape for apply, slot, _ in self._structures if (shape := self._shape(apply, slot))}

    def fields(self) -> Mapping[Span, tuple[str, ...]]:
        """Return the field types of each record and branch value, by position; only after `settle`."""
        known = ((apply, preferred(self._slots.types(slot))) for apply, slot, _ in self._structures)
        return {
            apply.span: self._type_table.fields(type_.name, _branch(apply))
            for apply, type_ in known
            if isinstance(type_, Structure) and _branch(apply) in type_.branches
        }

    def _settle(self) -> None:
        """Propagate known structure types to their fields until nothing changes.

        Report structures of ambiguous type.
        """
        open_ = [result for result in self._structures if result[0].functor != e.NIL]
        while ready := [result for result in open_ if self._is_known(*result)] or self._alike(open_):
            open_ = [result for result in open_ if result not in ready]
            for apply, slot, fields in ready:
                (type_,) = self._slots.types(slot)
                of = type_.branches.get(_branch(apply), ()) if isinstance(type_, Structure) else ()
                for (name, wanted), inner, argument in zip(of, fields, apply.arguments, strict=False):
                    if wanted:
                        self._expect(inner, argument, frozenset({wanted}), f"field `{name}` of `{type_}`")
        for apply, slot, _ in open_ if len(self._findings) == self._earlier else ():
            types = self._slots.types(slot)
            if any(isinstance(type_, Structure) for type_ in types):
                message = f"`{apply.span.text}` may be {phrase(types)}"
                self._findings.append(apply.span.error(message, f"say which: `as({apply.span.text}, type)`"))

    def _alike(self, open_: Sequence[_Structure]) -> list[_Structure]:
        """Return the first structure whose possible types have the same fields, restricted to one: its text stays."""
        for result in open_:
            apply, slot, _ = result
            types = sorted((t for t in self._slots.types(slot) if isinstance(t, Structure)), key=str)
            fields = {tuple(type_ for _, type_ in each.branches[_branch(apply)]) for each in types}
            if len(fields) == 1 and len(types) == len(self._slots.types(slot)):
                self._slots.restrict(slot, frozenset(types[:1]))
                return [result]
        return []

    def _is_known(self, apply: e.FunctorCall, slot: Slot, fields: Sequence[Slot]) -> bool:
        """Return whether the structure has one possible type left, after excluding types whose fields do not fit."""
        types, branch = self._slots.types(slot), _branch(apply)
        if len(types) > 1:
            fitting = (t for t in types if isinstance(t, Structure) and self._may_hold(t.branches[branch], fields))
            self._slots.restrict(slot, frozenset(fitting))
        return len(self._slots.types(slot)) == 1

    def _may_hold(self, of: Sequence[tuple[str, Base | None]], fields: Sequence[Slot]) -> bool:
        return all(t is None or t in self._slots.types(field) for (_, t), field in zip(of, fields, strict=True))

    def _shape(self, apply: e.FunctorCall, slot: Slot) -> str:
        type_ = preferred(self._slots.types(slot))
        known = isinstance(type_, Structure) and _branch(apply) in type_.branches and apply.functor != e.NIL
        return type_.shape(_branch(apply)) if known and isinstance(type_, Structure) else ""

    def literal(self, literal: f.BodyFormula) -> None:
        """Add the type constraints of a literal; report conflicts."""
        if isinstance(literal, f.Negation):
            literal = literal.part
        if isinstance(literal, f.BodyAtom):
            self._atom(literal)
        elif isinstance(literal, f.BodyComparison):
            self._comparison(literal)
        elif isinstance(literal, f.Test):
            self._arguments(literal.name, TESTS[literal.name], literal.arguments, literal.span)
        elif isinstance(literal, f.Aggregation):
            self._aggregation(literal)
        elif isinstance(literal, f.Existential):
            for body in literal.bodies:
                self._body(body)

    def _body(self, body: Sequence[f.BodyFormula]) -> None:
        for literal in sorted(body, key=lambda part: not isinstance(part, f.BodyAtom)):
            self.literal(literal)

    def _aggregation(self, aggregation: f.Aggregation) -> None:
        """The targets of an aggregate are constrained like a functor's arguments, after its body."""
        self._body(aggregation.body)
        entry = aggregation.entry
        if entry or aggregation.function in AGGREGATES:
            profile = aggregate_profile(entry) if entry else AGGREGATES[aggregation.function]
        else:  # one of Python that has been reported
            profile = FunctorProfile((self._any,) * len(aggregation.targets), self._any)
        result = self._arguments(aggregation.function, profile, aggregation.targets, aggregation.span)
        self._slots.merge(self._expression(aggregation.result), result)

    def _atom(self, atom: f.BodyAtom) -> None:
        signature = self._signatures.get(atom.relation)
        slots = [self._expression(argument) for argument in atom.arguments]
        if not signature or len(slots) != len(signature.types):
            return
        for slot, argument, name, type_ in zip(
            slots, atom.arguments, signature.attributes, signature.types, strict=True
        ):
            if type_:
                self._expect(slot, argument, frozenset({type_}), f"attribute `{name}` of `{atom.relation}`")

    def _comparison(self, comparison: f.BodyComparison) -> None:
        left, right = self._expression(comparison.left), self._expression(comparison.right)
        if not self._slots.merge(left, right):
            message = f"cannot compare: {self._is(comparison.left, left)} and {self._is(comparison.right, right)}"
            sides = [(left, comparison.left), (right, comparison.right)]
            self._findings.append(comparison.span.error(message, self._reasons(*sides)))
        elif comparison.operator not in ("=", "!=") and not self._slots.restrict(left, self._ordered):
            message = f"{self._is(comparison.left, left)}, which has no order"
            self._findings.append(comparison.span.error(message, "structures are compared by `=` and `!=` only"))

    def _expression(self, expression: e.Expression) -> Slot:
        """Return the slot of an expression, after adding the constraints in it."""
        if isinstance(expression, e.Variable):
            return self._variables.setdefault(expression.name, self._slots.new(self._any))
        if isinstance(expression, e.FunctorCall):
            slot = self._apply(expression)
        elif isinstance(expression, e.Cast):
            slot = self._cast(expression)
        else:
            slot = self._slots.new(_LITERALS.get(type(expression), self._any))
        self._expressions[expression.span] = slot
        return slot

    def _cast(self, cast: e.Cast) -> Slot:
        slot = self._expression(cast.argument)
        type_ = self._type_table.base(cast.type)
        if not type_:
            return slot
        result = self._slots.new(frozenset({type_}))
        if self._is_reinterpreted(cast, slot, type_):
            self._casts.append((cast, slot, type_))
        else:
            self._decide(cast, slot, type_)
        return result

    def _is_reinterpreted(self, cast: e.Cast, slot: Slot, type_: Base) -> bool:
        """Return whether a cast may have to convert between number and unsigned, which only explicit casts do."""
        others = INTEGER - {type_}
        return type_ in INTEGER and cast.span != cast.argument.span and not others.isdisjoint(self._slots.types(slot))

    def _decide(self, cast: e.Cast, slot: Slot, type_: Base) -> None:
        """Restrict the argument of a cast to its type, or convert it; report it if neither is possible."""
        if self._slots.restrict(slot, frozenset({type_}), Evidence("`as`", cast.span)):
            return
        if self._is_reinterpreted(cast, slot, type_):
            self.conversions[cast.span] = "itou" if type_ is Type.UINT64 else "utoi"
            return
        message = f"{self._is(cast.argument, slot)}, and `as` cannot turn it into {phrase([type_])}"
        hint = f"compute one with `{CONVERSIONS[type_]}(...)`" if type_ in CONVERSIONS else ""
        self._findings.append(cast.span.error(message, hint))

    def _structure(self, apply: e.FunctorCall) -> Slot:
        """Return the slot of a record, `nil` or branch value, with all types that have such a branch."""
        fields = [self._expression(argument) for argument in apply.arguments]
        structures, branch = self._type_table.structures, _branch(apply)
        named = [structure for structure in structures if branch in structure.branches]
        fitting = [s for s in named if apply.functor == e.NIL or len(s.branches[branch]) == len(fields)]
        if not fitting:
            self._findings.append(apply.span.error(*_no_structure(apply, named, structures)))
            return self._slots.new(self._any)
        slot = self._slots.new(frozenset(fitting))
        self._structures.append((apply, slot, fields))
        return slot

    def _apply(self, apply: e.FunctorCall) -> Slot:
        if is_structure(apply):
            return self._structure(apply)
        profile = FUNCTORS.get(apply.functor) or self._functors.get(apply.functor)
        if profile:
            return self._arguments(apply.functor, profile, apply.arguments, apply.span)
        for argument in apply.arguments:
            self._expression(argument)
        self._findings.append(apply.span.error(*_unknown_functor(apply.functor, self._signatures)))
        return self._slots.new(self._any)

    def _arguments(self, name: str, profile: FunctorProfile, arguments: tuple[e.Expression, ...], span: Span) -> Slot:
        """Return the slot of the result of a functor or test."""
        slots = [self._expression(argument) for argument in arguments]
        if not profile.accepts(len(arguments)):
            self._findings.append(span.error(f"`{name}` takes {profile.count_in_words()}, not {len(arguments)}"))
            return self._slots.new(self._any if profile.result == SAME else profile.result)
        fits, same = True, self._slots.new(profile.same)
        for index, (slot, argument) in enumerate(zip(slots, arguments, strict=True)):
            place = profile.place(index)
            if place == SAME:
                fits &= self._join(same, slot, argument, name, arguments[0])
            else:
                types = self._any.difference(OPAQUE.values()) if place == ORDERED else place
                self._expect(slot, argument, types, f"argument {index + 1} of `{name}`")
        if profile.result == SAME:
            return same if fits else self._slots.new(self._any)
        return self._slots.new(profile.result)

    def _join(self, same: Slot, slot: Slot, argument: e.Expression, name: str, first: e.Expression) -> bool:
        """Merge an argument with the others of the same type; report a conflict and return False."""
        if self._slots.merge(same, slot):
            return True
        if argument is first:
            message = f"`{name}` takes {phrase(self._slots.types(same))}, but {self._is(argument, slot)}"
            self._findings.append(argument.span.error(message, self._reasons((slot, argument))))
            return False
        message = f"`{name}` takes values of one type, but {self._is(first, same)} and {self._is(argument, slot)}"
        hint = _conversion(self._slots.types(same), self._slots.types(slot))
        self._findings.append(argument.span.error(message, hint))
        return False

    def _expect(self, slot: Slot, expression: e.Expression, types: Types, place: str) -> bool:
        """Restrict an expression to `types`; report a conflict and return False."""
        if self._slots.restrict(slot, types, Evidence(place, expression.span)):
            return True
        message = f"{self._is(expression, slot)}, but {place} is {phrase(types)}"
        self._findings.append(expression.span.error(message, self._reasons((slot, expression))))
        return False

    def _is(self, expression: e.Expression, slot: Slot) -> str:
        return f"`{expression.span.text}` is {phrase([preferred(self._slots.types(slot))])}"

    def _reasons(self, *slots: tuple[Slot, e.Expression]) -> str:
        """Return the reasons for the types of variables, as a hint."""
        reasons = []
        for slot, expression in slots:
            evidence = self._slots.evidence(slot)
            if evidence and isinstance(expression, e.Variable):
                reasons.append(f"`{expression.span.text}` has the type of {evidence.phrase} at {evidence.span.place}")
        return "; ".join(reasons)


def _branch(apply: e.FunctorCall) -> str:
    """Return the branch name of a structure; "" for a record."""
    return apply.functor.removeprefix(e.BRANCH) if apply.functor.startswith(e.BRANCH) else ""


def _no_structure(apply: e.FunctorCall, named: Sequence[Structure], structures: Sequence[Structure]) -> tuple[str, str]:
    """Return the message and the hint for a structure that no type has."""
    branch, count = _branch(apply), len(apply.arguments)
    if not branch:
        kind = "record type" if apply.functor == e.NIL else f"record type of {count_of(count, 'field')}"
        return f"there is no {kind}", "declare it: `.type pair = [first: number, second: number]`"
    if named:
        number = len(named[0].branches[branch])
        message = f"`${branch}` of `{named[0]}` has {count_of(number, 'field')}, but here "
        return message + f"{count} {'is' if count == 1 else 'are'} given", ""
    known = [name for structure in structures for name in structure.branches if name]
    hint = did_you_mean(branch, known) or f"declare it: `.type kind = {branch} {{}} | ...`"
    return f"there is no branch `{branch}`", hint


def _conversion(first: Types, second: Types) -> str:
    for type_ in (Type.FLOAT64, Type.STRING, Type.UINT64):
        if {type_} in (first, second):
            return f"convert one of them, for example with `{CONVERSIONS[type_]}(...)`"
    return ""


def _unknown_functor(name: str, signatures: Signatures) -> tuple[str, str]:
    if name.startswith(e.FUNCTOR):
        return f"there is no functor `{name}`", f"declare it: `.functor {name[1:]}(x: number): number`"
    if name in signatures:
        return f"`{name}` is a relation and has no value", f"as a condition it stands on its own: `..., {name}(...)`"
    if name in TESTS:
        return f"`{name}` is a condition and has no value", f"it stands on its own: `..., {name}(a, b)`"
    return f"there is no functor `{name}`", did_you_mean(name, CALLS) or "the functors are " + ", ".join(CALLS)
