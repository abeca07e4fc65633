"""The functions of `net::ipv4`, over numbers of 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from deltic_ddlog.natives import natives
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

_DOCUMENTATION = tuple(map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_BROADCAST = (1 << 32) - 1


def _from_text(text: str) -> Struct:
    try:
        return ok(int(IPv4Address(text)))
    except AddressValueError:
        return err("invalid IPv4 address syntax")


_KINDS: dict[str, Callable[[IPv4Address], bool]] = {
    "unspecified": lambda address: address.is_unspecified,
    "loopback": lambda address: address.is_loopback,
    "private": lambda address: any(address in network for network in _PRIVATE),
    "link_local": lambda address: address.is_link_local,
    "multicast": lambda address: address.is_multicast,
    "broadcast": lambda address: int(address) == _BROADCAST,
    "documentation": lambda address: any(address in network for network in _DOCUMENTATION),
}


def _is(kind: Callable[[IPv4Address], bool]) -> Callable[[int], bool]:
    return lambda address: kind(IPv4Address(address))


natives("net::ipv4", {f"ipv4_is_{name}": _is(kind) for name, kind in _KINDS.items()})
natives(
    "net::ipv4",
    {
        "ipv4_new": lambda *octets: int.from_bytes(bytes(octets), "big"),
        "ipv4_from_octet_vec": lambda octets: some(int.from_bytes(bytes(octets), "big")) if len(octets) == 4 else NONE,
        "ipv4_from_u32 ipv4_to_u32 ipv4_to_ipv6_compatible": lambda number: number,
        "ipv4_from_str": _from_text,
        "ipv4Addr2string": lambda address: str(IPv4Address(address)),
        "ipv4_octets": lambda address: tuple(address.to_bytes(4, "big")),
        "ipv4_octet_vec": lambda address: Vec(address.to_bytes(4, "big")),
        "ipv4_to_ipv6_mapped": lambda address: 0xFFFF << 32 | address,
        "iPV4_LOCALHOST": lambda: 0x7F000001,
        "iPV4_UNSPECIFIED": lambda: 0,
        "iPV4_BROADCAST": lambda: _BROADCAST,
    },
)
