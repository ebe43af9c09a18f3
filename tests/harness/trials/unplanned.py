"""Unplanned failover: the source is killed while groups read from it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from confluent_kafka import Consumer

from mm2.core.internal_records import Checkpoint
from tests.harness.trials.judging import (
    faults,
    java_arrived,
    java_toll,
    judge_copy,
    on_copy,
    toll,
)
from tests.harness.trials.readers import (
    Reading,
    committed_offsets,
    member_settings,
    read_and_stop,
)
from tests.harness.trials.trial import UNPLANNED, Trial
from tests.harness.trials.trial_clusters import TrialClusters
from tests.harness.trials.verdict import Where
from tests.support.eventually import eventually
from tests.support.records import group_member

_STEPS: Final = (20, 80)
_PAUSES_S: Final = (0.0, 0.02, 0.1, 0.2)
"""Between two steps: some checkpoints fall in between."""

_AT_ONCE: Final = (1, 5, 50, 300)
_MOST_READ: Final = 500


@dataclass(frozen=True, slots=True)
class _Moved:
    """
    A group while the source is dead.

    Attributes:
        arrived: where the command has put it.
        first: the first records that it read there.
        checkpoints: its last ones.
        java: where Java's checkpoints would have led it.
    """

    arrived: Mapping[Where, int]
    first: Mapping[Where, int | None]
    checkpoints: Mapping[Where, Checkpoint]
    java: Mapping[Where, int] | None


def unplanned_round(world: TrialClusters, seed: int, count: int) -> list[Trial]:
    """
    Kills the source while some groups read and commit, moves them to the target, and brings the
    source back.

    Of what a group reads twice, all must have been committed after its last checkpoint.
    """
    random = Random(seed)
    groups = [f"{world.prefix}-unplanned-{seed}-{number}" for number in range(count)]
    with ExitStack() as members:
        reading = {
            group: members.enter_context(
                group_member(
                    world.source.bootstrap, group, world.traffic.topics, member_settings(random)
                )
            )
            for group in groups
        }
        for group, member in reading.items():
            _begin(member)
            eventually(lambda group=group: world.copy.checkpoints(group))  # type: ignore[misc]
        _read_on(reading, random)
        members.enter_context(world.traffic.paused())
        world.source.kill()
        members.callback(world.source.restart)
        arguments = [word for group in groups for word in ("--group", group)]
        world.command("failover", "--unplanned", *arguments)
        moved = {group: _move(world, group, random) for group in groups}
    stood = {group: committed_offsets(world.source.bootstrap, group) for group in groups}
    world.wait_for_copies()
    return [_judged(world, group, seed, stood[group], moved[group]) for group in groups]


def _begin(member: Consumer) -> None:
    """Reads and commits something, so that there will be a checkpoint."""
    reading = Reading()
    eventually(lambda: reading.take(member, _AT_ONCE[-1]))
    reading.commit(member)


def _read_on(members: Mapping[str, Consumer], random: Random) -> None:
    """Members read and commit in turn, at random."""
    readings = {group: Reading() for group in members}
    for _ in range(random.randint(*_STEPS)):
        group = random.choice(list(members))
        readings[group].take(members[group], random.choice(_AT_ONCE), timeout=0.05)
        if random.random() < 0.5:
            readings[group].commit(members[group], wait=False)
        time.sleep(random.choice(_PAUSES_S))


def _move(world: TrialClusters, group: str, random: Random) -> _Moved:
    arrived = on_copy(world, group)
    reading = read_and_stop(world.target.bootstrap, group, world.remotes, random, _MOST_READ)
    return _Moved(
        arrived=arrived,
        first={
            where: reading.first.get((world.copy.remote(where[0]), where[1])) for where in arrived
        },
        checkpoints=world.copy.checkpoints(group),
        java=java_arrived(world, group),
    )


def _judged(
    world: TrialClusters, group: str, seed: int, stood: Mapping[Where, int], moved: _Moved
) -> Trial:
    verdicts = judge_copy(world, world.copy, stood, moved.arrived)
    allowed, rest = 0, {}
    for where, verdict in verdicts.items():
        offsets = world.traffic.offsets(where)
        since = moved.checkpoints[where].upstream_offset if where in moved.checkpoints else 0
        unexplained = tuple(number for number in verdict.reread if offsets[number] < since)
        allowed += len(verdict.reread) - len(unexplained)
        rest[where] = replace(verdict, reread=unexplained)
    return Trial(
        kind=UNPLANNED,
        group=group,
        seed=seed,
        ours=toll(verdicts),
        allowed=allowed,
        java=java_toll(world, stood, moved.java),
        faults=faults(rest, stood, moved.arrived, moved.first),
    )
