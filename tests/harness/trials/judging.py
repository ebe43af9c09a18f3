"""Where groups have arrived, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.harness.trials.readers import committed_offsets
from tests.harness.trials.trial import Toll, Trial
from tests.harness.trials.trial_clusters import Copy, TrialClusters
from tests.harness.trials.verdict import FROM_THE_START, Verdict, Where, judge, read_up_to

Verdicts = Mapping[Where, Verdict]
"""The verdict for each partition."""


def on_copy(world: TrialClusters, group: str) -> dict[Where, int]:
    """What a group has committed on the copies, by the topics' names on the source."""
    names = {world.copy.remote(topic): topic for topic in world.traffic.topics}
    found = committed_offsets(world.target.bootstrap, group)
    return {(names[topic], n): at for (topic, n), at in found.items() if topic in names}


def judge_copy(
    world: TrialClusters, copy: Copy, stood: Mapping[Where, int], arrived: Mapping[Where, int]
) -> dict[Where, Verdict]:
    """What a group that stood on the source reads twice or never on a copy."""
    copy.tail.refresh()
    return {
        where: judge(
            copy.tail.log(where),
            arrived.get(where, FROM_THE_START),
            read_up_to(world.traffic.offsets(where), stood.get(where, FROM_THE_START)),
        )
        for where in world.traffic.partitions
    }


def java_arrived(world: TrialClusters, group: str) -> Mapping[Where, int] | None:
    """Where Java's last checkpoints would lead a group; None if Java's mirror does not run."""
    if world.java is None:
        return None
    checkpoints = world.java.checkpoints(group).items()
    return {where: checkpoint.downstream_offset for where, checkpoint in checkpoints}


def java_toll(
    world: TrialClusters, stood: Mapping[Where, int], arrived: Mapping[Where, int] | None
) -> Toll | None:
    """What Java's checkpoints would have cost a group."""
    if world.java is None or arrived is None:
        return None
    return toll(judge_copy(world, world.java, stood, arrived))


def faults(
    verdicts: Verdicts,
    stood: Mapping[Where, int],
    arrived: Mapping[Where, int],
    first: Mapping[Where, int | None],
) -> list[str]:
    """
    What should not be, in words.

    Args:
        verdicts: for each partition.
        stood: where the group stood before.
        arrived: where it stands now.
        first: the first record that it read then, if there was one.
    """
    found = []
    for where, verdict in verdicts.items():
        place = f"{where}: from {stood.get(where)} to {arrived.get(where)}"
        if verdict.reread:
            found.append(f"{place}: reads {len(verdict.reread)} again, {verdict.reread[:5]}...")
        if verdict.skipped:
            found.append(f"{place}: never reads {len(verdict.skipped)}, {verdict.skipped[:5]}...")
        number = first.get(where)
        # Compaction may have taken the very first one meanwhile: then it is a later one.
        if number is not None and (verdict.first is None or number < verdict.first):
            found.append(f"{place}: the first record was {number}, not {verdict.first}")
    return found


def faults_of(trials: Sequence[Trial]) -> list[str]:
    """The faults of some trials, each with what it takes to try again."""
    return [f"seed {t.seed}, {t.kind} of {t.group}: {fault}" for t in trials for fault in t.faults]


def toll(verdicts: Verdicts) -> Toll:
    """The sum of a group's verdicts."""
    return Toll(
        reread=sum(len(each.reread) for each in verdicts.values()),
        skipped=sum(len(each.skipped) for each in verdicts.values()),
    )
