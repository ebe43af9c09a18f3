"""The status page of a real mirror in a real browser, while it makes its first copy."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.async_api import expect

from mm2.cli.mm2 import main
from mm2.demo.demo_view import status_page
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, commit_group, create_topic, produce
from tests.support.status_page import browser, visit

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

RECORDS = 300
SIZE = 10_000
PATIENCE_MS = PATIENCE_S * 1000


async def test_a_first_copy_is_followed_to_its_end(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """A limit leaves time to open a browser and see the copy move; it is lifted after that."""
    alias = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"x" * SIZE) for _ in range(RECORDS)])
    commit_group(cluster_a.bootstrap, f"readers-{unique}", {(unique, 0): RECORDS})
    settings = {
        f"{alias}->T.enabled": "true",
        f"{alias}->T.topics": unique,
        f"{alias}->T.groups": f"readers-{unique}",
        f"{alias}->T.flow.byte.rate.limit": "50000",
        f"{alias}->T.consumer.max.partition.fetch.bytes": "50000",
        # The page shows the newest events only: not one for each topic of heartbeats.
        f"{alias}->T.heartbeats.replication.enabled": "false",
        f"T->{alias}.emit.heartbeats.enabled": "false",
        "listeners": "http://127.0.0.1:0",
        f"{alias}.ssl.key.password": "s3cret",
    }
    text = properties({alias: cluster_a.bootstrap, "T": cluster_b.bootstrap}, settings)
    with Mirror(tmp_path, text) as mirror:
        url = await asyncio.to_thread(eventually, lambda: status_page(mirror.log))
        assert url is not None
        async with browser() as chromium, visit(chromium, url) as seen:
            page = seen.page
            await page.evaluate("window.wasLoadedOnce = true")
            bar = page.locator(f"progress[aria-label='copied of {unique}']")
            underway = re.compile(r"^([1-9]|[1-9]\d)$")
            await expect(bar).to_have_attribute("value", underway, timeout=PATIENCE_MS)
            first = int(await bar.get_attribute("value") or 0)
            await page.wait_for_function(
                "([bar, first]) => Number(document.querySelector(bar).value) > first",
                arg=[f"progress[aria-label='copied of {unique}']", first],
                timeout=PATIENCE_MS,
            )
            await asyncio.to_thread(_lift_the_limit, mirror, f"{alias}->T")
            await expect(bar).to_have_attribute("value", "100", timeout=PATIENCE_MS)
            groups = page.locator("#groups")
            await expect(groups).to_contain_text(f"readers-{unique}", timeout=PATIENCE_MS)
            plots, events = page.locator("#plots canvas"), page.locator("#events")
            await expect(plots).to_have_count(3, timeout=PATIENCE_MS)
            assigned = "source.partitions_assigned"
            await expect(events).to_contain_text(assigned, timeout=PATIENCE_MS)
            assert await page.evaluate("window.wasLoadedOnce")
            html = await page.content()
            assert f"{alias}-&gt;T.flow.byte.rate.limit (line" in html
            assert "s3cret" not in html
            assert await seen.wrong_parts() == []
            assert seen.problems == []
            assert seen.hosts == {url.removeprefix("http://").rstrip("/")}
        assert mirror.stop() == 0


def _lift_the_limit(mirror: Mirror, flow: str) -> None:
    words = ["flows", "limit", str(mirror.file), "none", "--flow", flow, "--execute"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
