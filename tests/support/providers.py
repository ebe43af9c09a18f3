"""
Where the suite's clusters come from.

    MM2_TEST_BOOTSTRAP=host:port,host:port   running clusters: the first is A, the second B, ...
    MM2_TEST_PROVIDER=testcontainers         containers, one per cluster
    MM2_TEST_VERSIONS=3.9.1,4.3.0            of the brokers that are started: all but B's, B's
    otherwise                                subprocesses, or containers when Java or the jars are
                                             missing and Docker answers
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mm2.demo.broker_settings import HOST, free_ports
from mm2.demo.processes import KafkaMissing, java
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.layout import Security, jars, major, secured_properties, wanted_version

NAMES = ("A", "B", "C")
PATIENT = {"broker.session.timeout.ms": "60000"}
"""Of clusters that nobody restarts: a machine that stands still for seconds must not fence them."""
_WITH_NEW_GROUPS = 4
"""The first version whose brokers serve the consumer protocol (KIP-848) without being told to."""


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """A cluster that somebody else runs."""

    name: str
    bootstrap: str


@contextmanager
def provided(name: str) -> Iterator[Cluster]:
    """Gives the cluster ``name`` (A, B, C) for as long as the context lasts."""
    if given := os.environ.get("MM2_TEST_BOOTSTRAP"):
        yield _given(name, given)
    elif _containers_wanted():
        with _container(name) as cluster:
            yield cluster
    else:
        with KafkaCluster(name, properties=PATIENT) as cluster:
            yield cluster


def _given(name: str, addresses: str) -> RunningCluster:
    bootstraps = [address.strip() for address in addresses.split(",")]
    try:
        return RunningCluster(name, bootstraps[NAMES.index(name)])
    except IndexError:
        message = f"MM2_TEST_BOOTSTRAP={addresses} names no address for cluster {name}."
        raise KafkaMissing(message) from None


def have_new_groups() -> bool:
    """Whether all brokers that are started for tests serve the new consumer protocol (KIP-848)."""
    return all(major(wanted_version(name)) >= _WITH_NEW_GROUPS for name in NAMES)


def _containers_wanted() -> bool:
    if os.environ.get("MM2_TEST_PROVIDER") == "testcontainers":
        return True
    try:
        jars()
        java()
    except KafkaMissing:
        return docker_answers()
    return False


def docker_answers() -> bool:
    """Whether Docker runs on this machine, for this user."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    asked = subprocess.run([docker, "info"], capture_output=True, timeout=20, check=False)
    return asked.returncode == 0


@contextmanager
def _container(name: str) -> Iterator[RunningCluster]:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    (port,) = free_ports(1)
    environment = _container_environment(port)
    container = DockerContainer(f"apache/kafka:{wanted_version(name)}").with_bind_ports(port, port)
    for key, value in environment.items():
        container = container.with_env(key, value)
    with container.waiting_for(LogMessageWaitStrategy("Kafka Server started")):
        yield RunningCluster(name, f"{HOST}:{port}")


def _container_environment(port: int) -> dict[str, str]:
    """
    The same settings as a subprocess has, spelled as the image ``apache/kafka`` wants them.
    """
    from pathlib import Path

    properties = secured_properties(
        node=1,
        voters="1@localhost:9093",
        ports={"PLAINTEXT": port, "CONTROLLER": 9093},
        data=Path("/var/lib/kafka/data"),
        security=Security(),
        extra={},
    )
    # Inside the container the broker listens on every interface; outside it is the loopback's.
    properties["listeners"] = f"PLAINTEXT://0.0.0.0:{port},CONTROLLER://localhost:9093"
    return {"KAFKA_" + key.upper().replace(".", "_"): value for key, value in properties.items()}
