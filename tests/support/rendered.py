"""What ``mm2 render`` makes of a mirror between two clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main

SECRET = 'org.apache.kafka.common.security.plain.PlainLoginModule required password="geh: eim";'
FILE = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a:9092",
    "B.bootstrap.servers": "b:9092",
    "A->B.enabled": "true",
    "A.security.protocol": "SASL_PLAINTEXT",
    "A.sasl.mechanism": "PLAIN",
    "A.sasl.jaas.config": SECRET,
}
VARIABLE = "MM2_A_SASL_JAAS_CONFIG"


def render(folder: Path, kind: str, *options: str, **changes: str) -> Result:
    """Runs the command; names of changed keys have __ for each dot."""
    file = folder / "mm2.properties"
    settings = {**FILE, **{key.replace("__", "."): value for key, value in changes.items()}}
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    return CliRunner().invoke(main, ["render", kind, str(file), *options])


def objects(folder: Path, *options: str, **changes: str) -> dict[str, Any]:
    """What is made for Kubernetes, by kind."""
    done = render(folder, "kubernetes", *options, **changes)
    assert done.exit_code == 0, done.output
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
