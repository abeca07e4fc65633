"""Reads and writes files of rows: delimited text, Parquet, JSON lines; through Spark or through Arrow alone."""
