"""Lines of text or JSON to rows, and a malformed line to a finding."""

from __future__ import annotations

import pyarrow as pa

from deltic.errors import Diagnostic
from deltic.pipeline.io.json_lines import parse_json_lines
from deltic.pipeline.io.layout import Kind, Layout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import parse_json
from deltic.pipeline.io.parsed import Parsed
from deltic.pipeline.io.text import parse_line
from deltic.pipeline.io.text_columns import parse_lines
from deltic.pipeline.io.utf8 import is_utf8, shown


def parse(lines: pa.Array, layout: Layout) -> Parsed:
    """The rows of many lines, null where a line is not UTF-8."""
    return parse_lines(lines, layout) if layout.kind is Kind.TEXT else parse_json_lines(lines, layout)


def diagnose(raw: bytes, layout: Layout, file: str, line: int) -> Diagnostic:
    """What is wrong with a line, as it stands in the file, that `parse` found malformed."""
    text = shown(raw)
    if not is_utf8(raw):
        column = text.find("\N{REPLACEMENT CHARACTER}") + 1
        return Malformed("the line is not UTF-8 text", column, hint="save the file as UTF-8").at(file, line, text)
    try:
        parse_line(text, layout) if layout.kind is Kind.TEXT else parse_json(text, layout)
    except Malformed as error:
        error.hint = error.hint or _header_hint(text, layout, line)
        return error.at(file, line, text)
    raise AssertionError(f"{file}:{line}: the readers disagree about {text!r}")


def _header_hint(text: str, layout: Layout, line: int) -> str:
    """What to do about a first line that holds the names of the columns."""
    if layout.kind is not Kind.TEXT or line != 1:
        return ""
    words = [word.strip(' "').lower() for word in text.split(layout.delimiter)]
    is_header = words[-layout.width :] == [name.lower() for name in layout.schema.names]
    return "this looks like a header; .input has an option for it, headers=true" if is_header else ""
