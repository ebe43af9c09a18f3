"""Looks at settings of topics, and alters them one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from aiokafka.protocol.admin import DescribeConfigsRequest

from mm2.core.model import TopicName
from mm2.core.topics.remote_configs import AlterConfig, ConfigEntry, ConfigSource
from mm2.errors import ClusterError
from mm2.kafka.changes import Outcome, change
from mm2.kafka.chunks import NAMES_PER_REQUEST, chunks
from mm2.kafka.client_errors import NotSupported, UnknownTopic, from_code, raise_first
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.configs import TOPIC, AlterConfigsRequest

_DESCRIBE: Final = "describe settings of"
_SOURCES: Final = dict(enumerate(ConfigSource))


async def topic_configs(
    link: ClusterClient, topics: Iterable[TopicName], timeout_s: float
) -> dict[TopicName, list[ConfigEntry]]:
    """All settings of the topics, with where each comes from; topics that are gone are left out."""
    found: dict[TopicName, list[ConfigEntry]] = {}
    for names in chunks(sorted(topics), NAMES_PER_REQUEST):
        request = DescribeConfigsRequest([(TOPIC, name, None) for name in names])
        ask = partial(link.send, None, _DESCRIBE, request)
        answer = await link.retry(_DESCRIBE, ask, within_s=timeout_s)
        raise_first(_failures(link.alias, answer), unless=UnknownTopic)
        found |= {
            TopicName(name): [_entry(*each) for each in sorted(entries)]
            for code, _message, _kind, name, entries in answer.resources
            if code == Code.NONE
        }
    return found


def _failures(alias: str, answer: Any) -> Iterator[ClusterError]:
    for code, message, _kind, name, _entries in answer.resources:
        if code != Code.NONE:
            yield from_code(alias, code, f"{_DESCRIBE} {name}", message)


def _entry(
    name: str,
    value: str | None,
    read_only: bool,  # noqa: FBT001
    source: int,
    sensitive: bool,  # noqa: FBT001
    _synonyms: object,
) -> ConfigEntry:
    return ConfigEntry(
        name=name,
        value=value,
        source=_SOURCES.get(source, ConfigSource.UNKNOWN),
        read_only=read_only,
        sensitive=sensitive,
    )


async def alter_topic_configs(
    link: ClusterClient, changes: Iterable[AlterConfig], timeout_s: float, *, validate_only: bool
) -> dict[TopicName, ClusterError]:
    """Sets and deletes settings of topics, leaving all others; returns what failed, by topic."""
    ordered = groupby(sorted(changes, key=attrgetter("topic")), key=attrgetter("topic"))
    by_topic = [(topic, list(each)) for topic, each in ordered]
    failed: dict[TopicName, ClusterError] = {}
    for some in chunks(by_topic, NAMES_PER_REQUEST):
        names = [name for name, _ in some]
        failed |= await change(
            link,
            "alter settings of",
            names,
            AlterConfigsRequest(some, validate_only=validate_only),
            _altered,
            within_s=timeout_s,
        )
    for error in failed.values():
        if isinstance(error, NotSupported):
            raise error
    return failed


def _altered(answer: Any) -> Iterator[Outcome[TopicName]]:
    for code, message, _kind, name in answer.responses:
        yield TopicName(name), code, message
