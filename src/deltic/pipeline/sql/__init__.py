"""Texts of SQL, done with a pipeline."""
