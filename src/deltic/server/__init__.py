"""Serves a pipeline to clients in other processes: `service.py` is the core, with the protocols beside it.

This package uses only the pipeline's public methods, and the pipeline does not import it. The service is the one
writer of its pipeline: all changes go through its queue, so that concurrent ones share an epoch. Start with
`service.py`.
"""
