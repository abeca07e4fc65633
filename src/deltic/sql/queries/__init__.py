"""Queries to circuits: names, scopes, joins, grouping, subqueries, set operations, recursion."""

from deltic.sql.queries.query import view_circuit

__all__ = ["view_circuit"]
