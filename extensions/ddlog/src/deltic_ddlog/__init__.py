"""DDlog: its language, its values and its command language, over the circuits of all other front ends."""
