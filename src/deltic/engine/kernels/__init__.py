"""Kernels: functions over arrays that numba compiles to one library, nothing of them specific to a program."""
