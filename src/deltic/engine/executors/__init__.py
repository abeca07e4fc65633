"""The executors: the same steps inline, over shards in this process, or as Spark jobs on their files."""
