"""What is shown of flows when clusters are away."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.cli.flows.flows_commands import rows_of
from mm2.cli.options import flows_of
from mm2.config.flow_config import FlowConfig
from mm2.errors import Unavailable
from mm2.failover.flow_switch import FlowStatus
from mm2.protocol.control_records import DesiredFlowState, FlowState
from mm2.protocol.desired_state import DesiredState
from tests.support.configs import TWO_CLUSTERS_TEXT

_FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
B->A.enabled = true
"""


@pytest.mark.parametrize(("lost", "gone", "here"), [("A", "B->A", "A->B"), ("B", "A->B", "B->A")])
async def test_a_target_that_is_away_hides_no_other_flow(
    tmp_path: Path, lost: str, gone: str, here: str
) -> None:
    async def status(config: FlowConfig) -> FlowStatus:
        if config.flow.target == lost:
            raise Unavailable(lost, "no answer in 10 s")
        wanted = DesiredFlowState(state=FlowState.STOPPED, reason="repair")
        desired = DesiredState(flow=wanted)
        return FlowStatus(desired=desired, running=None, epoch=1, owner="n", tasks=2)

    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    found, problems = await rows_of(flows_of(file).flows, status)
    rows = {row["flow"]: row for row in found}
    assert problems == [f"cluster {lost}: no answer in 10 s"]
    assert (rows[here]["wanted"], rows[here]["reason"]) == ("stopped", "repair")
    assert (rows[gone]["wanted"], rows[gone]["reason"]) == (None, problems[0])
