"""
What a client that has logged in may do to groups: the cluster's ACLs say.

They are asked in the client's name, and what they allow is remembered for a while.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from mm2.core.offset_manager.commits import OffsetError
from mm2.kafka.chunks import NAMES_PER_REQUEST, chunks
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.metadata import Metadata, MetadataRequest
from mm2.kafka.wire.requests.rights import may_commit_request, may_describe_request

KNOWN_S: Final = 30.0
"""For so long somebody may go on who was allowed to; a refusal is not remembered."""

_MOST_KNOWN: Final = 1_000
_REFUSED: Final = {
    Code.TOPIC_AUTHORIZATION_FAILED: OffsetError.TOPIC_AUTHORIZATION_FAILED,
    Code.GROUP_AUTHORIZATION_FAILED: OffsetError.GROUP_AUTHORIZATION_FAILED,
}
_MAY_COMMIT: Final = frozenset({Code.NONE, Code.UNKNOWN_TOPIC_OR_PARTITION})
_MAY_SEE: Final = frozenset(
    {
        Code.NONE,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.LEADER_NOT_AVAILABLE,
        Code.INVALID_TOPIC_EXCEPTION,
    }
)
_MAY_DESCRIBE: Final = frozenset({Code.NONE, Code.COORDINATOR_NOT_AVAILABLE})
"""A cluster that needs no coordinator may have none; rights are looked at before that."""


class ClientRights:
    """
    The rights of one client.

    Args:
        ask: asks a broker on a connection that is logged in as the client.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        ask: Callable[[object], Awaitable[Any]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._allowed: dict[tuple[str | None, str | None], float] = {}

    async def commit_refusal(self, group: str, topics: Iterable[str]) -> OffsetError:
        """
        Why the client may not commit: it needs Read on the group, and on the topics.

        Raises:
            ClusterError: the cluster does not say.
        """
        unknown = [each for each in dict.fromkeys(topics) if not self._is_known((group, each))]
        if not unknown:
            return OffsetError.NONE
        answer = await self._ask(may_commit_request(group, unknown))
        codes = [code for _, partitions in answer.topics for _, code in partitions]
        if error := next((_REFUSED[each] for each in codes if each in _REFUSED), None):
            return error
        if len(codes) < len(unknown) or not _MAY_COMMIT.issuperset(codes):
            return OffsetError.COORDINATOR_NOT_AVAILABLE
        self._note((group, topic) for topic in unknown)
        return OffsetError.NONE

    async def fetch_refusal(self, group: str) -> OffsetError:
        """
        Why the client may not fetch: it needs Describe on the group.

        Raises:
            ClusterError: the cluster does not say.
        """
        if self._is_known((group, None)):
            return OffsetError.NONE
        answer = await self._ask(may_describe_request(group))
        if answer.error_code in _REFUSED:
            return _REFUSED[answer.error_code]
        if answer.error_code not in _MAY_DESCRIBE:
            return OffsetError.COORDINATOR_NOT_AVAILABLE
        self._note([(group, None)])
        return OffsetError.NONE

    async def hidden_topics(self, topics: Iterable[str]) -> frozenset[str]:
        """
        The topics whose offsets the client may not fetch: it needs Describe on them.

        Raises:
            ClusterError: the cluster does not say.
        """
        unknown = [each for each in dict.fromkeys(topics) if not self._is_known((None, each))]
        seen: set[str] = set()
        for part in chunks(unknown, NAMES_PER_REQUEST):
            answer: Metadata = (await self._ask(MetadataRequest(part))).metadata
            seen.update(each.name for each in answer.topics if each.error in _MAY_SEE)
        self._note((None, topic) for topic in seen)
        return frozenset(unknown) - seen

    def _is_known(self, what: tuple[str | None, str | None]) -> bool:
        return self._allowed.get(what, -KNOWN_S) + KNOWN_S > self._clock()

    def _note(self, allowed: Iterable[tuple[str | None, str | None]]) -> None:
        if len(self._allowed) > _MOST_KNOWN:
            self._allowed.clear()
        self._allowed.update(dict.fromkeys(allowed, self._clock()))
