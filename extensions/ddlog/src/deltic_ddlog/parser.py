"""The parser: the text of one module to its syntax tree."""

from __future__ import annotations

import re
from typing import Any

from lark.exceptions import UnexpectedToken

from deltic.datalog.syntax.source import ProgramText, in_order
from deltic.errors import Diagnostic, ProgramError
from deltic.grammars import load
from deltic_ddlog import syntax as s
from deltic_ddlog.build_loops import ModuleBuilder
from deltic_ddlog.literals import Literals

MOST_SYNTAX_ERRORS = 20

_BYTE_ORDER_MARK = "\ufeff"
_DECLARATION = re.compile(
    r"^(?=[#&A-Z]|(?:input|output|internal|relation|stream|multiset|function|typedef|import|extern|for|apply|index)\b)",
    re.MULTILINE,
)
"""A line that begins a declaration or a rule."""


def parse(text: str, file: str = "<ddlog>") -> s.ModuleFile:
    """Return the syntax tree of a module of DDlog.

    Raises ProgramError with a finding for each declaration that cannot be read, the first twenty.
    """
    source = ProgramText(file, text.removeprefix(_BYTE_ORDER_MARK))
    literals = Literals(source)
    builder, items, findings = ModuleBuilder(source, literals.texts), tuple[s.Item, ...](), list[Diagnostic]()
    rest = literals.masked
    while len(findings) < MOST_SYNTAX_ERRORS:
        try:
            parsed = load(__package__, "module").parse(rest)
            items = () if findings else builder.module(parsed)
            break
        except UnexpectedToken as error:
            finding, offset = explain(source, error)
            findings.append(finding)
            begin = next((each.start() for each in _DECLARATION.finditer(rest, offset + 1)), len(rest))
            rest = " " * begin + rest[begin:]
    if findings:
        raise ProgramError(in_order(findings))
    return s.ModuleFile(items)


_UPPER_CASE = "begin with a capital letter"
# Terminals of the grammar, what they are where all of them may come next, and a hint.
_EXPECTED = (
    ("_TYPEDEF", "a declaration or a rule", f"relations' names {_UPPER_CASE}"),
    ("INT START", "an expression", ""),
    ("TYPE_VARIABLE UPPER", "a type", ""),
    ("TYPE_VARIABLE", "a type variable", "type variables are written with a tick: `'A`"),
    ("RELATION", "a relation's name", f"relations' names {_UPPER_CASE}"),
    ("CONSTRUCTOR", "a constructor", f"constructors' names {_UPPER_CASE}"),
    ("FUNCTION_NAME", "a function's name", "functions' names begin with a small letter"),
    ("TYPE_NAME", "a type's name", ""),
    ("FIELD", "a field's name", ""),
    ("PARAMETER", "a parameter's name", ""),
    ("VARIABLE", "a variable's name", ""),
    ("INDEX_NAME", "an index's name", ""),
    ("ATTRIBUTE", "an attribute", ""),
    ("MODULE", "a module", ""),
    ("ALIAS", "another name for the module", ""),
    ("ANY_NAME", "a name", ""),
    ("UPPER", "a relation", ""),
    ("SEMANTICS", "`relation`, `stream` or `multiset`", ""),
    ("_FUNCTION _TYPE", "`function`, `type` or `transformer`", ""),
    ("_KEY", "`key`", ""),
    ("_ON", "`on`", ""),
    ("_CLOSE", "`}`", ""),
    ("RBRACE SEMICOLON", "`}`", "what stands in a block is put apart by `;`"),
    ("RBRACE", "`}`", ""),
    ("RPAR", "`)`", ""),
    ("RSQB", "`]`", ""),
    ("DOT", "`.`", "a rule ends with `.`, and its clauses are put apart by `,`"),
    ("_ARROW", "`->`", ""),
    ("_IN OPERATOR", "`in`", "in a loop write `R(...)`, `var x = value in statement` or `condition in statement`"),
    ("_IN", "`in`", f"relations' names {_UPPER_CASE}"),
    ("EQUAL LBRACE", "the function's body", "write `{...}`, or `extern function` for one without"),
    ("LPAR TICK", "`(`", "an atom has its arguments in parentheses"),
    ("LPAR LSQB", "`(`", "say its columns: `R(x: string)`, or its type: `R[string]`"),
    ("LPAR", "`(`", ""),
    ("LBRACE", "`{`", ""),
    ("LSQB", "`[`", ""),
    ("LESSTHAN", "`<`", "say its width: `bit<32>`"),
    ("_GT", "`>`", ""),
    ("EQUAL", "`=`", ""),
    ("COLON", "`:`", ""),
    ("INT", "a whole number", ""),
)
_AFTER = {"_MATCH": "write `match (value) {...}`", "_FOR": "write `for (x in items) ...`"}
_MOST_TEXT = 30


def explain(source: ProgramText, error: UnexpectedToken) -> tuple[Diagnostic, int]:
    """Return the finding for a syntax error of lark, and where the text does not fit."""
    token = error.token
    at = len(source.text) if token.type == "$END" else token.start_pos or 0
    place = source.place(at, at + max(len(token), 1))
    if token.type == "_ANYTHING":
        return source.place(at, at + 1).error(f"`{token[0]}` begins nothing that DDlog knows"), at
    state: Any = error.interactive_parser
    accepted: set[str] = state.accepts()
    wanted, hint = next(
        ((phrase, hint) for terminals, phrase, hint in _EXPECTED if accepted.issuperset(terminals.split())),
        ("something else", ""),
    )
    last = state.parser_state.value_stack[-1:]
    text = source.text[at : at + len(token)].split("\n")[0]
    text = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
    shown = f"`{text}`" if text else "the end of the text"
    hint = hint or next((_AFTER.get(getattr(part, "type", ""), "") for part in last), "")
    return place.error(f"{wanted} is expected here, and not {shown}", hint), at
