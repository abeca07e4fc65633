"""The oracle: the reference interpreter of circuits, against which every engine, rewrite and strategy is checked.

`interpreter` runs a circuit by the papers' definitions over Python Z-sets; `pointwise` defines the operators without
state, from the definitions of scalars, aggregates and windows in the files of these names.
"""
