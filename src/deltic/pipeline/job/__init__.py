"""A program over files."""
