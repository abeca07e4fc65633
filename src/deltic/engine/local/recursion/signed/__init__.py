"""Recursions that are not monotone: rows come and go from iteration to iteration, and their histories are kept."""
