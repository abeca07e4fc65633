"""Soufflé's concrete syntax: grammar, parser and printer."""
