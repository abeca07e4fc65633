"""Recursion: iterations of a component, compiled where they are small; strategies and the refresh policy.

Start with `driver.py`, the loop of all recursions, and with the invariants of it, of `pending.py` and of `settle.py`:
what is pending, and what a round changes. `epoch.py` runs the rounds of one store. Shards and jobs have executors of
their own, which import the driver, the queue and the settlers from here. `component.py` builds a component from
queries; `compiled_loop.py` has the tables for kernels; `refresh.py` decides between an update and a recomputation.
Nothing here depends on exchanges.
"""
