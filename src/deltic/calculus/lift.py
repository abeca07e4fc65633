"""Step 3 of [DBSP Alg. 6.13]: a circuit on databases becomes one on streams of databases."""

from __future__ import annotations

from deltic.circuit.graph import Circuit


def lift(circuit: Circuit) -> Circuit:
    """↑Q: every operator at every time, which by [DBSP Prop. 3.3] and [DBSP Prop. 5.7] is ↑ of the whole.

    A circuit of Deltic is written the same before and after: its nodes are functions until a stream flows through
    them, and the interpreters apply them at each step. Operators on streams, such as an explicit delay, are none
    of those that are lifted; they count the steps already.
    """
    return circuit
