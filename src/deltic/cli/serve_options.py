"""The options of `deltic serve`, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from deltic.cli.grouped import option
from deltic.cli.options import DEFINITIONS, Functions, State, file, read_file

if TYPE_CHECKING:
    from deltic.server.listening import Address


@dataclass(frozen=True)
class AccessOptions:
    """Access to the server."""

    panel: ClassVar = "Safety"

    users: Path | None = option(
        None, file("The file of users, as `deltic user` makes it.", "all programs of this machine are owners")
    )
    tls_cert: Path | None = option(None, file("A certificate in PEM.", "no TLS"))
    tls_key: Path | None = option(None, file("Its key.", "no TLS"))
    host_name: list[str] | None = option(
        None,
        "A name by which clients may call the server. May be repeated.",
        metavar="NAME",
        shown="localhost, and that of --http",
    )

    def hosts(self, address: Address) -> Sequence[str]:
        """Return the host names that requests may use for the server."""
        return ("localhost", "127.0.0.1", "::1", address.host, *(self.host_name or ()))


@dataclass(frozen=True)
class LimitOptions:
    """Limits on clients, by their names in `Limits`."""

    panel: ClassVar = "Limits"

    seconds: float = option(30.0, "Time of a statement.", "--timeout", min=0.01, metavar="SECONDS")
    rows: int = option(100_000, "Rows of an answer.", "--max-rows", min=1)
    answer: str = option("256MiB", "Bytes of the rows of an answer.", "--max-answer", metavar="SIZE")
    question_memory: str | None = option(
        None,
        "By how much the process may grow while a question is answered.",
        metavar="SIZE",
        shown="half of what is free",
    )
    body: str = option("64MiB", "Bytes of a request.", "--max-body", metavar="SIZE")
    connections: int = option(2_000, "Connections at once.", "--max-connections", min=1)
    subscriptions: int = option(2_000, "Subscriptions at once.", "--max-subscriptions", min=1)


@dataclass(frozen=True)
class ServeOptions:
    """The command line of `deltic serve`."""

    access: AccessOptions
    limits: LimitOptions
    program: Path | None = option(None, read_file(DEFINITIONS, "clients define them"))
    state: State = None
    http: str = option("127.0.0.1:8080", "Where HTTP is served; port 0 is any.", metavar="HOST:PORT")
    pg: str | None = option(
        None,
        "Where PostgreSQL's protocol is served, as at 127.0.0.1:5432; port 0 is any.",
        metavar="HOST:PORT",
        shown="nowhere",
    )
    functions: Functions = None
    refresh: float | None = option(
        None, "Time between reading what is new in the sources of tables.", min=0.1, metavar="SECONDS", shown="never"
    )
    follow: float | None = option(
        None,
        "Change nothing: time between reading what another process has written to --state.",
        min=0.01,
        metavar="SECONDS",
        shown="this process writes",
    )
    threads: int | None = option(None, "Threads that compute large changes.", min=1, shown="one for each processor")
    memory: str | None = option(
        None,
        "With --state: the memory of large arrays, as in 2GiB; further ones are files.",
        metavar="SIZE",
        shown="half of the free memory",
    )
    log: Literal["text", "json"] | None = option(
        None, "Records of epochs and audit lines on standard error.", shown="none"
    )
    demo: bool = option(False, "A shop with orders that come by themselves, to look at.", "--demo")
