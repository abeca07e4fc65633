"""The oracle: the reference interpreter of circuits, by which every engine, rewrite and strategy is checked.

`interpreter` runs a circuit by the papers' definitions over Python Z-sets; `pointwise` gives the operators without
memory their meanings, from those of scalars, aggregates and windows in the files of these names.
"""
