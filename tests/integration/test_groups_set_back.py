"""Groups that are set back while flows in both directions sync their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.failover import Scene, read_on, stands
from tests.support.mirror import Mirror, properties
from tests.support.records import commit_group, consume

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def scene(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """Two clusters that mirror each other, and sync groups in both directions."""
    unique = uuid4().hex[:8]
    here, there = f"S{unique}", f"T{unique}"
    settings = {
        f"{here}->{there}.enabled": "true",
        f"{there}->{here}.enabled": "true",
        "topics": f"{unique}-.*",
        "groups": f"{unique}-.*",
        "heartbeats.replication.enabled": "false",
        "sync.group.offsets.enabled": "true",
        "sync.group.offsets.interval.seconds": "1",
    }
    clusters = {here: cluster_a.bootstrap, there: cluster_b.bootstrap}
    folder = tmp_path_factory.mktemp("set-back")
    with Mirror(folder, properties(clusters, settings)) as mirror:
        eventually(lambda: mirror.text().count("flow.assigned") >= 2, timeout=150)
        yield Scene(mirror.file, cluster_a, cluster_b, here, there, f"{unique}-")
        assert mirror.stop() == 0


class Reader:
    """A group that reads a topic of the scene's source, and its copy."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.scene = scene
        self.topic, self.group = scene.topic(name), f"{scene.prefix}{name}"
        self.remote = scene.remote(self.topic)
        scene.write(self.topic, range(100))
        consume(scene.target.bootstrap, self.remote, 100, timeout=90)

    @property
    def here(self) -> int:
        """Where the group stands on the source."""
        return stands(self.scene.source.bootstrap, self.group, self.topic)

    @property
    def there(self) -> int:
        """Where it stands on the target."""
        return stands(self.scene.target.bootstrap, self.group, self.remote)

    def set_here(self, offset: int) -> None:
        """Somebody sets it on the source."""
        self.scene.stand(self.group, self.topic, offset)

    def set_there(self, offset: int) -> None:
        """Somebody sets it on the target."""
        commit_group(self.scene.target.bootstrap, self.group, {(self.remote, 0): offset})

    def command(self, verb: str, *words: str, file: Path | None = None) -> dict[str, object]:
        """Moves it."""
        return self.scene.ok(verb, "execute", "--group", self.group, "--execute", *words, file=file)


def _rounds(scene: Scene, name: str) -> None:
    """Lets both flows look, emit and sync: another group goes there and back meanwhile."""
    other = Reader(scene, name)
    for offset in (30, 40):
        other.set_here(offset)
        eventually(lambda: other.there, until=lambda found, offset=offset: found == offset)  # type: ignore[misc]
    for offset in (50, 60):
        other.set_there(offset)
        eventually(lambda: other.here, until=lambda found, offset=offset: found == offset)  # type: ignore[misc]


def test_after_a_disaster_a_group_goes_on_where_it_was_set_back(
    scene: Scene, tmp_path: Path
) -> None:
    """What was synced is not read: nothing is skipped."""
    reader = Reader(scene, "lost")
    reader.set_here(90)
    eventually(lambda: reader.there, until=lambda found: found == 90)
    reader.set_here(10)
    eventually(lambda: reader.there, until=lambda found: found == 10)
    reader.command("failover", "--unplanned", file=scene.without_source(tmp_path))
    assert read_on(scene.target.bootstrap, reader.group, reader.remote, 1) == [b"10"]


def test_a_group_that_moved_and_was_set_back_there_stays_there(scene: Scene) -> None:
    """No echo: what one flow wrote, the other does not carry back."""
    reader = Reader(scene, "moved")
    reader.set_here(20)
    reader.command("failover")
    read_on(scene.target.bootstrap, reader.group, reader.remote, 60)
    eventually(lambda: reader.here, until=lambda found: found == 80)
    reader.set_there(50)
    eventually(lambda: reader.here, until=lambda found: found == 50)
    _rounds(scene, "moved-other")
    assert (reader.here, reader.there) == (50, 50)
    reader.command("failback")
    assert read_on(scene.source.bootstrap, reader.group, reader.topic, 1) == [b"50"]


def test_a_group_that_was_set_back_moves_there_as_planned(scene: Scene) -> None:
    """Whether or not its offset has been synced by then."""
    reader = Reader(scene, "planned")
    reader.set_here(90)
    eventually(lambda: reader.there, until=lambda found: found == 90)
    reader.set_here(10)
    reader.command("failover")
    assert read_on(scene.target.bootstrap, reader.group, reader.remote, 1) == [b"10"]


def test_a_group_that_is_set_back_where_nobody_reads_is_not_moved_on(scene: Scene) -> None:
    """Somebody prepares a group on the target: no sync overrules that."""
    reader = Reader(scene, "prepared")
    reader.set_here(90)
    eventually(lambda: reader.there, until=lambda found: found == 90)
    reader.set_there(30)
    _rounds(scene, "prepared-other")
    assert reader.there == 30
    reader.command("failover")
    assert read_on(scene.target.bootstrap, reader.group, reader.remote, 1) == [b"30"]
