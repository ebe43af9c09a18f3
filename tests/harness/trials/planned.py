"""Planned failover and failback: both clusters live, the mirror runs, data flow."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from tests.harness.trials.judging import (
    faults,
    java_arrived,
    java_toll,
    judge_copy,
    on_copy,
    toll,
)
from tests.harness.trials.readers import committed_offsets, read_and_stop, read_and_stop_anywhere
from tests.harness.trials.trial import FAILBACK, FAILOVER, Trial
from tests.harness.trials.trial_clusters import TrialClusters
from tests.harness.trials.verdict import FROM_THE_START, Where, judge, read_in_copy
from tests.support.eventually import eventually
from tests.support.records import commit_group

_MOST_READ: Final = 6_000
_NUDGED: Final = 0.3
"""How many of the positions are moved to another place in the gap where they are."""


def planned_round(world: TrialClusters, seed: int, count: int) -> list[Trial]:
    """
    Moves some groups to the target at once, and back again.

    Each stops at random, on either side; its first record on the other side must be the first
    that it has not read. All that is random follows from the seed, but for the moments.
    """
    random = Random(seed)
    groups = [f"{world.prefix}-planned-{seed}-{number}" for number in range(count)]
    stood = {group: stop_somewhere(world, group, random) for group in groups}
    arguments = [word for group in groups for word in ("--group", group)]
    world.command("failover", *arguments)
    _until_told(world, stood)
    there = [_there(world, group, seed, stood[group], random) for group in groups]
    stood = {group: on_copy(world, group) for group in groups}
    world.command("failback", *arguments)
    return there + [_back(world, group, seed, stood[group], random) for group in groups]


def _until_told(world: TrialClusters, stood: Mapping[str, Mapping[Where, int]]) -> None:
    """
    Waits until checkpoints tell where groups stood on the source.

    What a group commits on both sides before that is not put in order: it is left to people.
    """

    def are_told() -> bool:
        for group, offsets in stood.items():
            told = {w: each.upstream_offset for w, each in world.copy.checkpoints(group).items()}
            if any(told.get(where) != offset for where, offset in offsets.items()):
                return False
        return True

    eventually(are_told, timeout=60)


def _there(
    world: TrialClusters, group: str, seed: int, stood: Mapping[Where, int], random: Random
) -> Trial:
    arrived = on_copy(world, group)
    reading = read_and_stop(world.target.bootstrap, group, world.remotes, random, _MOST_READ)
    first = {where: reading.first.get((world.copy.remote(where[0]), where[1])) for where in arrived}
    verdicts = judge_copy(world, world.copy, stood, arrived)
    return Trial(
        kind=FAILOVER,
        group=group,
        seed=seed,
        ours=toll(verdicts),
        java=java_toll(world, stood, java_arrived(world, group)),
        faults=faults(verdicts, stood, arrived, first),
    )


def _back(
    world: TrialClusters, group: str, seed: int, stood: Mapping[Where, int], random: Random
) -> Trial:
    arrived = committed_offsets(world.source.bootstrap, group)
    topics = world.traffic.topics
    reading = read_and_stop(world.source.bootstrap, group, topics, random, 1)
    world.copy.tail.refresh()
    verdicts = {}
    for where in world.traffic.partitions:
        offsets = world.traffic.offsets(where)
        log = sorted((offset, number) for number, offset in offsets.items())
        at = stood.get(where, FROM_THE_START)
        was_read = read_in_copy(offsets, world.copy.tail.log(where), at)
        verdicts[where] = judge(log, arrived.get(where, FROM_THE_START), was_read)
    found = faults(verdicts, stood, arrived, reading.first)
    return Trial(kind=FAILBACK, group=group, seed=seed, ours=toll(verdicts), faults=found)


def stop_somewhere(world: TrialClusters, group: str, random: Random) -> Mapping[Where, int]:
    """A member of a group reads for a while on the source, commits and leaves; where it stands."""
    topics = world.traffic.topics
    read_and_stop_anywhere(world.source.bootstrap, group, topics, random, _MOST_READ)
    nudged = {}
    for where, offset in sorted(committed_offsets(world.source.bootstrap, group).items()):
        # Consumers may commit any place in a gap: some stand behind aborted records, some before.
        place = random.randint(offset, world.traffic.next_offset(where, offset))
        if random.random() < _NUDGED and place != offset:
            nudged[where] = place
    if nudged:
        commit_group(world.source.bootstrap, group, nudged)
    return committed_offsets(world.source.bootstrap, group)
