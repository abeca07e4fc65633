"""Replicas: services that follow a state which another process writes.

The thread of the writer applies what was committed, as it does all changes of a pipeline; clients change nothing.
"""

from __future__ import annotations

import logging
from functools import partial

from deltic.engine.stopping import StopSignal
from deltic.errors import DelticError
from deltic.server.aged import CachedCounts
from deltic.server.repeating import Repeating
from deltic.server.service import Service

_LOG = logging.getLogger("deltic.server")


def followed(service: Service, seconds: float) -> Repeating:
    """Follow the state of a service's pipeline, which is only read, every so many seconds until it is closed."""
    return Repeating(partial(_follow, service), seconds, "deltic follow")


def _follow(service: Service) -> None:
    before = service.pipeline.epoch
    try:
        service.do(service.pipeline.follow, StopSignal())
    except DelticError as error:
        service.behind = f"the state cannot be followed beyond epoch {service.pipeline.epoch}: {error}"
        service.activity.error("state", service.behind)
        _LOG.warning("%s", service.behind)
    else:
        service.behind = ""
    if len(service.activity.epochs(before)) < service.pipeline.epoch - before:  # it began with a checkpoint
        service.counts = CachedCounts()
