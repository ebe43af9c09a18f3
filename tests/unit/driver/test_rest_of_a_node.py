"""What a node's file says about its REST interface, at the start."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mm2.config.flow_config import FlowConfig
from mm2.driver.flows_of_file import load_flows
from mm2.driver.mirror_maker import run_flows
from mm2.driver.program import EXIT_START
from mm2.driver.rest_start import server_setup
from mm2.driver.signals import StopSignals
from mm2.errors import ConfigError, ConfigErrors
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import Slots
from tests.support.configs import TWO_CLUSTERS_TEXT

FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
"""


class _NoEngine:
    """Must not be asked for anything."""

    async def start(self) -> None:
        raise AssertionError("started")

    async def follow_warmth(self, tell: Callable[[bool], None]) -> None:
        raise AssertionError(tell)

    async def show_totals(self, totals: Callable[[], Mapping[str, int]]) -> None:
        raise AssertionError(totals)

    async def is_running(self, bundle: str) -> bool:
        raise AssertionError(bundle)

    async def stop(self) -> None:
        raise AssertionError("stopped")

    async def problem(self, config: FlowConfig) -> ConfigError | None:
        raise AssertionError(config)

    async def run(self, spec: BundleSpec) -> dict[str, int]:
        raise AssertionError(spec)

    @property
    def slots(self) -> Slots:
        raise AssertionError("asked")


def _flows(tmp_path: Path, *lines: str) -> list[FlowConfig]:
    file = tmp_path / "mm2.properties"
    file.write_text(FILE + "".join(f"{line}\n" for line in lines))
    return load_flows(file, None)


@pytest.mark.usefixtures("_own_signals")
def test_a_listener_that_cannot_be_had_ends_the_start(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        flows = _flows(tmp_path, f"listeners = http://127.0.0.1:{port}")
        with capture_logs() as logs:
            assert run_flows(flows, _NoEngine(), StopSignals(), lambda: flows) == EXIT_START
    assert "listeners: cannot listen on" in logs[-1]["error"]
    assert "Name a port that is free" in logs[-1]["error"]


@pytest.mark.usefixtures("_own_signals")
def test_passwords_that_cannot_be_read_end_the_start(tmp_path: Path) -> None:
    flows = _flows(tmp_path, "rest.basic.auth.file = /nowhere", "listeners = http://127.0.0.1:0")
    with capture_logs() as logs:
        assert run_flows(flows, _NoEngine(), StopSignals(), lambda: flows) == EXIT_START
    assert "rest.basic.auth.file" in logs[-1]["error"]


def test_a_node_that_wants_no_interface_has_none(tmp_path: Path) -> None:
    assert server_setup(_flows(tmp_path, "rest.enabled = false")) is None


def test_mistakes_about_the_interface_are_told_with_those_about_flows(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as caught:
        _flows(tmp_path, "listeners = ftp://a:1", "A->B.tasks.max = many")
    assert [problem.line for problem in caught.value.problems] == [5, 6]
