"""The definitions of front ends, and how a pipeline changes them."""
