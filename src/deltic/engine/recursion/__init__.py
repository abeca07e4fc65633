"""Recursion: iterations of a component, compiled where they are small; strategies and the refresh policy.

Start with `driver.py`, the one loop, and the invariants of it, of `pending.py` and of `settle.py`: what waits, and what
a round changes. `epoch.py` takes the rounds of one store; shards and jobs have executors of their own, and import the
driver, the queue and the settlers from here. `component_of.py` makes a component of queries; `compiled_loop.py` has
the tables for kernels; `refresh.py` decides between an update and a recomputation. Nothing here knows of exchanges.
"""
