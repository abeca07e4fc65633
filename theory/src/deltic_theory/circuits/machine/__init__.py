"""The operational meaning of circuits: dataflow machines with reset, latch, data and repeat events [DBSP §10].

Each node becomes a state machine, each circuit a controller, and each edge a channel that holds one value at most.
`deltic_theory.circuits.denotation` says what they compute. Three things are needed that the paper does not say:

* Delays are latched at the beginning of every step, not after a reset alone, and keep their input for the next step.
* An iteration begins only when the one before it has reached every node, also those that the loop's exit does not
  wait for.
* A loop over changes ends no earlier than it did one step of its clock ago: changes may be zero at an iteration, and
  so may be their difference to those of the iteration before, and yet not at a later one.

>>> from deltic.algebra.zset import ZSet
>>> from deltic.circuit import CircuitBuilder, Schema, Type
>>> from deltic.circuit import operators as ops
>>> builder = CircuitBuilder()
>>> sums = builder.add(ops.Integrate(), builder.add(ops.Source("s", Schema.of(x=Type.INT64), is_set=False)))
>>> _ = builder.add(ops.Sink("v"), sums)
>>> machine = DataflowMachine(builder.build())
>>> machine.step({"s": ZSet.of([(1,)])}), machine.step({"s": ZSet.of([(1,), (2,)])})
({'v': ZSet({(1,): 1})}, {'v': ZSet({(1,): 2, (2,): 1})})
"""

from deltic_theory.circuits.machine.environment import DataflowMachine
