"""Deltic keeps SQL and Datalog views, recursive ones too, fresh at the cost of the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltic.errors import (
    BusyError,
    CatalogError,
    ChangeError,
    CircuitError,
    DataError,
    DelticError,
    IterationLimitError,
    ProgramError,
    StreamError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from deltic.pipeline.files import File
    from deltic.pipeline.functions import function
    from deltic.pipeline.outside import External
    from deltic.pipeline.session import Pipeline
    from deltic.pipeline.shards import Shards
    from deltic.pipeline.streaming.changes import changes_stream, kafka_rows, register
    from deltic.pipeline.views import Between as between

__all__ = [
    "BusyError",
    "CatalogError",
    "ChangeError",
    "CircuitError",
    "DataError",
    "DelticError",
    "External",
    "File",
    "IterationLimitError",
    "Pipeline",
    "ProgramError",
    "Shards",
    "StreamError",
    "UnsupportedError",
    "__version__",
    "between",
    "changes_stream",
    "function",
    "kafka_rows",
    "register",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The pipeline on first use: it loads pyarrow and more, which `import deltic` alone does not need."""
    if name == "Pipeline":
        from deltic.pipeline.session import Pipeline

        return Pipeline
    if name == "Shards":
        from deltic.pipeline.shards import Shards

        return Shards
    if name == "External":
        from deltic.pipeline.outside import External

        return External
    if name == "File":
        from deltic.pipeline.files import File

        return File
    if name == "function":
        from deltic.pipeline.functions import function

        return function
    if name == "between":
        from deltic.pipeline.views import Between

        return Between
    if name in ("changes_stream", "kafka_rows", "register"):
        from deltic.pipeline.streaming import changes

        return getattr(changes, name)
    raise AttributeError(f"module 'deltic' has no attribute {name!r}")
