"""A real ZooKeeper, from the jars of the last Kafka that came with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kazoo.client import KazooClient

from mm2.demo.broker_node import is_listening
from mm2.demo.broker_settings import free_ports
from mm2.demo.processes import Watched
from tests.support.certificates import PASSWORD, Certified
from tests.support.eventually import eventually
from tests.support.layout import OLDER_VERSION
from tests.support.process import java_command

_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
_WITHIN_S = 60.0


@contextmanager
def zookeeper(folder: Path) -> Iterator[str]:
    """One server for as long as the context lasts; yields its host and port."""
    with watched_zookeeper(folder) as (address, _):
        yield address


@contextmanager
def watched_zookeeper(folder: Path) -> Iterator[tuple[str, Watched]]:
    """The same, with its process."""
    port = free_port()
    with running_at(port, folder) as process:
        yield f"127.0.0.1:{port}", process


@contextmanager
def running_at(port: int, folder: Path, *, tick_ms: int = 3_000) -> Iterator[Watched]:
    """One server at a port, once it answers; a session lasts up to 20 ticks without its client."""
    with _running(folder, [str(port), str(folder / "zookeeper"), str(tick_ms)]) as process:
        with client_of(f"127.0.0.1:{port}"):
            pass
        yield process


@contextmanager
def secured_zookeeper(folder: Path, stores: Mapping[str, str]) -> Iterator[str]:
    """One that is reached by TLS alone; ``stores`` are its own settings, below ``ssl.``."""
    port = free_port()
    lines = {
        "dataDir": str(folder / "zookeeper"),
        "secureClientPort": str(port),
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        **{f"ssl.{key}": value for key, value in stores.items()},
    }
    file = folder / "zookeeper.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    with _running(folder, [str(file)]):
        eventually(lambda: is_listening(port))
        yield f"127.0.0.1:{port}"


def tls_stores(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of a server with TLS, and the keys by which clients reach it."""
    authority = Certified.authority("ours")
    own = authority.issue("zookeeper").keystore(folder / "own.p12", authority)
    trusted = authority.truststore(folder / "trusted.p12")
    server = {
        f"{store}.{key}": value
        for store, path in (("keyStore", own), ("trustStore", trusted))
        for key, value in (("location", str(path)), ("password", PASSWORD), ("type", "PKCS12"))
    }
    client = {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keystore.location": str(own),
        "zookeeper.ssl.keystore.password": PASSWORD,
        "zookeeper.ssl.truststore.location": str(trusted),
        "zookeeper.ssl.truststore.password": PASSWORD,
    }
    return server, client


def free_port() -> int:
    """A port of 127.0.0.1 that is ours: no client of anybody comes from it meanwhile."""
    (port,) = free_ports(1)
    return port


@contextmanager
def _running(folder: Path, arguments: list[str]) -> Iterator[Watched]:
    options = ["-Xmx128m", "-Dzookeeper.admin.enableServer=false"]
    command = java_command(_MAIN, *arguments, options=options, version=OLDER_VERSION)
    process = Watched(command, folder / "zookeeper.log")
    try:
        yield process
    finally:
        process.end(timeout=10)


@contextmanager
def client_of(address: str) -> Iterator[KazooClient]:
    """A client that is connected."""
    client = KazooClient(hosts=address)
    client.start(timeout=_WITHIN_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def kept_offsets(address: str, group: str, topic: str, partitions: int) -> list[int | None]:
    """What a group has in ZooKeeper, by partition; None is nothing."""
    with client_of(address) as client:
        paths = [f"/consumers/{group}/offsets/{topic}/{number}" for number in range(partitions)]
        return [int(client.get(path)[0]) if client.exists(path) else None for path in paths]
