"""PostgreSQL's protocol: any client of PostgreSQL reads and changes a pipeline.

pygwire implements the messages, psycopg's adapters read and write values, and DuckDB answers questions about the
catalog over tables of PostgreSQL's shape. This package has the order of messages, the state of a session, and the
differences between the two dialects.
"""
