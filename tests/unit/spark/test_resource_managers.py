"""ResourceManagers of YARN are found where Hadoop's client finds them, and have to be there."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows.spark.installed import check_master
from flows.spark.yarn import resource_managers
from mm2.errors import FatalError

_M = "yarn.resourcemanager"
_HA = {
    f"{_M}.ha.enabled": "true",
    f"{_M}.ha.rm-ids": "one, two",
    f"{_M}.hostname.one": "h1",
    f"{_M}.address.two": "h2:9",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    return tmp_path


def _write(folder: Path, properties: Mapping[str, str]) -> None:
    lines = (
        f"<property><name>{name}</name><value> {value}\n</value></property>"
        for name, value in properties.items()
    )
    (folder / "yarn-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ({}, []),
        ({f"{_M}.hostname": "h"}, ["h:8032"]),
        ({f"{_M}.hostname": "h", f"{_M}.address": "other:1"}, ["other:1"]),
        ({f"{_M}.address": f"${{{_M}.hostname}}:1"}, []),
        (_HA, ["h1:8032", "h2:9"]),
        ({**_HA, f"{_M}.hostname.one": "${h}"}, []),
    ],
    ids=["none", "hostname", "address", "variable", "several", "one-unknown"],
)
def test_they_are_those_of_the_file(folder: Path, site: dict[str, str], found: list[str]) -> None:
    _write(folder, site)
    assert resource_managers({}) == found


def test_settings_of_spark_win(folder: Path) -> None:
    _write(folder, {f"{_M}.address": "h:1"})
    assert resource_managers({f"spark.hadoop.{_M}.address": "mine:2"}) == ["mine:2"]


def test_without_a_file_nothing_is_known(folder: Path) -> None:
    assert not list(folder.iterdir())
    assert resource_managers({}) == []


def test_of_a_file_that_is_no_xml_nothing_is_known(folder: Path) -> None:
    (folder / "yarn-site.xml").write_text("<configuration>")
    assert resource_managers({}) == []


def test_one_that_takes_connections_is_enough(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (closed, one)]
        two = {f"{_M}.address.{at}": f"127.0.0.1:{port}" for at, port in enumerate(ports)}
        _write(folder, {**two, f"{_M}.ha.enabled": "true", f"{_M}.ha.rm-ids": "0,1"})
        check_master({"spark.master": "yarn"})
        _write(folder, {f"{_M}.address": f"127.0.0.1:{ports[0]}"})
        with pytest.raises(FatalError, match=f"spark.master=yarn: 127.0.0.1:{ports[0]}: "):
            check_master({"spark.master": "yarn"})
