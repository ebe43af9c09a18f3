"""What Connect's workers show of their connectors: metrics, and the status page."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.connect import sample, standalone
from tests.support.eventually import eventually
from tests.support.otlp import OtlpReceiver
from tests.support.records import Sample, commit_group, create_topic, produce
from tests.support.rest_client import RestClient
from tests.support.scrapes import Scrape

pytestmark = [pytest.mark.broker, pytest.mark.spark]

COUNT = "kafka_connect_mirror_mirrorsourceconnector_record_count"


def test_a_worker_exports_and_shows_the_connectors_that_it_leads(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source, target = f"A{unique[-4:]}", f"B{unique[-4:]}"
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"%d" % n) for n in range(20)])
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 7})
    aliases = {"source.cluster.alias": source, "target.cluster.alias": target}
    changes = {
        "connect-mirror-source.properties": {**aliases, "topics": unique},
        "connect-mirror-checkpoint.properties": {**aliases, "topics": unique, "groups": unique},
        "connect-mirror-heartbeat.properties": aliases,
    }
    copies, checkpoints, beats = names = [
        f"{unique}-{part}" for part in ("source", "checkpoint", "heartbeat")
    ]
    clusters = (cluster_a, cluster_b)
    connectors = {
        file: sample(file, clusters, {**change, "name": name})
        for name, (file, change) in zip(names, changes.items(), strict=True)
    }
    (port,) = free_ports(1)
    with OtlpReceiver() as receiver:
        worker = sample("connect-standalone.properties", clusters, {}) + (
            f"listeners = http://127.0.0.1:{port}\n"
            f"metrics.otlp.endpoint = {receiver.url}\n"
            "metrics.otlp.headers = Authorization=Bearer s3cret\n"
            "metrics.otlp.interval.ms = 1000\n"
        )
        with standalone(tmp_path, worker, connectors) as mirror:

            def look() -> Scrape:
                found = Scrape(RestClient(port).text("/metrics"))
                assert found.value(COUNT, topic=f"{source}.{unique}") == 20
                assert found.value("mm2_topic_copied_percent", topic=f"{source}.{unique}") == 100
                # Other topics of heartbeats are looked at later.
                assert found.value("mm2_flow_copied_percent", flow=copies) == 100
                assert found.all("mm2_checkpoint_exact", group=unique)
                # Connectors begin one after the other.
                assert {each.labels["flow"] for each in found.all("mm2_flow_leader")} == set(names)
                assert found.value("mm2_connector_as_wanted", connector=checkpoints) == 1
                return found

            found = eventually(look, until=lambda _: True, timeout=120)
            assert found.value("kafka_connect_worker_connector_count") == 3

            def sent() -> bool:
                labels = (("partition", "0"), ("source", source), ("target", target))
                key = (COUNT, (*labels, ("topic", f"{source}.{unique}")))
                return receiver.received[-1].values[key] == 20

            eventually(sent)
            assert receiver.received[-1].headers["authorization"] == "Bearer s3cret"
            _check_page(port, names)
            _wait_for_group(port, unique)
            RestClient(port).ask("PUT", f"/connectors/{beats}/pause")
            eventually(lambda: "paused" in _page(port))
            assert mirror.stop() == 0
        assert "s3cret" not in mirror.text()


def _wait_for_group(port: int, group: str) -> None:
    """Groups are looked at while somebody follows the page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/page/updates", timeout=60) as stream:
        updates = (json.loads(line[6:]) for line in stream if line.startswith(b"data: "))
        row = f'<span class="name">{group}</span>'
        assert any(row in each["sections"].get("groups", "") for each in updates)


def _page(port: int) -> str:
    return RestClient(port).text("/", "text/html")


def _check_page(port: int, names: list[str]) -> None:
    def look() -> str:
        page = _page(port)
        assert page.count("running") >= 3
        assert "Needs attention" not in page
        return page

    page = eventually(look)
    assert all(name in page for name in names)
    assert "heartbeats only" not in page
    assert "metrics.otlp.headers" in page
    assert "s3cret" not in page
