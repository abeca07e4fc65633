"""The functions of `vec`."""

from deltic.datalog.ddlog.library import higher_order

__all__ = ["higher_order"]
