"""The type variables of the theory: for values of groups, algebras and streams, and D… for their changes.

>>> A, DA
(~A, ~DA)
"""

from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
DA = TypeVar("DA")
DB = TypeVar("DB")
DC = TypeVar("DC")
E = TypeVar("E")
