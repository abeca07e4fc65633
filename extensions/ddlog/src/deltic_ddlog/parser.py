"""The parser: the text of one module to its syntax tree."""

from __future__ import annotations

from deltic.datalog.syntax.source import ProgramText, in_order
from deltic.errors import Diagnostic, ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.cursor import STARTERS
from deltic_ddlog.lexer import END, NAME, TYPE_VARIABLE, tokens
from deltic_ddlog.parse_rules import RuleParser

MOST_SYNTAX_ERRORS = 20

_BYTE_ORDER_MARK = "\ufeff"
_SEMANTICS: tuple[s.Semantics, ...] = ("relation", "stream", "multiset")
_ROLES: tuple[s.Role, ...] = ("input", "output", "internal")


def parse(text: str, file: str = "<ddlog>") -> s.ModuleFile:
    """The syntax tree of a module of DDlog.

    Raises ProgramError with a finding for each declaration that cannot be read, the first twenty.
    """
    source = ProgramText(file, text.removeprefix(_BYTE_ORDER_MARK))
    parser = _ModuleParser(source, tokens(source))
    items, findings = list[s.Item](), list[Diagnostic]()
    while parser.token.kind != END and len(findings) < MOST_SYNTAX_ERRORS:
        before = parser.at
        try:
            items += parser.items()
        except ProgramError as error:
            findings += error.diagnostics
            parser.depth = 0
            parser.skip_declaration(before)
    if findings:
        raise ProgramError(in_order(findings))
    return s.ModuleFile(tuple(items))


