"""Groups that have read on in copies, as checkpoints for the source."""

from __future__ import annotations

from uuid import UUID

import pytest

from mm2.client.reverse_checkpoints import reverse_checkpoints
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.reverse_translation import Copies
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Logs, Run, Runs

GROUP = GroupId("g")
ORIGINAL, COPY = (TopicPartition(TopicName(name), 0) for name in ("orders", "A.orders"))
HERE, THERE, ANEW = (UUID(int=number) for number in (1, 2, 3))


def _translation() -> OffsetTranslation:
    runs, syncs = RunStore(), OffsetSyncStore(must_read_to_end=False)
    block = Block(0, 100, Runs([Run(0, 0, 40), Run(60, 40, 40)]), Logs(HERE, THERE))
    runs.handle(encode_key(ORIGINAL, *block.name), encode_value(block))
    runs.backlog_read()
    return OffsetTranslation(syncs, runs)


def _led_back(**committed: int) -> list[Checkpoint]:
    policy = build_policy({"source.cluster.alias": "A", "target.cluster.alias": "B"})
    copies = Copies(ClusterAlias("A"), policy, lambda _: True)
    offsets = {
        TopicPartition(TopicName(topic), 0): CommittedOffset(offset, "m")
        for topic, offset in committed.items()
    }
    return list(reverse_checkpoints(GROUP, offsets, copies, _translation()))


def test_offsets_in_copies_become_those_of_the_originals() -> None:
    assert _led_back(**{"A.orders": 45, "local": 7, "A.others": 9}) == [
        Checkpoint(GROUP, ORIGINAL, 45, 65, "m", exact=True)
    ]


@pytest.mark.parametrize(("live", "may_be"), [(HERE, True), (None, True), (ANEW, False)])
def test_they_are_about_the_topic_that_was_copied_and_no_other(
    live: UUID | None, *, may_be: bool
) -> None:
    """One made anew since is none that the group has read, however long it is by now."""
    (checkpoint,) = _led_back(**{"A.orders": 45})
    assert checkpoint.logs == Logs(source=THERE, remote=HERE)
    assert checkpoint.may_be_about(live) is may_be
