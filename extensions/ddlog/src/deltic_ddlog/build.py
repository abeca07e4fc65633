"""Builds the syntax tree of a module from lark's parse tree.

The method `_x` builds what the grammar calls `x`. Without one it is the node of that name, whose fields are the
children in their order: an absent one is None, False or ().
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from lark import Token, Tree

from deltic.datalog.syntax.expressions import SyntaxNode
from deltic.datalog.syntax.source import ProgramText, Span
from deltic.errors import ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.depth import DEEPEST, LONGEST

Parsed = Tree[Any]
Part = Parsed | Token | None

# From the loosest to the tightest.
_LEVELS = ("=>", "or", "and", "|", "^", "&", "== != < <= > >=", "++", "<< >>", "+ -", "* / %")
_TIGHTNESS = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators.split()}
_NUMBER = re.compile(r"([0-9_]+)?'(s?)(?:d(-?[0-9_]+)|h(\w+)|o(\w+)|b(\w+))|0(?:x(\w+)|o(\w+)|b(\w+))|([0-9_]+)")
_BASES = (10, 16, 8, 2, 16, 8, 2, 10)
_SIMPLER = "compute its parts as variables: `var x = ...`"


def _absent(annotation: str) -> object:
    """Return what a field of that type is where the text has nothing for it."""
    return False if annotation == "bool" else None if "None" in annotation or "tuple" not in annotation else ()


_NODES: dict[str, tuple[Callable[..., Any], list[object]]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): (
        node,
        [_absent(str(f.type)) for f in fields(node) if f.name != "span"],
    )
    for name, node in vars(s).items()
    if isinstance(node, type) and issubclass(node, SyntaxNode) and node is not SyntaxNode
}
"""The nodes by their names in the grammar, each with what its absent fields are."""
_NESTED = frozenset(
    (
        *("at", "block", "block_statement", "construct", "for", "for_statement", "function_type", "if", "if_statement"),
        *("lambda_expression", "map_literal", "match_expression", "match_statement", "parentheses", "postfix"),
        *("reference", "return", "string", "tuple_expression", "tuple_type", "type_reference", "unary", "vec_literal"),
        "where",
    )
)
"""What is a level of a program's depth."""


class _Operand(NamedTuple):
    """What an operator takes: its parts in the text, and how many operators follow one another in it."""

    node: s.ParsedExpression
    first: Parsed | Token
    last: Parsed | Token
    depth: int


