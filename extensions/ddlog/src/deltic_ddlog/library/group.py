"""The functions of `group`."""

from deltic_ddlog.library import higher_order

__all__ = ["higher_order"]
