"""Storage: rows packed into words, in sorted runs, in arrangements of relations."""
