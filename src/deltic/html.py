"""HTML of tables, facts, texts and pictures, for notebooks; whatever was written by others is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Number
from typing import Any

_RIGHT = ' style="text-align: right"'
_LEFT = ' style="text-align: left"'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "", below: str = "") -> str:
    """Return a table with numbers to the right."""
    titles = "".join(f"<th{_LEFT}>{escape(title)}</th>" for title in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    above = f"<caption{_LEFT}>{escape(caption)}</caption>" if caption else ""
    under = f"<p>{escape(below)}</p>" if below else ""
    return f"<table>{above}<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>{under}"


def facts(of: Mapping[str, Any], caption: str = "") -> str:
    """Return a table of two columns."""
    lines = "".join(f"<tr><th{_LEFT}>{escape(name)}</th>{_cell(value)}</tr>" for name, value in of.items())
    above = f"<caption{_LEFT}>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<tbody>{lines}</tbody></table>"


def preformatted(text: str) -> str:
    """Return a text with its lines and spaces as they are."""
    return f'<pre style="font-family: monospace">{escape(text)}</pre>'


def picture(svg: str) -> str:
    """Return a picture in SVG, whose styles reach nothing else on the page."""
    return f'<img alt="" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


def _cell(value: Any) -> str:
    if value is None:
        return "<td><i>NULL</i></td>"
    if isinstance(value, bool) or not isinstance(value, Number):
        return f"<td{_LEFT}>{escape(str(value))}</td>"
    return f"<td{_RIGHT}>{value:,.6g}</td>" if isinstance(value, float) else f"<td{_RIGHT}>{value}</td>"
