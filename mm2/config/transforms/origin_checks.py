"""Checks ``provenance.origins``, which names clusters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from mm2.config.connector_settings import TransformSettings
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError

_KEY = "provenance.origins"
_CLUSTER_ID = re.compile(r"[A-Za-z0-9._-]{22,}")
"""Kafka makes them of 22 characters, other brokers of more."""


def origin_mistakes(
    flow: SourceAndTarget, settings: TransformSettings, known: Collection[str] | None
) -> Iterator[ConfigError]:
    """
    Says what is wrong with the clusters that are named.

    Args:
        known: all aliases there are; None if that is not known, as in a Connect worker.
    """
    if not settings.origins:
        return
    value = ",".join(settings.origins)
    if not settings.provenance:
        message = f"{_KEY} has no effect: write provenance.headers.enabled = true, or leave it out"
        yield ConfigError(message, key=_KEY, value=value)
    for each in dict.fromkeys(settings.origins):
        if each == flow.target:
            message = f"{_KEY}: records of {each} are never copied to {each}; leave it out"
            yield ConfigError(message, key=_KEY, value=value)
        elif known is not None and each not in known and not _CLUSTER_ID.fullmatch(each):
            names = ", ".join(known)
            message = f"{_KEY}: '{each}' is no cluster, and no cluster id; there are {names}"
            yield ConfigError(message, key=_KEY, value=value)
