"""Datalog: text to syntax tree (`parse`), to a program without errors (`check`), to definitions (`define`)."""

from deltic.datalog.checks.check import check, declared_types
from deltic.datalog.checks.checked import CheckedProgram, CheckedRelation, CheckedRule, Directive
from deltic.datalog.lowering.lower import FRONT, define, lower
from deltic.datalog.souffle.parser import parse
from deltic.datalog.syntax.program import ParsedProgram

__all__ = [
    "FRONT",
    "CheckedProgram",
    "CheckedRelation",
    "CheckedRule",
    "Directive",
    "ParsedProgram",
    "check",
    "declared_types",
    "define",
    "lower",
    "parse",
]
