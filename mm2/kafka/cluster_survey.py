"""
Asks a cluster what one has to know before a mirror runs: versions, limits, sizes, rights, time.

Nothing is changed. What a broker is too old for, or does not let us know, is None.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from aiokafka.protocol.admin import ApiVersionRequest

from mm2.clock import now_ms
from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.acls import AclOperation
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.chunks import NAMES_PER_REQUEST, chunks
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.configs import broker_settings_request, settings_of
from mm2.kafka.wire.requests.log_dirs import LogDirsRequest
from mm2.kafka.wire.requests.quorum import QuorumRequest
from mm2.kafka.wire.requests.rights import GroupRightsRequest, RightsRequest, TransactionsRequest

T = TypeVar("T")

Rights = frozenset[AclOperation]

_OPERATIONS: Final = dict(enumerate(AclOperation, start=2))
_NOT_TOLD: Final = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Clock:
    """The controller's clock beside ours, in ms; ``within_ms`` is how long it took to ask."""

    ahead_ms: int
    within_ms: int


class ClusterSurvey:
    """Asks one cluster."""

    def __init__(self, link: ClusterClient, timeout_s: float) -> None:
        self._link = link
        self._timeout_s = timeout_s

    async def api_versions(self) -> dict[int, int]:
        """The newest version of each request that the brokers have, by Kafka's number of it."""
        answer = await self._ask("ask for versions", ApiVersionRequest())
        return {key: newest for key, _oldest, newest in answer.api_versions}

    async def brokers(self) -> list[int]:
        """The nodes that serve clients."""
        return await self._retried("list brokers", self._link.brokers)

    async def broker_settings(self, names: Collection[str]) -> dict[int, dict[str, str]] | None:
        """Some settings of each broker; None if we may not see them."""
        found: dict[int, dict[str, str]] = {}
        for node in await self.brokers():
            request = broker_settings_request(node, sorted(names))
            answer = await self._ask("describe broker settings", request, node)
            settings = settings_of(answer).get(str(node))
            if settings is None:
                return None
            found[node] = settings
        return found

    async def log_sizes(self) -> dict[TopicPartition, int] | None:
        """Bytes of each partition, those of its largest replica; None if we may not know."""
        sizes: dict[TopicPartition, int] = {}
        for node in await self.brokers():
            answer = await self._ask("describe log directories", LogDirsRequest(), node)
            if not answer.is_allowed:
                return None
            for (topic, number), size in answer.sizes.items():
                where = TopicPartition(TopicName(topic), number)
                sizes[where] = max(size, sizes.get(where, 0))
        return sizes

    async def clock(self) -> Clock | None:
        """How far the controller's clock is ahead of ours; None if the cluster does not say."""
        try:
            begun = now_ms()
            answer = await self._ask("ask for the quorum", QuorumRequest())
            ended = now_ms()
        except Unavailable:
            raise
        except ClusterError:
            return None
        if answer.now_ms is None:
            return None
        return Clock(answer.now_ms - (begun + ended) // 2, ended - begun)

    async def cluster_rights(self) -> Rights | None:
        """What we may do with the cluster as a whole; None if it does not say."""
        answer = await self._ask("ask what we may do", RightsRequest([]))
        return _rights(answer.of_cluster)

    async def topic_rights(self, topics: Iterable[str]) -> dict[str, Rights | None]:
        """
        What we may do with each topic.

        None of a topic that does not exist and that we may describe; nothing of one that we may
        not describe, whether it exists or not.
        """
        found: dict[str, Rights | None] = {}
        for some in chunks(sorted(topics), NAMES_PER_REQUEST):
            answer = await self._ask("ask what we may do", RightsRequest(list(some)))
            for name, (error, bits) in answer.topics.items():
                is_hidden = error == Code.TOPIC_AUTHORIZATION_FAILED
                found[name] = frozenset() if is_hidden else None if error else _rights(bits)
        return found

    async def group_rights(self, group: str) -> Rights | None:
        """
        What we may do with a consumer group, whether it exists or not; nothing if we may not know.

        None if it is not told. All brokers are asked instead of searching for the coordinator, as
        a search would create the topic of offsets where there is none.
        """
        what = f"ask what we may do with group {group}"
        for node in await self.brokers():
            ((error, bits),) = (await self._ask(what, GroupRightsRequest([group]), node)).groups
            if error == Code.GROUP_AUTHORIZATION_FAILED:
                return frozenset()
            if error == Code.NONE:
                return _rights(bits)
        return None

    async def may_describe_transactions(self, transactional_id: str) -> bool:
        """Whether we may know of a transactional id, which need not exist."""
        answer = await self._ask("ask for a transaction", TransactionsRequest(transactional_id))
        return bool(answer.error != Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    async def _ask(self, what: str, request: object, node: int | None = None) -> Any:
        return await self._retried(what, partial(self._link.send, node, what, request))

    async def _retried(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        return await self._link.retry(what, attempt, within_s=self._timeout_s)


def _rights(bits: int) -> Rights | None:
    if bits == _NOT_TOLD:
        return None
    return frozenset(each for code, each in _OPERATIONS.items() if bits & 1 << code)
