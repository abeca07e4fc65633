"""Types of control flow: blocks, assignments, `if`, `match`, `for`, `return`, `?`."""

from __future__ import annotations

from deltic.datalog.syntax.source import Span
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.infer_patterns import PatternOf
from deltic_ddlog.infer_terms import TermInference
from deltic_ddlog.inference import InferredExpression, InferredPattern
from deltic_ddlog.types import BOOL, BROKEN, REFERENCES, UNIT, DdlogType, Named, content, substitute
from deltic_ddlog.unification import TypeUnknown, resolve, shown

_OPTION, _RESULT = "ddlog_std::Option", "ddlog_std::Result"


class ExpressionInference(TermInference):
    """Infers all expressions."""

    def visit_Sequence(self, node: s.Sequence) -> InferredExpression:
        with self.scope():
            items = self.all(node.items)
        return self.made(core.InSequence, node.span, items[-1].type, items)

    def visit_Assign(self, node: s.Assign) -> InferredExpression:
        """The value is computed before what is on the left is known."""
        value = self.infer(node.value)
        pattern = PatternOf(self, "place", mutable=True)
        target = pattern.of(node.target, value.type)
        return self.made(core.AssignTo, node.span, UNIT, target, value)

    def visit_If(self, node: s.If) -> InferredExpression:
        condition = self.expect(node.condition, BOOL)
        with self.scope():
            then = self.infer(node.then)
        if node.otherwise is None:
            self.require(node.then.span, then.type, UNIT, "add `else`, or end this with `;` in braces")
        with self.scope():
            otherwise = self.expect(node.otherwise, then.type) if node.otherwise else self.nothing(node.span)
        return self.made(core.Choose, node.span, then.type, condition, then, otherwise)

    def visit_MatchExpression(self, node: s.MatchExpression) -> InferredExpression:
        subject = self.infer(node.subject)
        result = self.unknown()
        cases: list[tuple[InferredPattern, InferredExpression]] = []
        for case in node.cases:
            with self.scope():
                pattern = PatternOf(self, "new", mutable=True).of(case.pattern, subject.type)
                cases.append((pattern, self.expect(case.value, result)))
        return self.made(core.MatchOn, node.span, result, subject, cases)

    def visit_For(self, node: s.For) -> InferredExpression:
        items = self.infer(node.items)
        element = self.element_of(node.items.span, items.type)
        self.loops += 1
        with self.scope():
            pattern = PatternOf(self, "new").of(node.pattern, element)
            body = self.infer(node.body)
        self.loops -= 1
        return self.made(core.ForEach, node.span, UNIT, pattern, items, body)

    def element_of(self, span: Span, type_: DdlogType) -> DdlogType:
        """Return the type of what a loop over a value gives."""
        element = self.unknown()

        def decide(found: DdlogType) -> None:
            while isinstance(found, Named) and found.name in REFERENCES:
                found = resolve(found.arguments[0])
            if isinstance(found, TypeUnknown):
                self.when_known(span, found, decide, "Vec<string>")
                return
            entry = self.declarations.types.entries[found.name] if isinstance(found, Named) else None
            if entry is not None and entry.element is not None and isinstance(found, Named):
                given = dict(zip(entry.parameters, found.arguments, strict=True))
                self.require(span, substitute(entry.element, given), element)
            elif found != BROKEN:
                self.report(span, f"`{shown(found)}` has no items", "loops go over vectors, sets, maps and groups")

        self.when_known(span, type_, decide, "Vec<string>")
        return element

    def visit_Leave(self, node: s.Leave) -> InferredExpression:
        if not self.loops:
            self.report(node.span, f"`{node.word}` stands outside of a loop")
        return self.made(core.LeaveLoop, node.span, self.unknown(), node.word)

    def visit_Return(self, node: s.Return) -> InferredExpression:
        if self.result is None:
            self.report(node.span, "`return` stands outside of a function")
            return self.broken(node.span)
        value = self.infer(node.value) if node.value else self.nothing(node.span)
        self.require((node.value or node).span, value.type, self.result)
        return self.made(core.ReturnValue, node.span, self.unknown(), value)

    def visit_Try(self, node: s.Try) -> InferredExpression:
        of = self.infer(node.of)
        value, returned = self.unknown(), self.result
        if returned is None:
            self.report(node.span, "`?` stands outside of a function", "use `match`")
            return self.broken(node.span)

        def attempt() -> bool:
            result = content(resolve(of.type))
            if isinstance(resolve(result), TypeUnknown) or isinstance(resolve(returned), TypeUnknown):
                return False
            self._check_try(node, result, resolve(returned), value)
            return True

        def fail() -> None:
            self.report(node.of.span, "the type of this is not known", "say it: `(x: Option<string>)`")

        self.wait(attempt, fail)

        def build() -> core.TypedExpression:
            known = self.known(of.type)
            constructors = self.declarations.constructors.entries
            is_option = isinstance(known, Named) and content(known) == known and known.name == _OPTION
            result = constructors["ddlog_std::Some" if is_option else "ddlog_std::Ok"].constructor
            gives_none = isinstance(resolve(returned), Named) and self.known(returned).name == _OPTION  # type: ignore[attr-defined]
            failed = constructors["ddlog_std::None"].constructor if gives_none else None
            return core.TryValue(self.known(value), of.build(), result, failed, span=node.span)

        return InferredExpression(value, build)

    def _check_try(self, node: s.Try, found: DdlogType, returned: DdlogType, value: DdlogType) -> None:
        if BROKEN in (found, returned):
            return
        if not isinstance(found, Named) or found.name not in (_OPTION, _RESULT):
            self.report(node.of.span, f"this is of type `{shown(found)}`, and `?` takes an `Option` or a `Result`")
            return
        self.require(node.span, found.arguments[0], value)
        if not isinstance(returned, Named) or returned.name not in (_OPTION, _RESULT):
            self.report(node.span, f"the function gives `{shown(returned)}`, and `?` needs an `Option` or a `Result`")
        elif returned.name == _RESULT and found.name == _OPTION:
            self.report(node.span, "the function gives a `Result`, and this is an `Option`", "use `ok_or`")
        elif returned.name == _RESULT:
            self.require(node.span, found.arguments[1], returned.arguments[1])
