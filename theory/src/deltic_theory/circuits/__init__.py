"""The theory of circuits: other meanings than the reference interpreter's, typing rules.

* `denotation`: a circuit as a function on streams [DBSP §9.3].
* `machine`: a circuit as state machines that send each other events [DBSP §10].
* `derivation`: the typing rules by which a circuit is built [DBSP §9.4].
* `boolean`: the derivative table for pairs of additions and removals [FIX §4.2].
"""
