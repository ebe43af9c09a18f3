"""Finds transforms that drop what mm2 itself writes: heartbeats and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mm2.config.transforms.chain_reading import chain_of_bytes
from mm2.core.model import CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR, ClusterAlias
from mm2.core.policy import SOURCE_ALIAS_KEY, DefaultReplicationPolicy
from mm2.core.transforms import own_record
from mm2.errors import ConfigError, TransformError

_KINDS: Final = {HEARTBEAT_CONNECTOR: "heartbeats", CHECKPOINT_CONNECTOR: "checkpoints"}


def dropped_records(connector: str, properties: Mapping[str, str]) -> Iterator[ConfigError]:
    """
    What is to be said of a connector whose records its transforms drop, as in Java's MirrorMaker.

    Topics are named as by Java's policies; a policy of the user's own is not asked.
    """
    chain = chain_of_bytes(properties) if connector in _KINDS else None
    policy = DefaultReplicationPolicy()
    try:
        policy.configure(properties)
        source = ClusterAlias(properties.get(SOURCE_ALIAS_KEY, ""))
        is_beat = connector == HEARTBEAT_CONNECTOR
        topic = policy.heartbeats_topic() if is_beat else policy.checkpoints_topic(source)
        if chain is None:
            return
        found = own_record(topic, b"", b"", 0, chain=chain)
    except (ConfigError, TransformError):
        return  # told elsewhere, or of the records themselves
    if found is not None and (found.topic == topic or not is_beat):
        return
    if found is not None:
        message = f"transforms = {properties['transforms']}: heartbeats go to topic {found.topic}"
        yield ConfigError(message, key="transforms", value=properties["transforms"])
        return
    message = (
        f"transforms = {properties['transforms']}: {_KINDS[connector]} are dropped too, as by"
        f" Java's MirrorMaker: keep topic {topic} with a predicate TopicNameMatches"
    )
    yield ConfigError(message, key="transforms", value=properties["transforms"])
