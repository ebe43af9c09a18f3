"""One instance of the offset manager: what it leads, and who leads the rest."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from mm2.clock import now_ms
from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset, commit_refusal
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.ensemble import Ensemble, Instance
from mm2.core.offset_manager.log_placement import log_partition_of
from mm2.errors import ClusterError, FlowError
from mm2.kafka.admin import Admin
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.groups.membership import Membership, MemberTimes
from mm2.kafka.logs.exclusive_log import ExclusiveLogs
from mm2.kafka.wire.wire_client import WireClient
from mm2.offset_manager.log_leader import LogLeader
from mm2.offset_manager.log_loader import LogLoader
from mm2.offset_manager.meters import Meters
from mm2.offset_manager.offsets_topic import check_topic, prepare_topic
from mm2.offset_manager.voter import LogVoter
from mm2.protocol import lease_clock
from mm2.supervision import EventLike

log = structlog.get_logger()

_TICK_S: Final = 0.5
_WATCH_S: Final = 5.0
_JOIN_AGAIN_S: Final = 1.0
_TAKE_AGAIN_S: Final = 1.0
_TAKES_AT_ONCE: Final = 8

Fetched = tuple[OffsetError, Mapping[TopicPartition, StoredOffset]]
"""Why a fetch is not answered, or what the group has committed."""


class OffsetManager:
    """
    Commits and fetches offsets of the groups whose log partitions this instance leads.

    Args:
        settings: of the offset manager.
        host: where clients reach this instance; empty if it serves none.
        port: where clients reach it.

    Attributes:
        ensemble: the instances that live, and who leads what.
        joined: set once the group has decided for the first time.
        meters: what it counts and measures.
    """

    def __init__(self, settings: OffsetManagerSettings, *, host: str = "", port: int = 0) -> None:
        self.alias = settings.properties.get("bootstrap.servers", "")
        self.ensemble = Ensemble()
        self.joined = asyncio.Event()
        self._settings = settings
        self._times = MemberTimes.of(settings.properties)
        self._me = Instance(name=f"{host}:{port}-{secrets.token_hex(8)}", host=host, port=port)
        client = WireClient(self.alias, aiokafka_settings(settings.properties))
        logs = ExclusiveLogs(client, compression=settings.compression)
        self._client = client
        self._leaders = {
            number: LogLeader(
                logs.partition(
                    TopicPartition(TopicName(settings.topic), number),
                    settings.transactional_id(number),
                ),
                patience_s=settings.patience.total_seconds(),
            )
            for number in range(settings.partitions)
        }
        self.meters = Meters()
        self._loader = LogLoader(self.alias, settings, self._leaders, self.meters.loaded)
        self._leading: dict[int, asyncio.Task[None]] = {}
        self._takes = asyncio.Semaphore(_TAKES_AT_ONCE)
        self._decided = asyncio.Event()
        self._lost = asyncio.Event()
        self._ticked_s = lease_clock.seconds()

    async def commit(
        self, group: str, offsets: Mapping[TopicPartition, StoredOffset]
    ) -> OffsetError:
        """Stores all offsets of a commit, or none; answered once all replicas have them."""
        began = time.monotonic()
        error = await self._commit(group, offsets)
        self.meters.committed(error, time.monotonic() - began)
        return error

    async def _commit(
        self, group: str, offsets: Mapping[TopicPartition, StoredOffset]
    ) -> OffsetError:
        leader = self._leader(group)
        if error := leader.state.commit_error:
            return error
        refusal = commit_refusal(group, offsets, metadata_bytes=self._settings.metadata_bytes)
        if refusal or not offsets:
            return refusal
        return await leader.commit(
            [(OffsetKey(group, where), stored) for where, stored in offsets.items()]
        )

    async def fetch(self, group: str, partitions: Iterable[TopicPartition] | None) -> Fetched:
        """
        What a group has committed, from memory, once the log has confirmed that.

        Args:
            group: whose offsets.
            partitions: which; those without an offset are left out. None: all.
        """
        leader = self._leader(group)
        error = await leader.confirm()
        self.meters.fetched(error)
        return error, {} if error else leader.state.table.fetch(group, partitions)

    def metrics(self) -> str:
        """What it has counted and measured, in Prometheus' format."""
        led = [each.state.table for each in self._leaders.values() if each.state.role.is_led]
        return self.meters.text(offsets=sum(map(len, led)), partitions=len(led))

    def coordinator(self, group: str) -> Instance | None:
        """Which instance a group's clients have to ask; None while nobody leads."""
        return self.ensemble.leader(log_partition_of(group, self._settings.partitions))

    async def run(self, stopping: EventLike) -> None:
        """
        Takes part until ``stopping`` is set, and then gives away what it leads.

        Raises:
            FatalError: the topic is not what it should be.
            ClusterError: the cluster does not answer at the start, or refuses us.
        """
        admin = Admin(self.alias, self._settings.properties)
        try:
            await check_reachable(admin)
            await prepare_topic(admin, self._settings)
            await self._client.start()
            await self._client.track([self._settings.topic])
            brokers = await admin.survey.brokers()
            await self._take_part(admin, brokers, stopping)
        finally:
            await self._client.close()
            await admin.close()

    async def _take_part(self, admin: Admin, brokers: Iterable[int], stopping: EventLike) -> None:
        voter = LogVoter(
            self._me,
            partitions=self._settings.partitions,
            leads=lambda: frozenset(self._leading),
            brokers=frozenset(brokers),
            decided=self._hear,
        )
        membership = Membership(
            self.alias,
            self._settings.properties,
            group_id=self._settings.group,
            topic=self._settings.topic,
            assignor=voter,
            times=self._times,
        )
        async with asyncio.TaskGroup() as group:
            parts = [
                group.create_task(self._stay_member(membership), name="membership"),
                group.create_task(self._follow_decisions(group), name="decisions"),
                group.create_task(self._rejoin_when_lost(membership), name="rejoin"),
                group.create_task(self._loader.run(), name="loader"),
                group.create_task(self._tick(), name="tick"),
                group.create_task(self._watch(admin), name="watch"),
                group.create_task(self._expire(), name="expire"),
            ]
            await stopping.wait()
            self._lose(frozenset(self._leading))
            for part in parts:
                part.cancel()

    def _leader(self, group: str) -> LogLeader:
        if lease_clock.seconds() - self._ticked_s > self._times.session / 1000:
            self._slept()
        return self._leaders[log_partition_of(group, self._settings.partitions)]

    def _hear(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self._decided.set()
        self.joined.set()

    async def _stay_member(self, membership: Membership) -> None:
        while True:
            try:
                await membership.run()
            except ClusterError as error:
                log.warning(
                    "offset_manager.not_joined", group=self._settings.group, error=str(error)
                )
            await asyncio.sleep(_JOIN_AGAIN_S)

    async def _follow_decisions(self, group: asyncio.TaskGroup) -> None:
        while True:
            await self._decided.wait()
            self._decided.clear()
            wanted = self.ensemble.led_by(self._me.name)
            self._lose(frozenset(self._leading) - wanted)
            for number in sorted(wanted - self._leading.keys()):
                task = group.create_task(self._lead(number), name=f"lead-{number}")
                self._leading[number] = task
            log.info(
                "offset_manager.assigned",
                partitions=len(wanted),
                instances=len(self.ensemble.instances),
            )

    async def _lead(self, number: int) -> None:
        """Leads until another instance does; what cannot be taken now is tried again."""
        taking = True
        while taking:
            try:
                await self._leaders[number].lead(self._takes, self._loader.look)
                taking = False
            except (ClusterError, FlowError) as error:
                log.warning("offset_manager.not_taken", partition=number, error=str(error))
                await asyncio.sleep(_TAKE_AGAIN_S)
        if self._leading.get(number) is asyncio.current_task():
            del self._leading[number]
            self._lost.set()

    def _lose(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._leaders[number].lose()
            self._leading.pop(number).cancel()

    async def _rejoin_when_lost(self, membership: Membership) -> None:
        """Who is overtaken may have missed a decision: the group is asked, and decides anew."""
        while True:
            await self._lost.wait()
            await asyncio.sleep(_JOIN_AGAIN_S)
            self._lost.clear()
            membership.rejoin()

    async def _tick(self) -> None:
        while True:
            now_s = lease_clock.seconds()
            if now_s - self._ticked_s > self._times.session / 1000:
                self._slept()
            self._ticked_s = now_s
            await asyncio.sleep(_TICK_S)

    def _slept(self) -> None:
        """For so long that the group has given to others what this instance led."""
        log.warning(
            "offset_manager.slept", seconds=round(lease_clock.seconds() - self._ticked_s, 1)
        )
        self._lose(frozenset(self._leading))
        self._ticked_s = lease_clock.seconds()
        self._lost.set()

    async def _watch(self, admin: Admin) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            try:
                await check_topic(admin, self._settings)
            except ClusterError as error:
                log.warning("offset_manager.topic_not_seen", error=str(error))

    async def _expire(self) -> None:
        retention_ms = self._settings.retention_minutes * 60_000
        while True:
            await asyncio.sleep(self._settings.retention_check.total_seconds())
            for leader in self._leaders.values():
                leader.expire(now_ms(), retention_ms)