class TreeBuilder:
    """Builds nodes."""

    def __init__(self, source: ProgramText, texts: dict[int, str]) -> None:
        self.source = source
        self.texts = texts
        self.depth = 0

    def build(self, part: Part) -> Any:
        """Return the node of a tree, or the text of a token. Raises ProgramError."""
        if not isinstance(part, Tree):
            return part and str(part)
        is_level = part.data in _NESTED
        self.depth += is_level
        if self.depth > DEEPEST:
            raise self.error(part, f"this is nested more than {DEEPEST} levels deep", _SIMPLER)
        method: Callable[[Parsed], Any] = getattr(self, f"_{part.data}", self._node)
        result = method(part)
        self.depth -= is_level
        return result

    def error(self, part: Parsed | Token, message: str, hint: str = "") -> ProgramError:
        """Return the error about a part of the text."""
        return ProgramError([self.span(part).error(message, hint)])

    def span(self, part: Parsed | Token, until: Parsed | Token | None = None) -> Span:
        """Return the place of a part, or from a part to another one."""
        first, last = (each if isinstance(each, Token) else each.meta for each in (part, until or part))
        return self.source.place(first.start_pos or 0, last.end_pos or 0)

    def all(self, parts: Sequence[Part]) -> tuple[Any, ...]:
        """Return the nodes of some parts."""
        return tuple(map(self.build, parts))

    def _node(self, parsed: Parsed) -> Any:
        node, absent = _NODES[parsed.data]
        given = zip(map(self.build, parsed.children), absent, strict=False)
        values = [other if value is None else True if other is False else value for value, other in given]
        return node(*values, span=self.span(parsed))

    def _tuple(self, parsed: Parsed) -> tuple[Any, ...]:
        return self.all(parsed.children)

    # Declarations

    def _item(self, parsed: Parsed) -> tuple[s.Item, ...]:
        attributes, item = self.all(parsed.children)
        if isinstance(item, s.Typedef | s.RelationDeclaration):
            item = replace(item, attributes=attributes or ())
        return item if isinstance(item, tuple) else (item,)

    def _import_item(self, parsed: Parsed) -> s.ImportItem:
        module, alias = self.all(parsed.children)
        return s.ImportItem(module.replace(".", "::"), alias, span=self.span(parsed))

    def _type_parameters(self, parsed: Parsed) -> tuple[str, ...]:
        return tuple(str(token)[1:] for token in parsed.children)

    def _typedef(self, parsed: Parsed) -> s.Typedef:
        return s.Typedef(*self.all([*parsed.children, None][:3]), span=self.span(parsed))

    def _constructor_declaration(self, parsed: Parsed) -> s.ConstructorDeclaration:
        attributes, name, fields = self.all(parsed.children)
        return s.ConstructorDeclaration(
            name, fields or (), attributes or (), span=self.span(parsed.children[1], parsed)
        )

    def _field_declaration(self, parsed: Parsed) -> s.FieldDeclaration:
        attributes, name, type_ = self.all(parsed.children)
        return s.FieldDeclaration(name, type_, attributes or (), span=self.span(parsed.children[1], parsed))

    def _parameter_declaration(self, parsed: Parsed) -> s.ParameterDeclaration:
        _, name, mutable, type_ = self.all(parsed.children)
        return s.ParameterDeclaration(name, bool(mutable), type_, span=self.span(parsed.children[1], parsed))

    def _function_declaration(self, parsed: Parsed) -> s.FunctionDeclaration:
        signature, *body = parsed.children
        values = (*self.all(signature.children), self.build(body[0]) if body else None)
        return s.FunctionDeclaration(*values, span=self.span(parsed, signature))

    def _relation_declaration(self, parsed: Parsed) -> s.RelationDeclaration:
        head, key = parsed.children
        role, semantics, by_reference, name, columns = self.all(head.children)
        fields, record = (columns, None) if isinstance(columns, tuple) else (None, columns)
        internal: s.Role = "internal"
        return s.RelationDeclaration(
            name, role or internal, semantics, bool(by_reference), fields, record, self.build(key), span=self.span(head)
        )

    # Types

    def _type_variable_name(self, parsed: Parsed) -> s.TypeVariableName:
        return s.TypeVariableName(str(parsed.children[0])[1:], span=self.span(parsed))

    def _parameter_type(self, parsed: Parsed) -> s.ParameterType:
        """Its name, where there is one, says nothing."""
        mutable, type_ = self.all(parsed.children[-2:])
        return s.ParameterType(bool(mutable), type_, span=self.span(parsed))

    def _width_type(self, parsed: Parsed) -> s.WidthType:
        kind, width = self.all(parsed.children)
        if (bits := _number(width)[0]) < 1:
            raise self.error(parsed, "a width is at least 1 bit")
        return s.WidthType(kind, bits, span=self.span(parsed))

    # Rules

    def _head(self, parsed: Parsed) -> s.AtomClause:
        atom, location = self.all(parsed.children)
        head: s.AtomClause = replace(atom, location=location)
        return head

    def _literal(self, parsed: Parsed) -> s.LiteralClause:
        atom = self.build(parsed.children[-1])
        return s.LiteralClause(atom, len(parsed.children) > 1, span=self.span(parsed))

    def _condition(self, parsed: Parsed) -> s.Clause:
        return clause_of(self.build(parsed.children[0]), self.span(parsed))

    def _atom(self, parsed: Parsed) -> s.AtomClause:
        """Return an atom; without parentheses it has no arguments."""
        given = {part.type: part for part in parsed.children if isinstance(part, Token)}
        delay = given.get("DELAY") or given.get("LONE_DELAY")
        before = int(delay[1:]) if delay else 0
        if delay and not before:
            raise self.error(delay, "a delay is at least one transaction", "read it without")
        last = parsed.children[-1]
        is_record = isinstance(last, Tree) and last.data == "record"
        record = self.build(last.children[0]) if is_record else None
        arguments = None if is_record else self.build(last) if isinstance(last, Tree) else ()
        flags = "AMP" in given, before, "TICK" in given
        return s.AtomClause(
            str(given["UPPER"]), arguments, record, self.build(given.get("LOWER")), *flags, span=self.span(parsed)
        )

    def _argument(self, parsed: Parsed) -> s.Argument:
        name, value = self.all([None, *parsed.children][-2:])
        return s.Argument(name, value, span=self.span(parsed))

    # Expressions

    def _int_literal(self, parsed: Parsed) -> s.IntLiteral:
        return s.IntLiteral(*_number(str(parsed.children[0])), span=self.span(parsed))

    def _float_expression(self, parsed: Parsed) -> s.FloatExpression:
        width, _, digits = str(parsed.children[0]).rpartition("'f")
        return s.FloatExpression(float(digits), int(width) if width else None, span=self.span(parsed))

    def _string(self, parsed: Parsed) -> s.ParsedExpression:
        """Strings that stand beside each other are one."""
        span, parts, text = self.span(parsed), list[s.ParsedExpression](), ""
        for child in (*parsed.children, None):
            if isinstance(child, Token):
                text += self.texts[child.start_pos or 0]
                continue
            if text:
                parts.append(s.StringExpression(text, span=span))
            text = ""
            if child is not None:
                parts.append(self.build(child))
        if all(isinstance(child, Token) for child in parsed.children):
            return parts[0] if parts else s.StringExpression("", span=span)
        return s.Interpolation(tuple(parts), span=span)

    def _bool_literal(self, parsed: Parsed) -> s.BoolLiteral:
        return s.BoolLiteral(parsed.children[0] == "true", span=self.span(parsed))

    def _name(self, parsed: Parsed) -> s.ParsedExpression:
        name, span = str(parsed.children[0]), self.span(parsed)
        return s.WildcardPattern(span=span) if name == "_" else s.NameExpression(name, span=span)

    def _parentheses(self, parsed: Parsed) -> Any:
        return self.build(parsed.children[0])

    def _construct(self, parsed: Parsed) -> s.Construct:
        name, arguments = self.all(parsed.children)
        return s.Construct(name, arguments or (), arguments is not None, span=self.span(parsed))

    def _reference(self, parsed: Parsed) -> s.Reference:
        return s.Reference(self.build(parsed.children[1]), span=self.span(parsed))

    def _block(self, parsed: Parsed) -> Any:
        """Expressions with `;` between them; one at the end says that there is no value."""
        items, span = self.all(parsed.children), self.span(parsed)
        if items[-1] is None:
            items = (*items[:-1], s.TupleExpression((), span=span))
        elif len(items) == 1:
            return items[0]
        return s.Sequence(items, span=span)

    def _if(self, parsed: Parsed) -> s.If:
        """Return a choice; those in a chain of `else if` are on one level."""
        condition, then = self.all(parsed.children[:2])
        self.depth -= 1
        otherwise = self.build(parsed.children[2])
        self.depth += 1
        return s.If(condition, then, otherwise, span=self.span(parsed))

    def _assign(self, parsed: Parsed) -> s.ParsedExpression:
        target, value = self.all(parsed.children)
        span = self.span(parsed)
        if isinstance(target, s.If) and target.otherwise is not None:
            # `if (c) a = 1 else b = 2`: the last assignment is inside.
            inside = s.Assign(target.otherwise, value, span=target.otherwise.span)
            return s.If(target.condition, target.then, inside, span=span)
        return s.Assign(target, value, span=span)

    def _operators(self, parsed: Parsed) -> s.ParsedExpression:
        """Operands by the tightness of the operators between them, those of one level from left to right."""
        waiting = list[tuple[_Operand, Token, str]]()
        operand = _Operand(self.build(parsed.children[0]), parsed.children[0], parsed.children[0], 0)
        for token, operator, part in _links(parsed.children[1:]):
            operand = self._joined(waiting, operand, _TIGHTNESS[operator])
            waiting.append((operand, token, operator))
            operand = _Operand(self.build(part), part, part, 0)
        return self._joined(waiting, operand, 0).node

    def _joined(self, waiting: list[tuple[_Operand, Token, str]], right: _Operand, level: int) -> _Operand:
        """Return the operand with those before it that wait for it, at operators at least as tight as `level`."""
        while waiting and _TIGHTNESS[waiting[-1][2]] >= level:
            left, token, operator = waiting.pop()
            if (depth := max(left.depth, right.depth) + 1) > LONGEST:
                raise self._too_long(token)
            node = s.Binary(operator, left.node, right.node, span=self.span(left.first, right.last))
            right = _Operand(node, left.first, right.last, depth)
        return right

    def _too_long(self, part: Parsed | Token) -> ProgramError:
        return self.error(part, f"this is longer than {LONGEST} operations", _SIMPLER)

    def _postfix(self, parsed: Parsed) -> s.ParsedExpression:
        """Return a term with calls, fields, slices, types and casts after it."""
        of, *suffixes = parsed.children
        result: s.ParsedExpression = self.build(of)
        if len(suffixes) > LONGEST:
            raise self._too_long(suffixes[LONGEST])
        for suffix in suffixes:
            values, span = self.all(suffix.children), self.span(parsed, suffix)
            match suffix.data:
                case "call" if isinstance(result, s.Construct) and not result.braces:
                    hint = f"write `{result.constructor}{{...}}` for a value; an atom stands alone in a rule's body"
                    raise self.error(suffix, "a constructor's `{` is expected here, and not `(`", hint)
                case "call":
                    result = s.CallExpression(result, *values, span=span)
                case "method":
                    callee = s.NameExpression(values[0], span=self.span(suffix.children[0]))
                    result = s.CallExpression(callee, (result, *values[1]), dotted=True, span=span)
                case "tuple_field" | "slice":
                    result = _NODES[suffix.data][0](result, *(int(value) for value in values), span=span)
                case _:
                    result = _NODES[suffix.data][0](result, *values, span=span)
        return result


