"""Deltic's use of Spark: sessions, DataFrames from and to Arrow, rows that Spark's tasks move."""
