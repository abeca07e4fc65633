"""xxHash against values that are published for it: a wrong constant, lane or tail."""

from __future__ import annotations

from deltic_ddlog.xxhash import xxh32, xxh64


def test_hashes_are_those_of_the_specification() -> None:
    sentence = b"Nobody inspects the spammish repetition"
    assert [xxh32(each, 0) for each in (b"", b"abc", sentence)] == [0x02CC5D05, 0x32D153FF, 0xE2293B2F]
    assert [xxh64(each, 0) for each in (b"", b"abc", sentence)] == [
        0xEF46DB3751D8E999,
        0x44BC2CF5AD770999,
        0xFBCEA83C8A378BF1,
    ]
