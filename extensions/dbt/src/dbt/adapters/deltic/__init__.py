"""dbt's adapter for Deltic: that of PostgreSQL, whose protocol `deltic serve` speaks, with other materializations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.postgres import PostgresAdapter, PostgresConnectionManager, PostgresCredentials
from dbt.include import deltic


@dataclass
class DelticCredentials(PostgresCredentials):
    """An output of `profiles.yml`. On loopback a server without users takes any password."""

    host: str = "127.0.0.1"
    port: int = 5432
    user: str = "dbt"
    password: str = ""
    database: str = "deltic"
    schema: str = "public"

    @property
    def type(self) -> str:
        """The name of the adapter."""
        return "deltic"


class DelticConnectionManager(PostgresConnectionManager):
    """Connections to a server of Deltic."""

    TYPE = "deltic"


class DelticAdapter(PostgresAdapter):
    """What dbt asks a server of Deltic."""

    ConnectionManager = DelticConnectionManager

    def valid_incremental_strategies(self) -> list[str]:
        """None counts: an incremental model is a view, which is fresh at each moment."""
        return ["append", "delete+insert", "merge", "microbatch"]


Plugin = AdapterPlugin(
    adapter=DelticAdapter,
    credentials=DelticCredentials,
    include_path=str(Path(deltic.__file__).parent),
    dependencies=["postgres"],
)
