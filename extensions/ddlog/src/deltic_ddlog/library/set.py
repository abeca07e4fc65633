"""The functions of `set`."""

from deltic_ddlog.library import higher_order

__all__ = ["higher_order"]
