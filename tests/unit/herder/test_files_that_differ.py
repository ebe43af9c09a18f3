"""A node says when the leader of a flow has another file; of former leaders it says nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from structlog.testing import capture_logs

from mm2.driver.flows_of_file import load_flows
from mm2.herder.election.flow_leading import FlowLeading
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.kafka.logs.records import Record
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Lease


async def _work(_term: LeadershipTerm, _group: asyncio.TaskGroup) -> None:
    raise NotImplementedError


def _lease(owner: str, digest: str) -> Record:
    key, value = encode_control(Lease(epoch=1, owner=owner, lasts_ms=10_000, digest=digest))
    return Record(topic="control", partition=0, offset=0, timestamp_ms=0, key=key, value=value)


async def test_only_of_a_leader_that_is_heard_after_the_past_has_been_read(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(
        "clusters = A, B\nA->B.enabled = true\nemit.heartbeats.enabled = false\n"
        "A.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\n"
    )
    (config,) = load_flows(file, None)
    leading = FlowLeading(
        config,
        node="n",
        share=NodeAssignments(eligible=frozenset()),
        work=_work,
        stopping=asyncio.Event(),
    )
    board = leading._control_topic
    with board.subscribe_entries(leading._control_record), capture_logs() as logged:
        for former in ("x", "y", "z"):
            board._take(_lease(former, f"file of {former}"))
        assert logged == []
        board.caught_up.set()
        for _ in range(3):
            board._take(_lease("z", "file of z"))
    assert [(each["event"], each["owner"]) for each in logged] == [("flow.config_differs", "z")]
