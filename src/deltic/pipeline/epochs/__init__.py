"""Epochs: transactions, what they amount to as changes of tables, and what is told of them."""
