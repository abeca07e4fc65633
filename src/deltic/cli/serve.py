"""`deltic serve` and `deltic user`."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.cli.report import print_error
from deltic.cli.serve_options import ServeOptions
from deltic.engine.stopping import StopSignal
from deltic.errors import DelticError
from deltic.extras import required
from deltic.pipeline.epochs.observing import logged
from deltic.pipeline.options import Durability, Resources
from deltic.pipeline.session import Pipeline
from deltic.server.limits import Limits
from deltic.server.listening import Address, Tls
from deltic.server.repeating import Refreshing, followed
from deltic.server.service import Service
from deltic.server.users import Role, Users, new_entry

if TYPE_CHECKING:
    from deltic.server.postgres.server import PostgresServer


def serve_command(options: ServeOptions) -> None:
    """Serve until SIGTERM or Ctrl-C, reading the program again at SIGHUP."""
    with ExitStack() as stack:
        signals = stack.enter_context(_signals())
        service = _serve(options, stack)
        _say("ready; Ctrl-C stops it")
        while next(signals) == signal.SIGHUP:
            _upgrade(service, options.program)
        _say("stopping: what waits is done first")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _upgrade(service: Service, program: Path | None) -> None:
    """Read the program's file again while clients read; keep the old program where the new one has errors."""
    if program is None:
        _say("SIGHUP: there is no program to read again")
        return
    try:
        evolution = service.do(partial(service.pipeline.redefine, program), StopSignal())
    except DelticError as error:
        print_error(error)
    else:
        _say(f"{program}: {evolution}")


def _serve(options: ServeOptions, stack: ExitStack) -> Service:
    """Start the servers; the exit stack stops them in the order of a graceful stop."""
    for module in ("starlette", "uvicorn"):
        required(module, "deltic serve")
    from deltic.server.http.app import AccessRules, HttpApplication
    from deltic.server.http.server import HttpServer

    users = None if options.access.users is None else Users.load(options.access.users)
    tls = _tls(options)
    _check_follow(options)
    address = Address.of(options.http)
    address.check(tls, users is not None)
    if options.log is not None:
        stack.enter_context(logged(options.log == "json"))
    pipeline = stack.enter_context(_pipeline(options))
    service = stack.enter_context(Service(pipeline, Limits(**vars(options.limits)), _frozen(options)))
    if options.pg is not None:
        stack.enter_context(_postgres(service, Address.of(options.pg), users, tls))
    access = AccessRules(users, options.access.hosts(address))
    name = str(options.program or ("a demonstration" if options.demo else options.state or "memory"))
    server = stack.enter_context(HttpServer(HttpApplication(service, access, name), address, service.limits, tls))
    stack.callback(service.drain)
    _say(f"http: {server.url}")
    if options.follow is not None:
        stack.callback(followed(service, options.follow).close)
    if options.refresh is not None:
        refreshing = Refreshing(service, options.refresh)
        stack.callback(refreshing.close)
    if options.demo:
        from deltic.cli.serve_demo import Demonstration

        stack.callback(Demonstration(service).close)
    return service


def _postgres(service: Service, address: Address, users: Users | None, tls: Tls | None) -> PostgresServer:
    for module in ("pygwire", "psycopg"):
        required(module, "deltic serve --pg")
    from deltic.server.postgres.server import PostgresServer

    address.check(tls, users is not None)
    server = PostgresServer(service, address, users, tls)
    _say(f"postgresql: {server.address}")
    return server


def _pipeline(options: ServeOptions) -> Pipeline:
    from deltic.cli.serve_demo import PROGRAM

    program = PROGRAM if options.demo else options.program
    resources = Resources(options.threads, None, options.memory)
    return Pipeline(
        state=options.state,
        program=program,
        functions=options.functions or (),
        durability=Durability(readonly=True) if options.follow is not None else None,
        resources=resources,
    )


def _check_follow(options: ServeOptions) -> None:
    """Raise DelticError for options that a replica cannot have."""
    if options.follow is None:
        return
    if options.state is None:
        raise DelticError("--follow is about a state that another process writes: name its directory with --state")
    if options.program is not None or options.refresh is not None or options.demo:
        raise DelticError(
            "--follow only reads: a program, --refresh and --demo are for the server that writes the state"
        )


def _frozen(options: ServeOptions) -> str:
    """Return the reason why clients may not change definitions; "" where they may."""
    if options.program is None:
        return ""
    return (
        f"this server runs the definitions of {options.program}: change the file, and send SIGHUP or start the server "
        "again; a server without a program lets owners define"
    )


def _tls(options: ServeOptions) -> Tls | None:
    certificate, key = options.access.tls_cert, options.access.tls_key
    if (certificate is None) != (key is None):
        raise DelticError("TLS takes a certificate and its key: --tls-cert and --tls-key")
    return None if certificate is None or key is None else Tls(certificate, key)


@contextmanager
def _signals() -> Iterator[Iterator[int]]:
    """The signals that arrive: Ctrl-C, SIGTERM, SIGHUP. A second stop signal ends the process at once.

    Their numbers come through a socket: a wait for anything else can begin between a signal and its handler, and then
    sleeps on.
    """
    arrivals, wakeup = socket.socketpair()
    wakeup.setblocking(False)
    before: dict[int, Any] = {}

    def receive(number: int, _: object) -> None:
        if number != signal.SIGHUP:
            signal.signal(number, before[number])

    def arriving() -> Iterator[int]:
        while True:
            if (number := arrivals.recv(1)[0]) in before:
                yield number

    other = signal.set_wakeup_fd(wakeup.fileno())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, receive)
    try:
        yield arriving()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(other)
        arrivals.close()
        wakeup.close()


def mcp_command(program: Path | None, state: str | None, writes: bool, functions: Path | None) -> None:
    """Serve agents until standard input ends."""
    required("mcp", "deltic mcp")
    from deltic.server.agents import mcp_server

    follows = state is not None and not writes
    if program is None and state is None:
        raise DelticError("name a program, or the directory of a state with --state")
    if program is not None and follows:
        raise DelticError("a state that is only read has its own definitions: leave out the program, or --write")
    durability = Durability(readonly=True) if follows else None
    with (
        Pipeline(state=state, program=program, functions=functions or (), durability=durability) as pipeline,
        Service(pipeline, frozen="agents change no definitions") as service,
    ):
        mcp_server(service, writes, partial(service.do, pipeline.follow) if follows else lambda: None).run()


def user_command(name: str, role: str, file: Path | None) -> None:
    """Create a user: print the secret, and add the entry to a file or print it."""
    secret, entry = new_entry(name, Role[role.upper()])
    if file is not None:
        try:
            if file.exists() and Users.load(file).named(name) is not None:
                raise DelticError(f"{file} has a user {name} already: take that entry out first")
            _append(file, entry)
        except OSError as error:
            raise DelticError(f"{file}: {error.strerror or error}") from error
    print(f"# the token, and the password, of {name}; it is kept nowhere: {secret}", file=sys.stderr)
    print(entry if file is None else f"{name} is in {file}", end="" if file is None else "\n")


def _append(file: Path, entry: str) -> None:
    """Append an entry to a file that only its owner can read."""
    file.touch(mode=0o600)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{entry}" if file.stat().st_size else entry)
