"""The functions of `net::ipv6`, over numbers of 128 bits."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from deltic_ddlog.natives import natives
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

_SEGMENTS = struct.Struct(">8H")


def _of_bytes(octets: Iterable[int]) -> int:
    return int.from_bytes(bytes(octets), "big")


def _of_segments(segments: Iterable[int]) -> int:
    return _of_bytes(_SEGMENTS.pack(*segments))


def _bytes(address: int) -> bytes:
    return address.to_bytes(16, "big")


def _from_text(text: str) -> Struct:
    try:
        return ok(int(IPv6Address(text)))
    except AddressValueError:
        return err("invalid IPv6 address syntax")


def _to_text(address: int) -> str:
    """Its shortest text; one that stands for an address of version 4 ends with that one."""
    is_mapped = address >> 32 == 0xFFFF
    return f"::ffff:{IPv4Address(address & 0xFFFFFFFF)}" if is_mapped else str(IPv6Address(address))


natives(
    "net::ipv6",
    {
        "ipv6_new": lambda *segments: _of_segments(segments),
        "ipv6_from_segment_vec": lambda segments: some(_of_segments(segments)) if len(segments) == 8 else NONE,
        "ipv6_from_octet_vec": lambda octets: some(_of_bytes(octets)) if len(octets) == 16 else NONE,
        "ipv6_from_octets": lambda *octets: _of_bytes(octets),
        "ipv6_octets": lambda address: tuple(_bytes(address)),
        "ipv6_octet_vec": lambda address: Vec(_bytes(address)),
        "ipv6_from_u128 ipv6_to_u128": lambda number: number,
        "ipv6_from_str": _from_text,
        "ipv6Addr2string": _to_text,
        "ipv6_segments": lambda address: _SEGMENTS.unpack(_bytes(address)),
        "ipv6_segment_vec": lambda address: Vec(_SEGMENTS.unpack(_bytes(address))),
        "iPV6_LOCALHOST": lambda: 1,
        "iPV6_UNSPECIFIED": lambda: 0,
        "ipv6_is_unspecified": lambda address: address == 0,
        "ipv6_is_loopback": lambda address: address == 1,
        "ipv6_is_multicast": lambda address: address >> 120 == 0xFF,
        "ipv6_to_ipv4": lambda address: some(address & 0xFFFFFFFF) if address >> 32 in (0, 0xFFFF) else NONE,
    },
)
