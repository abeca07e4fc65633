"""The libraries of DDlog: modules of declarations, and the functions of Python behind them, each in a file of its name.

A function that is declared for several types is one function of Python, which tells them apart by its arguments.
"""
