"""The pipeline: programs, tables, views and transactions over an engine; rows from and to Arrow, pandas and Spark."""
