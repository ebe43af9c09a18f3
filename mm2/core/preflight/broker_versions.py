"""Which release of Kafka brokers have at least, by the requests that they serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_METADATA: Final = 3
_INCREMENTAL_ALTER_CONFIGS: Final = 44
_PRODUCE: Final = 0

_SIGNS: Final = (
    ((_PRODUCE, 13), "4.1"),
    ((_METADATA, 13), "4.0"),
    ((74, 0), "3.7"),
    ((68, 0), "3.5"),
    ((55, 1), "3.3"),
    ((_METADATA, 12), "3.1"),
    ((65, 0), "3.0"),
    ((60, 0), "2.8"),
    ((48, 0), "2.6"),
    ((_INCREMENTAL_ALTER_CONFIGS, 0), "2.3"),
    ((_METADATA, 7), "2.1"),
)
"""A request with its version, and the release that has brought it; the newest first."""

OLDEST_TRIED: Final = "3.9"
"""The oldest release of brokers that mirrors are tested with."""


def least_release(versions: Mapping[int, int]) -> str | None:
    """
    The release that brokers have at least; None if they are older than 2.1.

    Args:
        versions: the newest version of each request, by Kafka's number of it.
    """
    return next((name for (key, least), name in _SIGNS if versions.get(key, -1) >= least), None)


def lacks(versions: Mapping[int, int]) -> list[str]:
    """What a mirror cannot do with these brokers, for people."""
    found = []
    if _INCREMENTAL_ALTER_CONFIGS not in versions:
        found.append("settings of topics are not synced (needs Kafka 2.3)")
    if versions.get(_METADATA, 0) < 12:  # noqa: PLR2004 - the version with topic ids
        found.append("topics that are deleted and created again are not told apart (needs 3.1)")
    return found
