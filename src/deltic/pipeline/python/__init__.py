"""Extensions that users write in Python: views, functions, aggregates, operators."""
