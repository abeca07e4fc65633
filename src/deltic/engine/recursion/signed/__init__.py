"""Recursions that are not monotone: rows come and go from iteration to iteration, and their histories are kept.

What settling a history needs beside the sum of its changes: `examination.py` and `running.py` look at the groups of
one, `relation_function.py` at whole relations, `priority.py` says from when on a value is there, `oscillation.py` finds
recursions that go round. A history after an epoch is that of a computation from nothing. Nothing here has a loop.
"""
