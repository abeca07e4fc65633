"""The `deltic` command."""
