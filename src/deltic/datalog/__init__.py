"""Datalog: text to syntax tree (`parse`), to a program without errors (`check`), to a circuit (`lower`)."""

from deltic.datalog.checks.check import check
from deltic.datalog.checks.checked import CheckedProgram, Directive, Relation, Rule
from deltic.datalog.lowering.lower import lower
from deltic.datalog.souffle.parser import parse
from deltic.datalog.syntax.program import Program

__all__ = ["CheckedProgram", "Directive", "Program", "Relation", "Rule", "check", "lower", "parse"]
