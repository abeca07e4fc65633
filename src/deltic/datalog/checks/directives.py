"""Directives: known relations, known options, values that can be meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltic.datalog.checks.checked import Directive
from deltic.datalog.checks.declarations import Signatures, unknown_relation
from deltic.datalog.checks.hints import EVERY
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.souffle.words import RELATION_PRAGMAS
from deltic.datalog.syntax.program import DirectiveItem, Option
from deltic.errors import did_you_mean

_BOOLEAN = (r"true|false", "`true` or `false`")
_DEVICE = (
    r"file|stdin|stdout|stdoutprintsize|sqlite|json|jsonfile",
    "one of file, stdin, stdout, stdoutprintsize, sqlite, json (standard input or output) and jsonfile",
)
_FORM = (r"list|object", "`list` or `object`")
_COLUMNS = (r"\d+(:\d+)*", 'column numbers with colons, counted from 0: "0:2"')
_ANYTHING = (r".*", "")

# Option, what its value must match, and what that is in words.
OPTIONS = {
    "IO": _DEVICE,
    "filename": _ANYTHING,
    "delimiter": (r"(?s:.+)", "one or more characters"),
    "headers": _BOOLEAN,
    "rfc4180": _BOOLEAN,
    "columns": _COLUMNS,
    "compress": _BOOLEAN,
    "dbname": _ANYTHING,
    "name": _ANYTHING,
    "attributeNames": _ANYTHING,
    "operation": _ANYTHING,
    "format": _FORM,
}


def check_directives(items: Sequence[DirectiveItem], signatures: Signatures, findings: Findings) -> list[Directive]:
    """The directives of known relations, in their order."""
    directives = []
    for item in items:
        for option in item.options:
            _check_option(option, findings)
        if item.relation in signatures or (item.relation == EVERY and item.kind in RELATION_PRAGMAS[1:]):
            options = {option.key: option.value for option in item.options}
            directives.append(Directive(item.kind, item.relation, options, item.span))
        else:
            findings.append(item.span.error(*unknown_relation(item.relation, signatures)))
    return directives


def _check_option(option: Option, findings: Findings) -> None:
    if option.key not in OPTIONS:
        hint = did_you_mean(option.key, OPTIONS) or "the options are " + ", ".join(OPTIONS)
        findings.append(option.span.error(f"there is no option `{option.key}`", hint))
        return
    pattern, wanted = OPTIONS[option.key]
    if not re.fullmatch(pattern, option.value):
        findings.append(option.span.error(f"`{option.key}` cannot be `{option.value}`", f"it is {wanted}"))
