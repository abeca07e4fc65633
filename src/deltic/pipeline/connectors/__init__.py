"""Tables that are refreshed from rows outside, and views that are published there."""

from deltic.catalog import External

__all__ = ["External"]
