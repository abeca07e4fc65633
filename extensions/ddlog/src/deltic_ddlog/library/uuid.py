"""The functions of `uuid`, over numbers of 128 bits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from uuid import NAMESPACE_DNS, NAMESPACE_OID, NAMESPACE_URL, NAMESPACE_X500, UUID

from deltic_ddlog.natives import native
from deltic_ddlog.values import Struct, Vec, err, ok


@native("uuid::from_u128")
def same(number: int) -> int:
    """The identifier that a number is, and the number that an identifier is."""
    return number


native("uuid::as_u128")(same)


@native("uuid::from_u128_le")
def turned(number: int) -> int:
    """The same with its bytes in the other order."""
    return int.from_bytes(number.to_bytes(16, "little"), "big")


native("uuid::to_u128_le")(turned)


@native("uuid::new_v5")
def new_v5(namespace: int, name: Vec) -> int:
    """The identifier of a name, by SHA-1."""
    found = hashlib.sha1(namespace.to_bytes(16, "big") + bytes(name), usedforsecurity=False).digest()
    return UUID(bytes=found[:16], version=5).int


@native("uuid::from_bytes")
def from_bytes(given: Vec) -> Struct:
    """The identifier of 16 bytes."""
    if len(given) != 16:
        return err(f"invalid bytes length: expected 16, found {len(given)}")
    return ok(int.from_bytes(bytes(given), "big"))


@native("uuid::parse_str")
def parse_str(text: str) -> Struct:
    """The identifier that a text says, with hyphens or without."""
    try:
        return ok(UUID(text).int)
    except ValueError as error:
        return err(str(error))


@native("uuid::is_nil")
def is_nil(uuid: int) -> bool:
    """Whether all of its bits are 0."""
    return uuid == 0


_CONSTANTS = {
    "nil": 0,
    "nAMESPACE_DNS": NAMESPACE_DNS.int,
    "nAMESPACE_OID": NAMESPACE_OID.int,
    "nAMESPACE_URL": NAMESPACE_URL.int,
    "nAMESPACE_X500": NAMESPACE_X500.int,
}
_TEXTS: dict[str, Callable[[UUID], str]] = {
    "to_hyphenated": str,
    "to_simple": lambda uuid: uuid.hex,
    "to_urn": str,
}


def _constant(value: int) -> Callable[[], int]:
    return lambda: value


def _text(form: Callable[[UUID], str], prefix: str, is_upper: bool) -> Callable[[int], str]:
    return lambda uuid: prefix + (form(UUID(int=uuid)).upper() if is_upper else form(UUID(int=uuid)))


for _name, _value in _CONSTANTS.items():
    native(f"uuid::{_name}")(_constant(_value))
for _name, _form in _TEXTS.items():
    for _case in ("lower", "upper"):
        _prefix = "urn:uuid:" if _name == "to_urn" else ""
        native(f"uuid::{_name}_{_case}")(_text(_form, _prefix, _case == "upper"))
