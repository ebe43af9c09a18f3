"""
Groups that are set back at random, on both sides, while flows in both directions run; then they
move. What they skip or read again is counted from the last commit that somebody made.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final
from uuid import uuid4

from mm2.core.internal_records import Checkpoint
from tests.harness.trials.trial import REWOUND, Toll, Trial
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.failover import Scene, stands
from tests.support.mirror import Mirror, properties
from tests.support.records import (
    Sample,
    commit_group,
    committed,
    consume,
    everything,
    produce_transaction,
)

_RECORDS: Final = 600
_STEPS: Final = (2, 6)
_PAUSES_S: Final = (0.0, 0.0, 0.3, 0.7, 1.2, 2.0)
_SETTLED_S: Final = 4.0
"""Some rounds of checkpoints and syncs, each second."""

_HONEST: Final = ("further there", "at about the same time")
_DESTINATIONS: Final = {"failover": 1, "failback": 0}
MOVES: Final = ("all groups", "one by one", "unplanned")


@dataclass(frozen=True, slots=True)
class Place:
    """
    Two clusters that mirror each other, and one topic, whose copy has other offsets.

    Attributes:
        scene: the clusters.
        topic: on the source.
        logs: the offsets of all numbers, on the source and in the copy.
        lost: the file, as it is when the source is lost.
        settings: in words.
    """

    scene: Scene
    topic: str
    logs: tuple[Sequence[int], Sequence[int]]
    lost: Path
    settings: str

    def where(self, side: int) -> tuple[str, str]:
        """Bootstrap servers and topic of a side."""
        if side:
            return self.scene.target.bootstrap, self.scene.remote(self.topic)
        return self.scene.source.bootstrap, self.topic

    def number(self, side: int, group: str) -> int:
        """The number that a group reads next on a side; negative if it has committed nothing."""
        offset = stands(self.where(side)[0], group, self.where(side)[1])
        return offset if offset < 0 else bisect_left(self.logs[side], offset)

    def checkpoints(self) -> Mapping[str, Checkpoint]:
        """The last checkpoints on the target."""
        topic = f"{self.scene.alias}.checkpoints.internal"
        records = everything(self.scene.target.bootstrap, topic)
        found = (Checkpoint.decode(each.key, each.value, each.headers) for each in records)
        return {each.group: each for each in found}


@dataclass(slots=True)
class Group:
    """
    A group, and where somebody has set it last.

    Attributes:
        name: its id.
        side: 0 for the source.
        number: of the record that it is to read next.
        history: all that was done to it.
    """

    name: str
    side: int = 0
    number: int = 0
    history: list[tuple[int, int]] = field(default_factory=list)

    def commit(self, place: Place, side: int, number: int) -> None:
        """Somebody commits."""
        bootstrap, topic = place.where(side)
        commit_group(bootstrap, self.name, {(topic, 0): place.logs[side][number]})
        self.side, self.number = side, number
        self.history.append((side, number))


@contextmanager
def rewinding(
    folder: Path, source: Cluster, target: Cluster, *, syncs: bool, exactly_once: bool
) -> Iterator[Place]:
    """
    Makes a mirror in both directions, and a topic that it has copied.

    Args:
        folder: for its file and log.
        source: a cluster.
        target: another one.
        syncs: whether both flows sync offsets of groups.
        exactly_once: whether they copy in transactions.
    """
    number = uuid4().hex[:6]
    here, there = f"S{number}", f"T{number}"
    settings = {
        f"{here}->{there}.enabled": "true",
        f"{there}->{here}.enabled": "true",
        f"{here}.consumer.isolation.level": "read_committed",
        "topics": f"{number}-.*",
        "groups": f"{number}-.*",
        "heartbeats.replication.enabled": "false",
        "sync.group.offsets.enabled": str(syncs).lower(),
        "sync.group.offsets.interval.seconds": "1",
        **({f"{there}.exactly.once.source.support": "enabled"} if exactly_once else {}),
    }
    clusters = {here: source.bootstrap, there: target.bootstrap}
    with Mirror(folder, properties(clusters, settings)) as mirror:
        eventually(lambda: mirror.text().count("flow.assigned") >= 2, timeout=150)
        scene = Scene(mirror.file, source, target, here, there, f"{number}-")
        topic = scene.topic("orders")
        for first in range(0, _RECORDS, 100):
            scene.write(topic, range(first, first + 100))
            produce_transaction(source.bootstrap, topic, [Sample(value=b"x")] * 7, commit=False)
        consume(target.bootstrap, scene.remote(topic), _RECORDS, timeout=120)
        logs = tuple(
            [each.offset for each in committed(bootstrap, name)]
            for bootstrap, name in (
                (source.bootstrap, topic),
                (target.bootstrap, scene.remote(topic)),
            )
        )
        words = settings_of(syncs=syncs, exactly_once=exactly_once)
        yield Place(scene, topic, (logs[0], logs[1]), scene.without_source(folder), words)


def settings_of(*, syncs: bool, exactly_once: bool) -> str:
    """The settings of a place in words."""
    synced, mode = "sync" if syncs else "no sync", "exactly" if exactly_once else "at least"
    return f"{synced}, {mode} once"


def rounds(seeds: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Move and seed of each round; all groups move once, before there are others."""
    for number, seed in enumerate(seeds):
        for move in MOVES if number == 0 else MOVES[1:]:
            yield move, seed


