"""Rules, and the loops that are another way to write them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deltic.errors import ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.lexer import INT, NAME
from deltic_ddlog.parse_expressions import ExpressionParser


@dataclass(frozen=True)
class _Derived:
    """What a statement in a loop derives, once the clauses hold."""

    clauses: tuple[s.Clause, ...]
    head: s.AtomClause


class RuleParser(ExpressionParser):
    """Reads rules."""

    def rule(self) -> s.RuleItem:
        """`heads :- body.`"""
        start = self.token.start
        heads = self.separated(self._head)
        body = self.separated(self._clause) if self.accept(":-") else ()
        self.expect(".", "a rule ends with `.`, and its clauses are put apart by `,`")
        return s.RuleItem(heads, body, span=self.span(start))

    def _head(self) -> s.AtomClause:
        atom = self.atom()
        if not self.accept("@"):
            return atom
        return replace(atom, location=self._unary())

    def _is_atom(self) -> bool:
        """Whether an atom begins here, and no expression."""
        first = 1 if self.is_at("&") else 0
        if not self.is_upper(first) or self.ahead(first).text in ("FlatMap", "Aggregate", "Inspect"):
            return False
        behind = self.ahead(first + 1)
        is_delayed = behind.text == "-" and self.ahead(first + 2).kind == INT
        return behind.text in ("(", "[", "'") or (is_delayed and self.ahead(first + 3).text in ("(", "["))

    def atom(self) -> s.AtomClause:
        """`x in &R-1(...)`."""
        start, variable = self.token.start, None
        if self.token.kind == NAME and not self.is_upper() and self.ahead().text == "in":
            variable = self.name("a variable's name").text
            self.advance()
        by_reference = self.accept("&")
        if not self.is_upper():
            raise self.unexpected("a relation")
        relation = self.advance().text
        delay, differentiated = 0, self.accept("'")
        if self.is_at("-") and self.ahead().kind == INT:
            self.advance()
            at = self.token.start
            if not (delay := self.number("a number of transactions")):
                raise ProgramError([self.span(at).error("a delay is at least one transaction", "read it without")])
        arguments, record = None, None
        if self.accept("["):
            record = self.expression()
            self.expect("]")
        elif self.accept("("):
            arguments = self.listed(self.argument, ")")
        elif variable is None:
            raise self.unexpected("`(`", "an atom has its arguments in parentheses")
        else:
            arguments = ()
        span = self.span(start)
        return s.AtomClause(relation, arguments, record, variable, by_reference, delay, differentiated, span=span)

    def _clause(self) -> s.Clause:
        start = self.token.start
        if self._binds_a_record() or self._is_atom():
            return s.LiteralClause(self.atom(), negated=False, span=self.span(start))
        if self.is_at("not"):
            self.advance()
            if self._binds_a_record() or self._is_atom():
                return s.LiteralClause(self.atom(), negated=True, span=self.span(start))
            self.at -= 1
        if self.token.kind == NAME and self.token.text == "Inspect":
            self.advance()
            return s.InspectClause(self.expression(), span=self.span(start))
        return self._condition(start)

    def _binds_a_record(self) -> bool:
        return self.token.kind == NAME and self.ahead().kind == NAME and self.ahead().text == "in"

    def _condition(self, start: int) -> s.Clause:
        result = self.expression()
        span = self.span(start)
        if (
            isinstance(result, s.Assign)
            and isinstance(result.value, s.CallExpression)
            and isinstance(result.value.callee, s.NameExpression)
        ):
            call, callee = result.value, result.value.callee.name
            if callee == "FlatMap":
                self._check_arguments(call, 1)
                return s.FlatMapClause(result.target, call.arguments[0], span=span)
            if callee == "Aggregate":
                self._check_arguments(call, 2)
                return s.AggregateClause(result.target, call.arguments[0], call.arguments[1], span=span)
        return s.ConditionClause(result, span=span)

    def _check_arguments(self, call: s.CallExpression, count: int) -> None:
        if len(call.arguments) != count:
            message = "its items" if count == 1 else "variables to group by, and a function of a value"
            raise ProgramError([call.span.error(f"this takes {count} argument{'s'[: count - 1]}: {message}")])

    # --- loops

    def loop(self) -> tuple[s.RuleItem, ...]:
        """The rules of `for (x in R) statement`."""
        start = self.token.start
        derived = self._statement()
        span = self.span(start)
        return tuple(s.RuleItem((result.head,), result.clauses, span=span) for result in derived)

    def _statement(self) -> list[_Derived]:
        with self.nested():
            return self._any_statement()

    def _any_statement(self) -> list[_Derived]:
        if self.is_at("for"):
            return self._for_statement()
        if self.is_at("if"):
            return self._if_statement()
        if self.is_at("match"):
            return self._match_statement()
        if self.accept("{"):
            return self._block_statement()
        if self.accept("skip"):
            return []
        if self._is_atom():
            return [_Derived((), self._head())]
        return self._var_statement()

    def _after(self, clauses: tuple[s.Clause, ...], derived: list[_Derived]) -> list[_Derived]:
        return [_Derived((*clauses, *result.clauses), result.head) for result in derived]

    def _for_statement(self) -> list[_Derived]:
        start = self.advance().start
        self.expect("(")
        pattern = None if self._binds_a_record() or self._is_atom() else self.expression()
        if pattern is not None:
            self.expect("in")
        atom = self._plain_atom()
        clauses: list[s.Clause] = []
        if pattern is not None:
            name = f"__record{start}"
            atom = replace(atom, variable=name)
            value = s.NameExpression(name, span=pattern.span)
            clauses.append(s.ConditionClause(s.Assign(pattern, value, span=pattern.span), span=pattern.span))
        clauses.insert(0, s.LiteralClause(atom, negated=False, span=atom.span))
        if self.accept("if"):
            condition = self.expression()
            clauses.append(s.ConditionClause(condition, span=condition.span))
        self.expect(")")
        return self._after(tuple(clauses), self._statement())

    def _plain_atom(self) -> s.AtomClause:
        """An atom that may stand without parentheses."""
        start = self.token.start
        if not self._binds_a_record() and self.is_upper() and self.ahead().text in (")", "if"):
            return s.AtomClause(self.advance().text, (), None, span=self.span(start))
        return self.atom()

    def _if_statement(self) -> list[_Derived]:
        self.advance()
        condition = self.asked()
        holds = s.ConditionClause(condition, span=condition.span)
        result = self._after((holds,), self._statement())
        if self.accept("else"):
            fails = s.ConditionClause(s.Unary("not", condition, span=condition.span), span=condition.span)
            result += self._after((fails,), self._statement())
        return result

    def _match_statement(self) -> list[_Derived]:
        """Which case it is becomes a variable, so that a later case is tried only where no earlier one fits."""
        start = self.advance().start
        self.expect("(")
        subject = self.expression()
        self.expect(")")
        self.expect("{")
        cases = list[tuple[s.ParsedExpression, list[_Derived]]]()
        while not self.accept("}"):
            cases.append(self._statement_case())
            self.accept(",")
        span = self.span(start)
        name = f"__case{start}"
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
            clauses = clauses[:2] if isinstance(pattern, s.WildcardPattern) else clauses
            result += self._after(tuple(clauses), derived)
        return result

    def _statement_case(self) -> tuple[s.ParsedExpression, list[_Derived]]:
        pattern = self.expression()
        self.expect("->")
        return pattern, self._statement()

    def _block_statement(self) -> list[_Derived]:
        result = list[_Derived]()
        while not self.accept("}"):
            result += self._statement()
            if not self.accept(";"):
                self.expect("}", "statements in a block are put apart by `;`")
                break
        return result

    def _var_statement(self) -> list[_Derived]:
        clause = self._condition(self.token.start)
        self.expect("in", "write `R(...)`, `var x = value in statement` or `condition in statement`")
        return self._after((clause,), self._statement())


def _anonymous(pattern: s.ParsedExpression) -> s.ParsedExpression:
    """The pattern without its variables."""
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
