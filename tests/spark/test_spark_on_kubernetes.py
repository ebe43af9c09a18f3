"""
What Spark's driver asks of Kubernetes, with the settings and the role that are rendered.

The API is a stand-in that starts no pod: what executors do there is not shown.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.config.text.properties import parse
from mm2.interchange.spark_on_kubernetes import POD_FIELDS
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.fake_kubernetes import FakeKubernetes, fake_kubernetes

pytestmark = pytest.mark.spark

_RELEASE = "1.33"
_DRIVER = """
import sys, threading
from pyspark import SparkConf, SparkContext
from flows.spark.settings import spark_settings

given = dict(line.split("=", 1) for line in sys.argv[1:])
conf = SparkConf().setAll(spark_settings(given).items()).setAppName("mm2")
context = SparkContext(conf=conf)
threading.Thread(target=lambda: context.range(1).count(), daemon=True).start()
sys.stdin.read()
context.stop()
"""
"""Has a job that waits for an executor, until its standard input ends."""


def test_the_role_allows_what_spark_asks_and_executors_are_as_the_schema_says(
    tmp_path: Path,
) -> None:
    with fake_kubernetes("mm2-0") as kubernetes:
        rendered = _rendered(tmp_path, kubernetes)
        _run_driver(rendered, kubernetes, tmp_path)
    kinds = {each["kind"]: each for each in kubernetes.made}
    for each in kinds.values():
        kubernetes_validate.validate(each, _RELEASE, strict=True)
    (owner,) = kinds["Pod"]["metadata"]["ownerReferences"]
    (container,) = kinds["Pod"]["spec"]["containers"]
    assert (owner["name"], container["image"]) == ("mm2-0", "executor:1")
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == "mm2-files"]
    assert (mount["mountPath"], mount["subPath"]) == ("/trust.jks", "trust.jks")
    volumes = {each["name"]: each for each in kinds["Pod"]["spec"]["volumes"]}
    assert volumes["mm2-files"]["secret"]["secretName"] == "mm2-files"
    assert ("pods", "create") in kubernetes.asked
    assert kubernetes.asked <= _allowed(rendered)


def _rendered(folder: Path, kubernetes: FakeKubernetes) -> dict[str, Any]:
    file = folder / "mm2.properties"
    settings = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:9092",
        "B.bootstrap.servers": "b:9092",
        "A->B.enabled": "true",
        "spark.master": f"k8s://{kubernetes.url}",
        "spark.kubernetes.container.image": "executor:1",
        "A.ssl.truststore.location": "trust.jks",
    }
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    done = CliRunner().invoke(main, ["render", "kubernetes", str(file)])
    assert done.exit_code == 0, done.output
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}


def _run_driver(rendered: dict[str, Any], kubernetes: FakeKubernetes, folder: Path) -> None:
    fields = {
        "status.podIP": "127.0.0.1",
        "metadata.name": kubernetes.driver,
        "metadata.namespace": "kafka",
    }
    for name, text in rendered["ConfigMap"]["data"].items():
        (folder / name).write_text(text)
    text = rendered["ConfigMap"]["data"]["mm2.properties"].replace("/etc/mm2/", f"{folder}/")
    given = {
        key: re.sub(r"\$\{env:(\w+)\}", lambda found: fields[POD_FIELDS[found[1]]], value)
        for key, value in parse(text.encode()).values.items()
        if key.startswith("spark.")
    }
    arguments = [f"{key}={value}" for key, value in given.items()]
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER, *arguments], stdin=subprocess.PIPE
    ) as driver:
        try:
            eventually(lambda: any(each["kind"] == "Pod" for each in kubernetes.made))
            assert driver.stdin is not None
            driver.stdin.close()
            eventually(lambda: ("pods", "deletecollection") in kubernetes.asked)
            driver.wait(PATIENCE_S)
        finally:
            driver.kill()


def _allowed(rendered: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (resource, verb)
        for rule in rendered["Role"]["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
