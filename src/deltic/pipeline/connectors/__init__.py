"""External sources, from which tables are refreshed, and external targets, where views are published."""

from deltic.catalog import External

__all__ = ["External"]
