"""
Commits and fetches offsets of many groups at once, and checks what comes back.

Each group has one thread that commits for it, so that the thread knows what must be there. Threads
that fetch look at any group. confluent-kafka's AdminClient does both, for it needs one client for
all groups; but librdkafka (2.16) may abort the process when a coordinator dies under it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
)
from confluent_kafka import TopicPartition as At
from confluent_kafka.admin import AdminClient

from mm2.core.offset_manager.load_findings import GroupHistory, Measured
from mm2.errors import Unavailable
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.librdkafka_settings import admin_settings

_CALL_S: Final = 10.0
_FINAL_S: Final = 60.0
_AGAIN_S: Final = 0.2
_ANY: Final = random.Random()  # noqa: S311 - no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """
    How much is asked.

    Attributes:
        topic: whose partitions are committed; it has to be there.
        groups: their names.
        committers: threads that commit.
        fetchers: threads that fetch.
        seconds: for how long.
        by_consumers: with a consumer for each group, and not with one client for all.
    """

    topic: str
    groups: Sequence[str]
    committers: int
    fetchers: int
    seconds: float
    by_consumers: bool = False


@dataclass
class LoadResult:
    """
    What has come of it.

    Attributes:
        seconds: how long it took.
        wrong: how many answers were stale, partial or of unknown commits, by that word; and groups
            that had lost an acknowledged commit at the end (lost), or were not answered
            (unanswered).
    """

    partitions: int = 0
    seconds: float = 0.0
    commits: Measured = field(default_factory=Measured)
    fetches: Measured = field(default_factory=Measured)
    wrong: dict[str, int] = field(default_factory=dict)

    def count(self, complaint: str | None) -> None:
        """Counts what is wrong with an answer."""
        if complaint is not None:
            self.wrong[complaint] = self.wrong.get(complaint, 0) + 1


def run_load(
    alias: str,
    properties: Mapping[str, str],
    load: Load,
    over: threading.Event | None = None,
    histories: dict[str, GroupHistory] | None = None,
) -> LoadResult:
    """
    Runs a load test against an offset manager, or against Kafka's own coordinators.

    Args:
        over: ends it earlier when it is set.
        histories: shows meanwhile how far each group is.

    Raises:
        ClusterError: nobody answers, or there is no such topic.
        ConfigError: the properties cannot be used.
    """
    settings = admin_settings(properties)
    client = AdminClient(settings)
    partitions = _partitions(alias, client, load.topic)
    calls = _Consumers(settings, load.groups) if load.by_consumers else _OneClient(client)
    found = _Run(calls, partitions, load, over)
    if histories is not None:
        histories |= found.histories
    return found.run()


class _Run:
    def __init__(
        self, calls: _Calls, partitions: int, load: Load, over: threading.Event | None
    ) -> None:
        self._calls = calls
        self._load = load
        self.histories = {group: GroupHistory() for group in load.groups}
        self._over = over or threading.Event()
        self._adding = threading.Lock()
        self._result = LoadResult(partitions=partitions)

    def run(self) -> LoadResult:
        load, begun = self._load, time.monotonic()
        parts = [load.groups[at :: load.committers] for at in range(load.committers)]
        work: list[Callable[[], None]] = [
            *(partial(self._commit_for, part) for part in parts if part),
            *(self._fetch_any for _ in range(load.fetchers)),
        ]
        with ThreadPoolExecutor(max_workers=len(work)) as threads:
            running = [threads.submit(each) for each in work]
            try:
                self._over.wait(load.seconds)
            finally:
                self._over.set()
            for each in running:
                each.result()
        self._result.seconds = time.monotonic() - begun
        self._look_at_all()
        return self._result

    def _commit_for(self, groups: Sequence[str]) -> None:
        """In turn, so that each group gets its share."""
        measured = Measured()
        while not self._over.is_set():
            for group in groups:
                if self._over.is_set():
                    break
                history = self.histories[group]
                history.attempted += 1
                if _timed(measured, partial(self._commit, group, history.attempted)) is not None:
                    history.acknowledged = history.attempted
        with self._adding:
            self._result.commits.merge(measured)

    def _fetch_any(self) -> None:
        measured, complaints = Measured(), []
        while not self._over.is_set():
            group = _ANY.choice(self._load.groups)
            history = self.histories[group]
            before = history.acknowledged
            found = _timed(measured, partial(self._fetch, group))
            if found is not None:
                complaints.append(history.complaint(before, found, self._result.partitions))
        with self._adding:
            self._result.fetches.merge(measured)
            for each in complaints:
                self._result.count(each)

    def _look_at_all(self) -> None:
        """Whether each acknowledged commit is there; whoever does not answer is asked again."""
        until = time.monotonic() + _FINAL_S
        for group, history in self.histories.items():
            found = self._fetch_until(group, until)
            if found is None:
                self._result.count("unanswered")
                continue
            complaint = history.complaint(history.acknowledged, found, self._result.partitions)
            self._result.count("lost" if complaint == "stale" else complaint)

    def _commit(self, group: str, offset: int) -> list[int]:
        self._calls.commit(group, self._everywhere(offset))
        return [offset]

    def _fetch(self, group: str) -> list[int]:
        found = self._calls.fetch(group, self._everywhere())
        return [each.offset for each in found if each.offset >= 0]

    def _everywhere(self, offset: int = OFFSET_INVALID) -> list[At]:
        return [At(self._load.topic, n, offset) for n in range(self._result.partitions)]

    def _fetch_until(self, group: str, until: float) -> list[int] | None:
        while True:
            try:
                return self._fetch(group)
            except KafkaException:
                if time.monotonic() > until:
                    return None
                time.sleep(_AGAIN_S)


class _Calls(Protocol):
    """How groups commit and fetch."""

    def commit(self, group: str, offsets: list[At]) -> None: ...

    def fetch(self, group: str, partitions: list[At]) -> list[At]: ...


class _OneClient:
    """An AdminClient for all groups; it aborts the process where coordinators die."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def commit(self, group: str, offsets: list[At]) -> None:
        asked = [ConsumerGroupTopicPartitions(group, offsets)]
        answered = self._client.alter_consumer_group_offsets(asked, request_timeout=_CALL_S)
        _checked(answered[group].result().topic_partitions)

    def fetch(self, group: str, partitions: list[At]) -> list[At]:
        asked = [ConsumerGroupTopicPartitions(group, partitions)]
        answered = self._client.list_consumer_group_offsets(asked, request_timeout=_CALL_S)
        return _checked(answered[group].result().topic_partitions)


