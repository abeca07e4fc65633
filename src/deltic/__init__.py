"""Deltic keeps SQL and Datalog views, recursive ones too, fresh at the cost of the change."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltic.errors import (
    BrokenError,
    BusyError,
    CatalogError,
    ChangeError,
    CircuitError,
    CountOverflowError,
    DataError,
    DelticError,
    EvaluationError,
    IterationLimitError,
    LateError,
    ProgramError,
    ProgramWarning,
    ReadOnlyError,
    StateError,
    StreamError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from deltic.pipeline.connectors import External
    from deltic.pipeline.declarative import materialized_view
    from deltic.pipeline.epochs.transaction import Transaction
    from deltic.pipeline.following.changes import changes_stream, kafka_rows, register
    from deltic.pipeline.io.files import File
    from deltic.pipeline.options import Durability, Maintenance, Recursion, Resources, Transactions
    from deltic.pipeline.python.checking import check_derivative
    from deltic.pipeline.python.functions import function, functor
    from deltic.pipeline.python.operators import ZSet, aggregate, operator
    from deltic.pipeline.reading.reading import Between as between
    from deltic.pipeline.reading.reading import View
    from deltic.pipeline.rows.rows import Rows
    from deltic.pipeline.session import Pipeline
    from deltic.pipeline.shards import Shards
    from deltic.progress import watch_progress

__all__ = [
    "BrokenError",
    "BusyError",
    "CatalogError",
    "ChangeError",
    "CircuitError",
    "CountOverflowError",
    "DataError",
    "DelticError",
    "Durability",
    "EvaluationError",
    "External",
    "File",
    "IterationLimitError",
    "LateError",
    "Maintenance",
    "Pipeline",
    "ProgramError",
    "ProgramWarning",
    "ReadOnlyError",
    "Recursion",
    "Resources",
    "Rows",
    "Shards",
    "StateError",
    "StreamError",
    "Transaction",
    "Transactions",
    "UnsupportedError",
    "View",
    "ZSet",
    "__version__",
    "aggregate",
    "between",
    "changes_stream",
    "check_derivative",
    "function",
    "functor",
    "kafka_rows",
    "materialized_view",
    "operator",
    "register",
    "watch_progress",
]

__version__ = "0.1.0"


# Where what needs pyarrow and more is found, and what it is called there.
_LATER = {
    "Durability": ("deltic.pipeline.options", "Durability"),
    "External": ("deltic.pipeline.connectors", "External"),
    "File": ("deltic.pipeline.io.files", "File"),
    "Maintenance": ("deltic.pipeline.options", "Maintenance"),
    "Pipeline": ("deltic.pipeline.session", "Pipeline"),
    "Recursion": ("deltic.pipeline.options", "Recursion"),
    "Resources": ("deltic.pipeline.options", "Resources"),
    "Rows": ("deltic.pipeline.rows.rows", "Rows"),
    "Shards": ("deltic.pipeline.shards", "Shards"),
    "Transaction": ("deltic.pipeline.epochs.transaction", "Transaction"),
    "Transactions": ("deltic.pipeline.options", "Transactions"),
    "View": ("deltic.pipeline.reading.reading", "View"),
    "ZSet": ("deltic.pipeline.python.operators", "ZSet"),
    "aggregate": ("deltic.pipeline.python.operators", "aggregate"),
    "between": ("deltic.pipeline.reading.reading", "Between"),
    "changes_stream": ("deltic.pipeline.following.changes", "changes_stream"),
    "check_derivative": ("deltic.pipeline.python.checking", "check_derivative"),
    "function": ("deltic.pipeline.python.functions", "function"),
    "functor": ("deltic.pipeline.python.functions", "functor"),
    "kafka_rows": ("deltic.pipeline.following.changes", "kafka_rows"),
    "materialized_view": ("deltic.pipeline.declarative", "materialized_view"),
    "operator": ("deltic.pipeline.python.operators", "operator"),
    "register": ("deltic.pipeline.following.changes", "register"),
    "watch_progress": ("deltic.progress", "watch_progress"),
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, so that `import deltic` stays quick."""
    if name not in _LATER:
        raise AttributeError(f"module 'deltic' has no attribute {name!r}")
    module, called = _LATER[name]
    return getattr(import_module(module), called)
