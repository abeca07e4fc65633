"""Circuits that are made of others: what needs no operator of its own [DBSP §8].

Each is a function of a `CircuitBuilder` and the numbers of its nodes, and returns the number of a new one.
"""

from deltic.theory.circuits.constructions.delays import convolution, delayed, last_steps
from deltic.theory.circuits.constructions.iteration import while_changing
from deltic.theory.circuits.constructions.stream_join import matches, stream_join

__all__ = ["convolution", "delayed", "last_steps", "matches", "stream_join", "while_changing"]
