"""Who may connect, and what they may do: users, roles, encryption, limits.

Catches a password that is taken without proof or sent in clear, and a role that may do more than it says.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from deltic.server.limits import Limits
from deltic.server.listening import Tls
from deltic.server.users import Role, User, Users, verifier
from tests.server.postgres.conftest import Running

USERS = Users({role.name.lower(): User(role.name.lower(), role, password=verifier(f"{role} pass")) for role in Role})


@pytest.fixture(scope="module")
def tls(tmp_path_factory: Any) -> Tls:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificate")
    folder: Path = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return Tls(folder / "cert.pem", folder / "key.pem")


@pytest.fixture(params=[False, True], ids=["clear", "tls"])
def guarded(request: Any, tls: Tls) -> Iterator[Running]:
    server = Running(users=USERS, tls=tls if request.param else None)
    yield server
    server.close()


def _connected(server: Running, user: str, password: str, **options: Any) -> psycopg.Connection[Any]:
    given = {"host": "127.0.0.1", "port": server.port, "user": user, "password": password, "dbname": "deltic"}
    return psycopg.connect(**{"autocommit": True} | given | options)


def test_roles(guarded: Running) -> None:
    for role in Role:
        with _connected(guarded, role.name.lower(), f"{role} pass") as connection:
            assert connection.execute("SELECT current_user, 1").fetchone() == (role.name.lower(), 1)
            assert connection.execute("SELECT count(*) FROM names").fetchone() == (0,)
            _check(connection, "DELETE FROM items", role >= Role.WRITER)
            _check(connection, "COPY items FROM STDIN", role >= Role.WRITER)
            _check(connection, f"CREATE TABLE made_by_{role.name} (x INT)", role >= Role.OWNER)


def _check(connection: psycopg.Connection[Any], text: str, is_allowed: bool) -> None:
    try:
        if text.startswith("COPY"):
            with connection.cursor().copy(text):
                pass
        else:
            connection.execute(text)
    except errors.InsufficientPrivilege:
        assert not is_allowed
    else:
        assert is_allowed


@pytest.mark.parametrize(("user", "password"), [("reader", "wrong"), ("nobody", "x"), ("reader", "")])
def test_wrong_passwords(guarded: Running, user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        _connected(guarded, user, password)


def test_encryption(tls: Tls) -> None:
    server = Running(users=USERS, tls=tls)
    try:
        with _connected(server, "owner", "3 pass", sslmode="require") as connection:
            assert connection.pgconn.ssl_in_use
        verified = {"host": "localhost", "hostaddr": "127.0.0.1", "sslrootcert": str(tls.certificate)}
        _connected(server, "owner", "3 pass", sslmode="verify-full", **verified).close()
        with pytest.raises(psycopg.OperationalError, match="encrypted"):
            _connected(server, "owner", "3 pass", sslmode="disable")
    finally:
        server.close()


def test_limits() -> None:
    server = Running(limits=Limits(connections=2, rows=10, seconds=5, body="1 MiB"))
    try:
        first, second = server.connect(), server.connect()
        with pytest.raises(psycopg.OperationalError, match="too many"):
            server.connect()
        second.close()
        first.execute("INSERT INTO items SELECT x, 'a' FROM (SELECT explode(sequence(1, 2000)) AS x)")
        with pytest.raises(psycopg.Error, match="may have 10"):
            first.execute("SELECT * FROM items")
        with pytest.raises(errors.QueryCanceled):
            first.execute("SELECT count(*) FROM items a, items b, items c WHERE a.id + b.id > c.id")
        with pytest.raises(psycopg.Error, match="may have"):
            _copy(first, b"9999\tx\n" * 200_000)
        assert first.execute("SELECT count(*) FROM items").fetchone() == (2000,)
    finally:
        server.close()


def _copy(connection: psycopg.Connection[Any], data: bytes) -> None:
    with connection.cursor() as cursor, cursor.copy("COPY items FROM STDIN") as copy:
        copy.write(data)
