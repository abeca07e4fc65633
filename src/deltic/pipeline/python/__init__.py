"""What a user writes in Python: views, functions, aggregates, operators."""
