"""
Gives the spellings that Java 4.3 does not know their effect, without touching what Java computes.

A spelling counts on the level where it stands: beside the flow's own keys, or at top level. On one
level the key of 4.3 wins over its alias; a flow's alias wins over the top level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mm2.config.definition import Type
from mm2.config.keys import TABLE
from mm2.config.keys_own import ALIASES, OWN_KEYS, READAHEAD, RENAME_TOPICS
from mm2.core.model import SourceAndTarget

_IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_TOP_LEVEL_OWN = frozenset(key.name for key in OWN_KEYS if key.type is Type.LONG)


def translated(
    raw: Mapping[str, str], flow: SourceAndTarget, properties: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """
    A connector's configuration with the spellings applied, and a warning for each.

    Args:
        raw: the file, as written.
        flow: whose own keys count.
        properties: what Java computes for the connector.
    """
    result = dict(properties)
    warnings: list[str] = []
    for prefix in ("", f"{flow}."):
        for key, target, value in _spellings(raw, prefix):
            taken = target in properties if not prefix else prefix + target in raw
            outcome = (
                f"{prefix}{target} is given too, and wins" if taken else f"read as {target}={value}"
            )
            warnings.append(f"{key}: not a key of Kafka's MirrorMaker; {outcome}")
            if not taken:
                result[target] = value
        if prefix + READAHEAD in raw:
            warnings.append(f"{prefix}{READAHEAD}: no effect; memory is bounded in bytes")
    for name in _TOP_LEVEL_OWN & raw.keys():
        result.setdefault(name, raw[name])
    return result, warnings


def _spellings(raw: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str, str]]:
    """Key as written, key of 4.3, and value, of every spelling that stands behind ``prefix``."""
    for alias in ALIASES:
        name = prefix + alias.name
        target = alias.stands_for or ""
        for key in [
            key for key in raw if key == name or (name.endswith(".") and key.startswith(name))
        ]:
            yield key, target + key.removeprefix(name), raw[key]
    rename = raw.get(prefix + RENAME_TOPICS)
    if rename is not None and TABLE["enabled"].parse(rename) is False:
        yield prefix + RENAME_TOPICS, "replication.policy.class", _IDENTITY
