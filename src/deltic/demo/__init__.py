"""The demonstration: recursive views over real Python code, kept fresh while the code is edited."""
