"""Reading tables and views as of one epoch."""
