"""Asks any broker which topics there are, and how they are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from mm2.core.model import TopicName
from mm2.core.topics.topic_plan import TopicDescription
from mm2.errors import Unavailable
from mm2.kafka.chunks import NAMES_PER_REQUEST, chunks
from mm2.kafka.client_errors import from_code
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.metadata import Metadata, MetadataRequest, TopicMetadata
from mm2.kafka.wire.requests.topic_names import TopicNamesRequest, TopicNamesResponse

_DESCRIBE: Final = "describe topics"


class TopicMetadataClient:
    """
    The topics of a cluster.

    A broker that knows of no broker which serves clients, itself among them, is asked again.
    """

    def __init__(self, link: ClusterClient, timeout_s: float) -> None:
        self._link = link
        self._timeout_s = timeout_s

    async def cluster_id(self, *, within_s: float | None = None) -> str:
        """The cluster's id: the cheapest question to a cluster."""
        answer = await self._insist("ask for its id", MetadataRequest([]), within_s)
        return str(answer.metadata.cluster_id)

    async def names(self) -> set[TopicName]:
        """Of all topics that we may know of."""
        answer: TopicNamesResponse = await self._insist("list topics", TopicNamesRequest())
        return set(map(TopicName, await asyncio.to_thread(answer.names)))

    async def describe(self, names: Iterable[TopicName]) -> dict[TopicName, TopicMetadata]:
        """The topics that exist among ``names``; others are left out."""
        asked = frozenset(names)
        return await self._link.retry(_DESCRIBE, lambda: self.look(asked), within_s=self._timeout_s)

    async def look(self, names: Iterable[TopicName]) -> dict[TopicName, TopicMetadata]:
        """
        As ``describe``, but asks once only.

        Raises:
            Unavailable: there is no answer, or one that will be another one in a moment.
            ClusterError: it refuses us, if only for one topic.
        """
        found: dict[TopicName, TopicMetadata] = {}
        for chunk in chunks(sorted(names), NAMES_PER_REQUEST):
            answer = await self._ask(_DESCRIBE, MetadataRequest(chunk))
            found |= {TopicName(topic.name): topic for topic in self._existing(answer.metadata)}
        return found

    def _existing(self, metadata: Metadata) -> Iterable[TopicMetadata]:
        for topic in metadata.topics:
            if topic.error == Code.NONE:
                yield topic
            elif topic.error != Code.UNKNOWN_TOPIC_OR_PARTITION:
                what = f"describe topic {topic.name}"
                raise from_code(self._link.alias, topic.error, what)

    async def _insist(self, what: str, request: object, within_s: float | None = None) -> Any:
        return await self._link.retry(
            what,
            lambda: self._ask(what, request),
            within_s=self._timeout_s if within_s is None else within_s,
        )

    async def _ask(self, what: str, request: object) -> Any:
        answer = await self._link.send(None, what, request)
        if not answer.brokers:
            raise Unavailable(self._link.alias, f"{what}: no broker is ready")
        return answer


def topic_description(topic: TopicMetadata) -> TopicDescription:
    """A topic; while its replicas are being moved, those that it will not keep do not count."""
    partitions = topic.partitions.values()
    replicas = min((len(each.replicas) for each in partitions), default=-1)
    return TopicDescription(TopicName(topic.name), len(partitions), replicas)
