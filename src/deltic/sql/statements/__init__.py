"""Parsing SQL statements: definitions, changes and queries."""
