"""Inference of types: what an expression says of the types in it, and what follows.

Each form of expression has a method `visit_…` in a subclass that gives its type, of which parts may be unknown, and a
way to build the typed expression once all is known. What cannot be decided yet waits: a field of a value whose
type is unknown, a name that several functions have. Unknown numbers are `bigint` when nothing else decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deltic.datalog.syntax.expressions import SyntaxNode
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog.types import UNIT, BigInt, DdlogType, Named, TypeVariable, parts, substitute
from deltic_ddlog.unification import TypeUnknown, resolve, resolved, shown, unify

if TYPE_CHECKING:
    from deltic_ddlog.declarations import Declarations, Signature
    from deltic_ddlog.modules import Module


FormT = TypeVar("FormT", bound=SyntaxNode)
FormT_co = TypeVar("FormT_co", bound=SyntaxNode, covariant=True)


@dataclass(frozen=True)
class Inferred(Generic[FormT_co]):
    """The type of an expression or a pattern, and what builds it when types are known."""

    type: DdlogType
    build: Callable[[], FormT_co]


InferredExpression = Inferred[core.TypedExpression]
InferredPattern = Inferred[core.Pattern]


@dataclass(frozen=True)
class Local:
    """A variable: its name, unique in the function or rule, its type, and whether it may change."""

    name: str
    type: DdlogType
    mutable: bool


@dataclass(frozen=True)
class Waiting:
    """A decision that waits for types: `attempt` returns whether it was taken, `fail` reports that it cannot be."""

    attempt: Callable[[], bool]
    fail: Callable[[], None]
    guess: Callable[[], bool] | None = None


class Inference:
    """The inference of types for the expressions of one function or rule."""

    def __init__(self, declarations: Declarations, module: Module, result: DdlogType | None = None) -> None:
        self.declarations = declarations
        self.module = module
        self.result = result
        self.findings: list[Diagnostic] = []
        self.type_variables: frozenset[str] = frozenset()
        self._scopes: list[dict[str, Local]] = [{}]
        self._names: set[str] = set()
        self._waiting: list[Waiting] = []
        self._numbers: list[TypeUnknown] = []
        self.loops = 0

    # --- names

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Variables that are declared inside are unknown afterwards."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def local(self, name: str) -> Local | None:
        """Return the variable that a name means here."""
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def is_fixed(self, name: str) -> bool:
        """Return whether a name means a parameter of the function or a variable of the rule; a block's own hides it."""
        return self.local(name) is not None and self.local(name) is self._scopes[0].get(name)

    def locals(self) -> list[str]:
        """Return the names of the variables that are known here."""
        return [name for scope in self._scopes for name in scope]

    def declare(self, name: str, type_: DdlogType, *, mutable: bool) -> Local:
        """Return a new variable."""
        result = Local(self.unique(name), type_, mutable)
        self._scopes[-1][name] = result
        return result

    def let(self, name: str, type_: DdlogType) -> None:
        """A variable that keeps its name."""
        self._scopes[-1][name] = Local(name, type_, mutable=False)

    def unique(self, name: str) -> str:
        """Return the name, or one like it that nothing has yet."""
        result, number = name, 1
        while result in self._names:
            number += 1
            result = f"{name}__{number}"
        self._names.add(result)
        return result

    def forget_all_but(self, names: Iterable[str]) -> None:
        """Of a rule's variables these alone are known from here on."""
        kept = {name: local for name in names if (local := self.local(name))}
        self._scopes = [kept]

    # --- types

    def unknown(self) -> TypeUnknown:
        """Return an unknown type, which inference finds."""
        return TypeUnknown()

    def unknown_type(self, name: str) -> Named:
        """Return a type of that name with unknown arguments."""
        parameters = self.declarations.types.entries[name].parameters
        return Named(name, tuple(self.unknown() for _ in parameters))

    def number(self, unknown: TypeUnknown) -> TypeUnknown:
        """Return a number's unknown type; `bigint` if nothing decides."""
        self._numbers.append(unknown)
        return unknown

    def type(self, mention: s.TypeMention) -> DdlogType:
        """Return the type that is mentioned."""
        before = len(self.declarations.findings)
        result = self.declarations.type(mention, self.module, self.type_variables)
        self.findings += self.declarations.findings[before:]
        del self.declarations.findings[before:]
        return result

    def instance(self, signature: Signature) -> tuple[list[DdlogType], DdlogType]:
        """Return the parameters' types and the result's with unknown types for type variables."""
        given: dict[str, DdlogType] = {}
        for type_ in (*(p.type for p in signature.parameters), signature.result):
            for name in sorted(variables_of(type_)):
                given.setdefault(name, self.unknown())
        return [substitute(p.type, given) for p in signature.parameters], substitute(signature.result, given)

    def require(self, span: Span, actual: DdlogType, wanted: DdlogType, hint: str = "") -> None:
        """Report where a type cannot be the one that is wanted."""
        names = shown(actual), shown(wanted)
        if not unify(actual, wanted):
            self.report(span, f"this is of type `{names[0]}`, and `{names[1]}` is expected here", hint)

    def report(self, span: Span, message: str, hint: str = "") -> None:
        """Add a finding."""
        self.findings.append(span.error(message, hint))

    def known(self, type_: DdlogType) -> DdlogType:
        """Return the type, once all is decided; what nothing decides does not matter."""
        return resolved(type_, UNIT)

    # --- expressions

    def infer(self, node: s.ParsedExpression) -> InferredExpression:
        """Return the expression's type and builder."""
        inferred: InferredExpression = getattr(self, f"visit_{type(node).__name__}")(node)
        return inferred

    def expect(self, node: s.ParsedExpression, wanted: DdlogType) -> InferredExpression:
        """Return the expression, which must be of a type."""
        typed = self.infer(node)
        self.require(node.span, typed.type, wanted)
        return typed

    def all(self, nodes: Sequence[s.ParsedExpression]) -> list[InferredExpression]:
        """Several expressions."""
        return [self.infer(node) for node in nodes]

    def made(self, form: Callable[..., FormT], span: Span, type_: DdlogType, *of: Any) -> Inferred[FormT]:
        """Return an expression or pattern of a form and a type, made of parts; those inferred are built with it."""
        return Inferred(type_, lambda: form(self.known(type_), *map(_built, of), span=span))

    def nothing(self, span: Span) -> InferredExpression:
        """Return the value of the type `()`."""
        return self.made(core.MakeTuple, span, UNIT, ())

    def broken(self, span: Span) -> InferredExpression:
        """Return the placeholder of an expression with a reported error."""
        return InferredExpression(self.unknown(), self.nothing(span).build)

    def wait(
        self, attempt: Callable[[], bool], fail: Callable[[], None], guess: Callable[[], bool] | None = None
    ) -> None:
        """Decide now, or when more is known."""
        if not attempt():
            self._waiting.append(Waiting(attempt, fail, guess))

    def when_known(
        self,
        span: Span,
        type_: DdlogType,
        decide: Callable[[DdlogType], None],
        example: str,
        guess: Callable[[], bool] | None = None,
    ) -> None:
        """Decide once the outermost part of a type is known; else report it, with an example."""

        def attempt() -> bool:
            found = resolve(type_)
            if not isinstance(found, TypeUnknown):
                decide(found)
            return not isinstance(found, TypeUnknown)

        self.wait(
            attempt, lambda: self.report(span, "the type of this is not known", f"say it: `(x: {example})`"), guess
        )

    def solve(self) -> None:
        """Decide all that waits."""
        while self._waiting:
            if self._step() or any(each.guess() for each in self._waiting if each.guess) or self._default():
                continue
            break
        if not self.findings:
            for waiting in self._waiting[:1]:
                waiting.fail()
        self._waiting.clear()

    def _step(self) -> bool:
        pending, self._waiting = self._waiting, []
        left = [waiting for waiting in pending if not waiting.attempt()]
        self._waiting = left + self._waiting
        return len(left) < len(pending)

    def _default(self) -> bool:
        """Let numbers of which nothing more will be known be of type `bigint`."""
        pending = [number for number in self._numbers if number.found is None]
        for number in pending:
            if number.kind != "any":
                number.found = BigInt()
        self._numbers.clear()
        return bool(pending)


def _built(part: Any) -> Any:
    """Return a part of an expression, with what is inferred in it built."""
    if isinstance(part, list | tuple):
        return tuple(map(_built, part))
    return part.build() if isinstance(part, Inferred) else part


def variables_of(type_: DdlogType) -> set[str]:
    """Return the type variables in a type."""
    type_ = resolve(type_)
    if isinstance(type_, TypeVariable):
        return {type_.name}
    return {name for part in parts(type_) for name in variables_of(part)}
