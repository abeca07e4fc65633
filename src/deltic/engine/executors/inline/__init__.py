"""The inline executor: one store in this process, queries in one piece, no exchange."""
