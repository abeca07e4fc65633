"""The Spark executor: the steps of the plan on shards as one job, or in the driver's process."""
