"""Recursions that are not monotone: rows appear and disappear between iterations, and their histories are stored.

Settling a history takes more than summing its changes: `examination.py` and `running.py` compute functions of groups,
`relation_function.py` functions of whole relations, `priority.py` says from which iteration on a value is present, and
`oscillation.py` detects recursions that cycle. A history after an epoch equals that of a computation from nothing.
Nothing here has a loop over rounds.
"""
