"""The parser of Soufflé's syntax."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from io import BytesIO

import lark
from lark import Lark, UnexpectedInput

from deltic import caches
from deltic.datalog.souffle.build import build_items
from deltic.datalog.souffle.components import instantiate
from deltic.datalog.souffle.context import ParseContext, Parsed
from deltic.datalog.souffle.depth import DEEPEST, too_deep
from deltic.datalog.souffle.explain import explain
from deltic.datalog.souffle.preprocessor.preprocess import preprocess
from deltic.datalog.souffle.recovery import without_statement
from deltic.datalog.syntax.program import ComponentDeclaration, ParsedProgram
from deltic.datalog.syntax.source import ProgramText, in_order
from deltic.errors import Diagnostic, ProgramError

MOST_SYNTAX_ERRORS = 20

_BYTE_ORDER_MARK = "\ufeff"


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
    context = ParseContext(source)
    parsed = _parse_whole(source)
    if deep := too_deep(parsed):
        context.report(
            deep, f"this is nested more than {DEEPEST} levels deep", "compute its parts as variables: `x = ...`"
        )
        raise ProgramError(context.findings)
    items = instantiate(build_items(context, parsed), earlier or {}, context.findings)
    if context.findings:
        raise ProgramError(in_order(context.findings))
    return ParsedProgram(items, source)


def _parse_whole(source: ProgramText) -> Parsed:
    """Lark's parse tree. A statement with a syntax error is blanked out, so that later ones are parsed, too."""
    findings: list[Diagnostic] = []
    text = source.text
    while len(findings) < MOST_SYNTAX_ERRORS:
        try:
            parsed = _grammar().parse(text)
        except UnexpectedInput as error:
            finding = explain(source, error)
            findings.append(finding.diagnostic)
            text = without_statement(text, finding.offset)
        else:
            if findings:
                break
            return parsed
    raise ProgramError(in_order(findings))


@cache
def _grammar() -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    name = f"souffle-{sha256(f'{grammar} {lark.__version__} {sys.version}'.encode()).hexdigest()[:16]}"
    tables = caches.directory() / name
    if (kept := caches.read(tables)) is not None:
        return Lark.load(BytesIO(kept))
    made = Lark(grammar, start="program", parser="lalr", propagate_positions=True, maybe_placeholders=False)
    made.save(content := BytesIO())
    caches.write(tables, content.getvalue())
    return made
