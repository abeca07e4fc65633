"""The options of `deltic serve`, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from typer import Option

from deltic.cli.options import DEFINITIONS, Functions, State, file, read_file

if TYPE_CHECKING:
    from deltic.server.listening import Address


@dataclass(frozen=True)
class AccessOptions:
    """Access to the server."""

    panel: ClassVar = "Safety"

    users: Annotated[
        Path | None,
        file("The file of users, as `deltic user` makes it.", "all programs of this machine are owners"),
    ] = None
    tls_cert: Annotated[Path | None, file("A certificate in PEM.", "no TLS")] = None
    tls_key: Annotated[Path | None, file("Its key.", "no TLS")] = None
    host_name: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="A name by which clients may call the server. May be repeated.",
            show_default="localhost, and that of --http",
        ),
    ] = None

    def hosts(self, address: Address) -> Sequence[str]:
        """The host names that requests may use for the server."""
        return ("localhost", "127.0.0.1", "::1", address.host, *(self.host_name or ()))


@dataclass(frozen=True)
class LimitOptions:
    """Limits on clients, by their names in `Limits`."""

    panel: ClassVar = "Limits"

    seconds: Annotated[float, Option("--timeout", min=0.01, metavar="SECONDS", help="Time of a statement.")] = 30.0
    rows: Annotated[int, Option("--max-rows", min=1, help="Rows of an answer.")] = 100_000
    answer: Annotated[str, Option("--max-answer", metavar="SIZE", help="Bytes of the rows of an answer.")] = "256MiB"
    question_memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="By how much the process may grow while a question is answered.",
            show_default="half of what is free",
        ),
    ] = None
    body: Annotated[str, Option("--max-body", metavar="SIZE", help="Bytes of a request.")] = "64MiB"
    connections: Annotated[int, Option("--max-connections", min=1, help="Connections at once.")] = 2_000
    subscriptions: Annotated[int, Option("--max-subscriptions", min=1, help="Subscriptions at once.")] = 2_000


@dataclass(frozen=True)
class ServeOptions:
    """The command line of `deltic serve`."""

    access: AccessOptions
    limits: LimitOptions
    program: Annotated[Path | None, read_file(DEFINITIONS, "clients define them")] = None
    state: State = None
    http: Annotated[str, Option(metavar="HOST:PORT", help="Where HTTP is served; port 0 is any.")] = "127.0.0.1:8080"
    pg: Annotated[
        str | None,
        Option(
            metavar="HOST:PORT",
            help="Where PostgreSQL's protocol is served, as at 127.0.0.1:5432; port 0 is any.",
            show_default="nowhere",
        ),
    ] = None
    functions: Functions = None
    refresh: Annotated[
        float | None,
        Option(
            min=0.1,
            metavar="SECONDS",
            help="Time between reading what is new in the sources of tables.",
            show_default="never",
        ),
    ] = None
    follow: Annotated[
        float | None,
        Option(
            min=0.01,
            metavar="SECONDS",
            help="Change nothing: time between reading what another process has written to --state.",
            show_default="this process writes",
        ),
    ] = None
    threads: Annotated[
        int | None,
        Option(min=1, help="Threads that compute large changes.", show_default="one for each processor"),
    ] = None
    memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="With --state: the memory of large arrays, as in 2GiB; further ones are files.",
            show_default="half of the free memory",
        ),
    ] = None
    log: Annotated[
        Literal["text", "json"] | None,
        Option(help="Records of epochs and audit lines on standard error.", show_default="none"),
    ] = None
    demo: Annotated[bool, Option("--demo", help="A shop with orders that come by themselves, to look at.")] = False
