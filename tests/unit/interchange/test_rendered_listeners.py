"""``mm2 render``: what probes and Prometheus ask of a mirror that runs elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from mm2.config.rest_settings import read_rest
from mm2.config.text.properties import parse
from tests.support.rendered import objects, render


@pytest.mark.parametrize(
    ("listeners", "port"),
    [
        ({}, 9404),
        ({"metrics__listeners": "http://127.0.0.1:1"}, 9404),
        ({"metrics__listeners": "http://127.0.0.1:9404"}, 9405),
        ({"metrics__listeners": "http://0.0.0.0:9000"}, 9000),
    ],
)
def test_probes_ask_where_nobody_logs_in(
    tmp_path: Path, listeners: dict[str, str], port: int
) -> None:
    found = objects(tmp_path, rest__basic__auth__file="/etc/mm2/users", **listeners)
    kubernetes_validate.validate(found["Deployment"], "1.33", strict=True)
    values = parse(found["ConfigMap"]["data"]["mm2.properties"].encode()).values
    read = read_rest({"metrics.listeners": values["metrics.listeners"]})
    assert read is not None
    assert read.metrics_listeners[-1].port == port
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"rest": 8083, "metrics": port}
    probes = [container[f"{each}Probe"]["httpGet"] for each in ("startup", "liveness", "readiness")]
    assert {each["port"] for each in probes} == {"metrics"}


def test_a_login_over_tls_leaves_a_probe_of_the_socket(tmp_path: Path) -> None:
    changes = {"listeners": "https://:8443", "rest__basic__auth__file": "/etc/mm2/users"}
    pod = objects(tmp_path, **changes)["Deployment"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["livenessProbe"]["tcpSocket"] == {"port": "rest"}


def test_the_health_of_a_container_is_asked_where_nobody_logs_in(tmp_path: Path) -> None:
    out = tmp_path / "out"
    changes = {"rest__basic__auth__file": "/etc/mm2/users"}
    assert render(tmp_path, "compose", "--output", str(out), **changes).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert "localhost:9404/health" in service["healthcheck"]["test"][-1]


def _scrape(folder: Path, **changes: str) -> dict[str, Any]:
    """The job of the rendered file, which Prometheus takes."""
    out = folder / "out"
    assert render(folder, "prometheus", "--output", str(out), **changes).exit_code == 0
    file = out / "prometheus-scrape.yml"
    if "rest__basic__auth__file" not in changes:  # It would look for the password.
        _check_config(file)
    (job,) = yaml.safe_load(file.read_text())["scrape_configs"]
    assert isinstance(job, dict)
    return job


def _check_config(file: Path) -> None:
    if (promtool := shutil.which("promtool")) is not None:
        words = [promtool, "check", "config", str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changes", "scheme", "target"),
    [
        ({}, None, "127.0.0.1:8083"),
        ({"listeners": "http://:9000"}, None, "mm2:9000"),
        ({"listeners": "https://[::1]:1, https://10.0.0.5:2"}, "https", "10.0.0.5:2"),
        ({"listeners": "http://[fe80::1]:9000"}, None, "[fe80::1]:9000"),
        ({"listeners": "http://:9", "rest__advertised__host__name": "n1"}, None, "n1:9"),
        ({"rest__enabled": "false", "metrics__listeners": "http://0.0.0.0:9404"}, None, "mm2:9404"),
    ],
)
def test_prometheus_is_told_where_metrics_are(
    tmp_path: Path, changes: dict[str, str], scheme: str | None, target: str
) -> None:
    job = _scrape(tmp_path, **changes)
    assert job.get("scheme") == scheme
    assert job["static_configs"] == [{"targets": [target]}]
    assert "basic_auth" not in job


def test_prometheus_logs_in_only_where_it_has_to(tmp_path: Path) -> None:
    login = {"listeners": "http://:8083", "rest__basic__auth__file": "/etc/mm2/users"}
    (tmp_path / "one").mkdir()
    assert _scrape(tmp_path / "one", **login)["basic_auth"]["username"] == "prometheus"
    job = _scrape(tmp_path, **login, metrics__listeners="http://:9404")
    assert (job["static_configs"], "basic_auth" in job) == ([{"targets": ["mm2:9404"]}], False)


@pytest.mark.parametrize("changes", [{"rest__enabled": "false"}, {"metrics__enabled": "false"}])
def test_without_metrics_there_is_no_scrape_job(tmp_path: Path, changes: dict[str, str]) -> None:
    done = render(tmp_path, "prometheus", **changes)
    assert "scrape_configs" not in done.stdout
    assert "there is no scrape job" in done.stderr


@pytest.mark.parametrize(
    ("changes", "port"),
    [
        ({}, "8083"),
        ({"rest__basic__auth__file": "/etc/mm2/users"}, "9404"),
        ({"metrics__enabled": "false"}, None),
        ({"listeners": "https://:8443", "rest__basic__auth__file": "/etc/mm2/users"}, None),
    ],
)
def test_pods_say_where_their_metrics_are(
    tmp_path: Path, changes: dict[str, str], port: str | None
) -> None:
    deployment = objects(tmp_path, **changes)["Deployment"]
    kubernetes_validate.validate(deployment, "1.33", strict=True)
    annotations = deployment["spec"]["template"]["metadata"].get("annotations", {})
    assert annotations.get("prometheus.io/port") == port
    assert annotations.get("prometheus.io/scrape") == (None if port is None else "true")
