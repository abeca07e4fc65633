"""The SQL front end: it lowers Spark's SQL to circuits. sqlglot parses it, and its semantics is Spark's."""
