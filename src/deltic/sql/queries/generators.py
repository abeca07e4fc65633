"""Relations that are computed from values: explode and its kind, in FROM and as lateral views."""

from __future__ import annotations

from sqlglot import exp

from deltic.sql.queries.rows import Rows
from deltic.sql.queries.scope import Scope


def lateral_view(node: exp.Lateral, rows: Rows, scope: Scope) -> Rows:
    """The rows with those that a generator makes of each."""
    raise scope.refuse(node.this, "LATERAL VIEW")


def generated(node: exp.Expression, left: Rows, scope: Scope) -> Rows:
    """The rows of a table function."""
    what = node.this if isinstance(node, exp.Table | exp.Lateral) else node
    name = what.name or type(what).__name__
    raise scope.refuse(node, f"{name}(…) in FROM")