class _Consumers:
    """A consumer for each group, as applications have."""

    def __init__(self, settings: Mapping[str, Any], groups: Sequence[str]) -> None:
        own = {"enable.auto.commit": False, "socket.timeout.ms": round(_CALL_S * 1000)}
        self._of = {each: Consumer({**settings, **own, "group.id": each}) for each in groups}

    def commit(self, group: str, offsets: list[At]) -> None:
        _checked(self._of[group].commit(offsets=offsets, asynchronous=False) or [])

    def fetch(self, group: str, partitions: list[At]) -> list[At]:
        return _checked(self._of[group].committed(partitions, timeout=_CALL_S))


def _checked(found: list[At]) -> list[At]:
    for each in found:
        if each.error is not None:
            raise KafkaException(each.error)
    return found


def _timed(measured: Measured, call: Callable[[], list[int]]) -> list[int] | None:
    """The offsets that a call is about; None if it failed, after a pause."""
    begun = time.monotonic()
    try:
        found = call()
    except KafkaException as error:
        measured.failed(error.args[0].name())
        time.sleep(_AGAIN_S)
        return None
    measured.took_s.append(time.monotonic() - begun)
    return found


def _partitions(alias: str, client: Any, topic: str) -> int:
    try:
        found = client.list_topics(topic, timeout=_CALL_S).topics[topic]
    except KafkaException as error:
        raise Unavailable(alias, f"look at topic {topic}: {error.args[0].str()}") from error
    if found.error is not None or not found.partitions:
        raise UnknownTopic(alias, f"there is no topic {topic}: create it, or name another one")
    return len(found.partitions)
