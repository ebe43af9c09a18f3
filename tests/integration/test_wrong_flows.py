"""A flow whose settings are wrong has failed; the others of its file run (C112)."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import ClientSession
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually, eventually_async
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, create_topic, produce

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_NO_STORE = {"W.security.protocol": "SSL", "W.ssl.truststore.location": "/no/such.jks"}


def _events(mirror: Mirror, name: str) -> list[dict[str, Any]]:
    lines = [line for line in mirror.text().splitlines() if f'"{name}"' in line]
    return [json.loads(line) for line in lines]


def _states(file: Path) -> dict[str, dict[str, Any]]:
    """The flows as ``mm2 status`` shows them, one of which has failed."""
    result = CliRunner().invoke(main, ["status", str(file), "--format", "json"])
    assert result.exit_code == 1, result.output
    return {row["flow"]: row for row in json.loads(result.stdout)}


@pytest.mark.broker
def test_the_other_flows_run_and_the_wrong_one_is_shown_as_failed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Until its file is mended: then it runs, too, without a new start."""
    good, wrong = f"S{unique[-8:]}", f"W{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"1")])
    clusters = {good: cluster_a.bootstrap, wrong: cluster_a.bootstrap, "T": cluster_b.bootstrap}
    settings = {
        "emit.heartbeats.enabled": "false",
        f"{good}->T.enabled": "true",
        f"{wrong}->T.enabled": "true",
        "topics": unique,
        "topic": "misspelt",
        "listeners": "http://127.0.0.1:0",
    }
    mended = properties(clusters, settings)
    text = f"{mended}{wrong}.security.protocol = SASL_SSL\n{wrong}->T.tasks.max = 0\n"

    def copied(alias: str) -> list[bytes | None]:
        return [each.value for each in records_in(log_of(cluster_b.bootstrap, f"{alias}.{unique}"))]

    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: copied(good) == [b"1"])
        eventually(lambda: _states(mirror.file)[f"{good}->T"]["state"] == "RUNNING")
        shown = _states(mirror.file)[f"{wrong}->T"]
        assert shown["state"] == "FAILED"
        assert f"{wrong}->T.tasks.max" in shown["problems"]
        (told,) = _events(mirror, "flow.unusable")
        assert told["flow"] == f"{wrong}->T"
        doubts = [each["message"] for each in _events(mirror, "config.doubtful")]
        assert any(": topic: unknown key" in doubt for doubt in doubts)
        eventually(lambda: _events(mirror, "rest.listening"))
        url = _events(mirror, "rest.listening")[0]["advertised"]
        asyncio.run(_check_failed(url, f"{wrong}->T.MirrorSourceConnector"))

        mirror.file.write_text(mended)
        mirror.process.send_signal(signal.SIGHUP)
        eventually(lambda: copied(wrong) == [b"1"])
        assert mirror.stop() == 0


async def _check_failed(url: str, connector: str) -> None:
    path = f"{url}/connectors/{quote(connector)}"
    async with ClientSession() as session:

        async def status() -> bool:
            async with session.get(f"{path}/status") as answer:
                state = (await answer.json())["connector"]
            return state["state"] == "FAILED" and "tasks.max" in state["trace"]

        await eventually_async(status)
        async with session.get(f"{path}/config") as answer:
            assert answer.status == 409
            assert "tasks.max" in (await answer.json())["message"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (_NO_STORE, "line 20: W.ssl.truststore.location=/no/such.jks cannot be read"),
        ({"W->T.tasks.max": "0"}, "configuration 'W->T.tasks.max'"),
        ({"rest.basic.auth.file": "/no/such"}, "rest.basic.auth.file: /no/such cannot be used"),
    ],
    ids=["trust-store", "tasks", "passwords"],
)
def test_a_file_of_which_nothing_can_run_ends_the_start_with_2(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    """T->W is left, for its heartbeats, but that is not what the file was written for."""
    clusters = {"W": "127.0.0.1:1", "T": "127.0.0.1:2"}
    text = properties(clusters, {"W->T.enabled": "true", **settings})
    with Mirror(tmp_path, text) as mirror:
        assert mirror.process.wait(120) == 2
        mirror.wait_gone()
        assert told in mirror.text()
