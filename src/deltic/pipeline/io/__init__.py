"""Rows from files and to files: delimited text, Parquet, JSON lines; through Spark or through Arrow alone."""
