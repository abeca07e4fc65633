"""Types where the text mentions them."""

from __future__ import annotations

from deltic.errors import ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.cursor import TokenCursor
from deltic_ddlog.lexer import NAME, OPERATOR, TYPE_VARIABLE


class TypeParser(TokenCursor):
    """Reads types."""

    def type(self) -> s.TypeMention:
        """A type."""
        with self.nested():
            return self._type()

    def _type(self) -> s.TypeMention:
        start = self.token.start
        if self.token.kind == TYPE_VARIABLE:
            return s.TypeVariableName(self.advance().text, span=self.span(start))
        if self.accept("("):
            items = self.listed(self.type, ")")
            return items[0] if len(items) == 1 else s.TupleType(items, span=self.span(start))
        if self.accept("||"):
            return s.FunctionType((), self._result(), span=self.span(start))
        if self.accept("|"):
            return self._function_type(start, "|")
        if self.accept("function"):
            self.expect("(")
            return self._function_type(start, ")")
        return self._named(start)

    def _function_type(self, start: int, end: str) -> s.TypeMention:
        parameters = self.listed(self._parameter_type, end)
        return s.FunctionType(parameters, self._result(), span=self.span(start))

    def _parameter_type(self) -> s.ParameterType:
        """A parameter of a function's type; its name, where there is one, says nothing."""
        start = self.token.start
        if self.token.kind == NAME and self.ahead().kind == OPERATOR and self.ahead().text == ":":
            self.advance()
            self.advance()
        mutable = self.accept("mut")
        return s.ParameterType(self.type(), mutable, span=self.span(start))

    def _result(self) -> s.TypeMention | None:
        return self.type() if self.accept(":") else None

    def _named(self, start: int) -> s.TypeMention:
        token = self.token
        if token.kind != NAME:
            raise self.unexpected("a type")
        self.advance()
        if token.text in ("bit", "signed"):
            return self._width(token.text, start)
        return s.TypeReference(token.text, self._arguments(), span=self.span(start))

    def _arguments(self) -> tuple[s.TypeMention, ...]:
        """`<A, B>`; in `x as u32 < y` the same character is an operator."""
        before = self.at
        if not self.accept("<"):
            return ()
        try:
            return self._listed_arguments()
        except ProgramError:
            if self.tokens[before - 2].text != "as":
                raise
            self.at = before
            return ()

    def _listed_arguments(self) -> tuple[s.TypeMention, ...]:
        result = self.separated(self.type)
        self.expect(">")
        return result

    def _width(self, kind: str, start: int) -> s.TypeMention:
        self.expect("<", f"say its width: `{kind}<32>`")
        width = self.number("a width in bits")
        self.expect(">")
        span = self.span(start)
        if width < 1:
            raise ProgramError([span.error("a width is at least 1 bit")])
        return s.WidthType("bit" if kind == "bit" else "signed", width, span=span)
