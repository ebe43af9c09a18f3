"""Where Kafka's jars are for the brokers of the demo, and how they get there."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from mm2.demo.processes import KafkaMissing

KAFKA_VERSION: Final = "4.3.0"

_CHECKOUT: Final = Path(__file__).parents[2]
_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_SHOWN: Final = 2000


def find_jars(home: Path | None) -> list[Path]:
    """
    Kafka's jars on this machine, in a fixed order; none if they are yet to be fetched.

    Args:
        home: a Kafka that somebody has unpacked; None looks into the checkout, if this is one, and
            into the user's cache.

    Raises:
        KafkaMissing: ``home`` has none.
    """
    if home is not None:
        if found := _jars(home / "libs"):
            return found
        raise KafkaMissing(f"{home} is no Kafka: it has no libs/*.jar.")
    fetched = _CHECKOUT / "build" / "kafka" / KAFKA_VERSION / "libs"
    return _jars(fetched) or _jars(_cache() / "libs")


def fetch_jars() -> list[Path]:
    """
    Fetches the jars of a broker into the user's cache, as the settings of Maven say.

    Raises:
        KafkaMissing: Maven is not there, or does not get them.
    """
    maven = shutil.which("mvn")
    if maven is None:
        message = "Maven fetches Kafka: install it (for example the package maven), or unpack Kafka"
        raise KafkaMissing(f"{message} {KAFKA_VERSION} and name its folder in --kafka-home.")
    home = _cache()
    new = home.with_name(f"{home.name}.{os.getpid()}")
    try:
        _copy_dependencies(maven, new / "libs")
        shutil.rmtree(home, ignore_errors=True)
        new.rename(home)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return _jars(home / "libs")


def _copy_dependencies(maven: str, into: Path) -> None:
    into.mkdir(parents=True)
    with as_file(files("mm2.demo").joinpath("kafka-pom.xml")) as pom:
        command = [maven, "-q", "-B", "-f", str(pom), f"-Dkafka.version={KAFKA_VERSION}", _PLUGIN]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={into}"], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise KafkaMissing(f"Maven did not fetch Kafka:\n{(done.stdout + done.stderr)[-_SHOWN:]}")


def _jars(folder: Path) -> list[Path]:
    return sorted(folder.resolve().glob("*.jar"))


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "mm2" / f"kafka-{KAFKA_VERSION}"
