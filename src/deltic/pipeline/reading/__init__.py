"""Tables and views, to be read as of one epoch."""
