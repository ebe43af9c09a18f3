"""Flows that wait for their target or for an epoch, without any broker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from structlog.testing import capture_logs

from mm2.config.flow_config import FlowConfig
from mm2.driver.flows_of_file import load_flows
from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.election.flow_leading import FlowLeading
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.flow_classes import HeldClasses
from mm2.herder.herder import FlowHerder
from mm2.herder.leader_flow import LeaderFlow
from mm2.herder.source_controller import SourceController
from mm2.kafka.flow_clusters import FlowClusters, admin_clients
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.certificates import PASSWORD, Certified
from tests.support.eventually import eventually_async
from tests.support.runners import EndlessRunner

_WITHIN_S = 30.0


class _Port:
    """Hears that somebody connects, and never answers."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self._ends = asyncio.Event()

    async def open(self) -> int:
        """Its number, chosen by the system."""
        self._server = await asyncio.start_server(self._hear, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Ends connections, too."""
        self._ends.set()
        self._server.close()

    async def _hear(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.called.set()
        await self._ends.wait()
        writer.close()


class _Nothing(EndlessRunner):
    """Runs no bundle."""

    async def run(self, spec: BundleSpec) -> dict[str, int]:
        """Is never asked to."""
        raise NotImplementedError(spec)


class _Unready(_Nothing):
    """Does not come to check the expressions of a flow."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def problem(self, config: FlowConfig) -> None:
        """Never answers."""
        self.asked.set()
        await asyncio.get_running_loop().create_future()
        raise NotImplementedError(config)


async def _no_flow(config: FlowConfig, clusters: FlowClusters) -> None:
    raise NotImplementedError(config, clusters)


async def _no_work(term: LeadershipTerm, group: asyncio.TaskGroup) -> None:
    raise NotImplementedError(term, group)


def _config(path: Path, port: int, *more: str) -> FlowConfig:
    path.write_text(
        "clusters = A, B\nA->B.enabled = true\nemit.heartbeats.enabled = false\n"
        + "".join(f"{line}\n" for line in more)
        + f"A.bootstrap.servers = 127.0.0.1:1\nB.bootstrap.servers = 127.0.0.1:{port}\n"
    )
    (config,) = load_flows(path, None)
    return config


def test_a_flow_whose_target_does_not_answer_goes_on_with_a_corrected_address(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        before, after = _Port(), _Port()
        path = tmp_path / "mm2.properties"
        first = _config(path, await before.open())
        herder = FlowHerder(
            first, runner=_Nothing(), heartbeats=_no_flow, checkpoints=_no_flow, worker_id="node"
        )
        running = asyncio.create_task(herder.run())
        async with asyncio.timeout(_WITHIN_S):
            await before.called.wait()
            herder.reconfigure(_config(path, await after.open()))
            await after.called.wait()
            herder.stop()
            await running
        for port in (before, after):
            await port.close()

    asyncio.run(work())


def test_a_flow_whose_settings_cannot_be_used_stops(tmp_path: Path) -> None:
    """As when its trust store is taken away, or made anew with another password."""

    async def work() -> None:
        store, path = tmp_path / "trust.p12", tmp_path / "mm2.properties"
        Certified.authority("authority").truststore(store)
        path.write_text(
            "clusters = A, B\nA->B.enabled = true\nemit.heartbeats.enabled = false\n"
            "A.bootstrap.servers = 127.0.0.1:1\nB.bootstrap.servers = 127.0.0.1:1\n"
            f"B.security.protocol = SSL\nB.ssl.truststore.location = {store}\n"
            f"B.ssl.truststore.password = {PASSWORD}\n"
        )
        (config,) = load_flows(path, None)
        store.write_bytes(b"no store")
        herder = FlowHerder(
            config, runner=_Nothing(), heartbeats=_no_flow, checkpoints=_no_flow, worker_id="node"
        )
        with capture_logs() as logged:
            running = asyncio.create_task(herder.run())
            await eventually_async(lambda: _events(logged), until=lambda e: "part.failed" in e)
            herder.stop()
            async with asyncio.timeout(_WITHIN_S):
                await running

    asyncio.run(work())


async def _events(logged: Sequence[Mapping[str, object]]) -> list[object]:
    return [each["event"] for each in logged]


def test_a_flow_that_waits_for_an_epoch_stops(tmp_path: Path) -> None:
    async def work() -> None:
        config, asked = _config(tmp_path / "mm2.properties", 1), asyncio.Event()
        board, writer = ControlTopicState("B", {}, "control"), Writer("B", {})
        term = LeadershipTerm(config, board, writer, epoch=1, advance=asked.set)
        await term.next_epoch()
        async with asyncio.timeout(_WITHIN_S), admin_clients(config) as clusters:
            flow = SourceController(config, clusters, _Nothing(), term, on_failure=lambda *_: None)
            running = asyncio.create_task(flow.run())
            await asked.wait()
            term.stopping.set()
            await running
        asked.clear()
        waiting = asyncio.create_task(term.next_epoch())
        await asyncio.sleep(0)
        assert not asked.is_set(), "one is on its way"
        term.advanced(2)
        assert await waiting == 2

    asyncio.run(work())


def test_a_flow_that_fences_earlier_tasks_stops(tmp_path: Path) -> None:
    """The target does not answer, and would be waited for longer than a stop may take."""

    async def work() -> None:
        target = _Port()
        port = await target.open()
        strict = "B.exactly.once.source.support = enabled"
        config = _config(tmp_path / "mm2.properties", port, strict)
        board, writer = ControlTopicState("B", {}, "control"), Writer("B", {})
        term = LeadershipTerm(config, board, writer, epoch=1, advance=lambda: None)
        async with admin_clients(config) as clusters:
            flow = SourceController(config, clusters, _Nothing(), term, on_failure=lambda *_: None)
            running = asyncio.create_task(flow.run())
            await target.called.wait()
            term.stopping.set()
            async with asyncio.timeout(_WITHIN_S / 3):
                await running
        await target.close()

    asyncio.run(work())


def test_a_flow_that_waits_for_spark_to_check_it_stops(tmp_path: Path) -> None:
    async def work() -> None:
        config, runner = _config(tmp_path / "mm2.properties", 1), _Unready()
        board, writer = ControlTopicState("B", {}, "control"), Writer("B", {})
        term = LeadershipTerm(config, board, writer, epoch=1, advance=lambda: None)
        leader = LeaderFlow(
            runner=runner,
            heartbeats=_no_flow,
            checkpoints=_no_flow,
            term=term,
            on_failure=lambda *_: None,
            classes=HeldClasses(),
        )
        running = asyncio.create_task(leader.run())
        await runner.asked.wait()
        term.stopping.set()
        async with asyncio.timeout(_WITHIN_S / 3):
            await running

    asyncio.run(work())


def test_a_flow_that_connects_to_write_its_lease_stops(tmp_path: Path) -> None:
    async def work() -> None:
        target, stopping = _Port(), asyncio.Event()
        config = _config(tmp_path / "mm2.properties", await target.open())
        label = config.herder.names.label
        leading = FlowLeading(
            config,
            node="node",
            share=NodeAssignments(eligible=frozenset({label})),
            work=_no_work,
            stopping=stopping,
        )
        running = asyncio.create_task(leading.run())
        await target.called.wait()
        stopping.set()
        async with asyncio.timeout(_WITHIN_S / 3):
            await running
        await target.close()

    asyncio.run(work())
