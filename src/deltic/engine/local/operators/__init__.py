"""The operators over batches of packed rows: queries, expressions, aggregates, windows, flatmaps, delays."""
