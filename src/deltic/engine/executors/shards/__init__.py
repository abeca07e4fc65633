"""Shards: a plan of steps with exchanges between them, and the executor that runs it in this process."""
