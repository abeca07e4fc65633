"""Deltic keeps SQL and Datalog views, recursive ones too, fresh at the cost of the change."""

from __future__ import annotations

__version__ = "0.1.0"
