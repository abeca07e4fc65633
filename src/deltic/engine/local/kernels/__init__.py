"""Kernels: functions over arrays that numba compiles once on a machine, nothing of them specific to a program."""
