"""
What Connect's keys of exactly-once source connectors mean to a flow (KIP-618, C192-C195).

Java's MirrorMaker defines them beside its own tables: they are the framework's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from mm2.config.keys.definition import Definition, parse_all
from mm2.config.keys.key_table import keys_of
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError

_TIMEOUT_MS: Final = 60_000
WORKER_KEY: Final = "exactly.once.source.support"
_ASKING: Final = ("enabled", "preparing")
_ISOLATION: Final = ("consumer.isolation.level", "source.consumer.isolation.level")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """
    When a flow's transactions end.

    Attributes:
        every: at this interval; None: as soon as what was fetched is written.
    """

    every: timedelta | None

    @staticmethod
    def timeout_ms(producer: Mapping[str, str]) -> int:
        """``transaction.timeout.ms`` of the producer of records; Kafka's default is 60 s."""
        return int(producer.get("transaction.timeout.ms", _TIMEOUT_MS))


def read_transactions(
    properties: Mapping[str, str], *, flush_interval: timedelta
) -> TransactionSettings:
    """The boundaries that a source connector's properties, free of mistakes, ask for."""
    if properties.get("transaction.boundary", "poll").strip().lower() != "interval":
        return TransactionSettings(every=None)
    own = properties.get("transaction.boundary.interval.ms")
    return TransactionSettings(
        every=flush_interval if own is None else timedelta(milliseconds=int(own))
    )


def misplaced(
    raw: Mapping[str, str], flow: SourceAndTarget, mode: str, mode_key: str
) -> Iterable[str]:
    """
    A sentence for each key that asks in vain for what only the worker's key gives (C043).

    Java passes over ``exactly.once.source.support`` at top level and in a flow, and mirrors at
    least once; so do we, but not in silence.

    Args:
        flow: the flow that may not be mirrored as its user thinks.
        mode: its worker's ``exactly.once.source.support``.
        mode_key: that key as the user would write it.
    """
    for written in (WORKER_KEY, f"{flow}.{WORKER_KEY}"):
        if mode == "disabled" and raw.get(written, "").strip().lower() in _ASKING:
            yield (
                f"{written} = {raw[written].strip()} has no effect there: the flow {flow} mirrors "
                f"at least once; write {mode_key} = {raw[written].strip()}"
            )


def exactly_once_mistakes(
    properties: Mapping[str, str], *, mode: str, mode_key: str, offsets_topic: str
) -> Iterable[ConfigError]:
    """
    What is wrong with a source connector's keys.

    Args:
        mode: the worker's ``exactly.once.source.support``.
        mode_key: that key as the user would write it.
        offsets_topic: the worker's ``offset.storage.topic``.
    """
    values, mistakes = parse_all(keys_of(Definition.CONNECT), properties)
    yield from mistakes
    if str(values.get("exactly.once.support")).lower() == "required":
        yield from _unsupported(properties, mode, mode_key)
    boundary = str(values.get("transaction.boundary")).lower()
    if boundary == "connector":
        message = (
            "transaction.boundary = connector: MirrorSourceConnector defines no boundaries of its "
            "own; write poll or interval"
        )
        yield ConfigError(message, key="transaction.boundary", value="connector")
    topic = values.get("offsets.storage.topic")
    if topic not in (None, offsets_topic):
        message = (
            f"offsets.storage.topic = {topic}: positions of all flows into a cluster stand in its "
            f"offset.storage.topic, which is {offsets_topic}; leave the key out"
        )
        yield ConfigError(message, key="offsets.storage.topic", value=str(topic))


def _unsupported(properties: Mapping[str, str], mode: str, mode_key: str) -> Iterable[ConfigError]:
    if mode != "enabled":
        message = f"exactly.once.support = required needs {mode_key} = enabled, not {mode}"
        yield ConfigError(message, key="exactly.once.support", value="required")
    if not reads_committed(properties):
        message = (
            "exactly.once.support = required needs isolation.level = read_committed: write "
            "consumer.isolation.level = read_committed"
        )
        yield ConfigError(message, key="exactly.once.support", value="required")


def reads_committed(properties: Mapping[str, str]) -> bool:
    """Whether the source's consumer leaves aborted records out (C192)."""
    level = ""
    for key in _ISOLATION:
        level = properties.get(key, level)
    return level == "read_committed"
