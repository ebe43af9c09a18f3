"""``mm2 render``: manifests are valid, and hold no secret."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from mm2.config.text.properties import parse
from mm2.driver.file_validation import errors_of
from tests.support.rendered import FILE, SECRET, VARIABLE, objects, render


@pytest.mark.parametrize("kind", ["docker", "compose", "kubernetes", "systemd"])
def test_no_secret_is_rendered(tmp_path: Path, kind: str) -> None:
    done = render(tmp_path, kind)
    assert done.exit_code == 0
    assert "eim" not in done.output
    assert f"A.sasl.jaas.config is to be given as ${VARIABLE}." in done.stderr


def test_manifests_have_the_schema_of_kubernetes(tmp_path: Path) -> None:
    found = objects(tmp_path, "--namespace", "kafka", "--name", "mirror")
    assert {*found} == {"ConfigMap", "PodDisruptionBudget", "Deployment", "Service"}
    for each in found.values():
        kubernetes_validate.validate(each, "1.33", strict=True)
        assert each["metadata"]["namespace"] == "kafka"


def test_a_pod_has_secrets_by_reference_probes_and_time_to_drain(tmp_path: Path) -> None:
    found = objects(tmp_path)
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["terminationGracePeriodSeconds"] == 40
    assert container["env"] == [
        {"name": VARIABLE, "valueFrom": {"secretKeyRef": {"name": "mm2", "key": VARIABLE}}}
    ]
    assert container["livenessProbe"]["httpGet"] == {"path": "/health", "port": "rest"}
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert container["ports"][0]["containerPort"] == 8083


def test_time_to_drain_follows_the_file(tmp_path: Path) -> None:
    found = objects(tmp_path, B__task__shutdown__graceful__timeout__ms="60000")
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 70


def test_executors_in_pods_need_an_account_that_may_make_them(tmp_path: Path) -> None:
    master = {"spark__master": "k8s://https://kubernetes.default.svc"}
    found = objects(tmp_path, "--namespace", "kafka", "--name", "mirror", **master)
    for each in found.values():
        kubernetes_validate.validate(each, "1.33", strict=True)
    assert {"ServiceAccount", "Role", "RoleBinding"} <= {*found}
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (subject,) = found["RoleBinding"]["subjects"]
    assert pod["serviceAccountName"] == subject["name"] == "mirror"
    assert "automountServiceAccountToken" not in pod
    assert found["RoleBinding"]["roleRef"]["name"] == found["Role"]["metadata"]["name"]


def test_executors_in_pods_find_the_driver_and_end_with_it(tmp_path: Path) -> None:
    found = objects(tmp_path, spark__master="k8s://https://kubernetes.default.svc")
    values = parse(found["ConfigMap"]["data"]["mm2.properties"].encode()).values
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    fields = {each["name"]: each["valueFrom"] for each in container["env"]}
    read = {
        "spark.driver.host": "status.podIP",
        "spark.kubernetes.driver.pod.name": "metadata.name",
        "spark.kubernetes.namespace": "metadata.namespace",
    }
    for key, field in read.items():
        variable = values[key].removeprefix("${env:").removesuffix("}")
        assert fields[variable] == {"fieldRef": {"fieldPath": field}}
    assert fields[VARIABLE] == {"secretKeyRef": {"name": "mm2", "key": VARIABLE}}


def test_what_the_file_says_of_the_driver_s_pod_stays(tmp_path: Path) -> None:
    settings = {"spark__master": "k8s://https://k", "spark__driver__host": "mm2.kafka.svc"}
    text = objects(tmp_path, **settings)["ConfigMap"]["data"]["mm2.properties"]
    assert parse(text.encode()).values["spark.driver.host"] == "mm2.kafka.svc"


@pytest.mark.parametrize(("image", "is_asked_for"), [({}, True), ({"image": "e:1"}, False)])
def test_executors_in_pods_need_an_image(
    tmp_path: Path, image: dict[str, str], *, is_asked_for: bool
) -> None:
    named = {f"spark__kubernetes__container__{key}": value for key, value in image.items()}
    done = render(tmp_path, "kubernetes", spark__master="k8s://https://k", **named)
    assert ("no spark.kubernetes.container.image" in done.stderr) is is_asked_for


def test_the_rendered_configuration_is_right_and_asks_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = objects(tmp_path)["ConfigMap"]["data"]["mm2.properties"]
    values = parse(text.encode()).values
    assert values["A.sasl.jaas.config"] == f"${{env:{VARIABLE}}}"
    assert values["listeners"] == "http://:8083"
    assert {key: values[key] for key in FILE if "jaas" not in key} == {
        key: value for key, value in FILE.items() if "jaas" not in key
    }
    (tmp_path / "rendered.properties").write_text(text)
    monkeypatch.setenv(VARIABLE, SECRET.replace("required", 'required username="u"'))
    assert [*map(str, errors_of(tmp_path / "rendered.properties"))] == []


def test_values_are_written_so_that_they_are_read_again(tmp_path: Path) -> None:
    topics = r"a\\.b, =c, d:e, #f, ü"
    text = objects(tmp_path, topics=topics)["ConfigMap"]["data"]["mm2.properties"]
    assert (
        parse(text.encode()).values["topics"]
        == parse(f"topics = {topics}".encode()).values["topics"]
    )


def test_a_provider_of_the_file_is_used(tmp_path: Path) -> None:
    providers = {
        "config__providers": "environment",
        "config__providers__environment__class": (
            "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        ),
        "B__ssl__key__password": "${environment:KEY}",
    }
    found = objects(tmp_path, **providers)
    values = parse(found["ConfigMap"]["data"]["mm2.properties"].encode()).values
    assert values["A.sasl.jaas.config"] == f"${{environment:{VARIABLE}}}"
    env = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {each["name"] for each in env} == {VARIABLE, "KEY"}


def test_a_local_listener_has_no_probes_and_says_so(tmp_path: Path) -> None:
    done = render(tmp_path, "kubernetes", listeners="http://127.0.0.1:9000")
    assert "Probe" not in done.stdout
    assert "there are no probes" in done.stderr


def test_compose_takes_values_from_the_shell(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert render(tmp_path, "compose", "--output", str(out)).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert service["environment"] == {VARIABLE: f"${{{VARIABLE}:?}}"}
    assert service["stop_grace_period"] == "40s"
    assert (out / "mm2.properties").is_file()


def test_files_are_not_overwritten(tmp_path: Path) -> None:
    done = render(tmp_path, "compose", "--output", str(tmp_path))
    assert done.exit_code == 2
    assert "mm2.properties" in done.stderr
    assert not (tmp_path / "compose.yaml").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert render(tmp_path, "systemd", "--output", str(out)).exit_code == 0
    unit = out / "mm2.service"
    unit.write_text(re.sub(r"/opt/mm2/bin/\S+", "/bin/true", unit.read_text()))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_unit_keeps_classes_and_compiled_code(tmp_path: Path) -> None:
    unit = render(tmp_path, "systemd").stdout
    assert "Environment=NUMBA_CACHE_DIR=%C/mm2/numba\n" in unit
    assert "CacheDirectory=mm2\n" in unit
    assert "ExecStartPre=-/opt/mm2/bin/python -m flows.spark.archive\n" in unit


@pytest.mark.parametrize(
    ("option", "value"), [("--name", "a b"), ("--namespace", "x\ny"), ("--image", "a\nRUN b")]
)
def test_names_that_would_break_a_manifest_are_refused(
    tmp_path: Path, option: str, value: str
) -> None:
    assert render(tmp_path, "kubernetes", option, value).exit_code == 2


def test_a_variable_that_is_no_name_is_refused(tmp_path: Path) -> None:
    done = render(
        tmp_path,
        "kubernetes",
        config__providers="env",
        config__providers__env__class="org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        B__ssl__key__password="${env:a b}",
    )
    assert done.exit_code == 2
    assert "'a b' is no name of a variable" in done.stderr


@pytest.mark.parametrize(("kind", "part"), [("prometheus", "groups"), ("grafana", "panels")])
def test_alerts_and_the_dashboard_are_those_that_are_shipped(
    tmp_path: Path, kind: str, part: str
) -> None:
    done = render(tmp_path, kind)
    assert done.exit_code == 0
    assert yaml.safe_load(done.stdout)[part]
    assert done.stderr == ""
