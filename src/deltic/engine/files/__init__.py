"""Files of states: directories on this machine and on other file systems, and the layout of a state in them."""
