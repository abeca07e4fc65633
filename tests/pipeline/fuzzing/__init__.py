"""Batches that nobody would send: random rows in every form in which rows are taken, and what may happen to them."""
