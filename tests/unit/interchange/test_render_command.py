"""``mm2 render``: manifests are valid, and hold no secret."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.config.rest_settings import read_rest
from mm2.config.text.properties import parse
from mm2.driver.file_validation import errors_of

_SECRET = 'org.apache.kafka.common.security.plain.PlainLoginModule required password="geh: eim";'
_FILE = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a:9092",
    "B.bootstrap.servers": "b:9092",
    "A->B.enabled": "true",
    "A.security.protocol": "SASL_PLAINTEXT",
    "A.sasl.mechanism": "PLAIN",
    "A.sasl.jaas.config": _SECRET,
}
_VARIABLE = "MM2_A_SASL_JAAS_CONFIG"


def _render(folder: Path, kind: str, *options: str, **changes: str) -> Result:
    file = folder / "mm2.properties"
    settings = {**_FILE, **{key.replace("__", "."): value for key, value in changes.items()}}
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    return CliRunner().invoke(main, ["render", kind, str(file), *options])


def _objects(folder: Path, *options: str, **changes: str) -> dict[str, Any]:
    done = _render(folder, "kubernetes", *options, **changes)
    assert done.exit_code == 0, done.output
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}


@pytest.mark.parametrize("kind", ["docker", "compose", "kubernetes", "systemd"])
def test_no_secret_is_rendered(tmp_path: Path, kind: str) -> None:
    done = _render(tmp_path, kind)
    assert done.exit_code == 0
    assert "eim" not in done.output
    assert f"A.sasl.jaas.config is to be given as ${_VARIABLE}." in done.stderr


def test_manifests_have_the_schema_of_kubernetes(tmp_path: Path) -> None:
    found = _objects(tmp_path, "--namespace", "kafka", "--name", "mirror")
    assert {*found} == {"ConfigMap", "PodDisruptionBudget", "Deployment", "Service"}
    for each in found.values():
        kubernetes_validate.validate(each, "1.33", strict=True)
        assert each["metadata"]["namespace"] == "kafka"


def test_a_pod_has_secrets_by_reference_probes_and_time_to_drain(tmp_path: Path) -> None:
    found = _objects(tmp_path)
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["terminationGracePeriodSeconds"] == 40
    assert container["env"] == [
        {"name": _VARIABLE, "valueFrom": {"secretKeyRef": {"name": "mm2", "key": _VARIABLE}}}
    ]
    assert container["livenessProbe"]["httpGet"] == {"path": "/health", "port": "rest"}
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert container["ports"][0]["containerPort"] == 8083


def test_time_to_drain_follows_the_file(tmp_path: Path) -> None:
    found = _objects(tmp_path, B__task__shutdown__graceful__timeout__ms="60000")
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 70


def test_executors_in_pods_need_an_account_that_may_make_them(tmp_path: Path) -> None:
    master = {"spark__master": "k8s://https://kubernetes.default.svc"}
    found = _objects(tmp_path, "--namespace", "kafka", "--name", "mirror", **master)
    for each in found.values():
        kubernetes_validate.validate(each, "1.33", strict=True)
    assert {"ServiceAccount", "Role", "RoleBinding"} <= {*found}
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (subject,) = found["RoleBinding"]["subjects"]
    assert pod["serviceAccountName"] == subject["name"] == "mirror"
    assert "automountServiceAccountToken" not in pod
    assert found["RoleBinding"]["roleRef"]["name"] == found["Role"]["metadata"]["name"]


def test_executors_in_pods_find_the_driver_and_end_with_it(tmp_path: Path) -> None:
    found = _objects(tmp_path, spark__master="k8s://https://kubernetes.default.svc")
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
    assert fields[_VARIABLE] == {"secretKeyRef": {"name": "mm2", "key": _VARIABLE}}


def test_what_the_file_says_of_the_driver_s_pod_stays(tmp_path: Path) -> None:
    settings = {"spark__master": "k8s://https://k", "spark__driver__host": "mm2.kafka.svc"}
    text = _objects(tmp_path, **settings)["ConfigMap"]["data"]["mm2.properties"]
    assert parse(text.encode()).values["spark.driver.host"] == "mm2.kafka.svc"


@pytest.mark.parametrize(("image", "is_asked_for"), [({}, True), ({"image": "e:1"}, False)])
def test_executors_in_pods_need_an_image(
    tmp_path: Path, image: dict[str, str], *, is_asked_for: bool
) -> None:
    named = {f"spark__kubernetes__container__{key}": value for key, value in image.items()}
    done = _render(tmp_path, "kubernetes", spark__master="k8s://https://k", **named)
    assert ("no spark.kubernetes.container.image" in done.stderr) is is_asked_for


def test_the_rendered_configuration_is_right_and_asks_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _objects(tmp_path)["ConfigMap"]["data"]["mm2.properties"]
    values = parse(text.encode()).values
    assert values["A.sasl.jaas.config"] == f"${{env:{_VARIABLE}}}"
    assert values["listeners"] == "http://:8083"
    assert {key: values[key] for key in _FILE if "jaas" not in key} == {
        key: value for key, value in _FILE.items() if "jaas" not in key
    }
    (tmp_path / "rendered.properties").write_text(text)
    monkeypatch.setenv(_VARIABLE, _SECRET.replace("required", 'required username="u"'))
    assert [*map(str, errors_of(tmp_path / "rendered.properties"))] == []


def test_values_are_written_so_that_they_are_read_again(tmp_path: Path) -> None:
    topics = r"a\\.b, =c, d:e, #f, ü"
    text = _objects(tmp_path, topics=topics)["ConfigMap"]["data"]["mm2.properties"]
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
    found = _objects(tmp_path, **providers)
    values = parse(found["ConfigMap"]["data"]["mm2.properties"].encode()).values
    assert values["A.sasl.jaas.config"] == f"${{environment:{_VARIABLE}}}"
    env = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {each["name"] for each in env} == {_VARIABLE, "KEY"}


def test_a_local_listener_has_no_probes_and_says_so(tmp_path: Path) -> None:
    done = _render(tmp_path, "kubernetes", listeners="http://127.0.0.1:9000")
    assert "Probe" not in done.stdout
    assert "there are no probes" in done.stderr


@pytest.mark.parametrize(
    ("listeners", "port"),
    [
        ({}, 9404),
        ({"metrics__listeners": "http://127.0.0.1:1"}, 9404),
        ({"metrics__listeners": "http://0.0.0.0:9000"}, 9000),
    ],
)
def test_probes_ask_where_nobody_logs_in(
    tmp_path: Path, listeners: dict[str, str], port: int
) -> None:
    found = _objects(tmp_path, rest__basic__auth__file="/etc/mm2/users", **listeners)
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


_FILES = {
    "rest__basic__auth__file": "/etc/mm2/users",
    "A__ssl__truststore__location": "/stores/trust.jks",
    "B__consumer__ssl__keystore__location": "own.p12",
    "listeners__https__ssl__keystore__location": "/stores/trust.jks",
    "A__ssl__keystore__location": "${env:KEY_STORE}",
}


def test_files_that_are_named_are_of_a_secret(tmp_path: Path) -> None:
    done = _render(tmp_path, "kubernetes", **_FILES)
    found = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    kubernetes_validate.validate(found["Deployment"], "1.33", strict=True)
    pod = found["Deployment"]["spec"]["template"]["spec"]
    mounts = {
        each["mountPath"]: each.get("subPath") for each in pod["containers"][0]["volumeMounts"]
    }
    assert mounts == {
        "/etc/mm2": None,
        "/tmp": None,
        "/var/cache/numba": None,
        "/stores/trust.jks": "stores-trust.jks",
        "/own.p12": "own.p12",
    }
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes["files"]["secret"] == {"secretName": "mm2-files"}
    assert volumes["config"]["projected"]["sources"] == [
        {"configMap": {"name": "mm2"}},
        {"secret": {"name": "mm2-files", "items": [{"key": "etc-mm2-users", "path": "users"}]}},
    ]
    for file in ('etc-mm2-users="/etc/mm2/users', 'own.p12="./own.p12', 'stores-trust.jks="/'):
        assert f"--from-file={file}" in done.stdout


def test_files_that_are_named_are_mounted_by_compose(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _render(tmp_path, "compose", "--output", str(out), **_FILES).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert sorted(service["volumes"][2:]) == [
        "./own.p12:/own.p12:ro",
        "/etc/mm2/users:/etc/mm2/users:ro",
        "/stores/trust.jks:/stores/trust.jks:ro",
    ]


def test_a_file_of_a_folder_that_is_mounted_is_not_mounted_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "secrets.properties").write_text("key = s3cret\n")
    changes = {
        "config__providers": "file",
        "config__providers__file__class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        "A__ssl__key__password": f"${{file:{tmp_path}/secrets.properties:key}}",
        "A__ssl__truststore__location": f"{tmp_path}/trust.jks",
    }
    assert _render(tmp_path, "compose", "--output", str(out), **changes).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert service["volumes"][2:] == [f"{tmp_path}:{tmp_path}:ro"]


def test_a_login_over_tls_leaves_a_probe_of_the_socket(tmp_path: Path) -> None:
    changes = {"listeners": "https://:8443", "rest__basic__auth__file": "/etc/mm2/users"}
    pod = _objects(tmp_path, **changes)["Deployment"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["livenessProbe"]["tcpSocket"] == {"port": "rest"}


def test_the_health_of_a_container_is_asked_where_nobody_logs_in(tmp_path: Path) -> None:
    out = tmp_path / "out"
    changes = {"rest__basic__auth__file": "/etc/mm2/users"}
    assert _render(tmp_path, "compose", "--output", str(out), **changes).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert "localhost:9404/health" in service["healthcheck"]["test"][-1]


def test_compose_takes_values_from_the_shell(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _render(tmp_path, "compose", "--output", str(out)).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert service["environment"] == {_VARIABLE: f"${{{_VARIABLE}:?}}"}
    assert service["stop_grace_period"] == "40s"
    assert (out / "mm2.properties").is_file()


def test_files_are_not_overwritten(tmp_path: Path) -> None:
    done = _render(tmp_path, "compose", "--output", str(tmp_path))
    assert done.exit_code == 2
    assert "mm2.properties" in done.stderr
    assert not (tmp_path / "compose.yaml").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _render(tmp_path, "systemd", "--output", str(out)).exit_code == 0
    unit = out / "mm2.service"
    unit.write_text(re.sub(r"/opt/mm2/bin/\S+", "/bin/true", unit.read_text()))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_unit_keeps_classes_and_compiled_code(tmp_path: Path) -> None:
    unit = _render(tmp_path, "systemd").stdout
    assert "Environment=NUMBA_CACHE_DIR=%C/mm2/numba\n" in unit
    assert "CacheDirectory=mm2\n" in unit
    assert "ExecStartPre=-/opt/mm2/bin/python -m flows.spark.archive\n" in unit


@pytest.mark.parametrize(
    ("option", "value"), [("--name", "a b"), ("--namespace", "x\ny"), ("--image", "a\nRUN b")]
)
def test_names_that_would_break_a_manifest_are_refused(
    tmp_path: Path, option: str, value: str
) -> None:
    assert _render(tmp_path, "kubernetes", option, value).exit_code == 2


def test_a_variable_that_is_no_name_is_refused(tmp_path: Path) -> None:
    done = _render(
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
    done = _render(tmp_path, kind)
    assert done.exit_code == 0
    assert yaml.safe_load(done.stdout)[part]
    assert done.stderr == ""
