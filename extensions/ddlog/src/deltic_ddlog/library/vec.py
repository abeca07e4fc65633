"""The functions of `vec`."""

from deltic_ddlog.library import higher_order

__all__ = ["higher_order"]
