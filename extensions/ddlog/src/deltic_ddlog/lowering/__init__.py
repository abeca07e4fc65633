"""DDlog's checked programs to circuits: relations to tables and views, rules to joins, everything else to functions."""
