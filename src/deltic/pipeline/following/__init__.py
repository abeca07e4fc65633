"""States that other processes write: pipelines that follow them, and changes of their views as streams of Spark."""
