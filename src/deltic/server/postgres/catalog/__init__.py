"""PostgreSQL's catalog: pg_catalog and information_schema, as far as clients ask.

DuckDB answers the questions, over tables that have PostgreSQL's columns and the pipeline's rows. DuckDB's own
pg_catalog is not used: it has its own types and oids, and lacks relations that psql and drivers join.
"""
