"""From checked programs to circuits."""
