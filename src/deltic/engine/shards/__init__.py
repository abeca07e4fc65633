"""The same program on shards: a plan of steps with exchanges between them, and the executors that run it."""
