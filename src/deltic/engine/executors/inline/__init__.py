"""The inline executor: one store in this process, queries uncut, no exchange."""
