"""Lowering queries to circuits: names, scopes, joins, grouping, subqueries, set operations, recursion."""

from deltic.sql.queries.query import ViewCircuit, answer_circuit, stored_circuit, view_circuit
