"""Epochs: transactions, their sum as changes of tables, and their reports."""