class _ModuleParser(RuleParser):
    """Reads declarations."""

    def skip_declaration(self, before: int) -> None:
        """Go to the next line that begins a declaration, after what could not be read."""
        self.at = max(self.at, before + 1)
        while self.token.kind != END and not self._begins_declaration():
            self.at += 1

    def _begins_declaration(self) -> bool:
        token = self.token
        starts_line = token.start == 0 or self.source.text[token.start - 1] == "\n"
        return starts_line and (self.is_upper() or token.text in STARTERS or self.is_at("#", "&"))

    def items(self) -> tuple[s.Item, ...]:
        """A declaration; a loop is several rules."""
        attributes = self._attributes()
        token = self.token
        if token.kind != NAME and not self.is_at("&"):
            raise self.unexpected("a declaration or a rule")
        if self.is_at("&") or self.is_upper() or self._binds_a_record():
            return (self.rule(),)
        match token.text:
            case "import":
                return (self._import(),)
            case "typedef":
                return (self._typedef(attributes),)
            case "function":
                return (self._function(token.start, is_extern=False),)
            case "extern":
                return (self._extern(attributes),)
            case "index":
                return (self._index(),)
            case "apply":
                return (self._apply(),)
            case "for":
                return self.loop()
            case word if word in _ROLES or word in _SEMANTICS:
                return (self._relation(attributes),)
        raise self.unexpected("a declaration or a rule", "relations' names begin with a capital letter")

    def _attributes(self) -> tuple[s.AttributeAnnotation, ...]:
        """`#[a = b, c] #[d]`."""
        result = list[s.AttributeAnnotation]()
        while self.accept("#"):
            self.expect("[")
            result += self.listed(self._attribute, "]")
        return tuple(result)

    def _attribute(self) -> s.AttributeAnnotation:
        start = self.token.start
        name = self.name("an attribute").text
        value: s.ParsedExpression | s.TypeMention | None = None
        if self.accept("="):
            value = self.expression()
        return s.AttributeAnnotation(name, value, span=self.span(start))

    def _import(self) -> s.ImportItem:
        start = self.advance().start
        if self.token.kind != NAME:
            raise self.unexpected("a module")
        module = self.advance().text
        while self.accept("."):
            module += f"::{self.name('a module').text}"
        alias = self.name("another name for the module").text if self.accept("as") else None
        return s.ImportItem(module, alias, span=self.span(start))

    def _type_parameters(self) -> tuple[str, ...]:
        if not self.accept("<"):
            return ()
        result = self.separated(self._type_variable)
        self.expect(">")
        return result

    def _type_variable(self) -> str:
        if self.token.kind != TYPE_VARIABLE:
            raise self.unexpected("a type variable", "type variables are written with a tick: `'A`")
        return self.advance().text

    def _typedef(self, attributes: tuple[s.AttributeAnnotation, ...]) -> s.Typedef:
        start = self.advance().start
        name = self.name("a type's name").text
        parameters = self._type_parameters()
        self.expect("=")
        definition = self.separated(self._constructor, "|") if self._begins_union() else self.type()
        return s.Typedef(name, parameters, definition, attributes, span=self.span(start))

    def _begins_union(self) -> bool:
        """Whether constructors follow, and no other type: of a name alone, what it is shows after it."""
        if self.is_at("#"):
            return True
        if not self.is_upper() or "::" in self.token.text:
            return False
        behind = self.ahead()
        return behind.text in ("{", "|") or behind.text != "<"

    def _constructor(self) -> s.ConstructorDeclaration:
        attributes = self._attributes()
        start = self.token.start
        if not self.is_upper():
            raise self.unexpected("a constructor", "constructors' names begin with a capital letter")
        name = self.name("a constructor").text
        fields = self.listed(self._field_declaration, "}") if self.accept("{") else ()
        return s.ConstructorDeclaration(name, fields, attributes, span=self.span(start))

    def _field_declaration(self) -> s.FieldDeclaration:
        attributes = self._attributes()
        start = self.token.start
        name = self.name("a field's name").text
        self.expect(":")
        return s.FieldDeclaration(name, self.type(), attributes, span=self.span(start))

    def _extern(self, attributes: tuple[s.AttributeAnnotation, ...]) -> s.Item:
        start = self.advance().start
        if self.is_at("function"):
            return self._function(start, is_extern=True)
        if self.accept("type"):
            name = self.name("a type's name").text
            parameters = self._type_parameters()
            return s.Typedef(name, parameters, None, attributes, span=self.span(start))
        if self.accept("transformer"):
            return self._transformer(start)
        raise self.unexpected("`function`, `type` or `transformer`")

    def _transformer(self, start: int) -> s.Transformer:
        name = self.advance().text
        self._skip_parentheses()
        self.expect("->")
        self._skip_parentheses()
        return s.Transformer(name, span=self.span(start))

    def _skip_parentheses(self) -> None:
        self.expect("(")
        depth = 1
        while depth:
            if self.token.kind == END:
                raise self.unexpected("`)`")
            depth += self.is_at("(") - self.is_at(")")
            self.advance()

    def _apply(self) -> s.ApplyItem:
        start = self.advance().start
        name = self.advance().text
        self.expect("(")
        arguments = self.listed(lambda: self.advance().text, ")")
        self.expect("->")
        self.expect("(")
        results = self.listed(lambda: self.advance().text, ")")
        return s.ApplyItem(name, tuple(arguments), tuple(results), span=self.span(start))

    def _function(self, start: int, *, is_extern: bool) -> s.FunctionDeclaration:
        self.expect("function")
        token = self.name("a function's name")
        if token.text[0].isupper():
            raise ProgramError([self.finding(token, "functions' names begin with a small letter")])
        self.expect("(")
        parameters = self.listed(self._parameter_declaration, ")")
        result = self.type() if self.accept(":") else None
        span = self.span(start)
        body = None
        if not is_extern:
            if not self.accept("=") and not self.is_at("{"):
                raise self.unexpected("the function's body", "write `{...}`, or `extern function` for one without")
            body = self.expression()
        return s.FunctionDeclaration(token.text, parameters, result, body, span=span)

    def _parameter_declaration(self) -> s.ParameterDeclaration:
        self._attributes()
        start = self.token.start
        name = self.name("a parameter's name").text
        self.expect(":")
        mutable = self.accept("mut")
        return s.ParameterDeclaration(name, self.type(), mutable, span=self.span(start))

    def _relation(self, attributes: tuple[s.AttributeAnnotation, ...]) -> s.RelationDeclaration:
        start = self.token.start
        role: s.Role = next((role for role in _ROLES if self.accept(role)), "internal")
        semantics = next((result for result in _SEMANTICS if self.accept(result)), None)
        if semantics is None:
            raise self.unexpected("`relation`, `stream` or `multiset`")
        by_reference = self.accept("&")
        if not self.is_upper():
            raise self.unexpected("a relation's name", "relations' names begin with a capital letter")
        name = self.name("a relation's name").text
        fields, record = None, None
        if self.accept("["):
            record = self.type()
            self.expect("]")
        else:
            self.expect("(", "say its columns: `R(x: string)`, or its type: `R[string]`")
            fields = self.listed(self._field_declaration, ")")
        span = self.span(start)
        key = self._key() if self.is_at("primary") else None
        return s.RelationDeclaration(name, role, semantics, by_reference, fields, record, key, attributes, span=span)

    def _key(self) -> s.KeyDeclaration:
        start = self.advance().start
        self.expect("key")
        self.expect("(")
        variable = self.name("a variable for the record").text
        self.expect(")")
        return s.KeyDeclaration(variable, self.expression(), span=self.span(start))

    def _index(self) -> s.IndexDeclaration:
        start = self.advance().start
        name = self.name("an index's name").text
        self.expect("(")
        parameters = self.listed(self._field_declaration, ")")
        self.expect("on")
        return s.IndexDeclaration(name, parameters, self.atom(), span=self.span(start))
