"""Spark Structured Streaming: streams into tables."""
