"""Runs texts of SQL on a pipeline."""
