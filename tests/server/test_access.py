"""Who may use a server: roles, tokens, names of hosts, pages of other sites, addresses, TLS.

Catches an endpoint that a lesser role reaches, and a server that other machines reach without TLS and users.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import ipaddress
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deltic.errors import DelticError
from deltic.server.http.app import AccessRules, HttpApplication
from deltic.server.http.server import HttpServer
from deltic.server.listening import Address, Tls
from deltic.server.users import Role, Users, new_entry
from tests.server.conftest import LOOPBACK


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """A file with a user for each role, and their tokens."""
    path, tokens = tmp_path_factory.mktemp("users") / "users.toml", {}
    for role in Role:
        tokens[role], entry = new_entry(role.name.lower(), role)
        with path.open("a", encoding="utf-8") as file:
            file.write(entry)
    return path, tokens


@pytest.fixture
def guarded(serve, users):
    return serve(access=AccessRules(Users.load(users[0])))


def requests(number):
    """What each role may do at least."""
    insert = {"content": b'{"who": "a", "day": null}', "headers": {"Content-Type": "application/x-ndjson"}}
    define = f"CREATE VIEW v{number} AS SELECT * FROM visits"
    return [
        (Role.READER, "GET", "/catalog", {}),
        (Role.READER, "GET", "/views/takings", {}),
        (Role.READER, "GET", "/views/takings/plan", {}),
        (Role.READER, "GET", "/status", {}),
        (Role.READER, "GET", "/metrics", {}),
        (Role.READER, "POST", "/query", {"json": {"text": "SELECT 1 AS a"}}),
        (Role.WRITER, "POST", "/query", {"json": {"text": "INSERT INTO visits VALUES ('a', NULL)"}}),
        (Role.WRITER, "POST", "/tables/visits/changes?op=insert", insert),
        (Role.WRITER, "POST", "/changes", {"json": {"visits": [{"op": "+", "who": "b", "day": None}]}}),
        (Role.OWNER, "POST", "/query", {"json": {"text": define}}),
        (Role.OWNER, "POST", "/query", {"json": {"text": "SELECT 1 AS a; DROP VIEW takings"}}),
    ]


@pytest.mark.parametrize("role", Role)
def test_roles(guarded, users, role):
    client = guarded.client(users[1][role])
    for needed, method, path, entry in requests(int(role)):
        answer = client.request(method, path, **entry)
        assert answer.status_code == (200 if role >= needed else 403), (role, path, answer.text)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}])
def test_somebody_is_refused(guarded, headers):
    client = guarded.client(**headers)
    for _, method, path, entry in requests(0):
        answer = client.request(method, path, **entry)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), path
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
    ],
)
def test_pages_of_other_sites_are_refused(served, client, headers):
    answer = client.post("/query", json={"text": "DROP VIEW takings"}, headers=headers)
    assert answer.status_code == 403, answer.text
    assert "takings" in served.pipeline


def test_pages_of_its_own_are_not(served, client):
    origin = f"http://{served.server.address}"
    assert client.post("/query", json={"text": "SELECT 1 AS a"}, headers={"Origin": origin}).status_code == 200


def test_what_comes_may_load_nothing_from_elsewhere(client):
    for path in ("/catalog", "/"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path", ["/console/../app.py", "/console/%2e%2e/app.py", "/../users.py", "/console//etc/passwd"]
)
def test_the_console_has_its_own_files_alone(client, path):
    assert client.get(path).status_code == 404


def test_audit_lines_say_who(guarded, users, caplog):
    caplog.set_level("INFO", "deltic.audit")
    reader, writer = guarded.client(users[1][Role.READER]), guarded.client(users[1][Role.WRITER])
    for client in (reader, writer):
        client.post("/query", json={"text": "INSERT INTO visits VALUES ('password=hunter2', NULL)"})
    parts = [record.getMessage() for record in caplog.records if record.name == "deltic.audit"]
    assert ["403" in parts[0], "200" in parts[1]] == [True, True]
    assert parts[0].startswith("reader@127.0.0.1 POST /query")
    assert parts[1].startswith("writer@127.0.0.1 POST /query")
    assert "INSERT INTO visits" in parts[1]
    assert "hunter2" not in "".join(parts)


def test_verifiers_are_those_of_scram(users):
    """Checked as a server of SCRAM checks a client that knows the password [RFC 5802 §3]."""
    path, tokens = users
    user = Users.load(path).named("owner")
    mechanism, numbers, keys = user.password.split("$")
    iterations, salt = numbers.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", tokens[Role.OWNER].encode(), base64.b64decode(salt), int(iterations))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    assert mechanism == "SCRAM-SHA-256"
    assert base64.b64decode(keys.split(":")[0]) == hashlib.sha256(client_key).digest()
    assert tokens[Role.OWNER] not in path.read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file has no user"),
        ("[a", "Expected"),
        ("a = 1", "it is no table"),
        ("[a]\nrole = 'boss'", "one of reader, writer, owner"),
        ("[a]\nrole = 'owner'\nname = 'x'", "no key 'name'"),
        ("[a]\nrole = 'owner'\ntoken = 'secret'", "sha256:"),
        ("[a]\nrole = 'owner'\npassword = 'secret'", "SCRAM-SHA-256"),
    ],
)
def test_what_is_wrong_with_users_is_said(tmp_path, text, words):
    path = tmp_path / "users.toml"
    path.write_text(text)
    with pytest.raises(DelticError, match=str(path)) as raised:
        Users.load(path)
    assert words in str(raised.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_other_addresses_take_tls_and_users(host):
    tls = Tls(Path("a"), Path("b"))
    for given, has_users in ((None, True), (tls, False), (None, False)):
        with pytest.raises(DelticError, match="--tls-cert"):
            Address(host, 1).check(given, has_users)
    Address(host, 1).check(tls, has_users=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_takes_neither(host):
    Address(host, 1).check(None, has_users=False)


@pytest.mark.parametrize("text", ["", "8080", ":8080", "a:b", "a:99999", "a:-1"])
def test_what_is_no_address_is_said(text):
    with pytest.raises(DelticError, match="HOST:PORT"):
        Address.of(text)


def test_addresses_are_read():
    assert Address.of("[::1]:80") == Address("::1", 80)
    assert str(Address.of("[::1]:80")) == "[::1]:80"


def test_answers_do_not_wait_for_acknowledgements():
    with LOOPBACK.bound() as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1, which it signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    paths = tmp_path / "cert.pem", tmp_path / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(*plain))
    return paths


def test_tls(served, certificate):
    application = HttpApplication(served.service)
    with HttpServer(application, LOOPBACK, served.service.limits, Tls(*certificate)) as server:
        assert server.url.startswith("https://")
        with httpx.Client(verify=ssl.create_default_context(cafile=certificate[0]), trust_env=False) as client:
            assert client.get(f"{server.url}/readyz").status_code == 200
        with httpx.Client(trust_env=False) as client, pytest.raises(httpx.ConnectError):
            client.get(f"{server.url}/readyz")


def test_an_address_that_is_taken(served):
    with pytest.raises(DelticError, match="choose another address"):
        HttpServer(HttpApplication(served.service), served.server.address, served.service.limits)
