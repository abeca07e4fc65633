"""The functions of `net::ipv6`, over numbers of 128 bits."""

from __future__ import annotations

import struct
from ipaddress import AddressValueError, IPv6Address

from deltic_ddlog.natives import native
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

_SEGMENTS = struct.Struct(">8H")


@native("net::ipv6::ipv6_new")
def new(*segments: int) -> int:
    """The address of eight numbers of 16 bits."""
    return int.from_bytes(_SEGMENTS.pack(*segments), "big")


@native("net::ipv6::ipv6_from_segment_vec")
def from_segment_vec(segments: Vec) -> Struct:
    """The address of a vector of eight numbers; `None` of another one."""
    return some(new(*segments)) if len(segments) == 8 else NONE


@native("net::ipv6::ipv6_from_octet_vec")
def from_octet_vec(octets: Vec) -> Struct:
    """The address of a vector of 16 bytes; `None` of another one."""
    return some(int.from_bytes(bytes(octets), "big")) if len(octets) == 16 else NONE


@native("net::ipv6::ipv6_from_octets")
def from_octets(*octets: int) -> int:
    """The address of 16 bytes, the highest one first."""
    return int.from_bytes(bytes(octets), "big")


@native("net::ipv6::ipv6_octets")
def octets(address: int) -> tuple[int, ...]:
    """Its 16 bytes, the highest one first."""
    return tuple(address.to_bytes(16, "big"))


@native("net::ipv6::ipv6_from_u128")
def from_number(number: int) -> int:
    """The address that a number is."""
    return number


native("net::ipv6::ipv6_to_u128")(from_number)


@native("net::ipv6::ipv6_from_str")
def from_text(text: str) -> Struct:
    """The address that a text says."""
    try:
        return ok(int(IPv6Address(text)))
    except AddressValueError:
        return err("invalid IPv6 address syntax")


@native("net::ipv6::ipv6Addr2string")
def to_text(address: int) -> str:
    """Its shortest text; one that stands for an address of version 4 ends with that one."""
    if address >> 32 == 0xFFFF:
        return f"::ffff:{'.'.join(map(str, address.to_bytes(16, 'big')[12:]))}"
    return str(IPv6Address(address))


@native("net::ipv6::ipv6_segments")
def segments(address: int) -> tuple[int, ...]:
    """Its eight numbers."""
    return _SEGMENTS.unpack(address.to_bytes(16, "big"))


@native("net::ipv6::ipv6_segment_vec")
def segment_vec(address: int) -> Vec:
    """Its eight numbers as a vector."""
    return Vec(segments(address))


@native("net::ipv6::ipv6_octet_vec")
def octet_vec(address: int) -> Vec:
    """Its 16 bytes as a vector."""
    return Vec(address.to_bytes(16, "big"))


@native("net::ipv6::iPV6_LOCALHOST")
def localhost() -> int:
    """`::1`."""
    return 1


@native("net::ipv6::iPV6_UNSPECIFIED")
def unspecified() -> int:
    """`::`."""
    return 0


@native("net::ipv6::ipv6_is_unspecified")
def is_unspecified(address: int) -> bool:
    """Whether it is `::`."""
    return address == 0


@native("net::ipv6::ipv6_is_loopback")
def is_loopback(address: int) -> bool:
    """Whether it is `::1`."""
    return address == 1


@native("net::ipv6::ipv6_is_multicast")
def is_multicast(address: int) -> bool:
    """Whether it begins with `ff`."""
    return address >> 120 == 0xFF


@native("net::ipv6::ipv6_to_ipv4")
def to_ipv4(address: int) -> Struct:
    """The address of version 4 that it stands for, `::a.b.c.d` or `::ffff:a.b.c.d`."""
    return some(address & 0xFFFFFFFF) if address >> 32 in (0, 0xFFFF) else NONE
