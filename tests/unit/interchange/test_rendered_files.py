"""``mm2 render``: files that a configuration names are there where the mirror runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import kubernetes_validate
import yaml

from mm2.config.text.properties import parse
from tests.support.rendered import objects, render

_FILES = {
    "rest__basic__auth__file": "/etc/mm2/users",
    "A__ssl__truststore__location": "/stores/trust.jks",
    "B__consumer__ssl__keystore__location": "own.p12",
    "listeners__https__ssl__keystore__location": "/stores/trust.jks",
    "A__ssl__keystore__location": "${env:KEY_STORE}",
}


def test_files_that_are_named_are_of_a_secret(tmp_path: Path) -> None:
    done = render(tmp_path, "kubernetes", **_FILES)
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
    assert render(tmp_path, "compose", "--output", str(out), **_FILES).exit_code == 0
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
    assert render(tmp_path, "compose", "--output", str(out), **changes).exit_code == 0
    service = yaml.safe_load((out / "compose.yaml").read_text())["services"]["mm2"]
    assert service["volumes"][2:] == [f"{tmp_path}:{tmp_path}:ro"]


_IN_PODS = {
    "spark__master": "k8s://https://k",
    "spark__kubernetes__container__image": "e:1",
}


def test_executors_in_pods_mount_the_files_of_their_clients(tmp_path: Path) -> None:
    found = objects(tmp_path, **_FILES, **_IN_PODS)
    kubernetes_validate.validate(found["ConfigMap"], "1.33", strict=True)
    data = found["ConfigMap"]["data"]
    values = parse(data["mm2.properties"].encode()).values
    assert values["spark.kubernetes.executor.podTemplateFile"] == "/etc/mm2/executor.yaml"
    assert values["B.consumer.ssl.keystore.location"] == "/own.p12"
    assert values["A.ssl.keystore.location"] == "${env:KEY_STORE}"
    pod = yaml.safe_load(data["executor.yaml"])
    kubernetes_validate.validate(pod, "1.33", strict=True)
    (container,) = pod["spec"]["containers"]
    mounts = {each["mountPath"]: each["subPath"] for each in container["volumeMounts"]}
    assert mounts == {"/stores/trust.jks": "stores-trust.jks", "/own.p12": "own.p12"}
    (volume,) = pod["spec"]["volumes"]
    assert volume["secret"]["secretName"] == "mm2-files"
    assert {each["key"] for each in volume["secret"]["items"]} == set(mounts.values())


def test_executors_mount_files_of_folders_that_only_nodes_have(tmp_path: Path) -> None:
    """A folder that a config provider reads is mounted in nodes, as a whole and by the user."""
    (tmp_path / "secrets.properties").write_text("key = s3cret\n")
    store = f"{tmp_path}/trust.jks"
    changes = {
        "config__providers": "file",
        "config__providers__file__class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        "A__ssl__key__password": f"${{file:{tmp_path}/secrets.properties:key}}",
        "A__ssl__truststore__location": store,
        "B__ssl__truststore__location": "own.p12",
    }
    done = render(tmp_path, "kubernetes", **changes, **_IN_PODS)
    found = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    pod = yaml.safe_load(found["ConfigMap"]["data"]["executor.yaml"])["spec"]
    mounts = {each["mountPath"]: each["subPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounts == {store: store.strip("/").replace("/", "-"), "/own.p12": "own.p12"}
    items = pod["volumes"][0]["secret"]["items"]
    assert {each["key"] for each in items} == set(mounts.values())
    for path, key in mounts.items():
        assert f'--from-file={key}="{"." if path == "/own.p12" else ""}{path}"' in done.stdout
    node = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    of_node = {each["mountPath"] for each in node["volumeMounts"]}
    assert of_node & {store, "/own.p12"} == {"/own.p12"}


def test_executors_without_files_need_no_template(tmp_path: Path) -> None:
    data = objects(tmp_path, rest__basic__auth__file="/etc/mm2/users", **_IN_PODS)["ConfigMap"]
    assert set(data["data"]) == {"mm2.properties"}
    assert "podTemplateFile" not in data["data"]["mm2.properties"]


def test_a_template_of_the_user_s_own_stays_and_has_to_mount_files(tmp_path: Path) -> None:
    own = {"spark__kubernetes__executor__podTemplateFile": "/own/executor.yaml"}
    done = render(tmp_path, "kubernetes", **_FILES, **_IN_PODS, **own)
    found = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    assert set(found["ConfigMap"]["data"]) == {"mm2.properties"}
    assert "/own/executor.yaml" in found["ConfigMap"]["data"]["mm2.properties"]
    assert "its own template of executors has to mount the files" in done.stderr


def test_what_was_rendered_can_be_rendered_again(tmp_path: Path) -> None:
    first = objects(tmp_path, **_FILES, **_IN_PODS)
    values = parse(first["ConfigMap"]["data"]["mm2.properties"].encode()).values
    assert objects(tmp_path, **_as_changes(values)) == first


def test_our_own_template_is_named_only_where_there_is_one(tmp_path: Path) -> None:
    ours = {"spark__kubernetes__executor__podTemplateFile": "/etc/mm2/executor.yaml"}
    data = objects(tmp_path, **ours, **_IN_PODS)["ConfigMap"]["data"]
    assert set(data) == {"mm2.properties"}
    assert "podTemplateFile" not in data["mm2.properties"]


def _as_changes(values: Mapping[str, str]) -> dict[str, str]:
    return {key.replace(".", "__"): value for key, value in values.items()}
