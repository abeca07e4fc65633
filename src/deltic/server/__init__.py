"""Serves a pipeline to clients that are not in its process: `service.py` is the core, protocols stand beside it.

What lives here uses the pipeline by its public doors, and nothing of the pipeline knows of it. The service is the one
writer of its pipeline: all changes go through its queue, so that concurrent ones share an epoch. Start with
`service.py`.
"""
