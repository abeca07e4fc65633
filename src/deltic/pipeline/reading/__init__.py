"""Tables and views as of one epoch."""
