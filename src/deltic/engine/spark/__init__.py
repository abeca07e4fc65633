"""The engine on Spark: the steps of the plan on shards as one Spark job, or in the driver's process."""
