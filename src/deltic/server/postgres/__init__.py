"""PostgreSQL's protocol: any client of PostgreSQL reads and changes a pipeline.

Messages are those of pygwire, values are read and written by psycopg's adapters, and questions about
the catalog are answered by DuckDB over tables of PostgreSQL's shape. What is here is the order of messages, the state
of a session, and the words in which the two dialects differ.
"""
