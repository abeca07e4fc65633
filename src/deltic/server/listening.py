"""Where a server listens: loopback addresses, or others with TLS and users."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from deltic.errors import DelticError


@dataclass(frozen=True)
class Tls:
    """A certificate and its key, in files of PEM."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Address:
    """A host and a port; port 0 is any free one."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Address:
        """From HOST:PORT, as 127.0.0.1:8080 or [::1]:8080; raises DelticError."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise DelticError(f"{text!r} is no address: write HOST:PORT, as in 127.0.0.1:8080")
        return cls(host.strip("[]"), int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self, tls: Tls | None, has_users: bool) -> None:
        """Raise DelticError where other machines could reach it without TLS or without authentication."""
        if not self.is_loopback and (tls is None or not has_users):
            raise DelticError(
                f"{self.host} is reached from other machines: that takes TLS and users, --tls-cert, --tls-key and "
                "--users; `deltic user NAME` makes a user"
            )

    def bound(self) -> socket.socket:
        """Return a socket that listens there; raises DelticError.

        What is sent on its connections does not wait until the client has acknowledged what went before (TCP_NODELAY).
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listening = socket.create_server((self.host, self.port), family=family, backlog=1024)
        except OSError as error:
            raise DelticError(f"{self}: {error.strerror or error}; choose another address") from error
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
