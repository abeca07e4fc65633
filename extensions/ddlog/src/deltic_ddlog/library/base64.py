"""The functions of `base64`."""

from __future__ import annotations

import base64
import binascii

from deltic_ddlog.natives import native
from deltic_ddlog.values import Struct, Vec, tried


@native("base64::decode")
def decode(text: str) -> Struct:
    """The bytes that letters stand for."""
    return tried(binascii.Error, lambda: Vec(base64.b64decode(text, validate=True)))


@native("base64::encode")
def encode(data: Vec) -> str:
    """Letters for bytes."""
    return base64.b64encode(bytes(data)).decode()
