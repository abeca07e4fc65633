"""Runs the application by uvicorn, in a thread of its own."""

from __future__ import annotations

import logging
import socket
import time
from threading import Thread

import uvicorn

from deltic.errors import DelticError
from deltic.server.http.app import HttpApplication
from deltic.server.limits import Limits
from deltic.server.listening import Address, Tls

_GRACE = 10
"""Seconds that requests under way may take when the server stops."""
_BEGINS = 10.0


class HttpServer:
    """Serves an application at an address until `stop`, or the end of a with-block; `address` is where."""

    def __init__(self, application: HttpApplication, address: Address, limits: Limits, tls: Tls | None = None) -> None:
        self._application = application
        self._socket: socket.socket = address.bound()
        self.address = Address(address.host, self._socket.getsockname()[1])
        self.url = f"{'https' if tls else 'http'}://{self.address}"
        config = uvicorn.Config(
            application.asgi,
            log_config=None,
            access_log=False,
            lifespan="off",
            limit_concurrency=limits.connections,
            timeout_graceful_shutdown=_GRACE,
            server_header=False,
            ssl_certfile=None if tls is None else tls.certificate,
            ssl_keyfile=None if tls is None else str(tls.key),
        )
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._run, name="deltic http", daemon=True)
        self._failure: BaseException | None = None
        self._thread.start()
        self._wait()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except (OSError, SystemExit) as error:
            self._failure = error

    def _wait(self) -> None:
        """Wait until the server answers; raises DelticError."""
        until = time.monotonic() + _BEGINS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                self._socket.close()
                raise DelticError(f"{self.url} cannot be served: {self._failure or 'it did not begin'}")
            time.sleep(0.005)

    def stop(self) -> None:
        """Refuse new requests, and end when the open ones are answered."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self._application.close()

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
