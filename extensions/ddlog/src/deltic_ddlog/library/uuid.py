"""The functions of `uuid`, over numbers of 128 bits."""

from __future__ import annotations

import hashlib
from uuid import NAMESPACE_DNS, NAMESPACE_OID, NAMESPACE_URL, NAMESPACE_X500, UUID

from deltic_ddlog.natives import native, natives
from deltic_ddlog.values import Struct, Vec, err, ok, tried


@native("uuid::new_v5")
def new_v5(namespace: int, name: Vec) -> int:
    """The identifier of a name, by SHA-1."""
    result = hashlib.sha1(namespace.to_bytes(16, "big") + bytes(name), usedforsecurity=False).digest()
    return UUID(bytes=result[:16], version=5).int


@native("uuid::from_bytes")
def from_bytes(given: Vec) -> Struct:
    """The identifier of 16 bytes."""
    if len(given) != 16:
        return err(f"invalid bytes length: expected 16, found {len(given)}")
    return ok(int.from_bytes(bytes(given), "big"))


@native("uuid::parse_str")
def parse_str(text: str) -> Struct:
    """The identifier in a text, with or without hyphens."""
    return tried(ValueError, lambda: UUID(text).int)


def _turned(number: int) -> int:
    """Return the number with its bytes reversed."""
    return int.from_bytes(number.to_bytes(16, "little"), "big")


natives(
    "uuid",
    {
        "from_u128 as_u128": lambda number: number,
        "from_u128_le to_u128_le": _turned,
        "is_nil": lambda uuid: uuid == 0,
        "nil": lambda: 0,
        "nAMESPACE_DNS": lambda: NAMESPACE_DNS.int,
        "nAMESPACE_OID": lambda: NAMESPACE_OID.int,
        "nAMESPACE_URL": lambda: NAMESPACE_URL.int,
        "nAMESPACE_X500": lambda: NAMESPACE_X500.int,
        "to_hyphenated_lower": lambda uuid: str(UUID(int=uuid)),
        "to_hyphenated_upper": lambda uuid: str(UUID(int=uuid)).upper(),
        "to_simple_lower": lambda uuid: f"{uuid:032x}",
        "to_simple_upper": lambda uuid: f"{uuid:032X}",
        "to_urn_lower": lambda uuid: UUID(int=uuid).urn,
        "to_urn_upper": lambda uuid: "urn:uuid:" + str(UUID(int=uuid)).upper(),
    },
)
