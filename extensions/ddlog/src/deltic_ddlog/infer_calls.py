"""Types of calls: which function a name means follows from the number and the types of arguments, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.datalog.syntax.source import Span
from deltic.errors import did_you_mean
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog import types as t
from deltic_ddlog.declarations import Signature
from deltic_ddlog.inference import Inference, InferredExpression
from deltic_ddlog.unification import OpenParameter, TypeUnknown, fits, is_mutable, resolve, shown

BUILT_IN = (t.Bool, t.BigInt, t.Bit, t.Signed, t.Float, t.Double, t.String)


class CallInference(Inference):
    """Infers calls and closures."""

    def _candidates(self, name: str, type_: t.DdlogType | None = None) -> list[Signature]:
        """Return the functions that a name may mean here; those of the module that defines a type are among them."""
        names = self.declarations.functions
        result = names.find_all(self.module, name)
        if isinstance(type_, t.Named) and "::" in type_.name:
            home = f"{type_.name.rpartition('::')[0]}::{name}"
            result += [home] if home in names.entries and home not in result else []
        return [signature for full in result for signature in names.entries[full]]

    def _unknown_function(self, span: Span, name: str) -> None:
        known = [*self.declarations.functions.visible(self.module), *self.locals()]
        what = "constructor" if name.rpartition("::")[2][0].isupper() else "function or variable"
        self.report(span, f"there is no {what} `{name}`", did_you_mean(name, known))

    def _made(
        self, signature: Signature, parameters: Sequence[t.DdlogType], result: t.DdlogType
    ) -> core.FunctionInstance:
        known = self.known
        mutable = tuple(p.mutable for p in signature.parameters)
        types = tuple(map(known, parameters))
        return core.FunctionInstance(signature.name, signature.number, types, mutable, known(result))

    def function_value(self, node: s.NameExpression) -> InferredExpression:
        """Return a function by its name, as a value."""
        candidates = self._candidates(node.name)
        if not candidates:
            self._unknown_function(node.span, node.name)
            return self.broken(node.span)
        type_ = self.unknown()
        chosen: list[Callable[[], core.FunctionInstance]] = []

        def attempt() -> bool:
            fitting = [c for c in candidates if fits(t.CallableType(c.parameters, c.result), resolve(type_))]
            if len(fitting) > 1:
                return False
            signature = (fitting or candidates)[0]
            parameters, result = self.instance(signature)
            taken = zip(parameters, signature.parameters, strict=True)
            own = t.CallableType(tuple(t.FunctionParameter(each, p.mutable) for each, p in taken), result)
            self.require(node.span, own, type_)
            chosen.append(lambda: self._made(signature, parameters, result))
            return True

        def fail() -> None:
            message = "; ".join(map(str, candidates))
            self.report(node.span, f"`{node.name}` may be one of several functions: {message}")

        self.wait(attempt, fail)

        def build() -> core.TypedExpression:
            return core.FunctionValue(self.known(type_), chosen[0](), span=node.span)

        return InferredExpression(type_, build)

    def visit_CallExpression(self, node: s.CallExpression) -> InferredExpression:
        callee = node.callee
        if isinstance(callee, s.NameExpression) and (node.dotted or self.local(callee.name) is None):
            return self._function_call(node, callee)
        return self._closure_call(node)

    def _function_call(self, node: s.CallExpression, callee: s.NameExpression) -> InferredExpression:
        arguments = self.all(node.arguments)
        spans = [argument.span for argument in node.arguments]
        candidates = self._candidates(callee.name)
        fitting = [c for c in candidates if len(c.parameters) == len(arguments)]
        if not fitting:
            if not candidates:
                self._unknown_function(callee.span, callee.name)
            else:
                message = f"`{callee.name}` takes {_counts(candidates)}, and not {len(arguments)}"
                self.report(node.span, message, f"it is declared as `{candidates[0]}`")
            return self.broken(node.span)
        return self.call(node.span, callee.name, fitting, arguments, spans)

    def call(
        self,
        span: Span,
        name: str,
        candidates: Sequence[Signature],
        arguments: Sequence[InferredExpression],
        spans: Sequence[Span],
    ) -> InferredExpression:
        """Return a call of one of several functions."""
        wanted = self.unknown()
        chosen: list[Callable[[], core.FunctionInstance]] = []

        def could_be(candidate: Signature) -> bool:
            taken = zip(candidate.parameters, arguments, strict=True)
            return all(fits(p.type, argument.type) for p, argument in taken) and fits(candidate.result, wanted)

        def attempt() -> bool:
            fitting = [c for c in candidates if could_be(c)] if len(candidates) > 1 else list(candidates)
            if not fitting:
                types = ", ".join(shown(argument.type) for argument in arguments)
                message = f"no function `{name}` takes ({types})" + _told_result(wanted)
                self.report(span, message, f"there is `{'`, `'.join(map(str, candidates[:4]))}`")
                chosen.append(lambda: core.FunctionInstance(name, 0, (), (), self.known(wanted)))
                return True
            if len(fitting) > 1:
                return False
            choose(fitting[0])
            return True

        def choose(signature: Signature) -> None:
            parameters, result = self.instance(signature)
            for place, argument in enumerate(arguments):
                self.require(spans[place], argument.type, parameters[place])
            self.require(span, result, wanted)
            chosen.append(lambda: self._made(signature, parameters, result))

        def fail() -> None:
            message = "; ".join(map(str, [c for c in candidates if could_be(c)][:4]))
            self.report(span, f"`{name}` may be one of several functions: {message}", "say the types: `(x: T)`")

        def guess() -> bool:
            """Of functions that all fit, that of the module itself."""
            own = [c for c in candidates if could_be(c) and c.module is self.module]
            if chosen or len(own) != 1 or own[0].module.is_library:
                return False
            choose(own[0])
            return True

        self.wait(lambda: bool(chosen) or attempt(), fail, guess)

        def build() -> core.TypedExpression:
            built = tuple(argument.build() for argument in arguments)
            return core.CallFunction(self.known(wanted), chosen[0](), built, span=span)

        return InferredExpression(wanted, build)

    def _closure_call(self, node: s.CallExpression) -> InferredExpression:
        closure = self.infer(node.callee)
        arguments = self.all(node.arguments)
        result = self.unknown()
        parameters = tuple(OpenParameter(argument.type) for argument in arguments)
        self.require(node.callee.span, closure.type, t.CallableType(parameters, result))

        def build() -> core.TypedExpression:
            mutable = tuple(map(is_mutable, parameters))
            built = tuple(argument.build() for argument in arguments)
            return core.CallClosure(self.known(result), closure.build(), built, mutable, span=node.span)

        return InferredExpression(result, build)

    def visit_LambdaExpression(self, node: s.LambdaExpression) -> InferredExpression:
        """Return a closure; it reads the variables around it, and cannot change them."""
        result = self.type(node.result) if node.result else self.unknown()
        outer, self.result = self.result, result
        parameters, names = list[t.FunctionParameter](), list[str]()
        with self.scope():
            for item in node.parameters:
                type_ = self.type(item.type) if item.type else self.unknown()
                mutable = t.FunctionParameter(type_, True) if item.mutable else OpenParameter(type_)
                parameters.append(mutable)
                names.append(self.declare(item.name, type_, mutable=True).name)
            body = self.expect(node.body, result)
        self.result = outer
        type_ = t.CallableType(tuple(parameters), result)

        def build() -> core.TypedExpression:
            mutable = tuple(map(is_mutable, parameters))
            return core.MakeClosure(self.known(type_), tuple(names), mutable, body.build(), span=node.span)

        return InferredExpression(type_, build)

    def text_of(self, node: s.ParsedExpression, typed: InferredExpression | None = None) -> InferredExpression:
        """Return the text of a value: of one that is no built-in one, what `to_string` gives."""
        of = typed or self.infer(node)
        chosen: list[InferredExpression] = []

        def decide(found: t.DdlogType) -> None:
            if isinstance(found, BUILT_IN):
                chosen.append(of if found == t.STRING else self.made(core.ToText, node.span, t.STRING, of))
            elif found == t.BROKEN:
                chosen.append(of)
            else:
                chosen.append(own_text(found))

        def own_text(type_: t.DdlogType) -> InferredExpression:
            candidates = [c for c in self._candidates("to_string", type_) if len(c.parameters) == 1]
            candidates = [c for c in candidates if fits(c.parameters[0].type, type_)]
            if not candidates:
                hint = f"define `function to_string(x: {shown(type_)}): string`"
                self.report(node.span, f"there is no text for `{shown(type_)}`", hint)
                return of
            made = self.call(node.span, "to_string", candidates, [of], [node.span])
            self.require(node.span, made.type, t.STRING)
            return made

        self.when_known(node.span, of.type, decide, "T")
        return InferredExpression(t.STRING, lambda: chosen[0].build())


def _counts(candidates: Sequence[Signature]) -> str:
    counts = sorted({len(c.parameters) for c in candidates})
    message = " or ".join(map(str, counts))
    return f"{message} argument{'s' * (counts != [1])}"


def _told_result(wanted: t.DdlogType) -> str:
    return "" if isinstance(resolve(wanted), TypeUnknown) else f" and gives `{shown(wanted)}`"
