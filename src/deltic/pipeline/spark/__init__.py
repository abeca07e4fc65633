"""What Deltic needs of Spark: sessions, DataFrames from and to Arrow, rows that its tasks move."""
