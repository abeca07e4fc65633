"""DDlog's command line over a pipeline: its inputs, its commands, and what it prints."""
