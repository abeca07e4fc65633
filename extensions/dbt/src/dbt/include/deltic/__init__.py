"""The macros of the adapter."""
