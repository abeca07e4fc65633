"""The local engine: packed rows in sorted runs, delta queries by leapfrog intersection, recursion by iterations."""
