"""Expressions and patterns, by descent.

Tables of a grammar do not fit: whether `{` opens a block or a constructor's fields, `|` a closure or an operator, and
`.` ends a rule or leads to a field, follows from what stands around.
"""

from __future__ import annotations

from collections.abc import Callable

from deltic.errors import ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.cursor import RESERVED, STARTERS
from deltic_ddlog.depth import LONGEST
from deltic_ddlog.lexer import END, FLOAT, INT, LIT, NAME, OPERATOR, Token
from deltic_ddlog.parse_types import TypeParser

# From the loosest to the tightest.
_LEVELS = (
    ("=>",),
    ("or",),
    ("and",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("++",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_TIGHTNESS = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}


class ExpressionParser(TypeParser):
    """Reads expressions."""

    def expression(self) -> s.ParsedExpression:
        """An expression without `;` outside of braces."""
        with self.nested():
            return self._assignment()

    def _assignment(self) -> s.ParsedExpression:
        start = self.token.start
        target = self._operators(0)
        if not self.is_at("="):
            return target
        self.advance()
        value = self.expression()
        if isinstance(target, s.If) and target.otherwise is not None:
            # `if (c) a = 1 else b = 2`: the last assignment is inside.
            inside = s.Assign(target.otherwise, value, span=target.otherwise.span)
            return s.If(target.condition, target.then, inside, span=self.span(start))
        return s.Assign(target, value, span=self.span(start))

    def _operators(self, level: int) -> s.ParsedExpression:
        """Operands of operators at least as tight as `level`, from left to right."""
        start = self.token.start
        left, count = self._unary(), 0
        while (operator := self._operator()) and _TIGHTNESS[operator] >= level:
            count = self._counted(count)
            self.advance()
            if operator in (">>", ">="):
                self.advance()
            right = self._operators(_TIGHTNESS[operator] + 1)
            left = s.Binary(operator, left, right, span=self.span(start))
        return left

    def _counted(self, count: int) -> int:
        """One more link of a chain of operators or fields."""
        if count >= LONGEST:
            message = f"this is longer than {LONGEST} operations"
            raise ProgramError([self.finding(self.token, message, "compute its parts as variables: `var x = ...`")])
        return count + 1

    def _operator(self) -> str:
        """The operator that is next, "" where there is none."""
        token, behind = self.token, self.ahead()
        if token.kind not in (OPERATOR, NAME):
            return ""
        if token.text == ">" and behind.kind == OPERATOR and behind.text in (">", "=") and behind.start == token.end:
            return token.text + behind.text
        return token.text if token.text in _TIGHTNESS else ""

    def _unary(self) -> s.ParsedExpression:
        start, token = self.token.start, self.token
        if self.accept("&"):
            with self.nested():
                return s.Reference(self._unary(), span=self.span(start))
        if token.kind in (OPERATOR, NAME) and token.text in ("-", "~", "not"):
            self.advance()
            with self.nested():
                return s.Unary(token.text, self._unary(), span=self.span(start))
        return self._postfix(self._term(), start)

    def _postfix(self, of: s.ParsedExpression, start: int) -> s.ParsedExpression:
        """The suffixes of a term: calls, fields, slices, types, casts."""
        count = 0
        while (behind := self._next_postfix(of, start)) is not None:
            of, count = behind, self._counted(count)
        return of

    def _next_postfix(self, of: s.ParsedExpression, start: int) -> s.ParsedExpression | None:
        if self.token.kind not in (OPERATOR, NAME):
            return None
        match self.token.text:
            case "." if self._leads_to_a_field():
                return self._field(of, start)
            case "(" if (
                isinstance(of, s.NameExpression | s.CallExpression | s.FieldAccess | s.TupleField)
                or self.last.text == ")"
            ):
                self.advance()
                return s.CallExpression(of, self.listed(self.expression, ")"), span=self.span(start))
            case "[" if self.ahead().kind == INT and self.ahead(2).text == ":":
                return self._slice(of, start)
            case "?":
                self.advance()
                return s.Try(of, span=self.span(start))
            case ":":
                self.advance()
                return s.Ascription(of, self.type(), span=self.span(start))
            case "as":
                self.advance()
                return s.CastExpression(of, self.type(), span=self.span(start))
        return None

    def _leads_to_a_field(self) -> bool:
        """Whether the dot that is next does not end a rule."""
        behind = self.ahead()
        if behind.kind == INT:
            return behind.start == self.token.end
        if behind.kind != NAME or self.is_upper(1) or "::" in behind.text:
            return behind.kind == NAME and "::" in behind.text and not self.is_upper(1)
        return behind.start == self.token.end or behind.text not in STARTERS

    def _field(self, of: s.ParsedExpression, start: int) -> s.ParsedExpression:
        self.advance()
        token = self.advance()
        if token.kind == INT:
            return s.TupleField(of, int(token.value), span=self.span(start))
        if self.is_at("("):
            callee = s.NameExpression(token.text, span=self.span(token.start))
            self.advance()
            arguments = (of, *self.listed(self.expression, ")"))
            return s.CallExpression(callee, arguments, dotted=True, span=self.span(start))
        return s.FieldAccess(of, token.text, span=self.span(start))

    def _slice(self, of: s.ParsedExpression, start: int) -> s.ParsedExpression:
        self.advance()
        high = self.number("the highest bit")
        self.expect(":")
        low = self.number("the lowest bit")
        self.expect("]")
        return s.Slice(of, high, low, span=self.span(start))

    def _term(self) -> s.ParsedExpression:
        token, start = self.token, self.token.start
        if token.kind == INT:
            self.advance()
            return s.IntLiteral(int(token.value), token.width, token.signed, span=self.span(start))
        if token.kind == FLOAT:
            self.advance()
            return s.FloatExpression(float(token.value), token.width, span=self.span(start))
        if token.kind == LIT:
            return self._string()
        if token.kind == NAME:
            return self._word(token)
        openers = {"(": self._parenthesis, "{": self.block, "[": self._collection, "|": self._bars, "||": self._bars}
        if token.kind == OPERATOR and token.text in openers:
            return openers[token.text]()
        raise self.unexpected("an expression")

    def _string(self) -> s.ParsedExpression:
        """Strings that stand beside each other are one."""
        start = self.token.start
        parts = list[s.ParsedExpression]()
        text = ""
        while self.token.kind == LIT:
            token = self.advance()
            for part in token.parts:
                if isinstance(part, str):
                    text += part
                    continue
                if text:
                    parts.append(s.StringExpression(text, span=self.span(start)))
                text = ""
                parts.append(self._inside(part))
        span = self.span(start)
        if not parts:
            return s.StringExpression(text, span=span)
        rest = (s.StringExpression(text, span=span),) if text else ()
        return s.Interpolation((*parts, *rest), span=span)

    def _inside(self, part: tuple[Token, ...]) -> s.ParsedExpression:
        """The expression in a string."""
        outer = self.tokens, self.at
        self.tokens, self.at = list(part), 0
        try:
            result = self.sequence(part[0].start)
            if self.token.kind != END:
                raise self.unexpected("`}`")
        finally:
            self.tokens, self.at = outer
        return result

    def _word(self, token: Token) -> s.ParsedExpression:
        start = token.start
        readers: dict[str, Callable[[], s.ParsedExpression]] = {
            "if": self._if,
            "match": self._match,
            "for": self._for,
            "var": self._declaration,
            "return": self._return,
            "function": self._lambda,
        }
        if token.text in readers:
            return readers[token.text]()
        self.advance()
        span = self.span(start)
        match token.text:
            case "_":
                return s.WildcardPattern(span=span)
            case "true" | "false":
                return s.BoolLiteral(token.text == "true", span=span)
            case "break" | "continue":
                return s.Leave(token.text, span=span)
            case "i" if self.token.kind == LIT and self.token.start == token.end:
                return s.InternedString(self._string(), span=self.span(start))
        if token.text in RESERVED:
            self.at -= 1
            raise self.unexpected("an expression")
        if self.accept("@"):
            pattern = self._unary()
            return s.At(token.text, pattern, span=self.span(start))
        if token.text.rpartition("::")[2][0].isupper():
            return self._construct(token)
        return s.NameExpression(token.text, span=span)

    def _construct(self, token: Token) -> s.ParsedExpression:
        """A constructor; `FlatMap` and `Aggregate`, which a rule takes apart, are names."""
        if self.is_at("("):
            if token.text in ("FlatMap", "Aggregate"):
                return s.NameExpression(token.text, span=self.span(token.start))
            hint = f"write `{token.text}{{...}}` for a value; an atom stands alone in a rule's body"
            raise self.unexpected("a constructor's `{`", hint)
        braces = self.accept("{")
        arguments = self.listed(self.argument, "}") if braces else ()
        return s.Construct(token.text, arguments, braces, span=self.span(token.start))

    def argument(self) -> s.Argument:
        """`value` or `.name = value`."""
        start = self.token.start
        if not self.accept("."):
            return s.Argument(None, self.expression(), span=self.span(start))
        name = self.name("a field's name").text
        self.expect("=")
        return s.Argument(name, self.expression(), span=self.span(start))

    def _parenthesis(self) -> s.ParsedExpression:
        start = self.advance().start
        if self.accept(")"):
            return s.TupleExpression((), span=self.span(start))
        first = self.expression()
        if self.accept(")"):
            return first
        self.expect(",")
        return s.TupleExpression((first, *self.listed(self.expression, ")")), span=self.span(start))

    def block(self) -> s.ParsedExpression:
        """`{a; b}`."""
        start = self.expect("{").start
        result = self.sequence(start)
        self.expect("}", "expressions in a block are put apart by `;`")
        return result

    def sequence(self, start: int) -> s.ParsedExpression:
        """Expressions with `;` between them; one at the end says that there is no value."""
        items = list[s.ParsedExpression]()
        is_open = True
        while is_open and not self.is_at("}") and self.token.kind != END:
            items.append(self.expression())
            is_open = self.accept(";")
        if len(items) == 1 and not is_open:
            return items[0]
        if is_open:
            items.append(s.TupleExpression((), span=self.span(self.last.start)))
        return s.Sequence(tuple(items), span=self.span(start))

    def _collection(self) -> s.ParsedExpression:
        """`[a, b]` or `[a -> b]`."""
        start = self.advance().start
        pairs, items = list[tuple[s.ParsedExpression, s.ParsedExpression]](), list[s.ParsedExpression]()

        def item() -> None:
            result = self.expression()
            if self.accept("->"):
                pairs.append((result, self.expression()))
            else:
                items.append(result)

        self.listed(item, "]")
        span = self.span(start)
        if pairs and items:
            raise ProgramError([span.error("this is a map and a vector at the same time", "give each item a key")])
        return s.MapLiteral(tuple(pairs), span=span) if pairs else s.VecLiteral(tuple(items), span=span)

    def _if(self) -> s.ParsedExpression:
        """The last part is a term, so that what follows it is applied to the whole."""
        start = self.advance().start
        condition, then = self.asked(), self.expression()
        if not self.accept("else"):
            return s.If(condition, then, None, span=self.span(start))
        inside = self.token.start
        otherwise = self._postfix(self._term(), inside) if not self.is_at("-", "~", "not", "&") else self._unary()
        return s.If(condition, then, otherwise, span=self.span(start))

    def asked(self) -> s.ParsedExpression:
        """The condition after `if`: in parentheses, or a term."""
        if not self.accept("("):
            return self._term()
        condition = self.expression()
        self.expect(")")
        return condition

    def _match(self) -> s.ParsedExpression:
        start = self.advance().start
        self.expect("(", "write `match (value) {...}`")
        subject = self.expression()
        self.expect(")")
        self.expect("{")
        return s.MatchExpression(subject, self.listed(self._case, "}"), span=self.span(start))

    def _case(self) -> s.MatchCase:
        start = self.token.start
        pattern = self.expression()
        self.expect("->")
        return s.MatchCase(pattern, self.expression(), span=self.span(start))

    def _for(self) -> s.ParsedExpression:
        start = self.advance().start
        self.expect("(", "write `for (x in items) ...`")
        pattern = self.expression()
        self.expect("in")
        items = self.expression()
        self.expect(")")
        return s.For(pattern, items, self.expression(), span=self.span(start))

    def _declaration(self) -> s.ParsedExpression:
        start = self.advance().start
        name = self.name("a variable's name")
        if self.accept("@"):
            return s.At(name.text, self._unary(), span=self.span(start))
        return s.VariableDeclaration(name.text, span=self.span(start))

    def _return(self) -> s.ParsedExpression:
        start = self.advance().start
        is_bare = self.is_at(";", "}", ")", ",", "else") or self.token.kind == END
        return s.Return(None if is_bare else self.expression(), span=self.span(start))

    def _bars(self) -> s.ParsedExpression:
        """`|x, y| body`."""
        token = self.advance()
        parameters = self.listed(self._lambda_parameter, "|") if token.text == "|" else ()
        return self._closure(token.start, parameters)

    def _lambda(self) -> s.ParsedExpression:
        """`function(x, y) body`."""
        start = self.advance().start
        self.expect("(")
        return self._closure(start, self.listed(self._lambda_parameter, ")"))

    def _closure(self, start: int, parameters: tuple[s.LambdaParameter, ...]) -> s.ParsedExpression:
        result = self.type() if self.accept(":") else None
        self.accept("=")
        return s.LambdaExpression(parameters, result, self.expression(), span=self.span(start))

    def _lambda_parameter(self) -> s.LambdaParameter:
        start = self.token.start
        name = self.name("a parameter's name").text
        mutable, type_ = False, None
        if self.accept(":"):
            mutable = self.accept("mut")
            type_ = self.type()
        return s.LambdaParameter(name, type_, mutable, span=self.span(start))
