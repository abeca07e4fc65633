"""The server's part of SCRAM-SHA-256 [RFC 5802, RFC 7677], as PostgreSQL's clients speak it: without channel binding.

The package scramp is not used for it: from 1.4.18 on it refuses the empty user name that libpq sends, by which
PostgreSQL means the one of the startup message.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

_FIRST = re.compile(r"([ny],[^,]*,)((?:n=[^,]*),r=([!-+\--~]+)(?:,.*)?)", re.DOTALL)
_FINAL = re.compile(r"(c=([^,]*),r=([!-+\--~]+)(?:,.*)?),p=([A-Za-z0-9+/=]+)", re.DOTALL)


class ScramError(Exception):
    """A client does not prove a password."""


@dataclass
class Exchange:
    """One exchange with a client; `verifier` is PostgreSQL's: SCRAM-SHA-256$iterations:salt$stored key:server key."""

    verifier: str
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    _header: str = ""
    _messages: str = ""

    def first(self, message: str) -> str:
        """The answer to a client's first message. Raises ScramError."""
        if (match := _FIRST.fullmatch(message)) is None:
            raise ScramError("the first message is malformed, or asks for channel binding")
        self._header, bare, nonce = match[1], match[2], match[3]
        self.nonce = nonce + self.nonce
        iterations, _, salt = self.verifier.split("$")[1].partition(":")
        answer = f"r={self.nonce},s={salt},i={iterations}"
        self._messages = f"{bare},{answer}"
        return answer

    def final(self, message: str) -> str:
        """The answer to a client's last message. Raises ScramError where it does not prove the password."""
        if (match := _FINAL.fullmatch(message)) is None:
            raise ScramError("the last message is malformed")
        stored, server = (base64.b64decode(key) for key in self.verifier.split("$")[2].split(":"))
        signed = f"{self._messages},{match[1]}".encode()
        proof = base64.b64decode(match[4])
        key = bytes(a ^ b for a, b in zip(hmac.digest(stored, signed, "sha256"), proof, strict=False))
        is_proved = hmac.compare_digest(hashlib.sha256(key).digest(), stored) and len(proof) == len(stored)
        is_bound = match[2] == base64.b64encode(self._header.encode()).decode() and match[3] == self.nonce
        if not (is_proved and is_bound):
            raise ScramError("the proof is wrong")
        return f"v={base64.b64encode(hmac.digest(server, signed, 'sha256')).decode()}"
