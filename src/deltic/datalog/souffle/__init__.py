"""Soufflé's concrete syntax: grammar and parser."""
