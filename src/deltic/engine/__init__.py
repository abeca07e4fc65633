"""The engines: they run incremental circuits."""
