"""Builds loops over relations, which are another way to write rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltic.datalog.syntax.source import in_order
from deltic.errors import Diagnostic, ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.build import Parsed, TreeBuilder, clause_of


@dataclass(frozen=True)
class _Derived:
    """What a statement in a loop derives, once the clauses hold."""

    clauses: tuple[s.Clause, ...]
    head: s.AtomClause


class ModuleBuilder(TreeBuilder):
    """Builds modules. What it builds of a statement in a loop is a list of what the statement derives."""

    def module(self, parsed: Parsed) -> tuple[s.Item, ...]:
        """Return the items of a module. Raises ProgramError with the findings about all of them."""
        items, findings = list[s.Item](), list[Diagnostic]()
        for part in parsed.children:
            self.depth = 0
            try:
                items += self.build(part)
            except ProgramError as error:
                findings += error.diagnostics
        if findings:
            raise ProgramError(in_order(findings))
        return tuple(items)

    def _loop(self, parsed: Parsed) -> tuple[s.RuleItem, ...]:
        """Return the rules of `for (x in R) statement`."""
        span = self.span(parsed)
        derived = self.build(parsed.children[0])
        return tuple(s.RuleItem((result.head,), result.clauses, span=span) for result in derived)

    def _derived(self, parsed: Parsed) -> list[_Derived]:
        return [_Derived((), self.build(parsed.children[0]))]

    def _where(self, parsed: Parsed) -> list[_Derived]:
        """`var x = value in statement` or `condition in statement`."""
        condition, statement = parsed.children
        return _after([clause_of(self.build(condition), self.span(condition))], self.build(statement))

    def _block_statement(self, parsed: Parsed) -> list[_Derived]:
        return [derived for child in parsed.children for derived in self.build(child)]

    def _for_statement(self, parsed: Parsed) -> list[_Derived]:
        *given, statement = self.all(parsed.children)
        place = next(number for number, part in enumerate(given) if isinstance(part, s.AtomClause))
        atom, start = given[place], parsed.meta.start_pos
        bindings = list[s.Clause]()
        for pattern in given[:place]:
            value = s.NameExpression(f"__record{start}", span=pattern.span)
            atom = replace(atom, variable=value.name)
            bindings.append(s.ConditionClause(s.Assign(pattern, value, span=pattern.span), span=pattern.span))
        conditions = [s.ConditionClause(each, span=each.span) for each in given[place + 1 :]]
        return _after([s.LiteralClause(atom, False, span=atom.span), *bindings, *conditions], statement)

    def _if_statement(self, parsed: Parsed) -> list[_Derived]:
        condition, *ways = self.all(parsed.children)
        fails = s.Unary("not", condition, span=condition.span)
        decided = (s.ConditionClause(each, span=condition.span) for each in (condition, fails))
        return [derived for clause, way in zip(decided, ways, strict=False) for derived in _after([clause], way)]

    def _match_statement(self, parsed: Parsed) -> list[_Derived]:
        """Which case it is becomes a variable, so that a later case is tried only where no earlier one fits."""
        subject, *cases = self.all(parsed.children)
        span = self.span(parsed)
        name = f"__case{parsed.meta.start_pos}"
        patterns = [*(_anonymous(pattern) for pattern, _ in cases), s.WildcardPattern(span=span)]
        numbered = tuple(
            s.MatchCase(pattern, s.IntLiteral(place, 32, span=span), span=pattern.span)
            for place, pattern in enumerate(patterns)
        )
        chosen = s.Assign(
            s.VariableDeclaration(name, span=span), s.MatchExpression(subject, numbered, span=span), span=span
        )
        result = list[_Derived]()
        for place, (pattern, derived) in enumerate(cases):
            number = s.IntLiteral(place, 32, span=span)
            is_case = s.Binary("==", s.NameExpression(name, span=span), number, span=pattern.span)
            binds = s.Assign(pattern, subject, span=pattern.span)
            clauses = [s.ConditionClause(e, span=pattern.span) for e in (chosen, is_case, binds)]
            result += _after(clauses[:2] if isinstance(pattern, s.WildcardPattern) else clauses, derived)
        return result

    def _statement_case(self, parsed: Parsed) -> tuple[s.ParsedExpression, list[_Derived]]:
        return self.all(parsed.children)


def _after(clauses: Sequence[s.Clause], derived: list[_Derived]) -> list[_Derived]:
    return [_Derived((*clauses, *result.clauses), result.head) for result in derived]


def _anonymous(pattern: s.ParsedExpression) -> s.ParsedExpression:
    """Return the pattern without its variables."""
    match pattern:
        case s.VariableDeclaration() | s.NameExpression():
            return s.WildcardPattern(span=pattern.span)
        case s.At():
            return _anonymous(pattern.pattern)
        case s.TupleExpression():
            return replace(pattern, items=tuple(map(_anonymous, pattern.items)))
        case s.Construct():
            result = (replace(argument, value=_anonymous(argument.value)) for argument in pattern.arguments)
            return replace(pattern, arguments=tuple(result))
        case s.Reference() | s.Ascription():
            return replace(pattern, of=_anonymous(pattern.of))
        case _:
            return pattern
