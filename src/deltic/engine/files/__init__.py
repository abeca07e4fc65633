"""Files of states: directories of this machine and of other file systems, and what of a state stands in them."""
