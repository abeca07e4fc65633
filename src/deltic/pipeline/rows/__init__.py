"""Rows in the forms that users have."""
