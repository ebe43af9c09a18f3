"""``mm2 flows limit``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_codec import decode_control
from tests.support.cluster import Cluster
from tests.support.mirror import properties
from tests.support.records import everything

pytestmark = pytest.mark.broker


def test_a_limit_is_an_alteration_and_not_another_thing_beside_it(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source = f"S{unique[-8:]}"
    control = f"mm2-control.{source}.internal"
    file = tmp_path / "mm2.properties"
    clusters = {source: cluster_a.bootstrap, "B": cluster_b.bootstrap}
    file.write_text(properties(clusters, {f"{source}->B.enabled": "true"}))

    def run(*words: str) -> int:
        return CliRunner().invoke(main, ["flows", words[0], str(file), *words[1:]]).exit_code

    assert run("limit", "soon") == run("limit", "-5") == run("limit", "0") == 2
    assert run("limit", "999") == 0
    assert run("limit", "1000", "--execute") == run("limit", "none", "--execute") == 0
    assert run("alter", "flow.byte.rate.limit=2000", "--execute") == 0
    # There is nothing to give back the second time.
    assert run("limit", "default", "--execute") == run("limit", "default", "--execute") == 0
    written = [
        decode_control(record.key, record.value)
        for record in everything(cluster_b.bootstrap, control)
    ]
    limits = [each.changes for each in written if isinstance(each, Alterations)]
    key = "flow.byte.rate.limit"
    assert limits == [{key: "1000"}, {key: "-1"}, {key: "2000"}, {}]
