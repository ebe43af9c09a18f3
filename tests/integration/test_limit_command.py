"""``mm2 flows limit``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.herder.control import Limit, decode
from tests.support.cluster import Cluster
from tests.support.mirror import properties
from tests.support.records import create_topic, everything

pytestmark = pytest.mark.broker


def test_the_rate_of_a_flow_is_changed_through_its_control_topic(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source = f"S{unique[-8:]}"
    control = f"mm2-control.{source}.internal"
    file = tmp_path / "mm2.properties"
    clusters = {source: cluster_a.bootstrap, "B": cluster_b.bootstrap}
    file.write_text(properties(clusters, {f"{source}->B.enabled": "true"}))

    def limit(rate: str) -> int:
        return CliRunner().invoke(main, ["flows", "limit", str(file), rate]).exit_code

    assert limit("soon") == limit("-5") == limit("0") == 2
    assert limit("1000") == 3, "the flow has never run"
    create_topic(cluster_b.bootstrap, control)
    assert limit("1000") == limit("none") == limit("default") == 0
    written = [
        decode(record.key, record.value) for record in everything(cluster_b.bootstrap, control)
    ]
    assert written == [Limit(bytes_per_second=rate) for rate in (1000, -1, None)]
