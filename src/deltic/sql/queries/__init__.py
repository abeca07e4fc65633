"""Queries to circuits: names, scopes, joins, grouping, subqueries, set operations, recursion."""

from deltic.sql.queries.query import stored_circuit, view_circuit

__all__ = ["stored_circuit", "view_circuit"]
