"""The functions of `net::ipv4`, over numbers of 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from deltic_ddlog.natives import native
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

_DOCUMENTATION = tuple(map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_BROADCAST = (1 << 32) - 1


@native("net::ipv4::ipv4_new")
def new(a: int, b: int, c: int, d: int) -> int:
    """The address of four bytes."""
    return int.from_bytes(bytes((a, b, c, d)), "big")


@native("net::ipv4::ipv4_from_octet_vec")
def from_octet_vec(octets: Vec) -> Struct:
    """The address of a vector of four bytes; `None` of another one."""
    return some(int.from_bytes(bytes(octets), "big")) if len(octets) == 4 else NONE


@native("net::ipv4::ipv4_from_u32")
def from_number(number: int) -> int:
    """The address that a number is."""
    return number


native("net::ipv4::ipv4_to_u32")(from_number)


@native("net::ipv4::ipv4_from_str")
def from_text(text: str) -> Struct:
    """The address that a text says."""
    try:
        return ok(int(IPv4Address(text)))
    except AddressValueError:
        return err("invalid IPv4 address syntax")


@native("net::ipv4::ipv4Addr2string")
def to_text(address: int) -> str:
    """Its four bytes with dots between them."""
    return str(IPv4Address(address))


@native("net::ipv4::ipv4_octets")
def octets(address: int) -> tuple[int, ...]:
    """Its four bytes."""
    return tuple(address.to_bytes(4, "big"))


@native("net::ipv4::ipv4_octet_vec")
def octet_vec(address: int) -> Vec:
    """Its four bytes as a vector."""
    return Vec(address.to_bytes(4, "big"))


@native("net::ipv4::ipv4_to_ipv6_mapped")
def to_mapped(address: int) -> int:
    """`::ffff:a.b.c.d`."""
    return 0xFFFF << 32 | address


native("net::ipv4::ipv4_to_ipv6_compatible")(from_number)

_CONSTANTS = {"iPV4_LOCALHOST": 0x7F000001, "iPV4_UNSPECIFIED": 0, "iPV4_BROADCAST": _BROADCAST}
_KINDS: dict[str, Callable[[IPv4Address], bool]] = {
    "unspecified": lambda address: address.is_unspecified,
    "loopback": lambda address: address.is_loopback,
    "private": lambda address: any(address in network for network in _PRIVATE),
    "link_local": lambda address: address.is_link_local,
    "multicast": lambda address: address.is_multicast,
    "broadcast": lambda address: int(address) == _BROADCAST,
    "documentation": lambda address: any(address in network for network in _DOCUMENTATION),
}


def _constant(value: int) -> Callable[[], int]:
    return lambda: value


def _is(kind: Callable[[IPv4Address], bool]) -> Callable[[int], bool]:
    return lambda address: kind(IPv4Address(address))


for _name, _value in _CONSTANTS.items():
    native(f"net::ipv4::{_name}")(_constant(_value))
for _name, _kind in _KINDS.items():
    native(f"net::ipv4::ipv4_is_{_name}")(_is(_kind))
