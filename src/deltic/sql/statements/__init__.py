"""Statements of SQL: definitions, changes and questions, read from a text."""