def clause_of(expression: s.ParsedExpression, span: Span) -> s.Clause:
    """Return the clause of a body that an expression is."""
    match expression:
        case s.Assign(target, s.CallExpression(s.NameExpression("FlatMap"), arguments) as call):
            _check_arguments(call, 1)
            return s.FlatMapClause(target, *arguments, span=span)
        case s.Assign(target, s.CallExpression(s.NameExpression("Aggregate"), arguments) as call):
            _check_arguments(call, 2)
            return s.AggregateClause(target, *arguments, span=span)
    return s.ConditionClause(expression, span=span)


def _check_arguments(call: s.CallExpression, count: int) -> None:
    if len(call.arguments) != count:
        message = "its items" if count == 1 else "variables to group by, and a function of a value"
        raise ProgramError([call.span.error(f"this takes {count} argument{'s'[: count - 1]}: {message}")])


def _links(parts: Sequence[Any]) -> Iterator[tuple[Token, str, Any]]:
    """Yield the operators of a chain, each with its first token and the operand after it."""
    tokens = list[Token]()
    for part in parts:
        if isinstance(part, Token):
            tokens.append(part)
        else:
            yield tokens[0], "".join(tokens), part
            tokens = []


def _number(text: str) -> tuple[int, int | None, bool]:
    """Return the value of a number, its width and whether it is signed."""
    result = _NUMBER.fullmatch(text)
    assert result
    width, signed, *digits = result.groups()
    value = next(int(text.replace("_", "") or "0", base) for text, base in zip(digits, _BASES, strict=True) if text)
    return value, int(width.replace("_", "")) if width else None, bool(signed)
