"""Compiled kernels: numba functions over arrays, nothing of them specific to a program."""
