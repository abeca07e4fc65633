"""Statements of SQL, done with a pipeline: steps of a text, prepared statements, variables of a session."""
