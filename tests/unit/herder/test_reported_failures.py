"""What fails is heard of, and fails all the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import ConnectorKey, TaskKey
from mm2.core.model import HEARTBEAT_CONNECTOR, SOURCE_CONNECTOR
from mm2.errors import ConfigError, Unavailable
from mm2.herder.status.failure_reporting import ReportingRunner, reporting_flow
from mm2.herder.status.status_topic import worker_id_of
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import Slots
from tests.support.configs import A_TO_B, flow_of
from tests.support.specs import sample_spec

_TASK = TaskKey(SOURCE_CONNECTOR, 3)


@dataclass
class _Ear:
    heard: list[tuple[ConnectorKey | TaskKey, str | None]] = field(default_factory=list)

    def hear(self, key: ConnectorKey | TaskKey, reason: str | None) -> None:
        self.heard.append((key, reason))


@dataclass(frozen=True)
class _Runner:
    failure: Exception | None = None
    slots: Slots = field(default_factory=lambda: Slots(5))
    started: list[bool] = field(default_factory=list)

    async def start(self) -> None:
        self.started.append(True)

    async def problem(self, config: FlowConfig) -> ConfigError | None:
        return ConfigError("wrong", key=str(config.flow), value="")

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        if self.failure is not None:
            raise self.failure
        return {"index": spec.index}

    async def is_running(self, bundle: str) -> bool:
        return bundle == "A->B/3"


async def test_a_bundle_that_runs_to_its_end_is_heard_to_begin() -> None:
    ear = _Ear()
    runner = _Runner()
    heard = ReportingRunner(runner, ear.hear)
    await heard.start()
    assert runner.started
    assert await heard.run(sample_spec(index=3)) == {"index": 3}
    assert heard.slots is runner.slots
    assert [await heard.is_running(name) for name in ("A->B/3", "A->B/4")] == [True, False]
    assert ear.heard == [(_TASK, None)]


async def test_what_is_wrong_with_a_flow_the_other_runner_says() -> None:
    runner = ReportingRunner(_Runner(), _Ear().hear)
    problem = await runner.problem(flow_of())
    assert problem is not None
    assert problem.key == "A->B"


async def test_why_a_bundle_fails_is_heard() -> None:
    ear = _Ear()
    runner = ReportingRunner(_Runner(RuntimeError("the JVM is gone")), ear.hear)
    with pytest.raises(RuntimeError, match="gone"):
        await runner.run(sample_spec(index=3))
    assert ear.heard == [(_TASK, None), (_TASK, "RuntimeError: the JVM is gone")]


@pytest.mark.parametrize("fails", [False, True])
async def test_how_a_small_flow_goes_is_heard(*, fails: bool) -> None:
    async def beat(config: FlowConfig, clusters: FlowClusters) -> None:
        assert (str(config.flow), clusters.source.alias) == ("A->B", "A")
        if fails:
            raise ExceptionGroup("jobs", [Unavailable("B", "no answer")])

    ear, key = _Ear(), TaskKey(HEARTBEAT_CONNECTOR, 0)
    heard = reporting_flow(beat, HEARTBEAT_CONNECTOR, ear.hear)
    clusters = FlowClusters(Admin("A", {}), Admin("B", {}))
    if fails:
        with pytest.raises(ExceptionGroup):
            await heard(flow_of(), clusters)
        assert ear.heard == [(key, None), (key, "Unavailable: cluster B: no answer")]
    else:
        await heard(flow_of(), clusters)
        assert ear.heard == [(key, None)]


def test_a_worker_is_named_as_connect_names_it() -> None:
    assert worker_id_of("host/1-2/B", A_TO_B) == "host/A->B/1-2"
    assert worker_id_of("node", A_TO_B) == "node/A->B"
