"""The parser: the text of one module to its syntax tree."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedToken

from deltic.datalog.syntax.source import ProgramText, in_order
from deltic.errors import Diagnostic, ProgramError
from deltic.grammars import load
from deltic_ddlog import syntax as s
from deltic_ddlog.build_loops import ModuleBuilder
from deltic_ddlog.explain import explain
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
