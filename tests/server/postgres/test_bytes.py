"""Bytes that no client would send: at random, cut off, and right messages in a wrong order.

Catches a connection that ends the server, keeps it busy, or gets no answer; and one whose change is kept though its
client never got to the end of a transaction.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygwire import messages as m

from tests.server.postgres.conftest import Running

STARTUP = m.StartupMessage(params={"user": "ada", "database": "deltic"}).to_wire()
RIGHT = [
    m.Query(query_string="SELECT * FROM items"),
    m.Query(query_string="BEGIN; INSERT INTO items VALUES (1, 'a')"),
    m.Query(query_string="COPY items FROM STDIN"),
    m.Query(query_string="COPY items TO STDOUT"),
    m.Query(query_string=""),
    m.Parse(statement="s", query="SELECT * FROM items WHERE id = $1", param_types=[]),
    m.Parse(query="BEGIN"),
    m.Bind(portal="p", statement="s", param_values=[b"1"]),
    m.Bind(statement="s", param_formats=[1], param_values=[b"1"]),
    m.Describe(kind="S", name="s"),
    m.Describe(kind="P", name="p"),
    m.Execute(portal="p", max_rows=1),
    m.Execute(),
    m.Close(kind="S", name="s"),
    m.Sync(),
    m.Flush(),
    m.CopyData(data=b"1\ta\n"),
    m.CopyDone(),
    m.CopyFail(error_message="no"),
    m.FunctionCall(function_oid=1),
]
_MESSAGES = st.sampled_from([message.to_wire() for message in RIGHT])


def _answer(server: Running, data: bytes) -> bytes:
    """What the server says to bytes before it, or the client, goes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := client.recv(65536):
                answer += part
    return answer


def _still_answers(server: Running) -> None:
    with server.connect() as connection:
        assert connection.execute("SELECT count(*) FROM items").fetchone() == (0,)


FUZZ = settings(max_examples=max(150, settings().max_examples), deadline=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda data: STARTUP + data)))
def test_random_bytes(lasting: Running, data: bytes) -> None:
    _answer(lasting, data)
    _still_answers(lasting)


@FUZZ
@given(sent=st.lists(_MESSAGES, max_size=8), cut=st.integers(0, 40))
def test_right_messages_in_any_order(lasting: Running, sent: list[bytes], cut: int) -> None:
    """Nothing is kept, since no transaction is committed, and COPY that is done is not among them."""
    data = b"".join(sent)
    if b"COPY items FROM" in data and b"c\0\0\0\4" in data:
        data = data.replace(b"c\0\0\0\4", b"")
    answer = _answer(lasting, STARTUP + data[: max(0, len(data) - cut)])
    assert b"XX000" not in answer
    _still_answers(lasting)


@FUZZ
@given(message=_MESSAGES, place=st.integers(1, 30), byte=st.integers(0, 255))
def test_a_message_with_a_wrong_byte(lasting: Running, message: bytes, place: int, byte: int) -> None:
    changed = bytearray(message)
    changed[place % len(changed)] = byte
    answer = _answer(lasting, STARTUP + bytes(changed) + m.Sync().to_wire())
    assert b"XX000" not in answer
    _still_answers(lasting)


@pytest.mark.parametrize("length", [0, 3, 4, 7, 10_001, 2**31 - 1, 2**32 - 1])
def test_lengths_that_lie(lasting: Running, length: int) -> None:
    _answer(lasting, struct.pack("!I", length) + os.urandom(20))
    _answer(lasting, STARTUP + b"Q" + struct.pack("!I", length) + os.urandom(20))
    _still_answers(lasting)


def test_what_is_said_of_a_wrong_protocol(lasting: Running) -> None:
    assert b"unsupported frontend protocol 2.0" in _answer(lasting, struct.pack("!II", 8, 0x00020000))
    assert b"no user name" in _answer(lasting, struct.pack("!IIx", 9, 0x00030000))
    assert b"08P01" in _answer(lasting, STARTUP + b"!" + struct.pack("!I", 4))
