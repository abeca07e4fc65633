"""Datalog: `parse` makes a syntax tree of a text, `check` a program without errors, `define` catalog definitions."""

from deltic.datalog.checks.check import check, declared_types
from deltic.datalog.checks.checked import CheckedProgram, CheckedRelation, Directive
from deltic.datalog.lowering.lower import define, lower
from deltic.datalog.souffle.parser import parse
from deltic.datalog.syntax.program import ParsedProgram