def rewound_round(place: Place, seed: int, count: int, move: str) -> list[Trial]:
    """
    Some groups commit and are set back at random on both sides; then they move.

    Args:
        place: where.
        seed: all that is random follows from it, but for the moments.
        count: how many groups.
        move: one of ``MOVES``; planned ones go back as well.
    """
    random = Random(f"{seed} {move}")
    prefix = f"{place.scene.prefix}{move.replace(' ', '-')}-{seed}"
    groups = [Group(f"{prefix}-{number}") for number in range(count)]
    for group in groups:
        group.commit(place, 0, random.randrange(_RECORDS))
    # What a group has on the target before anybody knows of it has no order.
    eventually(lambda: {each.name for each in groups} <= place.checkpoints().keys(), timeout=60)
    return _Round(place, seed, move, groups, random).trials()


@dataclass(frozen=True, slots=True)
class _Round:
    place: Place
    seed: int
    move: str
    groups: Sequence[Group]
    random: Random

    def trials(self) -> list[Trial]:
        """There, and back again if the source is not lost."""
        self._live()
        if self.move == "unplanned":
            self._until_told()
            return [self._moved(group, "failover") for group in self.groups]
        found = self._all("failover")
        self._live()
        return found + self._all("failback")

    def _live(self) -> None:
        """Somebody commits, here or there, forward or back, at random moments."""
        random = self.random
        for _ in range(random.randint(*_STEPS)):
            for group in self.groups:
                if random.random() < 0.5:
                    side = group.side if random.random() < 0.7 else 1 - group.side
                    group.commit(self.place, side, random.randrange(_RECORDS))
            time.sleep(random.choice(_PAUSES_S))

    def _until_told(self) -> None:
        """What no checkpoint tells of is lost with the source."""
        log = self.place.logs[0]
        last = {each.name: log[each.number] for each in self.groups if not each.side}

        def are_told() -> bool:
            found = self.place.checkpoints()
            return all(found[name].upstream_offset == offset for name, offset in last.items())

        eventually(are_told, timeout=60)

    def _all(self, verb: str) -> list[Trial]:
        if self.move != "all groups":
            return [self._moved(group, verb) for group in self.groups]
        self._settle(verb)
        done = self.place.scene.run(verb, "execute", "--all-groups", "--execute")
        assert done.exit_code == 0, done.output
        return [self._judged(group, verb) for group in self.groups]

    def _settle(self, verb: str) -> None:
        """One group that committed on both sides at once keeps all from moving: none has."""
        for _ in range(2):
            time.sleep(_SETTLED_S)
            for group in self.groups:
                group.commit(self.place, _DESTINATIONS[verb] ^ 1, self.random.randrange(_RECORDS))
        time.sleep(_SETTLED_S)

    def _moved(self, group: Group, verb: str) -> Trial:
        words = ["--group", group.name, "--execute"]
        is_lost = self.move == "unplanned"
        if is_lost:
            words.append("--unplanned")
        file = self.place.lost if is_lost else None
        done = self.place.scene.run(verb, "execute", *words, file=file)
        if done.exit_code == 0:
            return self._judged(group, verb)
        is_honest = not is_lost and any(each in done.output for each in _HONEST)
        faults = [] if is_honest else [f"{group.history}: {done.output}"]
        return self._trial(group, f"{verb}, {self.move}: refused", Toll(0, 0), faults)

    def _judged(self, group: Group, verb: str) -> Trial:
        arrived, wanted = self.place.number(_DESTINATIONS[verb], group.name), group.number
        toll = Toll(reread=max(0, wanted - arrived), skipped=max(0, arrived - wanted))
        faults = []
        if toll.skipped or (toll.reread and self.move != "unplanned") or arrived < 0:
            told = self.place.checkpoints().get(group.name)
            noted = None if told is None else told.target_commit
            faults = [f"{group.history}: at {arrived}, not {wanted}; {told}, {noted}"]
        group.side, group.number = _DESTINATIONS[verb], arrived
        return self._trial(group, f"{verb}, {self.move}", toll, faults)

    def _trial(self, group: Group, what: str, toll: Toll, faults: list[str]) -> Trial:
        kind = f"{REWOUND}: {self.place.settings}, {what}"
        return Trial(kind=kind, group=group.name, seed=self.seed, ours=toll, faults=faults)
