"""What tasks and leaders tell the world shows expressions, and not what they stand for."""

from __future__ import annotations

import pytest

from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.send_queue import PartitionSender
from flows.source.task_reporter import partition_report
from mm2.config.text.expressions import RESOLVED
from mm2.core.hide_secrets import secrets_of
from mm2.core.model import TopicName, TopicPartition

_SOURCE, _TARGET = (TopicPartition(TopicName(name), 0) for name in ("t", "A.t"))


@pytest.mark.parametrize("stops", [True, False])
def test_a_partition_s_error_is_reported_with_expressions(*, stops: bool) -> None:
    RESOLVED.take(secrets_of("geheim", "${f:/x:y}"))
    partition = MirroredPartition(_SOURCE, PartitionSender(_TARGET))
    if stops:
        partition.fail("no user 'geheim'")
    else:
        partition.sender.last_error = "no user 'geheim'"
    assert partition_report(partition, 0).error == "no user '${f:/x:y}'"
