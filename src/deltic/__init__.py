"""Deltic keeps SQL and Datalog views, recursive ones too, fresh at the cost of the change."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltic.errors import (
    BusyError,
    CatalogError,
    ChangeError,
    CircuitError,
    DataError,
    DelticError,
    EvaluationError,
    IterationLimitError,
    LateError,
    ProgramError,
    ProgramWarning,
    StateError,
    StreamError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from deltic.pipeline.aggregates import aggregate
    from deltic.pipeline.checking import check_derivative
    from deltic.pipeline.durable.state import Checkpoints
    from deltic.pipeline.files import File
    from deltic.pipeline.functions import function, functor
    from deltic.pipeline.operators import ZSet, operator
    from deltic.pipeline.outside import External
    from deltic.pipeline.session import Pipeline
    from deltic.pipeline.shards import Shards
    from deltic.pipeline.streaming.changes import changes_stream, kafka_rows, register
    from deltic.pipeline.views import Between as between

__all__ = [
    "BusyError",
    "CatalogError",
    "ChangeError",
    "Checkpoints",
    "CircuitError",
    "DataError",
    "DelticError",
    "EvaluationError",
    "External",
    "File",
    "IterationLimitError",
    "LateError",
    "Pipeline",
    "ProgramError",
    "ProgramWarning",
    "Shards",
    "StateError",
    "StreamError",
    "UnsupportedError",
    "ZSet",
    "__version__",
    "aggregate",
    "between",
    "changes_stream",
    "check_derivative",
    "function",
    "functor",
    "kafka_rows",
    "operator",
    "register",
]

__version__ = "0.1.0"


# Where what needs pyarrow and more is found, and what it is called there.
_LATER = {
    "Checkpoints": ("deltic.pipeline.durable.state", "Checkpoints"),
    "External": ("deltic.pipeline.outside", "External"),
    "File": ("deltic.pipeline.files", "File"),
    "Pipeline": ("deltic.pipeline.session", "Pipeline"),
    "Shards": ("deltic.pipeline.shards", "Shards"),
    "ZSet": ("deltic.pipeline.operators", "ZSet"),
    "aggregate": ("deltic.pipeline.aggregates", "aggregate"),
    "between": ("deltic.pipeline.views", "Between"),
    "changes_stream": ("deltic.pipeline.streaming.changes", "changes_stream"),
    "check_derivative": ("deltic.pipeline.checking", "check_derivative"),
    "function": ("deltic.pipeline.functions", "function"),
    "functor": ("deltic.pipeline.functions", "functor"),
    "kafka_rows": ("deltic.pipeline.streaming.changes", "kafka_rows"),
    "operator": ("deltic.pipeline.operators", "operator"),
    "register": ("deltic.pipeline.streaming.changes", "register"),
}


def __getattr__(name: str) -> Any:
    """What is imported on first use, which `import deltic` alone does not need."""
    if name not in _LATER:
        raise AttributeError(f"module 'deltic' has no attribute {name!r}")
    module, called = _LATER[name]
    return getattr(import_module(module), called)
