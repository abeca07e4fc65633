"""What is asked of Spark: sessions, DataFrames from and to Arrow, rows that its tasks move."""
