"""Servers that speak as Amazon's S3 does, on this machine, and a proxy before them that lets requests fail.

`scripts/s3-servers` installs them; tests that need them are skipped without.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deltic.engine.files import object_store
from tests.standalone import free_port

SERVERS = Path(os.environ.get("DELTIC_SERVERS") or Path.home() / ".cache/deltic/servers")
KINDS = ("versitygw", "moto")
REASON = "is not installed: run scripts/s3-servers"
BUCKET = "bucket"
FAULTS = ("503", "lost", "slow", "reset")
_KEYS = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secretsecret", "AWS_REGION": "us-east-1"}


def environment(port):
    """What lets Deltic find a server."""
    url = f"http://127.0.0.1:{port}"
    return {**_KEYS, "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true"}


class Server:
    """One server, with an empty bucket."""

    def __init__(self, kind, folder):
        self.kind, self.folder, self.port = kind, folder, free_port()
        self.program = SERVERS / {"versitygw": "versitygw", "moto": "moto/bin/moto_server"}[kind]
        if not self.program.exists():
            pytest.skip(f"{kind} {REASON}")
        (folder / BUCKET).mkdir(parents=True, exist_ok=True)
        self.start()
        if kind == "moto":
            self._make_bucket()

    def start(self):
        at = f"127.0.0.1:{self.port}"
        command = {
            "versitygw": [self.program, "--quiet", "--port", at, "--region", "us-east-1", "posix", self.folder],
            "moto": [self.program, "-H", "127.0.0.1", "-p", str(self.port)],
        }[self.kind]
        keys = {"ROOT_ACCESS_KEY": "me", "ROOT_SECRET_KEY": "secretsecret"}
        self.process = subprocess.Popen(
            command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        await_port(self.port)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def _make_bucket(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200


class Proxy:
    """Passes requests on to a server; of those that it is told to, some fail as `rng` says."""

    def __init__(self, port, seed=0):
        self.rng, self.share, self.faults, self.counts = random.Random(seed), 0.0, FAULTS, Counter()
        self.delay = 3.0
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                proxy.answer(self, port)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _drawn(self):
        with self._lock:
            fault = self.rng.choice(self.faults) if self.rng.random() < self.share else ""
            self.counts[fault or "passed"] += 1
            return fault

    def answer(self, request, port):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        fault = self._drawn()
        if fault == "503":
            request.send_response(503)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if fault == "reset":
            request.close_connection = True
            return
        if fault == "slow":
            time.sleep(self.delay)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            data = answer.read()
        except OSError:
            request.close_connection = True
            return
        if fault == "lost":
            request.close_connection = True
            return
        try:
            request.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "date", "server", "content-length"):
                    request.send_header(name, value)
            length = answer.getheader("Content-Length") if request.command == "HEAD" else str(len(data))
            request.send_header("Content-Length", length or "0")
            request.end_headers()
            request.wfile.write(data)
        except OSError:
            request.close_connection = True

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def use(monkeypatch, port):
    """Let this process, and those that it starts, find the server at a port."""
    for name, value in environment(port).items():
        monkeypatch.setenv(name, value)
    object_store._bucket.cache_clear()
    pytest.importorskip("obstore.fsspec").FsspecStore.clear_instance_cache()


def await_port(port):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the server does not listen")
