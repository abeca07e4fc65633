"""The SQL front end: from Spark's SQL to circuits. Parsing is sqlglot's, the meaning is Spark's."""
