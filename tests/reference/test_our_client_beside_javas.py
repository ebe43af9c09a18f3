"""``mm2.client`` and Java's ``MirrorClient`` answer the same about the same cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from mm2.client import MirrorClient, remote_cluster_utils
from mm2.client.mirror_client import Offsets
from mm2.core.internal_records import Checkpoint
from mm2.core.java_regex import JavaPattern
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.demo.processes import QUICK_START, java
from tests.support.cluster import Cluster
from tests.support.layout import JARS
from tests.support.records import Sample, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.reference]

_SOURCE = Path(__file__).parent / "java" / "ClientAnswers.java"
_PATTERN = "g[01]|(?i)LAST"
_POLICY = "replication.policy.class"
_JAVA_POLICIES = "org.apache.kafka.connect.mirror."


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compiler = ["javac", "-nowarn", "-proc:none", "-cp", f"{JARS}/*", "-d", str(folder)]
    subprocess.run([*compiler, str(_SOURCE)], check=True, timeout=60)
    return folder


def _javas_answers(classes: Path, *words: str) -> dict[str, str]:
    command = [java(), *QUICK_START, "-Xmx128m", "-cp", f"{classes}:{JARS}/*", "ClientAnswers"]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, check=False, timeout=90
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


async def _our_answers(alias: str, properties: Mapping[str, str]) -> dict[str, str]:
    async with MirrorClient(properties) as client:
        groups = await client.remote_consumer_offsets(JavaPattern(_PATTERN), alias)
        return {
            "hops": str(await client.replication_hops(alias)),
            "unknown hops": str(await client.replication_hops("nobody")),
            "heartbeats": _set(await client.heartbeat_topics()),
            "checkpoints": _set(await client.checkpoint_topics()),
            "upstream": _set(await client.upstream_clusters()),
            "remote": _set(await client.remote_topics()),
            "remote of one": _set(await client.remote_topics(alias)),
            "group": _offsets(await client.remote_consumer_offsets("g0", alias)),
            "groups": _map({group: _offsets(each) for group, each in groups.items()}),
            "translated": _offsets(
                await remote_cluster_utils.translate_offsets(properties, alias, "g0")
            ),
        }


def _set(found: Iterable[str]) -> str:
    return f"[{', '.join(sorted(found))}]"


def _map(found: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}={value}' for key, value in sorted(found.items()))}}}"


def _offsets(found: Offsets) -> str:
    return _map({str(where): f"{each.offset} {each.metadata}" for where, each in found.items()})


@pytest.mark.parametrize(
    ("settings", "separator"),
    [
        ({}, "."),
        ({"replication.policy.separator": "__"}, "__"),
        (
            {_POLICY: f"{_JAVA_POLICIES}IdentityReplicationPolicy", "source.cluster.alias": "main"},
            ".",
        ),
    ],
    ids=["default", "separator", "identity"],
)
async def test_all_answers_are_javas(
    classes: Path, cluster_b: Cluster, unique: str, settings: dict[str, str], separator: str
) -> None:
    """C130-C146, C467, C468."""
    alias, far = f"S{unique[-8:]}", f"far{unique[-8:]}"
    names = ["heartbeats", "t", "myheartbeats"]
    topics = [f"{alias}.{name}" for name in names] + [f"{alias}.{far}.{name}" for name in names]
    topics += [f"{far}.{alias}.heartbeats", f"{far}..x", f"{far}.y."]
    checkpoints = f"{alias}.checkpoints.internal"
    for topic in [*topics, checkpoints]:
        create_topic(cluster_b.bootstrap, topic.replace(".", separator))
    groups = ["g0", "g1", "g2", "last", "lasting"]
    written = [
        Checkpoint(
            GroupId(group), TopicPartition(TopicName(f"{alias}.t"), n % 2), n, 10 * n, f"m{n}"
        )
        for n in range(4)
        for group in groups
    ]
    samples = [Sample(key=each.key(), value=each.value()) for each in written]
    # What neither can read, in the middle.
    samples.insert(7, Sample(key=b"?", value=b"?"))
    produce(cluster_b.bootstrap, checkpoints.replace(".", separator), samples)
    properties = {"bootstrap.servers": cluster_b.bootstrap, **settings}
    pairs = [f"{key}={value}" for key, value in properties.items()]
    javas = _javas_answers(classes, alias, "g0", _PATTERN, *pairs)
    ours = await _our_answers(alias, properties)
    # Neighbours in the shared cluster may have made topics in between.
    for about in ("heartbeats", "checkpoints", "upstream", "remote"):
        javas[about], ours[about] = (
            _set({each for each in found[about].strip("[]").split(", ") if unique[-8:] in each})
            for found in (javas, ours)
        )
    assert ours == javas
    assert (ours["hops"], ours["unknown hops"]) == ("1", "-1")
    assert ours["groups"].count("t-1=30 m3") == 3
