"""The parser of Soufflé's syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lark import UnexpectedInput

from deltic.datalog.souffle.build import StatementBuilder
from deltic.datalog.souffle.components import instantiate
from deltic.datalog.souffle.context import DEEPEST, Parsed, too_deep
from deltic.datalog.souffle.explain import explain
from deltic.datalog.souffle.preprocessor.preprocess import preprocess
from deltic.datalog.syntax.program import ComponentDeclaration, ParsedProgram
from deltic.datalog.syntax.source import ProgramText, in_order
from deltic.errors import Diagnostic, ProgramError
from deltic.grammars import load

MOST_SYNTAX_ERRORS = 20

_BYTE_ORDER_MARK = "\ufeff"
# Text that may hide an end of statement, a directive (which begins a statement), and the dot that ends one.
_MARKS = re.compile(
    r"""
      //[^\n]* | /\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*["\n]? | [0-9]+\.[0-9]+
    | (?P<begin> (?<![\w?)])\.[a-z_]+\b )
    | (?P<end> \.(?=\s|//|/\*|\Z) )
    """,
    re.VERBOSE | re.DOTALL,
)


def parse(
    text: str,
    file: str = "<datalog>",
    earlier: Mapping[str, ComponentDeclaration] | None = None,
    macros: Mapping[str, str] | None = None,
) -> ParsedProgram:
    """Parse a program in Soufflé's syntax; it may instantiate `earlier` components.

    `macros` act like lines `#define NAME text`. Included files are searched for next to the file that includes them.

    Raises ProgramError with a finding for each statement with a syntax error (the first twenty), or
    else for each unsupported construct, in the order of their positions.
    """
    findings: list[Diagnostic] = []
    source = preprocess(ProgramText(file, text.removeprefix(_BYTE_ORDER_MARK)), macros or {}, findings)
    if findings:
        raise ProgramError(in_order(findings))
    builder = StatementBuilder(source)
    parsed = _parse_whole(source)
    if deep := too_deep(parsed):
        builder.report(
            deep, f"this is nested more than {DEEPEST} levels deep", "compute its parts as variables: `x = ...`"
        )
        raise ProgramError(builder.findings)
    items = instantiate(builder.items(parsed), earlier or {}, builder.findings)
    if builder.findings:
        raise ProgramError(in_order(builder.findings))
    return ParsedProgram(items, source)


def _parse_whole(source: ProgramText) -> Parsed:
    """Lark's parse tree. A statement with a syntax error is blanked out, so that later ones are parsed, too."""
    findings: list[Diagnostic] = []
    text = source.text
    while len(findings) < MOST_SYNTAX_ERRORS:
        try:
            parsed = load(__package__, "program").parse(text)
        except UnexpectedInput as error:
            finding = explain(source, error)
            findings.append(finding.diagnostic)
            text = _without_statement(text, finding.offset)
        else:
            if findings:
                break
            return parsed
    raise ProgramError(in_order(findings))


def _without_statement(text: str, position: int) -> str:
    """Return the text with the statement around `position` replaced by blanks, so that other positions stay the same.

    At least the character at `position` is blanked; at the end of the text, the last statement.
    """
    begin, end = _statement(text, position)
    blank = re.sub(r"[^\n]", " ", text[begin:end])
    return text[:begin] + blank + text[end:]


def _statement(text: str, position: int) -> tuple[int, int]:
    begin = 0
    for mark in _MARKS.finditer(text):
        if mark["begin"] and mark.start() <= position:
            begin = mark.start()
        elif mark["begin"]:
            return begin, mark.start()
        elif mark["end"] and mark.end() <= position:
            begin = mark.end()
        elif mark["end"]:
            return begin, mark.end()
    return begin, len(text)
