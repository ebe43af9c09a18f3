"""What a target has lost from the end of a copy is copied again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flows.source.forward.record_batch import split
from mm2.protocol.bundle_spec import OffsetSyncSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.gaps import kept_gaps, write_values
from tests.support.records import committed, create_topic

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def damaged() -> Iterator[KafkaCluster]:
    """A target whose files are tampered with."""
    with KafkaCluster("D") as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("exactly_once", "is_running", "batches", "marker"),
    [
        (False, True, 1, False),
        (False, False, 1, False),
        (True, True, 2, False),
        (True, True, 2, True),
        (True, False, 3, False),
        (True, False, 1, False),
        (True, False, 2, True),
    ],
)
def test_the_lost_end_of_a_copy_is_copied_again_and_nothing_twice(
    *,
    cluster_a: Cluster,
    damaged: KafkaCluster,
    unique: str,
    capsys: pytest.CaptureFixture[str],
    exactly_once: bool,
    is_running: bool,
    batches: int,
    marker: bool,
) -> None:
    """
    As after an unclean leader election: the node comes back without the last batches.

    Exactly once the last is a marker. Without it alone, a transaction is open for ever that its
    coordinator takes for committed. A coordinator that does not know that its marker was written
    writes it again, where the log ends now.
    """
    bench, topic = _bench(cluster_a, damaged, unique, exactly_once=exactly_once)
    before, lost, after = [b"0", b"1"], [b"2", b"3"], [b"4", b"5"]
    first = 0 if batches > 2 else len(before)  # the marker before what is lost, too
    with bench.running(fails=is_running) as task:
        for values in (before, lost):
            write_values(cluster_a, topic, *values)
            _expect(bench, topic, values)
        if is_running:
            # It must be found by looking. A new task follows, as its producer's numbers do not fit:
            # that may come before the gap is kept, and after it is logged.
            _cut(damaged, bench.remote(topic), batches, marker=marker)
            eventually(lambda: task.done() or _gaps(bench))
    if not is_running:
        _cut(damaged, bench.remote(topic), batches, marker=marker)
    write_values(cluster_a, topic, *after)
    with bench.running():
        _expect(bench, topic, after)
    kept = {entry["first"] for entry in _gaps(bench)}
    assert kept == {first} or (is_running and not kept)
    told = [line for line in capsys.readouterr().out.splitlines() if "source.gap_found" in line]
    assert told
    assert all(f" first={first} " in line for line in told)
    # A task that ends before the gap is kept and copied again leaves both to the next one.
    assert len(told) == 1 or is_running
    with bench.running() as totals:
        write_values(cluster_a, topic, b"6")
        _expect(bench, topic, [b"6"])
    assert totals.result()["records"] == 1, "it is not found again"


def _bench(
    source: Cluster, target: Cluster, unique: str, *, exactly_once: bool
) -> tuple[Bench, str]:
    """A flow of one topic whose runs are told on the source, and the topic."""
    topic = f"{unique}-t"
    syncs = OffsetSyncSpec(
        cluster="source",
        properties={"bootstrap.servers": source.bootstrap},
        topic=f"{unique}-syncs",
        lag_max=100,
        runs_topic=f"{unique}-runs",
    )
    for name in (topic, syncs.topic, f"{unique}-runs"):
        create_topic(source.bootstrap, name)
    bench = Bench(source, target, unique, {topic: 1}, exactly_once=exactly_once)
    bench.changes = {"offset_syncs": syncs}
    return bench, topic


def _expect(bench: Bench, topic: str, values: list[bytes]) -> None:
    """Waits until readers of committed records see these last; all must be there, and once."""

    def seen() -> list[bytes | None]:
        return [each.value for each in committed(bench.target.bootstrap, bench.remote(topic))]

    found = eventually(seen, until=lambda found: found[-1:] == values[-1:])
    assert found == [b"%d" % number for number in range(int(values[-1]) + 1)]


def _gaps(bench: Bench) -> list[dict[str, object]]:
    return kept_gaps(bench, "remote-truncated")


def _cut(cluster: KafkaCluster, topic: str, batches: int, *, marker: bool) -> None:
    """Has the node die, and come back without the last batches of a log, but their last marker."""
    cluster.kill()
    folder = cluster.log_folder(topic)
    for log in sorted(folder.glob("*.log"), reverse=True):
        found = list(split(memoryview(log.read_bytes())))
        kept = found[: max(len(found) - batches, 0)]
        written = b"".join(batch.data for batch in kept)
        if marker and kept:
            written += (kept[-1].last_offset + 1).to_bytes(8, "big") + bytes(found[-1].data[8:])
            marker = False
        log.write_bytes(written)
        batches -= len(found) - len(kept)
    for known in [*folder.glob("*index"), *folder.glob("*.snapshot")]:
        known.unlink()
    for checkpoint in folder.parent.glob("*-offset-checkpoint"):
        checkpoint.unlink()
    cluster.restart()
