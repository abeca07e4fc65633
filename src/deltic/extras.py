"""Packages that an extra of Deltic installs: each is imported here where it is needed, and its absence has a remedy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deltic.errors import DelticError

EXTRAS = {
    "deltalake": "delta",
    "fsspec": "files",
    "obstore": "files",
    "hypothesis": "check",
    "matplotlib": "demo",
    "pandas": "pandas",
    "mcp": "mcp",
    "polars": "polars",
    "opentelemetry": "otel",
    "psycopg": "postgresql",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "pygwire": "server",
    "rich": "cli",
    "starlette": "server",
    "typer": "cli",
    "uvicorn": "server",
    "yaml": "cli",
}
"""The extra that brings each package; tests hold it against pyproject.toml."""


def required(module: str, what: str) -> Any:
    """Import a module of an extra's package, as in ``required("pyspark.sql", "a Spark session")``.

    Raises DelticError, which says what needs the package and how to install it, where it is missing.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
    except ImportError:  # `sys.modules` says that it is not to be had
        pass
    raise DelticError(
        f"{what} needs the package {package}, which is not installed: pip install 'deltic[{EXTRAS[package]}]'"
    ) from None
