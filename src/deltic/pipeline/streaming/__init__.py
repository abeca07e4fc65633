"""Spark Structured Streaming: streams into tables, and views as streams."""
