"""The dialect that SQL is parsed in: sqlglot's Spark, with scalar functions as they are written.

sqlglot makes other functions of many of Spark's, for the sake of other dialects. Here each keeps its name and its
arguments; aggregates, window functions and generators are parsed as sqlglot does it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from deltic.sql.scalars.functions.lookup import known
from deltic.sql.scalars.functions.refused import REFUSED

_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY"}
"""Functions with a syntax of their own."""

# A bracket behind ARRAY would be taken for a constructor's.
_SCALAR = {name.upper() for name in (*known(), *REFUSED, "struct")} - {"ARRAY"}


class DelticParser(SparkParser):
    """Spark's parser, for which scalar functions are names and arguments."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {n: build for n, build in SparkParser.FUNCTIONS.items() if n not in _SCALAR}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        n: parse for n, parse in SparkParser.FUNCTION_PARSERS.items() if n not in _SCALAR - _SYNTAX
    }


class Deltic(Spark):
    """Spark's dialect with this parser."""

    Parser = DelticParser
