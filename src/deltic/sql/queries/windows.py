"""Window functions in the expressions of a block."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from deltic.sql.queries.values import Values, outermost


def place_windows(node: exp.Expression, values: Values, named: Mapping[str, exp.Window]) -> exp.Expression:
    """The expression with placeholders for its window functions, whose values the rows have then."""
    for window in outermost(node, lambda n: isinstance(n, exp.Window)):
        raise values.scope.refuse(window, "a window function")
    return node
