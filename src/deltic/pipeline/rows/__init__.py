"""Rows in whatever form a user has them."""
